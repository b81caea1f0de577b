"""Charts as plotly reads them. Colours are names of the page's palette; the page's script fills in each theme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape  # plotly reads a few tags in texts
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goldassay.core.fields import Fields, JsonObject
from goldassay.results.view import Chart, Point, bounds, number

if TYPE_CHECKING:
    from goldassay.reporting.ranking import RankedRun

NO_BOX = "<extra></extra>"  # without it plotly prints the series' name in a second box
COLOURS = ("c0", "c1", "c2", "c3", "c4", "c5", "c6")  # Okabe and Ito's palette, which most eyes can tell apart


def figure(chart: Chart) -> Fields:
    """A chart as plotly draws it."""
    return {"intervals": _intervals, "history": _history, "curves": _curves}[chart.kind](chart)


def _figure(label: str, data: list[JsonObject], layout: JsonObject, height: float = 320) -> JsonObject:
    return {"label": label, "data": data, "layout": {"height": height, **layout}}


def _marks(at: int, name: str, x: Sequence[object], y: Sequence[object], hover: str, **options: Any) -> JsonObject:
    """A series in the colour and the shape of its number."""
    shapes = ("circle", "square", "diamond", "triangle-up", "pentagon", "triangle-down", "star")  # .k0 to .k6 of pages
    colour = COLOURS[at % len(COLOURS)]
    marker = {"color": colour, "symbol": shapes[at % len(shapes)], "size": 9}
    style = {"type": "scatter", "name": escape(name, quote=False), "marker": marker, "line": {"color": colour}}
    return {**style, "x": x, "y": y, "hovertemplate": hover + NO_BOX, **options}


def _whiskers(points: Sequence[Point], **options: Any) -> JsonObject:
    """The error bars of points."""
    above = [point.ends[1] - point.value for point in points]
    below = [point.value - point.ends[0] for point in points]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "width": 4, **options}


def _on_mark(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")


def _intervals(chart: Chart) -> JsonObject:
    """Values with intervals: a row for each name of a point, a mark for each series."""
    names = list(dict.fromkeys(point.at for _, points in chart.series for point in points))
    count = len(chart.series)
    data = []
    findings = []
    for at, (name, points) in enumerate(chart.series):
        shift = (at - (count - 1) / 2) * 0.6 / count
        texts = [f"{point.at} {number(point.value, 3)}{bounds(point.ends)}" for point in points]
        findings += [f"{name}: {text}" for text in texts]
        across = [point.value for point in points]
        down = [names.index(point.at) + shift for point in points]
        options = {
            "mode": "markers",
            "error_x": _whiskers(points, thickness=2),
            "customdata": list(map(_on_mark, texts)),
        }
        data.append(_marks(at, name, across, down, "%{customdata}", **options))
    ticks = {"tickvals": list(range(len(names))), "ticktext": [escape(str(name), quote=False) for name in names]}
    layout = {
        "xaxis": {"title": f"{chart.title} [95 %]", "rangemode": "normal" if chart.title == "value" else "tozero"},
        "yaxis": {**ticks, "showgrid": False, "zeroline": False, "autorange": "reversed", "automargin": True},
        "showlegend": count > 1,
    }
    height = 130 + 34 * max(2, len(names)) * count**0.5 // 1
    return _figure(f"{chart.title} with 95 % intervals. {'; '.join(findings)}", data, layout, height)


def _curves(chart: Chart) -> JsonObject:
    """Points of two numbers, joined within a series; one that joins points of other series is a line without marks."""
    data = []
    last = []
    of_points = Counter((point.at, point.value) for _, points in chart.series for point in points)
    for at, (name, points) in enumerate(chart.series):
        x = [float(point.at) for point in points]
        y = [point.value for point in points]
        joins = len(points) > 1 and all(of_points[point.at, point.value] > 1 for point in points)
        data.append(_marks(at, name, x, y, "%{x:.3g}, %{y:.3f}", mode="lines" if joins else "lines+markers"))
        last.append(f"{name}: {number(y[-1], 3)} at {x[-1]:.3g}")
    across, up = chart.axes
    axes = {"xaxis": {"title": across, "rangemode": "tozero"}, "yaxis": {"title": up, "rangemode": "tozero"}}
    layout = {**axes, "showlegend": len(chart.series) > 1}
    return _figure(f"{chart.title}. {'; '.join(last)}", data, layout, 360)


def _history(chart: Chart) -> JsonObject:
    """Values over time with their intervals; a dashed line is drawn before each moment at which something changed.

    Moments are drawn at equal distances, because runs come in bursts: seconds apart, then days.
    """
    moments = sorted({str(point.at) for _, points in chart.series for point in points} | set(chart.breaks))
    latest = dict(chart.series)
    colours = list(latest)
    data = []
    for name, points in chart.series:
        options = {
            "mode": "lines+markers",
            "legendgroup": escape(name, quote=False),
            "showlegend": points is latest[name],
        }
        texts = [_on_mark(point.text) for point in points]
        options |= {"error_y": _whiskers(points, thickness=1.5), "customdata": texts}
        x = [moments.index(str(point.at)) for point in points]
        y = [point.value for point in points]
        data.append(_marks(colours.index(name), name, x, y, "%{customdata}<br>%{y:.4f}", **options))
    ticks = 8
    labelled = range(0, len(moments), -(-len(moments) // ticks) or 1)
    axis = {
        "tickvals": list(labelled),
        "ticktext": [moments[at][:16].replace("T", "<br>") for at in labelled],
        "range": [-0.6, len(moments) - 0.4],
        "zeroline": False,
    }
    dashed = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": "muted", "width": 1, "dash": "dash"}}
    shapes = [{**dashed, **dict.fromkeys(("x0", "x1"), moments.index(moment) - 0.5)} for moment in chart.breaks]
    last = "; ".join(f"{name} {points[-1].value:.3f}" for name, points in latest.items())
    layout = {"yaxis": {"title": chart.title}, "xaxis": axis, "shapes": shapes, "showlegend": len(chart.series) > 1}
    return _figure(f"{chart.title} over time. Latest: {last}", data, layout)


def spent(ranked: Sequence[RankedRun]) -> list[Chart]:
    """Quality against cost and against seconds, for systems whose cost is known."""
    charts = []
    for unit, amounts in (
        (ranked[0].unit, [system.cost for system in ranked]),
        ("seconds", [system.seconds for system in ranked]),
    ):
        pairs = zip(ranked, amounts, strict=True)
        series = [(system.name, [Point(amount, system.value.value)]) for system, amount in pairs if amount]
        if len(series) > 1:
            charts.append(Chart("curves", f"Quality against {unit}", series, axes=(unit, "value")))
    return charts


def calibration(runs: Sequence[tuple[str, NDArray[np.float64]]]) -> Chart:
    """Mean score against mean confidence in tenths of the confidence; ``runs`` have rows of (confidence, score)."""
    series = []
    for name, pairs in runs:
        tenths = np.minimum((pairs[:, 0] * 10).astype(int), 9)
        means = [pairs[tenths == tenth].mean(axis=0).tolist() for tenth in np.unique(tenths)]
        series.append((name, [Point(confidence, score) for confidence, score in means]))
    return Chart("curves", "Calibration", series, axes=("mean confidence", "mean score"))


def precision_recall(runs: Sequence[tuple[str, NDArray[np.float64]]]) -> Chart:
    """Precision against recall as the confidence threshold falls; ``runs`` have rows of (confidence, score)."""
    most = 200  # points of a curve
    series = []
    for name, pairs in runs:
        ordered = pairs[np.argsort(-pairs[:, 0], kind="stable")]
        right = np.cumsum(ordered[:, 1])
        last = np.flatnonzero(np.diff(ordered[:, 0], append=-1.0))  # predictions of one confidence enter together
        last = last[:: -(-len(last) // most)]
        recall = (right[last] / (right[-1] or 1.0)).tolist()
        precision = (right[last] / (last + 1)).tolist()
        series.append((name, [Point(*point) for point in zip(recall, precision, strict=True)]))
    title = "Precision against recall as the confidence falls"
    return Chart("curves", title, series, axes=("recall", "precision"))

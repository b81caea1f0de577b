"""Charts as plotly reads them. Colours are names of the page's palette; the page's script fills in each theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape  # plotly reads a few tags in texts
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goldassay.fields import Fields, Record
from goldassay.reporting.cells import bounds, number, signed
from goldassay.reporting.pages.document import typeset

if TYPE_CHECKING:
    from goldassay.reporting.ranking import RankedRun

Chart = dict[str, Any]
Interval = Sequence[float]
"""A value with the low and the high end of its interval."""

NO_BOX = "<extra></extra>"  # without it plotly prints the series' name in a second box
COLOURS = ("c0", "c1", "c2", "c3", "c4", "c5", "c6")  # Okabe and Ito's palette, which most eyes can tell apart
SHAPES = ("circle", "square", "diamond", "triangle-up", "pentagon", "triangle-down", "star")  # .k0 to .k6 of the page
TICKS = 8  # labels of a time axis
POINTS = 200  # points of a curve
Point = tuple[str, float, float, float, str]
"""A value over time: the moment, the value, the ends of its interval, and the text that appears on it."""


def _chart(label: str, data: list[Fields], layout: Fields, height: float = 320) -> Chart:
    return {"label": label, "data": data, "layout": {"height": height, **layout}}


def _points(place: int, name: str, x: Sequence[Any], y: Sequence[Any], hover: str, **options: Any) -> Fields:
    """Marks in the colour and the shape of a place."""
    colour = COLOURS[place % len(COLOURS)]
    marker = {"color": colour, "symbol": SHAPES[place % len(SHAPES)], "size": 9}
    style = {"type": "scatter", "name": name, "marker": marker, "line": {"color": colour}}
    return {**style, "x": x, "y": y, "hovertemplate": hover + NO_BOX, **options}


def _whiskers(intervals: Sequence[Interval], **options: Any) -> Fields:
    """The error bars of values with intervals."""
    above = [high - value for value, _, high in intervals]
    below = [value - low for value, low, _ in intervals]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "width": 4, **options}


def forest(
    runs: Sequence[str], rows: Sequence[tuple[str, Sequence[Interval | None]]], what: str = "value"
) -> Chart | None:
    """Values with intervals: a row a measure, a mark a run. ``rows`` hold a measure's name and its value, low and high
    in each run; without any there is no chart."""
    if not rows:
        return None
    data = []
    findings = []
    for place, run in enumerate(runs):
        cells = [(at, name, row[place]) for at, (name, row) in enumerate(rows)]
        intervals = [interval for _, _, interval in cells if interval]
        shift = (place - (len(runs) - 1) / 2) * 0.6 / len(runs)
        texts = [f"{name} {number(cell[0], 3)}{bounds((cell[1], cell[2]))}" for _, name, cell in cells if cell]
        findings += [f"{run}: {text}" for text in texts]
        across = [value for value, _, _ in intervals]
        down = [at + shift for at, _, interval in cells if interval]
        options = {"mode": "markers", "error_x": _whiskers(intervals, thickness=2), "customdata": texts}
        data.append(_points(place, run, across, down, "%{customdata}", **options))
    ticks = {"tickvals": list(range(len(rows))), "ticktext": [name for name, _ in rows]}
    layout = {
        "xaxis": {"title": f"{what} [95 %]"},
        "yaxis": {**ticks, "showgrid": False, "zeroline": False, "autorange": "reversed", "automargin": True},
        "showlegend": len(runs) > 1,
    }
    height = 130 + 34 * max(2, len(rows)) * len(runs) ** 0.5 // 1
    return _chart(f"{what} with 95 % intervals. {'; '.join(findings)}", data, layout, height)


def effects(tests: Sequence[Record]) -> Chart | None:
    """Each test's effect with its interval, in order; None without any. A kept edit has no interval: a point."""
    rows = []
    for test in tests:
        if effect := test["effect"]:
            value = float(effect["difference"])
            low = effect.get("low")
            high = effect.get("high")
            ends = (value if low is None else float(low), value if high is None else float(high))
            rows.append((test["name"][:34], [(value, *ends)]))
    figure = forest(["effect"], rows, "difference of the metric")
    if figure:
        figure["layout"]["xaxis"] |= {"zeroline": True, "rangemode": "tozero"}
    return figure


def scatter(
    label: str, titles: tuple[str, str], series: Sequence[tuple[str, Sequence[float], Sequence[float]]]
) -> Chart:
    """Points of two numbers, joined within a series."""
    names = "; ".join(f"{name}: {number(y[-1], 3)} at {x[-1]:.3g}" for name, x, y in series)
    data = [
        _points(place, name, x, y, "%{x:.3g}, %{y:.3f}", mode="lines+markers")
        for place, (name, x, y) in enumerate(series)
    ]
    xaxis = {"title": titles[0], "rangemode": "tozero"}
    yaxis = {"title": titles[1], "rangemode": "tozero"}
    return _chart(f"{label}. {names}", data, {"xaxis": xaxis, "yaxis": yaxis, "showlegend": len(series) > 1}, 360)


def spent(ranked: Sequence[RankedRun]) -> list[Chart]:
    """Quality against cost and against seconds, for systems whose cost is known."""
    figures = []
    for unit, amounts in (
        (ranked[0].unit, [system.cost for system in ranked]),
        ("seconds", [system.seconds for system in ranked]),
    ):
        pairs = zip(ranked, amounts, strict=True)
        series = [(system.name, [amount], [system.value.value]) for system, amount in pairs if amount]
        if len(series) > 1:
            figures.append(scatter(f"Quality against {unit}", (unit, "value"), series))
    return figures


def calibration(runs: Sequence[tuple[str, NDArray[np.float64]]]) -> Chart:
    """Mean score against mean confidence in tenths of the confidence; ``runs`` have rows of (confidence, score)."""
    series = []
    for name, pairs in runs:
        tenths = np.minimum((pairs[:, 0] * 10).astype(int), 9)
        means = np.array([pairs[tenths == tenth].mean(axis=0) for tenth in np.unique(tenths)])
        series.append((name, *means.T.tolist()))
    return scatter("Calibration", ("mean confidence", "mean score"), series)


def precision_recall(runs: Sequence[tuple[str, NDArray[np.float64]]]) -> Chart:
    """Precision against recall as the confidence threshold falls; ``runs`` have rows of (confidence, score)."""
    series = []
    for name, pairs in runs:
        ordered = pairs[np.argsort(-pairs[:, 0], kind="stable")]
        right = np.cumsum(ordered[:, 1])
        last = np.flatnonzero(np.diff(ordered[:, 0], append=-1.0))  # predictions of one confidence enter together
        last = last[:: -(-len(last) // POINTS)]
        recall = right[last] / (right[-1] or 1.0)
        series.append((name, recall.tolist(), (right[last] / (last + 1)).tolist()))
    return scatter("Precision against recall as the confidence falls", ("recall", "precision"), series)


def lines(series: Sequence[tuple[str, Sequence[Point]]], title: str, breaks: Sequence[str] = ()) -> Chart:
    """Values over time with their intervals.

    Args:
        series: Name and points: when, value, low, high, hover text. Series are not joined; those of one name have one
            colour.
        title: The measure.
        breaks: Moments at which conventions or gold changed; a dashed line is drawn before each.

    Moments are drawn at equal distances, because runs come in bursts: seconds apart, then days.
    """
    moments = sorted({when for _, points in series for when, *_ in points} | set(breaks))
    latest = dict(series)
    colours = list(latest)
    data = []
    for name, points in series:
        whens, values, _, _, texts = zip(*points, strict=True)
        options = {"mode": "lines+markers", "legendgroup": name, "showlegend": points is latest[name]}
        options |= {"error_y": _whiskers([point[1:4] for point in points], thickness=1.5), "customdata": texts}
        x = list(map(moments.index, whens))
        data.append(_points(colours.index(name), name, x, values, "%{customdata}<br>%{y:.4f}", **options))
    labelled = range(0, len(moments), -(-len(moments) // TICKS) or 1)
    axis = {
        "tickvals": list(labelled),
        "ticktext": [moments[place][:16].replace("T", "<br>") for place in labelled],
        "range": [-0.6, len(moments) - 0.4],
        "zeroline": False,
    }
    dashed = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": "muted", "width": 1, "dash": "dash"}}
    shapes = [{**dashed, **dict.fromkeys(("x0", "x1"), moments.index(moment) - 0.5)} for moment in breaks]
    last = "; ".join(f"{name} {points[-1][1]:.3f}" for name, points in latest.items())
    layout = {"yaxis": {"title": title}, "xaxis": axis, "shapes": shapes, "showlegend": len(series) > 1}
    return _chart(f"{title} over time. Latest: {last}", data, layout)


def waterfall(value: float, rest: float, stages: Sequence[tuple[str, float, float, float]]) -> Chart:
    """A cascade from 1 down to the value: a step a stage, each with its name, its loss and the interval of the loss.

    The first step is the ``rest``, which no stage explains and which has no interval. A stage with a negative loss
    steps up: the program is better without gold there.
    """
    steps = [("rest", rest, rest, rest), *stages] if rest else list(stages)
    # the loss is written beside the name: at the bar it would meet the interval, or the edge of a phone
    names = [f"{escape(name)} {typeset(signed(0.0 - loss))}" for name, loss, _, _ in steps]
    names = ["all right 1", *names, f"the program {value:.3f}"]
    reached = np.cumsum([1.0, *(-loss for _, loss, _, _ in steps)])[1:].tolist()
    ends = [(at, at + loss - high, at + loss - low) for at, (_, loss, low, high) in zip(reached, steps, strict=True)]
    colours = {"increasing": COLOURS[2], "decreasing": COLOURS[1], "totals": COLOURS[0]}
    cascade = {
        "type": "waterfall",
        "orientation": "h",
        "y": names,
        "x": [1.0, *(-loss for _, loss, _, _ in steps), value],
        "measure": ["absolute", *["relative"] * len(steps), "total"],
        "connector": {"line": {"color": "muted", "width": 1, "dash": "dot"}},
        "hovertemplate": "%{y}" + NO_BOX,
        **{kind: {"marker": {"color": colour}} for kind, colour in colours.items()},
    }
    whiskers = {
        "type": "scatter",
        "x": reached,
        "y": names[1:-1],
        "mode": "markers",
        "marker": {"color": "ink", "size": 3},
        "error_x": _whiskers(ends, thickness=1.5, color="ink"),
        "hoverinfo": "skip",
    }
    layout = {
        "xaxis": {"title": "value of the metric", "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "automargin": True, "showgrid": False},
        "showlegend": False,
    }
    label = f"From all right down to the program, stage by stage: {'; '.join(names)}"
    return _chart(label, [cascade, whiskers], layout, 120 + 44 * len(names))

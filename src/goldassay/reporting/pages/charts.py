"""Charts as plotly reads them. Colours are names of the page's palette; the page's script fills in each theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape  # plotly reads a few tags in texts
from typing import Any

Chart = dict[str, Any]
Interval = Sequence[float]
"""A value with the low and the high end of its interval."""

NO_BOX = "<extra></extra>"  # without it plotly prints the series' name in a second box
COLOURS = ("c0", "c1", "c2", "c3", "c4", "c5", "c6")  # Okabe and Ito's palette, which most eyes can tell apart
SHAPES = ("circle", "square", "diamond", "triangle-up", "pentagon", "triangle-down", "star")  # .k0 to .k6 of the page
TICKS = 8  # on a time axis


def _chart(label: str, data: list[dict[str, Any]], layout: dict[str, Any], height: float = 320) -> Chart:
    return {"label": label, "data": data, "layout": {"height": height, **layout}}


def _marker(place: int, size: int = 9) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "symbol": SHAPES[place % len(SHAPES)], "size": size}


def _line(place: int, **options: Any) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], **options}


def _whiskers(intervals: Sequence[Interval], **options: Any) -> dict[str, Any]:
    """The error bars of values with intervals."""
    above = [high - value for value, _, high in intervals]
    below = [value - low for value, low, _ in intervals]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "width": 4, **options}


def _scatter(name: str, x: Sequence[Any], y: Sequence[Any], hover: str, **options: Any) -> dict[str, Any]:
    shown = {"hovertemplate": hover + NO_BOX} if hover else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": "lines+markers", "name": name, "x": list(x), "y": list(y), **shown, **options}


def forest(names: Sequence[str], runs: Sequence[str], values: Sequence[Sequence[Interval | None]]) -> Chart:
    """Values with intervals: a row a measure, a mark a run; ``values[run][measure]`` holds value, low and high."""
    data = []
    for place, (run, row) in enumerate(zip(runs, values, strict=True)):
        cells = [(at, interval) for at, interval in enumerate(row) if interval is not None]
        shift = (place - (len(runs) - 1) / 2) * 0.6 / max(1, len(runs))
        data.append(
            _scatter(
                run,
                [value for _, (value, _, _) in cells],
                [at + shift for at, _ in cells],
                "%{customdata[0]} %{x:.4f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}]",
                mode="markers",
                marker=_marker(place, 10),
                error_x=_whiskers([interval for _, interval in cells], thickness=2, width=5),
                customdata=[[names[at], low, high] for at, (_, low, high) in cells],
            )
        )
    rows = {"tickvals": list(range(len(names))), "ticktext": list(names), "showgrid": False, "zeroline": False}
    layout = {
        "xaxis": {"title": "value, with its 95 % interval"},
        "yaxis": {**rows, "autorange": "reversed", "automargin": True},
        "showlegend": len(runs) > 1,
    }
    height = 130 + 34 * max(2, len(names)) * max(1, len(runs)) ** 0.5 // 1
    return _chart("Values with their 95 % intervals", data, layout, height)


def calibration(runs: Sequence[tuple[str, Sequence[dict[str, float]]]]) -> Chart:
    """Accuracy against mean confidence; a calibrated program lies on the diagonal."""
    diagonal = _scatter("as right as sure", [0, 1], [0, 1], "", mode="lines", line={"color": "muted", "dash": "dot"})
    data = [diagonal] + [
        _scatter(
            name,
            [part["confidence"] for part in bins],
            [part["accuracy"] for part in bins],
            "confidence %{x:.2f}, right %{y:.2f}, n %{customdata}",
            customdata=[part["n"] for part in bins],
            line=_line(place),
            marker=_marker(place),
        )
        for place, (name, bins) in enumerate(runs)
    ]
    axis = {"range": [-0.02, 1.02]}
    layout = {"xaxis": {"title": "mean confidence", **axis}, "yaxis": {"title": "share that was right", **axis}}
    return _chart("Calibration: share that was right against confidence", data, layout)


def precision_recall(runs: Sequence[tuple[str, Sequence[tuple[float, float, float]]]]) -> Chart:
    """Precision against recall as the confidence threshold falls; points are (threshold, precision, recall)."""
    data = [
        _scatter(
            name,
            [recall for _, _, recall in points],
            [precision for _, precision, _ in points],
            "confidence ≥ %{customdata:.2f}: precision %{y:.2f}, recall %{x:.2f}",
            mode="lines+markers" if len(points) <= 40 else "lines",
            customdata=[threshold for threshold, _, _ in points],
            line=_line(place, shape="hv"),
            marker=_marker(place, 6),
        )
        for place, (name, points) in enumerate(runs)
    ]
    axis = {"range": [-0.02, 1.02]}
    layout = {"xaxis": {"title": "recall", **axis}, "yaxis": {"title": "precision", **axis}}
    return _chart("Precision against recall", data, {**layout, "showlegend": len(runs) > 1})


def seconds(runs: Sequence[tuple[str, Sequence[float]]]) -> Chart:
    """Seconds per example, a box a run."""
    data: list[dict[str, Any]] = [
        {"type": "box", "name": name, "x": list(values), "boxpoints": False, "line": _line(place), "orientation": "h"}
        for place, (name, values) in enumerate(runs)
    ]
    layout = {
        "xaxis": {"title": "seconds an example", "rangemode": "tozero"},
        "yaxis": {"automargin": True, "autorange": "reversed", "showticklabels": len(runs) > 1},
        "showlegend": False,
    }
    return _chart("Seconds an example took", data, layout, 140 + 44 * len(runs))


def pareto(points: Sequence[tuple[int, str, float, float, bool]], unit: str) -> Chart:
    """Quality against cost: (place, name, cost, quality, on the front); a dotted line joins the front.

    Points carry their place in the table, since names would overlap. Points that nearly meet share one label.
    """
    front = sorted((cost, value) for _, _, cost, value, best in points if best)
    right = max((cost for _, _, cost, _, _ in points), default=0.0) or 1.0
    top = min(1.0, 1.25 * max((value for *_, value, _ in points), default=0.0)) or 1.0

    def cell(cost: float, value: float) -> tuple[int, int]:
        """Labels in one cell of this grid would overlap."""
        return round(24 * cost / right), round(16 * value / top)

    places: dict[tuple[int, int], list[str]] = {}
    for place, _, cost, value, _ in points:
        places.setdefault(cell(cost, value), []).append(str(place))
    dotted = {"color": "muted", "dash": "dot", "shape": "hv"}
    costs, values = [cost for cost, _ in front], [value for _, value in front]
    data = [_scatter("", costs, values, "", mode="lines", line=dotted, showlegend=False)]
    for best, legend, shape in ((True, "nothing is better at both", 0), (False, "something is better at both", 1)):
        group = [(name, cost, value) for _, name, cost, value, on_front in points if on_front is best]
        data.append(
            _scatter(
                legend,
                [cost for _, cost, _ in group],
                [value for _, _, value in group],
                "%{customdata[0]}: %{y:.4f} at %{x:.4g}",
                mode="markers+text",
                text=[", ".join(places.pop(cell(cost, value), ())) for _, cost, value in group],
                textposition="top center",
                cliponaxis=False,
                marker=_marker(shape, 11),
                customdata=[[name] for name, _, _ in group],
            )
        )
    title = f"{unit} (numbers: the places in the table)"
    layout = {
        "xaxis": {"title": title, "range": [-0.06 * right, 1.08 * right], "zeroline": False},
        "yaxis": {"title": "value", "range": [-0.06 * top, 1.12 * top], "zeroline": False},
    }
    return _chart(f"Quality against {unit}", data, layout, 360)


def lines(
    series: Sequence[tuple[str, Sequence[tuple[str, float, float, float, str]], int]],
    title: str,
    breaks: Sequence[str] = (),
) -> Chart:
    """Values over time with their intervals.

    Args:
        series: Name, points (when, value, low, high, hover text), and the number of the colour. Series are not joined.
        title: The measure.
        breaks: Moments at which conventions or gold changed; a dashed line stands before each.

    Moments stand at equal distances, because runs come in bursts: seconds apart, then days.
    """
    moments = sorted({when for _, points, _ in series for when, *_ in points} | set(breaks))
    place_of = {when: number for number, when in enumerate(moments)}
    labelled = moments[:: -(-len(moments) // TICKS) or 1]
    data = [
        _scatter(
            name,
            [place_of[when] for when, *_ in points],
            [value for _, value, *_ in points],
            "%{customdata}<br>%{y:.4f}",
            legendgroup=name,
            showlegend=name not in [earlier for earlier, _, _ in series[:number]],
            error_y=_whiskers([interval for _, *interval, _ in points], thickness=1.5),
            customdata=[text for *_, text in points],
            line=_line(colour),
            marker=_marker(colour),
        )
        for number, (name, points, colour) in enumerate(series)
    ]
    axis = {
        "tickvals": [place_of[when] for when in labelled],
        "ticktext": [when[:16].replace("T", "<br>") for when in labelled],
        "range": [-0.6, len(moments) - 0.4],
        "zeroline": False,
    }
    shapes = [_rule(place_of[moment] - 0.5, 0, 1, yref="paper", dash="dash") for moment in breaks]
    layout = {"yaxis": {"title": title}, "xaxis": axis, "shapes": shapes, "showlegend": len(series) > 1}
    return _chart(f"{title} over time", data, layout)


def _rule(x: float, low: float, high: float, *, yref: str, dash: str) -> dict[str, Any]:
    """A vertical line."""
    ends = {"x0": x, "x1": x, "y0": low, "y1": high}
    return {"type": "line", **ends, "yref": yref, "line": {"color": "muted", "width": 1, "dash": dash}}


def waterfall(value: float, rest: float, stages: Sequence[tuple[str, float, float, float]]) -> Chart:
    """A cascade from 1 down to the value: a step a stage, each with its name, its loss and the interval of the loss.

    The first step is the ``rest``, which no stage explains and which has no interval. A stage with a negative loss
    steps up: the program is better without gold there.
    """
    steps = [("rest", rest)] * bool(rest) + [(name, loss) for name, loss, _, _ in stages]
    first = 1 + bool(rest)
    bases = [1.0]
    for _, loss in steps:
        bases.append(bases[-1] - loss)
    # the loss stands beside the name: at the bar it would meet the interval, or the edge of a phone
    names = ["all right 1", *(f"{escape(name)} {0.0 - loss:+.3f}" for name, loss in steps), f"the program {value:.3f}"]
    names = [name.replace("-0.000", "0.000").replace("+0.000", "0.000").replace(" -", " −") for name in names]

    def bars(rows: Sequence[str], lengths: Sequence[float], colour: str, hover: str, **options: Any) -> dict[str, Any]:
        bar = {"type": "bar", "orientation": "h", "y": list(rows), "x": list(lengths), "marker": {"color": colour}}
        return {**bar, "hovertemplate": hover + NO_BOX, **options}

    ends = [(-loss, -high, -low) for _, loss, low, high in stages]
    hover = "%{customdata[0]} costs %{customdata[1]:.4f} [%{customdata[2]:.3f}, %{customdata[3]:.3f}]"
    data = [
        bars([names[0], names[-1]], [1.0, value], COLOURS[0], "%{y}"),
        bars(
            names[first:-1],
            [-loss for _, loss, _, _ in stages],
            COLOURS[1],
            hover,
            base=bases[first - 1 : -1],
            error_x=_whiskers(ends, thickness=1.5, color="ink"),
            customdata=[[escape(name), *numbers] for name, *numbers in stages],
        ),
        bars(names[1:first], [-rest] * bool(rest), "muted", "%{y}: no stage explains it", base=bases[: first - 1]),
    ]
    reached = [base - end for base, (_, _, *both) in zip(bases[first - 1 :], stages, strict=False) for end in both]
    rows = {"categoryorder": "array", "categoryarray": names, "autorange": "reversed"}
    layout = {
        "xaxis": {"title": "value of the metric", "range": [min(0.0, *reached) - 0.02, max(1.0, *reached) + 0.02]},
        "yaxis": {**rows, "automargin": True, "showgrid": False},
        "barmode": "overlay",
        "bargap": 0.35,
        "shapes": [_rule(at, place, place + 1, yref="y", dash="dot") for place, at in enumerate(bases)],
        "showlegend": False,
    }
    return _chart("From all right down to the program, stage by stage", data, layout, 120 + 44 * len(names))

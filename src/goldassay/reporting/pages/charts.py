"""Charts as plotly reads them. Colours are names of the page's palette; the page's script fills in each theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape  # plotly reads a few tags in texts
from typing import Any

import numpy as np

from goldassay.reporting.pages.document import typeset
from goldassay.reporting.terminal import bounds, number, signed

Chart = dict[str, Any]
Curves = Sequence[tuple[str, Sequence[tuple[float, float, float]]]]
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
    hovering = {"hovertemplate": hover + NO_BOX} if hover else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": "lines+markers", "name": name, "x": list(x), "y": list(y), **hovering, **options}


def forest(
    names: Sequence[str], runs: Sequence[str], values: Sequence[Sequence[Interval | None]], what: str = "value"
) -> Chart:
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
        "xaxis": {"title": f"{what} [95 %]"},
        "yaxis": {**rows, "autorange": "reversed", "automargin": True},
        "showlegend": len(runs) > 1,
    }
    height = 130 + 34 * max(2, len(names)) * max(1, len(runs)) ** 0.5 // 1
    findings = [
        f"{run}: {name} {number(ends[0], 3)}{bounds((ends[1], ends[2]))}"
        for run, row in zip(runs, values, strict=True)
        for name, ends in zip(names, row, strict=True)
        if ends is not None
    ]
    return _chart(f"{what} with 95 % intervals. {'; '.join(findings)}", data, layout, height)


def curves(label: str, titles: tuple[str, str], runs: Curves, hover: str, **layout: Any) -> Chart:
    """A line a run, through points of x, y and what the hover shows beside them."""
    data = []
    for place, (name, points) in enumerate(runs):
        x, y, beside = zip(*points, strict=True)
        mode = "lines+markers" if len(points) <= 40 else "lines"
        style = {"line": _line(place), "marker": _marker(place, 6), "mode": mode}
        data.append(_scatter(name, x, y, hover, customdata=list(beside), **style))
    xaxis, yaxis = ({"title": title, "range": [-0.02, 1.02]} for title in titles)
    return _chart(label, data, {"xaxis": xaxis, "yaxis": yaxis, "showlegend": len(runs) > 1, **layout})


def seconds(runs: Sequence[tuple[str, Sequence[float]]]) -> Chart:
    """Seconds per example, a box a run: the quartiles, the 1st and the 99th percentile."""
    names = ("lowerfence", "q1", "median", "q3", "upperfence")
    data: list[dict[str, Any]] = []
    findings = []
    for place, (name, values) in enumerate(runs):
        quantiles = dict(
            zip(names, ([end] for end in np.percentile(values, [1, 25, 50, 75, 99]).tolist()), strict=True)
        )
        data.append({"type": "box", "name": name, "y": [name], "orientation": "h", "line": _line(place), **quantiles})
        findings.append(f"{name}: median {quantiles['median'][0]:.3g}, 99 % under {quantiles['upperfence'][0]:.3g}")
    layout = {
        "xaxis": {"title": "seconds an example", "rangemode": "tozero"},
        "yaxis": {"automargin": True, "autorange": "reversed", "showticklabels": len(runs) > 1},
        "showlegend": False,
    }
    return _chart(f"Seconds an example took. {'; '.join(findings)}", data, layout, 140 + 44 * len(runs))


def pareto(points: Sequence[tuple[int, str, float, float, bool]], unit: str) -> Chart:
    """Quality against cost: (place, name, cost, quality, on the front); a dotted line joins the front.

    Points carry their place in the table, since names would overlap. Points that nearly meet share one label.
    """
    front = sorted((cost, value) for _, _, cost, value, best in points if best)
    right = max((cost for _, _, cost, _, _ in points), default=0.0) or 1.0
    top = min(1.0, 1.25 * max((value for *_, value, _ in points), default=0.0)) or 1.0
    cells: dict[tuple[int, int], list[str]] = {}  # numbers of points that nearly meet
    for place, _, cost, value, _ in points:
        cells.setdefault((round(24 * cost / right), round(16 * value / top)), []).append(str(place))
    dotted = {"color": "muted", "dash": "dot", "shape": "hv"}
    costs, values = [cost for cost, _ in front], [value for _, value in front]
    data = [_scatter("", costs, values, "", mode="lines", line=dotted, showlegend=False)]
    for best, legend, shape in ((True, "nothing is better at both", 0), (False, "something is better at both", 1)):
        group = [point for point in points if point[-1] is best]
        labels = [cells.pop((round(24 * point[2] / right), round(16 * point[3] / top)), []) for point in group]
        data.append(
            _scatter(
                legend,
                [point[2] for point in group],
                [point[3] for point in group],
                "%{customdata[0]}: %{y:.3f} at %{x:.4g}",
                mode="markers+text",
                text=list(map(", ".join, labels)),
                textposition="top center",
                cliponaxis=False,
                marker=_marker(shape, 11),
                customdata=[[point[1]] for point in group],
            )
        )
    names = [name for _, name, _, _, best in points if best]
    title = f"{unit} (numbers: the places in the table)"
    layout = {
        "xaxis": {"title": title, "range": [-0.06 * right, 1.08 * right], "zeroline": False},
        "yaxis": {"title": "value", "range": [-0.06 * top, 1.12 * top], "zeroline": False},
    }
    return _chart(f"Quality against {unit}. Nothing is better at both than {', '.join(names)}", data, layout, 360)


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
    dashed = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": "muted", "width": 1, "dash": "dash"}}
    shapes = [{**dashed, "x0": at, "x1": at} for at in (place_of[moment] - 0.5 for moment in breaks)]
    latest = [f"{name} {points[-1][1]:.3f}" for name, points, _ in {each[2]: each for each in series}.values()]
    layout = {"yaxis": {"title": title}, "xaxis": axis, "shapes": shapes, "showlegend": len(series) > 1}
    return _chart(f"{title} over time. Latest: {'; '.join(latest)}", data, layout)


def waterfall(value: float, rest: float, stages: Sequence[tuple[str, float, float, float]]) -> Chart:
    """A cascade from 1 down to the value: a step a stage, each with its name, its loss and the interval of the loss.

    The first step is the ``rest``, which no stage explains and which has no interval. A stage with a negative loss
    steps up: the program is better without gold there.
    """
    steps = [("rest", rest, rest, rest)] * bool(rest) + list(stages)
    # the loss stands beside the name: at the bar it would meet the interval, or the edge of a phone
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
    whiskers = _scatter("", reached, names[1:-1], "", mode="markers", marker={"color": "ink", "size": 3})
    whiskers["error_x"] = _whiskers(ends, thickness=1.5, color="ink")
    layout = {
        "xaxis": {"title": "value of the metric", "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "automargin": True, "showgrid": False},
        "showlegend": False,
    }
    label = f"From all right down to the program, stage by stage: {'; '.join(names)}"
    return _chart(label, [cascade, whiskers], layout, 120 + 44 * len(names))

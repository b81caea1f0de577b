"""Figures as plotly reads them. Colours are names of the page's own palette, put in for each theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape  # plotly reads a few tags in texts
from typing import Any

Chart = dict[str, Any]
NO_BOX = "<extra></extra>"  # plotly would print the series' name in a second box
TINT = ("c0", "c1", "c2", "c3", "c4", "c5", "c6")  # the palette of Okabe and Ito, which most eyes can tell apart
SHAPES = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "pentagon",
    "triangle-down",
    "star",
)  # as .k0 to .k6 of the page


def _figure(label: str, data: list[dict[str, Any]], layout: dict[str, Any], height: int = 320) -> Chart:
    return {"label": label, "data": data, "layout": {"height": height, **layout}}


def forest(names: Sequence[str], runs: Sequence[str], values: Sequence[Sequence[Sequence[float] | None]]) -> Chart:
    """Values with intervals, one row a measure, one mark a run; ``values[run][measure]`` has value, low and high."""
    data = []
    for place, (run, row) in enumerate(zip(runs, values, strict=True)):
        shown = [(name, one) for name, one in zip(names, row, strict=True) if one is not None]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": run,
                "x": [value for _, (value, _, _) in shown],
                "y": [names.index(name) + (place - (len(runs) - 1) / 2) * 0.6 / max(1, len(runs)) for name, _ in shown],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [high - value for _, (value, _, high) in shown],
                    "arrayminus": [value - low for _, (value, low, _) in shown],
                    "thickness": 2,
                    "width": 5,
                },
                "marker": {"color": TINT[place % len(TINT)], "symbol": SHAPES[place % len(SHAPES)], "size": 10},
                "customdata": [[name, low, high] for name, (_, low, high) in shown],
                "hovertemplate": "%{customdata[0]} %{x:.4f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}]" + NO_BOX,
            }
        )
    layout = {
        "xaxis": {"title": "value, with its 95 % interval"},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
            "autorange": "reversed",
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
        "showlegend": len(runs) > 1,
    }
    return _figure(
        "Values with their 95 % intervals", data, layout, 130 + 34 * max(2, len(names)) * max(1, len(runs)) ** 0.5 // 1
    )


def calibration(runs: Sequence[tuple[str, Sequence[dict[str, float]]]]) -> Chart:
    """Accuracy against confidence; on the diagonal a program is as right as it is sure."""
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0, 1],
            "y": [0, 1],
            "name": "as right as sure",
            "line": {"color": "muted", "dash": "dot"},
            "hoverinfo": "skip",
        }
    ]
    for place, (name, bins) in enumerate(runs):
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [one["confidence"] for one in bins],
                "y": [one["accuracy"] for one in bins],
                "customdata": [one["n"] for one in bins],
                "hovertemplate": "confidence %{x:.2f}, right %{y:.2f}, n %{customdata}<extra></extra>",
                "line": {"color": TINT[place % len(TINT)]},
                "marker": {"color": TINT[place % len(TINT)], "symbol": SHAPES[place % len(SHAPES)], "size": 9},
            }
        )
    axis = {"range": [-0.02, 1.02]}
    layout = {"xaxis": {"title": "mean confidence", **axis}, "yaxis": {"title": "share that was right", **axis}}
    return _figure("Calibration: share that was right against confidence", data, layout)


def precision_recall(runs: Sequence[tuple[str, Sequence[tuple[float, float, float]]]]) -> Chart:
    """Precision against recall as the threshold of confidence falls."""
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(points) <= 40 else "lines",
            "name": name,
            "x": [recall for _, _, recall in points],
            "y": [precision for _, precision, _ in points],
            "customdata": [threshold for threshold, _, _ in points],
            "hovertemplate": "confidence ≥ %{customdata:.2f}: precision %{y:.2f}, recall %{x:.2f}<extra></extra>",
            "line": {"color": TINT[place % len(TINT)], "shape": "hv"},
            "marker": {"color": TINT[place % len(TINT)], "symbol": SHAPES[place % len(SHAPES)], "size": 6},
        }
        for place, (name, points) in enumerate(runs)
    ]
    axis = {"range": [-0.02, 1.02]}
    layout = {
        "xaxis": {"title": "recall", **axis},
        "yaxis": {"title": "precision", **axis},
        "showlegend": len(runs) > 1,
    }
    return _figure("Precision against recall", data, layout)


def seconds(runs: Sequence[tuple[str, Sequence[float]]]) -> Chart:
    """How long examples took."""
    data = [
        {
            "type": "box",
            "name": name,
            "x": list(values),
            "boxpoints": False,
            "line": {"color": TINT[place % len(TINT)]},
            "orientation": "h",
        }
        for place, (name, values) in enumerate(runs)
    ]
    layout = {
        "xaxis": {"title": "seconds an example", "rangemode": "tozero"},
        "yaxis": {"automargin": True, "autorange": "reversed", "showticklabels": len(runs) > 1},
        "showlegend": False,
    }
    return _figure("Seconds an example took", data, layout, 140 + 44 * len(runs))


def pareto(points: Sequence[tuple[int, str, float, float, bool]], title: str) -> Chart:
    """Quality against cost: (place, name, cost, quality, on the front); the front's points are joined.

    Points are numbered by their place, since names would stand on top of each other; those of points that nearly meet
    stand together. The axis of values begins at 0 and ends above the best.
    """
    front = sorted((cost, value) for _, _, cost, value, best in points if best)
    most = max((cost for _, _, cost, _, _ in points), default=0.0) or 1.0
    top = min(1.0, 1.25 * max((value for *_, value, _ in points), default=0.0)) or 1.0
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [cost for cost, _ in front],
            "y": [value for _, value in front],
            "line": {"color": "muted", "dash": "dot", "shape": "hv"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    said: dict[tuple[int, int], list[str]] = {}
    for place, _, cost, value, _ in points:
        said.setdefault(_cell(cost / most, value / top), []).append(str(place))
    for best, legend, shape in ((True, "nothing is better at both", 0), (False, "something is better at both", 1)):
        some = [(name, cost, value) for _, name, cost, value, on in points if on is best]
        cells = [_cell(cost / most, value / top) for _, cost, value in some]
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": legend,
                "x": [cost for _, cost, _ in some],
                "y": [value for _, _, value in some],
                "text": [", ".join(said.pop(cell, ())) for cell in cells],
                "textposition": "top center",
                "cliponaxis": False,
                "marker": {"color": TINT[shape], "symbol": SHAPES[shape], "size": 11},
                "customdata": [[name] for name, _, _ in some],
                "hovertemplate": "%{customdata[0]}: %{y:.4f} at %{x:.4g}<extra></extra>",
            }
        )
    axes = {
        "xaxis": {
            "title": f"{title} (numbers: the places in the table)",
            "range": [-0.06 * most, 1.08 * most],
            "zeroline": False,
        },
        "yaxis": {"title": "value", "range": [-0.06 * top, 1.12 * top], "zeroline": False},
    }
    return _figure(f"Quality against {title}", data, axes, 360)


def _cell(x: float, y: float) -> tuple[int, int]:
    """Where numbers would stand on top of each other."""
    return round(24 * x), round(16 * y)


TICKS = 8  # of an axis of moments


def lines(
    series: Sequence[tuple[str, Sequence[tuple[str, float, float, float, str]], int]],
    title: str,
    breaks: Sequence[str] = (),
) -> Chart:
    """Values in the order of time with their intervals: (when, value, low, high, what to say). Series are not joined.

    A series has a name, its points and the number of its colour: those of one colour are told once in the legend.
    Moments stand at equal distances, since runs come in flocks: seconds apart, then days.

    ``breaks`` are moments at which conventions or gold changed: a line is drawn before them.
    """
    moments = sorted({when for _, points, _ in series for when, *_ in points} | set(breaks))
    place_of = {when: number for number, when in enumerate(moments)}
    told = moments[:: -(-len(moments) // TICKS) or 1]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "legendgroup": name,
            "showlegend": name not in [one for one, _, _ in series[:number]],
            "x": [place_of[when] for when, *_ in points],
            "y": [value for _, value, *_ in points],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [high - value for _, value, _, high, _ in points],
                "arrayminus": [value - low for _, value, low, _, _ in points],
                "thickness": 1.5,
                "width": 4,
            },
            "customdata": [said for *_, said in points],
            "hovertemplate": "%{customdata}<br>%{y:.4f}<extra></extra>",
            "line": {"color": TINT[place % len(TINT)]},
            "marker": {"color": TINT[place % len(TINT)], "symbol": SHAPES[place % len(SHAPES)], "size": 9},
        }
        for number, (name, points, place) in enumerate(series)
    ]
    shapes = [
        {
            "type": "line",
            "x0": place_of[moment] - 0.5,
            "x1": place_of[moment] - 0.5,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": "muted", "dash": "dash", "width": 1},
        }
        for moment in breaks
    ]
    axis = {
        "tickvals": [place_of[when] for when in told],
        "ticktext": [when[:16].replace("T", "<br>") for when in told],
        "range": [-0.6, len(moments) - 0.4],
        "zeroline": False,
    }
    layout = {"yaxis": {"title": title}, "xaxis": axis, "shapes": shapes, "showlegend": len(series) > 1}
    return _figure(f"{title} over time", data, layout)


def waterfall(value: float, rest: float, stages: Sequence[tuple[str, float, float, float]]) -> Chart:
    """A cascade: from 1 down to the value, a step a stage; each has a name, its cost and the interval of that.

    The first step is the ``rest``, which no stage mends and which has no interval; without any there is none. A stage
    that costs less than nothing steps up: the program is better without gold there.
    """
    lost = [("rest", rest)] if rest else []
    steps = [*lost, *((name, cost) for name, cost, _, _ in stages)]
    left, bases = 1.0, []
    for _, cost in steps:
        bases.append(left)
        left -= cost
    # what a step costs stands beside its name: at the step it would meet the interval, or the edge of a telephone
    names = ["all right 1", *(f"{escape(name)} {0.0 - cost:+.3f}" for name, cost in steps), f"the program {value:.3f}"]
    names = [name.replace("-0.000", "0.000").replace("+0.000", "0.000").replace(" -", " −") for name in names]
    first = 1 + len(lost)
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "y": [names[0], names[-1]],
            "x": [1.0, value],
            "marker": {"color": TINT[0]},
            "hovertemplate": "%{y}" + NO_BOX,
        },
        {
            "type": "bar",
            "orientation": "h",
            "y": names[first:-1],
            "base": bases[len(lost) :],
            "x": [-cost for _, cost, _, _ in stages],
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [cost - low for _, cost, low, _ in stages],
                "arrayminus": [high - cost for _, cost, _, high in stages],
                "thickness": 1.5,
                "color": "ink",
            },
            "customdata": [[escape(name), cost, low, high] for name, cost, low, high in stages],
            "marker": {"color": TINT[1]},
            "hovertemplate": "%{customdata[0]} costs %{customdata[1]:.4f} [%{customdata[2]:.3f}, %{customdata[3]:.3f}]"
            + NO_BOX,
        },
        {
            "type": "bar",
            "orientation": "h",
            "y": names[1:first],
            "base": bases[: len(lost)],
            "x": [-cost for _, cost in lost],
            "marker": {"color": "muted"},
            "hovertemplate": "%{y}: no stage mends it" + NO_BOX,
        },
    ]
    joints = [
        {
            "type": "line",
            "xref": "x",
            "yref": "y",
            "x0": at,
            "x1": at,
            "y0": place,
            "y1": place + 1,
            "line": {"color": "muted", "width": 1, "dash": "dot"},
        }
        for place, at in enumerate([*bases, left])
    ]
    reached = [base - end for base, (_, _, *ends) in zip(bases[len(lost) :], stages, strict=True) for end in ends]
    layout = {
        "xaxis": {"title": "value of the metric", "range": [min(0.0, *reached) - 0.02, max(1.0, *reached) + 0.02]},
        "yaxis": {
            "autorange": "reversed",
            "automargin": True,
            "showgrid": False,
            "categoryorder": "array",
            "categoryarray": names,
        },
        "barmode": "overlay",
        "bargap": 0.35,
        "shapes": joints,
        "showlegend": False,
    }
    return _figure("From all right down to the program, stage by stage", bars, layout, 120 + 44 * len(names))

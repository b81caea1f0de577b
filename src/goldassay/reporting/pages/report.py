"""`report`: runs, a tuning and judges as one HTML file to look at; the leftmost run is the baseline.

Runs on other gold than the first stand beside it with their values; what is told example by example, and paired
differences, are of the runs that share the first one's gold and conventions. The page says which were left out and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import __version__
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import clusters
from goldassay.reporting.facts import (
    Facts,
    ReportedValue,
    calibration,
    facts,
    precision_recall,
    shown_model,
    unknown_types,
)
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import page
from goldassay.reporting.pages.tuning import Tuning, effects
from goldassay.running.comparing import RunComparison
from goldassay.running.comparing import compare as compare_runs
from goldassay.running.folder import run_at
from goldassay.running.run import Run
from goldassay.running.waterfall import Waterfall
from goldassay.statistics import Comparison, compare

if TYPE_CHECKING:
    from goldassay.reporting.ranking import RankedRun


@dataclass
class Sources:
    """What a report is made of."""

    runs: list[Run] = field(default_factory=list)
    tuning: Tuning | None = None
    judges: list[Mapping[str, Any]] = field(default_factory=list)


def sources(places: Sequence[Path]) -> Sources:
    """Run folders, a tuning's folder, and files of ``goldassay judge align --json``."""
    out = Sources()
    judges = [place for place in places if place.suffix == ".json" and not place.is_dir()]
    for place in map(run_at, [place for place in places if place not in judges]):
        if (place / "tuning.json").is_file():
            if out.tuning is not None:
                raise GoldassayError(f"{place}: a report shows one tuning; it has {out.tuning.folder} already")
            out.tuning = Tuning.load(place)
            out.runs += [Run.load(folder) for folder in out.tuning.runs]
        else:
            out.runs.append(Run.load(place))
    for file in judges:
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except OSError:
            raise GoldassayError(f"no file {file}; write it with goldassay judge align … --json > {file}") from None
        except (ValueError, RecursionError):
            raise DataError("not JSON; write it with goldassay judge align … --json", file=file) from None
        if not isinstance(found, dict) or "judge" not in found:
            raise DataError("not the output of goldassay judge align --json", file=file)
        out.judges.append(found)
    if not (out.runs or out.tuning or out.judges):
        raise GoldassayError("a report needs a run folder, a tuning's folder, or a file of judge align --json")
    return out


def report(
    runs: Sequence[Run],
    *,
    tuning: Tuning | None = None,
    judges: Sequence[Mapping[str, object]] = (),
    ranked: Sequence[RankedRun] = (),
    title: str | None = None,
    seed: int = 0,
) -> str:
    """The page as HTML text; write it to a file and open that.

    Args:
        runs: one or more; all are compared with the first.
        tuning: what a tuning tried, and what it accepted.
        judges: what ``judge align --json`` said of judges.
        ranked: the same runs as `goldassay.reporting.ranking.rank` ordered them.
        title: of the page; by default the names of the runs.
        seed: of the paired tests.
    """
    usable = [run for run in runs if run.rows]
    empty = [f"{data.labels(runs)[place]} has no rows yet" for place, run in enumerate(runs) if not run.rows]
    names = data.labels(usable)
    told = [facts(run) for run in usable]
    together, against, apart = _together(usable, names, seed)
    figures: list[charts.Chart] = []
    context: dict[str, Any] = {
        "title": title or _title(usable, tuning, judges),
        "version": __version__,
        "runs": told,
        "names": names,
        "measures": list(dict.fromkeys(value.name for one in told for value in one.values)),
        "values": data.values(told),
        "against": against,
        "notes": [*empty, *apart, *_notes(usable, names)],
        "facets": (strata := data.strata(told)),
        "parts": (by_part := data.parts(told)),
        "parts_title": " and ".join(["types", *(["strata"] if strata else [])] if by_part else ["strata"]).capitalize(),
        "confusions": [(name, data.matrix(one)) for name, one in zip(names, told, strict=True) if one.confusion],
        "patterns": [(name, data.patterns(one.run)) for name, one in zip(names, told, strict=True)],
        "tuning": tuning,
        "tree": tuning.tree if tuning else [],
        "judges": (named := [{**one, "judge": shown_model(one["judge"])} for one in judges]),
        "shares": None,
        "together": [names[0], *(one.name for one in against)] if usable else [],
        "traced": any("inputs" in run.rows[0] for run in together),
        "curves": [],
        "forest": None,
        "seconds": None,
        "tuning_chart": None,
        "ranked": ranked,
        "pareto": [],
    }
    if ranked:
        for number, what in enumerate(("cost", "seconds")):
            points = [
                (one.place, one.name, spent, one.value.value, one.on_front[number])
                for one in ranked
                if (spent := one.cost if what == "cost" else one.seconds) is not None
            ]
            if len(points) > 1 and any(cost for _, _, cost, _, _ in points):  # one alone is no picture
                unit = "seconds" if what == "seconds" else ranked[0].unit
                context["pareto"].append(_add(figures, charts.pareto(points, unit)))
    if told:
        context["forest"] = _add(figures, _forest(told, names))
        context["curves"] = [_add(figures, figure) for figure in _curves(told, names)]
        context["seconds"] = _add(
            figures,
            charts.seconds(
                [
                    (name, _spread([float(row.get("latency_s") or 0) for row in one.run.rows]))
                    for name, one in zip(names, told, strict=True)
                ]
            ),
        )
    corrected = [one for one in named if isinstance(one.get("corrected"), Mapping)]
    if corrected:
        context["shares"] = _add(figures, _shares(corrected))
    shown = effects(context["tree"])
    if shown:
        context["tuning_chart"] = _add(figures, shown)
    packed = data.packs(together) if together else {}
    return page("report.html", context, scripts=["render.js", "examples.js"], charts=figures, data=packed)


def _title(runs: Sequence[Run], tuning: Tuning | None, judges: Sequence[Mapping[str, object]]) -> str:
    if tuning is not None:
        return f"Tuning with {tuning.about.get('optimizer') or 'an optimizer'}"
    named = list(dict.fromkeys(run.name for run in runs))
    if not named:
        return "A judge beside people" if len(judges) == 1 else "Judges beside people"
    shown = named[:3] if len(named) <= 3 else [*named[:2], f"{len(named) - 2} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _add(figures: list[charts.Chart], figure: charts.Chart) -> int:
    figures.append(figure)
    return len(figures) - 1


@dataclass(frozen=True)
class Difference:
    """A run against the baseline: by the metric, and by each measure."""

    name: str
    metric: Comparison
    won: int
    lost: int
    measures: Sequence[RunComparison]


def _together(runs: Sequence[Run], names: Sequence[str], seed: int) -> tuple[list[Run], list[Difference], list[str]]:
    """The runs that share the first one's examples, their differences from it, and why others are left out."""
    if not runs:
        return [], [], []
    together, apart, found = [runs[0]], [], []
    for run, name in zip(runs[1:], names[1:], strict=True):
        if not run.available:
            apart.append(f"{name} failed on every example: it is not available, and no loss by 0.")
            continue
        try:
            measures = compare_runs(runs[0], run, seed=seed)
        except GoldassayError as error:
            apart.append(f"{name} is not compared example by example: {error}")
            continue
        together.append(run)
        drawn = clusters(run.rows)
        same = list(run.zero) == list(runs[0].zero)
        metric = compare(
            run.evidence if same else [row["score"] for row in run.rows],
            runs[0].evidence if same else [row["score"] for row in runs[0].rows],
            run.zero if same else None,
            clusters=drawn,
            seed=seed,
        )
        gaps = [float(b["score"]) - float(a["score"]) for a, b in zip(runs[0].rows, run.rows, strict=True)]
        won, lost = sum(gap > 1e-9 for gap in gaps), sum(gap < -1e-9 for gap in gaps)
        found.append(Difference(name, metric, won, lost, measures))
    return together, found, apart


def _notes(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """What a reader has to know before believing a number."""
    out = []
    for run, name in zip(runs, names, strict=True):
        failed = sum(1 for row in run.rows if row.get("error"))
        if run.about.get("status") != "finished":
            out.append(
                f"{name} is {run.about.get('status', 'unfinished')}: {len(run.rows)} of "
                f"{run.about.get('gold', {}).get('examples', '?')} examples."
            )
        if apart := unknown_types(run):
            out.append(f"{name}: {apart}.")
        if failed:
            out.append(f"{name}: {failed} of {len(run.rows)} examples failed; their gold counts as missed.")
        if run.rows and "inputs" not in run.rows[0]:
            out.append(f"{name} was made without trace, so its inputs and gold are not shown.")
    return out


def _forest(told: Sequence[Facts], names: Sequence[str]) -> charts.Chart:
    each = dict.fromkeys(value.name for one in told for value in one.values)
    measures = ["metric", *each] if len(each) > 1 else list(each)  # of one measure the metric's value is its own
    table = []
    for one in told:
        found = {value.name: value for value in (one.overall, *one.values)}
        table.append([_ends(found.get(name)) for name in measures])
    return charts.forest(measures, names, table)


def _shares(judges: Sequence[Mapping[str, Any]]) -> charts.Chart:
    """What a judge calls positive, that corrected by people's labels, and what the labels say alone."""
    ways = {"as judged": "naive", "corrected by the labels": "corrected", "labels alone": "people_only"}
    table = []
    for one in judges:
        found = [one["corrected"].get(key) for key in ways.values()]
        table.append(
            [(each["value"], each["low"], each["high"]) if isinstance(each, Mapping) else None for each in found]
        )
    figure = charts.forest(list(ways), [str(one["judge"]) for one in judges], table)
    figure["label"] = "Share of items that are positive, with 95 % intervals"
    figure["layout"]["xaxis"]["title"] = "share, with its 95 % interval"
    return figure


def _ends(value: ReportedValue | None) -> tuple[float, float, float] | None:
    if value is None or value.interval is None:
        return None
    return value.value, value.interval.low, value.interval.high


def _curves(told: Sequence[Facts], names: Sequence[str]) -> list[charts.Chart]:
    some = [(name, one) for name, one in zip(names, told, strict=True) if one.confidences]
    if not some:
        return []
    return [
        charts.calibration([(name, calibration(one.confidences)) for name, one in some]),
        charts.precision_recall([(name, precision_recall(one.confidences, one.positives)) for name, one in some]),
    ]


def _spread(values: Sequence[float], most: int = 400) -> list[float]:
    """So many numbers at most, spread like the whole: what a box needs."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[place * (len(ordered) - 1) // (most - 1)] for place in range(most)]


def waterfall(found: Waterfall, title: str) -> str:
    """The page of a pipeline's waterfall."""
    stages = [(one.stage, one.cost, one.low, one.high) for one in found.shares]
    figure = charts.waterfall(found.value, found.rest, stages)
    context = {"title": f"What each stage costs: {title}", "version": __version__, "found": found}
    return page("waterfall.html", context, charts=[figure])

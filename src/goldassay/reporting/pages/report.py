"""The report: runs, a tuning and judges as one HTML file. The first run is the baseline.

Runs on other gold than the first stand beside it with their values. Examples and paired differences cover only the runs
that share the first one's gold and conventions; the page says which runs are left out and why.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import summary
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import code, page
from goldassay.reporting.pages.tuning import Tuning, effects
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.summary import ReportedValue, RunSummary
from goldassay.reporting.verdicts import FEW, differences, metric_title, run_sentence
from goldassay.running.folder import run_at
from goldassay.running.logs import KINDS, read_log, split_name
from goldassay.running.rows import FEW as MEMORY
from goldassay.running.run import Run
from goldassay.running.waterfall import Waterfall

if TYPE_CHECKING:
    from goldassay.tuning.audit.verdict import Audit

ESTIMATES = {"as judged": "naive", "corrected by the labels": "corrected", "labels alone": "people_only"}


@dataclass
class Sources:
    """What a report is made from."""

    runs: list[Run] = field(default_factory=list)
    tuning: Tuning | None = None
    judges: list[Mapping[str, Any]] = field(default_factory=list)


def sources(places: Sequence[Path]) -> Sources:
    """Reads run folders, one tuning folder, logs of other tools, and what ``goldassay judge align --json`` writes."""
    loaded = Sources()
    for place in places:
        if split_name(place)[0].is_file():
            logged = read_log(place)
            loaded.runs += logged
            loaded.judges += [] if logged else [_judge(place)]
            continue
        folder = run_at(place)
        if not (folder / "tuning.json").is_file():
            loaded.runs.append(Run.load(folder))
            continue
        if loaded.tuning is not None:
            raise GoldassayError(f"{folder}: a report shows one tuning, and it already shows {loaded.tuning.folder}")
        loaded.tuning = Tuning.load(folder)
        loaded.runs += map(Run.load, loaded.tuning.runs)
    if not places:
        raise GoldassayError(
            "a report needs a run folder, a tuning folder, a log of another tool, or the agreement of a judge as JSON"
        )
    return loaded


def _judge(file: Path) -> Mapping[str, Any]:
    try:
        agreement = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        agreement = None
    if not isinstance(agreement, dict) or "judge" not in agreement:
        raise DataError(f"neither the agreement of a judge as JSON nor a log of {KINDS}", file=file)
    return agreement


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pauses the garbage collector, which would walk over hundreds of thousands of rows again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_uncollected()
def report(
    runs: Sequence[Run],
    *,
    tuning: Tuning | None = None,
    judges: Sequence[Mapping[str, Any]] = (),
    ranked: Sequence[RankedRun] = (),
    title: str | None = None,
    seed: int = 0,
    audit: Audit | None = None,
    library: str | None = None,
) -> str:
    """The page as HTML text.

    Args:
        runs: One or more; all are compared with the first.
        tuning: What a tuning tried and what it kept.
        judges: The output of ``judge align --json``, one a judge.
        ranked: The same runs as `goldassay.reporting.ranking.rank` orders them.
        title: Of the page; by default the names of the runs.
        seed: Of the paired tests.
        audit: Whether an optimizer helped.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    usable = [_in_memory(run) for run in runs if run.rows]
    stored = dict(zip(map(id, usable), (run for run in runs if run.rows), strict=True))
    empty = [f"{name} has no rows yet" for run, name in zip(runs, summary.labels(runs), strict=True) if not run.rows]
    names = summary.labels(usable)
    summaries = [summary.summarize(run) for run in usable]
    comparable, against, excluded = differences(summaries, names, seed)
    judges = [{**judge, "judge": summary.model_name(judge["judge"])} for judge in judges]
    tree = tuning.tree if tuning else []
    context: dict[str, Any] = {
        "title": title or _title(usable, tuning, judges),
        "runs": summaries,
        "names": names,
        "against": against,
        **_first(summaries, names),
        "notes": [*empty, *excluded, *_notes(usable, names)],
        **_parts(summaries, names),
        "tuning": tuning,
        "audit": audit,
        "tree": tree,
        "judges": judges,
        "together": [names[0], *(difference.name for difference in against)] if usable else [],
        "ranked": ranked,
        "leader": leader(ranked) if ranked else [],
        "pareto": _pareto(ranked),
        "shares": _shares([judge for judge in judges if isinstance(judge.get("corrected"), Mapping)]),
        "tuning_chart": effects(tree),
    }
    packed = data.packs(comparable, [stored[id(run)].rows for run in comparable]) if comparable else {}
    return page("report.html", context, scripts=["render.js", "examples.js"], data=packed, library=library)


def _parts(summaries: Sequence[RunSummary], names: Sequence[str]) -> dict[str, Any]:
    """The tables and charts of the runs."""
    values, named = data.values(summaries), list(zip(names, summaries, strict=True))
    whole = [(summaries[0].overall, [each.overall for each in summaries])] if len(values) > 1 else []
    parts, facets = data.tables(summaries), {facet for each in summaries for facet in each.run.by_stratum}
    return {
        "values": values,
        "facets": facets,
        "parts": parts,
        "parts_title": "Types and strata" if parts.keys() - facets else "Strata",
        "named": partial(code, institutional="custodian_type" in facets),
        "confusions": [(name, data.matrix(each.confusion)) for name, each in named if each.confusion],
        "patterns": [(name, data.patterns(each.run)) for name, each in named],
        "forest": _forest(names, [*whole, *values]),
        "curves": _curves(summaries, names),
        "seconds": _seconds(summaries, names),
    }


def _first(summaries: Sequence[RunSummary], names: Sequence[str]) -> dict[str, Any]:
    """What the first screen says of the first run."""
    if not summaries:
        return {"few": FEW, "sentence": "", "worst": [], "metric_name": ""}
    run = summaries[0].run
    title = metric_title(run.zero.weights, run.zero.worst)
    return {"few": FEW, "sentence": run_sentence(run, names[0]), "worst": _worst(run), "metric_name": title}


def _worst(run: Run, most: int = 8) -> list[tuple[str, str, float]]:
    """The examples with the lowest scores, failures first, with their first words."""
    rows = sorted((row for row in run.rows if summary.is_wrong(row)), key=lambda row: float(row["score"]))
    return [(str(row["id"]), data.first_words(row), float(row["score"])) for row in rows[:most]]


def _in_memory(run: Run) -> Run:
    """The run with its rows in memory but for their prompts, so that a large run's file is read once."""
    if len(run.rows) <= MEMORY or isinstance(run.rows, list):
        return run
    return replace(run, rows=[{key: row[key] for key in row if key != "calls"} for row in run.rows])


def _title(runs: Sequence[Run], tuning: Tuning | None, judges: Sequence[Mapping[str, object]]) -> str:
    if tuning is not None:
        return f"Tuning with {tuning.about.get('optimizer') or 'an optimizer'}"
    names = list(dict.fromkeys(run.name for run in runs))
    if not names:
        return "A judge beside people" if len(judges) == 1 else "Judges beside people"
    names = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _notes(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """What a reader has to know before believing a number."""
    notes = []
    for run, name in zip(runs, names, strict=True):
        size, failed = len(run.rows), run.folded.failed
        if run.about.get("status") not in ("finished", "given"):
            examples = run.about.get("gold", {}).get("examples", "?")
            notes.append(f"{name} is {run.about.get('status', 'unfinished')}: {size} of {examples} examples.")
        notes += [f"{name}: {warning}." for warning in (*run.warnings, summary.unknown_types(run)) if warning]
        notes += [f"{name}: {line}." for line in summary.noise_lines(run)]
        if failed:
            notes.append(f"{name}: {failed} of {size} examples failed; their gold counts as missed.")
        if "inputs" not in run.rows[0]:
            notes.append(f"{name} has no trace, so its inputs and gold are not shown.")
    return notes


def _pareto(ranked: Sequence[RankedRun]) -> list[charts.Chart]:
    """Quality against cost and against seconds, for systems whose cost is known."""
    figures = []
    for number, unit in enumerate((ranked[0].unit, "seconds") if ranked else ()):
        points = [
            (system.place, system.name, spent, system.value.value, system.on_front[number])
            for system in ranked
            if (spent := (system.cost, system.seconds)[number]) is not None
        ]
        if len(points) > 1 and any(spent for _, _, spent, _, _ in points):
            figures.append(charts.pareto(points, unit))
    return figures


def _forest(
    names: Sequence[str], values: Sequence[tuple[ReportedValue, Sequence[ReportedValue | None]]]
) -> charts.Chart | None:
    rows = [
        [(each.value, each.interval.low, each.interval.high) if each and each.interval else None for each in row]
        for _, row in values
    ]
    return charts.forest([about.name for about, _ in values], names, list(zip(*rows, strict=True))) if rows else None


def _shares(judges: Sequence[Mapping[str, Any]]) -> charts.Chart | None:
    """What a judge calls positive, the same corrected by people's labels, and what the labels alone say."""
    if not judges:
        return None
    table = []
    for judge in judges:
        estimates = [judge["corrected"].get(key) for key in ESTIMATES.values()]
        table.append([(e["value"], e["low"], e["high"]) if isinstance(e, Mapping) else None for e in estimates])
    return charts.forest(list(ESTIMATES), [str(judge["judge"]) for judge in judges], table, "share of positive items")


def _curves(summaries: Sequence[RunSummary], names: Sequence[str]) -> list[charts.Chart]:
    rows = [(name, row.confidences, row.positives) for name, row in zip(names, summaries, strict=True)]
    rows = [row for row in rows if row[1]]
    if not rows:
        return []
    means = [(name, *np.mean(pairs, axis=0).tolist()) for name, pairs, _ in rows]
    finding = "; ".join(f"{name}: mean confidence {sure:.3f}, right {right:.3f}" for name, sure, right in means)
    line = {"color": "muted", "dash": "dot"}
    diagonal = {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "line": line, "layer": "below"}
    return [
        charts.curves(
            f"Calibration; on the dotted line a program is as right as sure. {finding}",
            ("mean confidence", "share that was right"),
            [(name, summary.calibration(pairs)) for name, pairs, _ in rows],
            "confidence %{x:.2f}, right %{y:.2f}, n %{customdata}",
            shapes=[diagonal],
        ),
        charts.curves(
            "Precision against recall as the confidence threshold falls",
            ("recall", "precision"),
            [(name, summary.precision_recall(pairs, gold)) for name, pairs, gold in rows],
            "confidence ≥ %{customdata:.2f}: precision %{y:.2f}, recall %{x:.2f}",
        ),
    ]


def _seconds(summaries: Sequence[RunSummary], names: Sequence[str]) -> charts.Chart | None:
    latencies = [[float(row.get("latency_s") or 0) for row in each.run.rows] for each in summaries]
    return charts.seconds(list(zip(names, latencies, strict=True))) if latencies else None


def waterfall(stages: Waterfall, title: str) -> str:
    """The page of a pipeline's stages (`goldassay eval --stages`)."""
    steps = [(share.stage, share.cost, share.low, share.high) for share in stages.shares]
    figure = charts.waterfall(stages.value, stages.rest, steps)
    context = {"title": f"What each stage costs: {title}", "found": stages, "cascade": figure}
    return page("waterfall.html", context)

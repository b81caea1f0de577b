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

from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import summary
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import code, page
from goldassay.reporting.pages.tuning import Tuning, effects
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.summary import RunSummary
from goldassay.reporting.verdicts import FEW, differences, metric_title, run_sentence
from goldassay.running.folder import run_at
from goldassay.running.logs import read_log, split_name
from goldassay.running.logs.tools import KINDS
from goldassay.running.rows import FEW as MEMORY
from goldassay.running.run import Run
from goldassay.running.waterfall import Waterfall
from goldassay.tuning.patterns import find

PATTERNS = 25  # error patterns of a run

if TYPE_CHECKING:
    from goldassay.tuning.verdict import Audit


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
    gc.disable()
    try:
        yield
    finally:
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
    stored = [run for run in runs if run.rows]
    usable = list(map(_in_memory, stored))
    empty = [f"{name} has no rows yet" for run, name in zip(runs, summary.labels(runs), strict=True) if not run.rows]
    names = summary.labels(usable)
    summaries = list(map(summary.summarize, usable))
    comparable, against, excluded = differences(summaries, names, seed)
    tree = tuning.tests if tuning else []
    facets = {facet for run in usable for facet in run.by_stratum}
    values = data.values(summaries)
    sure = [(name, pairs) for name, run in zip(names, usable, strict=True) if len(pairs := summary.confidences(run))]
    context: dict[str, Any] = {
        "title": title or (tuning.title if tuning else summary.shortened(names, 3) or "A judge beside people"),
        "runs": summaries,
        "names": names,
        "against": against,
        "few": FEW,
        "sentence": run_sentence(usable[0], names[0]) if usable else "",
        "worst": _worst(usable[0]) if usable else [],
        "metric_name": metric_title(usable[0].zero.weights, usable[0].zero.worst) if usable else "",
        "notes": [*empty, *excluded, *_notes(usable, names)],
        "values": values,
        "facets": facets,
        "parts": data.tables(summaries),
        "named": partial(code, institutional="custodian_type" in facets),
        "confusions": [
            (name, data.matrix(each.confusion)) for name, each in zip(names, summaries, strict=True) if each.confusion
        ],
        "patterns": [(name, find(run.cases)[:PATTERNS]) for name, run in zip(names, usable, strict=True)],
        "forest": _forest(names, summaries, values),
        "curves": [curve(sure) for curve in (charts.calibration, charts.precision_recall) if sure],
        "tuning": tuning,
        "audit": audit,
        "tree": tree,
        "judges": [{**judge, "judge": summary.model_name(judge["judge"])} for judge in judges],
        "together": [names[0], *(difference.name for difference in against)] if usable else [],
        "ranked": ranked,
        "leader": leader(ranked) if ranked else [],
        "spent": _spent(ranked),
        "tuning_chart": effects(tree),
    }
    rows = [run.rows for run, loaded in zip(stored, usable, strict=True) if any(loaded is each for each in comparable)]
    packed = data.packs(comparable, rows) if comparable else {}
    return page("report.html", context, scripts=["render.js", "examples.js"], data=packed, library=library)


def _worst(run: Run, most: int = 8) -> list[tuple[str, str, float]]:
    """The examples with the lowest scores, failures first, with their first words."""
    rows = sorted((row for row in run.rows if summary.is_wrong(row)), key=lambda row: float(row["score"]))
    return [(str(row["id"]), data.first_words(row), float(row["score"])) for row in rows[:most]]


def _in_memory(run: Run) -> Run:
    """The run with its rows in memory but for their prompts, so that a large run's file is read once."""
    if len(run.rows) <= MEMORY or isinstance(run.rows, list):
        return run
    return replace(run, rows=[{key: row[key] for key in row if key != "calls"} for row in run.rows])


def _notes(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """What a reader has to know before believing a number."""
    notes = []
    for run, name in zip(runs, names, strict=True):
        if run.about.get("status") not in ("finished", "given"):
            examples = run.about.get("gold", {}).get("examples", "?")
            notes.append(f"{name} is {run.about.get('status', 'unfinished')}: {len(run.rows)} of {examples} examples.")
        notes += [f"{name}: {text}." for text in (*summary.warnings(run), *summary.noise_lines(run))]
        if "inputs" not in run.rows[0]:
            notes.append(f"{name} has no trace, so its inputs and gold are not shown.")
    return notes


def _spent(ranked: Sequence[RankedRun]) -> list[charts.Chart]:
    """Quality against cost and against seconds, for systems whose cost is known."""
    figures = []
    for unit, name in ((ranked[0].unit, "cost"), ("seconds", "seconds")) if ranked else ():
        series = [(each.name, [getattr(each, name)], [each.value.value]) for each in ranked if getattr(each, name)]
        figures += [charts.scatter(f"Quality against {unit}", (unit, "value"), series)] if len(series) > 1 else []
    return figures


def _forest(names: Sequence[str], summaries: Sequence[RunSummary], values: data.Values) -> charts.Chart | None:
    """Every value with its interval, the metric first if it has several measures."""
    whole: data.Values = [(summaries[0].overall, [each.overall for each in summaries])] if len(values) > 1 else []
    shown = [*whole, *values]
    rows = [
        [(each.value, each.interval.low, each.interval.high) if each and each.interval else None for each in row]
        for _, row in shown
    ]
    return charts.forest([about.name for about, _ in shown], names, list(zip(*rows, strict=True))) if rows else None


def waterfall(stages: Waterfall, title: str) -> str:
    """The page of a pipeline's stages (`goldassay eval --stages`)."""
    steps = [(share.stage, share.cost, share.low, share.high) for share in stages.shares]
    figure = charts.waterfall(stages.value, stages.rest, steps)
    context = {"title": f"What each stage costs: {title}", "found": stages, "cascade": figure}
    return page("waterfall.html", context)

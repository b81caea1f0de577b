"""Pages to look at, one HTML file each: runs, a tuning, judges; the stages of a pipeline; drafted gold to correct.

In a report the first run is the baseline. Runs on other gold than the first stand beside it with their values. Examples
and paired differences cover only the runs that share the first one's gold and conventions; the page says which runs are
left out and why. A folder of runs has its pages in `dashboard`.
"""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import summary
from goldassay.reporting.cells import shortened
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import code, packed, page
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.tuning import Tuning
from goldassay.reporting.verdicts import FEW, differences, metric_title, run_sentence
from goldassay.running.folder import run_at
from goldassay.running.logs import read_log, split_name
from goldassay.running.logs.tools import KINDS
from goldassay.running.rows import FEW as MEMORY
from goldassay.running.run import Run
from goldassay.running.waterfall import Waterfall
from goldassay.tuning.patterns import find

if TYPE_CHECKING:
    from goldassay.tuning.verdict import Audit

__all__ = ["Tuning", "correcting", "report", "sources", "waterfall"]

PATTERNS, WORST = 25, 8  # error patterns and worst examples of a run


def sources(places: Sequence[Path]) -> dict[str, Any]:
    """What `report` is made from, as its arguments: run folders, one tuning folder, logs of other tools, and what
    ``goldassay judge align --json`` writes."""
    runs: list[Run] = []
    judges: list[Mapping[str, Any]] = []
    tuning: Tuning | None = None
    for place in places:
        if split_name(place)[0].is_file():
            logged = read_log(place)
            runs += logged
            judges += [] if logged else [_judge(place)]
            continue
        folder = run_at(place)
        if not (folder / "tuning.json").is_file():
            runs.append(Run.load(folder))
            continue
        if tuning is not None:
            raise GoldassayError(f"{folder}: a report shows one tuning, and it already shows {tuning.folder}")
        tuning = Tuning.load(folder)
        runs += map(Run.load, tuning.runs)
    if not places:
        raise GoldassayError(
            "a report needs a run folder, a tuning folder, a log of another tool, or the agreement of a judge as JSON"
        )
    return {"runs": runs, "tuning": tuning, "judges": judges}


def _judge(file: Path) -> Mapping[str, Any]:
    try:
        agreement = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        agreement = None
    if not isinstance(agreement, dict) or "judge" not in agreement:
        raise DataError(f"neither the agreement of a judge as JSON nor a log of {KINDS}", file=file)
    return {**agreement, "judge": summary.model_name(agreement["judge"])}


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
        audit: Whether an optimizer helped.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    stored = [run for run in runs if run.rows]
    usable = list(map(_without_prompts, stored))
    names = summary.labels(usable)
    named = list(zip(names, usable, strict=True))
    summaries = list(map(summary.RunSummary, usable))
    comparable, against, excluded = differences(summaries, names)
    tree = tuning.tests if tuning else []
    values = data.values(summaries)
    context: dict[str, Any] = {
        "title": title or (tuning.title if tuning else shortened(names, 3) or "A judge beside people"),
        "runs": summaries,
        "names": names,
        "against": against,
        "few": FEW,
        "sentence": run_sentence(usable[0], names[0]) if usable else "",
        "worst": _worst(usable[0]) if usable else [],
        "metric_name": metric_title(usable[0]) if usable else "",
        "notes": [*_without_rows(runs), *excluded, *(note for name, run in named for note in _notes(name, run))],
        "values": values,
        "facets": (facets := {facet for run in usable for facet in run.by_stratum}),
        "parts": data.tables(summaries),
        "named": partial(code, institutional="custodian_type" in facets),
        "confusions": [(n, data.matrix(s.confusion)) for n, s in zip(names, summaries, strict=True) if s.confusion],
        "patterns": [(name, find(run.cases)[:PATTERNS]) for name, run in named],
        "forest": _forest(names, summaries, values),
        "curves": _curves(named),
        "tuning": tuning,
        "audit": audit,
        "tree": tree,
        "judges": judges,
        "together": [names[0], *(difference.name for difference in against)] if usable else [],
        "ranked": ranked,
        "leader": leader(ranked) if ranked else [],
        "spent": charts.spent(ranked),
        "tuning_chart": charts.effects(tree),
    }
    rows = [run.rows for run, loaded in zip(stored, usable, strict=True) if any(loaded is each for each in comparable)]
    packs = data.packs(comparable, rows) if comparable else {}
    return page("report.html", context, scripts=["render.js", "examples.js"], data=packs, library=library)


def _without_prompts(run: Run) -> Run:
    """A large run whose file is read once; its prompts are read when they are packed."""
    if len(run.rows) <= MEMORY or isinstance(run.rows, list):
        return run
    return replace(run, rows=[{key: row[key] for key in row if key != "calls"} for row in run.rows])


def _worst(run: Run) -> list[tuple[str, str, float]]:
    """The examples of the lowest scores: id, first words, score."""
    worst = sorted(filter(summary.is_wrong, run.rows), key=lambda row: float(row["score"]))
    return [(str(row["id"]), data.first_words(row), float(row["score"])) for row in worst[:WORST]]


def _forest(names: Sequence[str], runs: Sequence[summary.RunSummary], values: Sequence[Any]) -> Any:
    """The values of all runs with their intervals; their weighted value first, if a metric has several."""
    overall = [(runs[0].overall, [each.overall for each in runs])] if len(values) > 1 else []
    rows = [*overall, *values]
    return charts.forest(names, [(about.name, [each and each.ends for each in row]) for about, row in rows])


def _curves(named: Sequence[tuple[str, Run]]) -> list[Any]:
    """Calibration, and precision against recall, of the runs that state confidences."""
    sure = [(name, pairs) for name, run in named if len(pairs := summary.confidences(run))]
    return [curve(sure) for curve in (charts.calibration, charts.precision_recall) if sure]


def _without_rows(runs: Sequence[Run]) -> list[str]:
    return [f"{name} has no rows yet" for run, name in zip(runs, summary.labels(runs), strict=True) if not run.rows]


def _notes(name: str, run: Run) -> Iterator[str]:
    """What a reader has to know before believing a run's numbers."""
    status = run.about.get("status", "unfinished")
    if status not in ("finished", "given"):
        yield f"{name} is {status}: {len(run.rows)} of {run.about.get('gold', {}).get('examples', '?')} examples."
    for text in (*summary.warnings(run), *summary.noise_lines(run)):
        yield f"{name}: {text}."
    if "inputs" not in run.rows[0]:
        yield f"{name} has no trace, so its inputs and gold are not shown."


def waterfall(stages: Waterfall, title: str) -> str:
    """The page of a pipeline's stages (`goldassay eval --stages`)."""
    steps = [(share.stage, share.cost, share.low, share.high) for share in stages.shares]
    figure = charts.waterfall(stages.value, stages.rest, steps)
    return page("waterfall.html", {"title": f"What each stage costs: {title}", "found": stages, "cascade": figure})


def correcting(records: Sequence[Mapping[str, Any]], task: str, outputs: Sequence[str]) -> str:
    """The page that corrects drafted gold by keyboard; it keeps the work in the browser and exports JSONL.

    Args:
        records: The drafted records.
        task: The task.
        outputs: The fields to be corrected.
    """
    content = json.dumps({"task": task, "outputs": list(outputs), "records": list(records)}, ensure_ascii=False)
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    context = {"title": f"Correct {task}", "total": len(records), "key": key}
    return page("correcting.html", context, scripts=["correcting.js"], data={"drafts": packed(content)})

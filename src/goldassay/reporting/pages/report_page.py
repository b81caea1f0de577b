"""The report of runs, a tuning, and whatever else says of itself what it shows, as one page.

The first run is the baseline. Runs on other gold are listed with their values. Examples and paired differences cover
only the runs that share the first one's gold and conventions; the page says which runs are left out and why. A folder
of runs has its pages in `dashboard`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypedDict

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.extensions import of_kind, registered
from goldassay.core.fields import JsonObject
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import code, page
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.summary import RunSummary, confidences, is_wrong, step_view
from goldassay.reporting.tuning import Tuning
from goldassay.reporting.verdicts import LEAST_COMPARED, differences
from goldassay.results.comparisons import metric_title
from goldassay.results.view import Chart, Point, Sentence, View, shortened
from goldassay.running.folder import run_at
from goldassay.running.head import HEAD
from goldassay.running.rows import ROWS_IN_MEMORY
from goldassay.running.run import Run, logged_runs
from goldassay.running.summary import doubts, labels, model_name, noise_lines, run_sentence
from goldassay.tuning.patterns import find

PATTERNS = 25  # error patterns of a run


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
    views: Sequence[View] = (),
    ranked: Sequence[RankedRun] = (),
    title: str | None = None,
    library: str | None = None,
) -> str:
    """The page as HTML text.

    Args:
        runs: One or more; all are compared with the first.
        tuning: The tests of a tuning and the edits that it kept.
        views: What other results show of themselves: reviews, judges, whatever extensions read.
        ranked: The same runs as `goldassay.reporting.ranking.rank` orders them.
        title: Of the page; by default the names of the runs.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    stored = [run for run in runs if run.rows]
    usable = []
    for run in stored:
        if len(run.rows) > ROWS_IN_MEMORY and not isinstance(run.rows, list):
            # a large run's file is read once; its prompts are read when they are packed
            run = replace(run, rows=[replace(row, calls=()) for row in run.rows])
        usable.append(run)
    names = labels(usable)
    summaries = list(map(RunSummary, usable))
    comparable, against, excluded = differences(summaries, names)
    notes = [f"{name} has no rows yet" for run, name in zip(runs, labels(runs), strict=True) if not run.rows]
    notes += [*excluded, *(note for name, run in zip(names, usable, strict=True) for note in _notes(name, run))]
    steps = [view for name, about in zip(names, summaries, strict=True) if (view := step_view(name, about.steps))]
    heads = [item.text for view in views for item in view if isinstance(item, Sentence) and item.style == "head"]
    pages: list[JsonObject] = []  # of each run alone
    for name, about in zip(names, summaries, strict=True):
        confusion = data.matrix(about.confusion) if about.confusion else None
        patterns = find(about.run.cases)[:PATTERNS]
        pages.append({"name": name, "summary": about, "patterns": patterns, "confusion": confusion})
    verdict: JsonObject | None = None  # on the first run, with its worst examples
    for run in usable[:1]:
        wrong = sorted(filter(is_wrong, run.rows), key=lambda row: row.score)
        worst = [(str(row.id), data.first_words(row), float(row.score)) for row in wrong[:8]]
        verdict = {"sentence": run_sentence(run, names[0]), "metric": metric_title(run.zero), "worst": worst}
    strata = {facet for about in summaries for facet in about.run.by_stratum}  # other facets are types and labels
    named = partial(code, institutional="custodian_type" in strata)
    pairs = [(name, confidences(run)) for name, run in zip(names, usable, strict=True)]
    confident = [(name, table) for name, table in pairs if len(table)]
    context: JsonObject = {
        "title": title or (tuning.title if tuning else shortened([*names, *heads], 3) or "Report"),
        "names": names,
        "runs": pages,
        "notes": notes,
        "values": _values(names, summaries),
        "parts": {"strata": strata, "tables": data.tables(summaries), "few": LEAST_COMPARED, "named": named},
        "verdict": verdict,
        "against": against,
        "together": [names[0], *(difference.name for difference in against)] if usable else [],
        "curves": [charts.calibration(confident), charts.precision_recall(confident)] if confident else [],
        "ranking": ranked and {"systems": ranked, "leader": leader(ranked), "charts": charts.spent(ranked)},
        "tuning": tuning,
        "views": [*views, *steps],
    }
    rows = [
        run.rows for run, loaded in zip(stored, usable, strict=True) if any(loaded is other for other in comparable)
    ]
    packs = data.packs(comparable, rows) if comparable else {}
    return page("report.html", context, scripts=["steps.js", "render.js", "examples.js"], data=packs, library=library)


def _values(names: Sequence[str], runs: Sequence[RunSummary]) -> JsonObject:
    """Each measure (as the first run that has it reports it) with its value in each run, and the chart of all values.

    In the chart the weighted value comes first, if a metric has several measures.
    """
    by_name = [{value.name: value for value in summary.values} for summary in runs]
    measures = dict.fromkeys(name for row in by_name for name in row)
    rows = []
    for name in measures:
        of_runs = [row.get(name) for row in by_name]
        rows.append((next(filter(None, of_runs)), of_runs))
    series = []
    for at, name in enumerate(names):
        reported = [runs[at].overall] if len(rows) > 1 else []
        reported += [value for _, row in rows if (value := row[at])]
        intervals = [(value, value.interval) for value in reported if value.interval]
        series.append((name, [Point(value.name, value.value, ends.low, ends.high) for value, ends in intervals]))
    return {"rows": rows, "chart": Chart("intervals", "value", series) if rows else None}


def _notes(name: str, run: Run) -> Iterator[str]:
    """Sentences that a reader has to know before believing a run's numbers."""
    status = run.head.status or "unfinished"
    if status not in ("finished", "given"):
        total = "?" if run.head.gold.examples is None else run.head.gold.examples
        yield f"{name} is {status}: {len(run.rows)} of {total} examples."
    for text in (*doubts(run), *noise_lines(run)):
        yield f"{name}: {text}."
    if run.rows[0].inputs is None:
        yield f"{name} has no trace, so its inputs and gold are not shown."


class Sources(TypedDict):
    """The first arguments of `goldassay.reporting.pages.report`."""

    runs: list[Run]
    tuning: Tuning | None
    views: list[View]


def sources(places: Sequence[Path]) -> Sources:
    """Reads the arguments of `report` from run folders, one tuning folder, files of ``goldassay judge eval --json``,
    proofs of prompts (``PROGRAM.proof.json``, or the saved program that one lies beside), and whatever an extension
    reads as runs (logs of other tools) or shows (folders of reviews).

    Raises:
        GoldassayError: There is no place, a place is not a run, or there are several tunings.
        DataError: A file is neither a log nor the agreement of a judge, or a review is broken.
    """
    if not places:
        raise GoldassayError(
            "a report needs a run folder, a tuning folder, a log of another tool, the proof of a prompt, the agreement "
            "of a judge as JSON, or the folder of a review"
        )
    runs: list[Run] = []
    views: list[View] = []
    tuning: Tuning | None = None
    for source in places:
        folder = run_at(source)
        if (folder / "tuning.json").is_file():
            if tuning is not None:
                raise GoldassayError(f"{folder}: a report shows one tuning, and it already shows {tuning.folder}")
            tuning = Tuning.load(folder)
            runs += map(Run.load, tuning.runs)
        elif source.suffix == ".json" and (proofs := _proofs(source)):
            views += proofs
        elif view := next((view for read in of_kind("views").values() if (view := read(source))), None):
            views.append(view)  # of the first extension that knows this file or folder
        elif not (folder / HEAD).is_file() and (logged := logged_runs(source)):
            runs += logged
        elif source.is_file():
            from goldassay.judges.agreement import JudgeAgreement  # loads DSPy

            try:
                value = files.json_value(source)
                if isinstance(value, dict):
                    value = value.get("agreement", value)
                agreement = files.validated(JudgeAgreement, value, source)
            except DataError:
                logs = ", ".join(registered("readers")) or "none is there"
                message = f"neither the agreement of a judge as JSON nor a log that an extension reads ({logs})"
                raise DataError(message, file=source) from None
            named = replace(agreement, judge=model_name(agreement.judge))
            views.append([Sentence("A judge compared with people", "head"), *named.view()])
        else:
            runs.append(Run.load(folder))
    return {"runs": runs, "tuning": tuning, "views": views}


def _proofs(file: Path) -> list[View]:
    """The proofs of a prompt, if this is their file or that of a saved program that they lie beside."""
    from goldassay.tuning.units import proofs_at, read_proofs  # loads DSPy

    proofs = proofs_at(file)
    return [proof.view() for proof in read_proofs(proofs)] if proofs.is_file() else []

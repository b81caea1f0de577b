"""The report of runs, a tuning, judges and reviews, as one page.

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
from typing import TYPE_CHECKING

from goldassay.fields import Fields, Record
from goldassay.reporting.cells import shortened
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import code, page
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.summary import RunSummary, confidences, is_wrong, labels, noise_lines, warnings
from goldassay.reporting.tuning import Tuning
from goldassay.reporting.verdicts import FEW, differences, metric_title, run_sentence
from goldassay.running.rows import FEW as MEMORY
from goldassay.running.run import Run
from goldassay.tuning.patterns import find

if TYPE_CHECKING:
    from goldassay.tuning.verdict import Audit

PATTERNS = 25  # error patterns of a run
WORST = 8  # worst examples of a run


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
    judges: Sequence[Record] = (),
    reviews: Sequence[Record] = (),
    ranked: Sequence[RankedRun] = (),
    title: str | None = None,
    audit: Audit | None = None,
    library: str | None = None,
) -> str:
    """The page as HTML text.

    Args:
        runs: One or more; all are compared with the first.
        tuning: The tests of a tuning and the edits that it kept.
        judges: The output of ``judge align --json``, one a judge.
        reviews: What went wrong, by people who read traces.
        ranked: The same runs as `goldassay.reporting.ranking.rank` orders them.
        title: Of the page; by default the names of the runs.
        audit: Whether an optimizer helped.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    stored = [run for run in runs if run.rows]
    usable = list(map(_without_prompts, stored))
    names = labels(usable)
    summaries = list(map(RunSummary, usable))
    comparable, against, excluded = differences(summaries, names)
    notes = [f"{name} has no rows yet" for run, name in zip(runs, labels(runs), strict=True) if not run.rows]
    notes += [*excluded, *(note for name, run in zip(names, usable, strict=True) for note in _notes(name, run))]
    shown = [*names, *(review["name"] for review in reviews)]
    context: Fields = {
        "title": title or (tuning.title if tuning else shortened(shown, 3) or "A judge beside people"),
        "names": names,
        "runs": [_alone(name, about) for name, about in zip(names, summaries, strict=True)],
        "notes": notes,
        "values": _values(names, summaries),
        "parts": _parts(summaries),
        "verdict": _verdict(usable[0], names[0]) if usable else None,
        "against": against,
        "together": [names[0], *(difference.name for difference in against)] if usable else [],
        "curves": _curves(names, usable),
        "ranking": ranked and {"systems": ranked, "leader": leader(ranked), "charts": charts.spent(ranked)},
        "tuning": tuning and {"folder": tuning, "tests": tuning.tests, "chart": charts.effects(tuning.tests)},
        "judges": judges,
        "reviews": reviews,
        "audit": audit,
    }
    rows = [run.rows for run, loaded in zip(stored, usable, strict=True) if any(loaded is each for each in comparable)]
    packs = data.packs(comparable, rows) if comparable else {}
    return page("report.html", context, scripts=["render.js", "examples.js"], data=packs, library=library)


def _alone(name: str, about: RunSummary) -> Fields:
    """What the page shows of one run alone: its values, its error patterns, its confusion matrix."""
    confusion = data.matrix(about.confusion) if about.confusion else None
    return {"name": name, "summary": about, "patterns": find(about.run.cases)[:PATTERNS], "confusion": confusion}


def _verdict(run: Run, name: str) -> Fields:
    """The first run in a sentence, the name of its metric, and its worst examples: id, first words, score."""
    wrong = sorted(filter(is_wrong, run.rows), key=lambda row: float(row["score"]))
    worst = [(str(row["id"]), data.first_words(row), float(row["score"])) for row in wrong[:WORST]]
    return {"sentence": run_sentence(run, name), "metric": metric_title(run), "worst": worst}


def _values(names: Sequence[str], runs: Sequence[RunSummary]) -> Fields:
    """Each measure with its value in each run, and the chart of all of them with their intervals.

    In the chart the weighted value comes first, if a metric has several measures.
    """
    rows = data.values(runs)
    lines = [(about.name, [value.ends if value else None for value in row]) for about, row in rows]
    if len(rows) > 1:
        lines.insert(0, (runs[0].overall.name, [about.overall.ends for about in runs]))
    return {"rows": rows, "chart": charts.forest(names, lines)}


def _parts(runs: Sequence[RunSummary]) -> Fields:
    """Values by type and stratum. ``strata`` are the facets that are strata; the others are types and labels.

    ``named`` writes a key as the page shows it: the code of an institution type with its name.
    """
    strata = {facet for about in runs for facet in about.run.by_stratum}
    named = partial(code, institutional="custodian_type" in strata)
    return {"strata": strata, "tables": data.tables(runs), "few": FEW, "named": named}


def _without_prompts(run: Run) -> Run:
    """A large run whose file is read once; its prompts are read when they are packed."""
    if len(run.rows) <= MEMORY or isinstance(run.rows, list):
        return run
    return replace(run, rows=[{key: row[key] for key in row if key != "calls"} for row in run.rows])


def _curves(names: Sequence[str], runs: Sequence[Run]) -> list[charts.Chart]:
    """Calibration, and precision against recall, of the runs that state confidences."""
    pairs = [(name, confidences(run)) for name, run in zip(names, runs, strict=True)]
    confident = [(name, table) for name, table in pairs if len(table)]
    return [charts.calibration(confident), charts.precision_recall(confident)] if confident else []


def _notes(name: str, run: Run) -> Iterator[str]:
    """Sentences that a reader has to know before believing a run's numbers."""
    status = run.about.get("status", "unfinished")
    if status not in ("finished", "given"):
        yield f"{name} is {status}: {len(run.rows)} of {run.about.get('gold', {}).get('examples', '?')} examples."
    for text in (*warnings(run), *noise_lines(run)):
        yield f"{name}: {text}."
    if "inputs" not in run.rows[0]:
        yield f"{name} has no trace, so its inputs and gold are not shown."

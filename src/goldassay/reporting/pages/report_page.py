"""The report of runs, a tuning and judges, as one page.

The first run is the baseline. Runs on other gold are listed with their values. Examples and paired differences cover
only the runs that share the first one's gold and conventions; the page says which runs are left out and why. A folder
of runs has its pages in `dashboard`.
"""

from __future__ import annotations

import gc
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from goldassay.fields import Record
from goldassay.reporting.cells import shortened
from goldassay.reporting.pages import charts, data
from goldassay.reporting.pages.document import code, page
from goldassay.reporting.ranking import RankedRun, leader
from goldassay.reporting.summary import (
    ReportedValue,
    RunSummary,
    confidences,
    is_wrong,
    labels,
    noise_lines,
    warnings,
)
from goldassay.reporting.tuning import Tuning
from goldassay.reporting.verdicts import FEW, Difference, differences, metric_title, run_sentence
from goldassay.running.rows import FEW as MEMORY
from goldassay.running.run import Run
from goldassay.tuning.patterns import Pattern, find

if TYPE_CHECKING:
    from goldassay.tuning.verdict import Audit

PATTERNS = 25  # error patterns of a run
WORST = 8  # worst examples of a run


@dataclass(frozen=True)
class ReportedRun:
    """A run as the page shows it: its name, values, error patterns, and confusion matrix."""

    name: str
    summary: RunSummary
    patterns: Sequence[Pattern]
    confusion: Record | None

    @classmethod
    def of(cls, name: str, about: RunSummary) -> ReportedRun:
        """A run with everything that the page shows of it alone."""
        confusion = data.matrix(about.confusion) if about.confusion else None
        return cls(name, about, find(about.run.cases)[:PATTERNS], confusion)


@dataclass(frozen=True)
class Verdict:
    """The first run in a sentence, the name of its metric, and its worst examples: id, first words, score."""

    sentence: str
    metric: str
    worst: Sequence[tuple[str, str, float]]

    @classmethod
    def of(cls, run: Run, name: str) -> Verdict:
        """The verdict on a run."""
        wrong = sorted(filter(is_wrong, run.rows), key=lambda row: float(row["score"]))
        worst = [(str(row["id"]), data.first_words(row), float(row["score"])) for row in wrong[:WORST]]
        return cls(run_sentence(run, name), metric_title(run), worst)


@dataclass(frozen=True)
class Values:
    """Each measure with its value in each run, and the chart of all of them with their intervals."""

    rows: Sequence[tuple[ReportedValue, Sequence[ReportedValue | None]]]
    chart: charts.Chart | None

    @classmethod
    def of(cls, names: Sequence[str], runs: Sequence[RunSummary]) -> Values:
        """The values of all runs; in the chart the weighted value comes first, if a metric has several measures."""
        rows = data.values(runs)
        lines = [(about.name, [value.ends if value else None for value in row]) for about, row in rows]
        if len(rows) > 1:
            lines.insert(0, (runs[0].overall.name, [about.overall.ends for about in runs]))
        return cls(rows, charts.forest(names, lines))


@dataclass(frozen=True)
class Parts:
    """Values by type and stratum. ``strata`` are the facets that are strata; the others are types and labels."""

    strata: frozenset[str]
    tables: Mapping[str, Record]
    few: int = FEW

    @classmethod
    def of(cls, runs: Sequence[RunSummary]) -> Parts:
        """The parts of all runs."""
        strata = frozenset(facet for about in runs for facet in about.run.by_stratum)
        return cls(strata, data.tables(runs))

    def named(self, key: Hashable, facet: str = "") -> str:
        """A key as the page writes it: the code of an institution type with its name."""
        return code(key, facet, institutional="custodian_type" in self.strata)


@dataclass(frozen=True)
class TuningPart:
    """A tuning with its tests, and the chart of their effects."""

    folder: Tuning
    tests: Sequence[Record]
    chart: charts.Chart | None

    @classmethod
    def of(cls, tuning: Tuning) -> TuningPart:
        """The tests of a tuning."""
        tests = tuning.tests
        return cls(tuning, tests, charts.effects(tests))


@dataclass(frozen=True)
class RankingPart:
    """Ranked systems, the sentences about the leader, and charts of value against cost and seconds."""

    systems: Sequence[RankedRun]
    leader: Sequence[str]
    charts: Sequence[charts.Chart]

    @classmethod
    def of(cls, systems: Sequence[RankedRun]) -> RankingPart:
        """The parts of a ranking."""
        return cls(systems, leader(systems), charts.spent(systems))


@dataclass(frozen=True)
class Report:
    """The parts of a page, as its template names them.

    Args:
        title: The title of the page.
        names: A distinct name for each run.
        runs: The runs that have rows.
        notes: Sentences that a reader has to know before believing the numbers.
        values: The values of all runs.
        parts: The same by type and stratum.
        verdict: The first run's; None without runs.
        against: The differences of the other runs from the first.
        together: The names of the runs whose examples are listed.
        curves: Calibration and precision-recall charts of runs that state confidences.
        ranking: The runs as a ranking.
        tuning: The tests and edits of a tuning.
        judges: The agreement of judges with people.
        audit: Whether an optimizer helped.
    """

    title: str
    names: Sequence[str]
    runs: Sequence[ReportedRun]
    notes: Sequence[str]
    values: Values
    parts: Parts
    verdict: Verdict | None
    against: Sequence[Difference]
    together: Sequence[str]
    curves: Sequence[charts.Chart]
    ranking: RankingPart | None
    tuning: TuningPart | None
    judges: Sequence[Record]
    audit: Audit | None


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
    parts = Report(
        title=title or (tuning.title if tuning else shortened(names, 3) or "A judge beside people"),
        names=names,
        runs=[ReportedRun.of(name, about) for name, about in zip(names, summaries, strict=True)],
        notes=notes,
        values=Values.of(names, summaries),
        parts=Parts.of(summaries),
        verdict=Verdict.of(usable[0], names[0]) if usable else None,
        against=against,
        together=[names[0], *(difference.name for difference in against)] if usable else [],
        curves=_curves(names, usable),
        ranking=RankingPart.of(ranked) if ranked else None,
        tuning=TuningPart.of(tuning) if tuning else None,
        judges=judges,
        audit=audit,
    )
    rows = [run.rows for run, loaded in zip(stored, usable, strict=True) if any(loaded is each for each in comparable)]
    packs = data.packs(comparable, rows) if comparable else {}
    return page("report.html", vars(parts), scripts=["render.js", "examples.js"], data=packs, library=library)


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

"""The verdict on runs: one sentence for the report, the terminal and a notebook, and the parts that changed most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import with_flags
from goldassay.core.evidence import Evidences, clustered
from goldassay.core.tally import Counts
from goldassay.reporting.summary import RunSummary
from goldassay.results.comparison import Comparison
from goldassay.results.comparisons import Comparisons, compare, same_metric
from goldassay.running.comparing import check_comparable
from goldassay.running.run import Run
from goldassay.statistics.paired import difference_interval

LEAST_COMPARED = 5  # examples below which the difference of a part says nothing


class PartDifference(NamedTuple):
    """The difference of two runs on one part of the examples: a type, or a key of a stratum."""

    facet: str
    key: str
    n: int
    before: float
    after: float
    low: float
    high: float

    @property
    def size(self) -> float:
        """The absolute difference."""
        return abs(self.after - self.before)

    @property
    def change(self) -> str:
        """``better`` or ``worse`` if the interval excludes 0, else empty."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else ""


@dataclass(frozen=True)
class Difference:
    """A run against the baseline on the same examples: by the metric, by each measure and part.

    Args:
        run: The run.
        baseline: What the sentence calls the baseline.
        name: What it calls the run.
        overall: How they differ by the metric; on drafted gold, by the first measure that the labels can estimate.
        spoken: The same as a sentence says it.
        measures: How they differ by each measure.
        changes: The id of each example and the change of its score, the largest gain first.
        parts: How they differ by type and stratum.
        kinds: The kinds of error whose number changed, before and after.
    """

    run: Run
    baseline: str
    name: str
    overall: Comparison
    spoken: Comparison
    measures: Sequence[Comparison]
    changes: Sequence[tuple[str, float]]
    parts: Sequence[PartDifference]
    kinds: Sequence[tuple[str, int, int]]

    @property
    def moved(self) -> list[PartDifference]:
        """The parts that changed, those that moved the metric most first."""
        moved = [part for part in self.parts if part.size > 1e-9]  # a smaller change is none
        return sorted(moved, key=lambda part: -part.size * part.n)


def differences(
    summaries: Sequence[RunSummary], names: Sequence[str], seed: int = 0
) -> tuple[list[Run], list[Difference], list[str]]:
    """The runs that share the first one's examples, their differences from it, and why others are left out."""
    comparable = [each.run for each in summaries[:1]]
    compared: list[Difference] = []
    excluded = []
    for summary, name in zip(summaries[1:], names[1:], strict=True):
        runs = summaries[0].run, summary.run
        if not summary.run.available:
            excluded.append(f"{name} failed on every example, so it is not compared.")
            continue
        try:
            check_comparable(*runs)
            comparisons = compare(*(run.result for run in runs), names=(names[0], name), seed=seed)
        except GoldassayError as error:
            excluded.append(f"{name} is not compared example by example: {with_flags(str(error))}")
            continue
        comparable.append(summary.run)
        compared += against(runs, comparisons, list(_types(summaries[0], summary)))
    return comparable, compared, excluded


def against(runs: Sequence[Run], comparisons: Comparisons, types: Sequence[PartDifference] = ()) -> list[Difference]:
    """Each compared run against the baseline, with its strata, and with how it differs by type."""
    first, *others = runs
    baseline, *names = comparisons.names
    old = _kinds(first)
    compared = []
    by_run = zip(others, names, comparisons.overall, comparisons.spoken, comparisons.groups, strict=True)
    for run, name, overall, spoken, measures in by_run:
        if not (overall and spoken):  # the labels say nothing about this run, and `notes` say why
            continue
        pairs = zip(first.rows, run.rows, strict=True)
        changes = [(str(before.id), float(after.score) - float(before.score)) for before, after in pairs]
        changes.sort(key=lambda change: -change[1])
        parts: list[PartDifference] = []
        if not first.design.drafted:  # whose parts nothing weighs
            parts += [*types, *(_strata(first, run) if same_metric(first.result, run.result) else ())]
        new = _kinds(run)
        kinds = [(kind, old[kind], new[kind]) for kind in old | new if old[kind] != new[kind]]
        kinds.sort(key=lambda change: (-abs(change[2] - change[1]), change[0]))
        compared.append(Difference(run, baseline, name, overall, spoken, measures, changes, parts, kinds))
    return compared


def _kinds(run: Run) -> Counter[str]:
    """The kinds of error in a run, each with its type."""
    kinds = [f"{error.kind} {error.gold_type or error.pred_type}" for row in run.rows for error in row.errors]
    return Counter(kind.replace("_", " ").strip() for kind in kinds)


Matrix = NDArray[np.float64]
"""The fields of tallies: a row an example or document, a column a field."""


def _part(facet: str, key: str, n: int, evidence: Evidences, after: Matrix, before: Matrix) -> PartDifference:
    """The difference of one part, with its interval over examples or documents."""
    ends, _ = difference_interval(evidence, after, before, 0.95, None)
    return PartDifference(facet, key, n, evidence.of(before), evidence.of(after), ends.low, ends.high)


def _strata(first: Run, run: Run) -> Iterator[PartDifference]:
    """The difference in the metric for each key of each stratum that has more than one."""
    columns: list[Any] = [system.zero.with_items(system.result.columns) for system in (run, first)]
    folds = [Evidences(column, run.zero) for column in columns]
    if folds[0].paths != folds[1].paths:
        return
    places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, row in enumerate(first.rows):
        for stratum, key in row.facets.items():
            places[stratum][key].append(at)
    for stratum, keys in places.items():
        for key, rows in keys.items() if len(keys) > 1 else ():
            after = folds[0].matrix[rows]
            before = folds[1].matrix[rows]
            if first.clusters:
                clusters = [first.clusters[at] for at in rows]
                after = clustered(after, clusters)
                before = clustered(before, clusters)
            yield _part(stratum, key, len(rows), folds[0], after, before)


def _types(first: RunSummary, second: RunSummary) -> Iterator[PartDifference]:
    """The F1 of each type, label or property."""
    for facet, tallies in first.counts.items():
        for key, after in second.counts.get(facet, {}).items():
            support = int(np.sum(tallies[key].tp) + np.sum(tallies[key].fn)) if key in tallies else 0
            if support:
                columns: list[Any] = [after, tallies[key]]
                folds = [Evidences(counts, Counts(0, 0, 0), first.run.clusters) for counts in columns]
                yield _part(facet, str(key), support, folds[0], *(side.matrix for side in folds))

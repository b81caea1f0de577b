"""The verdict on runs: one sentence for the report, the terminal and a notebook, and the parts that changed most."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError
from goldassay.reporting.cells import bounds, number, signed
from goldassay.reporting.summary import RunSummary, formula, labels, overall, values
from goldassay.running.comparing import RunComparison, RunComparisons
from goldassay.running.comparing import compare as compare_runs
from goldassay.running.rows import facets
from goldassay.running.run import Run
from goldassay.statistics import compare
from goldassay.statistics.evidence import Evidences, clustered
from goldassay.statistics.paired import difference_interval
from goldassay.tally import Counts

SAME = 1e-9  # a smaller change is none
FEW = 5  # examples below which the difference of a part says nothing
UPPER = {"f1": "F1", "mrr": "MRR", "rr": "RR", "ap": "AP", "nil": "NIL", "ece": "ECE", "mae": "MAE"}


def title(name: str) -> str:
    """A value's name for a sentence.

    >>> title("strict_f1"), title("nDCG@10"), title("0.7 f1 + 0.3 (1 - brier)")
    ('strict F1', 'nDCG@10', '0.7 F1 + 0.3 (1 - brier)')
    """
    return re.sub(r"[^\W_]+", lambda word: UPPER.get(word[0], word[0]), name).replace("_", " ")


def metric_title(run: Run) -> str:
    """The name of a run's metric for a sentence: its measure, or the weighted sum of its measures."""
    text = title(formula(run.zero))
    return f"metric ({text})" if " + " in text else text or "metric"


def headline(run: Run) -> tuple[str, str]:
    """The value that a sentence names, with its title: the metric, or its only measure where lower is better."""
    weighted = [name for name in run.zero if run.zero.weights.get(name, 1.0)]
    if len(weighted) == 1 and weighted[0] in run.zero.worst:
        return weighted[0], f"{title(weighted[0])} (lower is better)"
    return "metric", metric_title(run)


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


class Difference:
    """A run against the baseline on the same examples: by the metric, by each measure and part.

    ``changes`` holds each example's id and change, the largest gain first; ``won`` and ``lost`` are the ids of those
    that are better and worse. ``kinds`` are the kinds of error whose number changed, before and after.

    On gold that a design chose, the first measure that labels tell takes the metric's place (``labelled``).

    Args:
        runs: The baseline and the run.
        names: What the sentence calls them.
        measures: How they differ by each measure.
        seed: Of the permutation test.
        types: How they differ by type.
    """

    def __init__(
        self,
        runs: tuple[Run, Run],
        names: tuple[str, str],
        measures: Sequence[RunComparison],
        seed: int = 0,
        types: Iterable[PartDifference] = (),
    ) -> None:
        first, self.run = runs
        self.baseline, self.name = names
        self.measures = measures
        before = [float(row["score"]) for row in first.rows]
        after = [float(row["score"]) for row in self.run.rows]
        same = list(self.run.zero) == list(first.zero)
        evidence = (self.run.evidence, first.evidence, self.run.zero) if same else (after, before, None)
        self.labelled = next((each for each in measures if each.verdict), None)
        if self.labelled:
            self.metric = self.labelled.comparison
        else:
            self.metric = compare(*evidence, clusters=self.run.clusters, seed=seed)
        changes = [(str(row["id"]), new - old) for row, old, new in zip(first.rows, before, after, strict=True)]
        self.changes = sorted(changes, key=lambda pair: -pair[1])
        self.won = [key for key, change in self.changes if change > SAME]
        self.lost = [key for key, change in reversed(self.changes) if change < -SAME]
        parts = [*types, *(_strata(first, self.run) if same else ())]
        self.parts = [] if first.design else parts  # which nothing weighs
        old = _kinds(first)
        new = _kinds(self.run)
        kinds = [(kind, old[kind], new[kind]) for kind in old | new if old[kind] != new[kind]]
        self.kinds = sorted(kinds, key=lambda change: (-abs(change[2] - change[1]), change[0]))

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, ``same`` or ``open``."""
        if not self.won and not self.lost:
            return "same"
        if self.metric.p >= 0.05:
            return "open"
        reversed_ = self.labelled is not None and self.labelled.lower_is_better
        return "better" if (self.metric.difference > 0) != reversed_ else "worse"

    @property
    def sentence(self) -> str:
        """The difference in one sentence; a metric of one measure speaks in the direction of the measure."""
        if self.labelled and self.labelled.verdict:
            return replace(self.labelled.verdict, systems=(self.baseline, self.name)).sentence
        value, measure = headline(self.run)
        if self.verdict == "same":
            return f"{self.name} and {self.baseline} score the same in {measure} on all {self.run.size}."
        test = {each.measure: each.comparison for each in self.measures}.get(value, self.metric)
        gap = f"{signed(test.difference, test.interval)} {measure} on {self.run.size}"
        if self.verdict != "open":
            return f"{self.name} is {self.verdict} than {self.baseline} by {gap}."
        if test.smallest_detectable:
            gap += f"; this many show a difference of {test.smallest_detectable:.3f} four times in five"
        return f"Whether {self.name} differs from {self.baseline} cannot be told: {gap}."

    @property
    def moved(self) -> list[PartDifference]:
        """The parts that changed, those that moved the metric most first."""
        moved = [part for part in self.parts if part.size > SAME]
        return sorted(moved, key=lambda part: -part.size * part.n)


def differences(
    summaries: Sequence[RunSummary], names: Sequence[str], seed: int = 0
) -> tuple[list[Run], list[Difference], list[str]]:
    """The runs that share the first one's examples, their differences from it, and why others are left out."""
    comparable = [each.run for each in summaries[:1]]
    compared = []
    excluded = []
    for summary, name in zip(summaries[1:], names[1:], strict=True):
        runs = summaries[0].run, summary.run
        if not summary.run.available:
            excluded.append(f"{name} failed on every example, so it is not compared.")
            continue
        try:
            measures = compare_runs(*runs, seed=seed)
        except GoldassayError as error:
            excluded.append(f"{name} is not compared example by example: {error}")
            continue
        comparable.append(summary.run)
        compared.append(Difference(runs, (names[0], name), measures, seed, _types(summaries[0], summary)))
    return comparable, compared, excluded


def against(comparisons: RunComparisons, seed: int = 0) -> list[Difference]:
    """Each compared run against the baseline, with its strata."""
    first = comparisons.baseline
    runs = list({id(each.run): each.run for each in comparisons}.values())
    names = labels([first, *runs])
    return [
        Difference((first, run), (names[0], name), [each for each in comparisons if each.run is run], seed)
        for run, name in zip(runs, names[1:], strict=True)
    ]


def _kinds(run: Run) -> Counter[str]:
    """The kinds of error in a run, each with its type."""
    errors = [error for row in run.rows for error in row.get("errors", ())]
    types = [error.get("gold_type") or error.get("pred_type") or "" for error in errors]
    kinds = [f"{error['kind']} {type_}" for error, type_ in zip(errors, types, strict=True)]
    return Counter(kind.replace("_", " ").strip() for kind in kinds)


Matrix = NDArray[np.float64]
"""The fields of tallies: a row an example or document, a column a field."""


def _part(facet: str, key: str, n: int, evidence: Evidences, after: Matrix, before: Matrix) -> PartDifference:
    """The difference of one part, with its interval over examples or documents."""
    ends, _ = difference_interval(evidence, after, before, 0.95, None)
    return PartDifference(facet, key, n, evidence.of(before), evidence.of(after), ends.low, ends.high)


def _strata(first: Run, run: Run) -> Iterator[PartDifference]:
    """By each key of each stratum that has more than one; in the metric."""
    columns: list[Any] = [each.zero.with_items(each.folded.columns) for each in (run, first)]
    sides = [Evidences(column, run.zero) for column in columns]
    if sides[0].paths != sides[1].paths:
        return
    places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, row in enumerate(first.rows):
        for stratum, key in facets(row).items():
            places[stratum][key].append(place)
    for stratum, keys in places.items():
        for key, rows in keys.items() if len(keys) > 1 else ():
            after = sides[0].matrix[rows]
            before = sides[1].matrix[rows]
            if first.clusters:
                clusters = [first.clusters[place] for place in rows]
                after = clustered(after, clusters)
                before = clustered(before, clusters)
            yield _part(stratum, key, len(rows), sides[0], after, before)


def _types(first: RunSummary, second: RunSummary) -> Iterator[PartDifference]:
    """By type, label or property: F1 of each."""
    for facet, tallies in first.counts.items():
        for key, after in second.counts.get(facet, {}).items():
            support = int(np.sum(tallies[key].tp) + np.sum(tallies[key].fn)) if key in tallies else 0
            if support:
                columns: list[Any] = [after, tallies[key]]
                sides = [Evidences(counts, Counts(0, 0, 0), first.run.clusters) for counts in columns]
                yield _part(facet, str(key), support, sides[0], *(side.matrix for side in sides))


def run_sentence(run: Run, name: str) -> str:
    """The value of one run, in one sentence."""
    if run.no_level:
        return f"{name} has no value: {run.no_level}."
    key, measure = headline(run)
    reported = values(run)
    value = next((each for each in reported if each.name == key), overall(run))
    text = f"{name} reaches {number(value.value, 3)}{bounds(value.interval)} {measure} on {run.size}"
    missed = [f"{title(each.name)} {each.target:g}" for each in reported if each.met is False]
    if missed:
        return f"{text}, short of the target{'s' if len(missed) > 1 else ''} {', '.join(missed)}."
    met = sum(each.met is True for each in reported)
    if met:
        text += "; its targets are met" if met > 1 else "; its target is met"
    return f"{text}."

"""The verdict on runs: one sentence for the report, the terminal and a notebook, and what moved between two runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.reporting.summary import RunSummary, labels, overall, term, values
from goldassay.reporting.terminal import bounds, signed
from goldassay.running.comparing import RunComparison, RunComparisons
from goldassay.running.comparing import compare as compare_runs
from goldassay.running.rows import facets
from goldassay.running.run import Run
from goldassay.statistics import Comparison, compare
from goldassay.statistics.evidence import Evidences, clustered
from goldassay.statistics.paired import difference_interval
from goldassay.tally import Counts

FEW = 5  # examples below which the difference of a part says nothing
UPPER = {"f1": "F1", "mrr": "MRR", "rr": "RR", "ap": "AP", "nil": "NIL", "ece": "ECE", "mae": "MAE"}


def title(name: str) -> str:
    """A value's name for a sentence.

    >>> title("strict_f1"), title("nDCG@10"), title("hits@1")
    ('strict F1', 'nDCG@10', 'hits@1')
    """
    return " ".join(UPPER.get(word, word) for word in name.split("_"))


def metric_title(weights: Mapping[str, float], worst: Mapping[str, float] = {}) -> str:
    """The name of a metric for a sentence.

    >>> metric_title({"strict_f1": 1.0, "partial_f1": 0.0}), metric_title({"f1": 0.7, "rougeL": 0.3})
    ('strict F1', 'metric (0.7 F1 + 0.3 rougeL)')
    >>> metric_title({"brier": 1.0}, {"brier": 1.0}), metric_title({"f1": 1.0, "brier": 1.0}, {"brier": 1.0})
    ('1 - brier', 'metric (1 F1 + 1 (1 - brier))')
    """
    names = {name: title(name) for name, weight in weights.items() if weight}
    if len(names) == 1:
        ((name, text),) = names.items()
        return term(text, worst.get(name))
    terms = [(weights[name], f"({term(text, worst[name])})" if name in worst else text) for name, text in names.items()]
    return f"metric ({' + '.join(f'{weight:g} {name}' for weight, name in terms)})" if terms else "metric"


@dataclass(frozen=True)
class PartDifference:
    """The difference of two runs on one part of the examples: a type, or a key of a stratum."""

    facet: str
    key: str
    n: int
    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """The second run's value minus the first one's."""
        return self.after - self.before

    @property
    def size(self) -> float:
        """The absolute difference."""
        return abs(self.difference)


@dataclass(frozen=True)
class Difference:
    """A run against the baseline: by the metric, by each measure and part, and the examples that changed.

    ``changes`` holds each example's id and change, the largest gain first.
    """

    name: str
    baseline: str
    run: Run
    metric: Comparison
    measures: Sequence[RunComparison]
    changes: Sequence[tuple[str, float]]
    parts: Sequence[PartDifference] = ()
    kinds: Sequence[tuple[str, int, int]] = ()

    @property
    def won(self) -> list[str]:
        """The examples that are better, the largest gain first."""
        return [key for key, change in self.changes if change > 1e-9]

    @property
    def lost(self) -> list[str]:
        """The examples that are worse, the largest loss first."""
        return [key for key, change in reversed(self.changes) if change < -1e-9]

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, ``same`` or ``open``."""
        if not self.won and not self.lost:
            return "same"
        if self.metric.p >= 0.05:
            return "open"
        return "better" if self.metric.difference > 0 else "worse"

    @property
    def _headline(self) -> tuple[Comparison, str]:
        """The difference to name, with its title: of the single measure of a metric in its own direction."""
        weighted = [name for name, weight in self.run.zero.weights.items() if weight]
        single = next((each for each in self.measures if [each.measure] == weighted), None)
        if single and single.lower_is_better:
            return single.comparison, f"{title(single.measure)} (lower is better)"
        return self.metric, metric_title(self.run.zero.weights, self.run.zero.worst)

    @cached_property
    def sentence(self) -> str:
        """What the difference says, in one sentence."""
        name, (test, measure) = self.name, self._headline
        gap = f"{signed(test.difference)}{bounds(test.interval, '+')}"
        where = f"on {self.run.size}"
        if self.verdict == "same":
            return f"{name} and {self.baseline} score the same in {measure} on all {self.run.size}."
        if self.verdict == "open":
            power = f"; this many show a difference of {test.smallest_detectable:.3f} four times in five"
            return (
                f"Whether {name} differs from {self.baseline} cannot be told: {gap} {measure} {where}"
                f"{power if test.smallest_detectable else ''}."
            )
        return f"{name} is {self.verdict} than {self.baseline} by {gap} {measure} {where}."

    @property
    def moved(self) -> list[PartDifference]:
        """The three parts that moved most, weighted by their size."""
        moved = [part for part in self.parts if part.n >= FEW and part.size > 1e-9]
        return sorted(moved, key=lambda part: -part.size * part.n)[:3]


def differences(
    summaries: Sequence[RunSummary], names: Sequence[str], seed: int = 0
) -> tuple[list[Run], list[Difference], list[str]]:
    """The runs that share the first one's examples, their differences from it, and why others are left out."""
    if not summaries:
        return [], [], []
    first = summaries[0].run
    comparable, compared, excluded = [first], [], []
    for summary, name in zip(summaries[1:], names[1:], strict=True):
        run = summary.run
        if not run.available:
            excluded.append(f"{name} failed on every example, so it is not compared.")
            continue
        try:
            measures = compare_runs(first, run, seed=seed)
        except GoldassayError as error:
            excluded.append(f"{name} is not compared example by example: {error}")
            continue
        comparable.append(run)
        parts = [*_type_differences(summaries[0], summary), *stratum_differences(first, run)]
        compared.append(difference((first, run), (names[0], name), measures, seed, parts))
    return comparable, compared, excluded


def against(comparisons: RunComparisons, seed: int = 0) -> list[Difference]:
    """Each compared run against the baseline, with its strata."""
    first, runs = comparisons.baseline, list({id(each.run): each.run for each in comparisons}.values())
    names = labels([first, *runs])
    measures = [[each for each in comparisons if each.run is run] for run in runs]
    return [
        difference((first, run), (names[0], name), own, seed, list(stratum_differences(first, run)))
        for run, name, own in zip(runs, names[1:], measures, strict=True)
    ]


def difference(
    runs: tuple[Run, Run],
    names: tuple[str, str],
    measures: Sequence[RunComparison],
    seed: int = 0,
    parts: Sequence[PartDifference] = (),
) -> Difference:
    """A run against the baseline on the same examples, by the metric.

    Args:
        runs: The baseline and the run.
        names: What the sentence calls them.
        measures: How they differ by each measure.
        seed: Of the permutation test.
        parts: How they differ by type and stratum.
    """
    first, run = runs
    before, after = ([float(row["score"]) for row in each.rows] for each in runs)
    same = list(run.zero) == list(first.zero)
    evidence = (run.evidence, first.evidence, run.zero) if same else (after, before, None)
    metric = compare(*evidence, clusters=run.clusters, seed=seed)
    changes = [(str(row["id"]), new - old) for row, old, new in zip(first.rows, before, after, strict=True)]
    changes.sort(key=lambda pair: -pair[1])
    return Difference(names[1], names[0], run, metric, measures, changes, parts, _kind_changes(first, run))


def _part(
    facet: str, key: str, evidence: Evidences, rows: tuple[Any, Any], clusters: Sequence[int] | None, n: int
) -> PartDifference:
    """The difference of one part, with its interval over examples or documents."""
    after, before = (row if clusters is None else clustered(row, clusters) for row in rows)
    ends, _ = difference_interval(evidence, after, before, 0.95, None)
    return PartDifference(facet, key, n, evidence.of(before), evidence.of(after), ends.low, ends.high)


def stratum_differences(first: Run, run: Run) -> Iterator[PartDifference]:
    """By each key of each stratum that has more than one; in the metric."""
    if list(run.zero) != list(first.zero):
        return
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
            clusters = [first.clusters[place] for place in rows] if first.clusters else None
            yield _part(stratum, key, sides[0], (sides[0].matrix[rows], sides[1].matrix[rows]), clusters, len(rows))


def _type_differences(first: RunSummary, second: RunSummary) -> Iterator[PartDifference]:
    """By type, label or property: F1 of each."""
    for facet, tallies in first.counts.items():
        for key, after in second.counts.get(facet, {}).items():
            support = int(np.sum(tallies[key].tp) + np.sum(tallies[key].fn)) if key in tallies else 0
            if support:
                sides = [Evidences(counts, Counts(0, 0, 0)) for counts in (after, tallies[key])]
                rows = sides[0].matrix, sides[1].matrix
                yield _part(facet, str(key), sides[0], rows, first.run.clusters, support)


def _kind_changes(first: Run, run: Run) -> list[tuple[str, int, int]]:
    """The kinds of error whose number changed: before and after, the largest change first."""
    before, after = (
        Counter(
            f"{error['kind']} {error.get('gold_type') or error.get('pred_type') or ''}".replace("_", " ").strip()
            for row in each.rows
            for error in row.get("errors", ())
        )
        for each in (first, run)
    )
    changes = [(kind, before[kind], after[kind]) for kind in before | after if before[kind] != after[kind]]
    return sorted(changes, key=lambda change: (-abs(change[2] - change[1]), change[0]))


def run_sentence(run: Run, name: str) -> str:
    """The value of one run, in one sentence."""
    reported = values(run)
    weighted = [each for each in reported if each.weight]
    headline = weighted[0] if len(weighted) == 1 else overall(run)
    what = metric_title(run.zero.weights, run.zero.worst)
    if headline.lower_is_better:
        what = f"{title(headline.name)} (lower is better)"
    missed = [f"{title(each.name)} {each.target:g}" for each in reported if each.met is False]
    reached = sum(each.met is True for each in reported)
    text = f"{name} reaches {headline.value:.3f}{bounds(headline.interval)} {what} on {run.size}"
    if missed:
        return f"{text}, short of the target{'s' if len(missed) > 1 else ''} {', '.join(missed)}."
    return f"{text}; {'its targets are' if reached > 1 else 'its target is'} met." if reached else f"{text}."

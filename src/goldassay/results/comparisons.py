"""Results against the first of them, by every measure that they share: `compare`, and the `Comparisons` it gives.

The tests are `goldassay.statistics`: of pairs, and of labels where they are chosen by a design. What a difference means
is said in `goldassay.results.comparison`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product
from operator import itemgetter

from goldassay._support.display import Displayed
from goldassay._support.exceptions import ConventionError, DataError, GoldassayError
from goldassay.core.evidence import Evidences
from goldassay.core.tally import Evidence
from goldassay.results.comparison import METRIC, Comparison, adjusted_for_pairs, title
from goldassay.results.result import Result
from goldassay.results.view import Cell, Sentence, Table, TableRow, View, labelled, p_value, signed
from goldassay.statistics import PairedTest, holm
from goldassay.statistics import compare as paired
from goldassay.statistics.labels import PairedLabels, compare_weighted, decide
from goldassay.statistics.paired import Rank, places


class Comparisons(list[Comparison], Displayed):
    """Results against the first of them, by every measure.

    Args:
        results: The results; the first is the ``baseline``.
        groups: Each other result against the baseline, by every measure.
        tests: The tests of pairs of results, B less A, by measure and by the numbers of A and B.
        notes: Which measures cannot be estimated from the gold, and why.
        pairs: On gold that a design chose, the verdicts on all pairs, tested together.
        names: What sentences call the systems, where their own names do not tell them apart.
        test: The test of pairs.
        seed: Its seed.
    """

    def __init__(
        self,
        results: Sequence[Result],
        groups: Sequence[Sequence[Comparison]] = (),
        tests: PairTests | None = None,
        notes: Sequence[str] = (),
        pairs: Sequence[Comparison] = (),
        *,
        names: Sequence[str] = (),
        test: str = "permutation",
        seed: int = 0,
    ) -> None:
        super().__init__(comparison for group in groups for comparison in group)
        self.results = results
        self.baseline = results[0]
        self.groups = groups
        self.notes = list(dict.fromkeys(notes))
        self.pairs = list(pairs)
        self.names = names or [result.name for result in results]
        self.test = test
        self.seed = seed
        self._tests = tests or {}

    @cached_property
    def overall(self) -> list[Comparison | None]:
        """Each other result against the baseline by the metric.

        Where their metrics are not the same it is by the first measure that they share, on gold that a design chose by
        the first that its labels can estimate; None if there is none.
        """
        first = self.baseline
        results = []
        for other, group in zip(self.results[1:], self.groups, strict=True):
            by_labels = next((comparison for comparison in group if comparison.labels), None)
            if by_labels or first.design.drafted:
                results.append(by_labels)
                continue
            if not same_metric(first, other) or not first.scores:
                weighted = [comparison for comparison in group if comparison.adjusted_p is not None]
                results.append(next(iter([*weighted, *group])))
                continue
            test = compare_metric(first, other, seed=self.seed)
            results.append(_comparison(first, other, METRIC, test))
        return results

    @cached_property
    def spoken(self) -> list[Comparison | None]:
        """`overall` as a sentence says it: a metric of one measure in the direction of the measure, under its title."""
        spoken = []
        for other, name, overall, group in zip(
            self.results[1:], self.names[1:], self.overall, self.groups, strict=True
        ):
            comparison = overall
            if overall is not None:
                value, measure = headline(other.zero)
                if not overall.labels and overall.measure != METRIC:  # their metrics differ
                    value = METRIC
                    measure = ""
                if not overall.labels and value != METRIC:
                    comparison = next((by_measure for by_measure in group if by_measure.measure == value), overall)
                comparison = replace(comparison or overall, systems=(self.names[0], name), title=measure)
            spoken.append(comparison)
        return spoken

    @cached_property
    def ranks(self) -> dict[str, list[Rank]]:
        """For each measure that all have, the possible ranks of each result, in the order of the results."""
        first = self.baseline
        by_name = {}
        for name in first.values if not first.design.drafted else self._tests:
            if not first.design.drafted and any(result.values.get(name) is None for result in self.results):
                continue
            tests = self._tests.setdefault(name, {})
            numbers = list(combinations(range(len(self.results)), 2))
            for a, b in numbers:
                if (a, b) not in tests and not first.design.drafted:
                    tests[a, b] = self.results[b].difference(self.results[a], name, self.test, self.seed)
            if len(tests) == len(numbers):  # `notes` say which pairs the labels cannot decide
                results = [tests[pair] for pair in numbers]
                lowest_first = name not in first.zero.worst  # the tests are of B less A
                by_name[name] = places(results, len(self.results), lower_is_better=lowest_first)
        return by_name

    def view(self) -> View:
        """A sentence for each system, and the differences by every measure."""
        columns, rows = difference_rows(self)
        named = [[comparison.systems[1], *row] for comparison, row in zip(self, rows, strict=True)]
        sentences = [
            Sentence(difference.sentence, difference.verdict.value)
            for difference in self.spoken
            if difference is not None
        ]
        return [*sentences, Table(None, ["run", *columns], named)]


PairTests = dict[str, dict[tuple[int, int], PairedTest]]
"""The tests of pairs of results, by measure and by the numbers of both."""


def compare(*results: Result, names: Sequence[str] = (), test: str = "permutation", seed: int = 0) -> Comparisons:
    """Results against the first of them, by every measure that both have, corrected for the number of measures.

    Args:
        results: The results, of the same examples under the same conventions.
        names: What sentences call the systems; by default the results' own names.
        test: The paired test (`goldassay.statistics.compare`).
        seed: Its seed.

    Raises:
        ConventionError: The results are of other examples, or were measured under other conventions.

    >>> from goldassay.measures import classification
    >>> gold = [{"id": key, "label": "M"} for key in "abcd"]
    >>> theirs, ours = [classification.scorecard(gold, [{"label": x} for x in labels]) for labels in ("LLLM", "MMMM")]
    >>> next(each for each in compare(theirs, ours) if each.measure == "accuracy").won
    ('a', 'b', 'c')
    """
    first, *compared = results
    for other in compared:
        check_comparable(first, other)
    tests: PairTests = {}
    by_labels: dict[str, dict[tuple[int, int], Comparison]] = {}
    notes: list[str] = []
    if first.design.drafted:
        shared = [name for name in first.zero if all(name in result.zero for result in results)]
        for name, (a, b) in product(shared, combinations(range(len(results)), 2)):
            try:
                by_label = _by_labels(results[a], results[b], name)
            except DataError:
                raise
            except GoldassayError as error:
                notes.append(str(error))
                continue
            by_labels.setdefault(name, {})[a, b] = by_label
            if by_label.test is not None:
                tests.setdefault(name, {})[a, b] = by_label.test
        if notes and not by_labels:
            raise GoldassayError(notes[0])
    else:
        for number, other in enumerate(compared, start=1):
            for name, value in first.values.items():
                if value is not None and other.values.get(name) is not None and name in other.columns:
                    tests.setdefault(name, {})[0, number] = other.difference(first, name, test, seed)
    claims = {  # of the measures that have a weight
        (name, pair): paired_test.p
        for name, tests_of in tests.items()
        if first.zero.weights.get(name, 1.0)
        for pair, paired_test in tests_of.items()
    }
    adjusted_p = dict(zip(claims, holm([*claims.values()]), strict=True))
    together: list[Comparison] = []
    for name, verdicts in by_labels.items():
        adjusted = adjusted_for_pairs([*verdicts.values()])
        by_labels[name] = dict(zip(verdicts, adjusted, strict=True))
        together += adjusted
    groups: list[list[Comparison]] = [[] for _ in compared]
    for name, tests_of in tests.items():
        for (a, b), paired_test in tests_of.items():
            if a == 0:
                comparison = _comparison(first, results[b], name, paired_test)
                if verdict := by_labels.get(name, {}).get((a, b)):
                    comparison = replace(comparison, test=verdict.test or paired_test, labels=verdict.labels)
                groups[b - 1].append(replace(comparison, adjusted_p=adjusted_p.get((name, (a, b)))))
    return Comparisons(results, groups, tests, notes, together, names=names, test=test, seed=seed)


def check_comparable(first: Result, other: Result) -> None:
    """Check that two results are of the same examples and under the same conventions.

    Raises:
        ConventionError: They are not.
    """
    pair = f"{first.folder or first.name or 'the first result'} and {other.folder or other.name or 'the other one'}"
    if first.ids != other.ids:
        raise ConventionError(f"{pair} are of other examples; measure both on the same gold")
    if not first.measures.keys() & other.measures.keys():
        names = " and ".join(", ".join(result.measures) for result in (first, other))
        raise ConventionError(f"{pair} have no measure in common: {names}")
    for name, convention in first.conventions.items():
        if other.conventions.get(name, convention) != convention:
            raise ConventionError(f"{name} has other conventions: {convention} and {other.conventions[name]}")


def compare_metric(first: Result, other: Result, clusters: Sequence[object] | None = None, seed: int = 0) -> PairedTest:
    """The metric's value of the second result less that of the first, on the same examples.

    Args:
        first: One result.
        other: The other one.
        clusters: The unit that each example belongs to; by default its document.
        seed: Of the permutation test.

    Raises:
        GoldassayError: The examples were chosen for a question from which no level can be estimated.
    """
    if not (clusters or first.design.drafted):
        return other.difference(first, METRIC, seed=seed)
    documents = clusters or first.clusters
    before = first.zero.with_items(first.columns)
    after = other.zero.with_items(other.columns)
    if first.design.drafted:
        return compare_weighted(before, after, other.zero, first.design, documents)
    return paired(after, before, other.zero, clusters=documents, seed=seed)


def same_metric(first: Result, other: Result) -> bool:
    """Whether two results have the same measures, with the same weights."""
    weights = [[(name, result.zero.weights.get(name, 1.0)) for name in result.zero] for result in (first, other)]
    return weights[0] == weights[1]


def metric_title(zero: Evidence) -> str:
    """The name of a metric for a sentence: its measure, or the weighted mean of its measures."""
    text = title(formula(zero))
    return f"metric ({text})" if " + " in text else text or METRIC


def headline(zero: Evidence) -> tuple[str, str]:
    """The value that a sentence names, with its title: the metric, or its only measure where lower is better."""
    name, *more = zero.weighted or [METRIC]
    if not more and name in zero.worst:
        return name, f"{title(name)} (lower is better)"
    return METRIC, metric_title(zero)


def formula(zero: Evidence) -> str:
    """The weighted mean of a metric's measures, as text; a measure whose lower values are better is turned.

    >>> from goldassay.core.tally import Mean
    >>> both = {"accuracy": Mean(), "minutes": Mean()}
    >>> formula(Evidence(both, worst={"minutes": 60.0})), formula(Evidence(both, {"minutes": 0.0}))
    ('0.5 accuracy + 0.5 (1 - minutes / 60)', 'accuracy')
    """
    terms: list[str] = []
    total = sum(zero.weights.get(name, 1.0) for name in zero.weighted)
    for name in zero.weighted:
        worst = zero.worst.get(name)
        share = name if worst in (None, 1) else f"{name} / {worst:g}"
        term = share if worst is None else f"1 - {share}"
        if len(zero.weighted) == 1:
            return term
        terms.append(f"{zero.weights.get(name, 1.0) / total:.3g} {term if worst is None else f'({term})'}")
    return " + ".join(terms)


def difference_rows(comparisons: Sequence[Comparison]) -> tuple[list[str], list[TableRow]]:
    """Paired differences by measure, with their p-values: the heads of the columns, and the rows."""
    rows: list[TableRow] = []
    for comparison in comparisons:
        test = comparison.test
        if test is None:
            continue
        rows.append(
            [
                labelled(comparison.measure, comparison.lower_is_better),
                Cell(signed(test.difference, test.interval), comparison.change),
                p_value(test.p),
                p_value(comparison.adjusted_p),
                f"{test.smallest_detectable:.3f}" if test.smallest_detectable else "–",
                f"{len(comparison.won)}:{len(comparison.lost)}",
            ]
        )
    return ["value", "difference [95 %]", "p", "p\ncorr.", "detect-\nable", "won:\nlost"], rows


def _comparison(first: Result, other: Result, name: str, test: PairedTest) -> Comparison:
    """A comparison by a measure or the metric, with the examples that were won and lost."""
    scores = [first.scores, other.scores]
    smallest = 1e-9
    if name != METRIC:
        smallest = 1e-12
        scores = []
        for result in (first, other):
            evidences = Evidences(result.columns[name], result.zero[name])
            values = evidences.values(evidences.matrix)
            if worst := result.zero.worst.get(name):
                values = 1.0 - (evidences.tally(evidences.matrix).weight > 0) * values / worst
            scores.append(values.tolist())
    gaps = [(after - before, key) for key, before, after in zip(first.ids, *scores, strict=True)]
    return Comparison(
        (first.name, other.name),
        name,
        test,
        lower_is_better=name in first.zero.worst,
        won=tuple(key for gap, key in sorted(gaps, key=lambda pair: -pair[0]) if gap > smallest),
        lost=tuple(key for gap, key in sorted(gaps, key=itemgetter(0)) if gap < -smallest),
        examples=first.examples,
        folder=other.folder,
    )


def _by_labels(first: Result, other: Result, name: str) -> Comparison:
    """Two results on gold that a design chose, by one measure.

    Raises:
        GoldassayError: The design says nothing about these systems, or not by this measure.
        DataError: The predictions are not those that the draft was made from.
    """
    design = first.drafted.design if first.drafted else first.design
    if not design.drafted or design.question in ("errors", "tuning"):
        raise GoldassayError(
            "these examples were not chosen to compare systems; draft records for the question compare"
        )
    joint, a, b = Evidences.paired(first.columns[name], other.columns[name], first.zero[name])
    differ = (a != b).any(axis=1).tolist()
    limits = first.measures[name].known_limits
    labels = PairedLabels(design, joint, a, b, differ, documents=first.clusters, limits=limits)
    if design.question == "compare":
        if first.drafted is None or other.drafted is None:
            what = "these runs have answers to the drafted examples only"
            raise GoldassayError(f"{what}; compare their predictions of all inputs with the labelled file as the gold")
        labels = first.drafted.paired(other.drafted, name, labels)
    test = decide(labels)
    if test.interval is None:
        what = f"{name} counts what gold has where the systems agree too, and nothing is labelled there"
        raise GoldassayError(f"{what}: draft records for the question compare and the measure {name}")
    lower = name in first.zero.worst
    return Comparison((first.name, other.name), name, test.paired(), lower, labels=test)

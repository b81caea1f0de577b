"""A test of two systems on labelled records that a design chose.

Where both systems give the same output, a per-example value differs by 0 whatever gold is; a value whose denominators
count gold needs some labels there too (`goldassay.statistics.sampling`).

Two p-values, of which one decides: *proven* and *better* are said by it. That of the race holds whenever one stops.
That of the sign or swap test holds for a number of labels that was fixed before the first one. It decides only where
the draft says so (``fixed`` of its sampling), once, with the last of these labels; else both are printed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from typing import Protocol, Self

import numpy as np
import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Floats, Values, clustered
from goldassay.core.tally import Mean, Tally
from goldassay.statistics.design import Design
from goldassay.statistics.intervals import Bounds, Interval, unit_bounds
from goldassay.statistics.paired import PairedTest, cohens_dz, holm, smallest_detectable
from goldassay.statistics.sampling import (
    SIDE,
    BettingTest,
    Stratum,
    additions,
    estimate,
    first_of_documents,
    give_up,
    labels_needed,
    swap_test,
)

SIGNIFICANCE = 0.05
GAIN = 0.02  # of the scale of a value: a smaller difference is not worth labels


@dataclass(frozen=True)
class LabelTest:
    """B − A, as far as the labels show it.

    Args:
        interval: B − A over the population, and its 95 % interval; None while the labels do not show it.
        p: Two-sided, valid whenever one stops; ``test_p`` if the draft fixed the number of labels.
        test_p: Two-sided, for a number of labels that was fixed beforehand.
        test: ``sign`` or ``swap``: the test of ``test_p``.
        labels: How many labels there are.
        disagreements: How many of them are on outputs that differ.
        left: How many outputs that differ have no label yet.
        needed: How many more labels prove it if they go on as these do; None if more than are left.
        limit: After how many more labels without a difference none above a gain remains possible, and the gain.
        effective: How many labels without the judge's verdicts these are worth; None without a judge.
        sign: The proven sign of B − A; 0 if none is proven.
        effect: Cohen's dz of the labelled differences.
        pairs: For how many pairs of systems, all tested together, p and test_p are adjusted.
        fixed: The number of labels that the draft fixed beforehand, if any.
    """

    interval: Interval | None
    p: float
    test_p: float
    test: str
    labels: int
    disagreements: int
    left: int
    needed: int | None
    limit: tuple[int, float] | None
    effective: float | None = None
    sign: int = 0
    effect: float = 0.0
    pairs: int = 1
    fixed: int | None = None

    @property
    def proven(self) -> bool:
        """Whether A and B differ, by the p that decides."""
        return self.sign != 0

    def paired(self, fixed: bool = False) -> PairedTest | None:
        """The same as a test of pairs, whose interval holds 0 unless p decides; None while the labels do not show it.

        Args:
            fixed: The number of labels was fixed before the first one, so that ``test_p`` decides instead of ``p``.
        """
        if self.interval is None:
            return None
        p = self.test_p if fixed else self.p
        ends = self.interval.reaching_zero if p > SIGNIFICANCE else self.interval
        error = (self.interval.high - self.interval.low) / 2 / float(scipy.special.ndtri(1 - SIGNIFICANCE / 2))
        detectable = smallest_detectable(error)
        return PairedTest(ends.value, ends, p, self.labels, self.effect, detectable, self.test, standard_error=error)


@dataclass(frozen=True)
class PairedLabels:
    """The evidence of two systems on labelled records, in the order of labelling, and how these were chosen.

    Args:
        design: The design; its samplings are those of the records.
        evidences: The columns of evidence, and how they become a value.
        a: A's evidence, a row a record.
        b: B's.
        differ: Whether the outputs differ, of each record.
        agreeing: The strata in which both systems give the same output.
        predicted: By stratum, how much A and B predict in all of it, as the measure counts; empty if it does not.
        documents: The document of each record; None if no two share one.
        limits: Between which values a value lies.
    """

    design: Design
    evidences: Evidences
    a: Floats
    b: Floats
    differ: Sequence[bool]
    agreeing: Sequence[str] = ()
    predicted: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    documents: Sequence[Hashable] | None = None
    limits: Bounds | None = (0.0, 1.0)

    @cached_property
    def per_example(self) -> bool:
        """Whether the value is the plain mean of the records' own values, so that agreements differ by 0."""
        weight = [path == ("weight",) for path in self.evidences.paths]
        ones = (self.a[:, weight] == 1).all() and (self.b[:, weight] == 1).all()
        return type(self.evidences.zero) is Mean and bool(ones)

    @property
    def width(self) -> float | None:
        """The width of the scale of the value; None if it has no ends."""
        width = np.inf if self.limits is None else self.limits[1] - self.limits[0]
        return float(width) if np.isfinite(width) else None

    @property
    def left(self) -> int:
        """How many outputs that may differ have no label yet."""
        labels = self.design.labels
        return sum(size - labels[name] for name, size in self.design.sizes.items() if name not in self.agreeing)

    @property
    def groups(self) -> list[tuple[list[str], list[int]]] | None:
        """The strata that need labels; None if labels do not cover them."""
        return self.design.groups(self.agreeing, known=self.per_example)

    @cached_property
    def strata(self) -> list[Stratum]:
        """The population; empty if labels do not cover it."""
        evidence = np.hstack([self.a, self.b])
        groups = self.groups
        if groups is None or not len(evidence):
            return []
        return self.design.population_of(evidence, groups, self.documents, self.predicted)


def decide(labels: PairedLabels) -> LabelTest:
    """B against A, by the evidence of both on the labelled records."""
    differ = np.array(labels.differ, bool)
    weights = labels.design.shares(labels.groups)
    if labels.per_example:
        amounts = (labels.b - labels.a)[differ, labels.evidences.paths.index(("total",))]
        running = amounts
    else:
        amounts = additions(labels.a, labels.b, labels.evidences, weights=weights)[differ]
        running = additions(labels.a, labels.b, labels.evidences, weights=weights, running=True)[differ]
    weighted = amounts * weights[differ]
    if labels.documents is not None:  # inputs of one document go wrong together: a document is swapped as a whole
        documents = [document for document, other in zip(labels.documents, differ, strict=True) if other]
        weighted = clustered(weighted[:, None], documents)[:, 0]
        running = first_of_documents(running, documents)
    race = BettingTest()
    race.extend(running)
    test_p = swap_test(weighted)
    sizes = np.abs(weighted[weighted != 0])
    interval = estimate(labels.strata, labels.evidences, systems=2) if labels.strata else None
    if interval is not None and labels.width is not None:
        interval = replace(interval, low=max(-labels.width, interval.low), high=min(labels.width, interval.high))
    direction = race.direction
    fixed = labels.design.first.fixed
    limit = None
    p = race.p
    if interval is not None:
        # The interval and the p-value as one verdict: the test says whether the interval holds 0. The test knows that
        # labels where both agree cannot make a difference; the interval also has to estimate how much each difference
        # counts, and alone would prove far less. A test that points the other way proves nothing.
        if test_p <= SIGNIFICANCE and float(weighted.sum()) * interval.value <= 0:
            test_p = max(test_p, _p_of(interval))
        if test_p > SIGNIFICANCE:
            interval = interval.reaching_zero
        elif interval.value > 0:
            interval = replace(interval, low=max(interval.low, 0.0))
        else:
            interval = replace(interval, high=min(interval.high, 0.0))
        if fixed is not None:
            direction = int(np.sign(interval.value)) if len(labels.a) == fixed else 0
            p = test_p if len(labels.a) == fixed else 1.0
        direction = direction if test_p <= SIGNIFICANCE and direction * interval.value > 0 else 0
        if not direction:  # later labels may have taken back what a race had decided; a larger p is valid too
            p = max(p, test_p, _p_of(interval))
        limit = give_up(interval, labels.left, GAIN * labels.width) if labels.width and labels.left else None
    else:
        direction = 0
    return LabelTest(
        interval,
        p,
        test_p,
        "sign" if len(sizes) == 0 or np.ptp(sizes) < 1e-9 * sizes.max() else "swap",
        len(labels.a),
        int(differ.sum()),
        labels.left,
        labels_needed(running, labels.left, side=SIDE / max(1, comb(len(labels.design.systems), 2))),
        limit,
        interval.effective if interval else None,
        direction,
        cohens_dz(amounts) if len(amounts) else 0.0,
        fixed=fixed,
    )


def adjusted(tests: Sequence[LabelTest]) -> list[LabelTest]:
    """The tests of all pairs of several systems by one measure, with p-values adjusted for their number (Holm 1979).

    That any pair is called different which is not has a chance of 5 % at most, whenever one stops. Each interval is
    that of its pair alone.
    """
    results: list[LabelTest] = []
    sequential = holm([test.p for test in tests])
    fixed = holm([test.test_p for test in tests])
    for test, p, test_p in zip(tests, sequential, fixed, strict=True):
        interval = test.interval
        if interval is not None and test_p > SIGNIFICANCE:
            interval = interval.reaching_zero
        significant = max(p, test_p) <= SIGNIFICANCE
        p = p if significant else max(p, test_p)
        sign = test.sign if significant else 0
        results.append(replace(test, interval=interval, p=p, test_p=test_p, sign=sign, pairs=len(tests)))
    return results


def compare_weighted(
    before: Values, after: Values, zero: Tally, design: Design, documents: Sequence[Hashable] | None = None
) -> PairedTest:
    """The difference of two systems on all examples of a level, each weighed by what it stands for.

    Args:
        before: A's evidence of each example.
        after: B's, which is held against A's.
        zero: No evidence.
        design: How the examples were chosen.
        documents: The document of each, if any two share one.

    Raises:
        GoldassayError: The examples were chosen for another question.
    """
    if design.why_no_estimate:
        raise GoldassayError(design.why_no_estimate)
    joint, a, b = Evidences.paired(before, after, zero)
    limits = min(unit_bounds(joint, joint.of(rows), rows) for rows in (a, b))  # the wider of both
    labels = PairedLabels(design, joint, a, b, (a != b).any(axis=1).tolist(), documents=documents, limits=limits)
    paired = decide(labels).paired(fixed=True)
    if paired is None:
        raise GoldassayError(f"the labels do not show a difference yet: {len(a)} of them")
    return paired


class DraftedAnswers(Protocol):
    """The answers of one system to all inputs that a draft was made from."""

    @property
    def design(self) -> Design:
        """How the labelled records were chosen."""
        ...

    def paired(self, other: Self, measure: str, labels: PairedLabels) -> PairedLabels:
        """The evidence of this system and another one, with where their answers to all inputs differ.

        Raises:
            GoldassayError: The draft says nothing about these systems, or not by this measure.
        """
        ...


def _p_of(interval: Interval) -> float:
    """The p-value of 0 by an interval: above 0.05 where the interval holds 0."""
    half = interval.value - interval.low if interval.value > 0 else interval.high - interval.value
    if half <= 0:
        return 0.0 if interval.value else 1.0
    return 2 * float(scipy.special.ndtr(scipy.special.ndtri(SIGNIFICANCE / 2) * abs(interval.value) / half))

"""Verdicts from labels that a design chose: the one place where they become a difference of two systems.

    verdict("classification", records, ["before", "after"]).sentence

Whatever compares two systems on drafted gold brings the evidence of both as `Labels` and asks `decide`: the records of
a draft alone (`verdict`), or runs of prediction files (`of_runs`), whose predictions are the whole population. Where
both systems give the same output, a per-example value differs by 0 whatever gold is; a value whose denominators count
gold needs some labels there too (`goldassay.statistics.sampling`).

Two p-values: that of the sign or swap test holds for a number of labels that was fixed beforehand; that of the race
holds whenever one stops, and proves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from goldassay import workspace
from goldassay.exceptions import GoldassayError
from goldassay.fields import clusters, identity
from goldassay.gold.outputs import Comparison as Outputs
from goldassay.gold.outputs import predicted
from goldassay.gold.records import empty_prediction, is_labelled
from goldassay.gold.shapes import Record
from goldassay.measure import TASKS, Measure
from goldassay.statistics import Interval
from goldassay.statistics.design import Design
from goldassay.statistics.evidence import Evidences, Floats, clustered
from goldassay.statistics.paired import Comparison, cohens_dz, holm, smallest_detectable
from goldassay.statistics.sampling import (
    SIDE,
    Race,
    Stratum,
    additions,
    estimate,
    first_of_documents,
    give_up,
    labels_needed,
    swap_test,
)
from goldassay.tally import Mean

if TYPE_CHECKING:
    from goldassay.metric import Metric

ALPHA = 0.05
GAIN = 0.02  # of the scale of a value: a smaller difference is not worth labels
AGREE = "agree"
PREFERRED = "preferred"
"""The field of a record with the systems whose answers a person took to be right."""
RIGHT = "share of right answers"
"""The value that systems have where people chose between answers without making gold."""


@dataclass(frozen=True)
class LabelVerdict:
    """Whether B is better than A, as far as labels tell.

    Args:
        systems: The names of A and B.
        measure: The name of the value.
        interval: B − A over the population, and its 95 % interval; None while labels do not tell it.
        p: Two-sided, valid whenever one stops.
        test_p: Two-sided, for a number of labels that was fixed beforehand.
        test: ``sign`` or ``swap``: the test of ``test_p``.
        labels: How many labels there are.
        disagreements: How many of them are on outputs that differ.
        left: How many outputs that differ have no label yet.
        needed: How many more labels prove it if they go on as these do; None if more than are left.
        limit: After how many more labels without a difference none above a gain remains possible, and the gain.
        effective: How many labels without the judge's verdicts these are worth; None without a judge.
        lower_is_better: Whether a lower value is better.
        better: B is proven to be better (1) or worse (−1); 0 is not proven.
        effect: Cohen's dz of the labelled differences.
        pairs: For how many pairs of systems, all tested together, p and test_p are corrected.
        warnings: What a reader should know of the labels.
    """

    systems: tuple[str, str]
    measure: str
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
    lower_is_better: bool = False
    better: int = 0
    effect: float = 0.0
    pairs: int = 1
    warnings: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """B − A."""
        return None if self.interval is None else self.interval.value

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""
        return None if self.interval is None else self.interval.low

    @property
    def high(self) -> float | None:
        """The upper end of its interval."""
        return None if self.interval is None else self.interval.high

    @property
    def gain(self) -> Comparison:
        """By how much B is better, as far as labels tell when one stops: B − A, or A − B where lower is better.

        Raises:
            GoldassayError: The difference is not known.
        """
        comparison = self.comparison(complete=False)
        if not self.lower_is_better:
            return comparison
        return replace(comparison, difference=-comparison.difference, interval=comparison.interval.reversed)

    @property
    def proven(self) -> bool:
        """Whether one is better, whenever one stops."""
        return self.better != 0

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        first, second = self.systems
        ends = self.interval
        if ends is None:
            return f"Whether {second} differs from {first} in {self.measure} is not known yet, with {self._labels}."
        lower = ", where lower is better" if self.lower_is_better else ""
        gap = f"{ends.value:+.3f} [{ends.low:+.3f}, {ends.high:+.3f}] {self.measure}{lower}"
        worth = "" if self.effective is None else f", worth {self.effective:.0f} with the judge"
        several = f", of {self.pairs} pairs tested together" if self.pairs > 1 else ""
        if self.proven:
            word = "better" if self.better > 0 else "worse"
            why = f"proven with {self._labels}{worth} ({_p(self.p)}, valid whenever you stop{several})"
            return f"{second} is {word} than {first}: {gap}, {why}."
        tests = f"{_p(self.p)} whenever you stop, {_p(self.test_p)} if {self.labels} was fixed beforehand{several}"
        return (
            f"Whether {second} differs from {first} is not proven: {gap}, {self._labels}{worth} ({tests}); {self.more}."
        )

    @property
    def more(self) -> str:
        """What more labels would bring."""
        if not self.left:
            return "every output that differs is labelled"
        if self.needed is None:
            text = f"the {self.left} disagreements left would not prove it if they go on as these do"
        else:
            text = f"about {max(1, self.needed)} more labels would prove it if they go on as these do"
        if self.limit is None or not self.limit[0]:
            return text
        more, gain = self.limit
        return f"{text}; after {more} more that show none, no difference above {gain:.3f} remains possible"

    @property
    def _labels(self) -> str:
        return f"{self.labels} label{'' if self.labels == 1 else 's'}"

    def comparison(self, complete: bool) -> Comparison:
        """The same as a comparison of runs.

        Args:
            complete: Whether all that was drafted is labelled, so that the number of labels was fixed beforehand.

        Raises:
            GoldassayError: The difference is not known.
        """
        if self.interval is None:
            raise GoldassayError(self.sentence)
        p = self.test_p if complete or not self.left else self.p
        ends = _reaching_zero(self.interval) if p > ALPHA else self.interval
        error = (self.interval.high - self.interval.low) / 2 / float(scipy.special.ndtri(1 - ALPHA / 2))
        detectable = smallest_detectable(error)
        return Comparison(ends.value, ends, p, self.labels, self.effect, detectable, self.test, standard_error=error)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "systems": list(self.systems),
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "p": self.p,
            "proven": self.proven,
            "better": {1: self.systems[1], -1: self.systems[0], 0: None}[self.better],
            "test": self.test,
            "test_p": self.test_p,
            "labels": self.labels,
            "disagreements": self.disagreements,
            "left": self.left,
            "needed": self.needed,
            "give_up": None if self.limit is None else {"labels": self.limit[0], "gain": self.limit[1]},
            "effective_labels": self.effective,
            "pairs": self.pairs,
            "warnings": list(self.warnings),
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Labels:
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
        lower_is_better: Whether a lower value is better.
    """

    design: Design
    evidences: Evidences
    a: Floats
    b: Floats
    differ: Sequence[bool]
    agreeing: Sequence[str] = ()
    predicted: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    documents: Sequence[Any] | None = None
    limits: tuple[float, float] | None = (0.0, 1.0)
    lower_is_better: bool = False

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


def decide(labels: Labels, systems: tuple[str, str], measure: str) -> LabelVerdict:
    """The verdict on two systems.

    Args:
        labels: The evidence of both.
        systems: The names of A and B.
        measure: The name of the value.
    """
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
    race = Race()
    race.extend(running)
    test_p = swap_test(weighted)
    sizes = np.abs(weighted[weighted != 0])
    interval = _difference(labels)
    direction = race.direction
    limit = None
    p = race.p
    if interval is not None:
        interval, test_p = _settled(interval, test_p, float(weighted.sum()))
        direction = direction if test_p <= ALPHA and direction * interval.value > 0 else 0
        if not direction:  # later labels may have taken back what a race had decided; a larger p is valid too
            p = max(p, test_p, _p_of(interval))
        limit = give_up(interval, labels.left, GAIN * labels.width) if labels.width and labels.left else None
    else:
        direction = 0
    return LabelVerdict(
        systems,
        measure,
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
        labels.lower_is_better,
        -direction if labels.lower_is_better else direction,
        cohens_dz(amounts) if len(amounts) else 0.0,
    )


def corrected(verdicts: Sequence[LabelVerdict]) -> list[LabelVerdict]:
    """The verdicts on all pairs of several systems, with p-values corrected for their number (Holm 1979).

    That any pair is called different which is not has a chance of 5 % at most, whenever one stops. Each interval is
    that of its pair alone.

    Args:
        verdicts: The verdict on each pair, by one measure.
    """
    results: list[LabelVerdict] = []
    sequential = holm([each.p for each in verdicts])
    fixed = holm([each.test_p for each in verdicts])
    for each, p, test_p in zip(verdicts, sequential, fixed, strict=True):
        interval = each.interval
        if interval is not None and test_p > ALPHA:
            interval = _reaching_zero(interval)
        shown = max(p, test_p) <= ALPHA
        later = p if shown else max(p, test_p)
        better = each.better if shown else 0
        pairs = len(verdicts)
        results.append(replace(each, interval=interval, p=later, test_p=test_p, better=better, pairs=pairs))
    return results


def _difference(labels: Labels) -> Interval | None:
    """B − A with its interval; None while labels do not tell it."""
    if not labels.strata:
        return None
    ends = estimate(labels.strata, labels.evidences, systems=2)
    if labels.width is None:
        return ends
    return replace(ends, low=max(-labels.width, ends.low), high=min(labels.width, ends.high))


def _settled(interval: Interval, p: float, gap: float) -> tuple[Interval, float]:
    """The interval and the p-value as one verdict: the test says whether the interval holds 0.

    The test knows that labels where both agree cannot make a difference; the interval also has to estimate how much
    each difference counts, and alone would prove far less. A test that points the other way proves nothing.
    """
    if p <= ALPHA and gap * interval.value <= 0:
        p = max(p, _p_of(interval))
    if p > ALPHA:
        return _reaching_zero(interval), p
    if interval.value > 0:
        return replace(interval, low=max(interval.low, 0.0)), p
    return replace(interval, high=min(interval.high, 0.0)), p


def _p(value: float) -> str:
    """A p-value for a sentence."""
    return "p < 0.001" if value < 0.0005 else f"p {value:.3f}"


def _reaching_zero(interval: Interval) -> Interval:
    """The interval, wide enough to hold 0: what is not shown is not excluded."""
    return replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))


def _p_of(interval: Interval) -> float:
    """The p-value of 0 by an interval: above 0.05 where the interval holds 0."""
    half = interval.value - interval.low if interval.value > 0 else interval.high - interval.value
    if half <= 0:
        return 0.0 if interval.value else 1.0
    return 2 * float(scipy.special.ndtr(scipy.special.ndtri(ALPHA / 2) * abs(interval.value) / half))


def verdict(
    task: str, records: Sequence[Record], systems: Sequence[str], measure: str | Measure[Any] | Metric | None = None
) -> LabelVerdict:
    """The verdict on two systems, from the records of a draft alone.

    Args:
        task: The task; one of your own is measured by its metric.
        records: The records, in the order in which they were labelled; those without a label add only what they say
            of the strata.
        systems: The names of A and B, as in ``suggestions``; B is held against A.
        measure: The measure, its name, or a metric of your own; by default that of the draft, or the task's.

    Raises:
        GoldassayError: There are not two systems, the records have no such suggestions or no sampling, or the draft
            counted predictions in another way than the measure.
        DataError: The design is broken.

    >>> sampling = {"question": "compare", "stratum": "disagree", "size": 40, "population": 400, "systems": ["a", "b"]}
    >>> records = [{"id": str(i), "text": "x", "label": "M", "sampling": {**sampling, "position": i},
    ...     "suggestions": {"a": {"label": "L"}, "b": {"label": "M"}}} for i in range(10)]
    >>> print(verdict("classification", records, ["a", "b"]).sentence.split(",")[0])
    b is better than a: +0.100 [+0.061
    """
    if len(systems) != 2:
        raise GoldassayError(f"a verdict is on two systems, not on {', '.join(systems) or 'none'}")
    pair = (systems[0], systems[1])
    whole = _design_with(pair, records)
    measure = measure or whole.first.measure or None
    by_name = measure is None or isinstance(measure, str)
    labelled, by_choice = decided(records, task, metric=not by_name)
    gold = [records[place] for place in labelled]
    answers = [[_suggested(record, name, task) for record in gold] for name in pair]
    outputs = Outputs(task, measure if isinstance(measure, str) else None)
    suggested = [_suggested(record, name, task) for record in records for name in pair]
    chosen: Any = outputs.headline(each for each in suggested if each) if by_name else measure
    if by_choice:
        chosen = None
        name = RIGHT
        zero: Any = Mean()
        tallies: Any = [Mean.of(system in record[PREFERRED]) for system in pair for record in gold]
    else:
        name, zero, tallies = _measured(gold, answers, chosen or workspace.metric(task))
    chosen = chosen if isinstance(chosen, Measure) else None
    design = whole.only(labelled)
    matrix = Evidences(tallies, zero) if gold else Evidences([zero], zero)
    half = len(gold)
    labels = Labels(
        design,
        matrix,
        matrix.matrix[:half],
        matrix.matrix[half : 2 * half],
        [not outputs.agree(*both) for both in zip(*answers, strict=True)],
        agreeing(design, pair),
        _predicted(design, pair, outputs, chosen, gold, answers),
        clusters(gold),
        getattr(chosen, "known_limits", (0.0, 1.0)),
        bool(chosen and chosen.lower_is_better),
    )
    warnings = design.skipped if len(gold) < len(records) else []
    return replace(decide(labels, pair, name), warnings=tuple(warnings))


def _design_with(systems: Sequence[str], records: Sequence[Record]) -> Design:
    """How records were chosen, if they have these systems.

    Raises:
        GoldassayError: They do not, or nothing says how they were chosen.
    """
    design = Design.of(records)
    if design is None:
        raise GoldassayError("these records have no sampling: nothing says which inputs they stand for")
    if unknown := next((name for name in systems if name not in design.systems), None):
        raise GoldassayError(f"no system {unknown!r} in this draft; there are {', '.join(design.systems)}")
    return design


def ranked(verdicts: Sequence[LabelVerdict]) -> list[LabelVerdict]:
    """Verdicts on all pairs of systems, corrected for their number, the best supported first.

    Args:
        verdicts: The verdicts on pairs of systems.
    """
    return sorted(corrected(verdicts), key=lambda each: (not each.proven, each.p, each.test_p))


def decided(records: Sequence[Record], task: str, *, metric: bool = False) -> tuple[list[int], bool]:
    """The places of the records that people decided, and whether systems are compared by whose answers are right.

    They are if people chose between answers without making gold, since gold alone would leave these records out, and
    in a task of your own, whose metric may ask a model.

    Args:
        records: The records of a draft.
        task: The task.
        metric: Whether a metric was named.
    """
    chosen = [place for place, record in enumerate(records) if record.get(PREFERRED) is not None]
    labelled = [place for place, record in enumerate(records) if is_labelled(record, task)]
    without_metric = task not in TASKS and not metric
    by_choice = bool(chosen) and (without_metric or not {*chosen} <= {*labelled})
    return (chosen if by_choice else labelled), by_choice


def _suggested(record: Record, system: str, task: str) -> dict[str, Any] | None:
    """What a system answered; an empty prediction if it failed."""
    answer = (record.get("suggestions") or {}).get(system)
    name = identity(record, "")
    return empty_prediction(name, task) if answer is None else {"id": name, **answer}


def _measured(
    gold: Sequence[Record], answers: Sequence[Sequence[Any]], measure: Measure[Any] | Metric
) -> tuple[str, Any, Any]:
    """The name of the value, its zero, and the tallies of A's answers, then of B's."""
    sides = [(record, answer) for several in answers for record, answer in zip(gold, several, strict=True)]
    if isinstance(measure, Measure):
        batch = measure.batch([record for record, _ in sides], [answer for _, answer in sides])
        return measure.key, measure.zero, measure.tallies(batch)
    import dspy

    name = next(iter(measure.measures))
    pairs = [(dspy.Example(**record), dspy.Prediction(**answer)) for record, answer in sides]  # as DSPy calls it
    return name, measure.zero[name], [measure.assess_or_fail(*pair)[0][name].tally for pair in pairs]


def predicted_by_design(design: Design, systems: tuple[str, str]) -> dict[str, tuple[float, float]]:
    """By stratum, how many items two systems predict in all of it, where the design says so.

    Args:
        design: The design.
        systems: The names of the systems.
    """
    first, second = systems
    counted = {name: each.predicted for name, each in design.strata.items() if {*systems} <= each.predicted.keys()}
    return {name: (float(counts[first]), float(counts[second])) for name, counts in counted.items()}


def _predicted(
    design: Design,
    pair: tuple[str, str],
    outputs: Outputs,
    measure: Measure[Any] | None,
    gold: Sequence[Record],
    answers: Sequence[Sequence[Any]],
) -> dict[str, tuple[float, float]]:
    """By stratum, how much two systems predict; empty if the measure counts no predictions.

    Raises:
        GoldassayError: The draft counted them for a measure that counts others.
    """
    counts = [predicted(measure, gold, several) for several in answers]
    if measure is None or not all(counts):
        return {}
    drafted = Outputs(outputs.task, design.first.measure or None).headline(answers[0])
    if counts != [predicted(drafted, gold, several) for several in answers]:
        what = f"{measure.key} counts predictions in another way than the measure of this draft"
        raise GoldassayError(f"{what}: draft records for the question compare and the measure {measure.key}")
    return predicted_by_design(design, pair)


def agreeing(design: Design, pair: tuple[str, str]) -> list[str]:
    """The strata in which two systems give the same output: ``agree``, and those with both in one part of ``a=b|c``.

    Args:
        design: The design.
        pair: The names of the systems.
    """
    same = []
    for stratum in design.sizes:
        parts = [part.split("=") for part in stratum.split("|")]
        named = sorted(name for part in parts for name in part) == sorted(design.systems)
        if stratum == AGREE or (named and any(set(pair) <= set(part) for part in parts)):
            same.append(stratum)
    return same

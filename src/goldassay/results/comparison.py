"""Two systems on the same examples, by one measure: the difference, the verdict on it, and its sentence.

Whatever compares two systems gives a `Comparison`: results, runs, the labels of a draft, a review. What it means is
decided here and nowhere else: `Comparison.verdict` and `Comparison.sentence`. `goldassay.results.comparisons` compares
results by every measure that they share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import JsonObject, unit
from goldassay.results.view import p_value, signed
from goldassay.statistics import Interval, PairedTest
from goldassay.statistics.labels import SIGNIFICANCE, LabelTest, adjusted

Selection = Literal["independent", "bred", "none"]
METRIC = "metric"
"""The measure of a comparison by the metric as a whole."""


def title(measure: str) -> str:
    """A value's name for a sentence.

    >>> title("strict_f1"), title("nDCG@10"), title("0.7 f1 + 0.3 (1 - brier)")
    ('strict F1', 'nDCG@10', '0.7 F1 + 0.3 (1 - brier)')
    """
    abbreviations = {"f1": "F1", "mrr": "MRR", "rr": "RR", "ap": "AP", "nil": "NIL", "ece": "ECE", "mae": "MAE"}
    return re.sub(r"[^\W_]+", lambda word: abbreviations.get(word[0], word[0]), measure).replace("_", " ")


class ComparisonVerdict(StrEnum):
    """The verdict on the second system."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"  # on every example
    NO_LARGER = "no larger than"  # a difference, if any, is inside a margin
    OPEN = "open"

    @classmethod
    def of_gain(cls, low: float, high: float, margin: float = 0.0) -> ComparisonVerdict:
        """The verdict by the 95 % interval of a gain.

        >>> gains = ((0.1, 0.3), (-0.3, -0.1), (-0.01, 0.04), (-0.1, 0.3))
        >>> [ComparisonVerdict.of_gain(*ends, 0.05).value for ends in gains]
        ['better', 'worse', 'no larger than', 'open']
        """
        if low > 0:
            return cls.BETTER
        if high < 0:
            return cls.WORSE
        return cls.NO_LARGER if max(-low, high) <= margin else cls.OPEN


@dataclass(frozen=True, repr=False)
class Comparison:
    """One system against another by one measure, on the same examples.

    Args:
        systems: The names of A and B; B is held against A.
        measure: The name of the value.
        test: B − A, its interval and p; None while the labels do not show it.
        lower_is_better: Whether a lower value is better.
        adjusted_p: The p after Holm; None for a measure that the metric gives no weight, which is not a claim and takes
            no part in the adjustment.
        won: The ids of the examples on which B is better, the largest gain first.
        lost: The ids of those on which it is worse, the largest loss first.
        examples: How many examples there are.
        labels: What the labels show, where a design chose the gold.
        warnings: What a reader should know of the labels.
        folder: The folder of B's run.
        title: What the sentence calls the measure; by default made from its name.
        margin: With a margin the verdict goes by the interval: a difference within ± margin is no larger than it.
        selection: How B came about: it was the only candidate (``none``), the best of ``independent`` ones, whose test
            is corrected for that, or of some that were ``bred`` on these examples, of which only the upper end holds.

    >>> from goldassay.statistics import compare
    >>> before, after = [0.0] * 12, [1.0] * 12
    >>> Comparison(("before", "after"), "accuracy", compare(after, before), won=("a",), examples=12).sentence
    'after is better than before by +1.000 [+0.593, +1.000] accuracy on 12 examples.'
    """

    systems: tuple[str, str]
    measure: str
    test: PairedTest | None
    lower_is_better: bool = False
    adjusted_p: float | None = None
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    examples: int = 0
    labels: LabelTest | None = None
    warnings: tuple[str, ...] = ()
    folder: str = ""
    title: str = ""
    margin: float | None = None
    selection: Selection = "none"

    @property
    def difference(self) -> float | None:
        """B − A; None while the labels do not show it."""
        return None if self.test is None else self.test.difference

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of B − A; None while the labels do not show it."""
        return None if self.test is None else self.test.interval

    @property
    def p(self) -> float:
        """The two-sided p that the verdict goes by, before any adjustment."""
        return 1.0 if self.test is None else self.test.p

    @property
    def n(self) -> int:
        """How many pairs or labels there are."""
        if self.test is not None:
            return self.test.n
        return self.labels.labels if self.labels else 0

    @property
    def unit(self) -> str:
        """The unit of a pair: examples or documents."""
        return "examples" if self.test is None else self.test.unit

    @property
    def gain(self) -> PairedTest:
        """The gain of B: B − A, or A − B where lower is better.

        Raises:
            GoldassayError: The difference is not known.
        """
        if self.test is None:
            raise GoldassayError(self.sentence)
        return -self.test if self.lower_is_better else self.test

    @property
    def verdict(self) -> ComparisonVerdict:
        """Better, worse, the same on every example, no larger than the margin, or open; by labels what they prove."""
        if self.margin is not None:
            if self.test is None:
                return ComparisonVerdict.SAME if self.systems[0] == self.systems[1] else ComparisonVerdict.OPEN
            verdict = ComparisonVerdict.of_gain(*self.gain.interval.ends, self.margin)
            return verdict if self.selection != "bred" or verdict == ComparisonVerdict.WORSE else ComparisonVerdict.OPEN
        if self.labels is not None:
            sign = self.labels.sign
        elif not self.won and not self.lost:
            return ComparisonVerdict.SAME
        else:
            sign = 0
            if self.test is not None and self.p < SIGNIFICANCE:
                sign = 1 if self.test.difference > 0 else -1
        if not sign:
            return ComparisonVerdict.OPEN
        return ComparisonVerdict.BETTER if (sign > 0) != self.lower_is_better else ComparisonVerdict.WORSE

    @property
    def proven(self) -> bool:
        """Whether one system is shown to be better."""
        return self.verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)

    @property
    def change(self) -> str:
        """``better`` or ``worse`` if the interval of the difference shows it, else empty."""
        if self.test is None:
            return ""
        ends = self.gain.interval
        change = ComparisonVerdict.of_gain(ends.low, ends.high)
        return change.value if change in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE) else ""

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        first, second = self.systems
        labels = self.labels
        if labels is not None:
            count = f"{labels.labels} label{'' if labels.labels == 1 else 's'}"
            ends = self.interval
            if ends is None:
                return f"Whether {second} differs from {first} in {self.measure} is not known yet, with {count}."
            gap = f"{signed(ends.value, ends)} {self.measure}{' (lower is better)' if self.lower_is_better else ''}"
            if labels.sign:
                return f"{second} is {self.verdict} than {first}: {gap}, proven with {count} (p {p_value(labels.p)})."
            return f"Whether {second} differs from {first} is not proven: {gap}, {count} (p {p_value(labels.p)})."
        size = f"{unit(self.examples, None)}{f' in {self.n} {self.unit}' if self.unit != 'examples' else ''}"
        measure = self.title or f"{title(self.measure)}{' (lower is better)' if self.lower_is_better else ''}"
        verdict = self.verdict
        if verdict == ComparisonVerdict.SAME or self.test is None:
            return f"{second} and {first} have the same {measure} on all {size}."
        gap = f"{signed(self.test.difference, self.test.interval)} {measure} on {size}"
        if verdict != ComparisonVerdict.OPEN:
            return f"{second} is {verdict} than {first} by {gap}."
        if self.test.smallest_detectable:
            gap += f"; enough to show a difference of {self.test.smallest_detectable:.3f} four times in five"
        return f"It is open whether {second} differs from {first}: {gap}."

    @property
    def details(self) -> list[str]:
        """The details of a verdict by labels: which p it is, and what more labels would show."""
        labels = self.labels
        if labels is None or labels.interval is None:
            return []
        together = f", of {labels.pairs} pairs tested together" if labels.pairs > 1 else ""
        lines = [f"p {p_value(labels.p)} holds whenever you stop{together}"]
        if labels.fixed is not None:
            lines = [f"the draft fixed {labels.fixed} labels beforehand, and the test of that number decides{together}"]
        elif not labels.sign:
            lines[0] += f"; it is {p_value(labels.test_p)} if {labels.labels} labels were fixed beforehand"
        if labels.effective is not None:
            lines.append(f"with the judge's verdicts the labels are worth {labels.effective:.0f}")
        if labels.sign or labels.fixed is not None:
            return lines
        if not labels.left:
            lines.append("every output that differs is labelled")
        elif labels.needed is None:
            lines.append(f"the {labels.left} disagreements left would not prove it if they go on as these do")
        else:
            lines.append(f"about {_more(labels.needed)} would prove it if they go on as these do")
        if labels.left and labels.limit is not None and labels.limit[0]:
            after, gain = labels.limit
            lines.append(f"after {_more(after)} without a difference, none above {gain:.3f} remains possible")
        return lines

    def __repr__(self) -> str:
        if self.test is None:
            return f"Comparison({self.systems[1]!r}, {self.measure}, not known)"
        ends = self.test.interval
        gap = f"{self.measure} {self.test.difference:+z.3f} [{ends.low:+z.3f}, {ends.high:+z.3f}]"
        return f"Comparison({self.systems[1]!r}, {gap}, p {p_value(self.p)})"

    def state(self) -> JsonObject:
        """As JSON."""
        return {
            "run": self.folder,
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            **(self.test.state() if self.test else {}),
            "corrected_p": self.adjusted_p,
            "won": list(self.won),
            "lost": list(self.lost),
            **({"labels": self.label_state()} if self.labels else {}),
        }

    def label_state(self) -> JsonObject:
        """The result of the labels, as JSON.

        Raises:
            GoldassayError: The comparison is not by labels.
        """
        labels = self.labels
        if labels is None:
            raise GoldassayError(f"{self.systems[1]} is not compared by labels")
        ends = self.interval
        better = {ComparisonVerdict.BETTER: self.systems[1], ComparisonVerdict.WORSE: self.systems[0]}.get(self.verdict)
        return {
            "systems": list(self.systems),
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            "difference": ends and ends.value,
            "low": ends and ends.low,
            "high": ends and ends.high,
            "p": labels.p,
            "proven": labels.sign != 0,
            "better": better,
            "test": labels.test,
            "test_p": labels.test_p,
            "labels": labels.labels,
            "disagreements": labels.disagreements,
            "left": labels.left,
            "needed": labels.needed,
            "give_up": None if labels.limit is None else {"labels": labels.limit[0], "gain": labels.limit[1]},
            "effective_labels": labels.effective,
            "pairs": labels.pairs,
            "warnings": list(self.warnings),
            "sentence": self.sentence,
            "details": self.details,
        }


def _more(count: int) -> str:
    """So many more labels, at least one.

    >>> _more(0), _more(40)
    ('1 more label', '40 more labels')
    """
    return "1 more label" if count <= 1 else f"{count} more labels"


def adjusted_for_pairs(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons of all pairs of systems by labels, with their p-values adjusted for the number of pairs (Holm).

    Args:
        comparisons: The comparison of each pair, by one measure.
    """
    tests = adjusted([comparison.labels for comparison in comparisons if comparison.labels])
    return [
        replace(comparison, labels=test, test=test.paired())
        for comparison, test in zip(comparisons, tests, strict=True)
    ]

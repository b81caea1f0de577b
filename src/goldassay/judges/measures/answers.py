"""Is an answer good, by a scale of one's own, or better than another one? One verdict an answer, the mean over answers.

The scale is one of named levels that are described, a criterion that is met or not, or a preference between two
answers. Whether an answer answers its question is `goldassay.measures.answering.Relevance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Error, gold_field
from goldassay.measures.answering.records import answer_or_nothing, question
from goldassay.measures.judged import JudgedMean, JudgedMeasure, Verdict, unknown


@dataclass(frozen=True)
class Rated(JudgedMeasure):
    """One verdict an answer. Subclasses say how to ask, what a label is worth, and what is wrong with a low one."""

    gold_fields: ClassVar[tuple[str, ...]] = ("question",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    task: ClassVar[str] = "judges"
    source: ClassVar[str] = "goldassay"
    about: ClassVar[str] = "How good the answer is"

    judge: Any

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """What the judge says; ``None`` where there is nothing to judge."""
        raise GoldassayError(f"{type(self).__name__} does not say how to ask")

    def worth(self, label: str) -> float:
        """A label's value from 0 to 1."""
        return float(label == "yes")

    def says(self, label: str, gold: object) -> str:
        """What is wrong, in words."""
        return f"The judge says {label!r}."

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The worth of one answer, with the judge's reason where it is not the highest."""
        found = self.verdict(gold, pred)
        if found is None:
            return Assessment(JudgedMean())
        if found.label is None:
            return Assessment(JudgedMean.of(None), (unknown(self.about),))
        value = self.worth(found.label)
        if value == 1:
            return Assessment(JudgedMean.of(value))
        why = f" The judge: {found.reason}" if found.reason else ""
        told = f"{self.says(found.label, gold)}{why}"
        return Assessment(
            JudgedMean.of(value), (Error(self.key, told, pred=answer_or_nothing(pred, gold), field="answer"),)
        )


@dataclass(frozen=True)
class Preference(Rated):
    """Is the answer better than another one, asked in both orders? A win is 1, a tie 0.5, a loss 0.

    ``over`` is the field of gold that has the other answer; orders that disagree make a tie.

    >>> class Undecided:
    ...     name = "undecided"
    ...     def prefer(self, question, first, second):
    ...         return Verdict("tie")
    >>> Preference(Undecided())({"reference": "In 1885."}, {"answer": "In May."}).tally.value
    0.5
    """

    name: ClassVar[str] = "preference"
    fixed: ClassVar[Mapping[str, str]] = {**JudgedMeasure.fixed, "orders": "both", "orders disagree": "tie"}
    formula: ClassVar[str] = "(wins + ties / 2) / comparisons"
    about: ClassVar[str] = "Whether the answer is better than the other"

    over: str = "reference"

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """First, second or tie."""
        other = gold_field(gold, self.over, None)
        if not other:
            return None
        found: Verdict = self.bound.prefer(question(gold), answer_or_nothing(pred, gold), str(other))
        return found

    def worth(self, label: str) -> float:
        """Half for a tie."""
        return {"first": 1.0, "tie": 0.5, "second": 0.0}[label]

    def says(self, label: str, gold: object) -> str:
        """With the other answer."""
        return f"The answer is {'worse' if label == 'second' else 'no better'} than “{gold_field(gold, self.over)}”."


@dataclass(frozen=True)
class Rubric(Rated):
    """Named levels with what they mean, the worst first: their worths are even steps from 0 to 1.

    ``levels`` is a mapping or pairs of name and meaning; ``title`` names the value in a report.

    >>> class Middling:
    ...     name = "middling"
    ...     def rubric(self, levels, question, answer):
    ...         return Verdict("fair")
    >>> levels = {"poor": "says little", "fair": "says half", "good": "says all"}
    >>> Rubric(Middling(), levels, "depth")({}, {"answer": "In May."}).tally.value
    0.5
    """

    name: ClassVar[str] = "rubric"
    formula: ClassVar[str] = "mean over answers of the level's place from 0 (worst) to 1 (best)"

    levels: Any = ()
    title: str = "rubric"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.levels.items() if hasattr(self.levels, "items") else self.levels
        pairs = tuple((str(name), str(meaning)) for name, meaning in given)
        if len({name.casefold() for name, _ in pairs}) < max(len(pairs), 2):
            raise GoldassayError("a rubric needs two or more levels with different names, the worst first")
        object.__setattr__(self, "levels", pairs)

    @property
    def key(self) -> str:
        """Its title."""
        return self.title

    @property
    def conventions(self) -> str:
        """The levels by name."""
        named = "<".join(name for name, _ in self.levels)
        return f"{self.key}[judge={self.judge}, levels={named}, unknown={self.fixed['unknown']}]"

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """The judge's level."""
        found: Verdict = self.bound.rubric(dict(self.levels), question(gold), answer_or_nothing(pred, gold))
        return found

    def worth(self, label: str) -> float:
        """Its place."""
        return [name for name, _ in self.levels].index(label) / (len(self.levels) - 1)

    def says(self, label: str, gold: object) -> str:
        """With the level's meaning and the best one's."""
        return (
            f"{self.title}: {label} ({dict(self.levels)[label]}); best is {self.levels[-1][0]} ({self.levels[-1][1]})."
        )


@dataclass(frozen=True)
class Criterion(Rated):
    """A yes/no criterion in words, such as ``"It names its source."``; ``title`` names the value in a report.

    >>> class Lenient:
    ...     name = "lenient"
    ...     def criterion(self, criterion, question, answer):
    ...         return Verdict("yes")
    >>> Criterion(Lenient(), "It names a month.")({}, {"answer": "In May."}).tally.value
    1.0
    """

    name: ClassVar[str] = "criterion"
    formula: ClassVar[str] = "answers that meet the criterion / answers"

    criterion: str = ""
    title: str = "criterion"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.criterion.strip():
            raise GoldassayError("a criterion needs words: Criterion(judge, 'It names its source.')")

    @property
    def key(self) -> str:
        """Its title."""
        return self.title

    def verdict(self, gold: object, pred: object) -> Verdict | None:
        """Yes or no."""
        found: Verdict = self.bound.criterion(self.criterion, question(gold), answer_or_nothing(pred, gold))
        return found

    def says(self, label: str, gold: object) -> str:
        """With the criterion."""
        return f"The answer does not meet the criterion “{self.criterion}”."

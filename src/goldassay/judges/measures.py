"""The measures that only a judge gives: ``Rubric(Judge(lm=…), LEVELS)``.

Is an answer good, by named levels that are described or a criterion that is met or not, or better than another one? One
verdict an answer, the mean over answers.

Those of claims, relevance and entities are in `goldassay.measures.answering`, where each also takes stored verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, Record
from goldassay.core.measure import Assessment, Conventions, Error, gold_field
from goldassay.judges.questions import question, rubric
from goldassay.measures.answering.records import AnswerPair
from goldassay.measures.judged import UNKNOWN_COUNTS, JudgedMean, JudgedMeasure, unknown

__all__ = ["Criterion", "Preference", "Rubric"]
Gold = Any
"""A record with a question, or a prediction with an answer: a mapping, an example or an object."""


@dataclass(frozen=True)
class Rated(JudgedMeasure):
    """One verdict an answer, on the question of the measure's name.

    Source: goldassay
    """

    task = "judges"

    judge: Any

    @property
    def key(self) -> str:
        """Its title, if it has one."""
        return str(getattr(self, "title", self.name))

    @property
    def worth(self) -> Mapping[str, float]:
        """The labels and what they are worth, from 0 to 1."""
        return question(self.name).worth

    def inputs(self, gold: Gold) -> Fields | None:
        """The inputs of the judge beside question and answer; None if there is nothing to judge.

        Raises:
            NotImplementedError: A measure defines them.
        """
        raise NotImplementedError

    def complaint(self, label: str, gold: Gold) -> str:
        """The fault of an answer whose label is not the best, in words.

        Raises:
            NotImplementedError: A measure defines it.
        """
        raise NotImplementedError

    def assess(self, gold: Gold, pred: Gold) -> Assessment[JudgedMean]:
        """The worth of one answer, with the judge's reason if it is not the highest."""
        pair = AnswerPair(gold, pred)
        answer = pair.answer
        inputs = self.inputs(gold)
        if inputs is None:
            return Assessment(JudgedMean())
        key = "first" if "second" in inputs else "answer"
        verdict = self.bound.verdict(self.name, **inputs, **{"question": pair.question, key: answer})
        if verdict.label is None:
            about = "Whether the answer is better than the other" if key == "first" else "How good the answer is"
            return Assessment(JudgedMean.of(None), (unknown(about),))
        value = self.worth[verdict.label]
        message = self.complaint(verdict.label, gold) + (f" The judge: {verdict.reason}" if verdict.reason else "")
        error = Error(self.key, message, pred=answer, field="answer")
        return Assessment(JudgedMean.of(value), () if value == 1 else (error,))


@dataclass(frozen=True)
class Preference(Rated):
    """Is the answer better than another one, asked in both orders? A win is 1, a tie 0.5, a loss 0.

    ``over`` is the field of gold that has the other answer; orders that disagree make a tie.

    Formula: (wins + ties / 2) / comparisons

    >>> from goldassay.judges import Verdict
    >>> class Undecided:
    ...     name = "undecided"
    ...     def verdict(self, asked, question, first, second):
    ...         return Verdict("tie")
    >>> Preference(Undecided())({"reference": "In 1885."}, {"answer": "In May."}).tally.value
    0.5
    """

    name = "preference"
    fixed: ClassVar[Conventions] = {"unknown": UNKNOWN_COUNTS, "orders": "both", "orders disagree": "tie"}

    over: str = "reference"

    def inputs(self, gold: Gold) -> Fields | None:
        """The other answer."""
        other = gold_field(gold, self.over, None)
        return {"second": str(other)} if other else None

    def complaint(self, label: str, gold: Gold) -> str:
        """Names the other answer."""
        return f"The answer is {'worse' if label == 'second' else 'no better'} than “{gold_field(gold, self.over)}”."


@dataclass(frozen=True)
class Rubric(Rated):
    """Named levels with what they mean, the worst first: their worths are even steps from 0 to 1.

    ``levels`` is a mapping or pairs of name and meaning; ``title`` names the value in a report.

    Formula: mean over answers of the level's place from 0 (worst) to 1 (best)

    >>> from goldassay.judges import Verdict
    >>> class Middling:
    ...     name = "middling"
    ...     def verdict(self, asked, levels, question, answer):
    ...         return Verdict("fair")
    >>> levels = {"poor": "says little", "fair": "says half", "good": "says all"}
    >>> Rubric(Middling(), levels, "depth")({}, {"answer": "In May."}).tally.value
    0.5
    """

    name = "rubric"

    levels: Any = ()
    title: str = "rubric"

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = rubric(dict(self.levels)).levels
        object.__setattr__(self, "levels", tuple(levels.items()))

    @property
    def chosen(self) -> Record:
        """The levels by name."""
        return {"judge": self.judge, "levels": "<".join(name for name, _ in self.levels)}

    def inputs(self, gold: Gold) -> Fields:
        """The levels."""
        return {"levels": dict(self.levels)}

    @property
    def worth(self) -> Mapping[str, float]:
        """The levels' places."""
        return rubric(dict(self.levels)).worth

    def complaint(self, label: str, gold: Gold) -> str:
        """Names the level's meaning and the best one's."""
        best, meaning = self.levels[-1]
        return f"{self.title}: {label} ({dict(self.levels)[label]}); best is {best} ({meaning})."


@dataclass(frozen=True)
class Criterion(Rated):
    """A yes/no criterion in words, such as ``"It names its source."``; ``title`` names the value in a report.

    Formula: answers that meet the criterion / answers

    >>> from goldassay.judges import Verdict
    >>> class Lenient:
    ...     name = "lenient"
    ...     def verdict(self, asked, criterion, question, answer):
    ...         return Verdict("yes")
    >>> Criterion(Lenient(), "It names a month.")({}, {"answer": "In May."}).tally.value
    1.0
    """

    name = "criterion"

    criterion: str = ""
    title: str = "criterion"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.criterion.strip():
            raise GoldassayError("a criterion needs words: Criterion(judge, 'It names its source.')")

    def inputs(self, gold: Gold) -> Fields:
        """The criterion."""
        return {"criterion": self.criterion}

    def complaint(self, label: str, gold: Gold) -> str:
        """Names the criterion."""
        return f"The answer does not meet the criterion “{self.criterion}”."

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
from goldassay.core.fields import JsonObject
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

    def rated(
        self, gold: Gold, pred: Gold, inputs: JsonObject | None, complaints: Mapping[str, str]
    ) -> Assessment[JudgedMean]:
        """The worth of one answer, with a complaint and the judge's reason if it is not the highest.

        Args:
            gold: The record with the question.
            pred: The prediction with the answer.
            inputs: What else the judge gets; None if there is nothing to judge.
            complaints: The fault of an answer in words, by its label.
        """
        pair = AnswerPair(gold, pred)
        answer = pair.answer
        if inputs is None:
            return Assessment(JudgedMean())
        key = "first" if "second" in inputs else "answer"
        verdict = self.bound.verdict(self.name, **inputs, **{"question": pair.question, key: answer})
        if verdict.label is None:
            about = "Whether the answer is better than the other" if key == "first" else "How good the answer is"
            return Assessment(JudgedMean.of(None), (unknown(about),))
        value = self.worth[verdict.label]
        if value == 1:
            return Assessment(JudgedMean.of(value))
        message = complaints[verdict.label] + (f" The judge: {verdict.reason}" if verdict.reason else "")
        return Assessment(JudgedMean.of(value), (Error(self.key, message, pred=answer, field="answer"),))


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

    def assess(self, gold: Gold, pred: Gold) -> Assessment[JudgedMean]:
        """Whether one answer is better than the other."""
        other = gold_field(gold, self.over, None)
        complaints = {
            "second": f"The answer is worse than “{other}”.",
            "tie": f"The answer is no better than “{other}”.",
        }
        return self.rated(gold, pred, {"second": str(other)} if other else None, complaints)


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
    def chosen(self) -> Mapping[str, object]:
        """The levels by name."""
        return {"judge": self.judge, "levels": "<".join(name for name, _ in self.levels)}

    @property
    def worth(self) -> Mapping[str, float]:
        """The levels' places."""
        return rubric(dict(self.levels)).worth

    def assess(self, gold: Gold, pred: Gold) -> Assessment[JudgedMean]:
        """The level of one answer."""
        levels = dict(self.levels)
        best, meaning = self.levels[-1]
        complaints = {name: f"{self.title}: {name} ({levels[name]}); best is {best} ({meaning})." for name in levels}
        return self.rated(gold, pred, {"levels": levels}, complaints)


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

    def assess(self, gold: Gold, pred: Gold) -> Assessment[JudgedMean]:
        """Whether one answer meets the criterion."""
        complaints = {"no": f"The answer does not meet the criterion “{self.criterion}”."}
        return self.rated(gold, pred, {"criterion": self.criterion}, complaints)

"""Answers by a scale of one's own: named levels that are described, or a criterion that is met or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.judges.bound import answer_of, question
from goldassay.judges.rated import Rated
from goldassay.judges.verdict import Verdict


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

    def verdict(self, gold: Any, pred: Any) -> Verdict | None:
        """The judge's level."""
        found: Verdict = self.bound.rubric(dict(self.levels), question(gold), answer_of(gold, pred))
        return found

    def worth(self, label: str) -> float:
        """Its place."""
        return [name for name, _ in self.levels].index(label) / (len(self.levels) - 1)

    def says(self, label: str, gold: Any) -> str:
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

    def verdict(self, gold: Any, pred: Any) -> Verdict | None:
        """Yes or no."""
        found: Verdict = self.bound.criterion(self.criterion, question(gold), answer_of(gold, pred))
        return found

    def says(self, label: str, gold: Any) -> str:
        """With the criterion."""
        return f"The answer does not meet the criterion “{self.criterion}”."

"""The score of one example, as a metric returns it, and the corpus value that scores add up to.

``dspy.Evaluate`` computes ``100 * sum(scores) / n`` on whatever a metric returns. A `Score` adds to a `Total`, which
keeps the evidence, and a `Total` divided by a number is the corpus value: so an unmodified ``Evaluate`` reports true
micro-F1, not the mean of per-example F1.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Self

import dspy

from goldassay.core.measure import Error
from goldassay.core.tally import Evidence

TICKS = "dspy.utils.parallelizer"
"""The module whose progress bar divides the sum of all scores so far after every example."""


@dataclass(frozen=True, slots=True, repr=False)
class Total:
    """The sum of many scores. ``total / n`` is the corpus value of n examples.

    Plain numbers in the sum (dspy's ``failure_score``, where a program raised) are examples without evidence: the
    metric was never shown their gold. Each takes the value down as it would take down a mean,
    ``(value * scored + failure scores) / n``, and ``total / n`` warns of it. For means (accuracy, MRR) that is the
    value with the failed gold counted as missed; for P, R and F1 it is at most that. The exact value comes from
    ``goldassay.guard(program)``, which never raises; ``total / n`` warns if it failed on all of two or more examples.

    Args:
        evidence: The tallies of the scores that were added.
        count: How many they are.
        plain: The sum of plain numbers among them.
        factor: The number that the value was multiplied by (``dspy.Evaluate`` takes 100 times the sum).
        failed: How many of the scores are of a program that failed.
        failure: Why the first of these did.
    """

    evidence: Evidence
    count: int = 0
    plain: float = 0.0
    factor: float = 1.0
    failed: int = 0
    failure: str = ""
    _next: list[tuple[Score, Total]] = field(default_factory=list, init=False, compare=False)
    """The score that was added last, and the sum with it.

    ``Evaluate`` sums all scores again after every example. A sum that knows the next one does not add up the same
    evidence again, so n examples cost n additions of evidence instead of n² / 2.
    """

    def __add__(self, other: object) -> Total:
        if isinstance(other, Score):
            if not self._next or self._next[0][0] is not other:
                self._next[:] = [(other, self + other.total)]
            return self._next[0][1]
        if isinstance(other, (int, float)):
            return replace(self, plain=self.plain + other) if other else self
        if type(other) is not Total:
            return NotImplemented
        return Total(
            self.evidence + other.evidence,
            self.count + other.count,
            self.plain + other.plain,
            self.factor,
            self.failed + other.failed,
            self.failure or other.failure,
        )

    __radd__ = __add__

    def __reduce__(self) -> tuple[object, ...]:
        """A copy, or a total of another process, has the evidence and not the chain of later sums."""
        return Total, (self.evidence, self.count, self.plain, self.factor, self.failed, self.failure)

    @property
    def value(self) -> float:
        """The corpus value."""
        return float(self.evidence.value)

    def __mul__(self, factor: float) -> Total:
        return replace(self, factor=self.factor * factor)

    __rmul__ = __mul__

    def __truediv__(self, n: float) -> float:
        if self.failed == self.count > 1:
            _warn(
                f"the program has failed on every example so far; the first error: {self.failure}",
                inspect.currentframe(),
            )
        if not n > self.count > 0:
            return self.value * self.factor
        _warn(
            f"{n - self.count:g} of {n:g} examples have no score, since the program raised: each takes the value down "
            "as an example of score 0; for the value with their gold counted as missed wrap the program "
            "(goldassay.guard(program)), or use goldassay.evaluate",
            inspect.currentframe(),
        )
        return (self.value * self.count + self.plain) / n * self.factor

    def __float__(self) -> float:
        """The corpus value times the number of examples, which a progress bar shows before the slash."""
        return self.value * self.factor * self.count

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __repr__(self) -> str:
        return f"Total(value={self.value:.4f}, examples={self.count})"


def _warn(message: str, division: FrameType | None) -> None:
    """Warn the function that divides a sum: once, however often it divides, and never at a tick of a progress bar."""
    caller = division and division.f_back
    module = caller.f_globals.get("__name__", "") if caller else ""
    if caller is None or module == TICKS:
        return
    code = caller.f_code
    registry = caller.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, UserWarning, code.co_filename, code.co_firstlineno, module, registry)


class Score(dspy.Prediction, str):
    """The score of one example: ``score``, ``feedback``, ``objective_scores`` and the tallies.

    It is a ``dspy.Prediction``, as GEPA and SIMBA want; ``bool(score)`` says whether the pass mark is reached, as
    bootstrapping wants; scores add to a `Total`, as ``Evaluate`` wants. As a string it is its number, so that the files
    which ``Evaluate`` writes (``save_as_json``, ``save_as_csv``) have it; a float would hide the feedback from SIMBA.

    Args:
        score: The score of the example: higher is better.
        feedback: Its errors in words.
        objective_scores: The score of each measure: its value, or 1 - value / worst where lower is better.
        evidence: The tallies of the measures.
        errors: The errors of the example.
        passed: Whether the pass mark is reached.
        failure: Why the program failed, if it did.
    """

    def __new__(cls, score: float = 0.0, *_: object, **__: object) -> Self:
        return str.__new__(cls, float(score))

    def __init__(
        self,
        score: float = 0.0,
        feedback: str = "",
        objective_scores: Mapping[str, float] | None = None,
        *,
        evidence: Evidence | None = None,
        errors: tuple[Error, ...] = (),
        passed: bool = False,
        failure: str = "",
    ) -> None:
        super().__init__(score=float(score), feedback=feedback, objective_scores=dict(objective_scores or {}))
        tallies = Evidence() if evidence is None else evidence
        self._total = Total(tallies, 1, failed=int(bool(failure)), failure=failure)
        self._errors = errors
        self._passed = passed

    @property
    def total(self) -> Total:
        """The sum of this one score."""
        return self._total

    @property
    def evidence(self) -> Evidence:
        """The tallies by measure name."""
        return self.total.evidence

    tally = evidence

    @property
    def errors(self) -> tuple[Error, ...]:
        """The errors of this example."""
        return self._errors

    @property
    def failure(self) -> str:
        """Why the program failed on this example; empty if it did not."""
        return self.total.failure

    def __bool__(self) -> bool:
        return bool(self._passed)

    def __float__(self) -> float:
        return float(self.score)

    def __str__(self) -> str:
        return str(float(self))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __add__(self, other: object) -> Total:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        total: Total = self.total + other
        return total

    __radd__ = __add__  # pyright: ignore[reportAssignmentType]

    def __mul__(self, factor: float) -> Total:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.total * float(factor)

    __rmul__ = __mul__  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    def copy(self, **changes: Any) -> Score:
        """A copy with some fields changed."""
        other = Score.__new__(Score, float(changes.get("score", self)))
        other.__dict__.update(copy.deepcopy(self.__dict__))
        for name, value in changes.items():
            setattr(other, name, value)
        return other

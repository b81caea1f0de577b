"""What a metric returns for one example, and what such scores add up to.

``dspy.Evaluate`` computes ``100 * sum(scores) / n`` on whatever a metric returns. A `Score` adds to a `Total`, which
keeps the evidence, and a `Total` divided by a number is the corpus value: so an unmodified ``Evaluate`` reports true
micro-F1, not the mean of per-example F1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from operator import add
from typing import Any

import dspy

from goldassay.tally import By, Number, Tally, divide
from goldassay.tally.sums import Sums, positive

Weights = Mapping[str, float]


class Evidence(By[str, Tally]):
    """The tallies of one or many examples by measure name, with the weights that make one number of them."""

    def __init__(self, tallies: Mapping[str, Tally] = {}, weights: Weights = {}) -> None:
        super().__init__(tallies)
        self.weights = dict(weights)

    def __reduce__(self) -> Any:
        return Evidence, (dict(self), self.weights)

    def __add__(self, other: Mapping[str, Tally], /) -> Evidence:
        out = Evidence(self, self.weights or getattr(other, "weights", {}))
        for key, tally in other.items():
            mine = out.get(key)
            out[key] = tally if mine is None else mine + tally
        return out

    @property
    def value(self) -> Number:
        """The weighted mean of the measures' values, over the measures that have evidence."""
        if len(self) == 1:
            (tally,) = self.values()
            return tally.value
        total: Number = 0.0
        weight: Number = 0.0
        for key, tally in self.items():
            share = self.weights.get(key, 1.0) * positive(tally.weight)
            total, weight = total + share * tally.value, weight + share
        return divide(total, weight, empty=1.0)

    def from_state(self, state: Mapping[str, Any]) -> Evidence:
        return Evidence({key: self[key].from_state(inner) for key, inner in state.items()}, self.weights)


Layout = tuple[tuple[str, type[Any]], ...]
_LAYOUTS: dict[Layout, Layout] = {}


def _flat(evidence: Evidence) -> tuple[Layout, tuple[float, ...]] | None:
    """Evidence of plain sums as bare numbers; one layout object per kind of evidence. ``None`` for nested evidence."""
    layout = tuple((key, type(tally)) for key, tally in evidence.items())
    if not all(issubclass(kind, Sums) for _, kind in layout):
        return None
    numbers = tuple(getattr(tally, name) for tally in evidence.values() for name in type(tally).__dataclass_fields__)  # type: ignore[attr-defined]
    return _LAYOUTS.setdefault(layout, layout), numbers


class Total:
    """The sum of many scores. ``total / n`` is the corpus value of n examples.

    Plain numbers in the sum (dspy's ``failure_score``, where a program raised) are examples without evidence: the
    metric was never shown their gold. Each takes the value down as it would take down a mean,
    ``(value * scored + failure scores) / n``, and ``total / n`` warns of it. For means (accuracy, MRR) that is the
    value with the failed gold counted as missed; for P, R and F1 it is at most that. The very value comes from
    ``goldassay.guard(program)``, which never raises; where it failed on every example ``Evaluate`` ends with a warning.
    (A program without a guard that raises on every example is never shown to the metric: only DSPy can tell of it.)

    ``dspy.Evaluate`` sums all scores again after every example. So sums of plain counts are kept as bare numbers, and
    become tallies only when a value is asked for.

    Args:
        evidence: The tallies of the scores that were added.
        count: How many they are.
        plain: The sum of plain numbers among them.
        factor: What the value was multiplied by (``dspy.Evaluate`` takes 100 times the sum).
        numbers: The evidence as bare numbers.
        failed: How many of the scores are of a program that failed.
        why: Why the first of these did.
    """

    __slots__ = ("_evidence", "_numbers", "count", "factor", "failed", "plain", "why")

    def __init__(
        self,
        evidence: Evidence,
        count: int = 0,
        plain: float = 0.0,
        factor: float = 1.0,
        numbers: tuple[Layout, tuple[float, ...]] | None = None,
        failed: int = 0,
        why: str = "",
    ) -> None:
        self._evidence, self.count, self.plain, self.factor, self._numbers = evidence, count, plain, factor, numbers
        self.failed, self.why = failed, why

    @property
    def evidence(self) -> Evidence:
        """The tallies by measure name."""
        if self._numbers is not None:
            layout, numbers = self._numbers
            left = iter(numbers)
            tallies = {key: kind(*(next(left) for _ in kind.__dataclass_fields__)) for key, kind in layout}
            self._evidence, self._numbers = Evidence(tallies, self._evidence.weights), None
        return self._evidence

    def __add__(self, other: Any) -> Total:
        if isinstance(other, Score):
            mine, flat = self._numbers, other.flat
            if mine is not None and flat is not None and mine[0] is flat[0]:
                numbers = (mine[0], tuple(map(add, mine[1], flat[1])))
                return self._with(self._evidence, 1, 0.0, numbers, other.failure)
            return self._with(self.evidence + other.evidence, 1, 0.0, None, other.failure)
        if isinstance(other, Total):
            both = self._with(self.evidence + other.evidence, other.count, other.plain, None, other.why)
            both.failed = self.failed + other.failed
            return both
        if isinstance(other, (int, float)):
            return self._with(self._evidence, 0, other, self._numbers, "")
        return NotImplemented

    __radd__ = __add__

    def _with(self, evidence: Evidence, count: int, plain: float, numbers: Any, failure: str) -> Total:
        failed = self.failed + bool(failure)
        why = self.why or failure
        return Total(evidence, self.count + count, self.plain + plain, self.factor, numbers, failed, why)

    @property
    def value(self) -> float:
        """The corpus value."""
        return float(self.evidence.value)

    def __mul__(self, factor: float) -> Total:
        return Total(self._evidence, self.count, self.plain, self.factor * factor, self._numbers, self.failed, self.why)

    __rmul__ = __mul__

    def __truediv__(self, n: float) -> float:
        if not n > self.count > 0:
            return self.value * self.factor
        warnings.warn(
            f"{n - self.count:g} of {n:g} examples have no score, since the program raised: each takes the value down "
            "as an example of score 0; for the value with their gold counted as missed wrap the program "
            "(goldassay.guard(program)), or use goldassay.evaluate",
            stacklevel=2,
        )
        return (self.value * self.count + self.plain) / n * self.factor

    def __float__(self) -> float:
        """What a progress bar shows before the slash: the corpus value times the number of examples."""
        return self.value * self.factor * self.count

    def __format__(self, spec: str) -> str:
        """Evaluate writes the sum out once, at its end (it divides after every example): there is the time to tell."""
        if not spec and self.failed == self.count > 0:
            which = "the one example" if self.count == 1 else f"all {self.count} examples; the first"
            warnings.warn(f"the program failed on {which}: {self.why}", stacklevel=2)
        return format(float(self), spec)

    def __repr__(self) -> str:
        return f"Total(value={self.value:.4f}, examples={self.count})"


class Score(dspy.Prediction):
    """What a metric returns for one example: ``score``, ``feedback``, ``objective_scores`` and the tallies.

    It is a ``dspy.Prediction``, as GEPA and SIMBA want; ``bool(score)`` says whether the pass mark is reached, as
    bootstrapping wants; scores add to a `Total`, as ``Evaluate`` wants.

    Args:
        evidence: The tallies of the measures.
        errors: What was wrong in the example.
        passed: Whether the pass mark is reached.
        failure: Why the program failed, if it did.
    """

    def __init__(
        self,
        score: float = 0.0,
        feedback: str = "",
        objective_scores: Mapping[str, float] | None = None,
        *,
        evidence: Evidence | None = None,
        errors: tuple[Any, ...] = (),
        passed: bool = False,
        failure: str = "",
    ) -> None:
        super().__init__(score=float(score), feedback=feedback, objective_scores=dict(objective_scores or {}))
        self.__dict__["_evidence"] = Evidence() if evidence is None else evidence
        self.__dict__["_errors"] = errors
        self.__dict__["_passed"] = passed
        self.__dict__["_failure"] = failure

    @property
    def evidence(self) -> Evidence:
        """The tallies by measure name."""
        return self.__dict__["_evidence"]  # type: ignore[no-any-return]

    @property
    def tally(self) -> Evidence:
        """The tallies by measure name; the same as ``evidence``."""
        return self.evidence

    @property
    def errors(self) -> tuple[Any, ...]:
        """The errors found in this example."""
        return self.__dict__["_errors"]  # type: ignore[no-any-return]

    @property
    def failure(self) -> str:
        """Why the program failed on this example; nothing where it did not."""
        return self.__dict__["_failure"]  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(self.__dict__["_passed"])

    def __float__(self) -> float:
        return float(self["score"])

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else repr(self)

    @property
    def flat(self) -> tuple[Layout, tuple[float, ...]] | None:
        """The evidence as bare numbers, made once."""
        store = self.__dict__
        if "_flat" not in store:
            store["_flat"] = _flat(self.evidence)
        return store["_flat"]  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Total:  # pyright: ignore[reportIncompatibleMethodOverride]
        mine = Total(self.evidence, 1, numbers=self.flat, failed=int(bool(self.failure)), why=self.failure)
        total: Total = mine + other
        return total

    def __radd__(self, other: Any) -> Total:  # pyright: ignore[reportIncompatibleMethodOverride]
        total: Total = self + other
        return total

    def __reduce__(self) -> Any:
        return _rebuild, (dict(self.items()), self.evidence, self.errors, bool(self), self.failure)

    def __deepcopy__(self, memo: dict[int, Any]) -> Score:
        return _rebuild(dict(self.items()), self.evidence, self.errors, bool(self), self.failure)

    def __copy__(self) -> Score:
        return self.__deepcopy__({})

    def copy(self, **changes: object) -> Score:
        out = self.__deepcopy__({})
        for name, value in changes.items():
            out[name] = value
        return out


def _rebuild(
    store: dict[str, Any], evidence: Evidence, errors: tuple[Any, ...], passed: bool, failure: str = ""
) -> Score:
    score = Score(evidence=evidence, errors=errors, passed=passed, failure=failure)
    for name, value in store.items():
        score[name] = value
    return score

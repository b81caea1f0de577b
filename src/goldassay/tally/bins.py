"""Confidence against correctness, in bins: what calibration is computed from."""

from __future__ import annotations

from typing import ClassVar, Self

from goldassay.tally.base import Number, State, divide


class Bins(dict[int, tuple[Number, Number, Number]]):
    """Per bin: how many, the sum of confidences, how many were correct; ``value`` is 1 − ECE.

    ECE = Σ_b (n_b / n) · |accuracy_b − mean confidence_b| over ``edges`` equal bins of [0, 1] (the last one closed).

    >>> bins = Bins.of(0.9, correct=True) + Bins.of(0.8, correct=False)
    >>> round(bins.ece, 3), round(bins.value, 3), Bins().value
    (0.35, 0.65, 1.0)
    """

    edges: ClassVar[int] = 4

    @classmethod
    def of(cls, confidence: float, correct: float) -> Self:
        """The evidence of one prediction with a confidence in [0, 1]."""
        if not 0.0 <= confidence <= 1.0:
            raise ValueError(f"a confidence lies between 0 and 1, not {confidence!r}")
        return cls({min(int(confidence * cls.edges), cls.edges - 1): (1.0, float(confidence), float(correct))})

    def __add__(self, other: Bins, /) -> Self:
        if not isinstance(other, Bins):
            return NotImplemented
        out = type(self)(self)
        for index, evidence in other.items():
            mine = out.get(index, (0.0, 0.0, 0.0))
            out[index] = (mine[0] + evidence[0], mine[1] + evidence[1], mine[2] + evidence[2])
        return out

    @property
    def count(self) -> Number:
        """How many predictions there are."""
        return sum(n for n, _, _ in self.values())

    @property
    def weight(self) -> Number:
        return self.count

    @property
    def ece(self) -> Number:
        """Expected calibration error; 0 where there is no evidence."""
        gap = sum(abs(correct - confidence) for _, confidence, correct in self.values())
        return divide(gap, self.count)

    @property
    def value(self) -> Number:
        return 1.0 - self.ece

    def state(self) -> dict[str, dict[str, Number]]:
        return {str(i): {"n": n, "confidence": c, "correct": k} for i, (n, c, k) in sorted(self.items())}

    def from_state(self, state: State) -> Self:
        return type(self)({int(i): (s["n"], s["confidence"], s["correct"]) for i, s in state.items()})

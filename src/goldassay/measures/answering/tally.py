"""Evidence that only answering needs: the questions by confidence, bins for the calibration error, verdicts on claims.

What the values mean stands in `calibration` and `claims`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from goldassay.statistics.evidence import Flags, Floats
from goldassay.tally import Bins, divide
from goldassay.tally.sums import Number, State

COLUMNS = 200
NAMES = ("n", "score", "nothing")
Scored = tuple[Number, Number, Number]
"""How many questions, the sum of their scores, the sum of what an empty answer would score."""


class ByConfidence(dict[float, Scored]):
    """For each confidence (or probability) that was given the evidence of its questions; it adds up exactly.

    Of many examples it holds the sums, and ``rows``: the confidence and the three numbers of each. Their arrays, one
    column a confidence, are made only where somebody resamples.
    """

    rows: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, sure: ArrayLike, evidence: ArrayLike) -> Self:
        """The evidence of many examples; one without a question says nothing.

        >>> ByConfidence.of([0.5, 0.9, 0.5], [(1, 1.0, 0.0), (1, 0.0, 0.0), (1, 0.0, 0.0)])
        {0.5: (2.0, 1.0, 0.0), 0.9: (1.0, 0.0, 0.0)}
        """
        given, rows = np.asarray(sure, float), np.asarray(evidence, float).reshape(-1, 3)
        kept = rows[:, 0] > 0
        levels, place = np.unique(given[kept], return_inverse=True)
        sums = [np.bincount(place, column, len(levels)).tolist() for column in rows[kept].T]
        made = cls({level: (sums[0][i], sums[1][i], sums[2][i]) for i, level in enumerate(levels.tolist())})
        made.rows = given, rows
        return made

    def __add__(self, other: Mapping[float, Scored], /) -> Self:
        if not isinstance(other, Mapping):
            return NotImplemented
        out = type(self)(self)
        for level, (n, score, nothing) in other.items():
            mine = out.get(level, (0.0, 0.0, 0.0))
            out[level] = mine[0] + n, mine[1] + score, mine[2] + nothing
        return out

    @property
    def summed(self) -> Self:
        """The evidence of all examples together."""
        return type(self)(self)

    def laid_out(self) -> dict[str, object]:
        """The rows, one column each: all that the evidence of many examples comes from."""
        given, rows = self.rows if self.rows is not None else (np.zeros(0), np.zeros((0, 3)))
        return {"given": given, **dict(zip(NAMES, rows.T, strict=True))}

    def gathered(self, columns: Mapping[str, ArrayLike]) -> Self:
        """The evidence of the examples that these columns lay out."""
        return self.of(columns["given"], np.column_stack([columns[name] for name in NAMES]))

    @property
    def weight(self) -> Number:
        """How many questions."""
        return sum(n for n, _, _ in self.values())

    def columns(self, descending: bool = False) -> tuple[Floats, Floats]:
        """The confidences in order, and the evidence: the three numbers by confidence (and by resample)."""
        levels = sorted(self, reverse=descending)
        return np.array(levels), np.stack([np.array([self[one][side] for one in levels], float) for side in range(3)])

    def state(self) -> dict[str, dict[str, Number]]:
        """As JSON. Of many examples arrays, a number an example, for at most `COLUMNS` confidences: above that,
        neighbours are taken together under the highest of them, so that resampling stays linear."""
        if self.rows is None:
            return {repr(level): dict(zip(NAMES, self[level], strict=True)) for level in sorted(self)}
        given, rows = self.rows
        out = {}
        for group in np.array_split(np.array(sorted(self)), min(len(self), COLUMNS)) if self else ():
            here = (given >= group[0]) & (given <= group[-1])
            out[repr(float(group[-1]))] = dict(zip(NAMES, (rows * here[:, None]).T, strict=True))
        return out

    def from_state(self, state: State) -> Self:
        """The evidence again."""
        return type(self)({float(x): (one["n"], one["score"], one["nothing"]) for x, one in state.items()})


class Risk(ByConfidence):
    """``value`` is the area under the risk–coverage curve.

    A group of m answers after K others, W of them wrong, has the errors W + j·e at K + j for j = 1 … m, where e is its
    error rate; its share of the area is e·m + (W − e·K)(H(K + m) − H(K)), H being the harmonic numbers.

    >>> round(Risk.of([0.9, 0.1, 0.5], [(1, 1, 0), (1, 0, 0), (1, 0, 0)]).value, 4)      # (0 + 1/2 + 2/3) / 3
    0.3889
    """

    @property
    def value(self) -> Number:
        """The mean over k of the error rate of the k most confident; 1 without an answer."""
        if not self:
            return 1.0
        _, (n, right, _) = self.columns(descending=True)
        wrong = n - right
        before, lost = np.cumsum(n, axis=0) - n, np.cumsum(wrong, axis=0) - wrong
        harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, round(float((before + n).max())) + 1))))
        grown = harmonic[np.rint(before + n).astype(int)] - harmonic[np.rint(before).astype(int)]
        rate = divide(wrong, n)
        return _plain(divide((rate * n + (lost - rate * before) * grown).sum(axis=0), n.sum(axis=0), empty=1.0))


class Best(ByConfidence):
    """``value`` is the highest mean score that a threshold on the probability of no answer reaches.

    >>> Best.of([0.1, 0.6, 0.9], [(1, 1, 0), (1, 0, 0), (1, 0, 1)]).value     # (1 + 0 + 1) / 3
    0.6666666666666666
    """

    @property
    def reached(self) -> tuple[Floats, Floats, Floats]:
        """The thresholds, from none on, the sum of scores at each, and how many questions there are."""
        levels, (n, scores, nothing) = self.columns()
        gains = np.cumsum(scores - nothing, axis=0)
        sums = np.concatenate((np.zeros_like(gains[:1]), gains)) + nothing.sum(axis=0)
        return np.concatenate(([0.0], levels)), sums, n.sum(axis=0)

    @property
    def value(self) -> Number:
        """The best mean; 1 without a question."""
        if not self:
            return 1.0
        _, sums, n = self.reached
        return _plain(divide(sums.max(axis=0), n, empty=1.0))


class Threshold(Best):
    """``value`` is the lowest threshold that reaches the best mean; 0 where answering nothing is best."""

    @property
    def value(self) -> Number:
        """A probability of no answer."""
        if not self:
            return 0.0
        levels, sums, _ = self.reached
        return _plain(levels[(sums >= sums.max(axis=0) - 1e-9).argmax(axis=0)])


def _plain(found: Any) -> Number:
    return float(found) if np.ndim(found) == 0 else found


class Deciles(Bins):
    """Ten bins; ``value`` is the expected calibration error itself."""

    edges: ClassVar[int] = 10

    @classmethod
    def binned(cls, sure: Floats, right: Floats, weight: Floats, bins: int = 10) -> Self:
        """The bin of each example; one of weight 0 is in none."""
        which = np.minimum((sure * bins).astype(int), bins - 1)
        made = {}
        for index in np.unique(which[weight > 0]).tolist():
            here = weight * (which == index)
            made[index] = here, sure * here, right * here
        return cls(made)

    @property
    def value(self) -> Number:
        """ECE; 0 is best."""
        return self.ece


@dataclass(frozen=True, eq=False)
class Kleene:
    """Statements that are certainly true (``sure``) and those that may be (``maybe``): Kleene's three values."""

    sure: Flags
    maybe: Flags

    def __and__(self, other: Kleene) -> Kleene:
        return Kleene(self.sure & other.sure, self.maybe & other.maybe)

    def __invert__(self) -> Kleene:
        return Kleene(~self.maybe, ~self.sure)

    def any(self, axis: int) -> Kleene:
        """Whether one along this axis is true; where there is none, it is not."""
        return Kleene(np.logical_or.reduce(self.sure, axis), np.logical_or.reduce(self.maybe, axis))


@dataclass(frozen=True)
class BoundedShare:
    """A value between what is certain and the ``most`` it could be, over ``n`` claims or passages."""

    value: float
    most: float
    n: int


def share_of(truth: Kleene, empty: bool = False) -> BoundedShare | None:
    """The share of true ones; of none at all it is no number, or 0 where ``empty`` says that there should be some."""
    n = len(truth.sure)
    return (
        BoundedShare(float(truth.sure.mean()), float(truth.maybe.mean()), n)
        if n
        else BoundedShare(0.0, 0.0, 0)
        if empty
        else None
    )


def line_of(verdicts: Sequence[bool | None] | None) -> Kleene | None:
    """A row of verdicts."""
    if verdicts is None:
        return None
    return Kleene(np.array([v is True for v in verdicts], bool), np.array([v is not False for v in verdicts], bool))


def table_of(rows: Sequence[Sequence[bool | None]] | None) -> Kleene | None:
    """Rows of verdicts, as wide as the first."""
    made = None if rows is None else line_of([verdict for row in rows for verdict in row])
    if rows is None or made is None:
        return None
    shape = len(rows), len(rows[0]) if rows else 0
    return Kleene(made.sure.reshape(shape), made.maybe.reshape(shape))

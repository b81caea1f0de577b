"""Which label was taken for which."""

from __future__ import annotations

from typing import Any, Self

from goldassay.tally.base import Number, State, divide
from goldassay.tally.counts import Counts


class Confusion(dict[tuple[str, str], Number]):
    """Counts of (gold label, predicted label); ``value`` is accuracy, the share on the diagonal.

    >>> seen = Confusion({("M", "M"): 3, ("M", "G"): 1}) + Confusion({("G", "G"): 1})
    >>> seen.value, seen.labels, seen.counts("M")
    (0.8, ('G', 'M'), Counts(tp=3, fp=0, fn=1))
    """

    def __add__(self, other: Confusion, /) -> Self:
        if not isinstance(other, Confusion):
            return NotImplemented
        out = type(self)(self)
        for pair, count in other.items():
            out[pair] = out.get(pair, 0.0) + count
        return out

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels seen, on either side, sorted."""
        return tuple(sorted({label for pair in self for label in pair}))

    @property
    def weight(self) -> Number:
        return sum(self.values())

    @property
    def correct(self) -> Number:
        return sum(count for (gold, pred), count in self.items() if gold == pred)

    @property
    def value(self) -> Number:
        return divide(self.correct, self.weight, empty=1.0)

    def counts(self, label: str) -> Counts:
        """The label against all others."""
        return self.by_label((label,))[label]

    def by_label(self, labels: tuple[str, ...] | None = None) -> dict[str, Counts]:
        """Each label against all others, in one pass."""
        out = {label: Counts(0, 0, 0) for label in (self.labels if labels is None else labels)}
        for (gold, pred), count in self.items():
            if gold == pred:
                if gold in out:
                    out[gold] += Counts(count, 0, 0)
                continue
            if gold in out:
                out[gold] += Counts(0, 0, count)
            if pred in out:
                out[pred] += Counts(0, count, 0)
        return out

    def state(self) -> dict[str, Any]:
        out: dict[str, dict[str, Any]] = {}
        for (gold, pred), count in self.items():
            out.setdefault(gold, {})[pred] = count
        return out

    def from_state(self, state: State) -> Self:
        return type(self)({(gold, pred): count for gold, row in state.items() for pred, count in row.items()})

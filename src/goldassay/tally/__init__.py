"""Tallies: evidence that adds up. From sums of tallies come all numbers of goldassay.

A tally keeps sufficient statistics (counts, sums, bins), never a rate. ``T()`` is zero, ``+`` is associative and
commutative, and ``value`` is the rate that the evidence gives. The fields may also be arrays of one shape, so the same
``value`` serves a bootstrap of ten thousand resamples.

No evidence (``weight == 0``) is not applicable: it weighs nothing in a fold, and its ``value`` is 1.0 by convention,
since where there was nothing to find nothing was got wrong (``empty=1``). The bare rates ``precision``, ``recall`` and
``f1`` are 0.0 where they are not defined, as in scikit-learn with ``zero_division=0``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from goldassay.tally.sums import Bins, K, Keyed, Mean, Number, State, Sums, T, Tally, divide, mean, occurs, positive

FORMULAS = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}


@dataclass(frozen=True, slots=True)
class Counts(Sums):
    """True positives, false positives and false negatives; ``value`` is F1.

    P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).

    >>> counts = Counts(tp=1, fp=1) + Counts(tp=1, fn=2)
    >>> counts, counts.precision, counts.recall
    (Counts(tp=2, fp=1.0, fn=2.0), 0.6666666666666666, 0.5)
    >>> Counts().value, Counts().f1     # nothing to find, nothing found: no evidence, and nothing wrong
    (1.0, 0.0)
    """

    rate = "f1"
    tp: Number = 0.0
    fp: Number = 0.0
    fn: Number = 0.0

    @property
    def support(self) -> Number:
        """How many there are in gold."""
        return self.tp + self.fn

    @property
    def predicted(self) -> Number:
        """How many there are in the predictions."""
        return self.tp + self.fp

    @property
    def precision(self) -> Number:
        return divide(self.tp, self.predicted)

    @property
    def recall(self) -> Number:
        return divide(self.tp, self.support)

    @property
    def f1(self) -> Number:
        return divide(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def weight(self) -> Number:
        return self.tp + self.fp + self.fn

    @property
    def value(self) -> Number:
        """The rate, and 1.0 where there is no evidence at all (nothing is predicted and nothing was to find)."""
        return getattr(self, self.rate) + (1.0 - positive(self.weight))


@dataclass(frozen=True, slots=True)
class PrecisionCounts(Counts):
    """The same evidence; ``value`` is precision."""

    rate = "precision"


@dataclass(frozen=True, slots=True)
class RecallCounts(Counts):
    """The same evidence; ``value`` is recall."""

    rate = "recall"


RATES: dict[str, type[Counts]] = {"f1": Counts, "precision": PrecisionCounts, "recall": RecallCounts}
"""The tally whose ``value`` is that rate: the one place where a measure's ``rate`` picks its tally."""


class Confusion(Keyed[tuple[str, str], Number]):
    """Counts of (gold label, predicted label); ``value`` is accuracy, the share on the diagonal.

    >>> seen = Confusion({("M", "M"): 3, ("M", "G"): 1}) + Confusion({("G", "G"): 1})
    >>> seen.value, seen.labels, seen.by_label()["M"]
    (0.8, ('G', 'M'), Counts(tp=3, fp=0, fn=1))
    """

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

    def by_label(self, labels: tuple[str, ...] | None = None) -> dict[str, Counts]:
        """Each label against all others, in one pass."""
        table = {label: Counts(0, 0, 0) for label in (self.labels if labels is None else labels)}
        for (gold, pred), count in self.items():
            changes = (
                {gold: Counts(count, 0, 0)} if gold == pred else {gold: Counts(0, 0, count), pred: Counts(0, count, 0)}
            )
            for label in changes.keys() & table.keys():
                table[label] += changes[label]
        return table

    def state(self) -> dict[str, Any]:
        table: dict[str, dict[str, Any]] = {}
        for (gold, pred), count in self.items():
            table.setdefault(gold, {})[pred] = count
        return table

    def from_state(self, state: State) -> Self:
        return self.with_items({(gold, pred): count for gold, row in state.items() for pred, count in row.items()})


class By(Keyed[K, T]):
    """Tallies by type, stratum or measure name; itself a tally.

    ``value`` is that of the pooled evidence (micro); `Macro` averages over the keys.

    >>> by = By({"MUS": Counts(1, 0, 0)}) + By({"MUS": Counts(0, 0, 1), "TOP": Counts(2, 0, 0)})
    >>> by["MUS"], round(by.value, 3)
    (Counts(tp=1, fp=0, fn=1), 0.857)
    """

    inner: ClassVar[Any] = Counts()

    @property
    def pooled(self) -> T:
        """The evidence of all keys together."""
        first, *others = self.values() or [self.inner]
        return sum(others, first)

    @property
    def weight(self) -> Number:
        return sum(tally.weight for tally in self.values())

    @property
    def value(self) -> Number:
        return self.pooled.value

    def state(self) -> dict[str, object]:
        return {str(key): tally.state() for key, tally in self.items()}

    def from_state(self, state: State) -> Self:
        kinds: Any = self
        items: Any = {key: kinds.get(key, self.inner).from_state(inner) for key, inner in state.items()}
        return self.with_items(items)


SHARES: dict[str, Callable[[Counts], Number]] = {
    "gold": lambda counts: positive(counts.support),
    "seen": lambda counts: positive(counts.weight),
    "support": lambda counts: counts.support,
}


class Macro(By[str, Counts]):
    """Counts by key; ``value`` is the mean of a rate over the keys.

    Args:
        items: The counts by key.
        rate: ``f1``, ``precision`` or ``recall``.
        share: What a key weighs in the mean. ``gold``: 1 if it occurs in gold, else 0; ``seen``: 1 if it occurs in gold
            or predictions; ``support``: how often it occurs in gold.

    >>> by = Macro({"MUS": Counts(1, 0, 0), "TOP": Counts(1, 2, 0), "ORG": Counts(0, 1, 0)})
    >>> by.value, round(by.mean_of("precision"), 3)       # (1 + 0.5) / 2; ORG does not occur in gold
    (0.75, 0.667)
    >>> Macro(by, share="seen").value                     # (1 + 0.5 + 0) / 3
    0.5
    """

    def __init__(self, items: Mapping[str, Counts] = {}, rate: str = "f1", share: str = "gold") -> None:
        super().__init__(items)
        self.rate, self.share = rate, share

    @property
    def classes(self) -> list[Counts] | None:
        """The counts of the keys that the mean is over, for its interval; None if their weights differ."""
        share = SHARES[self.share]
        return None if self.share == "support" else [counts for counts in self.values() if occurs(share(counts))]

    def mean_of(self, rate: str) -> Number:
        """The mean of a rate over the keys."""
        share = SHARES[self.share]
        return mean([(getattr(counts, rate), share(counts)) for counts in self.values()])

    @property
    def weight(self) -> Number:
        """The weights of all keys; 0 is no value."""
        share = SHARES[self.share]
        return sum(share(counts) for counts in self.values())

    @property
    def value(self) -> Number:
        return self.mean_of(self.rate)


__all__ = [
    "FORMULAS",
    "RATES",
    "Bins",
    "By",
    "Confusion",
    "Counts",
    "Macro",
    "Mean",
    "Number",
    "PrecisionCounts",
    "RecallCounts",
    "State",
    "T",
    "Tally",
    "divide",
    "mean",
]

"""Tallies: evidence that adds up. From sums of tallies come all numbers of goldassay.

A tally keeps sufficient statistics (counts, sums, bins), never a rate. ``T()`` is zero, ``+`` is associative and
commutative, and ``value`` is the rate that the evidence gives. The fields may also be arrays of one shape, so the same
``value`` serves a bootstrap of ten thousand resamples.

No evidence (``weight == 0``) is not applicable: it weighs nothing in a fold, and its ``value`` is 1.0 by convention,
since where there was nothing to find nothing was got wrong (``empty=1``). The bare rates ``precision``, ``recall`` and
``f1`` are 0.0 where they are not defined, as in scikit-learn with ``zero_division=0``.
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import Field, InitVar, dataclass, field, fields
from functools import cache, reduce
from operator import add, attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

from typing_extensions import TypeVar

from goldassay.core.fields import Fields, JsonObject, Record

Number: TypeAlias = Any
"""A number, or an array of numbers, one an example or a resample: one formula serves both."""
State = Mapping[str, Any]
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


Path = tuple[str, ...]
Share = Callable[[Collection[str]], float]
"""Which share of an example's errors is repaired: of those of some sides (``gold``, ``pred``, ``both``), or of all."""
REPAIRS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fn": ("tp", ("gold", "both")),
    "fp": ("", ("pred", "both")),
    "incorrect": ("correct", ("both",)),
    "partial": ("correct", ("both",)),
    "missed": ("correct", ("gold",)),
    "spurious": ("", ("pred",)),
    "false": ("true", ("pred", "both")),
    "unknown": ("true", ("pred", "both")),
}
"""The counts of wrong items: what each becomes when it is repaired, and the side of the errors that cause it."""


class Tally(ABC):
    """Evidence that adds up. ``T()`` is zero; ``+`` is associative and commutative.

    A tally of your own defines the five abstract members. Its numbers may be arrays, one number an example: `state`
    and `from_state` pass them on as they are. The other members have defaults that follow from these five.

    >>> @dataclass(frozen=True)
    ... class Longest(Tally):
    ...     letters: Number = 0.0
    ...     words: Number = 0.0
    ...     def __add__(self, other):
    ...         return Longest(self.letters + other.letters, self.words + other.words)
    ...     @property
    ...     def value(self):
    ...         return divide(self.letters, self.words, empty=1.0)
    ...     @property
    ...     def weight(self):
    ...         return self.words
    ...     def state(self):
    ...         return {"letters": self.letters, "words": self.words}
    ...     def from_state(self, state):
    ...         return Longest(**state)
    >>> (Longest(9, 2) + Longest(3, 1)).value
    4.0
    """

    __slots__ = ()

    @abstractmethod
    def __add__(self, other: Self, /) -> Self:
        """The evidence of both together."""

    @property
    @abstractmethod
    def value(self) -> Number:
        """The rate that this evidence gives."""

    @property
    @abstractmethod
    def weight(self) -> Number:
        """How much evidence there is; 0 is not applicable."""

    @abstractmethod
    def state(self) -> Mapping[str, object]:
        """The evidence as nested dicts of numbers, for JSON and for resampling."""

    @abstractmethod
    def from_state(self, state: State) -> Self:
        """A tally of the same kind with this evidence (numbers or arrays)."""

    def to_columns(self) -> Mapping[str, object]:
        """The evidence of many examples as nested dicts of arrays, one number an example, for choosing and weighing."""
        return self.state()

    def from_columns(self, columns: State) -> Self:
        """The tally that has these columns (see `to_columns`)."""
        return self.from_state(columns)

    @property
    def summed(self) -> Self:
        """The evidence of all examples together, of a tally whose fields are arrays."""
        import numpy as np

        return self.from_state(nested({path: np.sum(column).item() for path, column in flat(self.state()).items()}))

    @property
    def classes(self) -> tuple[list[Counts], str]:
        """The counts of the classes over which the value is a plain mean of a rate, and the rate; none for others."""
        return [], ""

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """The evidence to add to an example's so that a share of its errors is gone.

        By default a count of errors (`REPAIRS`) goes down by the share of the errors that cause it, and a ``total``
        moves by the share towards its weight.

        Args:
            share: The share of the errors.
            lower: Lower values are better, so that a ``total`` moves towards 0.
        """
        state: State = self.state()
        change = dict.fromkeys(state, 0.0)
        for wrong, (becomes, causes) in REPAIRS.items():
            if wrong in change and becomes in (*change, ""):
                amount = state[wrong] * share(causes)
                change[wrong] -= amount
                if becomes:
                    change[becomes] += amount
        if "total" in change:
            best = 0.0 if lower else self.weight
            change["total"] = (best - state["total"]) * share(())
        return self.from_state(change)


def flat(state: Mapping[str, object]) -> dict[Path, Number]:
    """The numbers (or arrays) of a nested state by their paths.

    >>> nested(flat({"MUS": {"tp": 1, "fp": 0}})) == {"MUS": {"tp": 1, "fp": 0}}
    True
    """
    columns: dict[Path, Number] = {}
    for key, value in state.items():
        inner = flat(value) if isinstance(value, Mapping) else {(): value}
        columns |= {(key, *path): number for path, number in inner.items()}
    return columns


def nested(columns: Mapping[Path, object]) -> JsonObject:
    """The nested state that these numbers (or arrays) by path came from."""
    state: Fields = {}
    for path, column in columns.items():
        branch = state
        for key in path[:-1]:
            branch = branch.setdefault(key, {})
        branch[path[-1]] = column
    return state


T = TypeVar("T", bound=Tally, default=Any)


def divide(above: Number, below: Number, empty: float = 0.0) -> Number:
    """``above / below``, and ``empty`` where ``below`` is 0; for numbers and arrays.

    >>> divide(1, 4), divide(1, 0), divide(0, 0, empty=1.0)
    (0.25, 0.0, 1.0)
    """
    if isinstance(below, (int, float)):
        return above / below if below else empty
    import numpy as np

    out = np.full(np.shape(below), empty)
    return np.divide(above, below, out=out, where=np.asarray(below) != 0)


def harmonic(precision: Number, recall: Number) -> Number:
    """F1 = 2PR / (P + R), 0 if both are 0; of numbers or arrays."""
    return divide(2 * precision * recall, precision + recall)


def mean(pairs: Iterable[tuple[Number, Number]]) -> Number:
    """The mean of (value, weight) pairs; 1.0 where nothing weighs, as for any empty tally."""
    total = 0.0
    weight = 0.0
    for value, share in pairs:
        total = total + value * share
        weight = weight + share
    return divide(total, weight, empty=1.0)


def positive(amount: Number) -> Number:
    """1.0 where there is any, 0.0 where there is none; for numbers and arrays.

    >>> positive(0.2), positive(0)
    (1.0, 0.0)
    """
    return float(amount > 0) if isinstance(amount, (int, float)) else (amount > 0).astype(float)


def occurs(amount: Number) -> bool:
    """Whether there is any of it, in a number or anywhere in an array."""
    return bool(amount) if isinstance(amount, (int, float)) else bool(amount.any())


@cache
def _values(kind: type[Sums]) -> Callable[[object], tuple[Number, ...]]:
    """A function that reads the fields of a tally of this kind, in their order."""
    return attrgetter(*kind.__dataclass_fields__)


class Sums(Tally):
    """Adds field by field; the fields of the dataclass are the evidence."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    def __add__(self, other: Self, /) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        kind = type(self)
        values = _values(kind)
        total = kind(*map(add, values(self), values(other)))
        return total

    def state(self) -> dict[str, Number]:
        return dict(zip(self.__dataclass_fields__, _values(type(self))(self), strict=True))

    def from_state(self, state: State) -> Self:
        return type(self)(**state)


@dataclass(frozen=True, slots=True)
class Mean(Sums):
    """A weighted mean: the sum of weight × value, and the sum of weights.

    >>> (Mean.of(1.0) + Mean.of(0.0) + Mean.of(0.5, weight=2)).value
    0.5
    >>> (Mean.of(0.25) + Mean()).value      # not applicable weighs nothing
    0.25
    """

    total: Number = 0.0
    weight: Number = 0.0

    @classmethod
    def of(cls, value: float, weight: float = 1.0) -> Self:
        """The evidence of one value."""
        return cls(value * weight, weight)

    @property
    def value(self) -> Number:
        return divide(self.total, self.weight, empty=1.0)


@cache
def _settings(kind: type[Keyed[K, V]]) -> tuple[str, ...]:
    return tuple(setting.name for setting in fields(kind) if setting.init)


@dataclass(eq=False, repr=False)
class Keyed(dict[K, V], Tally):
    """Evidence by key, which adds up key by key; other fields of a dataclass say what ``value`` is."""

    evidence: InitVar[Mapping[K, V]] = MappingProxyType({})

    def __post_init__(self, evidence: Mapping[K, V]) -> None:
        self.update(evidence)

    @staticmethod
    def add(mine: Any, more: Any) -> Any:
        """The evidence of both under one key."""
        return mine + more

    def with_items(self, items: Mapping[K, V]) -> Self:
        """A tally of the same kind and settings that holds these items."""
        kind = type(self)  # `dataclasses.replace` asks for its fields at every call
        tally: Self = kind(evidence=items, **{name: getattr(self, name) for name in _settings(kind)})
        return tally

    def __add__(self, other: Mapping[K, V], /) -> Self:
        if not isinstance(other, dict):
            return NotImplemented
        total = self.with_items(self)
        for key, more in other.items():
            total[key] = self.add(total[key], more) if key in total else more
        return total


def total(tallies: Sequence[T]) -> T:
    """The sum of at least one tally. A plain sum copies the keys seen so far at each step.

    >>> total([Confusion({("M", "M"): 3}), Confusion({("M", "M"): 1, ("M", "G"): 1})])
    {('M', 'M'): 4, ('M', 'G'): 1}
    """
    first = tallies[0]
    if not isinstance(first, Keyed):
        return reduce(add, tallies)
    by_key: dict[Any, list[Any]] = {}
    for tally in tallies:
        for key, entry in tally.items():  # type: ignore[attr-defined]
            by_key.setdefault(key, []).append(entry)
    sums = {k: total(v) if isinstance(v[0], Keyed) else reduce(first.add, v) for k, v in by_key.items()}
    return first.with_items(sums)


@dataclass(eq=False, repr=False)
class Bins(Keyed[int, tuple[Number, Number, Number]]):
    """Confidence against correctness in equal bins of [0, 1]: per bin the count, the sum of confidences, the correct
    ones.

    ECE = Σ_b (n_b / n) · |accuracy_b − mean confidence_b|, with the last bin closed. Pearson's ρ is that of the filled
    bins' midpoints and their accuracy; it is not defined (no evidence) for fewer than two filled bins or a constant
    accuracy, and 0 in a resample of that kind.

    Args:
        evidence: The evidence by bin.
        statistic: What ``value`` is: ``ece``, ``calibration`` (1 − ECE) or ``pearson``.
        edges: How many bins there are.

    >>> bins = Bins.of(0.9, correct=True) + Bins.of(0.8, correct=False)
    >>> round(bins.ece, 3), round(bins.value, 3), Bins().value
    (0.35, 0.65, 1.0)
    >>> Bins({0: (1, 0.1, 0), 3: (2, 1.7, 1)}, "pearson").value
    1.0
    """

    statistic: str = "calibration"
    edges: int = 4

    add = staticmethod(lambda mine, more: tuple(map(add, mine, more)))

    @classmethod
    def of(cls, confidence: float, correct: float) -> Self:
        """The evidence of one prediction with a confidence in [0, 1].

        Raises:
            ValueError: The confidence is outside.
        """
        if not 0.0 <= confidence <= 1.0:
            raise ValueError(f"a confidence lies between 0 and 1, not {confidence!r}")
        bins = cls()
        bins[min(int(confidence * bins.edges), bins.edges - 1)] = (1.0, float(confidence), float(correct))
        return bins

    @property
    def count(self) -> Number:
        """How many predictions there are."""
        return sum(n for n, _, _ in self.values())

    @property
    def ece(self) -> Number:
        """Expected calibration error; 0 without evidence."""
        return divide(sum(abs(correct - confidence) for _, confidence, correct in self.values()), self.count)

    @property
    def correlation(self) -> float | None:
        """Pearson's ρ of midpoints and accuracy; None where it is not defined."""
        filled = sorted(index for index, (n, _, _) in self.items() if n)
        accuracy = [float(self[index][2] / self[index][0]) for index in filled]
        if len(filled) < 2 or max(accuracy) - min(accuracy) < 1e-12:
            return None
        return statistics.correlation([(index + 0.5) / self.edges for index in filled], accuracy)

    @property
    def weight(self) -> Number:
        if self.statistic != "pearson":
            return self.count
        return self._each(lambda bins: float(bins.correlation is not None))

    @property
    def value(self) -> Number:
        if self.statistic == "pearson":
            return self._each(lambda bins: (bins.correlation or 0.0) if bins.count else 1.0)
        return self.ece if self.statistic == "ece" else 1.0 - self.ece

    def _each(self, value: Callable[[Self], float]) -> Number:
        """A value of these bins, or of each row where they hold arrays."""
        if all(isinstance(n, (int, float)) for n, _, _ in self.values()):
            return value(self)
        import numpy as np

        columns = [np.stack(np.broadcast_arrays(*evidence), axis=-1).tolist() for evidence in self.values()]
        return np.array(
            [value(self.with_items(dict(zip(self, row, strict=True)))) for row in zip(*columns, strict=True)]
        )

    def state(self) -> dict[str, dict[str, Number]]:
        return {str(i): {"n": n, "confidence": c, "correct": k} for i, (n, c, k) in sorted(self.items())}

    def from_state(self, state: State) -> Self:
        return self.with_items({int(i): (s["n"], s["confidence"], s["correct"]) for i, s in state.items()})

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """More correct predictions in each bin, whatever their confidence."""
        return self.with_items({key: (0.0, 0.0, (n - right) * share(())) for key, (n, _, right) in self.items()})


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


RATE_TALLIES: dict[str, type[Counts]] = {"f1": Counts, "precision": PrecisionCounts, "recall": RecallCounts}
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

    def state(self) -> dict[str, dict[str, Number]]:
        table: dict[str, dict[str, Number]] = {}
        for (gold, pred), count in self.items():
            table.setdefault(gold, {})[pred] = count
        return table

    def from_state(self, state: State) -> Self:
        return self.with_items({(gold, pred): count for gold, row in state.items() for pred, count in row.items()})

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """The share of the counts off the diagonal moves to the gold label's own cell."""
        change = self.with_items({})
        for (gold, pred), count in self.items():
            if gold != pred:
                amount = count * share(())
                change += {(gold, gold): amount}
                change += {(gold, pred): -amount}
        return change


class By(Keyed[K, T]):
    """Tallies by type, stratum or measure name; itself a tally.

    ``value`` is that of the pooled evidence (micro); `Macro` averages over the keys.

    >>> by = By({"MUS": Counts(1, 0, 0)}) + By({"MUS": Counts(0, 0, 1), "TOP": Counts(2, 0, 0)})
    >>> by["MUS"], round(by.value, 3)
    (Counts(tp=1, fp=0, fn=1), 0.857)
    """

    inner: Any = Counts()

    @property
    def pooled(self) -> T:
        """The evidence of all keys together."""
        first, *more = self.values() or [self.inner]
        return sum(more, first)

    @property
    def weight(self) -> Number:
        return sum(tally.weight for tally in self.values())

    @property
    def value(self) -> Number:
        return self.pooled.value

    def state(self) -> JsonObject:
        return {str(key): tally.state() for key, tally in self.items()}

    def from_state(self, state: State) -> Self:
        kinds: Any = self
        items: Any = {key: kinds.get(key, self.inner).from_state(inner) for key, inner in state.items()}
        return self.with_items(items)

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """Each key by itself, by the same share."""
        return self.with_items({key: tally.repaired(share, lower) for key, tally in self.items()})


SHARES: dict[str, Callable[[Counts], Number]] = {
    "gold": lambda counts: positive(counts.support),
    "seen": lambda counts: positive(counts.weight),
    "support": lambda counts: counts.support,
}


@dataclass(eq=False, repr=False)
class Macro(By[str, Counts]):
    """Counts by key; ``value`` is the mean of a rate over the keys.

    Args:
        evidence: The counts by key.
        rate: ``f1``, ``precision`` or ``recall``.
        share: What a key weighs in the mean. ``gold``: 1 if it occurs in gold, else 0; ``seen``: 1 if it occurs in gold
            or predictions; ``support``: how often it occurs in gold.

    >>> by = Macro({"MUS": Counts(1, 0, 0), "TOP": Counts(1, 2, 0), "ORG": Counts(0, 1, 0)})
    >>> by.value, round(by.mean_of("precision"), 3)       # (1 + 0.5) / 2; ORG does not occur in gold
    (0.75, 0.667)
    >>> Macro(by, share="seen").value                     # (1 + 0.5 + 0) / 3
    0.5
    """

    rate: str = "f1"
    share: str = "gold"

    @property
    def classes(self) -> tuple[list[Counts], str]:
        """The counts of the keys over which the value is a mean, and the rate; none if their weights differ."""
        if self.share == "support":
            return [], ""
        share = SHARES[self.share]
        return [counts for counts in self.values() if occurs(share(counts))], self.rate

    def mean_of(self, rate: str) -> Number:
        """The mean of a rate over the keys."""
        share = SHARES[self.share]
        return mean([(getattr(counts, rate), share(counts)) for counts in self.values()])

    @property
    def weight(self) -> Number:
        """The weights of all keys; 0 is not a value."""
        share = SHARES[self.share]
        return sum(share(counts) for counts in self.values())

    @property
    def value(self) -> Number:
        return self.mean_of(self.rate)


@dataclass(eq=False, repr=False)
class Evidence(By[str, Tally]):
    """The tallies of one or many examples by measure name, with the weights that make one number of them.

    Args:
        evidence: The tallies.
        weights: What each measure weighs; 1 if it is not named.
        worst: The worst value of each measure whose lower values are better (`goldassay.core.measure.Measure.worst`).

    >>> from goldassay.core.tally import Mean
    >>> both = Evidence({"accuracy": Mean.of(0.5), "brier": Mean.of(0.25)}, worst={"brier": 1.0})
    >>> both.score("accuracy"), both.score("brier"), both.value
    (0.5, 0.75, 0.625)
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    worst: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def empty(cls, measures: Record, weights: Mapping[str, float] = {}) -> Self:
        """No evidence yet for these measures."""
        return cls({key: measure.zero for key, measure in measures.items()}, weights, worst_values(measures))

    @property
    def weighted(self) -> list[str]:
        """The names of the measures that have a weight."""
        return [key for key in self if self.weights.get(key, 1.0)]

    def with_items(self, items: Mapping[str, Tally]) -> Self:
        if isinstance(items, Evidence) and not (self.weights or self.worst):
            return type(self)(items, items.weights, items.worst)
        return super().with_items(items)

    def __add__(self, other: Mapping[str, Tally], /) -> Self:
        return super().__add__(other) if self else self.with_items(other)

    @property
    def value(self) -> Number:
        """The weighted mean of the measures' scores, over the measures that have evidence: higher is better."""
        if len(self) == 1:
            return self.score(next(iter(self)))
        return mean(
            (self.score(key), self.weights.get(key, 1.0) * positive(tally.weight)) for key, tally in self.items()
        )

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """Each measure by itself, in the direction in which it is better."""
        return self.with_items({key: tally.repaired(share, key in self.worst) for key, tally in self.items()})

    @property
    def is_mean(self) -> bool:
        """Whether the value is the mean of the examples' own values (up to what they weigh)."""
        return all({"total", "weight"} <= tally.state().keys() for tally in self.values())

    def score(self, key: str) -> Number:
        """A measure's value as DSPy maximises it: 1 - value / worst where lower is better; 1 without evidence."""
        tally = self[key]
        worst = self.worst.get(key)
        return tally.value if worst is None else 1.0 - positive(tally.weight) * tally.value / worst


def worst_values(measures: Record) -> dict[str, float]:
    """The worst value of each measure whose lower values are better."""
    return {key: worst for key, measure in measures.items() if (worst := measure.worst) is not None}

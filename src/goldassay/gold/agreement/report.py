"""What an agreement study says: figures with intervals, and where the annotators disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from goldassay.gold.agreement.coefficient import Coefficient
from goldassay.statistics import Interval, interval


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name, between whom, for which type (None: all), and how much was compared.

    ``interval`` is None where the figure is not defined, because nothing was compared or nothing varies.
    """

    name: str
    between: tuple[str, ...]
    type: str | None
    units: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The figure without its interval."""
        return self.interval.value if self.interval else None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something that the annotators see differently: the record, the place in it, what each said (None: nothing)."""

    record: str
    where: str
    said: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of several annotators on one task."""

    task: str
    annotators: tuple[str, ...]
    records: int
    figures: Sequence[Figure]
    disagreements: Sequence[Disagreement]
    warnings: Sequence[str] = field(default_factory=list)

    def figure(self, name: str, between: Sequence[str] | None = None, type: str | None = None) -> Figure:
        """A figure by its name; among all annotators unless ``between`` says."""
        wanted = set(between or self.annotators)
        for found in self.figures:
            if (found.name, found.type) == (name, type) and set(found.between) == wanted:
                return found
        raise KeyError(name)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made: by bootstrap over records."""

    resamples: int = 2000
    level: float = 0.95
    seed: int = 0

    def figure(
        self, name: str, between: Sequence[str], tallies: Sequence[Any], zero: Any, units: int, type: str | None = None
    ) -> Figure:
        """The figure of one tally a record."""
        total = zero
        for tally in tallies:
            total = total + tally
        empty = not total.weight or (isinstance(total, Coefficient) and abs(float(total.expected)) < 1e-12)
        found = None
        if not empty:
            found = interval(
                tallies, zero, method="bootstrap", resamples=self.resamples, level=self.level, seed=self.seed
            )
        return Figure(name, tuple(between), type, units, found)

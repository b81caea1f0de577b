"""The figures of an agreement, and the places where annotators disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from goldassay.statistics import Interval


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name, between whom, for which type (None: all), and how many units were compared.

    ``interval`` is None if the figure is not defined, because nothing was compared or nothing varies.
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
    """A place in a record, and the value that each annotator gave (None: nothing)."""

    record: str
    where: str
    values: Mapping[str, str | None]


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
        """A figure by its name; among all annotators unless ``between`` names some.

        Raises:
            KeyError: There is no such figure.
        """
        names = set(between or self.annotators)
        for figure in self.figures:
            if (figure.name, figure.type) == (name, type) and set(figure.between) == names:
                return figure
        raise KeyError(name)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)

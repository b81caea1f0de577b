"""The figures of an agreement, and the places where annotators disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from goldassay.core.fields import JsonObject
from goldassay.results.view import Note, Sentence, Table, TableRow, View, bounds, number
from goldassay.statistics import Interval, wilson


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

    def view(self) -> View:
        """The figures with their intervals, and the disagreements."""
        figures: list[TableRow] = []
        for figure in self.figures:
            between = "all" if len(figure.between) == len(self.annotators) else " – ".join(figure.between)
            value = number(figure.value) + bounds(figure.interval)
            figures.append([figure.name, between, figure.type or "", figure.units, value])
        title = f"{self.task}, {self.records} records, {', '.join(self.annotators)}"
        view: View = [Table(title, ["figure", "between", "type", "units", "value [95 %]"], figures, left=3)]
        for figure in [figure for figure in self.figures if figure.value == 1.0 and figure.name == "observed"][:1]:
            low = wilson(self.records, self.records)[0]
            on = f" on {figure.type}" if figure.type else ""
            agree = f"All {self.records} records agree{on}, so the bootstrap has no width"
            view.append(Sentence(f"{agree}; Wilson's interval is [{low:.4f}, 1]."))
        if any(figure.name == "word_kappa" for figure in self.figures):
            outside = "word_kappa counts every word outside of spans as agreement, so it is too high"
            view.append(Sentence(f"{outside}; use F1."))
        rows: list[TableRow] = []
        for disagreement in self.disagreements:
            values = disagreement.values
            labels = [(values[name] or "–") if name in values else "" for name in self.annotators]
            rows.append([disagreement.record, disagreement.where, *labels])
        columns = ["record", "where", *self.annotators]
        title = f"{len(rows)} disagreements"
        return [*view, Table(title, columns, rows, left=len(columns), most=20), *map(Note, self.warnings)]

    def state(self) -> JsonObject:
        """As JSON."""
        return asdict(self)

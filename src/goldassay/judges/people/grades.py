"""The mean of what judges and people say in grades: levels of a rubric, a scale of 1 to 5, numbers of any kind.

An item's label is the mean of its annotators' grades, its verdict that of a panel's known ballots, so that ties need no
majority. Where people have graded some items, the mean of all is corrected (`goldassay.statistics.ppi`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay.exceptions import DataError
from goldassay.judges.ask.panel import Vote
from goldassay.judges.people import labels as label_files
from goldassay.judges.people.labels import Labels
from goldassay.statistics.intervals import Interval, interval
from goldassay.statistics.ppi import UNBOUNDED, Corrected, corrected


@dataclass(frozen=True, slots=True)
class Graded:
    """A mean: ``naive`` is that of the verdicts as they are; ``low`` and ``high`` are the ends of the scale."""

    low: float | None
    high: float | None
    labels: int
    verdicts: int
    naive: Interval | None
    corrected: Corrected | None
    unknown: int = 0

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def graded(labels: Labels, votes: Sequence[Vote], level: float = 0.95) -> Graded | None:
    """The mean grade of items in the scale's own numbers; ``None`` for a question without grades.

    >>> from goldassay.judges.people.labels import JudgedItem
    >>> from goldassay.judges.ask.questions import question, scale
    >>> from goldassay.judges.ask.panel import count
    >>> asked = scale("1-5")
    >>> said = [count([one], worth=asked.worth) for one in ("4", "5", "2")]
    >>> labels = {"a": {"ann": "4", "bob": "3"}, "b": {"ann": "4"}, "c": {}}
    >>> items = [JudgedItem(name, labels=given) for name, given in labels.items()]
    >>> found = graded(Labels(items, asked), said)
    >>> round(found.naive.value, 3), round(found.corrected.people_only.value, 3), found.labels
    (3.667, 3.75, 2)
    >>> graded(Labels([JudgedItem("a")], question("support")), [count([None])]) is None
    True
    """
    asked = labels.question
    if not asked.graded:
        return None
    low, high = asked.unit

    def grade(worth: float) -> float:
        return low + worth * (high - low)

    said = [None if vote.mean is None else grade(vote.mean) for vote in votes]
    people = [
        grade(fmean(asked.worth[one] for one in item.labels.values())) if item.labels else None for item in labels.items
    ]
    return estimated(people, said, (min(low, high), max(low, high)), level)


def estimated(
    people: Sequence[float | None],
    said: Sequence[float | None],
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Graded:
    """The mean of grades of which some or all are people's; ``None`` is no label, or a verdict that is not known."""
    rows = [(label, verdict) for label, verdict in zip(people, said, strict=True) if verdict is not None]
    both = [(label, verdict) for label, verdict in rows if label is not None]
    others = [verdict for label, verdict in rows if label is None]
    mended = None
    if len(both) > 1 and others:
        mended = corrected([label for label, _ in both], [one for _, one in both], others, level=level, bounds=bounds)
    verdicts, limits = [verdict for _, verdict in rows], bounds or UNBOUNDED
    naive = interval(verdicts, method="t", level=level, bounds=limits) if len(rows) > 1 else None
    low, high = bounds or (None, None)
    return Graded(low, high, len(both), len(rows), naive, mended, len(said) - len(rows))


def read(
    path: Path, columns: Mapping[str, str] | None = None, bounds: tuple[float, float] | None = None
) -> tuple[list[float | None], list[float | None]]:
    """The numbers of a file: what people and what a judge gave each item (``label`` or more, and ``verdict``)."""
    people: list[float | None] = []
    said: list[float | None] = []
    found = label_files.labelled_rows(path, columns)
    if not any("verdict" in row for _, row in found):
        there = label_files.names(found) or "none"
        raise DataError(f"no column verdict; --map verdict=COLUMN names another; there are {there}", file=path)
    for line, row in found:
        place = {"file": path, "line": line, "record": row.get("id")}
        grades = [_number(label, "label", place, bounds) for label in label_files.labels_of(row).values()]
        people.append(fmean(grades) if grades else None)
        told = row.get("verdict")
        said.append(None if told in (None, "") else _number(told, "verdict", place, bounds))
    return people, said


def _number(found: Any, where: str, place: Mapping[str, Any], bounds: tuple[float, float] | None) -> float:
    try:
        number = float(found)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise DataError(f"{str(found)[:60]!r} is no number; a mean is one of numbers", field=where, **place)
    if bounds and not bounds[0] <= number <= bounds[1]:
        raise DataError(f"{number:g} is not on the scale of {bounds[0]:g} to {bounds[1]:g}", field=where, **place)
    return number

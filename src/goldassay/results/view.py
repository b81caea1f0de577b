"""The parts of a result's ``view()``, which is a list of sentences, tables, charts and notes.

A result knows which figures belong together and in which order; how they look is up to what draws them
(`goldassay.reporting`): the terminal, a page, or the card of a notebook. Values are written here as the text of a cell
or a sentence: numbers with four places, intervals, p-values, differences, lists.

    >>> class Census:
    ...     def view(self) -> View:
    ...         towns = Table("towns", ["town", "people"], [["Delft", 103_000], ["Gouda", 75_000]])
    ...         return [Sentence("Delft is the largest."), towns, Note("both are estimates")]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:  # printing loads nothing of what it prints
    from goldassay.statistics.intervals import Interval


Value: TypeAlias = "str | int | float | Interval | None"
"""The value of a cell: text, a count, a number, an estimate with its interval, or nothing."""
TableRow: TypeAlias = Sequence["Value"]


class Cell(str):
    """Text in a cell: ``better``, ``worse`` or another style of Rich's, and a dim line of detail below."""

    style: str
    detail: str

    def __new__(cls, text: str, style: str = "", detail: str = "") -> Cell:
        cell = super().__new__(cls, text)
        cell.style = style
        cell.detail = detail
        return cell


@dataclass(frozen=True)
class Sentence:
    """A line of text.

    Args:
        text: The text.
        style: ``head`` of the title; of a verdict ``better``, ``worse``, ``same`` or ``open``.
        unbroken: Whether a pipe gets it as one line, because it names files or is data.
    """

    text: str
    style: str = ""
    unbroken: bool = False


@dataclass(frozen=True)
class Note:
    """A warning that a reader needs before believing the figures."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows under named columns; one without rows is not drawn.

    Args:
        title: What the table shows; None under the table before.
        columns: The heads.
        rows: The cells.
        left: How many columns are text and align left; the others are figures.
        most: Draw only so many rows, and say how many more there are.
        spare: How many of the last columns are left out where there is no room for them.
        matrix: Whether the heads of rows and columns are the same labels, so that the diagonal is right.
        bars: Whether a page draws the first interval of each row as a bar, and the keys j and k go through the rows.
    """

    title: str | None
    columns: Sequence[str]
    rows: Sequence[TableRow]
    left: int = 1
    most: int | None = None
    spare: int = 0
    matrix: bool = False
    bars: bool = False


@dataclass(frozen=True)
class Point:
    """A value with its interval, where it is on the first axis, and the text that appears on it."""

    at: str | float
    value: float
    low: float | None = None
    high: float | None = None
    text: str = ""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval; the value itself without one."""
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)


@dataclass(frozen=True)
class Chart:
    """Series of points by name, in one of three kinds.

    Args:
        kind: ``intervals`` (a row a point, a mark a series), ``history`` (values over time) or ``curves``.
        title: What the values are.
        series: The points of each series by name. Those of one name in a history have one colour and are not joined.
        axes: What the two axes of ``curves`` are.
        breaks: Moments of a history before which something changed.
    """

    kind: Literal["intervals", "history", "curves"]
    title: str
    series: Sequence[tuple[str, Sequence[Point]]]
    axes: tuple[str, str] = ("", "")
    breaks: Sequence[str] = ()


@dataclass(frozen=True)
class Diff:
    """Lines of text, of which those that begin with ``-`` were removed and those with ``+`` added.

    Args:
        title: What was changed.
        lines: The lines.
        note: Why, and how it ended.
        folded: Whether a page shows the title alone until it is opened.
    """

    title: str
    lines: Sequence[str]
    note: str = ""
    folded: bool = False


View: TypeAlias = "list[Sentence | Table | Chart | Note | Diff]"


@runtime_checkable
class Viewable(Protocol):
    """A result that says of itself what it shows."""

    def view(self) -> View:
        """The parts in their order."""
        ...


class Bounded(Protocol):
    """Anything with the ends of an interval; None if it has no interval."""

    @property
    def low(self) -> float | None:
        """The lower end."""
        ...

    @property
    def high(self) -> float | None:
        """The upper end."""
        ...


Ends: TypeAlias = "Bounded | tuple[float, float] | None"
"""An interval, its two ends, or None."""


def written(cell: Value) -> str:
    """A cell as text: an interval with its value, numbers with four places, counts with commas, a dash for None.

    >>> written(0.61764), written(12000), written(None)
    ('0.6176', '12,000', '–')
    """
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return number(cell) if cell is None or isinstance(cell, float) else with_interval(cell)


def number(value: float | None, places: int = 4) -> str:
    """A value with four places; a dash without evidence."""
    return "–" if value is None or value != value else f"{value:.{places}f}"


def bounds(interval: Ends, sign: str = "") -> str:
    """The ends of an interval after a blank; empty without an interval.

    >>> bounds((0.4713, 0.7654)), bounds(None)
    (' [0.471, 0.765]', '')
    """
    if interval is None:
        return ""
    low, high = interval if isinstance(interval, tuple) else (interval.low, interval.high)
    return "" if low is None else f" [{low:{sign}z.3f}, {high:{sign}z.3f}]"


def with_interval(value: Interval | None, places: int = 4) -> str:
    """A value with its 95 % interval, ``0.6176 [0.471, 0.765]``; a dash for None."""
    return "–" if value is None else number(value.value, places) + bounds(value)


def p_value(p: float | None) -> str:
    """A p-value with three places; a dash for None.

    >>> p_value(0.0314), p_value(0.0001), p_value(None)
    ('0.031', '<0.001', '–')
    """
    return "<0.001" if p is not None and p < 0.001 else number(p, 3)


def signed(value: float, interval: Ends = None, places: int = 3) -> str:
    """A difference with its sign, and with its interval if it has one.

    >>> signed(0.05), signed(-0.2, (-0.31, -0.1)), signed(-1e-9)
    ('+0.050', '-0.200 [-0.310, -0.100]', '+0.000')
    """
    return f"{value:+z.{places}f}{bounds(interval, '+')}"


def labelled(name: str, lower_is_better: bool) -> str:
    """A value's name in a table: with an arrow if lower is better."""
    return f"{name} ↓" if lower_is_better else name


def shortened(names: Sequence[object], most: int = 10) -> str:
    """The first names of a list, and how many more there are.

    >>> shortened(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    first = ", ".join(map(str, names[:most]))
    return f"{first} and {len(names) - most} more" if len(names) > most else first


def typeset(text: str) -> str:
    """Text whose negative numbers have a minus sign instead of a hyphen.

    >>> typeset("B-2: -0.2 [-0.300, +0.1] on 2026-11-23")
    'B-2: −0.2 [−0.300, +0.1] on 2026-11-23'
    """
    return re.sub(r"(?<![\w.-])-(?=\d)", "−", text)

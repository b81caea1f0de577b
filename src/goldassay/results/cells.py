"""Values as the text of a cell or a sentence: numbers with four places, intervals, p-values, differences, lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # printing loads nothing of what it prints
    from goldassay.results.view import Value
    from goldassay.statistics.intervals import Interval


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

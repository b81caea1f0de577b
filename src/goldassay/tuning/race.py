"""A race of programs that are shown different sets of examples, on train examples that the campaign does not measure.

Which examples a small model is shown may move it more than whether they are near the question: with the embedded model
sets of four on heritage extraction reached from .33 to .58 (docs/tuning-results.md). The race is successive halving
(Jamieson and Talwalkar 2016): all sets are measured on a third of the examples, the better half of them on the next
third, and so on. Its examples are of train, are shown by no set, and have no part in the test that follows: so the set
that won is one edit, the same in every fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from goldassay.fields import read
from goldassay.tuning.measuring import Bench, total

if TYPE_CHECKING:
    import dspy

LEAST, MOST, RUNGS = 8, 24, 3  # examples of a race, and in how many steps it goes through them
MEASURED = 240  # examples that a campaign measures at most, unless it is told otherwise


def left_out(train: int) -> int:
    """How many of so many train examples are left out of the measuring, half to race on and half to show: a third of
    them, as many as a race takes at most; none where it would be too few for one.

    >>> [left_out(count) for count in (40, 60, 160)]
    [0, 20, 48]
    """
    count = min(2 * MOST, train // 3)
    return count if count >= 2 * LEAST else 0


def count_measured(train: int, dev: int, most: int = MEASURED, races: bool = True) -> int:
    """How many of ``train`` examples a campaign measures beside those of dev: ``most`` together.

    >>> count_measured(160, 34), count_measured(30, 30), count_measured(160, 34, most=100)
    (112, 30, 66)
    """
    return max(0, min(most - dev, train - left_out(train) if races else train))


def spare(train: Sequence[dspy.Example], measured: Sequence[dspy.Example]) -> list[dspy.Example]:
    """What of train is not measured, and of no document that is."""
    known = {id(one) for one in measured}
    documents = {read(one, "document", None) for one in measured} - {None}
    return [one for one in train if id(one) not in known and read(one, "document", None) not in documents]


def calls(left: int, sets: int = 6) -> int:
    """How many calls a race of ``sets`` takes where so many examples are left to race on and to show.

    >>> calls(48)
    88
    """
    count, out = min(MOST, left // 2), 0
    for rung in range(1, RUNGS + 1):
        out += sets * (ceil(count * rung / RUNGS) - ceil(count * (rung - 1) / RUNGS))
        sets = ceil(sets / 2)
    return out if count >= LEAST else 0


@dataclass(frozen=True)
class Race:
    """Where sets are raced: ``bench`` has train examples that the campaign does not measure, ``pool`` those to show."""

    bench: Bench
    pool: Sequence[dspy.Example]

    @classmethod
    def on(cls, bench: Bench, train: Sequence[dspy.Example]) -> Race | None:
        """A race beside a campaign's bench, on what that leaves of train; none where that is too little."""
        left = spare(train, bench.examples)
        if len(left) < 2 * LEAST:
            return None
        count = min(MOST, len(left) // 2)
        journal = bench.journal and bench.journal.with_name("raced.jsonl")
        made = Bench(left[:count], bench.metric, {}, bench.threads, bench.seed, journal=journal, tell=bench.tell)
        return cls(made, left[count:])

    def won(self, programs: Sequence[dspy.Module]) -> tuple[int, list[float]]:
        """The number of the best program, and what each had when it was last looked at."""
        order = [index for document in self.bench.order for index in document]
        left, values = list(range(len(programs))), [0.0] * len(programs)
        for rung in range(1, RUNGS + 1):
            seen = order[: ceil(len(order) * rung / RUNGS)]
            for number in left:
                values[number] = float(total(self.bench.cases(programs[number], seen, self._noting(number))).value)
            left = sorted(left, key=lambda number: (-values[number], number))[: ceil(len(left) / 2)]
        return left[0], values

    def _noting(self, number: int) -> Callable[[int], None] | None:
        tell = self.bench.tell
        return None if tell is None else lambda left: tell(f"set {number + 1}, {left} examples left")

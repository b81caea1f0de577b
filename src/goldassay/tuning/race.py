"""A race between sets of demonstrations, on train examples that the campaign does not measure.

A `Race` chooses between sets of demonstrations by successive halving (Jamieson and Talwalkar 2016): all are measured on
a third of the examples, the better half of them on the next third, and so on. Its examples are train examples that the
campaign does not measure and that no set shows, so they have no part in the test that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from dspy import Module

from goldassay.core.fields import read
from goldassay.tuning.measuring import Bench
from goldassay.tuning.wrappers import Examples

MOST_MEASURED = 240  # examples that a campaign measures by default, at most
LEAST_RACED = 8  # examples of a race, at least
MOST_RACED = 24  # examples of a race, at most
RUNGS = 3  # steps in which it goes through them


def count_measured(train: int, dev: int, most: int = MOST_MEASURED, races: bool = True) -> int:
    """How many of ``train`` examples a campaign measures beside those of dev: ``most`` together.

    A third of train is left for a race, half to race on and half to show: no more than a race takes, and none if they
    would be too few for one.

    >>> count_measured(160, 34), count_measured(30, 30), count_measured(160, 34, most=100)
    (112, 30, 66)
    """
    left_out = min(2 * MOST_RACED, train // 3)
    return max(0, min(most - dev, train - left_out if races and left_out >= 2 * LEAST_RACED else train))


def spare(train: Examples, measured: Examples) -> list[Any]:
    """The train examples that are not measured and share no document with one that is."""
    ids = {id(example) for example in measured}
    documents = {read(example, "document", None) for example in measured} - {None}
    left = [example for example in train if id(example) not in ids]
    return [example for example in left if read(example, "document", None) not in documents]


def race_calls(left: int, sets: int = 6) -> int:
    """How many calls a race of ``sets`` takes if so many examples are left to race on and to show.

    >>> race_calls(48)
    88
    """
    count = min(MOST_RACED, left // 2)
    calls = 0
    for rung in range(1, RUNGS + 1):
        calls += sets * (ceil(count * rung / RUNGS) - ceil(count * (rung - 1) / RUNGS))
        sets = ceil(sets / 2)
    return calls if count >= LEAST_RACED else 0


@dataclass(frozen=True)
class Race:
    """Where sets are raced: ``bench`` has train examples that the campaign does not measure, ``pool`` those to show."""

    bench: Bench
    pool: Examples

    @classmethod
    def on(cls, bench: Bench, train: Examples) -> Race | None:
        """A race beside a campaign's bench, on what that leaves of train; None if that is too little."""
        left = spare(train, bench.examples)
        if len(left) < 2 * LEAST_RACED:
            return None
        count = min(MOST_RACED, len(left) // 2)
        journal = bench.journal and bench.journal.with_name("raced.jsonl")
        raced = Bench(left[:count], bench.metric, options=bench.options, journal=journal, on_progress=bench.on_progress)
        return cls(raced, left[count:])

    def winner(self, programs: Sequence[Module]) -> tuple[int, list[float]]:
        """The number of the best program, and the value of each when it was last measured."""
        order = [index for document in self.bench.order for index in document]
        left = list(range(len(programs)))
        values = [0.0] * len(programs)
        for rung in range(1, RUNGS + 1):
            seen = order[: ceil(len(order) * rung / RUNGS)]
            for number in left:
                values[number] = self.bench.run(programs[number], seen, f"set {number + 1}").value
            left = sorted(left, key=lambda number: (-values[number], number))[: ceil(len(left) / 2)]
        return left[0], values

"""The same few examples for every input, chosen by what they do: sets drawn from train, raced on other train examples.

Which examples a small model is shown may move it more than whether they are near the question: with the embedded model
sets of four on heritage extraction reached from .33 to .58 (docs/tuning-results.md). The race is successive halving
(Jamieson and Talwalkar 2016): all sets are measured on a third of the examples, the better half of them on the next
third, and so on. Its examples are of train, are shown by no set, and have no part in the test that follows: so the set
that won is one edit, the same in every fold.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from goldassay.exceptions import GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.tuning.demonstrations import Diagnosis
from goldassay.tuning.measuring import Bench, total
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.wrappers import NearestDemos, inmost, predictors

if TYPE_CHECKING:
    import dspy

LEAST, MOST, RUNGS = 8, 24, 3  # examples of a race, and in how many steps it goes through them


@dataclass(frozen=True)
class Race:
    """Where sets are raced: ``bench`` has train examples that the campaign does not measure, ``pool`` those to show."""

    bench: Bench
    pool: Sequence[dspy.Example]

    @classmethod
    def on(cls, bench: Bench, train: Sequence[dspy.Example]) -> Race | None:
        """A race beside a campaign's bench, on what that leaves of train; none where it leaves too little."""
        measured = {id(one) for one in bench.examples}
        spare = [one for one in train if id(one) not in measured]
        count = min(MOST, len(spare) // 2)
        if count < LEAST:
            return None
        journal = bench.journal and bench.journal.with_name("raced.jsonl")
        made = Bench(spare[:count], bench.metric, {}, bench.threads, bench.seed, journal=journal, tell=bench.tell)
        return cls(made, spare[count:])

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


@dataclass(frozen=True)
class SelectedExamples:
    """The best of ``sets`` sets of ``k`` examples, in place of the nearest ones (slot ``selected examples``)."""

    k: int = 4
    sets: int = 6

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One edit of the whole program; none where train has too few examples beside those that are measured."""
        if found.race is None or len(found.race.pool) < 2 * self.k:
            return {}
        drawn = [random.Random(number).sample(list(found.race.pool), self.k) for number in range(self.sets)]
        try:
            patches = [self._patch(found, some) for some in drawn]
        except GoldassayError:  # no predictor can be shown them
            return {}
        best, values = found.race.won([apply(found.program, one, any_version=True) for one in patches])
        patch = patches[best]
        patch.rationale = (
            f"the best of {self.sets} sets of {self.k} on {len(found.race.bench.examples)} other train examples: "
            f"{values[best]:.3f} ({', '.join(f'{value:.3f}' for value in sorted(values, reverse=True))} when last seen)"
        )
        return {"selected examples": [patch]}

    def _patch(self, found: Diagnosis, some: Sequence[dspy.Example]) -> Patch:
        made = NearestDemos(self.k).compile(inmost(found.program), trainset=list(some))
        return Patch(
            predictor=next(iter(predictors(found.program))),
            action="show_nearest",
            example={"k": self.k, "keys": made.keys, "examples": to_jsonable_python(made.examples, fallback=str)},
            examples=[str(one.get("id")) for one in some],
            proposer="selected",
            program=fingerprint(found.program),
        )

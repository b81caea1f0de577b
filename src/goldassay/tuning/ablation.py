"""What units of a prompt are worth: leave-one-out, groups that stand in for each other, and random halves.

The effect of a unit is the value of the whole program less that of the program without the unit, on the same examples
(paired, `goldassay.statistics.compare`). Holm's procedure (1979) holds the chance of calling any unit helpful or
harmful that is not at ``ALPHA``: the smallest p is tested at ALPHA / m, the next at ALPHA / (m − 1), until one is not
shown. The interval of a unit has the level at which it was tested, so verdict and interval never contradict each other.
A unit does ``nothing`` if its interval lies within ± ``margin``, and is ``open`` otherwise.

Under a budget there are several looks. A unit that an early look settles is measured no more, and what it would have
cost goes to the others. The early looks share `EARLY` of ALPHA and the last one has the rest, so that the chance of any
false verdict is ALPHA at most however often one looks (Bonferroni over the looks, Holm within each).

Two statements that say the same do nothing alone: the program without one still has the other. So all units that are
not shown to do anything are left out together; if that hurts, the smallest set of them is searched whose removal does
(QuickXplain, Junker 2004: some 2 k log2(m / k) runs for a set of k). These sets are the ``groups``.

In random halves each unit is left out beside half of the others: a block of examples is answered by a random half of
the units and by the other half. The mean effect of a unit over these (Banzhaf's value, as Shapley's a mean over sets)
costs two runs for all units together, and shows units that others stand in for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from goldassay.core.evidence import Values
from goldassay.core.tally import Tally
from goldassay.statistics import PairedTest, compare
from goldassay.tuning.acceptance import ALPHA, EARLY, MARGIN
from goldassay.tuning.units import Unit, UnitVerdict

LEAST_MEASURED = 10  # examples below which no unit is measured
OutcomesWithout = Callable[[frozenset[int], range], Values]
"""The evidence of the program without the units of these indices, on the examples at these positions."""


@dataclass(frozen=True)
class Group:
    """Units of which none is shown to help alone, and whose removal together hurts: they stand in for each other.

    ``units`` are the indices in the list of all units; ``alone`` is the sum of their own effects.
    """

    units: tuple[int, ...]
    effect: float
    low: float
    high: float
    alone: float


@dataclass(frozen=True)
class Ablation:
    """A program, whole and without some of its units, on the same ``n`` examples.

    ``measure`` gives the evidence for a set of units that are left out; `explain` asks a model for it, a simulation
    draws it. ``clusters`` and ``strata`` are those of the examples.
    """

    measure: OutcomesWithout
    n: int
    zero: Tally | None = None
    clusters: Sequence[object] | None = None
    margin: float = MARGIN
    resamples: int = 10_000
    seed: int = 0
    strata: Sequence[Mapping[str, str]] = ()

    def without(self, removed: Sequence[int], level: float = 1 - ALPHA) -> PairedTest:
        """The whole program against the one without these units: what they are worth together."""
        every = range(self.n)
        return self._test(self.measure(frozenset(), every), self.measure(frozenset(removed), every), level)

    def _test(self, a: Values, b: Values, level: float, positions: Sequence[int] | None = None) -> PairedTest:
        names = None
        if self.clusters is not None:
            names = [self.clusters[position] for position in (range(self.n) if positions is None else positions)]
        return compare(a, b, self.zero, clusters=names, level=level, resamples=self.resamples, seed=self.seed)

    def judged(self, units: Sequence[Unit], chosen: Sequence[int] | None = None, alpha: float = ALPHA) -> list[Unit]:
        """The units with their effects and verdicts, Holm-corrected for their number.

        Args:
            units: All units.
            chosen: The indices of those that are judged; by default all.
            alpha: The chance of any false verdict.
        """
        judged = list(units)
        indices = list(range(len(units)) if chosen is None else chosen)
        order = sorted(indices, key=lambda index: self.without([index]).p)
        level = 1 - alpha / max(1, len(order))
        for rank, index in enumerate(order):
            judged[index] = units[index].judged(self.without([index], level), level, self.margin)
            if judged[index].verdict in (UnitVerdict.HELPS, UnitVerdict.HURTS):
                level = 1 - alpha / max(1, len(order) - rank - 1)
        return judged

    def looked(
        self, units: Sequence[Unit], affordable: Callable[[int, int], int], looks: int = 3
    ) -> tuple[Ablation, list[Unit]]:
        """The ablation on as many examples as can be afforded, and the units with their verdicts.

        Args:
            units: The units.
            affordable: On how many examples so many units can be measured that were measured on so many.
            looks: How often is looked.
        """
        judged = list(units)
        left = list(range(len(units)))
        seen = 0
        for look in range(looks):
            most = min(self.n, affordable(len(left), seen))
            last = look == looks - 1
            size = most if last else min(most, max(LEAST_MEASURED, seen + (most - seen) // 2))
            if size <= seen or not left:
                break
            seen = size
            alpha = (1 - EARLY) * ALPHA if last else EARLY * ALPHA / (looks - 1)
            judged = replace(self, n=size).judged(judged, left, alpha)
            left = [index for index in left if judged[index].verdict == UnitVerdict.OPEN]
        return replace(self, n=seen), judged

    def groups(self, units: Sequence[Unit]) -> list[Group]:
        """The smallest sets of units, not shown to do anything alone, whose removal is shown to hurt."""
        left = [i for i, unit in enumerate(units) if unit.verdict in (UnitVerdict.NOTHING, UnitVerdict.OPEN)]
        groups: list[Group] = []
        while len(left) > 1 and self.without(left, 1 - ALPHA / 2).interval.low > 0:
            core = self._smallest([], left, False)
            together = self.without(core, 1 - ALPHA / max(1, len(units)))
            low, high = together.interval.ends
            if len(core) > 1 and low > 0:
                alone = sum(units[index].effect for index in core)
                groups.append(Group(tuple(sorted(core)), together.difference, low, high, alone))
            left = [index for index in left if index not in core]
        return groups

    def _smallest(self, removed: list[int], candidates: list[int], changed: bool) -> list[int]:
        """The smallest set of candidates whose removal hurts where ``removed`` are left out already (QuickXplain)."""
        if changed and self.without(removed).interval.low > 0:
            return []
        if len(candidates) == 1:
            return candidates
        half = len(candidates) // 2
        second = self._smallest(removed + candidates[:half], candidates[half:], True)
        first = self._smallest(removed + second, candidates[:half], bool(second))
        return first + second

    def in_halves(self, units: Sequence[Unit], n: int, blocks: int = 32) -> list[Unit]:
        """The units with their mean effects beside random halves of the others, corrected for their number.

        Args:
            units: The units.
            n: How many examples are answered, twice each.
            blocks: Into how many blocks they are divided, at most; a block counts as one example.
        """
        draw = np.random.default_rng(self.seed)
        blocks = min(blocks, n)
        starts = [n * block // blocks for block in range(blocks + 1)]
        names = [block for block, ends in enumerate(pairwise(starts)) for _ in range(*ends)]
        with_unit: list[list[object]] = [[] for _ in units]
        hidden: list[list[object]] = [[] for _ in units]
        for start, end in pairwise(starts):
            signs = draw.random(len(units)) < 0.5
            answers = [
                self.measure(frozenset(np.flatnonzero(signs == sign).tolist()), range(start, end))
                for sign in (True, False)
            ]
            for index, sign in enumerate(signs):  # the first half leaves out those of True
                with_unit[index] += answers[int(sign)]
                hidden[index] += answers[1 - int(sign)]
        level = 1 - ALPHA / max(1, len(units))
        averaged: list[Unit] = []
        for unit, with_it, without_it in zip(units, with_unit, hidden, strict=True):
            test = replace(self, n=n, clusters=names)._test(with_it, without_it, level)
            averaged.append(replace(unit, halves=(test.difference, *test.interval.ends)))
        return averaged

    def only_stratum(self, index: int) -> str:
        """The only stratum in which a unit helps, for a note: outside it the unit adds no more than the margin."""
        complete = self.measure(frozenset(), range(self.n))
        left_out = self.measure(frozenset([index]), range(self.n))
        for facet in dict.fromkeys(name for strata in self.strata[: self.n] for name in strata):
            keys = [strata.get(facet) for strata in self.strata[: self.n]]
            for key in dict.fromkeys(keys):
                inside = [position for position, other in enumerate(keys) if other == key]
                outside = [position for position, other in enumerate(keys) if other != key]
                if key is None or min(len(inside), len(outside)) < LEAST_MEASURED:
                    continue
                tests = [
                    self._test([complete[p] for p in places], [left_out[p] for p in places], 1 - ALPHA, places)
                    for places in (inside, outside)
                ]
                if tests[0].interval.low > 0 and tests[1].interval.high <= self.margin:
                    return f"helps only where {facet} is {key}"
        return ""

    def shed(self, block: Sequence[int], removed: Sequence[int] = (), best: float = 0.0) -> tuple[list[int], float]:
        """The units that may go beside ``removed``, and the lowest loss on the way.

        A block may go if the program without it is worse than the best one so far by half the margin at most, so that
        what a harmful unit gives back is not spent on others.
        """
        trial = [*removed, *block]
        loss = self.without(trial).difference
        if loss <= best + self.margin / 2:
            return trial, min(best, loss)
        if len(block) == 1:
            return list(removed), best
        half = len(block) // 2
        return self.shed(block[half:], *self.shed(block[:half], removed, best))

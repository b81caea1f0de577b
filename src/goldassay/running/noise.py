"""Noise of a run: its repeats separate the program's own noise from the differences between examples.

It shows how much of the intervals the noise causes, and how often answers flip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter

from goldassay.core.fields import JsonObject
from goldassay.core.measure import target_met
from goldassay.core.tally import Evidence
from goldassay.running.rows import Row
from goldassay.statistics.intervals import Interval, interval
from goldassay.statistics.repeats import VarianceParts, pass_all, pass_at, variance_parts


@dataclass(frozen=True)
class Noise:
    """The program's own noise, estimated from the repeats of a run.

    ``variance`` splits that of each value into examples and repeats. ``pass_at`` is pass@k by k, ``pass_every`` is
    pass^k. ``flips`` is the share of examples with answers on both sides of the pass mark, ``varies`` the share
    whose answers do not all have the same score.
    """

    variance: Mapping[str, VarianceParts]
    pass_at: Mapping[int, Interval]
    pass_every: Mapping[int, Interval]
    flips: Interval
    varies: Interval
    failed: int

    def state(self) -> JsonObject:
        """As JSON."""
        state = asdict(self)
        for name, parts in self.variance.items():
            state["variance"][name] |= {"twice_examples": parts.narrower(2), "twice_repeats": parts.narrower(1, 2)}
        return state


def noise(rows: Sequence[Row], evidence: Sequence[Evidence], zero: Evidence, mark: float) -> Noise | None:
    """The noise in the answers of a run; None if an example was asked once, as in a run that was interrupted.

    Args:
        rows: All rows of the run.
        evidence: Their tallies.
        zero: The run's zero.
        mark: The least score that passes.
    """
    examples = [row.index for row in rows]
    of_answers = [row.document or row.index for row in rows]
    documents = list(dict(zip(examples, of_answers, strict=True)).values())
    scores = [[row.score for row in answers] for _, answers in groupby(rows, attrgetter("index"))]
    passed = [(len(answers), sum(target_met(score, mark) for score in answers)) for answers in scores]
    most = min((size for size, _ in passed), default=0)
    if most < 2:
        return None

    def share(values: Iterable[float]) -> Interval:
        return interval([float(value) for value in values], clusters=documents, bounds=(0.0, 1.0))

    counts = sorted({2**power for power in range(most.bit_length())} | {most})
    measured = [name for name in zero if any(tallies[name].weight for tallies in evidence)]
    return Noise(
        {
            name: variance_parts(
                [tallies[name] for tallies in evidence], zero[name], examples=examples, clusters=of_answers
            )
            for name in measured
        },
        {k: share(pass_at(k, *sizes) for sizes in passed) for k in counts},
        {k: share(pass_all(k, *sizes) for sizes in passed) for k in counts if k > 1},
        share(0 < good < size for size, good in passed),
        share(len({round(score, 9) for score in answers}) > 1 for answers in scores),
        sum(bool(row.error) for row in rows),
    )

"""The program's own noise, from the repeats of a run: what it adds to the intervals, and how often answers flip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from goldassay.measure import target_met
from goldassay.statistics.intervals import Interval, interval
from goldassay.statistics.repeats import VarianceParts, pass_all, pass_at, variance_parts
from goldassay.tally.evidence import Evidence


@dataclass(frozen=True)
class Noise:
    """What the repeats of a run say of the program's own noise.

    ``variance`` splits that of each value into examples and repeats. ``pass_at`` is pass@k by k, ``pass_every`` is
    pass^k. ``flips`` is the share of examples with answers on both sides of the pass mark, ``varies`` the share
    whose answers do not all have the same score, and ``cached`` how many answers came from a cache after all.
    """

    variance: Mapping[str, VarianceParts] = field(default_factory=dict)
    pass_at: Mapping[int, Interval] = field(default_factory=dict)
    pass_every: Mapping[int, Interval] = field(default_factory=dict)
    flips: Interval | None = None
    varies: Interval | None = None
    failed: int = 0
    cached: int = 0

    def state(self) -> dict[str, Any]:
        """As JSON."""
        state = asdict(self)
        for name, parts in self.variance.items():
            state["variance"][name] |= {"twice_examples": parts.narrower(2), "twice_repeats": parts.narrower(1, 2)}
        return state


def noise(answers: Iterable[Mapping[str, Any]], evidence: Sequence[Evidence], zero: Evidence, mark: float) -> Noise:
    """The noise in the answers of a run.

    Args:
        answers: All rows of the run.
        evidence: Their tallies.
        zero: The run's zero.
        mark: The least score that passes.
    """
    examples: dict[int, list[Mapping[str, Any]]] = {}
    answers = list(answers)
    for answer in answers:
        examples.setdefault(answer["index"], []).append(answer)
    most = min(map(len, examples.values()), default=0)
    if most < 2:  # a run that was interrupted before its second repeat ended
        return Noise()
    documents = [rows[0].get("document", ("row", index)) for index, rows in examples.items()]
    of_answers = [row.get("document", ("row", row["index"])) for row in answers]
    passed = [(len(rows), sum(target_met(row["score"], mark) for row in rows)) for rows in examples.values()]

    def share(values: Sequence[float]) -> Interval:
        return interval([float(value) for value in values], clusters=documents, bounds=(0.0, 1.0))

    counts = sorted({2**power for power in range(most.bit_length())} | {most})
    return Noise(
        {
            name: variance_parts(
                [tallies[name] for tallies in evidence],
                zero[name],
                examples=[row["index"] for row in answers],
                clusters=of_answers,
            )
            for name in zero
            if any(tallies[name].weight for tallies in evidence)
        },
        {k: share([pass_at(k, *each) for each in passed]) for k in counts},
        {k: share([pass_all(k, *each) for each in passed]) for k in counts if k > 1},
        share([0 < good < size for size, good in passed]),
        share([len({round(row["score"], 9) for row in rows}) > 1 for rows in examples.values()]),
        failed=sum(bool(row.get("error")) for row in answers),
        cached=sum(int((row.get("usage") or {}).get("cached", 0)) for row in answers),
    )

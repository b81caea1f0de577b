"""Noise of a run: what its repeats say, and what an earlier run adds.

The repeats of a run tell the noise from the differences between examples: what it adds to the intervals, and how often
answers flip.

An earlier run of the same program may be a covariate. The new run has n examples, the earlier one these and others.
Where the program does well in both, the difference between the n examples and the others in the earlier run corrects
the new value (the difference estimator of survey sampling, Särndal, Swensson and Wretman 1992): V + λ (earlier value of
the others − earlier value of the n), with the λ of least variance (`goldassay.statistics.ppi`). A correlation r is
worth up to 1 / (1 − r²) times as many examples. A corpus value such as F1 enters by what each example, or document,
adds to it (`goldassay.statistics.influences`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import ConventionError
from goldassay.fields import cluster
from goldassay.measure import target_met
from goldassay.statistics import influences
from goldassay.statistics.intervals import Interval, interval
from goldassay.statistics.ppi import corrected
from goldassay.statistics.repeats import VarianceParts, pass_all, pass_at, variance_parts
from goldassay.tally import Evidence

if TYPE_CHECKING:
    from goldassay.running.run import Run


@dataclass(frozen=True)
class Noise:
    """What the repeats of a run say of the program's own noise.

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

    def state(self) -> dict[str, Any]:
        """As JSON."""
        state = asdict(self)
        for name, parts in self.variance.items():
            state["variance"][name] |= {"twice_examples": parts.narrower(2), "twice_repeats": parts.narrower(1, 2)}
        return state


def noise(rows: Sequence[Mapping[str, Any]], evidence: Sequence[Evidence], zero: Evidence, mark: float) -> Noise | None:
    """The noise in the answers of a run; None if an example was asked once, as in a run that was interrupted.

    Args:
        rows: All rows of the run.
        evidence: Their tallies.
        zero: The run's zero.
        mark: The least score that passes.
    """
    examples = [row["index"] for row in rows]
    of_answers = [cluster(row, row["index"]) for row in rows]
    documents = list(dict(zip(examples, of_answers, strict=True)).values())
    scores = [[row["score"] for row in answers] for _, answers in groupby(rows, itemgetter("index"))]
    passed = [(len(each), sum(target_met(score, mark) for score in each)) for each in scores]
    most = min((size for size, _ in passed), default=0)
    if most < 2:
        return None

    def share(values: Iterable[float]) -> Interval:
        return interval([float(value) for value in values], clusters=documents, bounds=(0.0, 1.0))

    counts = sorted({2**power for power in range(most.bit_length())} | {most})
    named = [name for name in zero if any(tallies[name].weight for tallies in evidence)]
    return Noise(
        {
            name: variance_parts([each[name] for each in evidence], zero[name], examples=examples, clusters=of_answers)
            for name in named
        },
        {k: share(pass_at(k, *each) for each in passed) for k in counts},
        {k: share(pass_all(k, *each) for each in passed) for k in counts if k > 1},
        share(0 < good < size for size, good in passed),
        share(len({round(score, 9) for score in each}) > 1 for each in scores),
        sum(bool(row.get("error")) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class Covaried:
    """A value over all examples of the earlier run; ``plain`` is that of the new run alone.

    ``n`` examples (or documents) count as ``effective`` ones. ``exchangeable_p`` is below 0.05 where those of the new
    run are not like the others, so that the value is not valid: take a random part of the gold.
    """

    value: Interval
    plain: Interval
    n: int
    effective: float
    exchangeable_p: float


def check_same_program(name: str, earlier: Run) -> None:
    """Refuse a covariate that another program made."""
    if (other := earlier.about.get("program", {}).get("class")) != name:
        raise ConventionError(f"a covariate is an earlier run of the same program: {name}, not {other}")


def with_covariate(run: Run, earlier: Run) -> dict[str, Covaried]:
    """The values of a run on a random part of the gold, corrected by an earlier run on all of it.

    Raises:
        ConventionError: The earlier run is of another program or other conventions, or has no more examples.
    """
    check_same_program(run.about["program"]["class"], earlier)
    values = {}
    for name in run.values:
        both = [each.about["measures"].get(name, {}).get("conventions") for each in (earlier, run)]
        if both[0] != both[1]:
            raise ConventionError(f"{name} has other conventions: {both[0]} and {both[1]}")
        new, old = _own_values(run, name), _own_values(earlier, name)
        if not new.keys() < old.keys():
            raise ConventionError(f"{earlier.folder} lacks examples of {run.folder}, or has no others")
        others = [value for key, value in old.items() if key not in new]
        before = [old[key] for key in new]
        estimate = corrected(list(new.values()), before, others, bounds=run.bounds(name), origin="random")
        plain, value = estimate.people_only, estimate.corrected
        gain = ((plain.high - plain.low) / (value.high - value.low)) ** 2 if value.high > value.low else 1.0
        values[name] = Covaried(value, plain, len(new), len(new) * gain, estimate.exchangeable_p)
    return values


def _own_values(run: Run, name: str) -> dict[str, float]:
    """What each example or document says of a value: their mean is the value."""
    keys = [f"document {row['document']}" if "document" in row else f"example {row['id']}" for row in run.rows]
    parts = influences(run.tallies(name), run.zero[name], clusters=keys)
    return {key: round(run.values[name] + float(part), 9) for key, part in zip(dict.fromkeys(keys), parts, strict=True)}

"""How sure a run is: what its repeats say, what an earlier run adds, and gates with a verdict that holds.

The repeats of a run tell the noise from the differences between examples: what it adds to the intervals, and how often
answers flip.

An earlier run of the same program may be a covariate. The new run has n examples, the earlier one these and others.
Where the program does well in both, the difference between the n examples and the others in the earlier run corrects
the new value (the difference estimator of survey sampling, Särndal, Swensson and Wretman 1992): V + λ (earlier value of
the others − earlier value of the n), with the λ of least variance (`goldassay.statistics.ppi`). A correlation r is
worth up to 1 / (1 − r²) times as many examples. A corpus value such as F1 enters by what each example, or document,
adds to it (`goldassay.statistics.influences`).

A gate may be asked again and again; it says pass, fail, or how many more examples are needed. The value is tested
against its target by a likelihood ratio: how much more likely are these successes among n* examples under a rate above
the target (all such rates, weighted by a Beta(1/2, 1/2)) than under the target itself? Under any rate up to the target
its expectation is at most 1 after every example, so the chance that it ever reaches 1 / alpha is at most alpha (Ville
1939); failing works the other way round. n* is the number of examples for a rate of independent examples, for which
this is exact, and the effective sample size otherwise (`goldassay.statistics.intervals`), for which it is an
approximation.

Another candidate on the same test split is another look. Look k gets 1 / (k (k + 1)) of alpha, so all looks together,
however many follow, stay within alpha. The folder of runs has a file of looks, one line for each run: its gold by hash,
its folder, the time. A new run is the next look; the same run again is not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import special

from goldassay import jsonl
from goldassay.exceptions import ConventionError, GoldassayError
from goldassay.fields import cluster
from goldassay.measure import target_met
from goldassay.running.folder import now
from goldassay.statistics import influences
from goldassay.statistics.evidence import Evidences, Values
from goldassay.statistics.intervals import Bounds, Interval, effective_sample_size, interval
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


LOOKS = "looks.jsonl"


def gates(run: Run, runs: Path) -> dict[str, Gate]:
    """The gate of each measure that has a target; this look is noted in the folder of runs.

    All gates have to pass, so several targets need no correction; several candidates do (see `gate`).
    """
    targets = {key: about["target"] for key, about in run.about["measures"].items() if about.get("target") is not None}
    if not targets:
        raise GoldassayError("a gate needs a target: Metric(..., targets={'strict_f1': 0.85})")
    look = look_number(run, runs)
    return {
        key: gate(
            run.tallies(key),
            run.zero[key],
            target=float(target),
            clusters=run.clusters,
            bounds=run.bounds(key),
            lower_is_better=key in run.zero.worst,
            look=look,
        )
        for key, target in targets.items()
    }


def look_number(run: Run, runs: Path) -> int:
    """How many runs have been held against this gold set, including this one; a new run is noted."""
    gold, folder = run.about["gold"].get("sha256"), str(Path(run.folder or "").name)
    file = runs / LOOKS
    looks = jsonl.rows(file, what="a look") if file.exists() else ()
    before = [str(look["folder"]) for look in looks if look.get("gold") == gold]
    if folder in before:
        return before.index(folder) + 1
    with jsonl.Log(file) as log:
        log.add({"gold": gold, "folder": folder, "at": now()})
    return len(before) + 1


ALPHA = 0.05  # the chance of a wrong verdict, over all looks together
PRIOR = 0.5  # of Jeffreys' beta distribution
FAR = 100_000  # more examples than this are not asked for


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of a gate: ``verdict`` is ``pass``, ``fail`` or ``continue``.

    ``more`` estimates how many more examples a verdict needs if they are like these; 0 with a verdict, None if the
    value is too close to its target. ``level`` is the part of alpha that this ``look`` may spend.
    """

    verdict: str
    value: float
    target: float
    n: int
    look: int
    level: float
    more: int | None = 0

    def __str__(self) -> str:
        if self.verdict != "continue":
            how = "meet" if self.verdict == "pass" else "miss"
            return f"{self.verdict}: {self.value:.4f} is shown to {how} {self.target:g}"
        if self.more is None:
            return f"no verdict: {self.value:.4f} is too close to {self.target:g}"
        return f"no verdict: about {self.more} more examples needed"


def gate(
    tallies: Values,
    zero: object = None,
    *,
    target: float,
    clusters: Sequence[object] | None = None,
    bounds: Bounds | None = None,
    lower_is_better: bool = False,
    look: int = 1,
) -> Gate:
    """Test whether the corpus value is above its target (below it if lower is better), at any time.

    Args:
        tallies: One for each example, or plain numbers.
        zero: The tallies' zero; None for plain numbers.
        target: The value to reach, within the bounds.
        clusters: The document of each example; examples of one document count as one.
        bounds: The bounds of the value; by default 0 and 1.
        lower_is_better: Whether the value should be below the target.
        look: The number of this candidate on the same examples, from 1.

    >>> str(gate([1.0] * 60, target=0.9)), str(gate([1.0] * 20, target=0.9))
    ('pass: 1.0000 is shown to meet 0.9', 'no verdict: about 24 more examples needed')
    """
    least, most = bounds or (0.0, 1.0)
    if not math.isfinite(most - least):
        raise GoldassayError("a gate needs a value that has bounds, and this one has none; set a target instead")
    if not least < target < most:
        raise GoldassayError(f"a gate is between {least:g} and {most:g}, not at {target:g}")
    value = Evidences(tallies, zero, clusters).value
    n, size = effective_sample_size(tallies, zero, clusters=clusters, bounds=(least, most))
    share, mark = min(1.0, max(0.0, (value - least) / (most - least))), (target - least) / (most - least)
    level = ALPHA / (look * (look + 1))
    evidence = interval(tallies, zero, clusters=clusters, bounds=(least, most), level=1 - level)
    unsure = evidence.method == "macro" and evidence.low < target < evidence.high  # a class may be rare or absent
    reached, enough = partial(_log_ratio, share, mark), math.log(1 / level)
    if n and not unsure and reached(size) >= enough:
        return Gate("pass" if (share > mark) != lower_is_better else "fail", value, target, n, look, level)
    more = None
    if n and not unsure and reached((n + FAR) * size / n) >= enough:  # if they are like these
        more = bisect_left(range(n + FAR), enough, lo=n, key=lambda number: reached(number * size / n)) - n
    return Gate("continue", value, target, n, look, level, more)


def _log_ratio(share: float, mark: float, size: float) -> float:
    """The log of the likelihood ratio of the rates on the share's side of the mark against the mark."""
    if share < mark:
        share, mark = 1 - share, 1 - mark
    hits, misses = share * size, (1 - share) * size

    def log_above(a: float, b: float) -> float:  # the log of beta's integral above the mark
        return float(special.betaln(a, b)) + math.log(max(1e-300, float(special.betainc(b, a, 1 - mark))))

    against = hits * math.log(mark) + misses * math.log1p(-mark)
    return log_above(PRIOR + hits, PRIOR + misses) - log_above(PRIOR, PRIOR) - against

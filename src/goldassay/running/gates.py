"""Gates that a run may be held to again and again: pass, fail, or how many more examples are needed.

The value is tested against its target by a likelihood ratio: how much more likely are these successes among n*
examples under a rate above the target (all such rates, weighted by a Beta(1/2, 1/2)) than under the target itself?
Under any rate up to the target its expectation is at most 1 after every example, so the chance that it ever reaches
1 / alpha is at most alpha (Ville 1939); failing works the other way round. n* is the number of examples for a rate of
independent examples, for which this is exact, and the effective sample size otherwise
(`goldassay.statistics.intervals`), for which it is an approximation.

Another candidate on the same test split is another look. Look k gets 1 / (k (k + 1)) of alpha, so all looks together,
however many follow, stay within alpha. The folder of runs has a file of looks, one line for each run: its gold by hash,
its folder, the time. A new run is the next look; the same run again is not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import scipy

from goldassay._support import jsonl
from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Values
from goldassay.core.tally import Tally
from goldassay.running.head import now
from goldassay.statistics.intervals import Bounds, effective_sample_size, interval

if TYPE_CHECKING:
    from goldassay.running.run import Run

LOOKS = "looks.jsonl"


def gates(run: Run, runs: Path) -> dict[str, Gate]:
    """The gate of each measure that has a target; this look is noted in the folder of runs.

    All gates have to pass, so several targets need no correction; several candidates do (see `gate`).

    Raises:
        GoldassayError: The run has no target, or its examples are not a random sample.
    """
    targets = {key: measure.target for key, measure in run.head.measures.items() if measure.target is not None}
    if not targets:
        raise GoldassayError("a gate needs a target: Metric(..., targets={'strict_f1': 0.85})")
    if run.design.stratified:
        raise GoldassayError("a gate needs a random sample, and these examples were chosen from strata")
    look = look_number(run, runs)
    return {
        key: gate(
            run.tallies(key),
            run.zero[key],
            target=target,
            clusters=run.clusters,
            bounds=run.result.measures[key].known_limits,
            lower_is_better=key in run.zero.worst,
            look=look,
        )
        for key, target in targets.items()
    }


def look_number(run: Run, runs: Path) -> int:
    """How many runs have been held against this gold set, including this one; a new run is noted."""
    gold = run.head.gold.sha256
    folder = Path(run.folder or "").name
    file = runs / LOOKS
    looks = jsonl.rows(file, what="a look") if file.exists() else ()
    before = [str(look["folder"]) for look in looks if look.get("gold") == gold]
    if folder in before:
        return before.index(folder) + 1
    with jsonl.Log(file) as log:
        log.add({"gold": gold, "folder": folder, "at": now()})
    return len(before) + 1


GATE_ALPHA = 0.05  # the chance of a wrong verdict, over all looks together
JEFFREYS = 0.5  # of Jeffreys' beta distribution
FAR = 100_000  # more examples than this are not asked for


@dataclass(frozen=True)
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
            verb = "meet" if self.verdict == "pass" else "miss"
            return f"{self.verdict}: {self.value:.4f} is shown to {verb} {self.target:g}"
        if self.more is None:
            return f"no verdict: {self.value:.4f} is too close to {self.target:g}"
        return f"no verdict: about {self.more} more examples needed"


def gate(
    tallies: Values,
    zero: Tally | None = None,
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

    Raises:
        GoldassayError: The value has no bounds, or the target is not between them.

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
    share = min(1.0, max(0.0, (value - least) / (most - least)))
    mark = (target - least) / (most - least)
    level = GATE_ALPHA / (look * (look + 1))
    evidence = interval(tallies, zero, clusters=clusters, bounds=(least, most), level=1 - level)
    unsure = evidence.method == "macro" and evidence.low < target < evidence.high  # a class may be rare or absent
    enough = math.log(1 / level)
    rate, bound = (share, mark) if share >= mark else (1 - share, 1 - mark)

    def log_above(a: float, b: float) -> float:
        """The log of the integral of a beta distribution above the target."""
        return float(scipy.special.betaln(a, b)) + math.log(max(1e-300, float(scipy.special.betainc(b, a, 1 - bound))))

    def reached(size: float) -> float:
        """The log of the likelihood ratio of the rates on the value's side of the target against the target."""
        hits = rate * size
        misses = (1 - rate) * size
        at_target = hits * math.log(bound) + misses * math.log1p(-bound)
        return log_above(JEFFREYS + hits, JEFFREYS + misses) - log_above(JEFFREYS, JEFFREYS) - at_target

    if n and not unsure and reached(size) >= enough:
        return Gate("pass" if (share > mark) != lower_is_better else "fail", value, target, n, look, level)
    more = None
    if n and not unsure and reached((n + FAR) * size / n) >= enough:  # if they are like these
        more = bisect_left(range(n + FAR), enough, lo=n, key=lambda number: reached(number * size / n)) - n
    return Gate("continue", value, target, n, look, level, more)

"""The plan of a tuning: what gain these examples can show, how many a gain needs, the cost, whether tuning can pay.

From sizes alone (`from_sizes`) the spread of the paired differences is assumed. A pilot (`from_pilot`) measures it on
a few examples, with the program as it is and two cheap candidates, and gives the baseline and the ceiling: an oracle
that takes the best of these programs for each example. Power is that of the rule of acceptance: one-sided, at what is
left of alpha for the look at the end (`goldassay.tuning.acceptance`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.options import RunOptions
from goldassay.running.run import Case
from goldassay.statistics import contributions, examples_needed, smallest_detectable
from goldassay.tuning.acceptance import ALPHA, EARLY, WINS
from goldassay.tuning.demonstrations import covering, nearest_examples
from goldassay.tuning.edits import Diagnosis, Edit
from goldassay.tuning.measuring import MEASURED, QUIET, Bench, count_measured, race_calls, total
from goldassay.tuning.patches import apply
from goldassay.tuning.patterns import find
from goldassay.tuning.wrappers import demonstrations

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric

SPREAD = 0.6  # of one example's paired difference: 28 % won and 8 % lost have .57
LEVEL = 2 * (1 - EARLY) * ALPHA  # two-sided, as power is reckoned
GAINS = (0.05, 0.1, 0.2)
PASSES = 8  # over all examples, that a campaign makes: as it is, bundles, leave-one-out, the nearest

CALLS: dict[str, Callable[[int, int], int]] = {  # of train and dev examples
    "labeled": lambda train, dev: 0,
    "knn": lambda train, dev: 0,
    "bootstrap": lambda train, dev: 7 * dev + 5 * min(train, 20),
    "mipro": lambda train, dev: 10 * dev + 4 * min(train, 20),
    "simba": lambda train, dev: 4 * 9 * min(16, train) + 5 * train,
    "copro": lambda train, dev: 12 * dev,
    "inferrules": lambda train, dev: 8 * dev + 2 * min(train, 20),
    "gepa": lambda train, dev: 8 * dev + 20 * min(8, train),
}


@dataclass(frozen=True)
class Plan:
    """What a tuning can show and what it costs.

    ``n`` examples choose (for patches dev and what it measures of train), ``test`` prove. ``spread`` is the standard
    deviation of one example's paired difference, ``measured`` on so many examples (0: assumed). ``baseline``,
    ``ceiling`` and ``seconds`` (an example) are known after a pilot.
    """

    optimizer: str
    n: int
    test: int
    calls: int
    spread: float = SPREAD
    measured: int = 0
    baseline: float | None = None
    ceiling: float | None = None
    wrong: float | None = None
    seconds: float | None = None
    spare: int = 0
    """How many more of train sets of examples are raced on and drawn from (patches)."""

    def shows(self, n: int) -> float:
        """The smallest gain that n examples show four times in five."""
        return smallest_detectable(self.spread / math.sqrt(n), alpha=LEVEL) if n else math.inf

    def needs(self, gain: float) -> int:
        """How many examples show this gain four times in five."""
        return max(WINS, examples_needed(gain, self.spread, 1, alpha=LEVEL))

    @property
    def proof(self) -> int:
        """How many examples prove: those of test where there are any, else those that choose."""
        return self.test or self.n

    @property
    def refusal(self) -> str:
        """Why nothing could ever be accepted, and what would make it possible; empty where it could."""
        most = max(self.n, self.test)
        if most < WINS:
            return (
                f"{self.n} examples to choose on and {self.test} of test: {WINS} wins without a loss are the least "
                f"that show anything at {ALPHA:g}; give at least {WINS}, and about {self.needs(0.2)} for a gain of .20"
            )
        if self.wrong is not None and self.wrong * most < WINS:
            if not self.wrong:
                return "the program as it is made no error in the pilot, so no gain can be shown: give harder examples"
            return (
                f"about {self.wrong * most:.0f} of {most} examples are wrong as it is, and fewer than {WINS} wins show "
                f"nothing: give about {math.ceil(WINS / self.wrong)} examples, or harder ones"
            )
        return ""

    @property
    def pays(self) -> bool | None:
        """Whether the room below the ceiling is at least what can be shown; ``None`` before a pilot."""
        if self.baseline is None or self.ceiling is None:
            return None
        return self.ceiling - self.baseline >= self.shows(self.proof)

    def lines(self) -> list[str]:
        """The plan in words."""
        source = f"measured on {self.measured} examples" if self.measured else "assumed"
        lines = [
            f"Candidates are chosen on {self.n} examples"
            + (f" (few-shot sets on {self.spare} more of train)" if self.spare else "")
            + (
                f" and tested once on the {self.test} examples of test"
                if self.test
                else " and tested on the same examples"
            )
            + f". Standard deviation of a paired difference: {self.spread:.2f} ({source}).",
            f"Detectable in four of five tunings: a gain of {self.shows(self.n):+.2f} on the examples that choose"
            + (f", of {self.shows(self.test):+.2f} on test." if self.test else "."),
            "Needed to detect: " + ", ".join(f"{self.needs(gain)} examples for {gain:+.2f}" for gain in GAINS) + ".",
        ]
        if self.baseline is not None and self.ceiling is not None:
            room = self.ceiling - self.baseline
            verdict = "tuning can pay" if self.pays else "less than can be shown, so tuning can hardly pay"
            lines.append(
                f"Baseline {self.baseline:.3f}; the best of three programs for each example {self.ceiling:.3f} "
                f"({room:+.3f}): {verdict}."
            )
        cost = f"About {self.calls} calls of the program"
        if self.seconds is not None:
            minutes = max(round(self.calls * self.seconds / 60), 1)
            cost += f", {minutes} minute{'s' if minutes > 1 else ''} at {self.seconds:.2f} s an example"
        return [*lines, f"{cost}."]

    def state(self) -> dict[str, object]:
        """As JSON."""
        more = {"shows": self.shows(self.n), "shows_on_test": self.shows(self.test) if self.test else None}
        needs = {f"{gain:g}": self.needs(gain) for gain in GAINS}
        return {**asdict(self), **more, "needs": needs, "pays": self.pays, "refusal": self.refusal or None}


def from_sizes(
    optimizer: str, splits: Mapping[str, Sequence[dspy.Example]], settings: Mapping[str, Any] | None = None
) -> Plan:
    """The plan from the sizes alone, and from the settings of patches (``most``, ``nearest``).

    >>> from_sizes("patches", {"train": range(2), "dev": range(2), "test": []}).refusal.split(":")[0]
    '4 examples to choose on and 0 of test'
    """
    train, dev, test = (len(splits.get(name) or ()) for name in ("train", "dev", "test"))
    reports = 2 * (dev + test)
    if optimizer != "patches":
        calls = CALLS.get(optimizer, CALLS["mipro"])
        return Plan(optimizer, dev, test, calls(train, dev) + reports)
    most, races = (settings or {}).get("most", MEASURED), bool((settings or {}).get("nearest", True))
    n = dev + count_measured(train, dev, most if isinstance(most, int) else MEASURED, races)
    raced = race_calls(train + dev - n) if races else 0
    return Plan(optimizer, n, test, PASSES * n + raced + reports, spare=train + dev - n if raced else 0)


def from_pilot(
    plan: Plan,
    program: dspy.Module,
    splits: Mapping[str, Sequence[dspy.Example]],
    metric: AnyMetric,
    pilot: int = 16,
    options: RunOptions = QUIET,
) -> Plan:
    """The plan with what a pilot measures on ``pilot`` examples of dev.

    Args:
        plan: The plan from the sizes.
        program: The program.
        splits: Examples by split.
        metric: A `Metric`, or any function of (gold, prediction).
        pilot: How many examples are tried.
        options: How the program is run.
    """
    train, dev = list(splits["train"]), list(splits["dev"])[:pilot]
    if not train or not dev:
        raise DataError("a plan needs examples in train and in dev")
    bench = Bench(dev, metric, options=options.changed(progress=False))
    started = time.perf_counter()
    runs = [list(bench.base(program).values())]
    diagnosis = Diagnosis(find(runs[0]), program, demonstrations(program, train))
    edits: list[Edit] = [covering, nearest_examples]
    for edit in edits:
        candidate = program
        try:
            for patch in (patch for patches in edit(diagnosis).values() for patch in patches):
                candidate = apply(candidate, patch, any_version=True)
        except GoldassayError:  # this program cannot be shown examples; the baseline is known all the same
            continue
        if candidate is not program:
            runs.append(bench.cases(candidate, range(len(dev))))
    base, others = runs[0], runs[1:]
    spreads = [_spread(cases, base, bench.zero) for cases in others]
    best = [max(cases, key=lambda case: float(case.evidence.value)) for cases in zip(*runs, strict=True)]
    return replace(
        plan,
        spread=max(spreads, default=SPREAD) or SPREAD,
        measured=len(dev) if any(spreads) else 0,
        baseline=float(total(base).value),
        ceiling=float(total(best).value),
        wrong=sum(float(case.evidence.value) < 1 - 1e-9 for case in base) / len(base),
        seconds=(time.perf_counter() - started) / (len(runs) * len(dev)),
    )


def _spread(after: Sequence[Case], before: Sequence[Case], zero: Any) -> float:
    """The standard deviation of one example's contribution to the difference of the corpus values."""
    parts = contributions([case.evidence for case in after], [case.evidence for case in before], zero)
    return float(np.std(len(parts) * parts, ddof=1)) if len(parts) > 1 else 0.0

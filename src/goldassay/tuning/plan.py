"""The plan of a tuning: the gain that these examples can show, the examples that a gain needs, the cost, the chances.

From sizes alone (`from_sizes`) the spread of the paired differences is assumed. A pilot (`from_pilot`) measures it on
a few examples: with the program as it is and with two probes, the edits that most often help and cost nothing to make.
Tuning can pay if the better of the two passes a paired t test that allows for there being two. The best program of each
example would tell nothing: it is a maximum over noise, and promises a gain where there is none. Power is that of the
rule of acceptance: one-sided, at what is left of alpha for the look at the end (`goldassay.tuning.acceptance`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import dspy
import numpy as np
from dspy import Module
from scipy import special

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import Record, clusters
from goldassay.running.engines import FIRST, Failures
from goldassay.running.evaluate import RunOptions
from goldassay.running.leaks import check_splits
from goldassay.statistics import contributions, examples_needed, smallest_detectable
from goldassay.statistics.evidence import Floats
from goldassay.tuning.acceptance import ALPHA, EARLY
from goldassay.tuning.edits import Diagnosis, Edit, counted, nearest_examples
from goldassay.tuning.instructions import answer_form
from goldassay.tuning.measuring import QUIET, WINS, Bench
from goldassay.tuning.patches import apply
from goldassay.tuning.patterns import find, is_right
from goldassay.tuning.race import MEASURED, count_measured, race_calls
from goldassay.tuning.wrappers import Splits, demonstrations

if TYPE_CHECKING:
    from goldassay.metric import AnyMetric

SPREAD = 0.6  # of one example's paired difference: 28 % won and 8 % lost have .57
LEVEL = 2 * (1 - EARLY) * ALPHA  # two-sided, as power is reckoned
GAINS = (0.05, 0.1, 0.2)
PILOT = 16  # examples
LUCK = {1: 0.2, 2: 0.115}  # one-sided level of each probe at which the better one passes in .2: two share their base
PROBES: dict[str, Edit] = {"nearest examples": nearest_examples, "the other form of the answer": answer_form}
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
class Probe:
    """A cheap edit on the pilot's examples: its name, its value, what it gains over the program as it is, and the t."""

    name: str
    value: float
    gain: float
    t: float


@dataclass(frozen=True)
class Plan:
    """The gain that a tuning can show, and its cost.

    ``n`` examples choose (for patches dev and what it measures of train), ``test`` prove. ``spread`` is the standard
    deviation of one example's paired difference, ``measured`` on so many examples (0: assumed). ``baseline``, ``wrong``
    (the share of examples), ``probes``, the t of which one has to reach ``least``, and ``seconds`` (an example) are
    known after a pilot.
    """

    optimizer: str
    n: int
    test: int
    calls: int
    spread: float = SPREAD
    measured: int = 0
    baseline: float | None = None
    probes: tuple[Probe, ...] = ()
    least: float | None = None
    wrong: float | None = None
    seconds: float | None = None
    spare: int = 0
    """How many more of train sets of examples are raced on and drawn from (patches)."""
    per_document: float = 1.0
    """How many examples share a document, which counts as one in every test; ``spread`` is that of a document then."""

    def shows(self, n: int) -> float:
        """The smallest gain that n examples show four times in five."""
        return smallest_detectable(self.spread / math.sqrt(n / self.per_document), alpha=LEVEL) if n else math.inf

    def needs(self, gain: float) -> int:
        """How many examples show this gain four times in five."""
        return math.ceil(self.per_document * max(WINS, examples_needed(gain, self.spread, 1, alpha=LEVEL)))

    @property
    def documents(self) -> str:
        """How many examples share a document, in words; empty if none do."""
        return f", {self.per_document:.1f} of each document, which count as one" if self.per_document > 1 else ""

    @property
    def refusal(self) -> str:
        """The reason why nothing could ever be accepted, and a remedy; empty if something could."""
        most = max(self.n, self.test)
        least = math.ceil(WINS * self.per_document)
        wrong = self.wrong
        if most < least:
            return (
                f"{self.n} examples to choose on and {self.test} of test{self.documents}: "
                f"{WINS} wins without a loss are the least that show anything at {ALPHA:g}; give at least {least}, and "
                f"about {self.needs(0.2)} for a gain of .20"
            )
        if wrong == 0:
            return "the program as it is made no error in the pilot, so no gain can be shown: give harder examples"
        if wrong is not None and wrong * most < WINS:
            return (
                f"about {wrong * most:.0f} of {most} examples are wrong as it is, and fewer than {WINS} wins show "
                f"nothing: give about {math.ceil(WINS / wrong)} examples, or harder ones"
            )
        return ""

    @property
    def pays(self) -> bool | None:
        """Whether the better probe passes; ``None`` before a pilot, and where no probe fits the program."""
        return None if self.least is None else any(probe.t >= self.least for probe in self.probes)

    def lines(self) -> list[str]:
        """The plan in words."""
        source = f"measured on {self.measured} examples" if self.measured else "assumed"
        raced = f" (few-shot sets on {self.spare} more of train)" if self.spare else ""
        tested = f"tested once on the {self.test} examples of test" if self.test else "tested on the same examples"
        on_test = f", of {self.shows(self.test):+.2f} on test" if self.test else ""
        lines = [
            f"Candidates are chosen on {self.n} examples{raced} and {tested}{self.documents}. Standard deviation of a "
            f"paired difference: {self.spread:.2f} ({source}).",
            f"Detectable in four of five tunings: a gain of {self.shows(self.n):+.2f} on the examples that choose"
            f"{on_test}.",
            "Needed to detect: " + ", ".join(f"{self.needs(gain)} examples for {gain:+.2f}" for gain in GAINS) + ".",
        ]
        if self.baseline is not None:
            probes = [
                f"{each.name} {each.value:.3f} ({each.gain:+.3f}, {each.t:.1f} standard errors)" for each in self.probes
            ]
            pilot = f"Pilot on {self.measured or PILOT} examples: as it is {self.baseline:.3f}"
            lines.append(f"{pilot}; {'; '.join(probes) or 'no probe fits this program'}.")
        if self.pays:
            best = max(self.probes, key=lambda probe: probe.t)
            lines.append(
                f"Tuning can pay: {best.name} gains {best.t:.1f} standard errors. {self.least:.1f} are enough, which "
                "luck alone gains in one of five pilots."
            )
        elif self.pays is False:
            gain = "as a gain of .35 does in nine of ten pilots"
            lines.append(f"Tuning can hardly pay: no probe gains {self.least:.1f} standard errors, {gain}.")
        cost = f"About {self.calls} calls of the program"
        if self.seconds is not None:
            minutes = max(round(self.calls * self.seconds / 60), 1)
            cost += f", {counted(minutes, 'minute')} at {self.seconds:.2f} s an example"
        if self.test and self.optimizer == "patches":
            cost += f"; {2 * self.test} of them show labeled and knn on test beside it"
        return [*lines, f"{cost}."]

    def state(self) -> dict[str, object]:
        """As JSON."""
        more = {"shows": self.shows(self.n), "shows_on_test": self.shows(self.test) if self.test else None}
        needs = {f"{gain:g}": self.needs(gain) for gain in GAINS}
        return {**asdict(self), **more, "needs": needs, "pays": self.pays, "refusal": self.refusal or None}


def from_sizes(optimizer: str, splits: Splits, settings: Record | None = None) -> Plan:
    """The plan from the sizes alone, and from the settings of patches (``most``, ``nearest``).

    >>> from_sizes("patches", {"train": range(2), "dev": range(2), "test": []}).refusal.split(":")[0]
    '4 examples to choose on and 0 of test'
    """
    train = len(splits.get("train") or ())
    dev = len(splits.get("dev") or ())
    test = len(splits.get("test") or ())
    examples = [example for name in ("dev", "test") for example in splits.get(name) or ()]
    per_document = len(examples) / max(1, len(set(clusters(examples) or range(len(examples))))) or 1.0
    calls = 2 * (dev + test)  # before and after
    if optimizer != "patches":
        calls += CALLS.get(optimizer, CALLS["mipro"])(train, dev)
        return Plan(optimizer, dev, test, calls, per_document=per_document)
    most = (settings or {}).get("most", MEASURED)
    races = bool((settings or {}).get("nearest", True))
    n = dev + count_measured(train, dev, most if isinstance(most, int) else MEASURED, races)
    raced = race_calls(train + dev - n) if races else 0
    calls += PASSES * n + raced + 2 * test
    return Plan(optimizer, n, test, calls, spare=train + dev - n if raced else 0, per_document=per_document)


def _with_edit(program: Module, edit: Edit, diagnosis: Diagnosis, options: RunOptions) -> Module | None:
    """The program with an edit; None if it does not fit this program."""
    candidate = program
    try:
        with dspy.context(adapter=options.adapter or dspy.settings.adapter):
            patches = [patch for patches in edit(diagnosis).values() for patch in patches]
        for patch in patches:
            candidate = apply(candidate, patch, any_version=True)
    except GoldassayError:
        return None
    return None if candidate is program else candidate


def _spread_and_t(parts: Floats) -> tuple[float, float]:
    """The standard deviation of the documents' parts in a difference, and the t of their mean.

    Where only one document differs, the standard error of the mean is about its part divided by n, whatever the others
    are; of few documents that differ it is estimated too low by chance. So the error is never less than the largest
    part divided by n.
    """
    n = len(parts)
    spread = float(np.std(parts, ddof=1)) if n > 1 else 0.0
    error = max(spread / math.sqrt(n), float(np.abs(parts).max()) / n)
    return spread, float(parts.mean()) / error if error else 0.0


def from_pilot(
    plan: Plan,
    program: Module,
    splits: Splits,
    metric: AnyMetric,
    options: RunOptions = QUIET,
) -> Plan:
    """The plan with the values of a pilot on `PILOT` examples of dev: as it is, with four nearest examples of train,
    and with answers in the other form.

    Args:
        plan: The plan from the sizes.
        program: The program.
        splits: Examples by split.
        metric: A `Metric`, or any function of (gold, prediction).
        options: How the program is run.

    Raises:
        DataError: There are no examples in train or in dev.
        GoldassayError: The program fails, on the first examples alike or on all.
        LeakError: The splits, or the program and a split, share examples; nothing was called yet.
    """
    train = list(splits["train"])
    dev = list(splits["dev"])[:PILOT]
    if not train or not dev:
        raise DataError("a plan needs examples in train and in dev")
    check_splits(program, splits)
    bench = Bench(dev, metric, options=options.changed(progress=False))
    started = time.perf_counter()
    failures = Failures()
    for row in bench.run(program, range(min(FIRST, len(dev)))).rows:
        if reason := failures.add(str(row["id"]), str(row.get("error") or "")):
            raise GoldassayError(reason)
    base = bench.base(program)
    documents = clusters(dev)
    size = len(dev)
    diagnosis = Diagnosis(find(base.cases), program, demonstrations(program, train))
    probes: list[Probe] = []
    spreads: list[float] = []
    for name, edit in PROBES.items():
        candidate = _with_edit(program, edit, diagnosis, options)
        if candidate is None:
            continue
        run = bench.run(candidate, range(size))
        parts = contributions(run.evidence, base.evidence, bench.zero, clusters=documents)
        spread, t = _spread_and_t(len(parts) * parts)
        spreads.append(spread)
        probes.append(Probe(name, run.value, run.value - base.value, t))
    units = len(set(documents or range(size)))
    return replace(
        plan,
        spread=max(spreads, default=SPREAD) or SPREAD,
        measured=size if any(spreads) else 0,
        baseline=base.value,
        probes=tuple(probes),
        least=float(-special.stdtrit(units - 1, LUCK[len(probes)])) if probes and units > 1 else None,
        wrong=sum(not is_right(case) for case in base.cases) / size,
        seconds=(time.perf_counter() - started) / ((len(probes) + 1) * size),
    )

"""The plan of a tuning: the gain that these examples can show, the examples that a gain needs, the cost, the chances.

From sizes alone (`from_sizes`) the spread of the paired differences is assumed. A pilot (`from_pilot`) measures it on
a few examples: with the program as it is and with two probes, the edits that most often help and cost nothing to make.
Tuning can pay if the better of the two passes a paired t test that allows for there being two. The best program of each
example would show nothing: it is a maximum over noise, and promises a gain where there is none. Power is that of the
rule of acceptance: one-sided, at what is left of alpha for the look at the end (`goldassay.tuning.acceptance`).

The pilot also estimates the headroom by kind. *Edits* are tried as they are: demonstrations, the other form of the
answer. *Form*: if the answers that could not be read were as good as the others. *Spread*: the best of a few tries, as
a judge that knows gold would choose it (pass@k), over the first of them (pass@1): what better instructions or
demonstrations may make reliable, and no promise that they do. *Agreement*: the answer that most tries give, which takes
neither labels nor tuning.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import dspy
import numpy as np
import scipy
from dspy import Module

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.evidence import contributions
from goldassay.core.fields import clusters
from goldassay.core.metric import AnyMetric
from goldassay.core.shape import shape_of
from goldassay.core.tally import Evidence
from goldassay.results.view import signed
from goldassay.running import Run
from goldassay.running.budget import Meter
from goldassay.running.engines import FIRST, Failures
from goldassay.running.leaks import check_splits
from goldassay.running.options import RunOptions
from goldassay.statistics import examples_needed, smallest_detectable, wilson
from goldassay.tuning.acceptance import ALPHA, EARLY
from goldassay.tuning.edits import Diagnosis, counted, nearest_examples
from goldassay.tuning.instructions import answer_form
from goldassay.tuning.measuring import (
    LEAST_WINS,
    MOST_MEASURED,
    QUIET_OPTIONS,
    Bench,
    count_measured,
    evaluated,
    race_calls,
)
from goldassay.tuning.optimizers import OPTIMIZERS, PASSES, Optimizer, resolve
from goldassay.tuning.patches import apply
from goldassay.tuning.patterns import find, is_right
from goldassay.tuning.wrappers import Examples, Splits, demonstrations

TRIES = 3


@dataclass(frozen=True)
class Probe:
    """The gain of a kind of edit on the pilot's examples over the program as it is, with its interval and the t.

    ``spread`` is the standard deviation of one document's part in the gain. A ``ceiling`` is a maximum over noise,
    never below 0, which shows nothing by itself.
    """

    name: str
    value: float
    gain: float
    t: float
    low: float
    high: float
    spread: float = 0.0
    ceiling: bool = False

    @classmethod
    def of(
        cls, name: str, after: Sequence[Evidence], before: Sequence[Evidence], zero: Evidence, examples: Examples
    ) -> Probe:
        """The paired gain of the evidence ``after`` over that ``before``.

        Where only one document differs, the standard error of the mean is about its part divided by n, whatever the
        others are; of few documents that differ it is estimated too low by chance. So the error is never less than the
        largest part divided by n.

        Args:
            name: The kind of edit.
            after: The evidence of each example with it.
            before: The evidence as it is.
            zero: Empty evidence.
            examples: The examples, which may share documents.
        """
        shares = contributions(after, before, zero, clusters=clusters(examples))
        n = len(shares)
        shares = n * shares
        gain = float(shares.mean())
        spread = float(np.std(shares, ddof=1)) if n > 1 else 0.0
        error = max(spread / math.sqrt(n), float(np.abs(shares).max()) / n)
        margin = error * float(scipy.special.stdtrit(n - 1, 0.975)) if n > 1 else math.inf
        value = float(sum(after, zero).value)
        return cls(name, value, gain, gain / error if error else 0.0, gain - margin, gain + margin, spread)


def headroom(program: Module, examples: Examples, metric: AnyMetric, base: Run, options: RunOptions) -> list[Probe]:
    """The headroom of form, of spread and of agreement.

    Args:
        program: The program.
        examples: The pilot's examples.
        metric: What measures it.
        base: The program as it is on them.
        options: How it is run; its model is asked `TRIES` times more, at temperature 1.
    """
    failed = [bool(row.error) for row in base.rows]
    read = [evidence for evidence, wrong in zip(base.evidence, failed, strict=True) if not wrong]
    best = float(sum(read, base.zero).value)
    low, high = wilson(sum(failed), len(failed))
    form = Probe("all answers readable", best, best - base.value, 0.0, low * best, high * best)
    probes = [form] if any(failed) else []
    lm = options.lm or dspy.settings.lm
    if not isinstance(lm, dspy.BaseLM):
        return probes
    tries = [
        evaluated(program, examples, metric, options.changed(lm=lm.copy(temperature=1.0, rollout_id=number)))
        for number in range(1, TRIES + 1)
    ]
    shape = shape_of(program)
    chosen = []
    agreed = []
    for index in range(len(examples)):
        scores = [run.rows[index].score for run in tries]
        chosen.append(tries[scores.index(max(scores))].evidence[index])
        answers = []
        for run in tries:
            answer = run.rows[index].prediction or {}
            answers.append(jsonl.dumps({name: answer[name] for name in shape.scored(answer)}))
        agreed.append(tries[answers.index(Counter(answers).most_common(1)[0][0])].evidence[index])
    first = list(tries[0].evidence)
    spread = Probe.of(f"the best of {TRIES} tries (pass@{TRIES})", chosen, first, base.zero, examples)
    agreement = Probe.of(f"the answer of most of {TRIES} tries", agreed, list(base.evidence), base.zero, examples)
    return [*probes, replace(spread, ceiling=True), agreement]


ASSUMED_SPREAD = 0.6  # of one example's paired difference: 28 % won and 8 % lost have .57
POWER_LEVEL = 2 * (1 - EARLY) * ALPHA  # two-sided, as power is reckoned
PLANNED_GAINS = (0.05, 0.1, 0.2)
PILOT = 16  # examples
WRITING = 0.9  # of a budget that is for the program's calls; the rest writes instructions and asks again


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
    spread: float = ASSUMED_SPREAD
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
    headroom: tuple[Probe, ...] = ()
    """Other possible gains of a tuning: readable answers, the best of a few tries, their agreement."""
    recommended: tuple[str, ...] = ()
    """The optimizers that ``optimizer="best"`` runs."""

    def shows(self, n: int) -> float:
        """The smallest gain that n examples show four times in five."""
        return smallest_detectable(self.spread / math.sqrt(n / self.per_document), alpha=POWER_LEVEL) if n else math.inf

    def needs(self, gain: float) -> int:
        """How many examples show this gain four times in five."""
        return math.ceil(self.per_document * max(LEAST_WINS, examples_needed(gain, self.spread, 1, alpha=POWER_LEVEL)))

    @property
    def documents(self) -> str:
        """How many examples share a document, in words; empty if none do."""
        return f", {self.per_document:.1f} of each document, which count as one" if self.per_document > 1 else ""

    @property
    def refusal(self) -> str:
        """The reason why nothing could ever be accepted, and a remedy; empty if something could."""
        most = max(self.n, self.test)
        least = math.ceil(LEAST_WINS * self.per_document)
        wrong = self.wrong
        if most < least:
            return (
                f"{self.n} examples to choose on and {self.test} of test{self.documents}: "
                f"{LEAST_WINS} wins without a loss are the least that show anything at {ALPHA:g}; give at least "
                f"{least}, and about {self.needs(0.2)} for a gain of .20"
            )
        if wrong == 0:
            return "the program as it is made no error in the pilot, so no gain can be shown: give harder examples"
        if wrong is not None and wrong * most < LEAST_WINS:
            return (
                f"about {wrong * most:.0f} of {most} examples are wrong as it is, and fewer than {LEAST_WINS} wins "
                f"show nothing: give about {math.ceil(LEAST_WINS / wrong)} examples, or harder ones"
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
        on_test = f", of {self.shows(self.test):+z.2f} on test" if self.test else ""
        lines = [
            f"Candidates are chosen on {self.n} examples{raced} and {tested}{self.documents}. Standard deviation of a "
            f"paired difference: {self.spread:.2f} ({source}).",
            f"Detectable in four of five tunings: a gain of {self.shows(self.n):+z.2f} on the examples that choose"
            f"{on_test}.",
            "Needed to detect: "
            + ", ".join(f"{self.needs(gain)} examples for {gain:+z.2f}" for gain in PLANNED_GAINS)
            + ".",
        ]
        if self.baseline is not None:
            probes = [
                f"{probe.name} {probe.value:.3f} ({probe.gain:+z.3f}, {probe.t:.1f} standard errors)"
                for probe in self.probes
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
            lines.append(f"Tuning is unlikely to pay: no probe gains {self.least:.1f} standard errors, {gain}.")
        if self.headroom:
            kinds = [*self.probes, *self.headroom]
            gains = [
                f"{probe.name} {signed(probe.gain, (probe.low, probe.high))}"
                if probe.high > probe.low
                else f"{probe.name}: no example changes"
                for probe in kinds
            ]
            lines.append(
                f"Headroom by kind [95 %]: {'; '.join(gains)}. The best of several tries is a ceiling, not a promise."
            )
            names_shown = [probe.name for probe in kinds if probe.low > 0 and not probe.ceiling]
            lines.append(
                f"Headroom is shown for: {', '.join(names_shown)}." if names_shown else "No headroom is shown."
            )
        cost = f"About {self.calls} calls of the program"
        if self.seconds is not None:
            minutes = max(round(self.calls * self.seconds / 60), 1)
            cost += f", {counted(minutes, 'minute')} at {self.seconds:.2f} s an example"
        if self.test and self.optimizer == "patches":
            cost += f"; {2 * self.test} of them show labeled and knn on test, too"
        if self.recommended:
            names = ", ".join(self.recommended)
            lines.append(f'Several optimizers can share one budget; "best" runs {names}.')
        return [*lines, f"{cost}."]

    def state(self) -> dict[str, object]:
        """As JSON."""
        more = {"shows": self.shows(self.n), "shows_on_test": self.shows(self.test) if self.test else None}
        needs = {f"{gain:g}": self.needs(gain) for gain in PLANNED_GAINS}
        return {**asdict(self), **more, "needs": needs, "pays": self.pays, "refusal": self.refusal or None}


def from_sizes(
    optimizer: str,
    splits: Splits,
    settings: Mapping[str, object] | None = None,
    budget: str | None = None,
    reflects: bool = False,
) -> Plan:
    """The plan from the sizes alone.

    Args:
        optimizer: The optimizer; ``best`` or several after commas for an arena, whose calls are those of all.
        splits: Examples by split.
        settings: Those of patches that the sizes depend on (``most``, ``nearest``).
        budget: The budget of the optimizer, or of several together; no plan counts more calls for them.
        reflects: Whether a model that writes instructions is named.

    >>> from_sizes("patches", {"train": range(2), "dev": range(2), "test": []}).refusal.split(":")[0]
    '4 examples to choose on and 0 of test'
    """
    train = len(splits.get("train") or ())
    dev = len(splits.get("dev") or ())
    test = len(splits.get("test") or ())
    examples = [example for name in ("dev", "test") for example in splits.get(name) or ()]
    per_document = len(examples) / max(1, len(set(clusters(examples) or range(len(examples))))) or 1.0
    best = recommended(splits, budget, reflects) if dev else []
    names = best if optimizer == "best" else optimizer.split(",")
    most = (settings or {}).get("most", MOST_MEASURED)
    races = bool((settings or {}).get("nearest", True))
    n = dev + count_measured(train, dev, most if isinstance(most, int) else MOST_MEASURED, races)
    raced = race_calls(train + dev - n) if races else 0
    tuning = 0
    for name in names:
        if name == "patches":
            tuning += PASSES * n + raced + 2 * test
        elif (chosen := resolve(name)).chooses:
            fixed, unit, default = chosen.calls(train, dev)
            tuning += fixed + unit * default
    calls = 2 * (dev + test) + int(min(tuning, Meter(budget).limits.get("calls", math.inf)))  # before, after, between
    patched = optimizer == "patches"
    spare = train + dev - n if patched and raced else 0
    n = n if patched else dev
    return Plan(optimizer, n, test, calls, spare=spare, per_document=per_document, recommended=tuple(best))


def settings_for(optimizer: Optimizer, calls: float | None, program: Module, splits: Splits) -> dict[str, int]:
    """The setting with which an optimizer ends within so many calls of models; empty if that cannot be known.

    >>> program = dspy.Predict("text -> label")
    >>> settings_for(OPTIMIZERS["bootstrap"], 400, program, {"train": range(40), "dev": range(30), "test": []})
    {'num_candidate_programs': 5}
    """
    if not optimizer.setting or calls is None:
        return {}
    fixed, unit, _ = optimizer.calls(len(splits["train"]), len(splits["dev"]))
    affordable = (calls * WRITING / len(program.predictors()) - fixed) / unit
    return {optimizer.setting: max(optimizer.least, int(affordable))}


def recommended(splits: Splits, budget: str | None, reflects: bool) -> list[str]:
    """The optimizers of an arena: those that cost nothing, patches, random search, and one that writes instructions.

    Of the latter three the last are left out whose share of the budget would not pay for four passes over dev.

    Args:
        splits: Examples by split.
        budget: The budget.
        reflects: Whether a model that writes instructions is named.
    """
    costly = ["patches", "bootstrap", "gepa" if reflects else "mipro"]
    calls = Meter(budget).limits.get("calls", math.inf)
    count = min(len(costly), max(1, int(min(calls, 1e9) // (4 * len(splits["dev"])))))
    return [*(name for name, optimizer in OPTIMIZERS.items() if not optimizer.chooses), *costly[:count]]


def from_pilot(
    plan: Plan,
    program: Module,
    splits: Splits,
    metric: AnyMetric,
    options: RunOptions = QUIET_OPTIONS,
) -> Plan:
    """The plan with the values of a pilot on `PILOT` examples of dev: as it is, with four nearest examples of train,
    with answers in the other form, and asked a few times more (`goldassay.tuning.plan`).

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
        if reason := failures.add(str(row.id), row.error):
            raise GoldassayError(reason)
    base = bench.base(program)
    documents = clusters(dev)
    size = len(dev)
    diagnosis = Diagnosis(find(base.cases), program, demonstrations(program, train))
    probes = []
    for name, edit in {"nearest examples": nearest_examples, "the other form of the answer": answer_form}.items():
        candidate = program
        try:
            with dspy.context(adapter=options.adapter or dspy.settings.adapter):
                patches = [patch for patches in edit(diagnosis).values() for patch in patches]
            for patch in patches:
                candidate = apply(candidate, patch, any_version=True)
        except GoldassayError:  # the edit does not fit this program
            continue
        if candidate is program:
            continue
        run = bench.run(candidate, range(size))
        probes.append(Probe.of(name, list(run.evidence), list(base.evidence), bench.zero, dev))
    seconds = (time.perf_counter() - started) / ((len(probes) + 1) * size)
    spreads = [probe.spread for probe in probes]
    units = len(set(documents or range(size)))
    luck = {1: 0.2, 2: 0.115}  # one-sided, of each probe: the better one passes in .2
    return replace(
        plan,
        spread=max(spreads, default=ASSUMED_SPREAD) or ASSUMED_SPREAD,
        measured=size if any(spreads) else 0,
        baseline=base.value,
        probes=tuple(probes),
        least=float(-scipy.special.stdtrit(units - 1, luck[len(probes)])) if probes and units > 1 else None,
        wrong=sum(not is_right(case) for case in base.cases) / size,
        seconds=seconds,
        headroom=tuple(headroom(program, dev, metric, base, options.changed(progress=False).resolved())),
    )

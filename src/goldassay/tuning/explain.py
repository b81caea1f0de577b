"""Which line of a prompt helps: what each statement and demonstration of a program is worth.

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

In random halves each unit is left out with half of the others: a block of examples is answered by a random half of
the units and by the other half. The mean effect of a unit over these (Banzhaf's value, as Shapley's a mean over sets)
costs two runs for all units together, and shows units that others stand in for.

The shortest prompt is the program without as many units as dev can spare, blocks first, proven once on test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from dspy import BaseLM, Module

from goldassay._support.display import Displayed
from goldassay._support.dspy_compat import serialize_for_json, signature_of
from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay.core.evidence import Values
from goldassay.core.fields import Fields, JsonObject, clusters
from goldassay.core.metric import AnyMetric
from goldassay.core.tally import Tally
from goldassay.results.view import Cell, Note, Sentence, Table, TableRow, View, signed
from goldassay.running.account import Account
from goldassay.running.budget import BudgetSpent, EndpointDown, Meter
from goldassay.running.evaluate import examples_for
from goldassay.running.hashing import fingerprint, gold_hash
from goldassay.running.options import RunOptions
from goldassay.running.summary import model_name
from goldassay.statistics import Interval, PairedTest, compare
from goldassay.tuning.acceptance import ALPHA, EARLY, MARGIN, Effect, Status
from goldassay.tuning.measuring import QUIET_OPTIONS, Bench, effect, failure
from goldassay.tuning.patches import Patch
from goldassay.tuning.shortcuts import shortcuts
from goldassay.tuning.units import (
    PromptProof,
    Unit,
    UnitVerdict,
    omit,
    short,
    summary,
    units_of,
    unmeasured_parts,
    view_of,
)
from goldassay.tuning.wrappers import Examples, Wrapped, output_fields, predictors, signatures

LEAST_MEASURED = 10  # examples below which no unit is measured
OutcomesWithout = Callable[[frozenset[int], range], Sequence[object]]
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
    left: Callable[[str | None], float] = lambda _: float("inf")  # examples that a budget still allows

    def without(self, removed: Sequence[int], level: float = 1 - ALPHA) -> PairedTest:
        """The whole program against the one without these units: what they are worth together."""
        every = range(self.n)
        return self._test(self.measure(frozenset(), every), self.measure(frozenset(removed), every), level, every)

    def _test(self, a: Values, b: Values, level: float, positions: Sequence[int]) -> PairedTest:
        names = self.clusters and [self.clusters[position] for position in positions]
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

    def looked(self, units: Sequence[Unit], affordable: Callable[[int, int], int]) -> tuple[Ablation, list[Unit]]:
        """The ablation on as many examples as can be afforded, and the units with their verdicts.

        Args:
            units: The units.
            affordable: On how many examples so many units can be measured that were measured on so many.
        """
        judged = list(units)
        left = list(range(len(units)))
        seen = 0
        looks = 3
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
        groups = []
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

    def in_halves(self, units: Sequence[Unit], n: int) -> list[Unit]:
        """The units with their mean effects among random halves of the others, corrected for their number.

        Args:
            units: The units.
            n: How many examples are answered, twice each.
        """
        draw = np.random.default_rng(self.seed)
        blocks = min(32, n)  # a block counts as one example
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
        averaged = []
        for unit, with_it, without_it in zip(units, with_unit, hidden, strict=True):
            test = replace(self, clusters=names)._test(with_it, without_it, level, range(n))
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


@dataclass(frozen=True, repr=False)
class Explanation(PromptProof, Displayed):
    """The worth of each unit of a program's prompts on some gold, with one model: the proof, and how it was found.

    ``units`` are in the order of the prompts, ``groups`` are sets of units that stand in for each other. ``value`` is
    that of the whole program. ``gold`` is the hash of the examples, of which ``n`` were measured.
    """

    value: float = 0.0
    margin: float = MARGIN
    groups: list[Group] = field(default_factory=list)
    program: str = ""
    cost: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ablation: Ablation | None = field(default=None, compare=False)
    unit = "examples"

    @property
    def sentence(self) -> str:
        """The result in one line."""
        tokens = sum(unit.tokens for unit in self.units)
        idle = sum(unit.tokens for unit in self.units if unit.verdict in (UnitVerdict.NOTHING, UnitVerdict.HURTS))
        model = f" with {self.model}" if self.model else ""
        unit = "unit" if len(self.units) == 1 else "units"
        return (
            f"Of {len(self.units)} {unit}, {summary(self.units)}, on {self.n} {self.unit}{model}, value "
            f"{self.value:.3f}; {idle} of {tokens} tokens have no measurable effect or do harm."
        )

    def __repr__(self) -> str:
        return f"Explanation({self.sentence!r})"

    def view(self) -> View:
        """The sentence, the units, the groups."""
        groups: list[TableRow] = []
        for group in self.groups:
            numbers = ", ".join(str(index + 1) for index in group.units)
            together = Interval(group.effect, group.low, group.high, 1 - ALPHA, self.n, "newcombe")
            groups.append([numbers, together, group.alone])
        return [
            Sentence(self.sentence, "head"),
            *view_of(self.units),
            Table("units that stand in for each other", ["units", "together", "sum alone"], groups),
            *map(Note, self.notes),
        ]

    def state(self) -> JsonObject:
        """As JSON."""
        names = ("sentence", "value", "n", "unit", "margin", "program", "gold", "model", "cost", "notes")
        lists = {"units": [unit.state() for unit in self.units], "groups": [asdict(group) for group in self.groups]}
        return {**{name: getattr(self, name) for name in names}, **lists}


def explain(
    program: Module,
    gold: Examples,
    metric: AnyMetric,
    options: RunOptions | None = None,
    *,
    margin: float = MARGIN,
    origins: Sequence[Patch] = (),
    on_progress: Callable[[str], None] | None = None,
    share: float = 1.0,
    **changes: Any,
) -> Explanation:
    """Measure the worth of each statement and demonstration of a program's prompts on gold (dev, not test).

    Every unit is left out in turn, so it costs one run of the program a unit, two for random halves, and some for
    groups.

    Args:
        program: Any DSPy program, whoever tuned it.
        gold: Examples; which of their fields are inputs they say, or else the program does.
        metric: A `Metric`, or any function of (gold, prediction).
        options: How to run it. A ``budget`` bounds the number of examples: a unit that fewer settle is measured on no
            more, and the others get what is left.
        margin: A unit whose interval lies within ± margin does nothing.
        origins: Patches of this program: units that one of them wrote name it.
        on_progress: Gets a line now and then.
        share: The part of the budget that is used; the rest is for `prune`.
        changes: Fields of the options to change: ``explain(program, gold, metric, lm="openai/gpt-4.1-mini")``.

    Raises:
        GoldassayError: There is nothing to explain, the program fails on all examples, or the budget is too small.
    """
    use = (options or QUIET_OPTIONS).changed(**changes).resolved()
    gold = examples_for(program, gold)
    units = units_of(program, origins)
    if not units:
        raise GoldassayError(
            "this program has nothing to explain: its instructions are those that DSPy writes itself, and it shows no "
            "examples"
        )
    running = use.changed(progress=False, max_failures=1.0, budget=None, folder=None, resume=None, repeats=1)
    bench = Bench(gold, metric, options=running, on_progress=on_progress)
    order = [index for document in bench.order for index in document]

    @cache
    def without(removed: frozenset[int]) -> Module:
        return omit(program, units, removed) if removed else program

    @cache
    def measure(removed: frozenset[int], positions: range) -> Sequence[object]:
        name = f"without {len(removed)} of {len(units)} units"
        run = bench.run(without(removed), [order[position] for position in positions], name)
        return [case.evidence for case in run.cases]

    documents = clusters([bench.examples[index] for index in order])
    bench.run(program, order[:LEAST_MEASURED], "the whole program")
    ablation = Ablation(measure, len(order), bench.zero, documents, margin, seed=use.seed)
    purse = _Purse(bench, Meter(use.budget).limits, len(units), share)
    if purse.limits:
        purse.check(str(use.budget))
        if not bench.cost["calls"]:  # the cache answered, as after a tuning, and does not say what a call costs
            measure(frozenset({0}), range(min(LEAST_MEASURED, len(order))))
            purse.check(str(use.budget))
        ablation, judged = ablation.looked(units, purse.affordable)
    complete = bench.run(program, order[: ablation.n], "the whole program")
    if why := failure(complete):
        raise GoldassayError(f"the program {why}")
    ablation = replace(
        ablation,
        strata=[row.facets for row in complete.rows],
        left=lambda budget: replace(purse, limits=Meter(budget).limits, share=1.0).left,
    )
    if not purse.limits:
        judged = ablation.judged(units)
    groups = ablation.groups(judged) if purse.left > 0 else []
    answered = int(min(ablation.n, purse.left / 2))
    if answered >= 2 * LEAST_MEASURED:
        judged = ablation.in_halves(judged, answered)
    for index, unit in enumerate(judged):
        if unit.verdict == UnitVerdict.HELPS and (note := ablation.only_stratum(index)):
            judged[index] = replace(unit, notes=(*unit.notes, note))
    for group in groups:  # each does nothing alone: a page of the units has to say that one of them is needed
        for index in group.units:
            partners = " and ".join(str(partner + 1) for partner in group.units if partner != index)
            judged[index] = replace(judged[index], notes=(*judged[index].notes, f"stands in for {partners}: keep one"))
    notes = [f"the budget allows {ablation.n} of {len(gold)} examples"] if ablation.n < len(gold) else []
    return Explanation(
        lm_name(use.lm),
        judged,
        gold_hash(gold),
        ablation.n,
        float(complete.value),
        margin,
        unmeasured=unmeasured_parts(program),
        groups=groups,
        program=fingerprint(program),
        cost=dict(bench.cost),
        notes=(*notes, *map(str, shortcuts(gold, output_fields(program)))),
        ablation=ablation,
    )


def lm_name(lm: BaseLM | str | None) -> str | None:
    """The name of a model, the same on every machine; None for a program that asks none, or the one that DSPy has."""
    return None if lm is None else model_name(getattr(lm, "model", str(lm)))


@dataclass(frozen=True)
class _Purse:
    """The examples that a budget still allows, by what those measured so far have used.

    An answer from the cache uses nothing, but the same example costs a call once the prompt is another.
    """

    bench: Bench
    limits: Mapping[str, float]
    units: int
    share: float = 1.0

    @property
    def left(self) -> float:
        """How many examples a program can still be run on.

        Raises:
            GoldassayError: The budget is in a unit that is not counted here.
        """
        cost = self.bench.cost
        used = {
            "calls": cost["calls"],
            "tokens": cost["prompt_tokens"] + cost["completion_tokens"],
            "minutes": cost["seconds"] / 60,
        }
        if self.limits.keys() - used:
            raise GoldassayError("an explanation is bounded in calls, tokens or minutes, not in usd")
        price = 1 + cost["cached"] / max(cost["calls"], 1e-9)  # of an example without the cache, to what it used
        most = {name: self.share * limit / max(used[name], 1e-9) for name, limit in self.limits.items()}
        return min((self.bench.runs * (times - 1) / price for times in most.values()), default=float("inf"))

    def affordable(self, count: int, seen: int) -> int:
        """On how many examples so many units can be measured that were measured on so many, with some for groups."""
        most = (self.left + count * seen + max(seen, LEAST_MEASURED)) / (count + 1 + self.units.bit_length())
        return int(min(most + 1e-6, len(self.bench.examples)))

    def check(self, budget: str) -> None:
        """Check that each unit can be measured.

        Raises:
            GoldassayError: The budget is too small.
        """
        most = self.affordable(self.units, 0)
        if most < LEAST_MEASURED:
            factor = LEAST_MEASURED * (self.units + 1 + self.units.bit_length()) / (self.left + LEAST_MEASURED)
            least = " or ".join(f"{name}={limit * factor:.3g}" for name, limit in self.limits.items())
            raise GoldassayError(
                f"the budget {budget} allows {most} examples for each of {self.units} units, and {LEAST_MEASURED} are "
                f"the least: use {least}"
            )


def model_change(old: Explanation, new: Explanation) -> tuple[View, JsonObject]:
    """The units of a prompt whose verdict is another with a new model, to show and as JSON.

    ``lost`` are shown to help with the old model and not with the new one, ``harmful`` to hurt with the new one only.
    """
    rows: list[TableRow] = []
    lost = []
    harmful = []
    for index, (before, after) in enumerate(zip(old.units, new.units, strict=True)):
        if before.verdict == after.verdict:
            continue
        rows.append([short(before.text), *(Cell(unit.sentence, unit.verdict.style) for unit in (before, after))])
        if after.verdict == UnitVerdict.HURTS:
            harmful.append(index)
        elif before.verdict == UnitVerdict.HELPS:
            lost.append(index)
    sentence = (
        f"From {old.model} to {new.model}: value {old.value:.3f} → {new.value:.3f}; no longer shown to help: "
        f"{len(lost)} of {len(old.units)} units, now shown to hurt: {len(harmful)}."
    )
    columns = ["unit", str(old.model), str(new.model)]
    view: View = [Sentence(sentence, "head"), Table("verdicts that changed", columns, rows, left=3)]
    return view, {"sentence": sentence, "lost": lost, "harmful": harmful}


@dataclass(frozen=True, repr=False)
class Pruned(Displayed):
    """The shortest prompt that dev allows: ``program``, and the patches that make it; what test says of it, once.

    On dev, which chose it, the difference has no interval. It is proven if test shows that it is worse by no more than
    the margin. ``spent`` says that the budget ended before every block was tried.
    """

    program: Module
    patches: list[Patch]
    tokens: tuple[int, int]
    margin: float
    dev: Effect
    test: Effect | None = None
    spent: bool = False

    @property
    def proven(self) -> bool:
        """Whether test shows that nothing larger than the margin is lost."""
        return self.test is not None and (self.test.low or 0.0) >= -self.margin

    @property
    def sentence(self) -> str:
        """The result in one line."""
        before, after = self.tokens
        end = " The budget ended before all units were tried." if self.spent else ""
        if self.spent and not self.patches:
            return f"Nothing was left out of {before} tokens.{end}"
        if not self.patches:
            return f"Nothing can go: without any of {before} tokens dev is worse by more than half of {self.margin:g}."
        saved = f"{before} tokens become {after} ({(after - before) / before:+.0%}), dev {self.dev.difference:+z.3f}"
        if self.test is None:
            return f"{saved}, not tested.{end}"
        verdict = f"{'proven' if self.proven else 'not proven'} to lose no more than {self.margin:g}"
        return f"{saved}, test {signed(self.test.difference, self.test)}: {verdict}.{end}"

    def __repr__(self) -> str:
        return f"Pruned({self.sentence!r})"

    def view(self) -> View:
        """The sentence, and the patches."""
        rows = [[patch.id, patch.action, str(patch.status), patch.reason] for patch in self.patches]
        return [Sentence(self.sentence, "head"), Table(None, ["patch", "action", "status", "why"], rows, left=4)]

    def state(self) -> JsonObject:
        """As JSON."""
        return {
            "sentence": self.sentence,
            "tokens": {"before": self.tokens[0], "after": self.tokens[1]},
            "margin": self.margin,
            "dev": self.dev.model_dump(),
            "test": self.test.model_dump() if self.test else None,
            "proven": self.proven,
            "spent": self.spent,
            "patches": [patch.model_dump(mode="json", exclude_none=True) for patch in self.patches],
        }


def prune(
    program: Module,
    explanation: Explanation,
    gold: Examples,
    metric: AnyMetric,
    test: Examples = (),
    options: RunOptions | None = None,
    **changes: Any,
) -> Pruned:
    """The program without the units that dev can spare, proven once on test.

    Units that are shown to help stay. The harmful ones are left out first, then the others in blocks, the least helpful
    first; a block without which dev is worse than the best so far by more than half the margin is halved, so that what
    a harmful unit gives back is not spent on others. Two runs over test are kept of the budget.

    Args:
        program: The program that was explained.
        explanation: What its units are worth on dev.
        gold: The examples of dev.
        metric: A `Metric`, or any function of (gold, prediction).
        test: Held-out examples.
        options: How the program is run; a ``budget`` bounds explanation and pruning together.
        changes: Fields of the options to change.

    Raises:
        GoldassayError: The explanation is of another program.
        RunStopped: A model answers no more.
    """
    ablation = explanation.ablation
    units = explanation.units
    if ablation is None or explanation.program != fingerprint(program):
        raise GoldassayError("this explanation is of another version of the program; explain it again")
    use = (options or QUIET_OPTIONS).changed(**changes).resolved()
    harmful = [index for index, unit in enumerate(units) if unit.verdict == UnitVerdict.HURTS]
    spare = [i for i, unit in enumerate(units) if unit.verdict in (UnitVerdict.NOTHING, UnitVerdict.OPEN)]
    blocks = [block for block in (harmful, sorted(spare, key=lambda index: units[index].effect)) if block]
    shed: list[int] = []
    best = 0.0
    meter = Meter(use.budget)
    cost = explanation.cost
    meter.add(calls=cost["calls"], tokens=cost["prompt_tokens"] + cost["completion_tokens"])
    meter.started -= cost["seconds"]
    with _within(meter):
        while blocks and ablation.left(use.budget) >= ablation.n + 2 * len(test):
            block = blocks[0]
            half = len(block) // 2
            loss = ablation.without([*shed, *block]).difference
            may_go = loss <= best + ablation.margin / 2
            if may_go:
                shed = [*shed, *block]
                best = min(best, loss)
            blocks[:1] = [] if may_go or not half else [block[:half], block[half:]]
    removed = frozenset(shed)
    pruned = omit(program, units, removed)
    before = sum(unit.tokens for unit in units)
    tokens = before, before - sum(units[index].tokens for index in removed)
    lost = ablation.without(shed)
    dev = Effect(split="dev", difference=-lost.difference, p=lost.p, n=lost.n, chosen=True)
    # what leaves units out: a patch for each instruction and demonstration, one for examples that all predictors show
    patches: list[Patch] = []
    after = signatures(pruned)
    about: Fields = {"proposer": "explain", "program": fingerprint(program)}
    for name, predictor in predictors(program).items():
        old = signature_of(predictor).instructions
        new = after[name].instructions
        gone = [units[index] for index in sorted(removed) if units[index].predictor == name]
        if old != new:
            text = f"dev can spare: {'; '.join(short(unit.text, 60) for unit in gone)}"
            edit: Fields = {"action": "replace_instruction", "old": old, "text": new, "rationale": text}
            patches.append(Patch(predictor=name, **edit, **about))
        for unit in gone:
            if unit.kind == "demonstration":
                demo = serialize_for_json(dict(predictor.demos[unit.index]))
                patches.append(Patch(predictor=name, action="remove_example", example=demo, **about))
    gone = [units[index] for index in sorted(removed) if units[index].kind == "example"]
    if gone and isinstance(pruned, Wrapped):
        nearest = {"k": pruned.k, "keys": pruned.keys, "examples": serialize_for_json(pruned.examples)}
        text = f"dev can spare: {'; '.join(short(unit.text, 60) for unit in gone)}"
        first = next(iter(after))
        patches.append(Patch(predictor=first, action="show_nearest", example=nearest, rationale=text, **about))
    proof = None
    if test and patches:
        bench = Bench(test, metric, options=use.changed(progress=False, max_failures=1.0, folder=None, budget=None))
        with _within(meter):
            after_cases = bench.base(pruned).cases
            proof = effect(after_cases, bench.base(program).cases, test, "test", bench.cost, zero=bench.zero)
    result = Pruned(pruned, patches, tokens, explanation.margin, dev, proof, bool(blocks))
    alone = len(patches) == 1
    for patch in patches:
        patch.effects = [dev] if proof is None else [dev, proof]
        patch.status = Status.PROVEN if result.proven and alone else Status.KEPT
        patch.reason = "proven" if result.proven else "not proven"
        patch.reason += f" to lose no more than {explanation.margin:g}{'' if alone else ', with the others'}"
    return result


@contextmanager
def _within(meter: Meter) -> Iterator[None]:
    """A context that ends when the budget does.

    Raises:
        RunStopped: A model answers no more.
    """
    try:
        with Account(meter).open() if meter.limits else nullcontext():
            yield
    except EndpointDown as error:
        raise RunStopped(str(error)) from None
    except BudgetSpent:
        return

"""Which line of a prompt helps: what each statement and demonstration of a program is worth (`Ablation`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dspy import BaseLM, Module

from goldassay._support.display import Displayed
from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Values
from goldassay.core.fields import Fields, clusters
from goldassay.core.metric import AnyMetric
from goldassay.results.view import Cell, Note, Sentence, Table, TableRow, View
from goldassay.running.budget import Meter
from goldassay.running.hashing import fingerprint, gold_hash
from goldassay.running.options import RunOptions
from goldassay.statistics.intervals import Interval
from goldassay.tuning.ablation import LEAST_MEASURED, Ablation, Group
from goldassay.tuning.acceptance import ALPHA, MARGIN
from goldassay.tuning.measuring import QUIET_OPTIONS, Bench, failure
from goldassay.tuning.patches import Patch
from goldassay.tuning.shortcuts import shortcuts
from goldassay.tuning.units import Unit, UnitVerdict, omit, short, summary, units_of, view_of
from goldassay.tuning.wrappers import Examples, output_fields


@dataclass(frozen=True)
class Explanation(Displayed):
    """What each unit of a program's prompts is worth on some gold, with one model.

    ``units`` are in the order of the prompts, ``groups`` are sets of units that stand in for each other. ``value`` is
    that of the whole program. ``gold`` is the hash of the examples, of which ``n`` were measured.
    """

    units: list[Unit]
    groups: list[Group]
    value: float
    n: int
    unit: str
    margin: float
    program: str
    gold: str
    model: str | None = None
    cost: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ablation: Ablation | None = field(default=None, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        """The result in one line."""
        tokens = sum(unit.tokens for unit in self.units)
        idle = sum(unit.tokens for unit in self.units if unit.verdict in (UnitVerdict.NOTHING, UnitVerdict.HURTS))
        model = f" with {self.model}" if self.model else ""
        return (
            f"{summary(self.units)}, on {self.n} {self.unit}{model}, value {self.value:.3f}; {idle} of {tokens} tokens "
            "have no measurable effect or do harm."
        )

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

    def state(self) -> Fields:
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
    **changes: Any,
) -> Explanation:
    """What each statement and demonstration of a program's prompts is worth on gold (dev, not test).

    Every unit is left out in turn, so it costs one run of the program a unit, two for random halves, and some for
    groups.

    Args:
        program: Any DSPy program, whoever tuned it.
        gold: Examples that name their inputs.
        metric: A `Metric`, or any function of (gold, prediction).
        options: How to run it. A ``budget`` bounds the number of examples: a unit that fewer settle is measured on no
            more, and the others get what is left.
        margin: A unit whose interval lies within ± margin does nothing.
        origins: Patches of this program: units that one of them wrote name it.
        on_progress: Gets a line now and then.
        changes: Fields of the options to change: ``explain(program, gold, metric, lm="openai/gpt-4.1-mini")``.

    Raises:
        GoldassayError: There is nothing to explain, the program fails on all examples, or the budget is too small.
    """
    use = (options or QUIET_OPTIONS).changed(**changes).resolved()
    units = units_of(program, origins)
    if not units:
        raise GoldassayError(
            "this program has nothing to explain: its instructions are those that DSPy writes itself, and it shows no "
            "examples"
        )
    running = use.changed(progress=False, max_failures=1.0, budget=None, folder=None, resume=None, repeats=1)
    bench = Bench(gold, metric, options=running, on_progress=on_progress)
    order = [index for document in bench.order for index in document]
    programs: dict[frozenset[int], Module] = {frozenset(): program}
    memory: dict[tuple[frozenset[int], range], Values] = {}

    def measure(removed: frozenset[int], positions: range) -> Values:
        key = removed, positions
        if key not in memory:
            if removed not in programs:
                programs[removed] = omit(program, units, removed)
            name = f"without {len(removed)} of {len(units)} units"
            run = bench.run(programs[removed], [order[position] for position in positions], name)
            memory[key] = [case.evidence for case in run.cases]
        return memory[key]

    documents = clusters([bench.examples[index] for index in order])
    ablation = Ablation(measure, len(order), bench.zero, documents, margin, seed=use.seed)
    bench.run(program, order[:LEAST_MEASURED], "the whole program")
    purse = _Purse(bench, Meter(use.budget).limits, len(units))
    if purse.limits:
        purse.check(str(use.budget))
        if not bench.cost["calls"]:  # the cache answered, as after a tuning, and does not say what a call costs
            measure(frozenset({0}), range(min(LEAST_MEASURED, len(order))))
            purse.check(str(use.budget))
        ablation, judged = ablation.looked(units, purse.affordable)
    complete = bench.run(program, order[: ablation.n], "the whole program")
    if why := failure(complete):
        raise GoldassayError(f"the program {why}")
    ablation = replace(ablation, strata=[row.facets for row in complete.rows])
    if not purse.limits:
        judged = ablation.judged(units)
    groups = ablation.groups(judged) if purse.left > 0 else []
    answered = int(min(ablation.n, purse.left / 2))
    if answered >= 2 * LEAST_MEASURED:
        judged = ablation.in_halves(judged, answered)
    for index, unit in enumerate(judged):
        if unit.verdict == UnitVerdict.HELPS and (note := ablation.only_stratum(index)):
            judged[index] = replace(unit, notes=(*unit.notes, note))
    notes = [f"the budget allows {ablation.n} of {len(gold)} examples"] if ablation.n < len(gold) else []
    return Explanation(
        judged,
        groups,
        float(complete.value),
        ablation.n,
        "examples",
        margin,
        fingerprint(program),
        gold_hash(gold),
        model_name(use.lm),
        {str(name): number for name, number in bench.cost.items()},
        (*notes, *map(str, shortcuts(gold, output_fields(program)))),
        ablation,
    )


def model_name(lm: BaseLM | str | None) -> str | None:
    """The name of a model; None for a program that asks none, or the one that DSPy is configured with."""
    return None if lm is None else str(getattr(lm, "model", lm))


@dataclass(frozen=True)
class _Purse:
    """What a budget still allows, by what the examples that were measured so far have used.

    An answer from the cache uses nothing, but the same example costs a call once the prompt is another.
    """

    bench: Bench
    limits: Mapping[str, float]
    units: int

    @property
    def left(self) -> float:
        """How many examples a program can still be run on."""
        cost = self.bench.cost
        used = {
            "calls": cost["calls"],
            "tokens": cost["prompt_tokens"] + cost["completion_tokens"],
            "minutes": cost["seconds"] / 60,
        }
        if self.limits.keys() - used:
            raise GoldassayError("an explanation is bounded in calls, tokens or minutes, not in usd")
        price = 1 + cost["cached"] / max(cost["calls"], 1e-9)  # of an example without the cache, to what it used
        shares = [self.bench.runs * (limit / max(used[name], 1e-9) - 1) / price for name, limit in self.limits.items()]
        return min(shares, default=float("inf"))

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


@dataclass(frozen=True)
class ModelChange(Displayed):
    """The units of a prompt with an old model and with a new one."""

    old: Explanation
    new: Explanation

    @property
    def changed(self) -> list[tuple[int, Unit, Unit]]:
        """The units whose verdict is another, with their numbers."""
        pairs = enumerate(zip(self.old.units, self.new.units, strict=True))
        return [(index, a, b) for index, (a, b) in pairs if a.verdict != b.verdict]

    @property
    def lost(self) -> list[int]:
        """The units that are shown to help with the old model, and not with the new one."""
        idle = UnitVerdict.NOTHING, UnitVerdict.OPEN
        return [index for index, a, b in self.changed if a.verdict == UnitVerdict.HELPS and b.verdict in idle]

    @property
    def harmful(self) -> list[int]:
        """The units that are shown to hurt with the new model only."""
        return [index for index, _, b in self.changed if b.verdict == UnitVerdict.HURTS]

    @property
    def sentence(self) -> str:
        """The change in one line."""
        return (
            f"From {self.old.model} to {self.new.model}: value {self.old.value:.3f} → {self.new.value:.3f}, "
            f"{len(self.lost)} units lost their effect, {len(self.harmful)} turned harmful."
        )

    def view(self) -> View:
        """The sentence, and the units whose verdict is another."""
        rows: list[TableRow] = []
        for _, *pair in self.changed:
            rows.append([short(pair[0].text), *(Cell(unit.sentence, unit.verdict.style) for unit in pair)])
        columns = ["unit", str(self.old.model), str(self.new.model)]
        return [Sentence(self.sentence, "head"), Table("verdicts that changed", columns, rows, left=3)]

    def state(self) -> Fields:
        """As JSON."""
        return {"sentence": self.sentence, "lost": self.lost, "harmful": self.harmful}

"""The arena: several optimizers, an equal share of one budget each, one program chosen, one look at test.

Every optimizer (an *arm*) starts from the same program, on the same splits with the same seed. Its calls go through a
`Meter` of its share inside that of the whole budget. A `CallGuard` on the models themselves takes a call from the share
where DSPy's context does not, as in a thread that an optimizer starts without it: a share that is spent stays spent,
whatever the optimizer catches. The optimizers that cost nothing have no share, and the others are set to end within
theirs (`goldassay.tuning.plan.settings_for`), unless the user sets them. Tokens, money and minutes are known after a
call, so the calls in flight may pass these.

Each arm's program is measured on dev, and the best one is chosen, or the program as it is if none is better. On test
each arm is measured once against the program as it is; the verdicts are corrected for the number of arms by max-T
(`goldassay.statistics.selection`), so they hold for all arms together, whichever one picks from the table.

With a race, each arm gets a quarter of its share first. An arm that a paired test on dev (Holm over the arms) shows to
be worse than the best leaves, and the others share what is left of the budget. They start over with the same seed:
what they asked before is answered by the cache.
"""

from __future__ import annotations

import math
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import dspy
from dspy import Module

from goldassay._support import jsonl
from goldassay._support.dspy_compat import BaseCallback, Teleprompter
from goldassay._support.exceptions import GoldassayError, ModelError, RunStopped, StorageError
from goldassay.core.fields import Fields
from goldassay.core.metric import AnyMetric
from goldassay.results.comparison import ComparisonVerdict
from goldassay.results.comparisons import compare_metric
from goldassay.running import Run, leaks
from goldassay.running.account import Account, current
from goldassay.running.budget import Meter
from goldassay.running.hashing import fingerprint
from goldassay.statistics import holm
from goldassay.tuning import optimizers, saved
from goldassay.tuning.acceptance import ALPHA
from goldassay.tuning.measuring import measured
from goldassay.tuning.options import TuneOptions
from goldassay.tuning.plan import settings_for
from goldassay.tuning.saved import Arm, Trial, Tuned
from goldassay.tuning.verdict import Audit, of_arms
from goldassay.tuning.wrappers import saveable

FIRST_SHARE = 0.25  # of its share that an arm gets before a race decides
ENDED = "arm.json"
STOPS = (RunStopped, StorageError, ModelError)  # the end of the whole arena, which can be resumed


class Share(Meter):
    """The share of an arm, with the calls of each role. It is kept in a file: a killed arm has what is left of it."""

    def __init__(self, limits: Mapping[str, float], outer: Meter, file: Path | None) -> None:
        super().__init__(None, outer)
        self.limits = dict(limits)
        self.elapsed = 0.0  # seconds at work
        self.roles: Counter[str] = Counter()
        self._file = file
        self._writing = threading.Lock()
        for row in jsonl.rows(file) if file is not None and file.is_file() else ():
            self.elapsed = row.pop("at")
            self.roles[row.pop("role", "")] += 1
            super().add(**row)  # what is written already

    def take(self) -> None:
        """Reserve one call."""
        super().take()
        self._note({"calls": 1})

    def add(self, unpriced: str = "", **used: float) -> None:
        """Add what calls used."""
        super().add(unpriced, **used)
        self._note(used)

    def count(self, role: str) -> None:
        """Count an answered call of a model in this role."""
        with self._writing:
            self.roles[role] += 1
        self._note({"role": role})

    def guard(self, role: str, lm: Any) -> Any:
        """A copy of a model whose calls this share counts in a role, where DSPy's context does not."""
        if not isinstance(lm, dspy.BaseLM):
            return lm
        return lm.copy(callbacks=[*(getattr(lm, "callbacks", None) or []), CallGuard(self, role)])

    def _note(self, row: Mapping[str, float | str]) -> None:
        if self._file is not None:
            with self._writing, jsonl.Log(self._file) as log:
                log.lines([jsonl.dumps({**row, "at": round(monotonic() - self.started, 3)})])


class CallGuard(BaseCallback):  # type: ignore[misc]
    """Takes the calls of one model from a share, where the account of DSPy's context does not."""

    def __init__(self, share: Share, role: str) -> None:
        self.share = share
        self.role = role
        self._accounts: dict[str, Account] = {}

    def __deepcopy__(self, memo: object) -> CallGuard:
        return self  # a copy of a model has the same share

    def on_lm_start(self, call_id: str, instance: dspy.BaseLM, inputs: Fields) -> None:
        """A call begins."""
        context = current()
        meter = context.meter if context is not None else None
        while meter is not None and meter is not self.share:
            meter = meter.outer
        account = Account(Meter(outer=self.share) if meter is None else None)
        account.on_lm_start(call_id, instance, inputs)
        self._accounts[call_id] = account

    def on_lm_end(self, call_id: str, outputs: list[Any] | None, exception: BaseException | None = None) -> None:
        """A call has ended."""
        account = self._accounts.pop(call_id)
        account.on_lm_end(call_id, outputs, exception)
        if account.usage.calls:
            self.share.count(self.role)


@dataclass
class Contender:
    """An arm at work: its share, its program so far with the run on dev, and why it failed or stopped."""

    name: str
    optimize: optimizers.Optimizer
    options: TuneOptions
    share: Share
    program: Module
    dev: Run | None = None
    failure: str = ""
    stopped: str = ""
    test: Run | None = None

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """Note an error of the optimizer or of its program; what ends the whole arena is raised."""
        try:
            yield
        except STOPS:
            raise
        except GoldassayError as error:
            self.failure = str(error)


def shares(budget: str | None, arms: int) -> dict[str, float]:
    """The equal share of each arm; calls and tokens are whole numbers.

    Raises:
        GoldassayError: An arm would have no call.

    >>> shares("calls=800,usd=1", 3)
    {'calls': 266, 'usd': 0.3333333333333333}
    """
    parts = {}
    for unit, limit in Meter(budget).limits.items():
        parts[unit] = int(limit // arms) if unit in ("calls", "tokens") else limit / arms
        if parts[unit] <= 0:
            raise GoldassayError(f"a budget of {limit:g} {unit} is too small for {arms} shares")
    return parts


def run_arena(
    program: Module,
    splits: dict[str, list[dspy.Example]],
    metric: AnyMetric,
    names: Sequence[str | Teleprompter],
    options: TuneOptions,
) -> Tuned:
    """Tune with each optimizer, choose one program on dev, look once at test; `goldassay.tune` calls it.

    Args:
        program: The program as it is.
        splits: Examples of train, dev and test.
        metric: What measures it.
        names: The optimizers.
        options: `TuneOptions`, resolved; a setting is named by its optimizer, as ``gepa.max_metric_calls``.

    Raises:
        GoldassayError: A setting or the budget is wrong, or all optimizers failed.
        RunStopped: A model answers no more.
    """
    arms: dict[str, optimizers.Optimizer] = {}
    for optimizer in names:  # the second object of a class has a number
        name, optimize = optimizers.resolve(optimizer)
        if name in arms and isinstance(optimizer, str):
            raise GoldassayError(f"{name} is named twice; an arena runs each optimizer once")
        arms[name if name not in arms else f"{name}-{len(arms) + 1}"] = optimize
    if len(arms) < 2:
        raise GoldassayError("an arena compares two optimizers or more, as optimizer=['patches', 'bootstrap']")
    settings: dict[str, Fields] = {name: {} for name in arms}
    for key, value in options.settings.items():
        name, _, option = key.partition(".")
        if name not in settings or not option:
            message = f"of several optimizers a setting is named OPTIMIZER.{key}; there are {', '.join(arms)}"
            raise GoldassayError(message)
        settings[name][option] = value
    costly = [name for name in arms if name not in optimizers.WITHOUT_DEV]
    limits = shares(options.budget, max(1, len(costly)))
    if options.race and not limits:
        raise GoldassayError("a race divides a budget: give one, as budget='calls=800'")
    plan = saved.plan_of(program, splits, ",".join(arms), options)
    plan["options"] |= {"budget": str(options.budget), "race": str(options.race)}
    folder = options.folder
    with saved.opened(folder, options.resume, plan):
        if folder is not None and not options.resume:
            shutil.rmtree(folder / "arms", ignore_errors=True)
        meter = Meter(options.budget)
        meter.limits.pop("minutes", None)  # shares have minutes of their own, without those of measuring
        arena = Arena(program, splits, metric, options)
        contenders = []
        for name, optimize in arms.items():
            home = None if folder is None else folder / "arms" / name
            share = Share(limits if name in costly else {}, meter, home and home / "used.jsonl")
            using = replace(options, folder=home, settings=settings[name])
            contenders.append(Contender(name, optimize, using, share, program))
        left = contenders
        if options.race:
            for arm in contenders:
                if arm.name in costly:
                    arm.share.limits = shares(options.budget, round(len(costly) / FIRST_SHARE))
                arena.work(arm)
            runs = {arm.name: arm.dev for arm in contenders if arm.dev is not None}
            best = next(iter(runs.values()), arena.base)
            for run in runs.values():
                best = run if _better(run, best) else best
            tests = [compare_metric(run.result, best.result) for run in runs.values()]
            pairs = zip(runs, tests, holm([test.p for test in tests]), strict=True)
            worse = {name for name, test, p in pairs if test.difference > 0 and p <= ALPHA}
            left = [arm for arm in contenders if arm.name in runs and arm.name not in worse]
            spent = {unit: sum(arm.share.limits.get(unit, 0) for arm in contenders) for unit in limits}
            heirs = [arm for arm in left if arm.name in costly]
            for arm in heirs:
                for unit, limit in Meter(options.budget).limits.items():
                    more = (limit - spent[unit]) / len(heirs)
                    arm.share.limits[unit] += math.floor(more) if unit in ("calls", "tokens") else more
        for arm in left:
            arena.work(arm, last=True)
        tuned = arena.concluded(contenders, meter)
        if folder is not None:
            saved.save(tuned, program, options, plan, splits["dev"][0].inputs().toDict())
        return tuned


@dataclass
class Arena:
    """The program, the examples and the metric that all arms share."""

    program: Module
    splits: dict[str, list[dspy.Example]]
    metric: AnyMetric
    options: TuneOptions

    def __post_init__(self) -> None:
        self.base = self._measured(self.program, "dev", "before")  # the program as it is

    def _measured(self, program: Module, split: str, name: str) -> Run:
        options = self.options
        return measured(program, self.splits[split], self.metric, f"{split}-{name}", options, options.resume)

    def work(self, arm: Contender, last: bool = False) -> None:
        """Run an arm until it ends or its share is spent, and keep its best program by the value on dev.

        An error of the optimizer is noted. An arm that ended before the arena was killed is read from its folder.
        """
        if arm.failure:
            return
        folder = arm.options.folder
        stage = "last" if last else "first"
        file = saved.STATE if last else "first.json"
        ended = saved.read_about(folder / ENDED) if folder is not None and (folder / ENDED).is_file() else {}
        result = self.program
        if stage in ended and folder is not None:
            arm.failure = str(ended[stage]["failure"])
            arm.stopped = str(ended[stage]["stopped"])
            result = result if arm.failure else saved.load_state(result, folder / file)
        else:
            sized = settings_for(arm.name, arm.share.limits.get("calls"), result, self.splits)
            options = replace(arm.options, settings={**sized, **arm.options.settings})
            with arm.noting_errors():
                arm.share.started = monotonic() - arm.share.elapsed  # the minutes run on
                try:
                    _, result, arm.stopped = optimizers.optimized(
                        arm.name,
                        arm.optimize,
                        self.program,
                        self.splits,
                        self.metric,
                        options,
                        arm.share,
                        arm.share.guard,
                    )
                finally:
                    arm.share.elapsed = monotonic() - arm.share.started
                held_out = {name: self.splits[name] for name in ("dev", "test")}
                leaks.check_program(result, held_out, "the tuned program")
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                saveable(result).save(str(folder / file))
                ended[stage] = {"failure": arm.failure, "stopped": arm.stopped}
                jsonl.replace(folder / ENDED, f"{jsonl.dumps(ended)}\n")
        run = self.base
        if not arm.failure and fingerprint(result) != fingerprint(self.program):
            with arm.noting_errors():
                run = self._measured(result, "dev", arm.name if last else f"{arm.name}-first")
        if not arm.failure and (arm.dev is None or _better(run, arm.dev)):
            arm.program = result
            arm.dev = run

    def concluded(self, arms: Sequence[Contender], meter: Meter) -> Tuned:
        """Choose on dev, look once at test.

        Raises:
            GoldassayError: All arms failed, or the chosen program fails on test.
        """
        if all(arm.failure for arm in arms):
            raise GoldassayError("; ".join(f"{arm.name}: {arm.failure}" for arm in arms))
        chosen: Contender | None = None
        best = self.base
        for arm in arms:
            if arm.dev is not None and _better(arm.dev, best):
                chosen = arm
                best = arm.dev
        changed = [arm for arm in arms if arm.dev is not None and arm.dev is not self.base]
        seed = self.options.seed
        test = None
        audits = {}
        if self.options.test and self.splits["test"]:
            before = self._measured(self.program, "test", "before")
            for arm in arms:
                if arm.dev is self.base:
                    arm.test = before
                elif arm.dev is not None:
                    with arm.noting_errors():
                        arm.test = self._measured(arm.program, "test", arm.name)
            audits = of_arms(before, {arm.name: arm.test for arm in changed if arm.test is not None}, seed)
            if chosen is not None and chosen.test is None:
                raise GoldassayError(f"{chosen.name}: {chosen.failure}")
            test = Trial(before, (chosen.test if chosen else None) or before, seed)
        dev = Trial(self.base, best, seed, chosen=True)
        audit = audits.get(chosen.name) if chosen else None
        if audit is None and test is not None:
            size = len(test.before.rows)
            audit = Audit(None, "independent", chosen="before", candidates=len(changed), examples=size, clusters=size)
        rows = []
        for arm in arms:
            used = arm.share.state()
            verdict = audits[arm.name].verdict if arm.name in audits else "not tested"
            if arm.failure:
                verdict = f"failed: {arm.failure}"
            elif arm.dev is self.base:
                verdict = str(ComparisonVerdict.SAME)
            length = None
            if arm.dev is not None:
                prompt = saved.rendered(arm.program, self.options.adapter, dict(self.splits["dev"][0].inputs()))
                length = round(len(prompt) / saved.CHARACTERS)
            calls = round(used["calls"])
            reflections = arm.share.roles["reflection"]
            row = Arm(
                arm.name,
                None if arm.dev is None else arm.dev.value,
                None if arm.test is None else arm.test.value,
                calls,
                round(used["tokens"]),
                length,
                round(arm.share.elapsed / 60, 3),
                verdict,
                task_calls=calls - reflections,  # also of the program's own models
                reflection_calls=reflections,
                stopped=arm.stopped,
            )
            rows.append(row)
        winner = chosen.program if chosen else self.program
        name = chosen.name if chosen else "none"
        return Tuned(winner, name, dev, test, meter.state(), seed, arms=tuple(rows), corrected=audit)


def _better(run: Run, other: Run) -> bool:
    """Whether a run's value is the better one, in the direction of the metric."""
    return compare_metric(other.result, run.result).difference > 0

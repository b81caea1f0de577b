"""``tune``: learn on train, choose on dev, report once on test, with one optimizer or with several in an *arena*.

In an arena every optimizer (an *arm*) starts from the same program, on the same splits with the same seed, and has an
equal share of one budget (`goldassay.tuning.watch`). The optimizers that cost nothing have no share, and the others are
set to end within theirs (`goldassay.tuning.plan.settings_for`), unless the user sets them.

Each arm's program is measured on dev, and the best one is chosen, or the program as it is if none is better. On test
each arm is measured once against the program as it is; the verdicts are corrected for the number of arms by max-T
(`goldassay.statistics.selection`), so they hold for all arms together, whichever one picks from the table.

With a race, each arm gets a quarter of its share first. An arm that a paired test on dev (Holm over the arms) shows to
be worse than the best leaves, and the others share what is left of the budget. They start over with the same seed:
what they asked before is answered by the cache.
"""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import dspy
from dspy import Module

from goldassay._support import jsonl
from goldassay._support.dspy_compat import Teleprompter, without
from goldassay._support.exceptions import DataError, GoldassayError, ModelError, RunStopped, StorageError
from goldassay.core.fields import read, shared_text
from goldassay.core.metric import AnyMetric
from goldassay.core.shape import shape_of
from goldassay.gold import TaskSet
from goldassay.models.lm import check_bound
from goldassay.results.comparison import ComparisonVerdict
from goldassay.results.comparisons import compare_metric
from goldassay.running import Run, asynchronous, leaks
from goldassay.running.budget import Meter
from goldassay.running.evaluate import examples_for
from goldassay.running.example import with_models
from goldassay.running.guard import unguarded
from goldassay.running.hashing import fingerprint
from goldassay.statistics import holm
from goldassay.statistics.design import SAMPLING, Design
from goldassay.tuning import plan as preflight
from goldassay.tuning import saved
from goldassay.tuning.acceptance import ALPHA, CampaignVerdict
from goldassay.tuning.measuring import TuneOptions, measured
from goldassay.tuning.optimizers import OPTIMIZERS, Optimizer, optimized, resolve
from goldassay.tuning.saved import Arm, Trial, Tuned
from goldassay.tuning.shortcuts import shortcuts
from goldassay.tuning.verdict import Audit, of_arms
from goldassay.tuning.watch import Share, shares
from goldassay.tuning.wrappers import check_shown, output_fields, saveable

FIRST_SHARE = 0.25  # of its share that an arm gets before a race decides
ENDED = "arm.json"
STOPS = (RunStopped, StorageError, ModelError)  # the end of the whole arena, which can be resumed


def tune(
    program: Module,
    gold: object,
    metric: AnyMetric,
    optimizer: str | Teleprompter | Sequence[str | Teleprompter] = "bootstrap",
    options: TuneOptions | None = None,
    **changes: Any,
) -> Tuned:
    """Make ``program`` better on ``gold.train``, choose on ``gold.dev``, and report once on ``gold.test``.

    The program itself is never changed.

    Args:
        program: Any DSPy module with a predictor.
        gold: The splits train, dev and test (or none) as attributes or keys; the task of a gold set without splits is
            split (`goldassay.gold.splits.for_tuning`).
        metric: A `Metric`, or any function of (gold, prediction).
        optimizer: A name of `goldassay.tuning.OPTIMIZERS`, DSPy's own name of a class (``"MIPROv2"``), or an optimizer;
            a list of these shares the budget equally, and one program is chosen; ``"best"`` is the list that a plan
            recommends.
        options: `TuneOptions`; ``changes`` replace fields of it.

    Raises:
        DataError: Train or dev has no examples, or they are too few to show anything.
        LeakError: The splits, or the program and a split, share examples.
        GoldassayError: The program has no predictor, the optimizer is unknown or failed, or the folder is taken.
        RunStopped: A model answers no more.
    """
    options = replace(options or TuneOptions(), **changes).resolved()
    splits = splits_of(gold, options.seed)
    if not splits["train"] or not splits["dev"]:
        kind = type(gold).__name__
        raise DataError(f"tuning needs examples in train and in dev: {{'train': […], 'dev': […]}}; gold is a {kind}")
    if not isinstance(program, Module) or not program.predictors():
        raise GoldassayError("this program has no predictor, so there is no prompt to tune")
    models = shape_of(program).models
    splits = {
        name: [with_models(example, models) for example in examples_for(program, examples)]
        for name, examples in splits.items()
    }
    check_bound(program, options.lm)
    for shortcut in shortcuts([*splits["train"], *splits["dev"]], output_fields(program)):
        logging.getLogger("goldassay").warning("train and dev have a %s", shortcut)
    if optimizer == "best":
        reflects = options.reflection_lm is not None and options.reflection_lm is not options.lm
        optimizer = preflight.recommended(splits, options.budget, reflects)
    is_arena = isinstance(optimizer, (list, tuple))
    names: Any = optimizer if is_arena else [optimizer]
    arms: dict[str, Optimizer] = {}
    for single in names:
        arm = resolve(single)
        if arm.name in arms:
            if isinstance(single, str):
                raise GoldassayError(f"{arm.name} is named twice; an arena runs each optimizer once")
            arm = replace(arm, name=f"{arm.name}-{len(arms) + 1}")  # the second object of a class has a number
        arms[arm.name] = arm
    if options.reflection_lm is not None and not any(arm.writes for arm in arms.values()):
        message = f"no model writes instructions for {' or '.join(arms)}; leave `reflection_lm=` out"
        raise GoldassayError(message)
    run = TuningRun(program, splits, metric, options, arms)
    if is_arena:
        run.check_arena()
    elif options.race:
        raise GoldassayError("a race is between optimizers: name several, as optimizer=['patches', 'bootstrap']")
    elif "patches" in arms and (refusal := preflight.from_sizes("patches", splits, options.settings).refusal):
        raise DataError(refusal)
    if options.resume and not is_arena and not arm.resumes:  # an arena resumes by its arms
        only = " and ".join(name for name, candidate in OPTIMIZERS.items() if candidate.resumes)
        message = f"{arm.name} keeps no state to resume (only {only} do): start it again without resuming"
        raise GoldassayError(message)
    leaks.check_splits(program, splits)
    plan = saved.plan_of(program, splits, ",".join(arms), options)
    if is_arena:
        plan["options"] |= {"budget": str(options.budget), "race": str(options.race)}
    elif warning := shared_text([*splits["dev"], *splits["test"]]):
        logging.getLogger("goldassay").warning("dev and test: %s", warning)
    with saved.opened(options.folder, options.resume, plan):
        tuned = run.arena() if is_arena else run.alone()
        if options.folder is not None:
            saved.save(tuned, program, options, plan, dict(splits["dev"][0].inputs()))
    return tuned


atune = asynchronous(tune)


def splits_of(gold: object, seed: int = 0) -> dict[str, list[dspy.Example]]:
    """The examples of train, dev and test.

    Train and dev need not give a level, so examples that a draft chose for another question count alike there.

    Args:
        gold: The splits, as `tune` takes them.
        seed: Of the split of gold without splits.
    """
    division = gold.for_tuning(seed) if isinstance(gold, TaskSet) else gold
    splits = {name: list(read(division, name, None) or []) for name in ("train", "dev", "test")}
    for name in ("train", "dev"):
        if Design.of(splits[name]).why_no_estimate:
            splits[name] = [without(example, SAMPLING) for example in splits[name]]
    return splits


@dataclass
class Contender:
    """An arm at work: its share, its program so far with the run on dev, and why it failed or stopped."""

    optimizer: Optimizer
    options: TuneOptions
    share: Share
    program: Module
    dev: Run | None = None
    failure: str = ""
    stopped: str = ""
    test: Run | None = None

    @property
    def name(self) -> str:
        """The name of its optimizer."""
        return self.optimizer.name

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """Note an error of the optimizer or of its program; what ends the whole arena is raised."""
        try:
            yield
        except STOPS:
            raise
        except GoldassayError as error:
            self.failure = str(error)


@dataclass
class TuningRun:
    """One call of `tune`: the program, the examples and the metric, and the optimizers by their names."""

    program: Module
    splits: dict[str, list[dspy.Example]]
    metric: AnyMetric
    options: TuneOptions
    arms: Mapping[str, Optimizer]

    def measured(self, program: Module, split: str, name: str) -> Run:
        """A run of a program on a split; what an arena measured before it was killed stays."""
        resume = len(self.arms) > 1 and self.options.resume
        return measured(program, self.splits[split], self.metric, f"{split}-{name}", self.options, resume)

    def alone(self) -> Tuned:
        """The result of one optimizer: its program on dev, and once on test."""
        options = self.options
        ((name, optimizer),) = self.arms.items()
        used = options.folder and options.folder / "used.jsonl"
        if used is not None and not options.resume:
            used.unlink(missing_ok=True)
        meter = Share(Meter(options.budget).limits, Meter(), used)
        meter.started -= meter.elapsed  # before the tuning was killed
        job, tuned_program, stopped = optimized(optimizer, self.program, self.splits, self.metric, options, meter)
        cost = meter.state()

        def trial(split: str, chosen: bool = False) -> Trial:
            before = self.measured(self.program, split, "before")
            after = self.measured(tuned_program, split, "after")
            return Trial(before, after, options.seed, chosen)

        references = {}
        dev = trial("dev", chosen=optimizer.chooses)
        patched = name.casefold() == "patches"
        ledger = job.ledger
        note = job.metric.note
        # each edit was better on a part of train; what all of them add up to has to be better on dev
        if patched and ledger.kept and dev.difference.difference <= 0:
            note = (
                f"on dev the patched program ({dev.after.value:.3f}) is not better than as it is"
                f" ({dev.before.value:.3f}): nothing is kept"
            )
            for patch in ledger.kept:
                patch.reject(note)
            ledger.conclude(CampaignVerdict())
            tuned_program = self.program
            dev = replace(dev, after=dev.before)
        test = None
        if options.test and self.splits["test"]:
            test = trial("test")
        if patched and test is not None and not stopped:  # a budget that is spent is for nothing else
            missing = ""
            blind = replace(job, settings={"k": job.settings.get("nearest") or 4})
            for reference in [candidate for candidate in OPTIMIZERS.values() if not candidate.chooses]:
                try:
                    reference_program = unguarded(reference.optimize(blind))
                    check_shown(reference_program, self.program, self.splits["train"])
                    run = self.measured(reference_program, "test", reference.name)
                    references[reference.name] = Trial(run, test.after, options.seed)
                except GoldassayError as error:
                    missing = f"{reference.name} is not available for comparison: {error}"
            note = note or missing
        if patched and not (ledger.patches or stopped):
            note = note or "no patch was tried: the metric names no errors on train that a patch could be made from"
        if test is not None:  # test alone proves, if there is one
            better = test.comparison.verdict == ComparisonVerdict.BETTER
            ledger.conclude(replace(ledger.verdict, proven=ledger.verdict.kept and better, by="one look at test"))
        return Tuned(tuned_program, name, dev, test, cost, stopped, ledger, note, references)

    @property
    def costly(self) -> list[str]:
        """The arms that have a share of the budget."""
        return [name for name, optimizer in self.arms.items() if optimizer.chooses]

    def check_arena(self) -> None:
        """Check that several optimizers can share the budget, and that each setting names its optimizer.

        Raises:
            GoldassayError: They cannot, or one does not.
        """
        if len(self.arms) < 2:
            raise GoldassayError("an arena compares two optimizers or more, as optimizer=['patches', 'bootstrap']")
        for key in self.options.settings:
            name, _, option = key.partition(".")
            if name not in self.arms or not option:
                message = f"of several optimizers a setting is named OPTIMIZER.{key}; there are {', '.join(self.arms)}"
                raise GoldassayError(message)
        if not shares(self.options.budget, max(1, len(self.costly))) and self.options.race:
            raise GoldassayError("a race divides a budget: give one, as budget='calls=800'")

    def arena(self) -> Tuned:
        """Tune with each optimizer, choose one program on dev, look once at test."""
        options = self.options
        costly = self.costly
        limits = shares(options.budget, max(1, len(costly)))
        folder = options.folder and options.folder / "arms"
        if folder is not None and not options.resume:
            shutil.rmtree(folder, ignore_errors=True)
        meter = Meter(options.budget)
        meter.limits.pop("minutes", None)  # shares have minutes of their own, without those of measuring
        self.base = self.measured(self.program, "dev", "before")
        contenders = []
        for name, optimizer in self.arms.items():
            home = folder and folder / name
            share = Share(limits if name in costly else {}, meter, home and home / "used.jsonl")
            prefix = f"{name}."
            named = options.settings.items()
            settings = {key.removeprefix(prefix): value for key, value in named if key.startswith(prefix)}
            using = replace(options, folder=home, settings=settings)
            contenders.append(Contender(optimizer, using, share, self.program))
            meter.started -= share.elapsed  # before the arena was killed
        left = contenders
        if options.race:
            for arm in contenders:
                if arm.name in costly:
                    arm.share.limits = shares(options.budget, round(len(costly) / FIRST_SHARE))
                self.work(arm)
            runs = {arm.name: arm.dev for arm in contenders if arm.dev is not None}
            best = next(iter(runs.values()), self.base)
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
            self.work(arm, last=True)
        return self.concluded(contenders, meter)

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
            sized = preflight.settings_for(arm.optimizer, arm.share.limits.get("calls"), result, self.splits)
            options = replace(arm.options, settings={**sized, **arm.options.settings})
            with arm.noting_errors():
                arm.share.started = monotonic() - arm.share.elapsed  # the minutes run on
                try:
                    _, result, arm.stopped = optimized(
                        arm.optimizer,
                        self.program,
                        self.splits,
                        self.metric,
                        options,
                        arm.share,
                        arm.share.guard,
                    )
                finally:
                    arm.share.elapsed = monotonic() - arm.share.started
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                saveable(result).save(str(folder / file))
                ended[stage] = {"failure": arm.failure, "stopped": arm.stopped}
                jsonl.replace(folder / ENDED, f"{jsonl.dumps(ended)}\n")
        run = self.base
        if not arm.failure and fingerprint(result) != fingerprint(self.program):
            with arm.noting_errors():
                run = self.measured(result, "dev", arm.name if last else f"{arm.name}-first")
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
            before = self.measured(self.program, "test", "before")
            for arm in arms:
                if arm.dev is self.base:
                    arm.test = before
                elif arm.dev is not None:
                    with arm.noting_errors():
                        arm.test = self.measured(arm.program, "test", arm.name)
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
        return Tuned(winner, name, dev, test, meter.state(), arms=tuple(rows), corrected=audit)


def _better(run: Run, other: Run) -> bool:
    """Whether a run's value is the better one, in the direction of the metric."""
    return compare_metric(other.result, run.result).difference > 0

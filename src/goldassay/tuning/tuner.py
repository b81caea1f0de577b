"""Tuning: learn on train, choose on dev, report once on test."""

from __future__ import annotations

import logging
import shutil
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import dspy
from dspy import Module

from goldassay._dspy_compat import Teleprompter
from goldassay.exceptions import DataError, GoldassayError, RunStopped, one_line
from goldassay.fields import Fields, read, shared_text
from goldassay.gold import TaskSet
from goldassay.metric import AnyMetric
from goldassay.running import Run, asynchronous, leaks
from goldassay.running.account import Account
from goldassay.running.budget import BudgetSpent, EndpointDown, Meter
from goldassay.running.comparing import compare_metric
from goldassay.running.evaluate import RunOptions
from goldassay.running.guard import guarded, unguarded
from goldassay.running.hashing import fingerprint
from goldassay.statistics.design import SAMPLING, Design
from goldassay.tuning import optimizers, saved
from goldassay.tuning import plan as preflight
from goldassay.tuning.acceptance import Verdict, one_look
from goldassay.tuning.measuring import evaluated, failure
from goldassay.tuning.options import TuneOptions
from goldassay.tuning.saved import Trial, Tuned
from goldassay.tuning.watch import Unreachable, Watch
from goldassay.tuning.wrappers import Examples, Splits, check_fits, demonstrations, shows_none

ROOM = 500  # tokens of an answer that writes instructions


def tune(
    program: Module,
    gold: Any,
    metric: AnyMetric,
    optimizer: str | Teleprompter = "bootstrap",
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
        optimizer: A name of `goldassay.tuning.OPTIMIZERS`, DSPy's own name of a class (``"MIPROv2"``), or an optimizer.
        options: `TuneOptions`; ``changes`` replace fields of it.

    Raises:
        DataError: Train or dev has no examples, or they are too few to show anything.
        LeakError: The splits, or the program and a split, share examples.
        GoldassayError: The program has no predictor, the optimizer is unknown or failed, or the folder is taken.
        RunStopped: A model answers no more.
    """
    options = replace(options or TuneOptions(), **changes).resolved()
    splits = splits_of(gold, options.seed)
    _check_material(program, splits)
    name, optimize = optimizers.resolve(optimizer)
    _check_splits(program, splits, name, options)
    plan = saved.plan_of(program, splits, name, options)
    with saved.locked_folder(options.folder):
        if options.folder is not None:
            saved.begin(options.folder, options.resume, plan)
        job, optimized, stopped, meter = _optimized(name, optimize, program, splits, metric, options)
        leaks.check_program(optimized, {name: splits[name] for name in ("dev", "test")}, "the tuned program")
        references: dict[str, Trial] = {}
        dev = _trial("dev", program, optimized, splits, metric, options)
        dev = replace(dev, chosen=name not in optimizers.BLIND)
        test = None
        if options.test and splits["test"]:
            test = _trial("test", program, optimized, splits, metric, options)
        ledger = job.ledger
        note = job.metric.note
        patched = name.casefold() == "patches"
        if patched and test is not None and not stopped:  # a budget that is spent is for nothing else
            references, missing = _references(job, test.after, splits["test"], metric, options)
            note = note or missing
        if patched and not (ledger.patches or stopped):
            note = note or "no patch was tried: the metric names no errors on train that a patch could be made from"
        if test is not None:  # test alone proves, if there is one
            better = one_look(test.difference) == Verdict.HELPED
            ledger.conclude(replace(ledger.verdict, proven=ledger.verdict.kept and better, by="test, one look"))
        cost = meter.state()
        tuned = Tuned(optimized, name, dev, test, cost, options.seed, stopped, ledger, note, references)
        if options.folder is not None:
            prompts = saved.diff(program, optimized, options.adapter, dict(splits["dev"][0].inputs()))
            saved.save(tuned, options.folder, plan, prompts)
        return tuned


atune = asynchronous(tune)


def splits_of(gold: Any, seed: int = 0) -> dict[str, list[dspy.Example]]:
    """The examples of train, dev and test.

    Train and dev need to tell no level, so examples that a draft chose for another question count alike there.

    Args:
        gold: The splits, as `tune` takes them.
        seed: Of the split of gold without splits.
    """
    sides = gold.for_tuning(seed) if isinstance(gold, TaskSet) else gold
    splits = {name: list(read(sides, name, None) or []) for name in ("train", "dev", "test")}
    for name in ("train", "dev"):
        design = Design.of(splits[name])
        if design and design.no_level:
            splits[name] = [example.without(SAMPLING) for example in splits[name]]
    return splits


def _check_material(program: Module, splits: Splits) -> None:
    if not splits["train"] or not splits["dev"]:
        raise DataError("tuning needs examples in train and in dev")
    if not isinstance(program, Module) or not program.predictors():
        raise GoldassayError("this program has no predictor, so there is no prompt to tune")


def _check_splits(program: Module, splits: Splits, optimizer: str, options: TuneOptions) -> None:
    """Refuse splits that share examples, and those on which nothing could be accepted; warn of shared texts."""
    refusal = preflight.from_sizes(optimizer, splits, options.settings).refusal
    if refusal and optimizer == "patches":
        raise DataError(refusal)
    leaks.check_splits(program, splits)
    if warning := shared_text([*splits["dev"], *splits["test"]]):
        logging.getLogger("goldassay").warning("dev and test: %s", warning)


def _optimized(
    name: str,
    optimize: optimizers.Optimizer,
    program: Module,
    splits: dict[str, list[Any]],
    metric: AnyMetric,
    options: TuneOptions,
) -> tuple[optimizers.Job, Module, str, Meter]:
    """The job, the program that the optimizer makes (or the best one so far), why it was stopped, and the cost."""
    meter = Meter(options.budget)
    lm = options.lm
    reflection = options.reflection_lm
    stopped = ""
    with ExitStack() as stack:
        watch = stack.enter_context(Watch(metric, splits["dev"], options.progress))
        context: Fields = {"callbacks": [*dspy.settings.get("callbacks", []), watch]}
        context |= {key: value for key, value in (("lm", lm), ("adapter", options.adapter)) if value is not None}
        stack.enter_context(dspy.context(**context))
        stack.enter_context(Account(meter).open())
        writer: Any = reflection or dspy.settings.lm
        room = getattr(writer, "kwargs", {}).get("max_tokens")
        if reflection is None and room is not None and room < ROOM:  # short answers would cut instructions off
            writer = writer.copy(max_tokens=ROOM)
        job = optimizers.Job(
            student=guarded(program),
            train=demonstrations(program, splits["train"]),
            dev=splits["dev"],
            metric=watch,
            writer=writer,
            reflects=reflection is not None and reflection is not lm,
            threads=options.threads,
            seed=options.seed,
            folder=options.folder,
            settings=dict(options.settings),
            held_out={"test": splits["test"]},
        )
        try:
            meter.check()
            optimized = optimize(job)
        except EndpointDown as down:
            raise RunStopped(str(down)) from None
        except BudgetSpent as spent:
            if meter.unpriced and "usd" in meter.limits:
                raise GoldassayError(str(spent)) from None
            stopped = str(spent)
            optimized = watch.best[1] if watch.best else job.student
        except GoldassayError:
            raise
        except (Exception, Unreachable) as error:
            watch.check()
            cause = error if str(error) else error.__context__ or error  # DSPy asserts without a message
            raise GoldassayError(f"{name} failed: {one_line(cause)}") from error
    watch.check()
    if shows_none(optimized) and not shows_none(job.student):
        check_fits(job.student, job.train)
    if watch.note and not (stopped or job.ledger.patches) and fingerprint(optimized) == fingerprint(job.student):
        raise GoldassayError(f"{name} changed nothing: {watch.note}")
    return job, unguarded(optimized), stopped, meter


def _trial(
    split: str, program: Module, optimized: Module, splits: Splits, metric: AnyMetric, options: TuneOptions
) -> Trial:
    """The program before and after on a split."""
    before = measured(program, splits[split], metric, f"{split}-before", options)
    after = measured(optimized, splits[split], metric, f"{split}-after", options)
    return _paired(before, after, options.seed)


def _paired(before: Run, after: Run, seed: int) -> Trial:
    """Two runs on the same examples and the paired difference of the metric."""
    return Trial(before, after, compare_metric(before, after, seed=seed))


def measured(
    program: Module,
    examples: Examples,
    metric: AnyMetric,
    name: str,
    options: TuneOptions,
    resume: bool = False,
) -> Run:
    """A run of a program on a split, measured by ``metric``, below the folder of the options.

    A program that fails on all examples has no value there: that is an error, not a loss or a tie. ``name`` is the
    split and what the program is, such as ``test-after``; with ``resume`` the rows of an earlier part of this tuning
    stay, else they are removed.

    Raises:
        GoldassayError: The program fails on all examples.
    """
    folder = options.folder and options.folder / name
    resume = resume and folder is not None and (folder / "run.json").is_file()
    if folder is not None and not resume:
        shutil.rmtree(folder, ignore_errors=True)
    keys = ("lm", "adapter", "threads", "repeats", "seed", "progress")
    running: Fields = {key: getattr(options, key) for key in keys} | {"resume" if resume else "folder": folder}
    run = evaluated(program, examples, metric, RunOptions(name=name, **running))
    if why := failure(run):
        split, _, which = name.partition("-")
        subject = {"before": "the program", "after": "the tuned program"}.get(which, which)
        raise GoldassayError(f"{subject} {why.replace('examples', f'{split} examples', 1)}")
    return run


def resumable(program: Module, examples: Examples, metric: AnyMetric, name: str, options: TuneOptions) -> Run:
    """A run as `measured` makes it, outside of a tuning: if it stops, its error says how to resume it.

    Args:
        program: The program.
        examples: The examples.
        metric: What measures it.
        name: The run's folder in that of the options.
        options: How it is run, and whether an earlier run is resumed.

    Raises:
        RunStopped: A model answers no more.
    """
    try:
        return measured(program, examples, metric, name, options, resume=options.resume)
    except RunStopped as stopped:
        then = f"; fix it and resume with `resume={options.folder}`" if options.folder else ""
        raise RunStopped(f"{stopped}{then}") from None


def _references(
    job: optimizers.Job, after: Run, examples: Examples, metric: AnyMetric, options: TuneOptions
) -> tuple[dict[str, Trial], str]:
    """Labeled and nearest examples on test beside the patched program, and why one of them is not available."""
    trials: dict[str, Trial] = {}
    note = ""
    blind = replace(job, settings={"k": job.settings.get("nearest") or 4})
    for name in optimizers.BLIND:
        try:
            program = unguarded(optimizers.OPTIMIZERS[name](blind))
            run = measured(program, examples, metric, f"test-{name}", options)
            trials[name] = _paired(run, after, options.seed)
        except GoldassayError as error:
            note = f"{name} is not available beside it: {error}"
    return trials, note

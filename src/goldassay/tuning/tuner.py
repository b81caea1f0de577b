"""Tuning: learn on train, choose on dev, report once on test."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dspy
from dspy import Module

from goldassay._support.dspy_compat import Teleprompter
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import read, shared_text
from goldassay.core.metric import AnyMetric
from goldassay.gold import TaskSet
from goldassay.models.lm import check_bound
from goldassay.results.comparison import ComparisonVerdict
from goldassay.running import asynchronous, leaks
from goldassay.running.budget import Meter
from goldassay.running.guard import unguarded
from goldassay.statistics.design import SAMPLING, Design
from goldassay.tuning import optimizers, saved
from goldassay.tuning import plan as preflight
from goldassay.tuning.acceptance import CampaignVerdict
from goldassay.tuning.arena import run_arena
from goldassay.tuning.measuring import measured
from goldassay.tuning.options import TuneOptions
from goldassay.tuning.saved import Trial, Tuned
from goldassay.tuning.shortcuts import shortcuts
from goldassay.tuning.wrappers import check_shown, output_fields


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
            a list of these shares the budget equally, and one program is chosen (`goldassay.tuning.arena`); ``"best"``
            is the list that a plan recommends.
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
        raise DataError("tuning needs examples in train and in dev")
    if not isinstance(program, Module) or not program.predictors():
        raise GoldassayError("this program has no predictor, so there is no prompt to tune")
    check_bound(program, options.lm)
    for shortcut in shortcuts([*splits["train"], *splits["dev"]], output_fields(program)):
        logging.getLogger("goldassay").warning("train and dev have a %s", shortcut)
    if optimizer == "best":
        reflects = options.reflection_lm is not None and options.reflection_lm is not options.lm
        optimizer = preflight.recommended(splits, options.budget, reflects)
    if isinstance(optimizer, (list, tuple)):
        leaks.check_splits(program, splits)
        return run_arena(program, splits, metric, optimizer, options)
    if options.race:
        raise GoldassayError("a race is between optimizers: name several, as optimizer=['patches', 'bootstrap']")
    single: Any = optimizer
    name, optimize = optimizers.resolve(single)
    refusal = preflight.from_sizes(name, splits, options.settings).refusal
    if refusal and name == "patches":
        raise DataError(refusal)
    leaks.check_splits(program, splits)
    if warning := shared_text([*splits["dev"], *splits["test"]]):
        logging.getLogger("goldassay").warning("dev and test: %s", warning)
    plan = saved.plan_of(program, splits, name, options)
    with saved.opened(options.folder, options.resume, plan):
        meter = Meter(options.budget)
        job, tuned_program, stopped = optimizers.optimized(name, optimize, program, splits, metric, options, meter)
        leaks.check_program(tuned_program, {name: splits[name] for name in ("dev", "test")}, "the tuned program")

        def trial(split: str, chosen: bool = False) -> Trial:
            before = measured(program, splits[split], metric, f"{split}-before", options)
            after = measured(tuned_program, splits[split], metric, f"{split}-after", options)
            return Trial(before, after, options.seed, chosen)

        references = {}
        dev = trial("dev", chosen=name not in optimizers.WITHOUT_DEV)
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
            tuned_program = program
            dev = replace(dev, after=dev.before)
        test = None
        if options.test and splits["test"]:
            test = trial("test")
        if patched and test is not None and not stopped:  # a budget that is spent is for nothing else
            missing = ""
            blind = replace(job, settings={"k": job.settings.get("nearest") or 4})
            for reference in optimizers.WITHOUT_DEV:
                try:
                    reference_program = unguarded(optimizers.OPTIMIZERS[reference](blind))
                    check_shown(reference_program, program, splits["train"])
                    run = measured(reference_program, splits["test"], metric, f"test-{reference}", options)
                    references[reference] = Trial(run, test.after, options.seed)
                except GoldassayError as error:
                    missing = f"{reference} is not available for comparison: {error}"
            note = note or missing
        if patched and not (ledger.patches or stopped):
            note = note or "no patch was tried: the metric names no errors on train that a patch could be made from"
        if test is not None:  # test alone proves, if there is one
            better = test.comparison.verdict == ComparisonVerdict.BETTER
            ledger.conclude(replace(ledger.verdict, proven=ledger.verdict.kept and better, by="test, one look"))
        cost = meter.state()
        tuned = Tuned(tuned_program, name, dev, test, cost, options.seed, stopped, ledger, note, references)
        if options.folder is not None:
            saved.save(tuned, program, options, plan, splits["dev"][0].inputs().toDict())
        return tuned


atune = asynchronous(tune)


def splits_of(gold: object, seed: int = 0) -> dict[str, list[dspy.Example]]:
    """The examples of train, dev and test.

    Train and dev need to tell no level, so examples that a draft chose for another question count alike there.

    Args:
        gold: The splits, as `tune` takes them.
        seed: Of the split of gold without splits.
    """
    division = gold.for_tuning(seed) if isinstance(gold, TaskSet) else gold
    splits = {name: list(read(division, name, None) or []) for name in ("train", "dev", "test")}
    for name in ("train", "dev"):
        if Design.of(splits[name]).why_no_estimate:
            splits[name] = [example.without(SAMPLING) for example in splits[name]]
    return splits

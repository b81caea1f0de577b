"""Tuning: made on train, chosen on dev, reported once on test; and what it made, before and after on each split."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import dspy

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.metric import AnyMetric
from goldassay.running import Run, RunOptions
from goldassay.running.budget import Budget, BudgetSpent, Meter
from goldassay.running.calls import Account
from goldassay.running.example import guarded, unguarded
from goldassay.running.identity import fingerprint
from goldassay.statistics import compare
from goldassay.tuning import leaks, optimizers, resuming
from goldassay.tuning import plan as preflight
from goldassay.tuning.acceptance import ALPHA, Ledger
from goldassay.tuning.fitting import check_fits, shows_none
from goldassay.tuning.leaks import clusters
from goldassay.tuning.measuring import evaluated, failure
from goldassay.tuning.saved import Trial, Tuned, instructions, save
from goldassay.tuning.watch import Unreachable, Watch
from goldassay.tuning.wrappers import demonstrations

ROOM = 500  # tokens of an answer that writes instructions


class TuneOptions(TypedDict, total=False):
    """The words of `tune` beside program, gold, metric and optimizer, for functions that hand them on."""

    lm: dspy.BaseLM | str | None
    reflection_lm: dspy.BaseLM | str | None
    adapter: dspy.Adapter | None
    budget: Budget | str | None
    seed: int
    threads: int
    folder: Path | str | None
    progress: bool
    test: bool
    resume: bool
    options: Mapping[str, object] | None


def tune(
    program: dspy.Module,
    gold: object,
    metric: AnyMetric,
    optimizer: object = "bootstrap",
    *,
    lm: dspy.BaseLM | str | None = None,
    reflection_lm: dspy.BaseLM | str | None = None,
    adapter: dspy.Adapter | None = None,
    budget: Budget | str | None = None,
    seed: int = 0,
    threads: int = 1,
    folder: Path | str | None = None,
    progress: bool = True,
    test: bool = True,
    resume: bool = False,
    options: Mapping[str, object] | None = None,
) -> Tuned:
    """Make ``program`` better on ``gold.train``, choose on ``gold.dev``, and report once on ``gold.test``.

    ``gold`` has the splits as attributes or keys. The program that is passed in is never changed. ``optimizer`` is a
    name of `goldassay.tuning.OPTIMIZERS`, DSPy's own name of a class (``"MIPROv2"``), or an optimizer object.
    ``budget`` reads like ``"calls=200,minutes=5"``; when it is spent, the best program that was evaluated on the whole
    dev split is taken. With ``folder`` everything is saved there, and ``resume`` goes on with a tuning that was
    interrupted or stopped there (see `goldassay.tuning.resuming`).

    Args:
        metric: A `Metric`, or any function of (gold, prediction).
        lm: The language model that examples are run with.
        reflection_lm: The model that writes instructions; without it ``lm``, with room for that.
        adapter: How prompts are written and answers read.
        seed: Of everything that is drawn at random.
        threads: How many examples are worked on at once.
        progress: Show a bar.
        options: The optimizer's own options.
    """
    running = RunOptions(lm=lm, adapter=adapter).resolved()
    lm, adapter = running.lm, running.adapter
    reflection_lm = RunOptions(lm=reflection_lm).resolved().lm
    folder = None if folder is None else Path(folder)
    train, dev, held = (_split(gold, name) for name in ("train", "dev", "test"))
    if not train or not dev:
        raise DataError("tuning needs examples in train and in dev")
    if seed < 0:
        raise GoldassayError(f"a seed is not negative: {seed}")
    if not isinstance(program, dspy.Module) or not program.predictors():
        raise GoldassayError("this program has no predictor, so there is no prompt to tune")
    sizes = preflight.sized(optimizers.called(optimizer), {"train": train, "dev": dev, "test": held}, options)
    if sizes.refusal and sizes.optimizer == "patches":
        raise DataError(sizes.refusal)
    leaks.check_examples(train, {"dev": dev, "test": held})
    make, optimizer = optimizers.named(optimizer), optimizers.called(optimizer)
    meter = Meter(Budget.parse(budget) if isinstance(budget, str) else budget)
    plan = resuming.plan(program, {"train": train, "dev": dev, "test": held}, seed, options or {}, lm)
    plan["resumed"] = resume
    with resuming.alone(folder):
        if folder is not None:
            resuming.begin(folder, resume, optimizer, **plan)
        elif resume:
            raise GoldassayError("there is nothing to resume without the folder of the tuning")
        ledger = Ledger()
        with resuming.minded(folder):
            with ExitStack() as stack:
                watch = stack.enter_context(Watch(metric, dev, progress))
                writer = reflection_lm or _writing(dspy.settings.lm if lm is None else lm)
                around: dict[str, Any] = {"callbacks": [*dspy.settings.get("callbacks", []), watch]}
                around |= {key: value for key, value in (("lm", lm), ("adapter", adapter)) if value is not None}
                stack.enter_context(dspy.context(**around))
                stack.enter_context(Account(meter).open())
                job = optimizers.Job(
                    student=guarded(program),
                    train=demonstrations(program, train),
                    dev=dev,
                    metric=watch,
                    reflection_lm=writer,
                    reflects=reflection_lm is not None and reflection_lm is not lm,
                    threads=threads,
                    seed=seed,
                    folder=folder,
                    options=dict(options or {}),
                    held_out={"dev": dev, "test": held},
                    ledger=ledger,
                )
                found, stopped = _made(make, job, meter)
            made, cost = unguarded(found), meter.state()
            leaks.check_instructions(instructions(made), {"dev": dev, "test": held})
            how: dict[str, Any] = {"lm": lm, "adapter": adapter, "threads": threads, "seed": seed}
            how |= {"folder": folder, "progress": progress}
            on_dev = trial(program, made, dev, metric, "dev", **how)
            on_test = trial(program, made, held, metric, "test", **how) if test and held else None
        note = watch.silent or watch.raised
        if optimizer == "patches" and not (ledger.patches or stopped):
            note = note or "no patch was tried: the metric names no errors on train that a patch could be made from"
        if on_test is not None:  # test alone proves, where there is one
            better = on_test.difference.difference > 0 and on_test.difference.p <= ALPHA
            ledger.verdict = replace(ledger.verdict, proven=ledger.verdict.kept and better, by="test, one look")
            for patch in ledger.kept if better else ():
                patch.status = "proven"
        tuned = Tuned(made, optimizer, on_dev, on_test, cost, seed, stopped, ledger, note)
        if folder is not None:
            with jsonl.writing(folder):
                save(tuned, program, folder, plan, adapter, dict(dev[0].inputs()) if dev else None)
        return tuned


async def atune(
    program: dspy.Module,
    gold: object,
    metric: AnyMetric,
    optimizer: object = "bootstrap",
    **options: Unpack[TuneOptions],
) -> Tuned:
    """`tune` for asynchronous code: the same words, and the loop stays free."""
    return await asyncio.to_thread(tune, program, gold, metric, optimizer, **options)


def trial(
    before: dspy.Module,
    after: dspy.Module,
    examples: Sequence[dspy.Example],
    metric: AnyMetric,
    split: str,
    **options: Any,
) -> Trial:
    """Both programs on the same examples, their runs below ``folder``, and the paired difference of the metric.

    A program that fails on all of them has no value there, and is no loss or tie by 0: that is an error.

    Args:
        before: The program as it was.
        after: The program to compare with it.
        split: The split that the examples come from.
    """
    runs: list[Run] = []
    for name, program in (("before", before), ("after", after)):
        place = None if (folder := options.get("folder")) is None else Path(folder) / f"{split}-{name}"
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)  # of an earlier part of this tuning
        how: dict[str, Any] = {**options, "folder": place, "name": f"{split}-{name}"}
        done = evaluated(program, examples, metric, **how)
        if failure(done):
            which = "the program" if name == "before" else "the tuned program"
            raise GoldassayError(f"{which} {failure(done).replace('examples', f'{split} examples', 1)}")
        runs.append(done)
    seed = options.get("seed", 0)
    difference = compare(runs[1].evidence, runs[0].evidence, runs[1].zero, clusters=clusters(examples), seed=seed)
    return Trial(runs[0], runs[1], difference)


def _writing(lm: dspy.BaseLM | None) -> dspy.BaseLM | None:
    """A model that writes instructions too: the short answers that examples want would cut them off."""
    most = getattr(lm, "kwargs", {}).get("max_tokens")
    return lm.copy(max_tokens=ROOM) if lm is not None and most is not None and most < ROOM else lm


def _made(make: optimizers.Optimizer, job: optimizers.Job, meter: Meter) -> tuple[Any, str]:
    """What the optimizer makes, or the best program so far and why it was stopped."""
    watch = job.metric
    try:
        meter.check()
        made, stopped = make(job), ""
    except BudgetSpent as spent:
        if meter.unpriced and meter.budget.usd is not None:
            raise GoldassayError(str(spent)) from None
        made, stopped = watch.best[1] if watch.best else job.student, str(spent)
    except GoldassayError:
        raise
    except (Exception, Unreachable) as error:
        watch.check()
        said = error if str(error) else error.__context__ or error  # DSPy asserts, without words, of what it caught
        why = " ".join(f"{type(said).__name__}: {said}".split())
        raise GoldassayError(f"{make.__name__} failed: {why}") from error
    watch.check()
    if shows_none(made) and not shows_none(job.student):
        check_fits(job.student, job.train, {})
    if watch.silent and not (stopped or job.ledger.patches) and fingerprint(made) == fingerprint(job.student):
        raise GoldassayError(f"{make.__name__} changed nothing: {watch.silent}")
    return made, stopped


def _split(gold: object, name: str) -> list[Any]:
    found = gold.get(name) if isinstance(gold, Mapping) else getattr(gold, name, None)
    if found is None:
        if name == "test":
            return []
        raise GoldassayError(f"the gold has no {name} split; give an object or a mapping with train, dev and test")
    return list(found)

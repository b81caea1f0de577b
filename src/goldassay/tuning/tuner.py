"""Tuning: made on train, chosen on dev, reported once on test."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy

from goldassay.exceptions import DataError, GoldassayError
from goldassay.guarding import guarded, unguarded
from goldassay.running import Run
from goldassay.statistics import Comparison, compare
from goldassay.tuning import leaks, optimizers, resuming
from goldassay.tuning.budget import Budget, BudgetSpent, Meter
from goldassay.tuning.edits import fingerprint
from goldassay.tuning.ledger import Ledger
from goldassay.tuning.nearest import demonstrations
from goldassay.tuning.prompts import instructions
from goldassay.tuning.racing import clusters, evaluated
from goldassay.tuning.watch import Watch


@dataclass(frozen=True)
class Trial:
    """A program before and after on one split, and the paired difference."""

    before: Run
    after: Run
    difference: Comparison


@dataclass(frozen=True)
class Tuned:
    """What tuning made: the program, what it was worth on dev and test, what it cost, and how it ended."""

    program: Any
    optimizer: str
    dev: Trial
    test: Trial | None
    cost: dict[str, float]
    seed: int
    stopped: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    """Every patch that was tried, with its effect and verdict (``patches`` only)."""
    note: str = ""
    """What never worked on the way, such as a reflection model whose answers could not be read."""

    @property
    def verdict(self) -> str:
        """Whether the result holds on test, where it was looked at once: the paired test at 5 %."""
        if self.test is None:
            return "not tested"
        found = self.test.difference
        shown = found.p <= 0.05 and found.difference != 0
        return "not shown on test" if not shown else "confirmed on test" if found.difference > 0 else "worse on test"


def tune(
    program: Any,
    gold: Any,
    metric: Any,
    optimizer: str = "bootstrap",
    *,
    lm: Any = None,
    reflection_lm: Any = None,
    adapter: Any = None,
    budget: Budget | str | None = None,
    seed: int = 0,
    threads: int = 1,
    folder: Path | None = None,
    progress: bool = True,
    test: bool = True,
    resume: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Tuned:
    """Make ``program`` better on ``gold.train``, choose on ``gold.dev``, and report once on ``gold.test``.

    ``gold`` has the splits as attributes or keys. The program that is passed in is never changed. ``budget`` reads like
    ``"calls=200,minutes=5"``; when it is spent, the best program that was evaluated on the whole dev split is taken.
    With ``folder`` everything is saved there (see `goldassay.tuning.saved`); ``resume`` goes on with a tuning that was
    interrupted or stopped there (see `goldassay.tuning.resuming`).
    """
    train, dev, held = (_split(gold, name) for name in ("train", "dev", "test"))
    if not train or not dev:
        raise DataError("tuning needs examples in train and in dev")
    leaks.check_examples(train, {"dev": dev, "test": held})
    make = optimizers.named(optimizer)
    meter = Meter(Budget.parse(budget) if isinstance(budget, str) else budget)
    student = guarded(program)
    plan = resuming.plan(program, {"train": train, "dev": dev, "test": held}, seed, options or {}, lm)
    plan["resumed"] = resume
    if folder is not None:
        resuming.begin(folder, resume, optimizer, **plan)
    elif resume:
        raise GoldassayError("there is nothing to resume without the folder of the tuning")
    stopped, ledger = "", Ledger()
    with ExitStack() as stack:
        watch = stack.enter_context(Watch(metric, dev, progress))
        around = {"callbacks": [*dspy.settings.get("callbacks", []), meter, watch]}
        around |= {key: value for key, value in (("lm", lm), ("adapter", adapter)) if value is not None}
        stack.enter_context(dspy.context(**around))
        if folder is not None:
            stack.push(lambda kind, *_: resuming.ended(folder, _status(kind)) if kind else None)
        job = optimizers.Job(
            student=student,
            train=demonstrations(program, train),
            dev=dev,
            metric=watch,
            reflection_lm=reflection_lm or lm or dspy.settings.lm,
            threads=threads,
            seed=seed,
            folder=folder,
            options=dict(options or {}),
            held_out={"dev": dev, "test": held},
            ledger=ledger,
        )
        try:
            meter.check()
            made = make(job)
        except BudgetSpent as spent:
            stopped = str(spent)
            made = watch.best[1] if watch.best else student
        except GoldassayError:
            raise
        except Exception as error:
            watch.check()
            raise GoldassayError(f"{optimizer} failed: {type(error).__name__}: {error}") from error
        watch.check()
        if watch.silent and not (stopped or ledger.patches) and fingerprint(made) == fingerprint(student):
            raise GoldassayError(f"{optimizer} changed nothing: {watch.silent}")
    made, cost = unguarded(made), meter.state()
    leaks.check_instructions(instructions(made), {"dev": dev, "test": held})
    options_of_run = {"lm": lm, "adapter": adapter, "threads": threads, "seed": seed, "progress": progress}
    on_dev = trial(program, made, dev, metric, "dev", folder, **options_of_run)
    on_test = trial(program, made, held, metric, "test", folder, **options_of_run) if test and held else None
    tuned = Tuned(made, optimizer, on_dev, on_test, cost, seed, stopped, ledger, watch.silent)
    if folder is not None:
        from goldassay.tuning.saved import save

        save(tuned, program, folder, plan, adapter)
    return tuned


def trial(
    before: Any, after: Any, examples: Sequence[Any], metric: Any, split: str, folder: Path | None, **options: Any
) -> Trial:
    """Both programs on the same examples, and the paired difference of the metric."""
    for name in ("before", "after"):
        if folder is not None:
            shutil.rmtree(folder / f"{split}-{name}", ignore_errors=True)  # of an earlier part of this tuning
    runs = [
        evaluated(
            program,
            examples,
            metric,
            folder=folder / f"{split}-{name}" if folder else None,
            name=f"{split}-{name}",
            **options,
        )
        for name, program in (("before", before), ("after", after))
    ]
    difference = compare(
        runs[1].evidence, runs[0].evidence, runs[1].zero, clusters=clusters(examples), seed=options.get("seed", 0)
    )
    return Trial(runs[0], runs[1], difference)


def _status(kind: type[BaseException]) -> str:
    return "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"


def _split(gold: Any, name: str) -> list[Any]:
    found = gold.get(name) if isinstance(gold, Mapping) else getattr(gold, name, None)
    if found is None:
        if name == "test":
            return []
        raise GoldassayError(f"the gold has no {name} split; give an object or a mapping with train, dev and test")
    return list(found)

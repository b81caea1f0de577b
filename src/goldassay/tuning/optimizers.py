"""DSPy's optimizers, and ours, under one name each, with budgets that suit small data.

Each function gets the job and returns a program. ``OPTIMIZERS`` maps the names of the command line to them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
from dspy import teleprompt

from goldassay.exceptions import GoldassayError, MissingExtra
from goldassay.tuning.nearest import NearestDemos
from goldassay.tuning.results import Ledger


@dataclass(frozen=True)
class Job:
    """What an optimizer works on. ``train`` is shuffled by ``seed``; ``options`` go to the optimizer as they are."""

    student: Any
    train: list[Any]
    dev: list[Any]
    metric: Any
    reflection_lm: Any = None
    threads: int = 1
    seed: int = 0
    folder: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)
    held_out: dict[str, list[Any]] = field(default_factory=dict)
    """The splits whose sentences no instruction may copy."""
    ledger: Ledger = field(default_factory=Ledger)
    """Where an optimizer that tries patches says what it tried."""

    def shuffled(self) -> list[Any]:
        """The train examples in the seed's order."""
        return random.Random(self.seed).sample(self.train, len(self.train))

    def take(self, **defaults: Any) -> dict[str, Any]:
        """The optimizer's settings: the defaults with the user's options over them."""
        return {**defaults, **self.options}


def labeled(job: Job) -> Any:
    """Examples of train in the prompt, as labelled."""
    return teleprompt.LabeledFewShot(**job.take(k=4)).compile(job.student, trainset=job.shuffled(), sample=False)


def knn(job: Job) -> Any:
    """For each input the most similar train examples in the prompt."""
    return NearestDemos(**job.take(k=4)).compile(job.student, trainset=job.train)


def bootstrap(job: Job) -> Any:
    """Few-shot demonstrations that the program itself got right, chosen on dev by random search."""
    settings = job.take(
        max_bootstrapped_demos=4, max_labeled_demos=4, num_candidate_programs=4, num_threads=job.threads
    )
    optimizer = teleprompt.BootstrapFewShotWithRandomSearch(metric=job.metric, **settings)
    return optimizer.compile(job.student, trainset=job.shuffled(), valset=job.dev)


def mipro(job: Job) -> Any:
    """Instructions and demonstrations together, by Bayesian search (MIPROv2)."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise MissingExtra("optuna", "optuna") from None
    settings = job.take(num_candidates=4, max_bootstrapped_demos=2, max_labeled_demos=2, num_threads=job.threads)
    trials = settings.pop("num_trials", 8)
    optimizer = teleprompt.MIPROv2(
        metric=job.metric, prompt_model=job.reflection_lm, auto=None, seed=job.seed, verbose=False, **settings
    )
    return optimizer.compile(
        job.student, trainset=job.shuffled(), valset=job.dev, num_trials=trials, minibatch=False, seed=job.seed
    )


def simba(job: Job) -> Any:
    """Rules and demonstrations from the examples on which the program wavers (SIMBA)."""
    batch = min(16, len(job.train))
    settings = job.take(bsize=batch, num_candidates=4, max_steps=4, max_demos=2, num_threads=job.threads)
    if settings["bsize"] > len(job.train):
        raise GoldassayError(
            f"simba wants at least bsize={settings['bsize']} train examples; there are {len(job.train)}"
        )
    optimizer = teleprompt.SIMBA(metric=job.metric, prompt_model=job.reflection_lm, **settings)
    return optimizer.compile(job.student, trainset=job.shuffled(), seed=job.seed)


def copro(job: Job) -> Any:
    """Instructions rewritten in rounds (COPRO)."""
    settings = job.take(breadth=4, depth=2)
    optimizer = teleprompt.COPRO(prompt_model=job.reflection_lm, metric=job.metric, **settings)
    eval_kwargs = {"num_threads": job.threads, "display_progress": False, "display_table": 0}
    return optimizer.compile(job.student, trainset=job.dev, eval_kwargs=eval_kwargs)


def inferrules(job: Job) -> Any:
    """Rules induced from demonstrations and put into the instructions (InferRules)."""
    settings = job.take(num_candidates=3, num_rules=6, num_threads=job.threads)
    optimizer = teleprompt.InferRules(metric=job.metric, max_bootstrapped_demos=2, max_labeled_demos=2, **settings)
    return optimizer.compile(job.student, trainset=job.shuffled(), valset=job.dev)


def gepa(job: Job) -> Any:
    """Instructions evolved by reflection on the metric's feedback (GEPA)."""
    from goldassay.tuning import gepa as evolution
    from goldassay.tuning.gepa import PairedAcceptance

    batch = min(8, len(job.train))
    settings = job.take(max_metric_calls=8 * len(job.dev) + 20 * batch, reflection_minibatch_size=batch)
    if job.reflection_lm is None and "instruction_proposer" not in settings:
        raise GoldassayError("gepa reflects with a language model: give --reflection-lm (or --lm)")
    log = job.folder / "gepa" if job.folder else None
    values = log / "corpus.json" if log else None
    for candidate, value in evolution.read(values) if values and values.is_file() else []:
        job.metric.keep(value, evolution.with_instructions(job.student, candidate))
    if log:
        evolution.check_state(log)
    policy = evolution.CorpusPolicy(lambda: job.metric.kept, values)
    several = len(getattr(job.metric.metric, "measures", ())) > 1
    extra = {
        "acceptance_criterion": PairedAcceptance(),
        "val_evaluation_policy": policy,
        "frontier_type": "hybrid" if several else "instance",
        **settings.pop("gepa_kwargs", {}),
    }
    optimizer = dspy.GEPA(
        metric=job.metric,
        reflection_lm=job.reflection_lm,
        num_threads=job.threads,
        seed=job.seed,
        log_dir=str(log) if log else None,
        gepa_kwargs=extra,
        **settings,
    )
    try:
        return optimizer.compile(job.student, trainset=job.shuffled(), valset=job.dev)
    finally:
        policy.hear()


def patches(job: Job) -> Any:
    """Patches made from the program's errors, each tested on dev before it is kept (ours)."""
    from goldassay.tuning.campaign import Patches
    from goldassay.tuning.proposing import Examples, Reflection, Rules

    proposers: list[Any] = [Rules(), Examples()]
    if job.reflection_lm is not None and job.reflection_lm is not dspy.settings.lm:
        proposers.insert(0, Reflection(job.reflection_lm))
    settings = job.take(proposers=proposers, threads=job.threads, seed=job.seed, held_out=job.held_out)
    optimizer = Patches(job.metric.metric, heard=job.metric.keep, **settings)
    try:
        return optimizer.compile(job.student, trainset=job.train, valset=job.dev)
    finally:
        job.ledger.patches += optimizer.ledger.patches
        job.ledger.entries += optimizer.ledger.entries
        job.ledger.failures += optimizer.ledger.failures


Optimizer = Callable[[Job], Any]
OPTIMIZERS: dict[str, Optimizer] = {
    "labeled": labeled,
    "knn": knn,
    "bootstrap": bootstrap,
    "mipro": mipro,
    "simba": simba,
    "copro": copro,
    "inferrules": inferrules,
    "gepa": gepa,
    "patches": patches,
}


def named(name: str) -> Optimizer:
    """The optimizer of that name."""
    try:
        return OPTIMIZERS[name]
    except KeyError:
        raise GoldassayError(f"no optimizer {name!r}; there are {', '.join(OPTIMIZERS)}") from None

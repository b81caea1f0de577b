"""DSPy's optimizers, and ours, under one name each, with budgets that suit small data.

Each function gets the job and returns a program. ``OPTIMIZERS`` maps the names of the command line to them.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
from dspy import teleprompt

from goldassay.exceptions import GoldassayError, MissingExtra
from goldassay.metric import Metric
from goldassay.tuning.acceptance import Ledger
from goldassay.tuning.measuring import evaluated
from goldassay.tuning.watch import REFERENCE, Credit
from goldassay.tuning.wrappers import NearestDemos

GIVEN = {
    "metric",
    "prompt_model",
    "reflection_lm",
    "trainset",
    "valset",
    "seed",
    "heard",
    "tell",
    "journal",
    "held_out",
}
"""What a tuning gives to its optimizer itself, and is no option."""


@dataclass(frozen=True)
class Job:
    """What an optimizer works on. ``train`` is shuffled by ``seed``; ``options`` go to the optimizer as they are."""

    student: dspy.Module
    train: list[dspy.Example]
    dev: list[dspy.Example]
    metric: Any
    reflection_lm: Any = None
    """The model that writes instructions."""
    reflects: bool = False
    """Whether it was named apart from the model that examples are run with."""
    threads: int = 1
    seed: int = 0
    folder: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)
    held_out: dict[str, list[dspy.Example]] = field(default_factory=dict)
    """The splits whose sentences no instruction may copy."""
    ledger: Ledger = field(default_factory=Ledger)
    """Where an optimizer that tries patches says what it tried."""

    def shuffled(self) -> list[dspy.Example]:
        """The train examples in the seed's order."""
        return random.Random(self.seed).sample(self.train, len(self.train))

    def take(self, kind: Callable[..., object] | None = None, **defaults: object) -> dict[str, Any]:
        """An optimizer's settings: the defaults with the user's options over them.

        An option has a name that the class ``kind`` knows, or that stands among the defaults.
        """
        parameters = {} if kind is None else inspect.signature(kind).parameters
        whose = getattr(kind, "__name__", "this optimizer")
        if not any(one.kind is one.VAR_KEYWORD and one.name[0] != "_" for one in parameters.values()):
            known = sorted(one for one in {*parameters, *defaults} - GIVEN if one[0] != "_")
            for name in self.options:
                if name not in known:
                    has = f"it has {', '.join(known)}" if known else "it has none"
                    raise GoldassayError(f"{whose} has no option {name!r}; {has}")
        for name, value in self.options.items():
            usual = defaults.get(name, parameters[name].default if name in parameters else None)
            if isinstance(usual, (int, float)) and not isinstance(usual, bool) and not isinstance(value, (int, float)):
                raise GoldassayError(f"option {name!r} of {whose} is a number, such as {usual}, not {value!r}")
        return {**defaults, **self.options}


def labeled(job: Job) -> dspy.Module:
    """Examples of train in the prompt, as labelled."""
    return teleprompt.LabeledFewShot(**job.take(teleprompt.LabeledFewShot, k=4)).compile(
        job.student, trainset=job.shuffled(), sample=False
    )


def knn(job: Job) -> dspy.Module:
    """For each input the most similar train examples in the prompt."""
    return NearestDemos(**job.take(NearestDemos, k=4)).compile(job.student, trainset=job.train)


def bootstrap(job: Job) -> dspy.Module:
    """Few-shot demonstrations that the program itself got right, chosen on dev by random search."""
    kind = teleprompt.BootstrapFewShotWithRandomSearch
    settings = job.take(
        kind, max_bootstrapped_demos=4, max_labeled_demos=4, num_candidate_programs=4, num_threads=job.threads
    )
    optimizer = kind(metric=job.metric, **settings)
    return optimizer.compile(job.student, trainset=job.shuffled(), valset=job.dev)


def mipro(job: Job) -> dspy.Module:
    """Instructions and demonstrations together, by Bayesian search (MIPROv2)."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise MissingExtra("optuna", "optuna") from None
    few = {"num_candidates": 4, "num_trials": 8, "max_bootstrapped_demos": 2, "max_labeled_demos": 2}
    settings = job.take(teleprompt.MIPROv2, auto=None, verbose=False, **few, num_threads=job.threads)
    trials = settings.pop("num_trials")
    if settings["auto"]:  # it sets both itself
        trials = settings["num_candidates"] = None
    optimizer = teleprompt.MIPROv2(metric=job.metric, prompt_model=job.reflection_lm, seed=job.seed, **settings)
    return optimizer.compile(
        job.student, trainset=job.shuffled(), valset=job.dev, num_trials=trials, minibatch=False, seed=job.seed
    )


def credited(job: Job) -> None:
    """Have single examples scored by what they add to the corpus value, beside the program as it is."""
    measured = job.metric.metric
    if isinstance(measured, Metric):
        some = job.dev[:REFERENCE]
        run = evaluated(job.student, some, measured, threads=job.threads, folder=None, progress=False)
        credit = Credit(run.evidence)
        job.metric.credit = credit if credit.changes else None


def simba(job: Job) -> dspy.Module:
    """Rules and demonstrations from the examples on which the program wavers (SIMBA)."""
    batch = min(16, len(job.train))
    few = {"num_candidates": 4, "max_steps": 4, "max_demos": 2}
    settings = job.take(teleprompt.SIMBA, bsize=batch, **few, num_threads=job.threads)
    if settings["bsize"] > len(job.train):
        raise GoldassayError(
            f"simba wants at least bsize={settings['bsize']} train examples; there are {len(job.train)}"
        )
    credited(job)
    optimizer = teleprompt.SIMBA(metric=job.metric, prompt_model=job.reflection_lm, **settings)
    return optimizer.compile(job.student, trainset=job.shuffled(), seed=job.seed)


def copro(job: Job) -> dspy.Module:
    """Instructions rewritten in rounds (COPRO)."""
    settings = job.take(teleprompt.COPRO, breadth=4, depth=2)
    optimizer = teleprompt.COPRO(prompt_model=job.reflection_lm, metric=job.metric, **settings)
    eval_kwargs = {"num_threads": job.threads, "display_progress": False, "display_table": 0}
    return optimizer.compile(job.student, trainset=job.dev, eval_kwargs=eval_kwargs)


def inferrules(job: Job) -> dspy.Module:
    """Rules induced from demonstrations and put into the instructions (InferRules)."""
    settings = job.take(teleprompt.InferRules, num_candidates=3, num_rules=6, num_threads=job.threads)
    optimizer = teleprompt.InferRules(metric=job.metric, max_bootstrapped_demos=2, max_labeled_demos=2, **settings)
    if job.reflection_lm is not None:
        optimizer.rules_induction_program.teacher_settings = {"lm": job.reflection_lm}
    compiled: Any = optimizer.compile(job.student, trainset=job.shuffled(), valset=job.dev)
    return compiled


def gepa(job: Job) -> dspy.Module:
    """Instructions evolved by reflection on the metric's feedback (GEPA)."""
    from goldassay.tuning import gepa as evolution
    from goldassay.tuning.gepa import PairedAcceptance

    batch = min(8, len(job.train))
    whole: dict[str, int] = {"max_metric_calls": 8 * len(job.dev) + 20 * batch}
    if {"auto", "max_full_evals"} & job.options.keys():  # GEPA takes one of the three
        whole = {}
    settings = job.take(dspy.GEPA, **whole, reflection_minibatch_size=batch)
    if job.reflection_lm is None and "instruction_proposer" not in settings:
        raise GoldassayError("gepa reflects with a language model: give --reflection-lm (or --lm)")
    log = job.folder / "gepa" if job.folder else None
    values = log / "corpus.json" if log else None
    for candidate, value in evolution.read(values) if values and values.is_file() else []:
        job.metric.keep(value, evolution.with_instructions(job.student, candidate))
    if log:
        evolution.check_state(log)
    credited(job)
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


def patches(job: Job) -> dspy.Module:
    """Edits made from the program's errors, in bundles that are tested before they are kept (ours)."""
    from goldassay.tuning.teleprompter import Patches

    settings = job.take(
        Patches,
        reflection_lm=job.reflection_lm if job.reflects else None,
        threads=job.threads,
        seed=job.seed,
        held_out={name: part for name, part in job.held_out.items() if name != "dev"},
        journal=job.folder / "measured.jsonl" if job.folder else None,
    )
    optimizer = Patches(job.metric.metric, heard=job.metric.keep, tell=job.metric.say, **settings)
    try:
        return optimizer.compile(job.student, trainset=job.train, valset=job.dev)
    finally:
        for name in ("patches", "entries", "failures", "patterns"):
            getattr(job.ledger, name).extend(getattr(optimizer.ledger, name))
        job.ledger.verdict = optimizer.ledger.verdict


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


ALSO = {
    "MIPROv2": "mipro",
    "BootstrapFewShotWithRandomSearch": "bootstrap",
    "LabeledFewShot": "labeled",
    "SIMBA": "simba",
    "COPRO": "copro",
    "InferRules": "inferrules",
    "GEPA": "gepa",
    "Patches": "patches",
}
"""DSPy's own names for what stands here with budgets that suit small data."""


def named(name: object) -> Optimizer:
    """The optimizer of that name: ours, DSPy's own name of a class, or an optimizer object."""
    if not isinstance(name, str):
        return _given(name)
    if name in OPTIMIZERS or ALSO.get(name) in OPTIMIZERS:
        return OPTIMIZERS[ALSO.get(name, name)]
    found = getattr(teleprompt, name, None)
    if isinstance(found, type) and issubclass(found, teleprompt.Teleprompter):
        return _made(found)
    raise GoldassayError(f"no optimizer {name!r}; there are {', '.join(OPTIMIZERS)}, and DSPy's own names")


def called(optimizer: object) -> str:
    """The name that a tuning is saved under."""
    return ALSO.get(optimizer, optimizer) if isinstance(optimizer, str) else type(optimizer).__name__


def _made(kind: type[Any]) -> Optimizer:
    """An optimizer of DSPy by its class: what it wants of metric, models, threads and train is given to it."""

    def run(job: Job) -> Any:
        known = {"metric": job.metric, "prompt_model": job.reflection_lm, "reflection_lm": job.reflection_lm}
        known |= {"num_threads": job.threads, "seed": job.seed, "trainset": job.shuffled()}
        wanted = inspect.signature(kind).parameters
        settings = job.take(kind, **{name: value for name, value in known.items() if name in wanted})
        if "k" in wanted and wanted["k"].default is inspect.Parameter.empty:
            settings.setdefault("k", 4)
        return _compiled(kind(**settings), job)

    run.__name__ = kind.__name__
    return run


def _given(optimizer: Any) -> Optimizer:
    """An optimizer object: its own settings, scored by the metric of this tuning."""
    if not hasattr(optimizer, "compile"):
        raise GoldassayError(f"an optimizer has a compile method; {type(optimizer).__name__} has none")

    def run(job: Job) -> Any:
        made = copy(optimizer)
        if hasattr(made, "metric") and not hasattr(made, "ledger"):
            made.metric = job.metric
        found = _compiled(made, job)
        if hasattr(made, "ledger"):
            vars(job.ledger).update(vars(made.ledger))
        return found

    run.__name__ = type(optimizer).__name__
    return run


def _compiled(optimizer: Any, job: Job) -> Any:
    known: dict[str, Any] = {"trainset": job.shuffled(), "valset": job.dev, "seed": job.seed}
    known["eval_kwargs"] = {"num_threads": job.threads, "display_progress": False, "display_table": 0}
    wanted = inspect.signature(optimizer.compile).parameters
    return optimizer.compile(job.student, **{name: value for name, value in known.items() if name in wanted})

"""DSPy's optimizers, and ours, under one name each, with budgets that suit small data.

Each is a function from a `Job` to a program; ``OPTIMIZERS`` has them by the names of the command line. GEPA and SIMBA,
which select by single examples, see credits (`goldassay.tuning.watch`).
"""

from __future__ import annotations

import inspect
import io
import json
import pickle
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import dspy
from dspy import Example, Module, teleprompt

from goldassay._support import extensions, jsonl
from goldassay._support.dspy_compat import copy_program, signature_of
from goldassay._support.exceptions import DataError, GoldassayError, MissingExtra, RunStopped, one_line
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.metric import AnyMetric, Metric
from goldassay.models.lm import bound_model
from goldassay.results.view import p_value
from goldassay.running.account import Account
from goldassay.running.budget import BudgetSpent, EndpointDown, Meter
from goldassay.running.guard import guarded, unguarded
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import check_program
from goldassay.statistics.sequential import Bets
from goldassay.tuning.campaign import Patches, PatchOptions
from goldassay.tuning.measuring import MOST_MEASURED, QUIET_OPTIONS, TuneOptions, evaluated, race_calls
from goldassay.tuning.patches import Ledger
from goldassay.tuning.watch import REFERENCE, Credit, Unreachable, Watch
from goldassay.tuning.wrappers import NearestDemos, check_shown, demonstrations

OWN = {"metric", "prompt_model", "reflection_lm", "trainset", "valset", "seed", "held_out", "journal"}
OWN |= {"on_candidate", "on_progress"}  # what a tuning gives to its optimizer itself, and is not a setting
PLAIN = ("set", "frozenset", "dict", "list", "tuple", "int", "float", "str")  # classes that GEPA's state may name


@dataclass
class Job:
    """The program, splits and models of an optimizer. ``settings`` go to the optimizer as they are."""

    student: Module
    train: list[Example]
    dev: list[Example]
    metric: Watch
    writer: dspy.BaseLM | None = None
    """The model that writes instructions."""
    reflects: bool = False
    """Whether it was named apart from the model that runs the examples."""
    threads: int = 1
    seed: int = 0
    folder: Path | None = None
    settings: Record = field(default_factory=dict)
    held_out: dict[str, list[Example]] = field(default_factory=dict)
    """The splits besides dev that no edit may show or copy."""
    ledger: Ledger = field(default_factory=Ledger)
    """The patches that were tried, if the optimizer tries any."""

    def merged(self, kind: Kind, **defaults: Any) -> Fields:
        """An optimizer's settings: the defaults with the user's settings over them.

        Raises:
            GoldassayError: A setting has a name that ``kind`` does not take, and that is not among the defaults.
        """
        parameters = inspect.signature(kind).parameters
        names = sorted(key for key in {*parameters, *defaults} - OWN if key[0] != "_")
        anything = any(p.kind is p.VAR_KEYWORD and p.name[0] != "_" for p in parameters.values())
        if not anything and (unknown := [key for key in self.settings if key not in names]):
            has = f"it has {', '.join(names)}" if names else "it has none"
            name = "Patches" if kind is PatchOptions else kind.__name__
            raise GoldassayError(f"{name} has no option {unknown[0]!r}; {has}")
        return {**defaults, **self.settings}

    def run(self, kind: Kind, *, compile_with: JsonObject | None = None, **defaults: Any) -> Module:
        """The program that an optimizer of this class makes.

        Of metric, models, threads, seed and trainset its constructor gets those that it names.
        """
        offered = {
            "metric": self.metric,
            "prompt_model": self.writer,
            "reflection_lm": self.writer,
            "seed": self.seed,
            "num_threads": self.threads,
            "trainset": self.train,
        }
        parameters = inspect.signature(kind).parameters
        accepted = {key: value for key, value in offered.items() if key in parameters}
        if "k" in parameters and parameters["k"].default is inspect.Parameter.empty:
            accepted["k"] = 4
        return self.compiled(kind(**self.merged(kind, **{**accepted, **defaults})), **(compile_with or {}))

    def compiled(self, optimizer: teleprompt.Teleprompter, **more: Any) -> Module:
        """The program that an optimizer makes.

        Of splits, seed and the options of an evaluation its ``compile`` gets those that it names.
        """
        offered = {
            "trainset": random.Random(self.seed).sample(self.train, len(self.train)),
            "valset": self.dev,
            "seed": self.seed,
            "eval_kwargs": {"num_threads": self.threads, "display_progress": False, "display_table": 0},
        }
        parameters = inspect.signature(optimizer.compile).parameters
        accepted = {key: value for key, value in offered.items() if key in parameters}
        return optimizer.compile(self.student, **{**accepted, **more})

    def use_credit(self) -> None:
        """Have single examples scored by what they add to the corpus value of the program as it is."""
        measured = self.metric.metric
        if isinstance(measured, Metric):
            run = evaluated(self.student, self.dev[:REFERENCE], measured, QUIET_OPTIONS.changed(threads=self.threads))
            credit = Credit(run.evidence)
            self.metric.credit = credit if credit.changes else None


Kind = Callable[..., Any]
"""The class of an optimizer, or of its options."""


def mipro(job: Job) -> Module:
    """Instructions and demonstrations together, by Bayesian search (MIPROv2).

    Raises:
        MissingExtra: Optuna is not installed.
    """
    if find_spec("optuna") is None:
        raise MissingExtra("optuna", "optuna")
    settings = job.merged(
        teleprompt.MIPROv2,
        auto=None,
        verbose=False,
        num_candidates=4,
        num_trials=8,
        max_bootstrapped_demos=2,
        max_labeled_demos=2,
        num_threads=job.threads,
    )
    trials = settings.pop("num_trials")
    if settings["auto"]:  # it sets both itself
        trials = None
        settings["num_candidates"] = None
    optimizer = teleprompt.MIPROv2(metric=job.metric, prompt_model=job.writer, seed=job.seed, **settings)
    return job.compiled(optimizer, num_trials=trials, minibatch=False)


def simba(job: Job) -> Module:
    """Rules and demonstrations from the examples on which the program wavers (SIMBA).

    Raises:
        GoldassayError: Train has fewer examples than a batch.
    """
    batch = job.settings.get("bsize", min(16, len(job.train)))
    if batch > len(job.train):
        raise GoldassayError(f"simba needs at least bsize={batch} train examples; there are {len(job.train)}")
    job.use_credit()
    return job.run(teleprompt.SIMBA, bsize=batch, num_candidates=4, max_steps=4, max_demos=2)


def inferrules(job: Job) -> Module:
    """Rules induced from demonstrations and put into the instructions (InferRules)."""
    settings = job.merged(teleprompt.InferRules, num_candidates=3, num_rules=6, num_threads=job.threads)
    optimizer = teleprompt.InferRules(metric=job.metric, max_bootstrapped_demos=2, max_labeled_demos=2, **settings)
    if job.writer is not None:
        optimizer.rules_induction_program.teacher_settings = {"lm": job.writer}
    return job.compiled(optimizer)


def gepa(job: Job) -> Module:
    """Instructions evolved by reflection on the metric's feedback (GEPA), selected by their corpus value on dev.

    Raises:
        GoldassayError: There is no model to reflect with.
        DataError: The folder holds a state of GEPA that is not plain data.
    """
    batch = min(8, len(job.train))
    calls = {"max_metric_calls": 8 * len(job.dev) + 20 * batch}
    if {"auto", "max_full_evals"} & job.settings.keys():  # GEPA takes one of the three
        calls = {}
    settings = job.merged(dspy.GEPA, **calls, reflection_minibatch_size=batch)
    if job.writer is None and "instruction_proposer" not in settings:
        raise GoldassayError("gepa reflects with a language model: name one (`reflection_lm=MODEL` or `lm=MODEL`)")
    if job.folder:
        log = job.folder / "gepa"
        journal = log / "corpus.json"
        settings["log_dir"] = str(log)
        job.metric.journal = journal
        for candidate, value in jsonl.value(journal.read_bytes()) if journal.is_file() else ():
            job.metric.keep(value, with_instructions(job.student, candidate))
        check_gepa_state(log)
    job.use_credit()
    settings |= {"metric": job.metric, "reflection_lm": job.writer, "num_threads": job.threads, "seed": job.seed}
    evolved = job.compiled(dspy.GEPA(**settings))
    if not job.metric.candidates:
        return evolved
    best, _ = max(job.metric.candidates, key=lambda pair: pair[1])  # GEPA itself goes by the mean of the examples
    return with_instructions(job.student, best)


def patches(job: Job) -> Module:
    """Edits made from the program's errors, in bundles that are tested before they are kept (ours)."""
    settings = job.merged(
        PatchOptions,
        reflection_lm=job.writer if job.reflects else None,
        threads=job.threads,
        seed=job.seed,
        held_out=job.held_out,
        journal=job.folder / "measured.jsonl" if job.folder else None,
        on_candidate=job.metric.keep,
        on_progress=job.metric.show,
    )
    optimizer = Patches(job.metric.metric, **settings)
    try:
        return optimizer.compile(job.student, trainset=job.train, valset=job.dev)
    finally:
        job.ledger = optimizer.ledger


FEW_SHOT: Fields = {"max_bootstrapped_demos": 4, "max_labeled_demos": 4, "num_candidate_programs": 4}
PASSES = 8  # over all examples, that a campaign makes: as it is, bundles, leave-one-out, the nearest


@dataclass(frozen=True)
class Optimizer:
    """An optimizer, with what `goldassay.tuning.tuner` and `goldassay.tuning.plan` need to know of it.

    Args:
        name: Its name on the command line, under which a tuning is saved.
        optimize: Makes a program from a `Job`.
        dspy_name: DSPy's own name of its class, if that is not the name in capitals.
        chooses: Whether it chooses its program on dev, whose value is then a flattering one; else it costs no calls.
        writes: Whether a model writes instructions for it.
        resumes: Whether it keeps a state to resume.
        calls: From the examples of train and dev: the calls that do not depend on ``setting``, the calls for each unit
            of it, and its default.
        setting: The setting by which its calls grow.
        least: The smallest useful value of ``setting``.
    """

    name: str
    optimize: Callable[[Job], Module]
    dspy_name: str = ""
    chooses: bool = True
    writes: bool = True
    resumes: bool = False
    calls: Callable[[int, int], tuple[int, int, int]] = lambda train, dev: (2 * dev + 4 * min(train, 20), dev, 8)
    setting: str = ""
    least: int = 2


_OPTIMIZERS = (
    Optimizer(
        "labeled",
        lambda job: job.run(teleprompt.LabeledFewShot, k=4, compile_with={"sample": False}),
        dspy_name="LabeledFewShot",
        chooses=False,
        writes=False,
    ),
    Optimizer(
        "knn",
        lambda job: job.run(NearestDemos, compile_with={"trainset": job.train}, k=4),
        chooses=False,
        writes=False,
    ),
    Optimizer(
        "bootstrap",
        lambda job: job.run(teleprompt.BootstrapFewShotWithRandomSearch, **FEW_SHOT),
        dspy_name="BootstrapFewShotWithRandomSearch",
        writes=False,
        calls=lambda train, dev: (3 * dev + 5 * min(train, 20), dev, 4),
        setting="num_candidate_programs",
    ),
    Optimizer("mipro", mipro, dspy_name="MIPROv2", setting="num_trials"),
    Optimizer(
        "simba",
        simba,
        calls=lambda train, dev: (5 * train, 9 * min(16, train), 4),
        setting="max_steps",
    ),
    Optimizer(
        "copro",
        lambda job: job.run(teleprompt.COPRO, compile_with={"trainset": job.dev}, breadth=4, depth=2),
        calls=lambda train, dev: (0, 3 * dev, 4),
        setting="breadth",
    ),
    Optimizer(
        "inferrules",
        inferrules,
        calls=lambda train, dev: (5 * dev + 2 * min(train, 20), dev, 3),
        setting="num_candidates",
    ),
    Optimizer(
        "gepa",
        gepa,
        resumes=True,
        calls=lambda train, dev: (0, 1, 8 * dev + 20 * min(8, train)),
        setting="max_metric_calls",
    ),
    Optimizer(
        "patches",
        patches,
        resumes=True,
        calls=lambda train, dev: (race_calls(train // 3), PASSES, MOST_MEASURED),
        setting="most",
        least=20,  # train examples of a campaign: fewer show no edit to be better, so it rather makes fewer passes
    ),
)
OPTIMIZERS = {optimizer.name: optimizer for optimizer in _OPTIMIZERS}
"""The optimizers that have budgets for small data, by name."""


def resolve(optimizer: str | teleprompt.Teleprompter) -> Optimizer:
    """An optimizer: ours, an extension's, a class of DSPy, or an object.

    Raises:
        GoldassayError: There is no optimizer of this name, or the object has no ``compile``.
    """
    if not isinstance(optimizer, str):
        if isinstance(optimizer, type) or not callable(getattr(optimizer, "compile", None)):
            hint = f"; write {optimizer.__name__}(…)" if isinstance(optimizer, type) else ""
            raise GoldassayError(f"an optimizer is an object with a compile method, not {optimizer!r}{hint}")
        return Optimizer(type(optimizer).__name__, partial(_run_object, optimizer))
    for candidate in OPTIMIZERS.values():
        if optimizer == candidate.dspy_name or optimizer.lower() == candidate.name:
            return candidate
    others = extensions.registered("optimizers")
    if optimizer in others:
        return Optimizer(optimizer, extensions.load(others[optimizer]))
    kind = getattr(teleprompt, optimizer, None)
    if isinstance(kind, type) and issubclass(kind, teleprompt.Teleprompter):
        return Optimizer(optimizer, lambda job: job.run(kind))
    names = ", ".join([*OPTIMIZERS, *others])
    raise GoldassayError(f"no optimizer {optimizer!r}; there are {names}, and DSPy's own names")


def _run_object(optimizer: teleprompt.Teleprompter, job: Job) -> Module:
    """An optimizer object with its own settings, scored by the metric of this tuning."""
    copied: Any = copy(optimizer)
    if type(copied).__name__ in ("SIMBA", "GEPA", "ReAnchor"):  # those that select by the scores of single examples
        job.use_credit()
    if isinstance(copied, Patches):  # it measures by its own metric
        program = job.compiled(copied)
        job.ledger = copied.ledger
        return program
    if "metric" in vars(copied):
        copied.metric = job.metric
    return job.compiled(copied)


def optimized(
    optimizer: Optimizer,
    program: Module,
    splits: dict[str, list[Example]],
    metric: AnyMetric,
    options: TuneOptions,
    meter: Meter,
    guard: Callable[[str, object], object] | None = None,
) -> tuple[Job, Module, str]:
    """The job, the program that an optimizer makes (or the best one so far), and why it was stopped.

    Args:
        optimizer: The optimizer.
        program: The program as it is.
        splits: Examples of train, dev and test.
        metric: What measures it.
        options: How it works.
        meter: Counts every call.
        guard: Wraps the model of a role, ``task`` or ``reflection``.

    Raises:
        GoldassayError: The optimizer failed, changed nothing, or its program shows none of its examples.
        LeakError: Its program shows an example of dev or test.
        RunStopped: A model answers no more.
    """
    room = 500  # tokens of an answer that writes instructions
    stopped = ""
    with ExitStack() as stack:
        watch = stack.enter_context(Watch(metric, splits["dev"], options.progress))
        lm = options.lm or dspy.settings.lm or bound_model(program)
        reflection = options.reflection_lm
        writer: Any = reflection or lm
        most = getattr(writer, "kwargs", {}).get("max_tokens")
        if reflection is None and most is not None and most < room:  # short answers would cut instructions off
            writer = writer.copy(max_tokens=room)
        if guard is not None:
            lm = guard("task", lm)
            writer = guard("reflection", writer)
        callbacks = [*dspy.settings.get("callbacks", []), watch]
        adapter = options.adapter or dspy.settings.adapter
        stack.enter_context(dspy.context(callbacks=callbacks, lm=lm, adapter=adapter))
        stack.enter_context(Account(meter).open())
        job = Job(
            student=guarded(program),
            train=demonstrations(program, splits["train"]),
            dev=splits["dev"],
            metric=watch,
            writer=writer,
            reflects=reflection is not None and reflection is not options.lm,
            threads=options.threads,
            seed=options.seed,
            folder=options.folder,
            settings=dict(options.settings),
            held_out={"test": splits["test"]},
        )
        try:
            result = optimizer.optimize(job)
        except EndpointDown as down:
            raise RunStopped(str(down)) from None
        except BudgetSpent as spent:
            if meter.unpriced and "usd" in meter.limits:
                raise GoldassayError(str(spent)) from None
            stopped = str(spent)
            result = watch.best[1] if watch.best else job.student
        except GoldassayError:
            raise
        except (Exception, Unreachable) as error:
            watch.check()
            cause = error if str(error) else error.__context__ or error  # DSPy asserts without a message
            raise GoldassayError(f"{optimizer.name} failed: {one_line(cause)}") from error
    watch.check()
    check_shown(result, job.student, job.train)
    if watch.note and not (stopped or job.ledger.patches) and fingerprint(result) == fingerprint(job.student):
        raise GoldassayError(f"{optimizer.name} changed nothing: {watch.note}")
    result = unguarded(result)
    check_program(result, {"dev": splits["dev"], "test": splits["test"]}, "the tuned program")
    return job, result, stopped


def with_instructions(program: Module, candidate: Mapping[str, str]) -> Module:
    """A copy of the program with a candidate's instructions."""
    program = copy_program(program)
    for name, predictor in program.named_predictors():
        if name in candidate:
            predictor.signature = signature_of(predictor).with_instructions(candidate[name])
    return program


def check_gepa_state(folder: Path) -> bool:
    """Whether GEPA's state (a pickle) is there.

    Raises:
        DataError: It holds anything but plain data.
    """
    file = folder / "gepa_state.bin"
    if not file.is_file():
        return False
    try:
        _PlainUnpickler(io.BytesIO(file.read_bytes())).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError) as error:
        raise DataError(f"not the state of a GEPA tuning: {error}", file=file) from None
    return True


class _PlainUnpickler(pickle.Unpickler):
    """Knows no class but plain containers, so that a file from elsewhere is refused before anything in it can run."""

    def find_class(self, module: str, name: str) -> object:
        """A plain class; any other one raises an error."""
        if module == "builtins" and name in PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}, and only plain data is read")


ACCEPT_ALPHA = 0.2  # a candidate that is accepted is measured on all of dev, where GEPA chooses


class Proposal(Protocol):
    """The fields of GEPA's ``CandidateProposal`` that are read."""

    candidate: Mapping[str, str]
    parent_program_ids: Sequence[int]
    subsample_scores_before: Sequence[float] | None
    subsample_scores_after: Sequence[float] | None


class Accept:
    """An acceptance criterion for GEPA: a paired sequential test in place of the larger sum over a minibatch.

    GEPA accepts a candidate whose scores on a minibatch of a few examples have the larger sum, which one of two
    candidates that change nothing reaches where scores vary. This keeps the pairs of scores of every minibatch that a
    candidate and its parents saw, and accepts when a test by betting (`goldassay.statistics.sequential`) reaches
    ``alpha``: of candidates that are as good as their parents at most ``alpha`` are ever accepted, however often they
    are proposed. With minibatches of eight .043 of such candidates pass the first one, and .41 by the sum; of
    candidates that gain .2, .17 and .72 (``benchmarks/arena.py accept``, 2,000 draws).

    ``dspy.GEPA(…, gepa_kwargs={"acceptance_criterion": Accept()}, reflection_minibatch_size=8)``. With ``alpha`` .2 it
    takes at least four gains without a loss, so a minibatch of GEPA's three accepts nothing. In
    ``goldassay.tune(…, "gepa", settings={"gepa_kwargs": …})`` scores are what each example adds to the corpus value.

    Args:
        alpha: The chance of accepting a candidate that is as good as its parents.

    Raises:
        GoldassayError: ``alpha`` is not between 0 and 1.
    """

    def __init__(self, alpha: float = ACCEPT_ALPHA) -> None:
        if not 0 < alpha < 1:
            raise GoldassayError(f"alpha lies between 0 and 1, not {alpha:g}")
        self.alpha = alpha
        self._bets = defaultdict[str, Bets](Bets)

    def should_accept(self, proposal: Proposal, state: object) -> bool:
        """Whether the evidence of all minibatches so far reaches the level."""
        bets = self._bets[_key(proposal)]
        before = proposal.subsample_scores_before or []
        after = proposal.subsample_scores_after or []
        bets.extend(float(new) - float(old) for new, old in zip(after, before, strict=True))
        return bets.p <= self.alpha

    def reject_reason(self, proposal: Proposal, state: object) -> str:
        """The evidence so far, for GEPA's log."""
        bets = self._bets[_key(proposal)]
        return f"p {p_value(bets.p)} on {bets.n} examples, {self.alpha:g} is needed"


def _key(proposal: Proposal) -> str:
    """The candidate and its parents."""
    return json.dumps([sorted(proposal.candidate.items()), list(proposal.parent_program_ids)])

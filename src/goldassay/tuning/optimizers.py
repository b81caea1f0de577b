"""DSPy's optimizers, and ours, under one name each, with budgets that suit small data; and a `Watch` over their work.

Each function gets the job and returns a program. ``OPTIMIZERS`` maps the names of the command line to them.

An optimizer that selects by the mean of the examples' own F1 selects something else than micro-F1: a text with one name
weighs as much as one with fifty. So it gets each example's credit for the corpus value (`Credit`): its pseudo-value
beside a reference, the evidence S of n examples of the program as it was (Quenouille 1956, Tukey 1958):

    credit(t) = (n + 1) V(S + t) − n V(S)

For a mean it is the example's own value. For any value of sums it is, to first order, V(S) plus the example's
influence, so the mean of a candidate's credits is the candidate's corpus value, linearised at the reference. GEPA's
minibatches and frontier, SIMBA's buckets and ReAnchor's averages see these numbers; what goes through ``dspy.Evaluate``
(bootstrapping with random search, MIPROv2, COPRO, InferRules) is the corpus value itself, since scores add to a
`goldassay.corpus_score.Total`.
"""

from __future__ import annotations

import inspect
import io
import json
import pickle
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy
from dspy import Example, Module, teleprompt

from goldassay import jsonl
from goldassay._dspy_compat import BaseCallback
from goldassay.corpus_score import Score
from goldassay.exceptions import DataError, GoldassayError, MissingExtra, ModelError, one_line
from goldassay.measure import failed
from goldassay.metric import Metric, extra_arguments, failed_with
from goldassay.progress import bar, heartbeat, standard_error
from goldassay.tally import Evidence
from goldassay.tuning.campaign import Patches, PatchOptions
from goldassay.tuning.measuring import QUIET, evaluated
from goldassay.tuning.patches import Ledger
from goldassay.tuning.wrappers import Examples, NearestDemos

if TYPE_CHECKING:
    import dspy


OWN = {"metric", "prompt_model", "reflection_lm", "trainset", "valset", "seed", "held_out", "journal"}
OWN |= {"on_candidate", "on_progress"}  # what a tuning gives to its optimizer itself, and is no setting
BY_EXAMPLE = ("SIMBA", "GEPA", "ReAnchor")  # DSPy's optimizers that select by the scores of single examples
PLAIN = ("set", "frozenset", "dict", "list", "tuple", "int", "float", "str")


@dataclass(frozen=True)
class Job:
    """What an optimizer works on. ``settings`` go to the optimizer as they are."""

    student: Module
    train: list[Example]
    dev: list[Example]
    metric: Watch
    writer: Any = None
    """The model that writes instructions."""
    reflects: bool = False
    """Whether it was named apart from the model that runs the examples."""
    threads: int = 1
    seed: int = 0
    folder: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: dict[str, list[Example]] = field(default_factory=dict)
    """The splits, beside dev, that no edit may show or copy."""
    ledger: Ledger = field(default_factory=Ledger)
    """Where an optimizer that tries patches says what it tried."""

    def merged(self, kind: Any, **defaults: Any) -> dict[str, Any]:
        """An optimizer's settings: the defaults with the user's settings over them.

        A setting has a name that ``kind`` takes, or that is among the defaults.
        """
        parameters = inspect.signature(kind).parameters
        names = sorted(key for key in {*parameters, *defaults} - OWN if key[0] != "_")
        anything = any(p.kind is p.VAR_KEYWORD and p.name[0] != "_" for p in parameters.values())
        if not anything and (unknown := [key for key in self.settings if key not in names]):
            has = f"it has {', '.join(names)}" if names else "it has none"
            raise GoldassayError(
                f"{kind.__name__.replace('PatchOptions', 'Patches')} has no option {unknown[0]!r}; {has}"
            )
        return {**defaults, **self.settings}

    def run(self, kind: Any, *, compile_with: Mapping[str, Any] | None = None, **defaults: Any) -> Any:
        """The program that an optimizer of this class makes.

        What the constructor wants of metric, models, threads and seed it gets by name.
        """
        common = {"metric": self.metric, "prompt_model": self.writer, "reflection_lm": self.writer, "seed": self.seed}
        common |= {"num_threads": self.threads, "trainset": self.train}
        parameters = inspect.signature(kind).parameters
        accepted = {key: value for key, value in common.items() if key in parameters}
        if "k" in parameters and parameters["k"].default is inspect.Parameter.empty:
            accepted["k"] = 4
        return self.compiled(kind(**self.merged(kind, **{**accepted, **defaults})), **(compile_with or {}))

    def compiled(self, optimizer: Any, **more: Any) -> Any:
        """The program that an optimizer makes; ``compile`` gets what it wants of splits, seed and evaluation."""
        quiet = {"num_threads": self.threads, "display_progress": False, "display_table": 0}
        shuffled = random.Random(self.seed).sample(self.train, len(self.train))
        common: dict[str, Any] = {"trainset": shuffled, "valset": self.dev, "seed": self.seed, "eval_kwargs": quiet}
        parameters = inspect.signature(optimizer.compile).parameters
        accepted = {key: value for key, value in common.items() if key in parameters}
        return optimizer.compile(self.student, **{**accepted, **more})

    def use_credit(self) -> None:
        """Have single examples scored by what they add to the corpus value of the program as it is."""
        measured = self.metric.metric
        if isinstance(measured, Metric):
            run = evaluated(self.student, self.dev[:REFERENCE], measured, QUIET.changed(threads=self.threads))
            credit = Credit(run.evidence)
            self.metric.credit = credit if credit.changes else None


def mipro(job: Job) -> Any:
    """Instructions and demonstrations together, by Bayesian search (MIPROv2)."""
    if find_spec("optuna") is None:
        raise MissingExtra("optuna", "optuna")
    few: dict[str, Any] = {"num_candidates": 4, "num_trials": 8, "max_bootstrapped_demos": 2, "max_labeled_demos": 2}
    settings = job.merged(teleprompt.MIPROv2, auto=None, verbose=False, **few, num_threads=job.threads)
    trials = settings.pop("num_trials")
    if settings["auto"]:  # it sets both itself
        trials = settings["num_candidates"] = None
    optimizer = teleprompt.MIPROv2(metric=job.metric, prompt_model=job.writer, seed=job.seed, **settings)
    return job.compiled(optimizer, num_trials=trials, minibatch=False)


def simba(job: Job) -> Any:
    """Rules and demonstrations from the examples on which the program wavers (SIMBA)."""
    batch = job.settings.get("bsize", min(16, len(job.train)))
    if batch > len(job.train):
        raise GoldassayError(f"simba needs at least bsize={batch} train examples; there are {len(job.train)}")
    job.use_credit()
    return job.run(teleprompt.SIMBA, bsize=batch, num_candidates=4, max_steps=4, max_demos=2)


def inferrules(job: Job) -> Any:
    """Rules induced from demonstrations and put into the instructions (InferRules)."""
    settings = job.merged(teleprompt.InferRules, num_candidates=3, num_rules=6, num_threads=job.threads)
    optimizer = teleprompt.InferRules(metric=job.metric, max_bootstrapped_demos=2, max_labeled_demos=2, **settings)
    if job.writer is not None:
        optimizer.rules_induction_program.teacher_settings = {"lm": job.writer}
    return job.compiled(optimizer)


def gepa(job: Job) -> Any:
    """Instructions evolved by reflection on the metric's feedback (GEPA), selected by their corpus value on dev."""
    batch = min(8, len(job.train))
    calls: dict[str, int] = {"max_metric_calls": 8 * len(job.dev) + 20 * batch}
    if {"auto", "max_full_evals"} & job.settings.keys():  # GEPA takes one of the three
        calls = {}
    settings = job.merged(dspy.GEPA, **calls, reflection_minibatch_size=batch)
    if job.writer is None and "instruction_proposer" not in settings:
        raise GoldassayError("gepa reflects with a language model: name one (`reflection_lm=MODEL` or `lm=MODEL`)")
    if job.folder:
        log = job.folder / "gepa"
        settings["log_dir"], job.metric.journal = str(log), log / "corpus.json"
        for candidate, value in jsonl.value(job.metric.journal.read_bytes()) if job.metric.journal.is_file() else ():
            job.metric.keep(value, with_instructions(job.student, candidate))
        check_gepa_state(log)
    job.use_credit()
    more = {"metric": job.metric, "reflection_lm": job.writer, "num_threads": job.threads, "seed": job.seed}
    evolved = job.compiled(dspy.GEPA(**more, **settings))
    if not job.metric.candidates:
        return evolved
    best, _ = max(job.metric.candidates, key=lambda pair: pair[1])  # GEPA itself goes by the mean of the examples
    return with_instructions(job.student, best)


def patches(job: Job) -> Any:
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
        vars(job.ledger).update(vars(optimizer.ledger))


Optimizer = Callable[[Job], Any]
FEW_SHOT: dict[str, Any] = {"max_bootstrapped_demos": 4, "max_labeled_demos": 4, "num_candidate_programs": 4}
OPTIMIZERS: dict[str, Optimizer] = {
    "labeled": lambda job: job.run(teleprompt.LabeledFewShot, k=4, compile_with={"sample": False}),
    "knn": lambda job: job.run(NearestDemos, compile_with={"trainset": job.train}, k=4),
    "bootstrap": lambda job: job.run(teleprompt.BootstrapFewShotWithRandomSearch, **FEW_SHOT),
    "mipro": mipro,
    "simba": simba,
    "copro": lambda job: job.run(teleprompt.COPRO, compile_with={"trainset": job.dev}, breadth=4, depth=2),
    "inferrules": inferrules,
    "gepa": gepa,
    "patches": patches,
}
BLIND = ("labeled", "knn")  # they choose without dev, whose value is an honest one
ALIASES = {"MIPROv2": "mipro", "BootstrapFewShotWithRandomSearch": "bootstrap", "LabeledFewShot": "labeled"}
ALIASES |= {name: name.lower() for name in ("SIMBA", "COPRO", "InferRules", "GEPA", "Patches")}
"""DSPy's own names of the optimizers that stand here with budgets for small data."""


def resolve(optimizer: object) -> tuple[str, Optimizer]:
    """The name under which a tuning is saved, and the optimizer: one of ours, a class of DSPy by name, or an object."""
    if not isinstance(optimizer, str):
        if not hasattr(optimizer, "compile"):
            raise GoldassayError(f"an optimizer has a compile method; {type(optimizer).__name__} has none")
        return type(optimizer).__name__, partial(_run_object, optimizer)
    name = ALIASES.get(optimizer, optimizer)
    if name in OPTIMIZERS:
        return name, OPTIMIZERS[name]
    kind: Any = getattr(teleprompt, name, None)
    if isinstance(kind, type) and issubclass(kind, teleprompt.Teleprompter):
        return name, lambda job: job.run(kind)
    raise GoldassayError(f"no optimizer {name!r}; there are {', '.join(OPTIMIZERS)}, and DSPy's own names")


def _run_object(optimizer: Any, job: Job) -> Any:
    """An optimizer object with its own settings, scored by the metric of this tuning."""
    own = copy(optimizer)
    if type(own).__name__ in BY_EXAMPLE:
        job.use_credit()
    if hasattr(own, "metric") and not hasattr(own, "ledger"):
        own.metric = job.metric
    program = job.compiled(own)
    if hasattr(own, "ledger"):
        vars(job.ledger).update(vars(own.ledger))
    return program


def with_instructions(program: Any, candidate: Mapping[str, str]) -> Module:
    """A copy of the program with a candidate's instructions."""
    program = program.deepcopy()
    for name, predictor in program.named_predictors():
        if name in candidate:
            predictor.signature = predictor.signature.with_instructions(candidate[name])
    return program


def check_gepa_state(folder: Path) -> bool:
    """Whether GEPA's state (a pickle) is there; a DataError if it holds anything but plain data."""
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

    def find_class(self, module: str, name: str) -> Any:
        if module == "builtins" and name in PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}, and only plain data is read")


REFERENCE = 40  # examples are enough for a slope


class Unreachable(BaseException):
    """A model that the metric needs gives no answer. Not an ``Exception``, since optimizers would go on without it."""


class Watch(BaseCallback):  # type: ignore[misc]
    """Stands between an optimizer and the metric, and sees every evaluation on the whole dev split."""

    def __init__(self, metric: Any, dev: Examples, progress: bool = True) -> None:
        self.metric, self.dev, self._takes = metric, list(dev), 2 + extra_arguments(metric)
        self.best: tuple[float, Any] | None = None
        self.scored = self.failures = self.unmeasured = 0
        self.first_failure = ""
        self.metric_error: Exception | None = None
        self.candidates: list[tuple[dict[str, str], float]] = []
        """The instructions of every program that was evaluated on the whole dev split, with its corpus value."""
        self.journal: Path | None = None
        """A file for the candidates, for a tuning that can be resumed."""
        self.credit: Credit | None = None
        """What scores are turned into before the optimizer sees them, if it selects by single examples."""
        self._progress = progress
        self._stack = ExitStack()
        self._evaluated: dict[str, Any] = {}
        self._calls: dict[str, tuple[str, Any]] = {}
        self._errors: dict[tuple[str, Any], list[str]] = {}
        self._lock = threading.Lock()
        self._bar = bar(standard_error(), progress)
        self._task = self._bar.add_task("tuning", total=None)

    def __enter__(self) -> Watch:
        if not self._progress:  # DSPy's optimizers print, and show bars of their own
            self._stack.enter_context(redirect_stdout(io.StringIO()))
            self._stack.enter_context(redirect_stderr(io.StringIO()))
        else:
            self._stack.enter_context(heartbeat(lambda: f"tuning, {self.scored} answers measured"))
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._stack.close()

    def __call__(
        self,
        gold: Any,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
        program_trace: Any = None,
    ) -> Any:
        """The metric's score, called as DSPy calls it.

        A metric that raises is remembered, since optimizers hide it, and the example counts as failed; a metric whose
        judge cannot be reached stops the tuning at once, since every later call of the program would be wasted.

        Args:
            gold: The gold example.
            pred: The prediction.
            trace: As DSPy passes it, like all that follows.
            pred_name: The predictor that feedback is for.
            pred_trace: Its calls.
            program_trace: The whole program's calls.
        """
        others = (trace, pred_name, pred_trace, program_trace)
        try:
            score = self.metric(*(gold, pred, *others)[: self._takes])
        except Exception as error:
            own = isinstance(self.metric, Metric) and not failed(pred)
            with self._lock:
                self.metric_error = self.metric_error or error
                self.unmeasured += 1
                self.scored, self.failures = self.scored + (not own), self.failures + (not own)
            if isinstance(error, ModelError):
                raise Unreachable(str(error)) from error
            if not own:
                raise
            pred = failed_with(f"the metric raised {one_line(error)}")
            score = self.metric(gold, pred, *others)
        why = failed(pred) or getattr(score, "failure", "")
        with self._lock:
            self.scored, self.failures = self.scored + 1, self.failures + bool(why)
            self.first_failure = self.first_failure or why
            best = "" if self.best is None else f", best on dev {self.best[0]:.4f}"
        self.show(f"{self.scored} examples scored{best}")
        return score if self.credit is None else self.credit(score)

    def on_evaluate_start(self, call_id: str, instance: dspy.Evaluate, inputs: dict[str, Any]) -> None:
        """Remember which program is evaluated, if on the whole dev split."""
        devset = inputs.get("devset") or instance.devset
        if len(devset) == len(self.dev) and all(a is b or a == b for a, b in zip(devset, self.dev, strict=True)):
            self._evaluated[call_id] = inputs.get("program")

    def on_evaluate_end(
        self, call_id: str, outputs: dspy.Prediction | None, exception: BaseException | None = None
    ) -> None:
        """Keep the best program."""
        program = self._evaluated.pop(call_id, None)
        if program is not None and outputs is not None:
            self.keep(float(outputs.score) / 100, program)

    def keep(self, value: float, program: Any) -> None:
        """Keep a program that was evaluated on the whole dev split, if it is the best so far."""
        texts = {name: str(predictor.signature.instructions) for name, predictor in program.named_predictors()}
        self.candidates.append((texts, value))
        if self.journal is not None:
            unique = {json.dumps(candidate): (candidate, value) for candidate, value in self.candidates}
            jsonl.replace(self.journal, json.dumps(list(unique.values()), ensure_ascii=False, indent=1))
        if self.best is None or value > self.best[0]:
            self.best = (value, program.deepcopy())  # some optimizers go on writing on the program
            self.show(f"best on dev {value:.4f}")

    def show(self, line: str) -> None:
        """Show a line in the bar: what is measured, its effect so far, what is left."""
        self._bar.update(self._task, description=f"tuning: {line}")

    def on_lm_start(self, call_id: str, instance: object, inputs: dict[str, Any]) -> None:
        """Remember which model is called."""
        model = getattr(instance, "model", type(instance).__name__)
        self._calls[call_id] = f"{model} failed on all {{}} calls", id(instance)

    def on_adapter_parse_start(self, call_id: str, instance: object, inputs: dict[str, Any]) -> None:
        """Remember which answer is read."""
        fields = ", ".join(inputs["signature"].output_fields)
        self._calls[call_id] = f"none of {{}} answers for {fields} could be read", fields

    def on_lm_end(self, call_id: str, outputs: object, exception: BaseException | None = None) -> None:
        """Count the errors of a model, and the answers that cannot be read, since optimizers hide them."""
        with self._lock:
            errors = self._errors.setdefault(self._calls.pop(call_id), [])
            errors.append("" if exception is None else one_line(exception))

    on_adapter_parse_end = on_lm_end

    @property
    def note(self) -> str:
        """What never worked, though the optimizer does not say so: a model, its answers, or the metric."""
        for (template, _), errors in self._errors.items():
            if all(errors):
                return f"{template.format(len(errors))}; the first: {errors[0][:300]}"
        if self.metric_error is None:
            return ""
        counts = f"{self.unmeasured} of {self.scored} predictions, which count as failed"
        return f"the metric raised on {counts}; the first: {one_line(self.metric_error)}"

    def check(self) -> None:
        """Raise if the metric raised on most predictions, or if the program never worked."""
        error = self.metric_error
        if isinstance(error, ModelError):
            raise error
        if error is not None and 2 * self.unmeasured > self.scored:
            raise GoldassayError(f"the metric raised {one_line(error)}") from error
        if self.scored and self.failures == self.scored:
            raise GoldassayError(f"the program failed on all {self.scored} examples; the first: {self.first_failure}")


class Credit:
    """Scores by what they add to the corpus value of a reference run.

    >>> from goldassay.tally import Counts
    >>> base = [Evidence({"f1": Counts(10, 5, 5)}), Evidence({"f1": Counts(0, 0, 1)})]
    >>> credit = Credit(base)
    >>> round(credit.of(Evidence({"f1": Counts(8, 0, 0)})), 3), round(credit.of(Evidence({"f1": Counts(1, 0, 0)})), 3)
    (1.008, 0.71)
    """

    def __init__(self, reference: Sequence[Evidence]) -> None:
        self.sum = sum(reference[1:], reference[0])
        self.n, self.value = len(reference), float(self.sum.value)

    @property
    def changes(self) -> bool:
        """Whether credits differ from the examples' own values: not if every measure is a mean."""
        return not self.sum.is_mean

    def of(self, evidence: Evidence) -> float:
        """The credit of one example's evidence."""
        return (self.n + 1) * float((self.sum + evidence).value) - self.n * self.value

    def __call__(self, score: Any) -> Any:
        """The score with its credit as its number; the evidence, the feedback and the pass mark stay."""
        return score.copy(score=self.of(score.evidence)) if isinstance(score, Score) else score

"""Watching an optimizer at work: what it is told of each example, the best program so far, what failed, a progress bar.

An optimizer that selects by the mean of the examples' own F1 selects something else than micro-F1: a text with one name
weighs as much as one with fifty. So it is told each example's credit for the corpus value (`Credit`). What an example
is worth to a corpus value V is its pseudo-value beside a reference, the evidence S of n examples of the program as it
was (Quenouille 1956, Tukey 1958):

    credit(t) = (n + 1) V(S + t) − n V(S)

For a mean it is the example's own value. For any value of sums it is, to first order, V(S) plus the example's
influence, so the mean of a candidate's credits is the candidate's corpus value, linearised at the reference. GEPA's
minibatches and frontier and SIMBA's buckets see these numbers; what goes through ``dspy.Evaluate`` (bootstrapping with
random search, MIPROv2, COPRO, InferRules) is the corpus value itself, since scores add to a `goldassay.score.Total`.
"""

from __future__ import annotations

import inspect
import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from goldassay._dspy_compat import BaseCallback, signature_of
from goldassay.exceptions import GoldassayError, ModelError, said
from goldassay.measure import failed
from goldassay.metric import Metric, failed_with
from goldassay.progress import standard_error
from goldassay.score import Evidence, Score
from goldassay.tally import Mean

if TYPE_CHECKING:
    import dspy


class Unreachable(BaseException):
    """A model that the metric needs gives no answer. Not an ``Exception``, since optimizers would go on without it."""


class Watch(BaseCallback):  # type: ignore[misc]
    """Stands between an optimizer and the metric, and hears of every evaluation on the whole dev split."""

    def __init__(self, metric: Any, dev: Sequence[Any], progress: bool = True) -> None:
        self.metric, self.dev, self._takes = metric, list(dev), _takes(metric)
        self.best: tuple[float, Any] | None = None
        self.scored = self.failures = self.unmeasured = 0
        self.first_failure = ""
        self.metric_error: Exception | None = None
        self.kept: list[tuple[dict[str, str], float]] = []
        """The instructions of every program that was evaluated on the whole dev split, with its corpus value."""
        self.credit: Credit | None = None
        """What scores are turned into before the optimizer sees them, where it selects by single examples."""
        self._silent = not progress
        self._stack = ExitStack()
        self._open: dict[str, Any] = {}
        self._asked: dict[str, tuple[str, Any]] = {}
        self._tries: dict[tuple[str, Any], list[str]] = {}
        self._lock = threading.Lock()
        console = standard_error()
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            disable=not (progress and console.is_terminal),
            transient=True,
        )
        self._task = self._bar.add_task("tuning")

    def __enter__(self) -> Watch:
        if self._silent:
            self._stack.enter_context(silent())
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
        """The metric's score. A metric that raises is remembered, since optimizers hide it, and the example counts as
        failed; one whose judge cannot be reached stops the tuning at once, since every call of the program after it
        would be for nothing.

        Args:
            gold: The gold example.
            pred: The prediction.
            trace: As DSPy hands it over, like all that follows.
            pred_name: The predictor that feedback is for.
            pred_trace: Its calls.
            program_trace: The whole program's calls.
        """
        others = (trace, pred_name, pred_trace, program_trace)
        try:
            score = self.metric(*(gold, pred, *others)[: self._takes])
        except Exception as error:
            with self._lock:
                self.metric_error = self.metric_error or error
                self.unmeasured += 1
            if isinstance(error, ModelError):
                raise Unreachable(str(error)) from error
            if not isinstance(self.metric, Metric) or failed(pred):
                with self._lock:
                    self.scored, self.failures = self.scored + 1, self.failures + 1
                raise
            pred = failed_with(f"the metric raised {said(error)}")
            score = self.metric(gold, pred, *others)
        why = failed(pred) or getattr(score, "failure", "")
        with self._lock:
            self.scored += 1
            self.failures += bool(why)
            self.first_failure = self.first_failure or why
            best = "" if self.best is None else f", best on dev {self.best[0]:.4f}"
            self._bar.update(self._task, description=f"tuning: {self.scored} examples scored{best}")
        return score if self.credit is None else self.credit(score)

    def on_evaluate_start(self, call_id: str, instance: dspy.Evaluate, inputs: dict[str, Any]) -> None:
        """Remember which program is evaluated, if on the whole dev split."""
        devset = inputs.get("devset") or instance.devset
        if len(devset) == len(self.dev) and all(a is b or a == b for a, b in zip(devset, self.dev, strict=True)):
            self._open[call_id] = inputs.get("program")

    def on_evaluate_end(
        self, call_id: str, outputs: dspy.Prediction | None, exception: BaseException | None = None
    ) -> None:
        """Keep the best program."""
        program = self._open.pop(call_id, None)
        if program is None or outputs is None:
            return
        self.keep(float(outputs.score) / 100, program)

    def keep(self, value: float, program: dspy.Module) -> None:
        """Keep a program that was evaluated on the whole dev split, if it is the best so far."""
        self.kept.append((instructions(program), value))
        if self.best is None or value > self.best[0]:
            self.best = (value, program.deepcopy())  # some optimizers go on writing on the program
            self._bar.update(self._task, description=f"tuning: best on dev {value:.4f}")

    def say(self, line: str) -> None:
        """Show a line in the bar: what is measured, its effect so far, what is left."""
        self._bar.update(self._task, description=f"tuning: {line}")

    def on_lm_start(self, call_id: str, instance: object, inputs: dict[str, object]) -> None:
        """Remember which model is asked."""
        self._asked[call_id] = (
            f"{getattr(instance, 'model', type(instance).__name__)} failed on all {{}} calls",
            instance,
        )

    def on_adapter_parse_start(self, call_id: str, instance: object, inputs: dict[str, object]) -> None:
        """Remember which answer is read."""
        fields = ", ".join(getattr(inputs.get("signature"), "output_fields", ()))
        self._asked[call_id] = f"none of {{}} answers for {fields} could be read", fields

    def on_lm_end(self, call_id: str, outputs: object, exception: BaseException | None = None) -> None:
        """Count what a model refuses: optimizers hide it."""
        says, what = self._asked.pop(call_id, ("", None))
        with self._lock:
            found = self._tries.setdefault((says, what if isinstance(what, str) else id(what)), [])
            found.append("" if exception is None else f"{type(exception).__name__}: {' '.join(str(exception).split())}")

    def on_adapter_parse_end(self, call_id: str, outputs: object, exception: BaseException | None = None) -> None:
        """Count an answer that an adapter cannot read."""
        self.on_lm_end(call_id, outputs, exception)

    @property
    def silent(self) -> str:
        """What never worked, though the optimizer does not say so: a model, or the reading of its answers."""
        for (says, _), tries in self._tries.items():
            if says and all(tries):
                return f"{says.format(len(tries))}; the first: {tries[0][:300]}"
        return ""

    @property
    def raised(self) -> str:
        """On how many predictions the metric raised, and why on the first."""
        if self.metric_error is None:
            return ""
        counts = f"{self.unmeasured} of {self.scored} predictions, which count as failed"
        return f"the metric raised on {counts}; the first: {said(self.metric_error)}"

    def check(self) -> None:
        """Raise if the metric raised on most predictions, or if the program never worked: an optimizer's silence is no
        result."""
        error = self.metric_error
        if isinstance(error, ModelError):
            raise error
        if error is not None and 2 * self.unmeasured > self.scored:
            raise GoldassayError(f"the metric raised {said(error)}") from error
        if self.scored and self.failures == self.scored:
            raise GoldassayError(f"the program failed on all {self.scored} examples; the first: {self.first_failure}")


@contextmanager
def silent() -> Iterator[None]:
    """Without the bars and the lines that DSPy's optimizers show."""
    tqdm: Any = import_module("tqdm.std").tqdm

    logger = logging.getLogger("dspy")
    before, level = tqdm.__init__, logger.level

    def quiet(self: Any, *args: Any, **options: Any) -> None:
        before(self, *args, **{**options, "disable": True})

    tqdm.__init__ = quiet
    logger.setLevel(logging.WARNING)
    printing = [module for name, module in list(sys.modules.items()) if name.startswith("dspy.teleprompt.")]
    for module in printing:
        vars(module).setdefault("print", lambda *_, **__: None)  # their own, since they print to standard output
    try:
        yield
    finally:
        tqdm.__init__ = before
        logger.setLevel(level)
        for module in printing:
            vars(module).pop("print", None)


def instructions(program: dspy.Module) -> dict[str, str]:
    """Each predictor's instructions, by its name."""
    return {name: str(signature_of(predictor).instructions) for name, predictor in program.named_predictors()}


def _takes(metric: Any) -> int:
    """How many of DSPy's six arguments a metric takes; a plain function may have only the first two or three.

    >>> _takes(lambda gold, pred, trace=None: 1.0), _takes(lambda *given: 1.0)
    (3, 6)
    """
    try:
        taken = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):  # something without a signature that can be seen
        return 6
    if any(one.kind is one.VAR_POSITIONAL for one in taken):
        return 6
    return min(6, sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in taken))


REFERENCE = 40  # examples are enough for a slope


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
        """Whether credits differ from the examples' own values: not where every measure is a mean."""
        return not all(isinstance(tally, Mean) for tally in self.sum.values())

    def of(self, evidence: Evidence) -> float:
        """The credit of one example's evidence."""
        return (self.n + 1) * float((self.sum + evidence).value) - self.n * self.value

    def __call__(self, score: Any) -> Any:
        """The score with its credit as its number; the evidence, the feedback and the pass mark stay."""
        return score.copy(score=self.of(score.evidence)) if isinstance(score, Score) else score

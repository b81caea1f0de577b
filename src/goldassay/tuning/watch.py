"""An optimizer's work is watched: a `Watch` is called as its metric, and a `Share` counts its calls of models.

A `Watch` sees every evaluation on the whole dev split. Where several optimizers share a budget, each has a `Meter` of
its share inside that of the whole budget. A `CallGuard` on the models themselves takes a call from the share where
DSPy's context does not, as in a thread that an optimizer starts without it: a share that is spent stays spent,
whatever the optimizer catches. Tokens, money and minutes are known after a call, so the calls in flight may pass these.

An optimizer that selects by the mean of the examples' own F1 selects something else than micro-F1: a text with one name
weighs as much as one with fifty. So it gets each example's credit for the corpus value (`Credit`): its pseudo-value
against a reference, the evidence S of n examples of the program as it was (Quenouille 1956, Tukey 1958):

    credit(t) = (n + 1) V(S + t) − n V(S)

For a mean it is the example's own value. For any value of sums it is, to first order, V(S) plus the example's
influence, so the mean of a candidate's credits is the candidate's corpus value, linearised at the reference. GEPA's
minibatches and frontier, SIMBA's buckets and ReAnchor's averages see these numbers; what goes through ``dspy.Evaluate``
(bootstrapping with random search, MIPROv2, COPRO, InferRules) is the corpus value itself, since scores add to a
`goldassay.core.score.Total`.
"""

from __future__ import annotations

import io
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from time import monotonic
from typing import Any

import dspy
from dspy import Example, Module, Prediction

from goldassay._support import jsonl
from goldassay._support.dspy_compat import BaseCallback, copy_program, signature_of
from goldassay._support.exceptions import GoldassayError, ModelError, one_line
from goldassay._support.progress import bar, heartbeat, standard_error
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import failed
from goldassay.core.metric import AnyMetric, Metric, extra_arguments, failed_with
from goldassay.core.score import Score
from goldassay.core.tally import Evidence
from goldassay.running.account import Account, current
from goldassay.running.budget import Meter
from goldassay.tuning.wrappers import Examples

REFERENCE = 40  # examples are enough for a slope


class Credit:
    """Scores by what they add to the corpus value of a reference run.

    >>> from goldassay.core.tally import Counts
    >>> base = [Evidence({"f1": Counts(10, 5, 5)}), Evidence({"f1": Counts(0, 0, 1)})]
    >>> credit = Credit(base)
    >>> round(credit.of(Evidence({"f1": Counts(8, 0, 0)})), 3), round(credit.of(Evidence({"f1": Counts(1, 0, 0)})), 3)
    (1.008, 0.71)
    """

    def __init__(self, reference: Sequence[Evidence]) -> None:
        self.sum = sum(reference[1:], reference[0])
        self.n = len(reference)
        self.value = float(self.sum.value)

    @property
    def changes(self) -> bool:
        """Whether credits differ from the examples' own values: not if every measure is a mean."""
        return not self.sum.is_mean

    def of(self, evidence: Evidence) -> float:
        """The credit of one example's evidence."""
        return (self.n + 1) * float((self.sum + evidence).value) - self.n * self.value

    def __call__(self, score: Score) -> Score:
        """The score with its credit as its number; the evidence, the feedback and the pass mark stay."""
        return score.copy(score=self.of(score.evidence))


Trace = Sequence[tuple[Module, dict[str, Any], Prediction]]
"""Calls of predictors, as DSPy records them: the predictor, its inputs and its prediction."""


class Unreachable(BaseException):
    """A model that the metric needs gives no answer. Not an ``Exception``, since optimizers would go on without it."""


class Watch(BaseCallback):  # type: ignore[misc]
    """Called in place of the metric by an optimizer; keeps its candidates and the best of them, and counts failures."""

    def __init__(self, metric: AnyMetric, dev: Examples, progress: bool = True) -> None:
        self.metric = metric
        self.dev = list(dev)
        self.best: tuple[float, Module] | None = None
        self.scored = 0
        self.failures = 0
        self.unmeasured = 0
        self.first_failure = ""
        self.metric_error: Exception | None = None
        self.candidates: list[tuple[dict[str, str], float]] = []
        """The instructions of every program that was evaluated on the whole dev split, with its corpus value."""
        self.journal: Path | None = None
        """A file for the candidates, for a tuning that can be resumed."""
        self.credit: Credit | None = None
        """Turns scores into credits before the optimizer sees them, if it selects by single examples."""
        self._arguments = 2 + extra_arguments(metric)
        self._progress = progress
        self._stack = ExitStack()
        self._evaluated: dict[str, Module | None] = {}
        self._calls: dict[str, tuple[str, int | str]] = {}
        self._errors = defaultdict[tuple[str, int | str], list[str]](list)
        self._lock = threading.Lock()
        self._bar = bar(standard_error(), progress)
        self._task = self._bar.add_task("tuning", total=None)
        self._line = "nothing measured yet"

    def __enter__(self) -> Watch:
        if not self._progress:  # DSPy's optimizers print, and show bars of their own
            self._stack.enter_context(redirect_stdout(io.StringIO()))
            self._stack.enter_context(redirect_stderr(io.StringIO()))
        else:
            self._stack.enter_context(heartbeat(lambda: f"tuning: {self._line}"))
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._stack.close()

    def __call__(
        self,
        gold: Example,
        pred: Prediction,
        trace: Trace | None = None,
        pred_name: str | None = None,
        pred_trace: Trace | None = None,
        program_trace: Trace | None = None,
    ) -> object:
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

        Raises:
            Unreachable: The model of a judge gives no answer.
        """
        everything: tuple[Any, ...] = (gold, pred, trace, pred_name, pred_trace, program_trace)
        arguments = everything[: self._arguments]
        try:
            score = self.metric(*arguments)
        except Exception as error:
            by_metric = isinstance(self.metric, Metric) and not failed(pred)
            with self._lock:  # an example that is scored again as failed is counted then
                self.metric_error = self.metric_error or error
                self.unmeasured += 1
                self.scored += not by_metric
                self.failures += not by_metric
            if isinstance(error, ModelError):
                raise Unreachable(str(error)) from error
            if not by_metric:
                raise
            pred = failed_with(f"the metric raised {one_line(error)}")
            score = self.metric(gold, pred, *everything[2:])
        failure = failed(pred) or getattr(score, "failure", "")
        with self._lock:
            self.scored += 1
            self.failures += bool(failure)
            self.first_failure = self.first_failure or failure
            best = "" if self.best is None else f", best on dev {self.best[0]:.4f}"
        self.show(f"{self.scored} examples scored{best}")
        return self.credit(score) if self.credit is not None and isinstance(score, Score) else score

    def on_evaluate_start(self, call_id: str, instance: dspy.Evaluate, inputs: Fields) -> None:
        """Remember which program is evaluated, if on the whole dev split."""
        devset = inputs.get("devset") or instance.devset
        if len(devset) == len(self.dev) and all(a is b or a == b for a, b in zip(devset, self.dev, strict=True)):
            self._evaluated[call_id] = inputs.get("program")

    def on_evaluate_end(self, call_id: str, outputs: Prediction | None, exception: BaseException | None = None) -> None:
        """Keep the best program."""
        program = self._evaluated.pop(call_id, None)
        if program is not None and outputs is not None:
            self.keep(float(outputs.score) / 100, program)

    def keep(self, value: float, program: Module) -> None:
        """Keep a program that was evaluated on the whole dev split, if it is the best so far."""
        texts = {name: str(signature_of(predictor).instructions) for name, predictor in program.named_predictors()}
        self.candidates.append((texts, value))
        if self.journal is not None:
            unique = {jsonl.dumps(candidate): (candidate, value) for candidate, value in self.candidates}
            jsonl.replace(self.journal, jsonl.dumps(list(unique.values()), indent=1))
        if self.best is None or value > self.best[0]:
            self.best = (value, copy_program(program))  # some optimizers go on writing on the program
            self.show(f"best on dev {value:.4f}")

    def show(self, line: str) -> None:
        """Show a line in the bar, or off a terminal now and then: what is measured, its effect so far, what is left."""
        self._line = line
        self._bar.update(self._task, description=f"tuning: {line}")

    def on_lm_start(self, call_id: str, instance: object, inputs: JsonObject) -> None:
        """Remember which model is called."""
        model = getattr(instance, "model", type(instance).__name__)
        self._calls[call_id] = (f"{model} failed on all {{}} calls", id(instance))

    def on_adapter_parse_start(self, call_id: str, instance: object, inputs: Fields) -> None:
        """Remember which answer is read."""
        fields = ", ".join(inputs["signature"].output_fields)
        self._calls[call_id] = (f"none of {{}} answers for {fields} could be read", fields)

    def on_lm_end(self, call_id: str, outputs: object, exception: BaseException | None = None) -> None:
        """Count the errors of a model, and the answers that cannot be read, since optimizers hide them."""
        with self._lock:
            self._errors[self._calls.pop(call_id)].append("" if exception is None else one_line(exception))

    on_adapter_parse_end = on_lm_end

    @property
    def note(self) -> str:
        """A model, a kind of answer or a metric that never worked, though the optimizer does not say so; else empty."""
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
            raise GoldassayError(f"the program failed on all {self.scored} tries; the first: {self.first_failure}")


class Share(Meter):
    """The share of an arm, with the calls of each role. It is kept in a file: a killed arm has what is left of it."""

    def __init__(self, limits: Mapping[str, float], outer: Meter, file: Path | None) -> None:
        super().__init__(None, outer)
        self.limits = dict(limits)
        self.elapsed = 0.0  # seconds at work
        self.roles: Counter[str] = Counter()
        self._file = file
        self._writing = threading.Lock()

        def check(row: Fields) -> None:
            sum((self.used[name] + row[name] for name in row if name not in ("at", "role")), row["at"])

        what = "what a tuning used"
        for row in jsonl.rows(file, what=what, check=check) if file is not None and file.is_file() else ():
            self.elapsed = row.pop("at")
            self.roles[row.pop("role", "")] += 1
            super().add(**row)  # what is written already

    def take(self) -> None:
        """Reserve one call."""
        super().take()
        self._note({"calls": 1})

    def add(self, unpriced: str = "", **used: float) -> None:
        """Add what calls used."""
        super().add(unpriced, **used)
        self._note(used)

    def count(self, role: str) -> None:
        """Count an answered call of a model in this role."""
        with self._writing:
            self.roles[role] += 1
        self._note({"role": role})

    def guard(self, role: str, lm: object) -> object:
        """A copy of a model whose calls this share counts in a role, where DSPy's context does not."""
        if not isinstance(lm, dspy.BaseLM):
            return lm
        return lm.copy(callbacks=[*(getattr(lm, "callbacks", None) or []), CallGuard(self, role)])

    def _note(self, row: Mapping[str, float | str]) -> None:
        if self._file is not None:
            with self._writing, jsonl.Log(self._file) as log:
                log.add({**row, "at": round(monotonic() - self.started, 3)})


class CallGuard(BaseCallback):  # type: ignore[misc]
    """Takes the calls of one model from a share, where the account of DSPy's context does not."""

    def __init__(self, share: Share, role: str) -> None:
        self.share = share
        self.role = role
        self._accounts: dict[str, Account] = {}

    def __deepcopy__(self, memo: object) -> CallGuard:
        return self  # a copy of a model has the same share

    def on_lm_start(self, call_id: str, instance: dspy.BaseLM, inputs: JsonObject) -> None:
        """A call begins."""
        context = current()
        meter = context.meter if context is not None else None
        while meter is not None and meter is not self.share:
            meter = meter.outer
        account = Account(Meter(outer=self.share) if meter is None else None)
        account.on_lm_start(call_id, instance, inputs)
        self._accounts[call_id] = account

    def on_lm_end(self, call_id: str, outputs: list[Any] | None, exception: BaseException | None = None) -> None:
        """A call has ended."""
        account = self._accounts.pop(call_id)
        account.on_lm_end(call_id, outputs, exception)
        if account.usage.calls:
            self.share.count(self.role)


def shares(budget: str | None, arms: int) -> dict[str, float]:
    """The equal share of each arm; calls and tokens are whole numbers.

    Raises:
        GoldassayError: An arm would have no call.

    >>> shares("calls=800,usd=1", 3)
    {'calls': 266, 'usd': 0.3333333333333333}
    """
    parts = {}
    for unit, limit in Meter(budget).limits.items():
        parts[unit] = int(limit // arms) if unit in ("calls", "tokens") else limit / arms
        if parts[unit] <= 0:
            raise GoldassayError(f"a budget of {limit:g} {unit} is too small for {arms} shares")
    return parts

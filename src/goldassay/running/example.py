"""One example: run, measured, and written as a row, whatever happens to it."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from goldassay._support.dspy_compat import HOPELESS_ERRORS, BaseCallback, signature_of
from goldassay._support.exceptions import DataError, one_line
from goldassay.core.fields import identity
from goldassay.core.measure import Error, failed
from goldassay.core.metric import Metric, failed_with
from goldassay.core.shape import shape_of
from goldassay.models.lm.models import CallNotes, watch
from goldassay.running.account import Account
from goldassay.running.budget import SILENT
from goldassay.running.guard import Program, attempt
from goldassay.running.hashing import modules_of
from goldassay.running.rows import Row, measured_row
from goldassay.running.threads import within


@dataclass
class Measuring:
    """Runs a program on an example and measures it.

    A program that raises, a prediction that the metric cannot read and an answer that takes longer than ``timeout``
    seconds are failed examples: their gold counts as missed, and the row has the error. With ``trace``, rows hold
    inputs, gold, prompts, raw answers and steps.
    """

    program: Program
    metric: Metric
    trace: bool = False
    timeout: float | None = None

    def __call__(self, index: int, example: dspy.Example, account: Account) -> Row:
        """The row of an example; ``account`` counts its calls."""
        account.meter.check()
        notes = watch()
        try:
            row = within(self.timeout, lambda: self._run(index, example, account, notes), lambda: notes.waited)
        except TimeoutError as error:
            account.ended = True
            row = self.row(index, example, failed_with(f"TimeoutError: {error}"), self.timeout or 0.0)
        if self.trace:
            row.inputs = dict(example.inputs().items())
            row.gold = dict(example.labels().items())
            row.calls, row.steps = account.recorded()
            row.errors = tuple(_with_maker(error, row) for error in row.errors)
        return row

    def _run(self, index: int, example: dspy.Example, account: Account, notes: CallNotes) -> Row:
        def explain(error: BaseException) -> str:
            if isinstance(error, HOPELESS_ERRORS):
                account.meter.add_outcome("", *[one_line(error)] * SILENT)
            if dspy.settings.lm is None and "No LM is loaded" in one_line(error):  # DSPy's words
                return "name a model (`lm=MODEL`): "
            return "" if account.cut is None else f"the answer was cut at {account.cut} tokens (max_tokens): "

        account.names, silent = self._parts
        started = time.perf_counter()
        with account.open(silent):
            inputs = dict(with_models(example, self._models).inputs().items())
            prediction = attempt(self.program, inputs, explain, account.restart)
            if not failed(prediction):
                account.forgive_fallback()
            seconds = max(0.0, time.perf_counter() - started - notes.waited)
            account.ended = True
            row = self.row(index, example, prediction, seconds)
        row.usage = account.usage
        row.waited_s = round(notes.waited, 3)
        row.truncated = account.cut is not None
        return row

    @cached_property
    def _parts(self) -> tuple[dict[int, str], dict[int, list[BaseCallback]]]:
        """The names of the program's predictors by their identity, and the callbacks of the parts that stay silent."""
        names = self.program.named_predictors() if self.trace and isinstance(self.program, dspy.Module) else []
        signatures = Counter(id(signature_of(predictor)) for _, predictor in names)
        parts = [dspy.settings.adapter, *(() if self.trace else modules_of(self.program))]
        lists = [getattr(part, "callbacks", None) for part in parts]
        silent = {id(callbacks): callbacks for callbacks in lists if isinstance(callbacks, list)}
        # a copy, which BestOfN, Refine and nearest examples call, has the signature of its predictor
        own = {id(signature_of(p)): name for name, p in names if signatures[id(signature_of(p))] == 1}
        return own | {id(predictor): name for name, predictor in names}, silent

    @cached_property
    def _models(self) -> Mapping[str, object]:
        return shape_of(self.program).models

    def row(self, index: int, example: dspy.Example, prediction: dspy.Prediction, seconds: float) -> Row:
        """Measure a prediction that was made in ``seconds``."""
        try:
            assessed, unmeasured = self.metric.assess_or_fail(example, prediction)
        except Exception as error:
            error.add_note(f"the metric raised this on example {identity(example, index)}")
            raise
        row = measured_row(index, example, assessed, self.metric.evidence(assessed))
        row.latency_s = round(seconds, 6)
        failure = failed(prediction)
        row.error = unmeasured or failure or ""
        if not failure:
            row.prediction = dict(prediction.items())
        return row


def _with_maker(error: Error, row: Row) -> Error:
    """An error of a call with the predictor that made the recorded call; a prediction does not tell two agents apart.

    What is missing is due to the one that made the call before.
    """
    if error.step is None:
        return error
    before = row.recorded_calls[: error.step + (error.kind != "missing_call")]
    makers = [step.predictor for step in before if step.predictor]
    return replace(error, predictor=makers[-1]) if makers else error


def with_models(example: dspy.Example, models: Mapping[str, Any]) -> dspy.Example:
    """An example whose inputs are the declared models, where it has them as JSON; what cannot be read stays as it is.

    Raises:
        DataError: A text stands for one of DSPy's own types, such as the path of a picture, which is not opened.

    >>> example = dspy.Example(history={"messages": [{"q": "a"}]}, q="b").with_inputs("history", "q")
    >>> with_models(example, shape_of(dspy.Predict("history: dspy.History, q -> answer")).models).history
    History(messages=[{'q': 'a'}])
    """
    parsed = {}
    for name, declared in models.items():
        value = example.get(name)
        if isinstance(value, (dict, list, str)) and not _has_path(value):
            with suppress(ValidationError):
                parsed[name] = TypeAdapter[Any](declared).validate_python(_linked(value))
        if isinstance(value, str) and name not in parsed and "dspy." in str(declared):
            ways = "its content (data:image/png;base64,…) or its address, for files are not opened"
            how = ways if "Image" in str(declared) else "its fields"
            message = f"the signature declares a type of DSPy, and the gold has the text {value!r:.60}; write {how}"
            raise DataError(message, record=identity(example, ""), field=name)
    return example.copy(**parsed).with_inputs(*example.inputs().keys()) if parsed else example


def _linked(value: object) -> object:
    """A value in which each address or ``data:`` URI is ``{"url": …}``, the form in which DSPy reads a picture."""
    if isinstance(value, list):
        return [_linked(item) for item in value]
    is_address = isinstance(value, str) and value.startswith(("data:", "http://", "https://"))
    return {"url": value} if is_address else value


def _has_path(value: object) -> bool:
    """Whether a value names a file, which older versions of DSPy would read for a picture."""
    if isinstance(value, (dict, list)):
        return any(map(_has_path, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and os.path.isfile(value)  # pathlib raises at long texts

"""One example: run, measured, and written as a row, whatever happens to it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import dspy

from goldassay._dspy_compat import HOPELESS_ERRORS
from goldassay.exceptions import one_line
from goldassay.fields import identity
from goldassay.lm.limits import CallNotes, watch
from goldassay.measure import failed
from goldassay.metric import Metric, failed_with
from goldassay.running.account import Account
from goldassay.running.budget import SILENT
from goldassay.running.guard import Program, attempt
from goldassay.running.rows import Row, measured_row
from goldassay.running.threads import within


@dataclass
class Measuring:
    """Runs a program on an example and measures it.

    A program that raises, a prediction that the metric cannot read and an answer that takes longer than ``timeout``
    seconds are failed examples: their gold counts as missed, and the row has the error. With ``trace``, rows hold
    inputs, gold, prompts and raw answers.
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
            return within(self.timeout, lambda: self._run(index, example, account, notes), lambda: notes.waited)
        except TimeoutError as error:
            account.ended = True
            return self.row(index, example, failed_with(f"TimeoutError: {error}"), self.timeout or 0.0)

    def _run(self, index: int, example: dspy.Example, account: Account, notes: CallNotes) -> Row:
        def explain(error: BaseException) -> str:
            if isinstance(error, HOPELESS_ERRORS):
                account.meter.add_outcome(False, SILENT, one_line(error))
            return "" if account.cut is None else f"the answer was cut at {account.cut} tokens (max_tokens): "

        started = time.perf_counter()
        with account.open():
            prediction = attempt(self.program, dict(example.inputs().items()), explain)
            seconds = max(0.0, time.perf_counter() - started - notes.waited)
            account.ended = True
            row = self.row(index, example, prediction, seconds)
        if account.usage:
            row["usage"] = account.usage
        if waited := round(notes.waited, 3):
            row["waited_s"] = waited
        if account.cut is not None:
            row["truncated"] = True
        if self.trace:
            row["inputs"] = dict(example.inputs().items())
            row["gold"] = dict(example.labels().items())
            if account.recorded:
                row["calls"] = account.recorded
        return row

    def row(self, index: int, example: dspy.Example, prediction: dspy.Prediction, seconds: float) -> Row:
        """Measure a prediction that was made in ``seconds``."""
        try:
            assessed, unmeasured = self.metric.assess_or_fail(example, prediction)
        except Exception as error:
            error.add_note(f"the metric raised this on example {identity(example, index)}")
            raise
        row = measured_row(index, example, assessed)
        row["score"] = float(self.metric.evidence(assessed).value)
        row["latency_s"] = round(seconds, 6)
        failure = failed(prediction)
        if reason := unmeasured or failure:
            row["error"] = reason
        if not failure:
            row["prediction"] = dict(prediction.items())
        return row

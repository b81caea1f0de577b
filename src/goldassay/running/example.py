"""One example: run, measured, and written as a row, whatever happens to it.

Whatever a program does with one example is a result of that example: it may raise (also ``SystemExit`` or
``CancelledError``), or return what no measure can read. Only Ctrl-C and a spent budget propagate. A failed example is a
prediction that carries its error (`failure`); `guard` and `guarded` make a program that never raises, and `Measuring`
turns an example into its row.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import dspy

from goldassay._dspy_compat import HOPELESS_ERRORS, input_keys, without_cache
from goldassay.exceptions import GoldassayError, one_line
from goldassay.fields import identity
from goldassay.lm.limits import CallNotes, watch
from goldassay.measure import failed
from goldassay.metric import failed_with
from goldassay.running.calls import Account, BudgetSpent
from goldassay.running.loop import within
from goldassay.running.rows import Row, measured_row

Program: TypeAlias = dspy.Module | Callable[..., Any]  # what can be run: a DSPy module, or a function of the inputs
STOPS = (KeyboardInterrupt, BudgetSpent)  # the only exceptions that are not a result of the example


def as_prediction(output: object) -> dspy.Prediction:
    """A program's output as a prediction: a dict gives its fields, any other value is the field ``output``.

    A generator among the fields becomes a list; a coroutine is awaited.

    >>> as_prediction({"label": "M"})
    Prediction(
        label='M'
    )
    """
    if inspect.iscoroutine(output):
        return as_prediction(asyncio.run(output))
    if isinstance(output, dspy.Prediction):
        for name, value in list(output.items()):
            if isinstance(value, Iterator):  # the second measure would find it empty
                output[name] = list(value)
        return output
    if output is None:
        return failed_with("the program returned None")
    if isinstance(output, Mapping) and output and all(isinstance(key, str) for key in output):
        return as_prediction(dspy.Prediction(dict(output)))
    return dspy.Prediction(output=output)


def failure(error: BaseException) -> dspy.Prediction:
    """The prediction of a program that raised: no field but the error."""
    return failed_with(one_line(error))


def _attempt(
    program: Program, inputs: Any, heard: Callable[[BaseException], str] = lambda error: ""
) -> dspy.Prediction:
    """What a program predicts, or that it failed; ``heard`` may say more of an error."""
    try:
        return as_prediction(program(**inputs))
    except STOPS:
        raise
    except BaseException as error:  # noqa: BLE001  whatever a program raises is a result
        return failed_with(f"{heard(error)}{one_line(error)}")


class Guard(dspy.Module):
    """Runs a program and turns what it raises into an empty prediction with the error's text.

    ``dspy.Evaluate`` gives a program that raised a constant score and forgets its gold; with a guard around it, all
    gold of the failed example counts as missed.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return _attempt(self.program, inputs)


class _Guarded:
    """Comes before a program's own class and catches what its ``forward`` raises."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return _attempt(super().forward, inputs)  # type: ignore[misc]


def guard(program: Program) -> Guard:
    """``program``, which never raises.

    >>> guard(lambda text: 1 / 0)(text="x").goldassay_failure
    'ZeroDivisionError: division by zero'
    """
    return program if isinstance(program, Guard) else Guard(program)


def guarded(program: dspy.Module) -> dspy.Module:
    """A deep copy of ``program`` of the same shape that never raises.

    Unlike `guard` it wraps nothing: predictors keep their names, so an optimizer may work on it and its state loads
    into the program that was passed in. `unguarded` gives the plain class back.
    """
    copy: Any = program.deepcopy()
    for predictor in copy.predictors():  # a deep copy shares the signature class, and some optimizers write on it
        predictor.signature = predictor.signature.with_instructions(predictor.signature.instructions)
    plain = type(copy)
    if not issubclass(plain, _Guarded):
        copy.__class__ = type(plain.__name__, (_Guarded, plain), {"__module__": plain.__module__})
    return copy


def unguarded(program: dspy.Module) -> dspy.Module:
    """The same program, of the class it had before `guarded`."""
    if isinstance(program, _Guarded):
        program.__class__ = type(program).__mro__[2]
        vars(program).pop("forward", None)  # DSPy's tracing leaves the guarded method on the instance
    return program


def with_fresh_answers(program: Program) -> Program:
    """``program``, or a copy of it if a predictor has a model of its own that would answer from DSPy's cache."""
    if not isinstance(program, dspy.Module) or not any(getattr(p.lm, "cache", False) for p in program.predictors()):
        return program
    copy: Any = program.deepcopy()
    for predictor in copy.predictors():
        predictor.lm = predictor.lm and without_cache(predictor.lm)
    return copy  # type: ignore[no-any-return]


def check_inputs(gold: Sequence[dspy.Example]) -> None:
    """Refuse gold that no program can be called with: dicts, and examples that do not name their inputs."""
    for index, example in enumerate(gold):
        if not hasattr(example, "inputs") or (isinstance(example, dspy.Example) and input_keys(example) is None):
            what = "does not say which of its fields are inputs"
            what = what if isinstance(example, dspy.Example) else f"is a {type(example).__name__}, not a dspy.Example"
            raise GoldassayError(f"gold example {index} {what}: add .with_inputs('text', …) to a dspy.Example")


class Measuring:
    """Runs a program on an example and measures it.

    A program that raises, a prediction that the metric cannot read and an answer that takes longer than ``timeout``
    seconds are failed examples: their gold counts as missed, and the row has the error. ``hopeless`` is set once a
    model refuses in a way that will not change. With ``trace``, rows hold inputs, gold, prompts and raw answers.
    """

    def __init__(self, program: Program, metric: Any, trace: bool = False, timeout: float | None = None) -> None:
        self.program, self.metric, self.trace, self.timeout = program, metric, trace, timeout
        self.hopeless = False

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
        def heard(error: BaseException) -> str:
            self.hopeless = self.hopeless or isinstance(error, HOPELESS_ERRORS)
            return "" if account.cut is None else f"the answer was cut at {account.cut} tokens (max_tokens): "

        started = time.perf_counter()
        with account.open():
            prediction = _attempt(self.program, example.inputs(), heard)
            seconds = max(0.0, time.perf_counter() - started - notes.waited)
            account.ended = True
            row = self.row(index, example, prediction, seconds)
        row |= {"usage": account.usage} if account.usage else {}
        row |= {"waited_s": round(notes.waited, 3)} if notes.waited >= 0.001 else {}
        row |= {"truncated": True} if account.cut is not None else {}
        if self.trace:
            row |= {"inputs": dict(example.inputs().items()), "gold": dict(example.labels().items())}
            row |= {"calls": account.recorded} if account.recorded else {}
        return row

    def row(self, index: int, example: dspy.Example, prediction: Any, seconds: float) -> Row:
        """Measure a prediction that was made in ``seconds``."""
        try:
            assessed, unmeasured = self.metric.assess_or_fail(example, prediction)
        except Exception as error:
            error.add_note(f"the metric raised this on example {identity(example, index)}")
            raise
        row = measured_row(index, example, assessed)
        row |= {"score": float(self.metric.evidence(assessed).value), "latency_s": round(seconds, 6)}
        if reason := unmeasured or failed(prediction):
            row["error"] = reason
        if not failed(prediction):
            row["prediction"] = dict(prediction.items())
        return row

"""One example: run, measured, and written as a row, whatever happens to it.

Whatever a program does with one example is a result of that example: it may raise (also ``SystemExit`` or
``CancelledError``), or give back something that no measure can read. Only Ctrl-C and a spent budget go on upwards. A
failed example is a prediction that carries its error (`as_prediction`, `failed_with`); `guard` and `guarded` make a
program that never raises, and `Measuring` turns each example into its evidence and its row.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import dspy

from goldassay._dspy_compat import (
    HOPELESS_ERRORS,
    input_keys,
)
from goldassay.exceptions import GoldassayError, said
from goldassay.lm.watch import watch
from goldassay.measure import failed
from goldassay.metric import failed_with
from goldassay.running.budget import BudgetSpent
from goldassay.running.calls import Account
from goldassay.running.rows import Row
from goldassay.score import Evidence

Program: TypeAlias = dspy.Module | Callable[..., Any]  # what can be run: a DSPy module, or a function of the inputs


STOPS = (KeyboardInterrupt, BudgetSpent)  # the only exceptions that are not a result of the example


class Guard(dspy.Module):
    """Runs a program and turns what it raises into an empty prediction with the error's text.

    ``dspy.Evaluate`` gives a program that raised a constant score and forgets its gold; with a guard around it, all
    gold of the failed example counts as missed.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, **inputs: object) -> dspy.Prediction:
        try:
            return as_prediction(self.program(**inputs))
        except STOPS:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a program raises is a result
            return failure(error)


def as_prediction(made: object) -> dspy.Prediction:
    """What a program gave back as a prediction: a dict has its fields, any other value is the field ``output``.

    A generator among the fields becomes a list; what an ``async def forward`` gives is awaited here.

    >>> as_prediction({"label": "M"})
    Prediction(
        label='M'
    )
    """
    if inspect.iscoroutine(made):
        return as_prediction(asyncio.run(made))
    if isinstance(made, dspy.Prediction):
        for name, value in list(made.items()):
            if isinstance(value, Iterator):  # the second measure would find it empty
                made[name] = list(value)
        return made
    if made is None:
        return failed_with("the program returned None")
    if isinstance(made, Mapping) and made and all(isinstance(key, str) for key in made):
        return as_prediction(dspy.Prediction(dict(made)))
    return dspy.Prediction(output=made)


def failure(error: BaseException) -> dspy.Prediction:
    """The prediction of a program that raised: no field but the error."""
    return failed_with(said(error))


def guard(program: Program) -> Guard:
    """``program``, which never raises.

    >>> guard(lambda text: 1 / 0)(text="x").goldassay_failure
    'ZeroDivisionError: division by zero'
    """
    return program if isinstance(program, Guard) else Guard(program)


def guarded(program: dspy.Module) -> dspy.Module:
    """A deep copy of ``program`` of the same shape that never raises.

    Unlike `guard` it wraps nothing: predictors keep their names, so an optimizer may work on it and its state loads
    into the program that was given. `unguarded` gives the plain class back.
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


class _Guarded:
    """Comes before a program's own class and catches what its ``forward`` raises."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        try:
            return super().forward(**inputs)  # type: ignore[misc]
        except STOPS:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a program raises is a result
            return failure(error)


FACETS = ("language", "document", "strata")  # fields of a gold example that its row repeats


def refuse_without_inputs(gold: Sequence[dspy.Example]) -> None:
    """Gold that no program could be called with: dicts, and examples of which nobody said what the inputs are."""
    for index, example in enumerate(gold):
        if not hasattr(example, "inputs"):
            raise GoldassayError(
                f"gold example {index} is a {type(example).__name__}, not a dspy.Example: make it "
                "dspy.Example(**fields).with_inputs('text', …)"
            )
        if isinstance(example, dspy.Example) and input_keys(example) is None:
            raise GoldassayError(
                f"gold example {index} does not say which of its fields are inputs: add .with_inputs('text', …); it "
                f"has {', '.join(map(str, example.keys()))}"
            )


class Measuring:
    """A program and a metric, applied to the examples of ``gold`` by their index.

    A program that raises, and a prediction that the metric cannot read, are failed examples: their gold counts as
    missed, and the row says what was found. ``hopeless`` says why, once a model refused in a way that will not change.
    """

    def __init__(self, program: Program, gold: Sequence[dspy.Example], metric: Any, trace: bool = False) -> None:
        self.program, self.gold, self.metric, self.trace = program, gold, metric, trace
        self.hopeless = ""

    def __call__(self, index: int, account: Account) -> tuple[Evidence, Row]:
        """Run one example and measure it; ``account`` hears what it asks of models."""
        account.meter.check()
        example = self.gold[index]
        notes = watch()
        started = time.perf_counter()
        try:
            pred = as_prediction(self.program(**example.inputs()))
        except STOPS:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a program raises is a result of this example
            pred = failed_with(said(error))
            if isinstance(error, HOPELESS_ERRORS):
                self.hopeless = said(error)
        latency = max(0.0, time.perf_counter() - started - account.waited)
        usage, calls = account.end()  # before a judge is asked
        evidence, row = self.row(index, pred, latency)
        if usage:
            row["usage"] = usage
        if account.waited >= 0.001:
            row["waited_s"] = round(account.waited, 3)
        if notes.truncated:
            row["truncated"] = True
        if self.trace:
            row |= traced(example, calls)
        return evidence, row

    def row(self, index: int, pred: object, latency: float) -> tuple[Evidence, Row]:
        """Measure a prediction that was made in ``latency`` seconds."""
        example = self.gold[index]
        name = str(example["id"]) if "id" in example else str(index)
        assessed, found = self._assessed(example, pred, name)
        evidence = Evidence({key: one.tally for key, one in assessed.items()}, self.metric.weights)
        row: Row = {
            "index": index,
            "id": name,
            "score": float(evidence.value),
            "tallies": evidence.state(),
            "latency_s": round(latency, 6),
        }
        for key in FACETS:
            if example.get(key):
                row[key] = example[key]
        errors = {error: None for one in assessed.values() for error in one.errors}
        if errors:
            row["errors"] = [error.state() for error in errors]
        why = found or failed(pred)
        if why:
            row["error"] = why
        if not failed(pred):
            row["prediction"] = dict(pred.items())  # type: ignore[attr-defined]
        return evidence, row

    def _assessed(self, example: dspy.Example, pred: Any, name: str) -> tuple[dict[str, Any], str]:
        """The assessments, and why the prediction could not be measured, if so: then all gold counts as missed."""
        try:
            found: tuple[dict[str, Any], str] = self.metric.measured(example, pred)
        except Exception as error:
            error.add_note(f"the metric raised this on example {name}")
            raise
        return found

    def timed_out(self, index: int, seconds: float) -> tuple[Evidence, Row]:
        """The row of an example whose program did not come back."""
        return self.row(index, failed_with(f"TimeoutError: no answer within {seconds:g} s"), seconds)


def traced(example: dspy.Example, calls: list[dict[str, object]]) -> Row:
    """What a report shows of an example beside its result: inputs, gold, and each prompt with its raw answer."""
    found = {"inputs": dict(example.inputs().items()), "gold": dict(example.labels().items())}
    return {**found, "calls": calls} if calls else found

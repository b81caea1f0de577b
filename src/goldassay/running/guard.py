"""Programs that never raise: a failed example is a prediction that carries its error.

Whatever a program does with one example is a result of that example: it may raise (also ``SystemExit`` or
``CancelledError``), or return what no measure can read. Only Ctrl-C and a spent budget propagate.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, TypeAlias, cast

import dspy
from pydantic import BaseModel

from goldassay._support.dspy_compat import copy_program
from goldassay._support.exceptions import one_line
from goldassay.core.fields import names, read
from goldassay.core.metric import ObjectPrediction, failed_with
from goldassay.running.account import current
from goldassay.running.budget import BudgetSpent

Program: TypeAlias = dspy.Module | Callable[..., Any]  # what can be run: a DSPy module, or a function of the inputs
PARSER_FAULT = "AST constructor recursion depth mismatch"  # of Python 3.11 where several threads parse
PARSER_RETRIES = 4


def as_prediction(output: object) -> dspy.Prediction:
    """A program's output as a prediction: a dict, an example, a pydantic model and a dataclass give their fields.

    Any other value is the field ``output``. A generator among the fields becomes a list; a coroutine is awaited.

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
    if inspect.isgenerator(output) or inspect.isasyncgen(output):  # calls of dspy.streamify are not heard
        return failed_with("the program returned a stream: measure the module itself, which dspy.streamify got")
    if isinstance(output, dspy.Module):
        return failed_with(f"the program returned a module, {type(output).__name__}: name that, as program = build()")
    fields = output
    if isinstance(output, (dspy.Example, BaseModel)) or is_dataclass(output):
        fields = {name: read(output, name) for name in names(output)}
    if isinstance(fields, Mapping) and fields and all(isinstance(key, str) for key in fields):
        return as_prediction(ObjectPrediction.of(output, fields))
    return dspy.Prediction(output=output)


def failure(error: BaseException, note: str = "") -> dspy.Prediction:
    """The prediction of a program that raised: no field but the error."""
    return failed_with(f"{note}{one_line(error)}")


def attempt(
    program: Program,
    inputs: Mapping[str, object],
    explain: Callable[[BaseException], str] = lambda error: "",
    on_retry: Callable[[], None] = lambda: None,
) -> dspy.Prediction:
    """The prediction of a program, or its failure with a note by ``explain`` before the error.

    DSPy parses signatures while programs run (ReAct does at each step), and while several threads parse, Python 3.11
    raises a ``SystemError`` now and then. The program is run again then, after a call of ``on_retry``.

    Raises:
        BudgetSpent: The budget is spent.
        KeyboardInterrupt: Somebody pressed Ctrl-C.
    """
    retries = PARSER_RETRIES
    call: Callable[..., object] = program
    if hasattr(type(program), "aforward") and not hasattr(type(program), "forward"):
        call = cast("dspy.Module", program).acall
    while True:
        try:
            return as_prediction(call(**inputs))
        except (KeyboardInterrupt, BudgetSpent):
            raise
        except BaseException as error:  # noqa: BLE001  whatever a program raises is a result
            if not retries or not isinstance(error, SystemError) or PARSER_FAULT not in str(error):
                account = current()
                if account is not None and account.empty and account.empty[0] not in account.meter.answered:
                    # a model that never says anything is as dead as one that cannot be reached
                    account.meter.add_outcome(*account.empty)
                return failure(error, explain(error))
        retries -= 1
        on_retry()


class Guard(dspy.Module):
    """Runs a program and turns what it raises into an empty prediction with the error's text.

    ``dspy.Evaluate`` gives a program that raised a constant score and forgets its gold; with a guard around it, all
    gold of the failed example counts as missed.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return attempt(self.program, inputs)


class _Guarded:
    """Comes before a program's own class and catches what its ``forward`` raises."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return attempt(getattr(super(), "forward", None) or super().aforward, inputs)  # type: ignore[misc]

    def reset_copy(self) -> dspy.Module:
        """A copy without demonstrations, whose predictors keep their models: DSPy's own forgets those, too."""
        copy: dspy.Module = super().reset_copy()  # type: ignore[misc]
        for predictor, reset in zip(self.predictors(), copy.predictors(), strict=True):  # type: ignore[attr-defined]
            reset.lm = predictor.lm
        return copy


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
    copy: Any = copy_program(program)
    for predictor in copy.predictors():  # a deep copy shares the signature class, and some optimizers write on it
        predictor.signature = predictor.signature.with_instructions(predictor.signature.instructions)
    plain = type(copy)
    if not issubclass(plain, _Guarded):
        where = ("__module__", "__qualname__", "__firstlineno__")  # optimizers show the program's code to a model
        named = {name: getattr(plain, name) for name in where if hasattr(plain, name)}
        copy.__class__ = type(plain.__name__, (_Guarded, plain), named)
    return copy


def unguarded(program: dspy.Module) -> dspy.Module:
    """The same program, of the class it had before `guarded`."""
    if isinstance(program, _Guarded):
        program.__class__ = type(program).__mro__[2]
        vars(program).pop("forward", None)  # DSPy's tracing leaves the guarded method on the instance
    return program

"""A program that never raises: a failed example becomes a prediction that carries its error.

Whatever a program does with one example is a result of that example: it may raise (also ``SystemExit`` or
``CancelledError``), or give back something that no measure can read. Only Ctrl-C and a spent budget go on upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import dspy

from goldassay.insides import fields_of
from goldassay.measure import FAILURE
from goldassay.running.budget import BudgetSpent

LENGTH = 500
STOPS = (KeyboardInterrupt, BudgetSpent)  # the only exceptions that are not a result of the example


class Guard(dspy.Module):
    """Runs a program and turns what it raises into an empty prediction with the error's text.

    ``dspy.Evaluate`` gives a program that raised a constant score and forgets its gold; with a guard around it, all
    gold of the failed example counts as missed.
    """

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program

    def forward(self, **inputs: Any) -> dspy.Prediction:
        try:
            return as_prediction(self.program(**inputs))
        except STOPS:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a program raises is a result
            return failure(error)


def as_prediction(made: Any) -> dspy.Prediction:
    """What a program gave back as a prediction: a dict has its fields, any other value is the field ``output``.

    A generator among the fields becomes a list.

    >>> as_prediction({"label": "M"})
    Prediction(
        label='M'
    )
    """
    if isinstance(made, dspy.Prediction):
        held = fields_of(made)
        for name, value in held.items():
            if isinstance(value, Iterator):  # the second measure would find it empty
                held[name] = list(value)
        return made
    if made is None:
        return failed_with("the program returned None")
    if isinstance(made, Mapping) and made and all(isinstance(key, str) for key in made):
        return as_prediction(dspy.Prediction(dict(made)))
    return dspy.Prediction(output=made)


def failure(error: BaseException) -> dspy.Prediction:
    """The prediction of a program that raised: no field but the error."""
    return failed_with(said(error))


def failed_with(why: str) -> dspy.Prediction:
    """The prediction of a program that failed: no field but why."""
    return dspy.Prediction(**{FAILURE: why})


def said(error: BaseException) -> str:
    """An exception in one line; its ``__str__`` may itself raise.

    >>> said(ValueError("no\\n text"))
    'ValueError: no text'
    """
    try:
        text = " ".join(str(error).split())[:LENGTH]
    except STOPS:
        raise
    except BaseException:  # noqa: BLE001
        text = "(its text cannot be read)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def shown(value: Any, length: int = LENGTH) -> str:
    """A value in one line, for a message; its ``__repr__`` may itself raise."""
    try:
        text = " ".join(repr(value).split())
    except STOPS:
        raise
    except BaseException:  # noqa: BLE001
        text = f"<{type(value).__name__}>"
    return text if len(text) <= length else f"{text[: length - 1]}…"


def guard(program: Any) -> Guard:
    """``program``, which never raises.

    >>> guard(lambda text: 1 / 0)(text="x").goldassay_failure
    'ZeroDivisionError: division by zero'
    """
    return program if isinstance(program, Guard) else Guard(program)


def guarded(program: Any) -> Any:
    """A deep copy of ``program`` of the same shape that never raises.

    Unlike `guard` it wraps nothing: predictors keep their names, so an optimizer may work on it and its state loads
    into the program that was given. `unguarded` gives the plain class back.
    """
    copy = program.deepcopy()
    for predictor in copy.predictors():  # a deep copy shares the signature class, and some optimizers write on it
        predictor.signature = predictor.signature.with_instructions(predictor.signature.instructions)
    plain = type(copy)
    if not issubclass(plain, _Guarded):
        copy.__class__ = type(plain.__name__, (_Guarded, plain), {"__module__": plain.__module__})
    return copy


def unguarded(program: Any) -> Any:
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

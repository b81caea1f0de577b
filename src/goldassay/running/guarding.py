"""A program that never raises: a failed example becomes a prediction that carries its error."""

from __future__ import annotations

from typing import Any

import dspy

from goldassay.measure import FAILURE


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
            made = self.program(**inputs)
        except Exception as error:  # noqa: BLE001  whatever a program raises is a result
            return failure(error)
        return made if isinstance(made, dspy.Prediction) else dspy.Prediction(output=made)


def failure(error: Exception) -> dspy.Prediction:
    """The prediction of a program that raised: no field but the error."""
    text = " ".join(str(error).split())[:500]
    return dspy.Prediction(**{FAILURE: f"{type(error).__name__}: {text}"})


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
        except Exception as error:  # noqa: BLE001  whatever a program raises is a result
            return failure(error)

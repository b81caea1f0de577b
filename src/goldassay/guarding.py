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
        except Exception as error:
            text = " ".join(str(error).split())[:500]
            return dspy.Prediction(**{FAILURE: f"{type(error).__name__}: {text}"})
        return made if isinstance(made, dspy.Prediction) else dspy.Prediction(output=made)


def guard(program: Any) -> Guard:
    """``program``, which never raises.

    >>> guard(lambda text: 1 / 0)(text="x").goldassay_failure
    'ZeroDivisionError: division by zero'
    """
    return program if isinstance(program, Guard) else Guard(program)

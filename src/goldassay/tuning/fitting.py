"""Which examples a predictor can be shown: those of gold that hold its fields, else its own right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from goldassay._dspy_compat import signature_of
from goldassay.exceptions import GoldassayError


def fits(example: dspy.Example, signature: type[dspy.Signature]) -> bool:
    """Whether a predictor can be shown this example: it has all inputs and one output at least."""
    known = {key for key, value in example.items() if value is not None}
    return known.issuperset(signature.input_fields) and not known.isdisjoint(signature.output_fields)


def shows_none(program: dspy.Module) -> bool:
    """Whether a program has demonstrations and none of them fits its predictor: DSPy leaves such out without a word."""
    shown = [(one, signature_of(predictor)) for predictor in program.predictors() for one in predictor.demos or ()]
    return bool(shown) and not any(fits(*one) for one in shown)


def check_fits(
    program: dspy.Module, train: Sequence[dspy.Example], traces: Mapping[str, Sequence[dspy.Example]]
) -> None:
    """Raise where no example can be shown to any predictor: say what is missing, and how ``to_demo`` gives it."""
    predictors = program.named_predictors()
    if any(traces.values()) or any(fits(one, signature_of(p)) for one in train for _, p in predictors):
        return
    name, predictor = predictors[-1]
    have = sorted({key for one in train[:20] for key, value in one.items() if value is not None})
    inputs = [key for key in signature_of(predictor).input_fields if key not in have]
    outputs = list(signature_of(predictor).output_fields)
    lacking = ", ".join([*inputs, *(outputs if not set(outputs) & set(have) else [])])
    wanted = ", ".join(f'"{key}": …' for key in [*inputs, *outputs])
    raise GoldassayError(
        f"no train example can be shown to {name!r}: it wants {lacking}, and the examples have {', '.join(have)}; "
        f"give the program a method  def to_demo(self, example): return {{{wanted}}}"
    )


def traced(
    program: dspy.Module, examples: Sequence[dspy.Example], right: Sequence[bool], most: int = 12
) -> dict[str, list[dspy.Example]]:
    """Demonstrations from the program's own work, for predictors whose fields gold does not hold.

    The program is run again on examples that it gets ``right``, and what each predictor was asked and answered there is
    its demonstration. Nothing is run where every predictor can be shown gold.
    """
    lacking = {
        name: predictor
        for name, predictor in program.named_predictors()
        if not any(fits(one, signature_of(predictor)) for one in examples)
    }
    out: dict[str, list[Any]] = {name: [] for name in lacking}
    names = {id(predictor): name for name, predictor in program.named_predictors()}
    for example, good in zip(examples, right, strict=True):
        if not lacking or not good or all(len(found) >= most for found in out.values()):
            continue
        with dspy.context(trace=[]):
            try:
                program(**example.inputs())
            except Exception:  # noqa: BLE001  a program that fails here shows nothing
                continue
            steps = list(dspy.settings.trace)
        for predictor, inputs, outputs in steps:
            name = names.get(id(predictor))
            if name in out:
                out[name].append(dspy.Example(id=example.get("id"), **inputs, **dict(outputs.items())))
    return out

"""Feedback in words, rendered from the errors of one example: deterministic and bounded in length."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from goldassay.fields import is_example, names, read
from goldassay.measure import RECORD_ERRORS, Assessment, Error, failed
from goldassay.tally import Evidence

LIMIT = 1500  # characters of a feedback


def feedback(
    pred: object,
    assessments: Mapping[str, Assessment],
    evidence: Evidence,
    pred_name: str | None = None,
    pred_trace: object = None,
) -> str:
    """What is right, what is wrong and what the measures ask, for the predictor ``pred_name`` if it is named.

    Args:
        pred: The prediction.
        assessments: Each measure's assessment, by its key.
        evidence: Their tallies, with the score that they make together.
        pred_name: The predictor that the feedback is for.
        pred_trace: Its calls, as an optimizer hands them over.
    """
    lower = dict.fromkeys(evidence.worst, ", lower is better")
    values = [f"{key} {tally.value:.3f}{lower.get(key, '')}" for key, tally in evidence.items()]
    lines = [f"Score {evidence.value:.3f} ({('; ' if lower else ', ').join(values)})."]
    if failure := failed(pred):
        lines.append(f"The program failed: {failure}")
    errors = list(dict.fromkeys(error for assessment in assessments.values() for error in assessment.errors))
    right = list(dict.fromkeys(text for assessment in assessments.values() for text in assessment.right))
    if pred_name:
        errors = _of_predictor(errors, pred_name, pred_trace, lines)
    lines += [_right(right)] if right else []
    lines += [f"- {error.message}" for error in errors]
    lines += ["Nothing is wrong here."] if not errors and not failure else []
    return _cut(lines)


def _of_predictor(errors: list[Error], pred_name: str, pred_trace: Any, lines: list[str]) -> list[Error]:
    """The errors that this predictor could have avoided; a line each counts those of the steps before and after it."""
    outputs: dict[str, Any] = {}
    inputs = " ".join(str(value) for step in pred_trace or () for value in dict(step[1]).values())
    for step in pred_trace or ():
        outputs |= dict(step[2].items()) if is_example(step[2]) else {}
    if not outputs:
        return errors
    output = " ".join(map(str, outputs.values()))
    own = []
    earlier = 0
    later = 0
    for error in errors:
        copied = error.kind not in ("spurious", *RECORD_ERRORS)
        if error.gold and inputs and copied and error.gold not in inputs:
            earlier += 1
        elif error.field and error.field not in outputs and _was_right(error, output):
            later += 1
        else:
            own.append(error)
    if earlier:
        lines.append(f"{earlier} more were lost before {pred_name!r}: its input does not hold them.")
    if later:
        lines.append(f"{later} that {pred_name!r} had found were lost after it.")
    return own


def _was_right(error: Error, output: str) -> bool:
    """Whether the predictor's output holds what gold has, so that a later step lost or mistyped it."""
    if not error.gold or error.gold not in output:
        return False
    return error.kind == "missed" or (error.kind == "wrong_type" and error.pred_type not in output)


def _right(texts: list[str]) -> str:
    """The right parts, in a quarter of the room."""
    ends = accumulate(len(text) + 2 for text in texts)
    fitting = max(1, sum(end <= LIMIT // 4 for end in ends))
    more = f" and {len(texts) - fitting} more" if fitting < len(texts) else ""
    return f"Right: {'; '.join(texts[:fitting])}{more}."


def _cut(lines: list[str]) -> str:
    """The lines that fit; a line longer than a third of the limit is cut."""
    lines = [line if len(line) <= LIMIT // 3 else f"{line[: LIMIT // 3 - 1]}…" for line in lines]
    fitting = max(1, sum(end <= LIMIT - 40 for end in accumulate(len(line) + 1 for line in lines)))
    more = [f"… and {len(lines) - fitting} more."] if fitting < len(lines) else []
    return "\n".join([*lines[:fitting], *more])


def differences(gold: object, pred: object, text: str, value: float) -> tuple[Error, ...]:
    """The errors of a function that gives only a number: its own words, or the fields that differ from gold."""
    if text:
        return (Error("low_score", text),)
    from goldassay._dspy_compat import input_keys  # imports DSPy

    inputs = input_keys(gold) or ()
    errors = []
    for name in names(pred):
        expected = read(gold, name, None)
        value_of_pred = read(pred, name, None)
        if expected is not None and name not in inputs and expected != value_of_pred:
            message = f"{name}: expected {expected!r}, got {value_of_pred!r}."
            errors.append(Error("wrong_value", message, gold=str(expected), pred=str(value_of_pred), field=name))
    return tuple(errors) or (Error("low_score", f"The metric gives {value:.3f}."),)

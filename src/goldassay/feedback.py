"""Feedback in words, rendered from the errors of one example: deterministic and bounded in length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldassay.fields import is_example, names, read
from goldassay.measure import RECORD_ERRORS, Assessment, Error, failed
from goldassay.tally.evidence import Evidence


def feedback(
    gold: object,
    pred: object,
    assessments: Mapping[str, Assessment[Any]],
    evidence: Evidence,
    pred_name: str | None = None,
    pred_trace: object = None,
    limit: int = 1500,
) -> str:
    """What is right, what is wrong and what the measures ask, for the predictor ``pred_name`` if it is named.

    Args:
        gold: The gold example.
        pred: The prediction.
        assessments: Each measure's assessment, by its key.
        evidence: Their tallies, with the score that they make together.
        pred_name: The predictor that the feedback is for.
        pred_trace: Its calls, as an optimizer hands them over.
        limit: The most characters.
    """
    lower = dict.fromkeys(evidence.worst, ", lower is better")
    values = "; " if lower else ", "
    values = values.join(f"{key} {tally.value:.3f}{lower.get(key, '')}" for key, tally in evidence.items())
    lines = [f"Score {evidence.value:.3f} ({values})."]
    failure = failed(pred)
    if failure:
        lines.append(f"The program failed: {failure}")
    errors = list(dict.fromkeys(error for assessment in assessments.values() for error in assessment.errors))
    right = list(dict.fromkeys(text for assessment in assessments.values() for text in assessment.right))
    if pred_name:
        errors = _of_predictor(errors, pred_name, pred_trace, lines)
    if right:
        lines.append(_listed("Right: ", right, limit // 4))
    lines += [f"- {error.message}" for error in errors]
    if not errors and not failure:
        lines.append("Nothing is wrong here.")
    return _cut(lines, limit)


def _of_predictor(errors: list[Error], pred_name: str, pred_trace: Any, lines: list[str]) -> list[Error]:
    """The errors that this predictor could have avoided; a line each counts those of the steps before and after it."""
    outputs: dict[str, Any] = {}
    inputs = " ".join(str(value) for step in pred_trace or () for value in dict(step[1]).values())
    for step in pred_trace or ():
        outputs |= dict(step[2].items()) if is_example(step[2]) else {}
    if not outputs:
        return errors
    output = " ".join(map(str, outputs.values()))
    own, earlier, later = [], 0, 0
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


def _listed(head: str, items: list[str], limit: int) -> str:
    room = limit - len(head)
    for count, item in enumerate(items):
        if count and len(item) > room:
            return f"{head}{'; '.join(items[:count])} and {len(items) - count} more."
        room -= len(item) + 2
    return f"{head}{'; '.join(items)}."


def _cut(lines: list[str], limit: int) -> str:
    """The lines that fit; a line longer than a third of the limit is cut."""
    fitting: list[str] = []
    used = 0
    for index, line in enumerate(lines):
        text = line if len(line) <= limit // 3 else line[: limit // 3 - 1] + "…"
        used += len(text) + 1
        if used > limit - 40 and index:
            return "\n".join([*fitting, f"… and {len(lines) - index} more."])
        fitting.append(text)
    return "\n".join(fitting)


def differences(gold: object, pred: object, text: str, value: float) -> tuple[Error, ...]:
    """The errors of a function that gives only a number: its own words, or the fields that differ from gold."""
    if text:
        return (Error("low_score", text),)
    from goldassay._dspy_compat import input_keys  # imports DSPy

    inputs = input_keys(gold) or ()
    errors = []
    for name in names(pred):
        expected, value_of_pred = read(gold, name, None), read(pred, name, None)
        if expected is not None and name not in inputs and expected != value_of_pred:
            message = f"{name}: expected {expected!r}, got {value_of_pred!r}."
            errors.append(Error("wrong_value", message, gold=str(expected), pred=str(value_of_pred), field=name))
    return tuple(errors) or (Error("low_score", f"The metric gives {value:.3f}."),)

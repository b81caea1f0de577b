"""Feedback in words, rendered from the errors of one example: deterministic and bounded in length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goldassay.fields import is_example, names, read
from goldassay.measure import Assessment, Error, failed


def feedback(
    gold: object,
    pred: object,
    assessed: Mapping[str, Assessment[Any]],
    value: float,
    pred_name: str | None = None,
    pred_trace: object = None,
    limit: int = 1500,
) -> str:
    """What was right, what was wrong and what the measures ask, for the predictor ``pred_name`` when it is named.

    Args:
        gold: The gold example.
        pred: The prediction.
        assessed: What each measure found, by its key.
        value: The score that they make together.
        pred_trace: The calls of the predictor that is named, as an optimizer hands them over.
        limit: The most characters.
    """
    lines = [f"Score {value:.3f} ({', '.join(f'{key} {found.tally.value:.3f}' for key, found in assessed.items())})."]
    failure = failed(pred)
    if failure:
        lines.append(f"The program failed: {failure}")
    errors = list(dict.fromkeys(error for found in assessed.values() for error in found.errors))
    right = list(dict.fromkeys(text for found in assessed.values() for text in found.right))
    if pred_name:
        errors = _of_predictor(errors, pred_name, pred_trace, lines)
    if right:
        lines.append(_bounded("Right: ", right, limit // 4))
    lines += [f"- {error.message}" for error in errors]
    if not errors and not failure:
        lines.append("Nothing is wrong here.")
    return _cut(lines, limit)


def _of_predictor(errors: list[Error], pred_name: str, pred_trace: Any, lines: list[str]) -> list[Error]:
    """The errors that this predictor could have avoided; what it never saw or does not write is said apart."""
    written = _outputs(pred_trace)
    if not written:
        return errors
    seen, made = _inputs(pred_trace), " ".join(str(value) for value in written.values())
    mine: list[Error] = []
    earlier: list[Error] = []
    later: list[Error] = []
    for error in errors:
        if error.gold and seen and error.kind != "spurious" and error.gold not in seen:
            earlier.append(error)
        elif error.field and error.field not in written and _had_it_right(error, made):
            later.append(error)
        else:
            mine.append(error)
    if earlier:
        lines.append(f"{len(earlier)} more were lost before {pred_name!r}: its input does not hold them.")
    if later:
        lines.append(f"{len(later)} that {pred_name!r} had found were lost after it.")
    return mine


def _had_it_right(error: Error, made: str) -> bool:
    """Whether what gold has stood in the predictor's output, so that a later step lost or mistyped it."""
    if not error.gold or error.gold not in made:
        return False
    return error.kind == "missed" or (error.kind == "wrong_type" and error.pred_type not in made)


def _outputs(pred_trace: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for step in pred_trace or ():
        out |= dict(step[2].items()) if is_example(step[2]) else {}
    return out


def _inputs(pred_trace: Any) -> str:
    return " ".join(str(value) for step in pred_trace or () for value in dict(step[1]).values())


def _bounded(head: str, items: Iterable[str], limit: int) -> str:
    text, rest = head, list(items)
    shown: list[str] = []
    for item in rest:
        if shown and len(text) + len(item) > limit:
            return f"{text}{'; '.join(shown)} and {len(rest) - len(shown)} more."
        shown.append(item)
        limit -= len(item) + 2
    return f"{text}{'; '.join(shown)}."


def _cut(lines: list[str], limit: int) -> str:
    out: list[str] = []
    used = 0
    for index, line in enumerate(lines):
        line = line if len(line) <= limit // 3 else line[: limit // 3 - 1] + "…"
        used += len(line) + 1
        if used > limit - 40 and index:
            return "\n".join([*out, f"… and {len(lines) - index} more."])
        out.append(line)
    return "\n".join(out)


def differences(gold: object, pred: object, said: str, value: float) -> tuple[Error, ...]:
    """What a function that gives only a number found wrong: the fields of gold that the prediction has otherwise."""
    if said:
        return (Error("low_score", said),)
    from goldassay._dspy_compat import input_keys  # imports DSPy

    inputs = input_keys(gold) or ()
    out = []
    for name in names(pred):
        wanted = read(gold, name, None)
        if wanted is not None and name not in inputs and wanted != read(pred, name, None):
            found = read(pred, name, None)
            told = f"{name}: {wanted!r} was asked for, not {found!r}."
            out.append(Error("wrong_value", told, gold=str(wanted), pred=str(found), field=name))
    return tuple(out) or (Error("low_score", f"The metric gives {value:.3f}."),)

"""Questions and answers as the measures read them, whatever kind of record they come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import failed, gold_field, pred_field


def answers(gold: object) -> tuple[str, ...]:
    """The acceptable short answers; none is an unanswerable question.

    A gold example that has only a ``reference`` is answered by it.

    >>> answers({"answers": ["1800", "in 1800"]}), answers({"answers": []}), answers({"reference": "In 1800."})
    (('1800', 'in 1800'), (), ('In 1800.',))
    """
    listed = gold_field(gold, "answers", None)
    if listed is None:
        listed = reference(gold) if read(gold, "reference", None) is not None else gold_field(gold, "answers")
    if isinstance(listed, str):
        return (listed,) if listed else ()
    return _texts(gold, "answers", listed)


def reference(gold: object) -> str:
    """The long answer, or an empty text."""
    text = gold_field(gold, "reference", None)
    if text is not None and not isinstance(text, str):
        raise _wrong(gold, "reference", "text", text)
    return text or ""


def references(gold: object) -> tuple[str, ...]:
    """All texts that an answer may be compared with: the short answers and the long one, each once."""
    short, long = answers(gold), reference(gold)
    return tuple(dict.fromkeys([*short, long] if short and long else short))


def unanswerable(gold: object) -> bool:
    """Whether gold says that there is no answer."""
    return read(gold, "answers", None) is not None and not answers(gold)


def question(gold: object) -> str:
    """The question, or an empty text."""
    return str(read(gold, "question", "") or "")


def answer(pred: object, gold: object = None) -> str:
    """What was answered; empty if the program abstained or failed."""
    text = pred_field(pred, "answer")
    if text is not None and not isinstance(text, str):
        raise _wrong(gold if read(pred, "id", None) is None else pred, "answer", "text (empty to abstain)", text)
    return text or ""


def answer_or_nothing(pred: object, gold: object) -> str:
    """What was answered; empty also if the program failed but left an answer."""
    return "" if failed(pred) else answer(pred, gold)


def confidence(pred: object) -> float | None:
    """How sure the program was, from 0 to 1; ``None`` if it does not say."""
    return number(pred, "confidence", pred_field(pred, "confidence", None), "a number from 0 to 1", 1.0)


def number(record: object, field: str, value: Any, expected: str, most: float = float("inf")) -> float | None:
    """The ``value`` of a ``field`` of a ``record`` as a number from 0 up to ``most``; ``None`` stays.

    Raises:
        DataError: it is none; the message says what was ``expected``.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most):
        raise _wrong(record, field, expected, value)
    return None if value is None else float(value)


def contexts(pred: object) -> tuple[str, ...] | None:
    """The retrieved texts; ``None`` if the prediction does not say."""
    listed = pred_field(pred, "retrieved_contexts", None)
    if listed is None or isinstance(listed, str):
        return None if listed is None else (listed,)
    rows = [
        row if isinstance(row, str) else read(row, "text", row) for row in _listed(pred, "retrieved_contexts", listed)
    ]
    return _texts(pred, "retrieved_contexts", rows)


def extra(record: object, name: str) -> Any:
    """Evidence that not every record has: a field of its own, or one under ``meta``; ``None`` without it."""
    value = None if record is None else read(record, name, None)
    return read(record, f"meta.{name}", None) if value is None and record is not None else value


def check_texts(name: str, values: Sequence[object]) -> None:
    """Raise unless the values are a list of texts.

    >>> check_texts("predictions", ["a", None])
    Traceback (most recent call last):
    goldassay.exceptions.GoldassayError: predictions are not a list of texts: ['a', None]
    """
    if isinstance(values, str) or values is None or not all(issubclass(kind, str) for kind in {*map(type, values)}):
        shown = repr(values)
        raise GoldassayError(f"{name} are not a list of texts: {shown if len(shown) <= 60 else shown[:57] + '...'}")


def check_pairs(predictions: Sequence[object], references: Sequence[object]) -> None:
    """Raise unless there is a reference text for each predicted text."""
    check_texts("predictions", predictions)
    check_texts("references", references)
    if len(predictions) != len(references):
        raise GoldassayError(
            f"{len(predictions)} predictions against {len(references)} references; they must be aligned"
        )


def _listed(record: object, field: str, values: Any) -> Sequence[Any]:
    if not isinstance(values, (list, tuple)):
        raise _wrong(record, field, "a list of texts", values)
    return values


def _texts(record: object, field: str, values: Any) -> tuple[str, ...]:
    for place, value in enumerate(_listed(record, field, values)):
        if not isinstance(value, str):
            raise _wrong(record, f"{field}[{place}]", "text", value)
    return tuple(values)


def _wrong(record: Any, field: str, expected: str, value: Any) -> DataError:
    shown = repr(value)
    name = None if record is None else read(record, "id", None)
    return DataError(
        f"expected {expected}, found {shown if len(shown) <= 60 else shown[:57] + '...'}", record=name, field=field
    )

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
    return _texts(gold, "answers", listed)


def reference(gold: object) -> str:
    """The long answer, or an empty text."""
    return _text(gold, "reference", gold_field(gold, "reference", None))


def references(gold: object) -> tuple[str, ...]:
    """All texts that an answer may be compared with: the short answers and the long one, each once."""
    short, long = answers(gold), reference(gold)
    return tuple(dict.fromkeys([*short, long] if short and long else short))


def expected(gold: object) -> str:
    """What a judge compares an answer with: the reference, else the first short answer; empty if there is none."""
    golds = answers(gold) if reference(gold) or read(gold, "answers", None) else ()
    return (reference(gold) or golds[0]) if golds else ""


def question(gold: object) -> str:
    """The question, or an empty text."""
    return str(read(gold, "question", "") or "")


def answer(pred: object, gold: object = None) -> str:
    """What was answered; empty if the program abstained or failed."""
    text, named = pred_field(pred, "answer"), gold if read(pred, "id", None) is None else pred
    return "" if failed(pred) else _text(named, "answer", text, "text (empty to abstain)")


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
    """The retrieved texts, of a failed program none; ``None`` if the prediction does not say."""
    listed = pred_field(pred, "retrieved_contexts", None)
    if isinstance(listed, (list, tuple)):
        listed = [row if isinstance(row, str) else read(row, "text", row) for row in listed]
    return None if listed is None else _texts(pred, "retrieved_contexts", listed)


def extra(record: object, name: str) -> Any:
    """Evidence that not every record has: a field of its own, or one under ``meta``; ``None`` without it."""
    value = read(record, name, None)
    return read(record, f"meta.{name}", None) if value is None else value


def evidence(pred: object, name: str) -> Any:
    """`extra` of a prediction; ``None`` also if the program failed."""
    return None if failed(pred) else extra(pred, name)


def check_texts(**sides: Sequence[object]) -> None:
    """Raise unless all sides are lists of texts, and of one length.

    >>> check_texts(predictions=["a", "b"], references="ab")
    Traceback (most recent call last):
    goldassay.exceptions.GoldassayError: predictions and references are lists of texts of one length
    """
    texts = all(
        not isinstance(side, str) and all(issubclass(kind, str) for kind in {*map(type, side)})
        for side in sides.values()
    )
    if not texts or len({*map(len, sides.values())}) > 1:
        raise GoldassayError(f"{' and '.join(sides)} are lists of texts of one length")


def _texts(record: object, field: str, values: Any) -> tuple[str, ...]:
    """A list of texts, or one text that is not empty."""
    if isinstance(values, str):
        return (values,) if values else ()
    if not isinstance(values, (list, tuple)):
        raise _wrong(record, field, "a list of texts", values)
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise _wrong(record, f"{field}[{place}]", "text", value)
    return tuple(values)


def _text(record: object, field: str, value: Any, expected: str = "text") -> str:
    if value is not None and not isinstance(value, str):
        raise _wrong(record, field, expected, value)
    return value or ""


def _wrong(record: Any, field: str, expected: str, value: Any) -> DataError:
    return DataError(f"expected {expected}, found {value!r:.60}", record=read(record, "id", None), field=field)

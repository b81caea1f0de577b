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
    if listed is None and read(gold, "reference", None) is not None:
        return tuple(filter(None, [reference(gold)]))
    if listed is None:
        listed = gold_field(gold, "answers")
    if isinstance(listed, str):
        return tuple(filter(None, [listed]))
    if not isinstance(listed, (list, tuple)):
        raise _wrong(gold, "answers", "a list of texts (empty where the question has no answer)", listed)
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


def expected_text(gold: object) -> str | None:
    """What gold answers in one text: its reference, else its first answer; ``None`` if it has neither."""
    if read(gold, "answers", None) is None and read(gold, "reference", None) is None:
        return None
    return reference(gold) or next(iter(answers(gold)), None)


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
    if not isinstance(listed, (list, tuple)):
        raise _wrong(pred, "retrieved_contexts", "a list of texts", listed)
    return _texts(pred, "retrieved_contexts", [c if isinstance(c, str) else read(c, "text", None) for c in listed])


def extra(record: object, name: str) -> Any:
    """Evidence that not every record has: a field of its own, or one under ``meta``; ``None`` without it."""
    value = None if record is None else read(record, name, None)
    return read(record, f"meta.{name}", None) if value is None and record is not None else value


def check_aligned(gold: Sequence[object], pred: Sequence[object]) -> None:
    """Raise unless both sides have the same length, and the same ids where both have them."""
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    seen: set[Any] = set()
    for row, other in zip(gold, pred, strict=True):
        name, others = read(row, "id", None), None if other is None else read(other, "id", None)
        if name is None:
            continue
        if name in seen:
            raise DataError("this question id stands twice in gold; ids must be unique", record=name, field="id")
        seen.add(name)
        if others not in (None, name):
            raise DataError(f"aligned with the prediction for {others}; sort both by id", record=name, field="id")


def check_texts(values: Sequence[object], side: str, why: str) -> None:
    """Raise unless every value is a text; ``why`` says what needs texts.

    >>> check_texts(["a", None], "prediction", "ROUGE compares texts")
    Traceback (most recent call last):
    goldassay.exceptions.GoldassayError: prediction 1 is not text but None; ROUGE compares texts
    """
    if isinstance(values, str):
        raise GoldassayError(f"{side}s are a list of texts, not {values!r}; {why}")
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise GoldassayError(f"{side} {place} is not text but {value!r}; {why}")


def check_pairs(predictions: Sequence[object], references: Sequence[object], why: str) -> None:
    """Raise unless there is a reference text for each predicted text."""
    check_texts(predictions, "prediction", why)
    check_texts(references, "reference", why)
    if len(predictions) != len(references):
        raise GoldassayError(
            f"{len(predictions)} predictions against {len(references)} references; they must be aligned"
        )


def _texts(record: object, field: str, values: Sequence[Any]) -> tuple[str, ...]:
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise _wrong(record, f"{field}[{place}]", "text", value)
    return tuple(values)


def _wrong(record: Any, field: str, expected: str, value: Any) -> DataError:
    shown = repr(value)
    name = None if record is None else read(record, "id", None)
    return DataError(
        f"expected {expected}, found {shown if len(shown) <= 60 else shown[:57] + '...'}", record=name, field=field
    )

"""Questions and answers as the measures read them, whatever kind of record they come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    found = gold_field(gold, "answers", None)
    if found is None:
        given = reference(gold)
        if given:
            return (given,)
        if read(gold, "reference", None) is not None:
            return ()
        found = gold_field(gold, "answers")
    if isinstance(found, str):
        return (found,) if found else ()
    if not isinstance(found, (list, tuple)):
        raise _wrong(gold, "answers", "a list of texts (empty where the question has no answer)", found)
    for place, answer in enumerate(found):
        if not isinstance(answer, str):
            raise _wrong(gold, f"answers[{place}]", "text", answer)
    return tuple(found)


def reference(gold: object) -> str:
    """The long answer, or an empty text."""
    found = gold_field(gold, "reference", None)
    if found is not None and not isinstance(found, str):
        raise _wrong(gold, "reference", "text", found)
    return found or ""


def references(gold: object) -> tuple[str, ...]:
    """All texts that an answer may be compared with: the short answers and the long one, each once."""
    short, long = answers(gold), reference(gold)
    return tuple(dict.fromkeys([*short, long] if short and long else short))


def expected_text(gold: object) -> str | None:
    """What gold answers in one text: its reference, else its first answer; ``None`` where it has neither."""
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
    """What was answered; empty where the program abstained or failed."""
    found = pred_field(pred, "answer")
    if found is None:
        return ""
    if not isinstance(found, str):
        raise _wrong(gold if read(pred, "id", None) is None else pred, "answer", "text (empty to abstain)", found)
    return found


def answer_or_nothing(pred: object, gold: object) -> str:
    """What was answered; empty also where the program failed."""
    return "" if failed(pred) else answer(pred, gold)


def confidence(pred: object) -> float | None:
    """How sure the program was, from 0 to 1; ``None`` where it does not say."""
    found = pred_field(pred, "confidence", None)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= 1:
        raise _wrong(pred, "confidence", "a number from 0 to 1", found)
    return float(found)


def contexts(pred: object) -> tuple[str, ...] | None:
    """The texts that were retrieved; ``None`` where the prediction does not say."""
    found = pred_field(pred, "retrieved_contexts", None)
    if found is None:
        return None
    if isinstance(found, str):
        return (found,)
    if not isinstance(found, (list, tuple)):
        raise _wrong(pred, "retrieved_contexts", "a list of texts", found)
    texts = [context if isinstance(context, str) else read(context, "text", None) for context in found]
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise _wrong(pred, f"retrieved_contexts[{place}]", "text", found[place])
    return tuple(texts)


def extra(record: object, name: str) -> Any:
    """Evidence that not every record has: a field of its own, or one under ``meta``; ``None`` without it."""
    found = read(record, name, None)
    return read(record, f"meta.{name}", None) if found is None else found


def aligned(gold: Sequence[object], pred: Sequence[object]) -> None:
    """Both sides have the same length, and ids that say the same where both have them."""
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    seen: set[Any] = set()
    for one, other in zip(gold, pred, strict=True):
        name = _id(one)
        if name is None:
            continue
        if name in seen:
            raise DataError("this question id stands twice in gold; ids must be unique", record=name, field="id")
        seen.add(name)
        if _id(other) not in (None, name):
            raise DataError(f"aligned with the prediction for {_id(other)}; sort both by id", record=name, field="id")


def all_texts(values: Sequence[object], side: str, why: str) -> None:
    """Raise unless every value is a text; ``why`` says who wants them.

    >>> all_texts(["a", None], "prediction", "ROUGE compares texts")
    Traceback (most recent call last):
    goldassay.exceptions.GoldassayError: prediction 1 is not text but None; ROUGE compares texts
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise GoldassayError(f"{side}s are a list of texts, not {values!r}; {why}")
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise GoldassayError(f"{side} {place} is not text but {value!r}; {why}")


def _id(record: Any) -> Any:
    return record.get("id") if isinstance(record, Mapping) else read(record, "id", None)


def _wrong(record: Any, field: str, wanted: str, found: Any) -> DataError:
    shown = repr(found)
    name = None if record is None else _id(record)
    return DataError(
        f"expected {wanted}, found {shown if len(shown) <= 60 else shown[:57] + '...'}", record=name, field=field
    )

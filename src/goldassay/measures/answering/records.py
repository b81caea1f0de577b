"""Questions and answers as the measures read them, whatever kind of record they come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import as_text, read
from goldassay.core.measure import failed, gold_field, pred_field
from goldassay.measures import Examples

Texts = tuple[str, ...]


def texts_of(record: object, field: str, value: object) -> Texts:
    """A field as a list of texts (or numbers), also SQuAD's ``{"text": […], …}``; a text that is not empty is one.

    Raises:
        DataError: it is none, or one of them is not a text.
    """
    text = as_text(value)
    if isinstance(text, str):
        return (text,) if text else ()
    if isinstance(value, Mapping) and "text" in value:
        return texts_of(record, field, value["text"])
    if not isinstance(value, (list, tuple)):
        raise _wrong(record, field, value, "a list of texts")
    for index, text in enumerate(texts := tuple(map(as_text, value))):
        if not isinstance(text, str):
            raise _wrong(record, f"{field}[{index}]", text, "text")
    return texts


def text_of(record: object, field: str, value: object, expected: str = "text") -> str:
    """A field as a text; empty for ``None``.

    Raises:
        DataError: it is not a text.
    """
    text = as_text(value)
    if text is not None and not isinstance(text, str):
        raise _wrong(record, field, value, expected)
    return text or ""


def number_of(record: object, field: str, value: object, expected: str, most: float = float("inf")) -> float | None:
    """The value of a record's field as a number from 0 up to ``most``; ``None`` stays.

    Raises:
        DataError: it is none; the message says what was ``expected``.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise _wrong(record, field, value, expected)
    return float(value)


def _wrong(record: object, field: str, value: object, expected: str) -> DataError:
    return DataError(f"expected {expected}, found {value!r:.60}", record=read(record, "id", None), field=field)


def answers(gold: object) -> Texts:
    """The acceptable short answers; none is an unanswerable question.

    A gold example that has only a ``reference`` is answered by it.

    >>> answers({"answers": ["1800", "in 1800"]}), answers({"answers": []}), answers({"reference": "In 1800."})
    (('1800', 'in 1800'), (), ('In 1800.',))
    """
    texts = gold_field(gold, "answers", None)
    if texts is None:
        texts = reference(gold) if read(gold, "reference", None) is not None else gold_field(gold, "answers") or ()
    return texts_of(gold, "answers", texts)


def reference(gold: object) -> str:
    """The long answer, or an empty text."""
    return text_of(gold, "reference", gold_field(gold, "reference", None))


def extra(record: object, name: str) -> Any:
    """Evidence that not every record has: a field of its own, or one under ``meta``; ``None`` without it."""
    value = read(record, name, None)
    return read(record, f"meta.{name}", None) if value is None else value


class AnswerPair(NamedTuple):
    """A question with its gold answers, and what a program answered. Fields are read when they are asked for."""

    gold: object
    pred: object

    @property
    def failed(self) -> bool:
        """Whether the program failed."""
        return bool(failed(self.pred))

    @property
    def question(self) -> str:
        """The question, or an empty text."""
        return str(read(self.gold, "question", "") or "")

    @property
    def answers(self) -> Texts:
        """The acceptable short answers; none is an unanswerable question."""
        return answers(self.gold)

    @property
    def references(self) -> Texts:
        """All texts that the answer may be compared with: the short answers and the long one, each once."""
        short = answers(self.gold)
        long = reference(self.gold)
        return tuple(dict.fromkeys([*short, long] if short and long else short))

    @property
    def expected(self) -> str:
        """The text that a judge compares the answer with: the reference, else the first short answer, else empty."""
        golds = answers(self.gold) if reference(self.gold) or read(self.gold, "answers", None) else ()
        return (reference(self.gold) or golds[0]) if golds else ""

    @property
    def answer(self) -> str:
        """The answer; empty if the program abstained or failed."""
        text = pred_field(self.pred, "answer")
        record = self.gold if read(self.pred, "id", None) is None else self.pred
        return "" if self.failed else text_of(record, "answer", text, "text (empty to abstain)")

    @property
    def confidence(self) -> float | None:
        """How sure the program was, from 0 to 1; ``None`` if it does not say."""
        value = pred_field(self.pred, "confidence", None)
        return number_of(self.pred, "confidence", value, "a number from 0 to 1", 1.0)

    @property
    def contexts(self) -> Texts | None:
        """The retrieved texts, of a failed program none; ``None`` if the prediction does not say."""
        rows = pred_field(self.pred, "retrieved_contexts", None)
        if isinstance(rows, (list, tuple)):
            rows = [row if isinstance(row, str) else read(row, "text", row) for row in rows]
        return None if rows is None else texts_of(self.pred, "retrieved_contexts", rows)

    @property
    def name(self) -> str | int | None:
        """The prediction's id, for errors."""
        name: str | int | None = read(self.pred, "id", None)
        return name

    def evidence(self, name: str) -> Any:
        """`extra` of the prediction; ``None`` also if the program failed."""
        return None if self.failed else extra(self.pred, name)


def check_texts(**sides: Examples) -> None:
    """Raise a `GoldassayError` unless all sides are lists of texts, and of one length.

    >>> check_texts(predictions=["a", "b"], references="ab")
    Traceback (most recent call last):
    goldassay._support.exceptions.GoldassayError: predictions and references are lists of texts of one length
    """
    texts = all(
        not isinstance(side, str) and all(issubclass(kind, str) for kind in {*map(type, side)})
        for side in sides.values()
    )
    if not texts or len({*map(len, sides.values())}) > 1:
        raise GoldassayError(f"{' and '.join(sides)} are lists of texts of one length")

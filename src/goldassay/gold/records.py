"""The records of gold data and of predictions: one shape a task, checked by pydantic, kept as plain dicts.

Each shape is a ``TypedDict`` that pydantic validates with ``extra="forbid"``: what is not named here is an error, and
what comes out is a dict, so nothing is copied between a model and a record. The shapes stand in `shapes`.

Offsets are proved: ``text[start:end] == span["text"]``, or it is said where the text really stands (`prove`).

>>> check({"id": 7, "text": "Rijksmuseum", "entities": []}, "extraction")["id"]
'7'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from goldassay.exceptions import DataError
from goldassay.gold import shapes
from goldassay.gold.shapes import (
    PredictedAnswering,
    PredictedClassification,
    PredictedExtraction,
    PredictedLinking,
    PredictedRetrieval,
    PredictedTriples,
)
from goldassay.measure import TASKS

SPANS = {"extraction": "entities", "linking": "links"}


def prove(text: str, spans: Sequence[Mapping[str, Any]], field: str, record: object = None) -> None:
    """Raise for the first span that does not stand where it says.

    A predicted span without offsets (``null``) is one that its system did not find in the text; it needs its words.

    >>> prove("ISIL: NL-AmRM)", [{"start": 6, "end": 13, "text": "NL-AmRM"}], "entities")
    >>> prove("(ISIL: NL-AmRM)", [{"start": 6, "end": 13, "text": "NL-AmRM"}], "entities", "e1")
    Traceback (most recent call last):
    goldassay.exceptions.DataError: record e1, entities[0]: text[6:13] is ' NL-AmR', not 'NL-AmRM', which stands at 7:14
    """
    for index, span in enumerate(spans):
        start, end = span["start"], span["end"]
        if start is None or end is None:
            unplaced(span, f"{field}[{index}]", record)
            continue
        if start < end <= len(text) and text[start:end] == span.get("text"):
            continue
        what = fault(text, span)
        if what:
            raise DataError(what, record=record, field=f"{field}[{index}]")


def unplaced(span: Mapping[str, object], field: str, record: object = None) -> None:
    """Raise if a span without offsets is not whole: both are ``null``, and the words that were given are there."""
    if span["start"] is not None or span["end"] is not None:
        raise DataError("start and end are both numbers or both null", record=record, field=field)
    if not span.get("text") or span.get("fragments"):
        raise DataError(
            "a span without offsets has its words under 'text', and no fragments", record=record, field=field
        )


def fault(text: str, span: Mapping[str, Any]) -> str | None:
    """What is wrong with a span, in words; None where it stands where it says."""
    start, end, expected = span["start"], span["end"], span.get("text")
    if end <= start:
        return f"the end ({end}) is not after the start ({start})"
    if end > len(text):
        return f"{start}:{end} reaches beyond the text, which has {len(text)} characters" + _hint(
            text, expected, start
        ).replace(", which", "; it", 1)
    stands = covered(text, span)
    if expected is None or expected == stands:
        return None
    return f"text[{start}:{end}] is {_short(stands)}, not {_short(expected)}" + _hint(text, expected, start)


def covered(text: str, span: Mapping[str, Any]) -> str:
    """The text under a span; the pieces of a discontinuous one are joined by a space, as in brat."""
    fragments = span.get("fragments")
    if fragments:
        return " ".join(text[start:end] for start, end in fragments)
    return text[span["start"] : span["end"]]


def nearest(text: str, wanted: str, start: int) -> int | None:
    """Where ``wanted`` stands closest to ``start``; None if it does not occur."""
    if not wanted:
        return None
    before, after = text.rfind(wanted, 0, start + len(wanted)), text.find(wanted, start)
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start)) if found else None


def _hint(text: str, expected: str | None, start: int) -> str:
    place = nearest(text, expected, start) if expected else None
    if expected is None:
        return ""
    return ", which does not occur in it" if place is None else f", which stands at {place}:{place + len(expected)}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


Side = Literal["gold", "pred"]
GOLD: dict[str, Any] = {
    "extraction": shapes.Extraction,
    "classification": shapes.Classification,
    "linking": shapes.Linking,
    "retrieval": shapes.Retrieval,
    "answering": shapes.Answering,
    "triples": shapes.Triples,
}
PRED: dict[str, Any] = {
    "extraction": PredictedExtraction,
    "classification": PredictedClassification,
    "linking": PredictedLinking,
    "retrieval": PredictedRetrieval,
    "answering": PredictedAnswering,
    "triples": PredictedTriples,
}
INPUTS = {
    "extraction": "text",
    "classification": "text",
    "linking": "text",
    "retrieval": "query",
    "answering": "question",
    "triples": "text",
}


@cache
def adapter(task: str, side: Side = "gold") -> TypeAdapter[dict[str, object]]:
    """The validator of a task's records."""
    if task not in TASKS:
        raise DataError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    return TypeAdapter((GOLD if side == "gold" else PRED)[task])


def check(record: object, task: str, side: Side = "gold") -> dict[str, Any]:
    """One record, validated; what is wrong is one line with the field.

    >>> check({"id": "a", "text": "x", "entities": [{"start": "0", "end": 1, "type": "TOP"}]}, "extraction")
    Traceback (most recent call last):
    goldassay.exceptions.DataError: record a, entities[0].start: input should be a valid integer, found '0'
    """
    try:
        return adapter(task, side).validate_python(record)
    except ValidationError as error:
        known = record.get("id") if isinstance(record, dict) else None
        raise plain(error, record=known) from None


def plain(error: ValidationError, record: object = None) -> DataError:
    """Pydantic's first complaint as one line of ours."""
    return _plain(error.errors(include_url=False, include_context=False)[0], record)


def complaints(error: ValidationError) -> list[DataError]:
    """All of pydantic's complaints; of the alternatives of one field only the first."""
    found: list[DataError] = []
    for detail in error.errors(include_url=False, include_context=False):
        made = _plain(detail, None)
        field = made.field or ""
        if not any(field.startswith(known.field or "") or (known.field or "").startswith(field) for known in found):
            found.append(made)
    return found


def _plain(first: Mapping[str, Any], record: Any) -> DataError:
    message = first["msg"]
    if first["type"] == "json_invalid":
        what = message.removeprefix("Invalid JSON: ").replace(" at line 1 column ", " at column ")
        cut = "; is the line cut off?" if what.startswith("EOF") else ""
        return DataError(f"not JSON: {what}{cut}", record=record)
    field = ""
    for step in first["loc"]:
        if isinstance(step, int):
            field += f"[{step}]"
        elif not step.startswith(("dict[", "list[", "function-", "constrained-")) and step not in (
            "str",
            "int",
            "float",
        ):
            field += f".{step}" if field else step
    what = message[:1].lower() + message[1:]
    if first["type"] == "extra_forbidden":
        what = "no such field in this record; put what is your own under 'meta'"
    elif first["type"] == "missing":
        what = "this field is missing"
    else:
        found = repr(first["input"])
        what += f", found {found if len(found) <= 80 else found[:77] + '...'}"
    return DataError(what, record=record, field=field or None)


def schema(task: str, side: Side = "gold") -> dict[str, object]:
    """The JSON Schema of a task's records.

    >>> schema("retrieval")["required"]
    ['id', 'query', 'relevant']
    """
    return adapter(task, side).json_schema()


def once(records: Sequence[Mapping[str, Any]], file: object) -> None:
    """Raise if an id is used twice."""
    if len(set(map(itemgetter("id"), records))) == len(records):
        return
    seen: set[str] = set()
    for record in records:
        if record["id"] in seen:
            raise DataError("duplicate document id; each record needs its own", file=file, record=record["id"])
        seen.add(record["id"])

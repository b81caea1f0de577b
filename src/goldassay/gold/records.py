"""The records of gold data and of predictions: one shape a task, checked by pydantic, kept as plain dicts.

Each shape is a ``TypedDict`` that pydantic validates with ``extra="forbid"``: what is not named here is an error, and
what comes out is a dict, so nothing is copied between a model and a record. The shapes stand in `shapes` (gold) and
`predictions`.

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
from goldassay.gold import predictions, shapes
from goldassay.measure import TASKS

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
    "extraction": predictions.PredictedExtraction,
    "classification": predictions.PredictedClassification,
    "linking": predictions.PredictedLinking,
    "retrieval": predictions.PredictedRetrieval,
    "answering": predictions.PredictedAnswering,
    "triples": predictions.PredictedTriples,
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
def adapter(task: str, side: Side = "gold") -> TypeAdapter[dict[str, Any]]:
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


def schema(task: str, side: Side = "gold") -> dict[str, Any]:
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

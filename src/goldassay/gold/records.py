"""The records of gold data and of predictions: one shape a task, checked by pydantic, kept as plain dicts.

Each shape is a ``TypedDict`` that pydantic validates with ``extra="forbid"``: what is not named here is an error, and
what comes out is a dict, so nothing is copied between a model and a record. Offsets are characters (Unicode code
points, not bytes and not UTF-16 units), from 0, with an exclusive end. An ``id`` that is written as a number becomes
text.

>>> check({"id": 7, "text": "Rijksmuseum", "entities": []}, "extraction")["id"]
'7'
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from goldassay.exceptions import DataError
from goldassay.measure import TASKS

Side = Literal["gold", "pred"]
Id = Annotated[str, Field(min_length=1, coerce_numbers_to_str=True)]
Offset = Annotated[int, Field(ge=0, strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Grade = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Stratum = str | int | float | bool | None
FORBID = ConfigDict(extra="forbid")


class Common(TypedDict):
    """What every gold record may have."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    language: NotRequired[str | None]
    split: NotRequired[str | None]
    strata: NotRequired[dict[str, Stratum]]
    meta: NotRequired[dict[str, Any]]


class Span(TypedDict):
    """A typed stretch of text; ``fragments`` are the pieces of a discontinuous one, from ``start`` to ``end``."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    start: Offset
    end: Offset
    type: str
    text: NotRequired[str]
    fragments: NotRequired[list[tuple[Offset, Offset]]]
    confidence: NotRequired[Number | None]


class Extraction(Common):
    """A document and its entities; ``tokens`` are the offsets of a tokenisation that the source had."""

    text: str
    entities: list[Span]
    tokens: NotRequired[list[tuple[Offset, Offset]]]


class Classification(Common):
    """A document and its type."""

    text: NotRequired[str]
    label: str
    secondary_labels: NotRequired[list[str]]
    rationale: NotRequired[str | None]


class Link(TypedDict):
    """A mention and its identifiers by knowledge base; none at all is NIL."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    start: Offset
    end: Offset
    text: NotRequired[str]
    type: NotRequired[str | None]
    ids: dict[str, list[str]]
    checked: NotRequired[bool]
    rests_on: NotRequired[str | None]


class Linking(Common):
    """A document and its linked mentions, keyed by (document, start, end)."""

    text: str
    links: list[Link]


class Retrieval(Common):
    """A query and its judged documents: a grade of 0 or more each, or a list of the relevant ones."""

    query: str
    relevant: dict[str, Grade] | list[str]


class Answering(Common):
    """A question and its acceptable answers; none is an unanswerable question."""

    question: str
    answers: list[str]
    reference: NotRequired[str | None]
    supporting_facts: NotRequired[list[str]]
    answer_type: NotRequired[str | None]
    documents: NotRequired[list[str]]
    context: NotRequired[str]
    answer_starts: NotRequired[list[Offset]]
    entities: NotRequired[list[str]]


class Triple(TypedDict):
    """A statement; ``object`` is text or a typed value, ``confidence`` is a prediction's."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    subject: str | dict[str, Any]
    predicate: str
    object: str | int | float | bool | dict[str, Any]
    object_type: NotRequired[str | None]
    subject_id: NotRequired[str | None]
    predicate_id: NotRequired[str | None]
    object_id: NotRequired[str | None]
    object_labels: NotRequired[list[str]]
    rank: NotRequired[str | None]
    domain: NotRequired[str | None]
    verdict: NotRequired[str | None]
    supported: NotRequired[bool | None]
    importance: NotRequired[str | None]
    confidence: NotRequired[Number | None]
    meta: NotRequired[dict[str, Any]]


class Triples(Common):
    """A text and the statements it makes."""

    text: NotRequired[str]
    triples: list[Triple]
    domain: NotRequired[str | None]


class Predicted(TypedDict):
    """What every prediction may have."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    text: NotRequired[str]
    latency_ms: NotRequired[Number | None]
    error: NotRequired[str | None]
    meta: NotRequired[dict[str, Any]]


class PredictedExtraction(Predicted):
    """Entities that a system found."""

    entities: list[Span]


class PredictedClassification(Predicted):
    """The type that a system chose."""

    label: str | None
    secondary_labels: NotRequired[list[str]]
    confidence: NotRequired[Number | None]


class Candidate(TypedDict):
    """One identifier that a system proposes for a mention."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    score: NotRequired[Number | None]
    kb: NotRequired[str]


class PredictedLink(TypedDict):
    """A mention and its candidates, best first; none at all is NIL."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    start: Offset
    end: Offset
    text: NotRequired[str]
    type: NotRequired[str | None]
    candidates: list[Candidate]
    ids: NotRequired[dict[str, list[str]]]


class PredictedLinking(Predicted):
    """Mentions that a system linked."""

    links: list[PredictedLink]


class Result(TypedDict):
    """One retrieved document."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    doc_id: Id
    score: NotRequired[Number | None]
    source: NotRequired[str | None]
    text: NotRequired[str]


class PredictedRetrieval(Predicted):
    """Documents that a system retrieved."""

    results: list[Result]


class PredictedAnswering(Predicted):
    """An answer; an empty one abstains."""

    answer: str
    confidence: NotRequired[Number | None]
    retrieved_contexts: NotRequired[list[str]]
    citations: NotRequired[list[Any]]


class PredictedTriples(Predicted):
    """Statements that a system found."""

    triples: list[Triple]


GOLD: dict[str, Any] = {
    "extraction": Extraction,
    "classification": Classification,
    "linking": Linking,
    "retrieval": Retrieval,
    "answering": Answering,
    "triples": Triples,
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
def adapter(task: str, side: Side = "gold") -> TypeAdapter[dict[str, Any]]:
    """The validator of a task's records."""
    if task not in TASKS:
        raise DataError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    return TypeAdapter((GOLD if side == "gold" else PRED)[task])


def check(record: Any, task: str, side: Side = "gold") -> dict[str, Any]:
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


def plain(error: ValidationError, record: Any = None) -> DataError:
    """Pydantic's first complaint as one line of ours."""
    first = error.errors(include_url=False, include_context=False)[0]
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

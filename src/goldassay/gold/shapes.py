"""The shapes of gold records and of predictions: what a task's record has, field by field.

Offsets are characters (Unicode code points, not bytes and not UTF-16 units), from 0, with an exclusive end. An ``id``
that is written as a number becomes text. A prediction is what a system says of a gold record with the same ``id``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

Id = Annotated[str, Field(min_length=1, coerce_numbers_to_str=True)]
Offset = Annotated[int, Field(ge=0, strict=True)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Grade = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]
Stratum = str | int | float | bool | None
FORBID = ConfigDict(extra="forbid")
Record = Mapping[str, Any]  # a record of whichever task


class Common(TypedDict):
    """What every gold record may have."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    language: NotRequired[str | None]
    split: NotRequired[str | None]
    strata: NotRequired[dict[str, Stratum]]
    meta: NotRequired[dict[str, Any]]


class Span(TypedDict):
    """A typed stretch of text; ``fragments`` are the pieces of a discontinuous one, from ``start`` to ``end``.

    An ``optional`` one may be left out, and ``parent`` is the place of the span that this is a part of, as for links.
    """

    __pydantic_config__ = FORBID  # type: ignore[misc]
    start: Offset
    end: Offset
    type: str
    text: NotRequired[str]
    fragments: NotRequired[list[tuple[Offset, Offset]]]
    confidence: NotRequired[Finite | None]
    optional: NotRequired[Flag]
    parent: NotRequired[tuple[Offset, Offset] | None]


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
    """A mention and its identifiers by knowledge base; none at all is NIL.

    An ``optional`` one may be left out. ``parent`` is the place of the mention that this is a part of: all parts
    together stand for the whole (ELEVANT).
    """

    __pydantic_config__ = FORBID  # type: ignore[misc]
    start: Offset
    end: Offset
    text: NotRequired[str]
    type: NotRequired[str | None]
    ids: dict[str, list[str]]
    checked: NotRequired[Flag]
    rests_on: NotRequired[str | None]
    optional: NotRequired[Flag]
    parent: NotRequired[tuple[Offset, Offset] | None]


class Linking(Common):
    """A document and its linked mentions, keyed by (document, start, end); ``tokens`` as for entities."""

    text: str
    links: list[Link]
    tokens: NotRequired[list[tuple[Offset, Offset]]]


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
    supported: NotRequired[Flag | None]
    importance: NotRequired[str | None]
    confidence: NotRequired[Finite | None]
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
    latency_ms: NotRequired[Finite | None]
    error: NotRequired[str | None]
    meta: NotRequired[dict[str, Any]]


class PredictedSpan(Span):
    """An entity; one that does not stand in the text has ``null`` for ``start`` and ``end``, and its words.

    ``form`` is how a tokenised system file writes the words, where that is not how gold does.
    """

    start: Offset | None  # type: ignore[misc]
    end: Offset | None  # type: ignore[misc]
    form: NotRequired[str]


class PredictedExtraction(Predicted):
    """Entities that a system found."""

    entities: list[PredictedSpan]


class PredictedClassification(Predicted):
    """The type that a system chose."""

    label: str | None
    secondary_labels: NotRequired[list[str]]
    confidence: NotRequired[Finite | None]


class Candidate(TypedDict):
    """One identifier that a system proposes for a mention."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    score: NotRequired[Finite | None]
    kb: NotRequired[str]


class PredictedLink(TypedDict):
    """A mention and its candidates, best first; none at all is NIL; without a place, its offsets are ``null``.

    ``form`` is as for an entity.
    """

    __pydantic_config__ = FORBID  # type: ignore[misc]
    start: Offset | None
    end: Offset | None
    text: NotRequired[str]
    type: NotRequired[str | None]
    candidates: list[Candidate]
    ids: NotRequired[dict[str, list[str]]]
    form: NotRequired[str]


class PredictedLinking(Predicted):
    """Mentions that a system linked."""

    links: list[PredictedLink]


class Result(TypedDict):
    """One retrieved document."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    doc_id: Id
    score: NotRequired[Finite | None]
    source: NotRequired[str | None]
    text: NotRequired[str]


class PredictedRetrieval(Predicted):
    """Documents that a system retrieved."""

    results: list[Result]


class PredictedAnswering(Predicted):
    """An answer; an empty one abstains."""

    answer: str
    confidence: NotRequired[Finite | None]
    retrieved_contexts: NotRequired[list[str]]
    citations: NotRequired[list[Any]]


class PredictedTriples(Predicted):
    """Statements that a system found."""

    triples: list[Triple]


def of_gold(record: Mapping[str, Any], task: str) -> dict[str, Any]:
    """The prediction that says what a gold record says: gold fed back, which every measure gives its best value.

    >>> of_gold({"id": "q", "query": "x", "relevant": {"a": 1, "b": 2, "c": 0}}, "retrieval")["results"]
    [{'doc_id': 'b', 'score': 2.0}, {'doc_id': 'a', 'score': 1.0}]
    """
    made: dict[str, Any] = {"id": record["id"]}
    if task == "extraction":
        return made | {"entities": [dict(span) for span in record["entities"]]}
    if task == "classification":
        return made | {"label": record["label"], "secondary_labels": list(record.get("secondary_labels") or ())}
    if task == "linking":
        return made | {"links": [_answered(link) for link in record["links"]]}
    if task == "retrieval":
        judged = record["relevant"]
        grades = judged if isinstance(judged, Mapping) else dict.fromkeys(judged, 1)
        order = sorted((name for name, grade in grades.items() if grade > 0), key=lambda name: -grades[name])
        return made | {"results": [{"doc_id": name, "score": float(grades[name])} for name in order]}
    if task == "answering":
        return made | {"answer": next(iter(record["answers"]), "")}
    return made | {"triples": [dict(triple) for triple in record["triples"]]}


def _answered(link: Mapping[str, Any]) -> dict[str, Any]:
    ids = link.get("ids") or {}
    place = {name: link[name] for name in ("start", "end", "text", "type") if name in link}
    return {**place, "candidates": [{"id": one} for found in ids.values() for one in found], "ids": dict(ids)}

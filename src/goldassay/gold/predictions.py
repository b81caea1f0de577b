"""The shapes of predictions: what a system says of a gold record with the same ``id``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from goldassay.gold.shapes import FORBID, Id, Number, Offset, Span, Triple


class Predicted(TypedDict):
    """What every prediction may have."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    text: NotRequired[str]
    latency_ms: NotRequired[Number | None]
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
    confidence: NotRequired[Number | None]


class Candidate(TypedDict):
    """One identifier that a system proposes for a mention."""

    __pydantic_config__ = FORBID  # type: ignore[misc]
    id: Id
    score: NotRequired[Number | None]
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

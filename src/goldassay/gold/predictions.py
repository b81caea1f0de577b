"""The shapes of predictions: what a system says of a gold record with the same ``id``."""

from __future__ import annotations

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

"""The shapes of gold records and predictions, field by field; pydantic validates them.

Offsets count characters (Unicode code points, not bytes and not UTF-16 units) from 0, with an exclusive end. An ``id``
or ``document`` may be any string or number, 0 included; a number becomes text. A prediction answers the gold record
with the same ``id``. Records of one ``document`` (passages of a page, questions about it) are resampled and split
together.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, Required

from pydantic import BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

from goldassay._support.jsonl import parse_field
from goldassay.core.fields import Fields, JsonObject, as_text
from goldassay.core.measure import TASKS

Id = Annotated[str, Field(min_length=1, coerce_numbers_to_str=True)]
PlainText = Annotated[str, BeforeValidator(as_text)]
Offset = Annotated[int, Field(ge=0, strict=True)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Grade = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]
Stratum = str | int | float | bool | None
Side = Literal["gold", "pred"]


SYNONYMS = {
    **{"type": ("label", "labels", "entity_group"), "start": ("start_offset",), "end": ("end_offset",)},
    **{"subject": ("head",), "predicate": ("relation", "type"), "object": ("tail",), "confidence": ("score",)},
}
"""What other tools call the fields of a span and of a statement."""


def _or_tuple(*names: str) -> BeforeValidator:
    """A tuple (or list) of the values of these fields may stand for the record, as spaCy has spans.

    So may a record of another tool, which has other names (`SYNONYMS`). Of that only these fields, the words and the
    confidence are read.
    """

    def named(value: object) -> object:
        if isinstance(value, (list, tuple)) and len(value) == len(names):
            return dict(zip(names, value, strict=True))
        if not isinstance(value, dict) or value.keys() >= {*names}:
            return value
        fields = {}
        for name in (*names, "text", "confidence"):
            synonym = next((other for other in (name, *SYNONYMS.get(name, ())) if other in value), None)
            if synonym:
                fields[name] = value[synonym]
        if isinstance(kinds := fields.get("type"), list) and len(kinds) == 1:
            fields["type"] = kinds[0]
        return fields if fields.keys() >= {*names} else value

    return BeforeValidator(named)


def _place(token: object) -> object:
    """The offsets of a token, which may be a record with more about it, as spaCy has tokens."""
    return (token.get("start"), token.get("end")) if isinstance(token, dict) else token


def _or_identifier(field: str) -> BeforeValidator:
    """A mention whose one item of Wikidata stands under ``qid`` (or in a tuple, third), which goes to the ``field``."""

    def named(value: object) -> object:
        if isinstance(value, (list, tuple)) and len(value) == 3:
            value = dict(zip(("start", "end", "qid"), value, strict=True))
        if not isinstance(value, dict) or field in value or "qid" not in value:
            return value
        identifiers = [value["qid"]] if value["qid"] not in (None, "", "NIL") else []
        by_base = {"wikidata": identifiers} if identifiers else {}
        rest = {name: value[name] for name in value if name != "qid"}
        return {**rest, field: by_base if field == "ids" else identifiers}

    return BeforeValidator(named)


def _or_value(name: str) -> BeforeValidator:
    """The value of this field may stand for the record."""
    return BeforeValidator(lambda value: {name: value} if isinstance(value, str | int) else value)


def _or_json(name: str) -> BeforeValidator:
    """The text in which a model wrote the list of this field may stand for it."""
    return BeforeValidator(lambda value: parse_field(value, name) if isinstance(value, str) else value)


def _texts(value: object) -> object:
    """Answers as SQuAD's data set has them: ``{"text": […], "answer_start": […]}``."""
    texts = as_text(value["text"] if isinstance(value, dict) and "text" in value else value)
    return [texts] if isinstance(texts, str) else texts


class Strict(TypedDict):
    """A shape with no other fields than its own."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]


class Failure(Strict, total=False):
    """A fault that a person saw: a failure mode (`goldassay.ext.labelling.modes`), the remark, how bad it is, 1 to 3,
    and at which step of a trace it was made, from 0."""

    mode: Required[str]
    note: str | None
    grade: int | None
    step: int | None


class Common(Strict, total=False):
    """The fields that every gold record may have.

    Records of a draft say how they were chosen (``sampling``, `goldassay.statistics.design`), what systems answered
    (``suggestions``), and whose answers a person took to be right (``preferred``, `goldassay.ext.labelling.labelled`);
    those of a review what went wrong (``errors``), where somebody looked for it.
    """

    id: Required[Id]
    document: Id | None
    language: str | None
    split: str | None
    strata: dict[str, Stratum]
    meta: JsonObject
    sampling: JsonObject
    suggestions: dict[str, JsonObject]
    preferred: list[str]
    errors: list[Failure]


class EntitySpan(Strict):
    """A typed stretch of text; ``fragments`` are the pieces of a discontinuous one, from ``start`` to ``end``.

    An ``optional`` span may be left out; ``parent`` is the place of the span that this one is a part of.
    """

    start: Offset
    end: Offset
    type: str
    text: NotRequired[str]
    fragments: NotRequired[list[tuple[Offset, Offset]]]
    confidence: NotRequired[Finite | None]
    optional: NotRequired[Flag]
    parent: NotRequired[tuple[Offset, Offset] | None]


Token = Annotated[tuple[Offset, Offset], BeforeValidator(_place)]


class Extraction(Common):
    """A document and its entities; ``tokens`` are the offsets of a tokenisation that the source had."""

    text: str
    entities: list[Annotated[EntitySpan, _or_tuple("start", "end", "type")]]
    tokens: NotRequired[list[Token]]


class Classification(Common, total=False):
    """A document and its type, or several ``labels``, or a grade (``score``); a label may be a number.

    ``weight`` is how much the example counts (``score --option weight=weight``).
    """

    text: str
    label: PlainText
    labels: list[PlainText]
    score: Finite
    weight: Grade
    secondary_labels: list[str]
    rationale: str | None


class Link(Strict):
    """A mention and its identifiers by knowledge base; no identifier means NIL.

    An ``optional`` mention may be left out. ``parent`` is the place of the mention that this one is a part of: all
    parts together stand for the whole (ELEVANT).
    """

    start: Offset
    end: Offset
    text: NotRequired[str]
    fragments: NotRequired[list[tuple[Offset, Offset]]]
    type: NotRequired[str | None]
    ids: dict[str, list[str]]
    checked: NotRequired[Flag]
    rests_on: NotRequired[str | None]
    optional: NotRequired[Flag]
    parent: NotRequired[tuple[Offset, Offset] | None]


class Linking(Common):
    """A document and its linked mentions, keyed by (document, start, end); ``tokens`` as for entities."""

    text: str
    links: list[Annotated[Link, _or_identifier("ids")]]
    tokens: NotRequired[list[Token]]


class Retrieval(Common):
    """A query and its judged documents: a grade of 0 or more each, or a list of the relevant ones."""

    query: str
    relevant: dict[str, Grade] | list[Id]


class Answering(Common, total=False):
    """A question and its acceptable answers (one of several spans is a list); none is an unanswerable question.

    ``provenance`` are the sets of documents of which one supports the answer (KILT); ``answerable`` says which versions
    of the question have an answer (MuSiQue).
    """

    question: Required[str]
    answers: Required[Annotated[list[PlainText | list[PlainText]], BeforeValidator(_texts)]]
    reference: str | None
    supporting_facts: list[object]
    answer_type: str | None
    documents: list[str]
    provenance: list[list[str]]
    answerable: list[bool]
    context: str
    answer_starts: list[Offset]
    entities: list[str]


class TripleShape(Strict, total=False):
    """A statement; ``object`` is text or a typed value, ``confidence`` is a prediction's."""

    subject: Required[str | JsonObject]
    predicate: Required[str]
    object: Required[str | int | float | bool | JsonObject]
    object_type: str | None
    subject_id: str | None
    predicate_id: str | None
    object_id: str | None
    object_labels: list[str]
    evidence: list[int]
    in_train: Flag | None
    rank: str | None
    domain: str | None
    verdict: Literal["correct", "incorrect", "uncertain", "in_wikidata"] | None
    supported: Flag | None
    importance: str | None
    confidence: Finite | None
    meta: JsonObject


class Triples(Common):
    """A text and the statements it makes."""

    text: NotRequired[str]
    triples: list[Annotated[TripleShape, _or_tuple("subject", "predicate", "object")]]
    domain: NotRequired[str | None]


class WholeRecord(Common):
    """A document and the structured record that it says, of any shape; a text is read as JSON."""

    text: NotRequired[str]
    record: JsonObject | list[object] | str


class ToolCall(Strict):
    """A call of a tool; a value of ``args`` may be a list of acceptable values."""

    name: str
    args: NotRequired[JsonObject]


class Trajectories(Common, total=False):
    """A question and the calls that answer it, or several acceptable lists of calls; ``order`` says whether it counts.

    ``answers`` are the acceptable final answers, ``functions`` the schemas of the tools, ``state`` what must be true at
    the end, ``category`` a kind of example that values are broken down by, ``documents`` what the answer rests on,
    ``messages`` a conversation with these calls, which is read for them where ``calls`` is absent.
    """

    question: str
    calls: Required[list[ToolCall] | list[list[ToolCall]]]
    messages: list[JsonObject]
    order: Literal["strict", "any"]
    answers: list[PlainText]
    functions: list[JsonObject]
    state: object
    category: str | None
    documents: list[str]


class Predicted(Strict, total=False):
    """The fields that every prediction may have."""

    id: Required[Id]
    document: Id | None
    text: str
    latency_ms: Finite | None
    error: str | None
    meta: JsonObject


class PredictedSpan(EntitySpan):
    """A predicted entity; ``start`` and ``end`` are ``null``, and ``text`` is required, if it is not in the text.

    ``form`` is the system's own spelling of the tokens, if it differs from gold's.
    """

    start: Offset | None  # type: ignore[misc]
    end: Offset | None  # type: ignore[misc]
    form: NotRequired[str]


class PredictedExtraction(Predicted):
    """Entities that a system found."""

    entities: Annotated[list[Annotated[PredictedSpan, _or_tuple("start", "end", "type")]], _or_json("entities")]


class PredictedClassification(Predicted, total=False):
    """The type, labels or grade that a system chose, and how probable it takes each label to be."""

    label: PlainText | None
    labels: list[PlainText]
    score: Finite | None
    probabilities: dict[str, Finite]
    secondary_labels: list[str]
    confidence: Finite | None


class LinkCandidate(Strict):
    """One identifier that a system proposes for a mention."""

    id: Id
    score: NotRequired[Finite | None]
    kb: NotRequired[str]


class PredictedLink(Strict):
    """A mention and its candidates, best first; no candidate means NIL. Offsets are ``null`` if it is not in the text.

    ``form`` is as for an entity.
    """

    start: Offset | None
    end: Offset | None
    text: NotRequired[str]
    fragments: NotRequired[list[tuple[Offset, Offset]]]
    type: NotRequired[str | None]
    candidates: list[Annotated[LinkCandidate, _or_value("id")]]
    ids: NotRequired[dict[str, list[str]]]
    form: NotRequired[str]


class PredictedLinking(Predicted):
    """Mentions that a system linked."""

    links: Annotated[list[Annotated[PredictedLink, _or_identifier("candidates")]], _or_json("links")]


class RankedDocument(Strict):
    """One retrieved document."""

    doc_id: Id
    score: NotRequired[Finite | None]
    source: NotRequired[str | None]
    text: NotRequired[str]


class PredictedRetrieval(Predicted):
    """Documents that a system retrieved."""

    results: Annotated[list[Annotated[RankedDocument, _or_value("doc_id")]], _or_json("results")]


class PredictedAnswering(Predicted, total=False):
    """An answer; an empty one abstains, and a list is one of several spans."""

    answer: Required[PlainText | list[PlainText]]
    confidence: Finite | None
    retrieved_contexts: list[str]
    supporting_facts: list[object]
    answerable: list[bool]
    results: list[object]
    citations: list[object]


class PredictedTriples(Predicted):
    """Statements that a system found."""

    triples: Annotated[list[Annotated[TripleShape, _or_tuple("subject", "predicate", "object")]], _or_json("triples")]


class PredictedRecords(Predicted):
    """The record that a system extracted; a text is JSON, which need not parse."""

    record: object


class PredictedTrajectories(Predicted, total=False):
    """The steps of a program: ``{kind, name, args, output, error}`` each, ReAct's fields, or messages with calls.

    ``tool_calls`` are of a ``dspy.ToolCalls``, ``history`` and ``termination_reason`` of a ``dspy.ReActV2``.
    """

    trajectory: list[JsonObject] | JsonObject
    calls: list[JsonObject]
    messages: list[JsonObject]
    tool_calls: list[JsonObject] | JsonObject
    history: JsonObject
    termination_reason: str | None
    answer: PlainText | None
    finished: bool
    state: object


_GOLD = (Extraction, Classification, Linking, Retrieval, Answering, Triples, WholeRecord, Trajectories)
_PREDICTED = (
    PredictedExtraction,
    PredictedClassification,
    PredictedLinking,
    PredictedRetrieval,
    PredictedAnswering,
    PredictedTriples,
    PredictedRecords,
    PredictedTrajectories,
)
SHAPES: dict[str, Fields] = {
    side: dict(zip(TASKS, shapes, strict=True)) for side, shapes in (("gold", _GOLD), ("pred", _PREDICTED))
}

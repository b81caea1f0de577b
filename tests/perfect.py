"""The prediction that gets everything right, by task: what laws, damages and intervals start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goldassay.core.measure import Measure, gold_field
from goldassay.gold.records import as_prediction
from goldassay.measures.answering import answers, reference
from goldassay.measures.classification import HierarchyGap, LabelF1
from goldassay.measures.extraction import sides
from goldassay.measures.linking import sides as link_sides
from goldassay.measures.records.records import record_of
from goldassay.measures.retrieval import RBP, P, R, grades
from goldassay.measures.triples.records import TRIPLE_FIELDS, statements


def perfect_for(task: str) -> Callable[[Any], Any]:
    """What makes the perfect prediction for a gold example of this task.

    >>> perfect_for("extraction")({"text": "in Delft", "entities": [(3, 8, "TOP")]})["entities"][0].type
    'TOP'
    """
    return PERFECT[task]


def attains_one(measure: Measure[Any]) -> bool:
    """Whether perfect predictions have the value 1; not where fewer than k are relevant, or labels of a list absent."""
    if isinstance(measure, LabelF1):
        return (measure.average, measure.over) != ("macro", "all") or measure.labels == "seen"
    return measure.attains_one and not isinstance(measure, (P, R, RBP, HierarchyGap))


def _entities(gold: object) -> dict[str, Any]:
    return {"entities": sides(gold, [])[0]}


def _labels(gold: object) -> dict[str, object]:
    """Whichever of a label, labels and a score gold has."""
    names = ("label", "labels", "secondary_labels", "score")
    answer: dict[str, Any] = {name: each for name in names if (each := gold_field(gold, name, None)) is not None}
    labels = list(dict.fromkeys([*([answer["label"]] if "label" in answer else ()), *answer.get("labels", ())]))
    return {**answer, "probabilities": {label: float(label == labels[0]) for label in labels}} if labels else answer


def _links(gold: object) -> dict[str, Any]:
    links = [
        {
            "start": mention.start,
            "end": mention.end,
            "candidates": [{"id": id_} for ids in mention.bases.values() for id_ in ids],
            "ids": mention.bases,
            "type": mention.type,
        }
        for mention in link_sides(gold, (), typed=True).gold
    ]
    return {"links": links}


def _ranking(gold: object) -> dict[str, Any]:
    """The relevant documents first, best grades on top."""
    judged = grades(gold)
    relevant = sorted((document for document in judged if judged[document] > 0), key=lambda d: (-judged[d], d))
    ranked = zip(relevant, range(len(relevant), 0, -1), strict=True)
    return {"results": [{"doc_id": document, "score": float(score), "source": "gold"} for document, score in ranked]}


def _answer(gold: object) -> dict[str, object]:
    """Gold's answer, with what it rests on."""
    expected = answers(gold)
    long = reference(gold) if expected else ""
    texts = [long, expected[0]] if long else expected
    about = {"supporting_facts": "supporting_facts", "results": "documents", "answerable": "answerable"}
    return {
        "answer": expected[0] if expected else "",
        "confidence": float(bool(expected)),
        "retrieved_contexts": list(dict.fromkeys(texts)),
        "claims": [long] if long else [],
        **{name: value for name, own in about.items() if (value := gold_field(gold, own, None)) is not None},
    }


def _triples(gold: object) -> dict[str, list[dict[str, object]]]:
    """What gold says, without its deprecated statements and its annotations."""
    rows = [statement.triple for statement in statements(gold, None).gold]
    return {"triples": [{key: row[key] for key in TRIPLE_FIELDS[:9] if row.get(key) is not None} for row in rows]}


def _record(gold: object) -> dict[str, Any]:
    return {"record": record_of(gold_field(gold, "record"))}


def _trajectory(gold: object) -> dict[str, Any]:
    """The first acceptable calls, each argument with its first acceptable value, and gold's answer."""
    return as_prediction(
        dict(id="", **{name: gold_field(gold, name, None) for name in ("calls", "answers")}), "trajectories"
    )


PERFECT: dict[str, Callable[[Any], Any]] = {
    "extraction": _entities,
    "classification": _labels,
    "linking": _links,
    "retrieval": _ranking,
    "answering": _answer,
    "triples": _triples,
    "records": _record,
    "trajectories": _trajectory,
}

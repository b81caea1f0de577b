"""Small gold for the six tasks, written for this table: every damage of a task finds something to damage in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FACTS = (
    ("Which year was the Hill Museum opened in Delft?", "The Hill Museum was opened in Delft in 1887.", "Hill Museum"),
    (
        "Which is the largest archive of Ghent?",
        "The River Archive is the largest archive of Ghent since 1904.",
        "River Archive",
    ),
    (
        "Who was the first keeper of the Old Library?",
        "The first keeper of the Old Library was Anna Vos in 1755.",
        "Old Library",
    ),
    (
        "Which town is north of the Stone Gallery?",
        "The Stone Gallery is north of Breda and has 1320 works.",
        "Stone Gallery",
    ),
)
TAILS = (
    "It is free on Sundays.",
    "Its reading room seats forty people.",
    "The building stands beside a canal.",
    "A garden belongs to it.",
)
NAMES = ("Delft", "Ghent", "Anna Vos", "Breda")
YEARS = ("1887", "1904", "1755", "1320")
TYPES = ("GRP.HER.MUS", "GRP.HER.ARC", "GRP.HER.LIB", "GRP.HER.MUS")
LABELS = (("M", "L"), ("A", "G"), ("L", "M"), ("G", "A"), ("E", "S"), ("D", "R"))
TEXTS = tuple(f"{fact} {tail}" for (_, fact, _), tail in zip(FACTS, TAILS, strict=True))


def _span(text: str, name: str, kind: str) -> dict[str, Any]:
    start = text.index(name)
    return {"start": start, "end": start + len(name), "type": kind, "text": name}


def examples() -> dict[str, list[Mapping[str, Any]]]:
    """Gold examples by task."""
    rows = list(zip(TEXTS, FACTS, NAMES, YEARS, TYPES, strict=True))
    return {
        "extraction": [
            {
                "id": f"e{n}",
                "text": text,
                "entities": [_span(text, s, kind), _span(text, name, "TOP"), _span(text, year, "TMP")],
            }
            for n, (text, (_, _, s), name, year, kind) in enumerate(rows)
        ],
        "classification": [
            {"id": f"c{n}", "text": f"text {n}", "label": label, "secondary_labels": [second]}
            for n, (label, second) in enumerate(LABELS)
        ],
        "linking": [
            {
                "id": f"l{n}",
                "text": text,
                "links": [
                    {**_span(text, s, kind), "ids": {"wikidata": [f"Q{100 + n}"]}},
                    {**_span(text, name, "TOP"), "ids": {}},
                ],
            }
            for n, (text, (_, _, s), name, _, kind) in enumerate(rows)
        ],
        "retrieval": [
            {"id": f"q{n}", "query": question, "relevant": {f"d{n}": 3, f"d{n}b": 1, f"d{n}c": 0}}
            for n, (question, _, _) in enumerate(FACTS)
        ],
        "answering": [
            *(
                {"id": f"a{n}", "question": question, "answers": [fact], "reference": fact, "context": text}
                | {"supporting_facts": [fact], "documents": [f"d{n}"]}
                for n, (text, (question, fact, _), *_) in enumerate(rows)
            ),
            {
                "id": "a9",
                "question": "Who owns the Moon Museum?",
                "answers": [],
                "context": TEXTS[0],
                "supporting_facts": [],
            },
        ],
        "triples": [
            {
                "id": f"t{n}",
                "text": text,
                "triples": [
                    {"subject": s, "predicate": "P571", "object": year, "object_type": "time"},
                    {"subject": s, "predicate": "P131", "object": name, "object_type": "item"},
                ],
            }
            for n, (text, (_, _, s), name, year, _) in enumerate(rows)
        ],
    }


def right(task: str, gold: Mapping[str, Any], perfect: Mapping[str, Any]) -> dict[str, Any]:
    """The right prediction: the task's own perfect one, with what the damages work on."""
    if task == "answering":
        answers = gold["answers"]
        return {
            "answer": answers[0] if answers else "",
            "confidence": 0.9 if answers else 0.1,
            "retrieved_contexts": [gold["context"]],
            "claims": list(answers),
            "results": [{"doc_id": name, "score": 1.0} for name in gold.get("documents", [])],
        }
    if task == "retrieval":
        number = gold["id"][1:]
        names = [f"d{number}", f"d{number}b", f"d{number}c", f"x{number}"]
        return {"results": [{"doc_id": name, "score": 9.0 - place} for place, name in enumerate(names)]}
    return dict(perfect)

"""``docred``: DocRED's documents, and predictions as a list of ``{title, h_idx, t_idx, r, evidence}``.

A document is named by its title, an entity by its place in ``vertexSet``. The option ``train`` names a file of
documents whose facts are seen (Ign F1): any name of the one entity stands there with its relation to one of the other.

Source: https://github.com/thunlp/DocRED (code/evaluation.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source

TASKS = ("triples",)
OPTIONS = ("train",)


def rows(source: Source) -> Iterator[Row]:
    """One record a document."""
    content = files.json_value(source.path)
    if not isinstance(content, list) or not all(isinstance(each, dict) and "title" in each for each in content):
        raise DataError("DocRED is a list of objects with a 'title'", file=source.path)
    if source.side == "pred":
        yield from _predictions(source, content)
        return
    train = source.option("train")
    if not train and source.side == "gold":
        source.warnings.append("no training set is named (train=FILE), so Ign F1 leaves no fact out")
    seen = {fact for document in (files.json_value(train) if train else ()) for fact in _facts(document)}
    for document in content:
        with source.checking(record=document["title"]):
            yield Row(_document(document, seen))


def _document(document: Mapping[str, Any], seen: set[tuple[str, str, str]]) -> dict[str, Any]:
    entities = document["vertexSet"]
    text = " ".join(" ".join(sentence) for sentence in document.get("sents", ()))
    triples = [
        {
            **_statement(label["h"], label["r"], label["t"], label.get("evidence") or []),
            "subject": entities[label["h"]][0]["name"],
            "object": entities[label["t"]][0]["name"],
            "in_train": not seen.isdisjoint(_names(entities, label)),
        }
        for label in document["labels"]
    ]
    return {"id": document["title"], "text": text, "triples": triples}


def _statement(head: Any, relation: str, tail: Any, evidence: list[int]) -> dict[str, Any]:
    ids = {"subject_id": str(head), "object_id": str(tail)}
    return {"subject": str(head), "predicate": relation, "object": str(tail), **ids, "evidence": evidence}


def _names(entities: Any, label: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """A fact under all names of its entities."""
    heads, tails = ({mention["name"] for mention in entities[label[end]]} for end in "ht")
    return {(head, label["r"], tail) for head in heads for tail in tails}


def _facts(document: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    return set().union(*(_names(document["vertexSet"], label) for label in document.get("labels", ())))


def _predictions(source: Source, content: list[dict[str, Any]]) -> Iterator[Row]:
    documents: dict[str, list[dict[str, Any]]] = {}
    for number, row in enumerate(content):
        with source.checking(record=row["title"], field=f"[{number}]"):
            statement = _statement(row["h_idx"], row["r"], row["t_idx"], row.get("evidence") or [])
            documents.setdefault(row["title"], []).append(statement)
    for title, triples in documents.items():
        yield Row({"id": title, "triples": triples})

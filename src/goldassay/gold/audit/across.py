"""What only shows across the files of a set: labels of the card, facts that must exist, one split for one text.

The passage collection is audited here too: ids used once, texts that are there, and those of the documents of the
same id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldassay.gold.audit import card as cards
from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row

Rows = Mapping[str, Sequence[Row]]


def audit(card: Mapping[str, Any], rows: Rows, passages: Mapping[str, str] | None) -> Iterator[Finding]:
    """The findings across tasks."""
    for task, found in rows.items():
        yield from _labels(cards.allowed(card, task), task, found)
    declared = cards.languages(card)
    if declared:
        yield from _languages(declared, rows)
    yield from _documents(rows)
    texts = {
        str(row.record["id"]): row.record["text"]
        for task in ("extraction", "classification", "linking", "triples")
        for row in rows.get(task, ())
        if row.record.get("text")
    }
    for row in rows.get("answering", ()):
        yield from _facts(row, {**(passages or {}), **texts})
    if passages is not None:
        for row in rows.get("retrieval", ()):
            for key in row.record["relevant"]:
                if key not in passages:
                    yield row.finding("reference", f"no passage {key!r} in the collection", "relevant")


def _labels(allowed: set[str] | None, task: str, rows: Sequence[Row]) -> Iterator[Finding]:
    if allowed is None:
        return
    for row in rows:
        for field, value in _named(task, row.record):
            if value not in allowed:
                yield row.finding("label", f"{value!r} is not among those that the card names", field)


def _named(task: str, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if task == "extraction":
        yield from ((f"entities[{index}].type", span["type"]) for index, span in enumerate(record["entities"]))
    elif task == "classification":
        yield "label", record["label"]
        yield from ((f"secondary_labels[{i}]", label) for i, label in enumerate(record.get("secondary_labels") or ()))
    elif task == "answering":
        if record.get("answer_type"):
            yield "answer_type", record["answer_type"]
    elif task == "retrieval" and isinstance(record["relevant"], Mapping):
        yield from ((f"relevant.{key}", f"{grade:g}") for key, grade in record["relevant"].items())


def _languages(declared: list[str], rows: Rows) -> Iterator[Finding]:
    used = set()
    for found in rows.values():
        for row in found:
            language = row.record.get("language")
            used.add(language)
            if language and language not in declared:
                yield row.finding(
                    "language", f"{language!r} is not declared; the card has {', '.join(declared)}", "language"
                )
    if used - {None}:
        for language in declared:
            if language not in used:
                yield Finding(
                    "language", f"{language!r} is declared, and no record has it", "card.yaml", field="languages"
                )


def _documents(rows: Rows) -> Iterator[Finding]:
    """One document in several tasks has one text, one language and one split."""
    first: dict[str, Row] = {}
    for task, found in rows.items():
        if task in ("retrieval", "answering"):
            continue
        # Where an id stands twice, which `duplicates` tells, the first record is the document.
        for key, row in {str(row.record["id"]): row for row in reversed(found)}.items():
            other = first.setdefault(key, row)
            if other is row:
                continue
            for field, kind in (("text", "conflict"), ("language", "conflict"), ("split", "leak")):
                one, two = other.record.get(field), row.record.get(field)
                if one and two and one != two:
                    what = "another text" if field == "text" else f"{field} {two}, and {one}"
                    yield row.finding(kind, f"this document has {what} in {other.task}", field)


def _facts(row: Row, texts: Mapping[str, str]) -> Iterator[Finding]:
    documents = row.record.get("documents") or []
    known = [key for key in documents if key in texts]
    if texts:
        for key in documents:
            if key not in texts:
                yield row.finding("reference", f"no document {key!r} in this set", "documents")
    if not documents or len(known) < len(documents):
        return
    for index, fact in enumerate(row.record.get("supporting_facts") or ()):
        if not any(_flat(fact) in _flat(texts[key]) for key in known):
            yield row.finding(
                "reference", f"{fact!r} does not stand in {', '.join(documents)}", f"supporting_facts[{index}]"
            )


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


FILE = "passages.jsonl"


def collection_audit(passages: Sequence[Mapping[str, Any]], rows: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """What is off in a collection, beside the tasks that use it."""
    texts: dict[str, tuple[str, str]] = {}
    for task in rows:
        if task not in ("retrieval", "answering"):
            for row in rows[task]:
                if row.record.get("text"):
                    texts.setdefault(str(row.record["id"]), (row.record["text"], task))
    seen: set[str] = set()
    for passage in passages:
        key, text = str(passage["id"]), str(passage["text"])
        if key in seen:
            yield Finding("id", "another passage has this id; each needs its own", FILE, record=key, field="id")
        seen.add(key)
        if not text.strip():
            yield Finding("text", "the text is empty", FILE, record=key, field="text")
        elif key in texts and texts[key][0] != text:
            yield Finding(
                "conflict", f"the document has another text in {texts[key][1]}", FILE, record=key, field="text"
            )

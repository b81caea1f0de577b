"""``text2kgbench``: ground truth (``id sent triples``) and model outputs (``id response triples``) of Text2KGBench.

Its training and validation sentences state one triple each, in fields of their own, with Wikidata's ids (``sub_label
rel_label obj_label sent sub rel obj``).

A repeated id among the outputs is legal there, and its last line counts (one of the published systems has every id
twice); a warning says so. An output without ``triples`` is read from its ``response``, by the benchmark's own pattern:
``relation(subject,object)``.

Source: https://github.com/cenguix/Text2KGBench
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from goldassay import files
from goldassay import jsonl as strict
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.gold.shapes import Side

TASKS = ("triples",)
OPTIONS = ()
STATEMENT = re.compile(r"(\w+)\((.*?),(.*?)\)", re.DOTALL)
PARTS = {"subject": "sub", "predicate": "rel", "object": "obj"}
LABELS = {"subject": "sub_label", "predicate": "rel_label", "object": "obj_label"}
IDS = {"subject_id": "sub", "predicate_id": "rel", "object_id": "obj"}


def rows(source: Source) -> Iterator[Row]:
    """One record a sentence."""
    records: dict[str, Row] = {}
    repeated, gold = 0, False
    for number, line in enumerate(files.lines(source.path), start=1):
        if not line.strip():
            continue
        with source.checking("unreadable", line=number):
            value = strict.value(line, line=number)
            with source.checking(line=number, record=value["id"]):
                record = _record(value, source.side)
                gold = gold or _is_gold(value)
                with source.checking("id", line=number, record=record["id"]):
                    if record["id"] in records and source.side == "gold":
                        raise DataError("duplicate document id")
                    repeated += record["id"] in records
                    records[record["id"]] = Row(record, number)
    if source.side == "pred" and repeated:
        source.warnings.append(f"{repeated} outputs repeat an id; the last line of each counts")
    if source.side == "pred" and gold:
        source.warnings.append(f"{source.path} holds gold, not predictions; each record counts as its own prediction")
    yield from records.values()


def _is_gold(row: Mapping[str, Any]) -> bool:
    """Whether a line is one of gold: its statements are objects with a ``rel``, or in fields of their own."""
    stated = [triple for triple in row.get("triples", [row]) if isinstance(triple, dict)]
    return "sent" in row and any("rel" in triple or "rel_label" in triple for triple in stated)


def _record(row: Mapping[str, Any], side: Side) -> dict[str, Any]:
    name = str(row["id"])
    if side == "gold":
        return {"id": name, "text": row["sent"], "triples": _gold_triples(row)}
    if _is_gold(row):  # As its own prediction its relations are written as those of outputs are.
        triples = [{**triple, "predicate": triple["predicate"].replace(" ", "_")} for triple in _gold_triples(row)]
        return {"id": name, "triples": triples}
    return {"id": name, "triples": _triples(row["triples"]) if "triples" in row else parse(row["response"])}


def _gold_triples(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "triples" in row or "rel_label" not in row:
        return _triples(row["triples"])
    return [{field: row[key] for field, key in (LABELS | IDS).items() if row.get(key) is not None}]


def parse(response: str) -> list[dict[str, object]]:
    """The statements in a model's answer, as the benchmark's scripts read them.

    >>> parse("author(Inkspell,Cornelia Funke), genre(Inkspell,)")
    [{'subject': 'Inkspell', 'predicate': 'author', 'object': 'Cornelia Funke'}]
    """
    return [
        {"subject": subject, "predicate": relation, "object": value}
        for relation, subject, value in STATEMENT.findall(response.replace("\\_", "_"))
        if subject and value
    ]


def _triples(items: list[Any]) -> list[dict[str, Any]]:
    triples = []
    for index, item in enumerate(items):
        parts = [item.get(key, item.get(field)) for field, key in PARTS.items()] if isinstance(item, dict) else item
        if not isinstance(parts, list) or len(parts) != 3:
            message = f"a triple is a subject, a relation and an object, not {item!r}"
            raise DataError(message, field=f"triples[{index}]")
        triples.append(dict(zip(PARTS, parts, strict=True)))
    return triples

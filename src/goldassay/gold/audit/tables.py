"""A card's counts of what is shared by the tasks: documents, and the tables beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError
from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row, unreadable
from goldassay.gold.sets import CARD
from goldassay.gold.stats import tally

Rows = Mapping[str, Sequence[Row]]


def audit(card: Mapping[str, Any], folder: Path, rows: Rows, passages: Mapping[str, str]) -> Iterator[Finding]:
    """Documents and tables, recounted."""
    said = card.get("documents")
    if isinstance(said, Mapping):
        documents: dict[str, Row] = {}
        for task in rows:
            if task not in ("retrieval", "answering"):
                for row in rows[task]:
                    documents.setdefault(str(row.record["id"]), row)
        found = {"records": len(documents)} | {
            name: tally(row.record[key] for row in documents.values() if row.record.get(key))
            for name, key in (("splits", "split"), ("languages", "language"))
        }
        yield from _against(said, found, "documents")
    yield from _tables(card, folder, rows)
    retrieval = (card.get("tasks") or {}).get("retrieval") if isinstance(card.get("tasks"), Mapping) else None
    if isinstance(retrieval, Mapping) and "cross_lingual" in retrieval and passages:
        yield from _against(retrieval, {"cross_lingual": _cross_lingual(rows)}, "tasks.retrieval")


def _tables(card: Mapping[str, Any], folder: Path, rows: Rows) -> Iterator[Finding]:
    tables = card.get("tables")
    for name, said in (tables if isinstance(tables, Mapping) else {}).items():
        if not isinstance(said, Mapping) or not isinstance(said.get("file"), str):
            continue
        try:
            lines = [line for line in files.lines(folder / said["file"]) if line.strip()]
        except DataError as error:
            yield unreadable(error, said["file"])
            continue
        found = {"records": len(lines)}
        if "used" in said:
            used = {
                one
                for row in rows.get("linking", ())
                for link in row.record["links"]
                for ids in link["ids"].values()
                for one in ids
            }
            known = sum(_id(line) in used for line in lines)
            found |= {"used": known, "distractors": len(lines) - known}
        yield from _against(said, found, f"tables.{name}")


def _id(line: str) -> str | None:
    try:
        found = jsonl.value(line)
    except DataError:
        return None
    return str(found["id"]) if isinstance(found, dict) and "id" in found else None


def _cross_lingual(rows: Rows) -> int:
    """Queries with a relevant document in another language than their own."""
    languages = {
        str(row.record["id"]): row.record.get("language")
        for task in rows
        if task not in ("retrieval", "answering")
        for row in rows[task]
    }
    return sum(
        any(
            grade > 0 and languages.get(key) not in (None, row.record.get("language"))
            for key, grade in row.record["relevant"].items()
        )
        for row in rows.get("retrieval", ())
        if isinstance(row.record["relevant"], Mapping)
    )


def _against(said: Mapping[str, Any], found: Mapping[str, Any], where: str) -> Iterator[Finding]:
    for name, counted in found.items():
        declared = said.get(name)
        if isinstance(declared, int) and isinstance(counted, int) and declared != counted:
            yield Finding("count", f"{declared:,} declared, {counted:,} counted", CARD, field=f"{where}.{name}")
        if isinstance(declared, Mapping) and isinstance(counted, Mapping):
            for key in dict.fromkeys((*map(str, declared), *counted)):
                if declared.get(key, 0) != counted.get(key, 0):
                    message = f"{declared.get(key, 0)} declared, {counted.get(key, 0)} counted"
                    yield Finding("count", message, CARD, field=f"{where}.{name}.{key}")

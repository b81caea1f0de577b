"""Answering in ``csv``, ``tsv`` and ``json``: one flat record a question, found by the names of its fields.

``FIELDS`` says which names stand for which field; ``gold_answer`` and ``supporting_facts`` are the founding document's.
In a table a cell that holds several texts is a JSON list (``["1800", "in 1800"]``) or has ``|`` between them; an empty
``answers`` is a question without an answer. Other columns go to ``meta``. In ``json`` the file is a list of objects.
Without an ``id`` a question is named by its number.

A table is written in the columns that are read, in cells that are read back the same.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from goldassay import files, jsonl
from goldassay.exceptions import DataError
from goldassay.files import Wrong, stop
from goldassay.gold.records import Side, check

TASK = "answering"
ID = {"id": ("id", "question_id", "qid")}
META = {"meta": ("meta",)}
FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "gold": ID
    | {
        "question": ("question",),
        "answers": ("answers", "gold_answers", "gold_answer", "answer"),
        "reference": ("reference",),
        "supporting_facts": ("supporting_facts",),
        "answer_type": ("answer_type",),
        "documents": ("documents",),
        "context": ("context",),
        "answer_starts": ("answer_starts",),
        "entities": ("entities",),
        "language": ("language", "lang"),
        "split": ("split",),
        "strata": ("strata",),
    }
    | META,
    "pred": ID
    | {
        "answer": ("answer", "prediction", "predicted_answer", "generated_answer"),
        "confidence": ("confidence",),
        "retrieved_contexts": ("retrieved_contexts", "contexts"),
        "citations": ("citations",),
        "latency_ms": ("latency_ms",),
        "error": ("error",),
        "text": ("text",),
    }
    | META,
}
ENTRIES = ("ner_annotations", "type_classification", "entity_linking", "qa_pairs")
NEEDED: dict[str, tuple[str, ...]] = {"gold": ("question", "answers"), "pred": ("answer",)}
LISTS = ("answers", "supporting_facts", "documents", "entities", "retrieved_contexts")
NUMBERS = ("confidence", "latency_ms")
VALUES = ("meta", "strata", "citations", "answer_starts")  # JSON in a cell
NAMED = ("answer", "answers")  # an empty cell says that there is none; of other fields it says nothing


def flat(found: object) -> bool:
    """Whether the content of a JSON file is a list of questions or answers, and no list of whole entries."""
    return isinstance(found, list) and all(
        isinstance(one, dict) and not any(part in one for part in ENTRIES) for one in found
    )


def named(header: Sequence[str]) -> bool:
    """Whether a table has a column of ids."""
    return "id" in _places(header, "gold")


def asks(path: str | Path) -> bool:
    """Whether a table's first line names a question: then it is answering's."""
    first = next(iter(files.lines(path)), "")
    return "question" in {cell.strip('" ').lower() for cell in re.split("[,\t]", first)}


def from_objects(
    found: Sequence[Mapping[str, object]], path: str | Path, side: Side, wrong: Wrong = stop
) -> list[dict[str, object]]:
    """The records of a JSON list."""
    records = []
    for number, entry in enumerate(found):
        try:
            records.append(check(_object(entry, number, path, side), TASK, side))
        except DataError as error:
            wrong(error.at(file=path), "schema")
    if not found:
        raise DataError("the file is empty", file=path)
    return records


def _object(entry: Mapping[str, object], number: int, path: str | Path, side: Side) -> dict[str, Any]:
    """One object with the fields' own names."""
    places = _places(list(entry), side)
    _needed(places, list(entry), side, path, field=f"[{number}]")
    known = {name: field for field, name in places.items()}
    record = {"id": str(number + 1)} | {known.get(name, name): value for name, value in entry.items()}
    answers = record.get("answers", ())
    if answers is None or isinstance(answers, str):
        record["answers"] = [answers] if answers else []
    if side == "pred" and record["answer"] is None:
        record["answer"] = ""
    return record


def from_table(
    header: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    path: str | Path,
    side: Side,
    wrong: Wrong = stop,
) -> list[dict[str, object]]:
    """The records of a table's rows, each with its line.

    Args:
        header: The names of the columns.
        path: The file that errors name.
        side: ``gold`` or ``pred``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    places = _places(header, side)
    _needed(places, header, side, path, line=1)
    known = {header.index(name): field for field, name in places.items()}
    records = []
    for count, (line, row) in enumerate(rows, start=1):
        if len(row) != len(header):
            what = f"{len(row)} columns where the header has {len(header)} ({', '.join(header)})"
            wrong(DataError(what, file=path, line=line), "schema")
            continue
        record: dict[str, Any] = {"id": str(count)}
        other = {name: row[place] for place, name in enumerate(header) if place not in known and row[place].strip()}
        try:
            for place, field in known.items():
                if row[place].strip() or field in NAMED:
                    record[field] = _cell(row[place], field)
            if other:
                record["meta"] = {**other, **record.get("meta", {})}
            records.append(check(record, TASK, side))
        except DataError as error:
            wrong(error.at(file=path, line=line), "schema")
    return records


def _places(names: Sequence[str], side: Side) -> dict[str, str]:
    """Each field with the name that stands for it here; the first of its names counts."""
    lower = {name.strip().lower(): name for name in reversed(names)}
    found = {field: next((lower[n] for n in several if n in lower), None) for field, several in FIELDS[side].items()}
    return {field: name for field, name in found.items() if name is not None}


def _needed(places: Mapping[str, str], names: Sequence[str], side: Side, path: str | Path, **where: Any) -> None:
    for field in NEEDED[side]:
        if field not in places and not (field == "answers" and "reference" in places):
            said = " or ".join(FIELDS[side][field])
            raise DataError(f"no {said}; there is {', '.join(names) or 'nothing'}", file=path, **where)


def _cell(cell: str, field: str) -> Any:
    """What a cell says."""
    if field in LISTS:
        return several(cell)
    if field in NUMBERS:
        return _number(cell, field)
    if field in VALUES:
        try:
            return jsonl.value(cell)
        except DataError as error:
            raise DataError(f"{error.what}: {cell[:60]!r}", field=field) from None
    return cell.strip() if field == "id" else cell


def several(cell: str) -> list[str]:
    """Texts as a JSON list, or with ``|`` between them.

    >>> several('["a | b", "c"]'), several("1800 | in 1800"), several("[sic]"), several("")
    (['a | b', 'c'], ['1800', 'in 1800'], ['[sic]'], [])
    """
    if cell.lstrip().startswith("["):
        try:
            found = jsonl.value(cell)
        except DataError:
            found = None
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return found
    return [part.strip() for part in cell.split("|") if part.strip()]


def _number(cell: str, field: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"not a number: {cell!r}", field=field)
    return number


def save(path: str | Path, records: Iterable[Mapping[str, object]], side: Side) -> None:
    """Write a table; the extension says which kind."""
    files.save(path, _table(records, side, "," if Path(path).suffix.lower() == ".csv" else "\t"))


def _table(records: Iterable[Mapping[str, object]], side: Side, comma: str) -> str:
    """The table of records: the columns that one of them has, in the order of ``FIELDS``."""
    rows = list(records)
    names = [name for name in FIELDS[side] if name in ("id", *NEEDED[side]) or any(name in row for row in rows)]
    out = io.StringIO()
    table = writer(out, comma)
    table.writerow(names)
    for row in rows:
        cells = [_written(row.get(name), name) for name in names]
        for name, cell in zip(names, cells, strict=True):
            if comma == "\t" and any(mark in cell for mark in "\t\n\r"):
                what = "a tab or line break cannot stand in tsv; write csv or jsonl"
                raise DataError(what, record=row["id"], field=name)
        table.writerow(cells)
    return out.getvalue()


def _written(value: Any, field: str) -> str:
    """A value as the cell that says the same."""
    if value is None:
        return ""
    if field in LISTS:
        if not value:
            return "" if field in NAMED else "[]"
        return value[0] if len(value) == 1 and several(value[0]) == value else json.dumps(value, ensure_ascii=False)
    if field in VALUES:
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def writer(out: TextIO, comma: str) -> Any:
    r"""A writer of rows; ``comma`` is what stands between cells, a comma or a tab.

    >>> import io
    >>> out = io.StringIO()
    >>> writer(out, ",").writerow(["a,b", "c"]), out.getvalue()
    (8, '"a,b",c\n')
    """
    return csv.writer(
        out,
        delimiter=comma,
        lineterminator="\n",
        quoting=csv.QUOTE_MINIMAL if comma == "," else csv.QUOTE_NONE,
        quotechar='"' if comma == "," else None,
    )

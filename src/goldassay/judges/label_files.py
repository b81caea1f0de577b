"""The rows of a file of human labels, as dictionaries with this project's names: ``jsonl``, ``csv`` or ``tsv``.

``columns`` says under which other names a file has them, such as ``{"label": "human", "answer": "output.text"}``: a
column, or a dotted path in ``jsonl``. A file without ids gets the numbers of its rows. A csv whose header has
semicolons and no comma is one of semicolons, as spreadsheets write it in Europe.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import fields
from goldassay.exceptions import DataError, FieldError
from goldassay.gold import files

Row = dict[str, Any]
KINDS = "jsonl with one object a line, csv or tsv"


def rows(path: str | Path, columns: Mapping[str, str] | None = None) -> list[tuple[int, Row]]:
    """Each row with the number of its line."""
    found = [(line, _renamed(row, columns or {}, path, line)) for line, row in _read(path)]
    if found and not any("id" in row for _, row in found):
        found = [(line, {"id": str(number), **row}) for number, (line, row) in enumerate(found, start=1)]
    return found


def said(row: Mapping[str, Any]) -> dict[str, Any]:
    """Each annotator's label, those without one left out.

    >>> said({"label_ann": "yes", "label_bob": ""}), said({"labels": ["yes", "no"]}), said({"label": None})
    ({'ann': 'yes'}, {'annotator 1': 'yes', 'annotator 2': 'no'}, {})
    """
    many = row.get("labels")
    if isinstance(many, Mapping):
        found = dict(many)
    elif isinstance(many, list):
        found = {f"annotator {index}": label for index, label in enumerate(many, start=1)}
    else:
        found = {str(key)[6:]: label for key, label in row.items() if str(key).startswith("label_")}
        found |= {"label": row["label"]} if "label" in row and not found else {}
    return {str(name): label for name, label in found.items() if label not in (None, "")}


def names(found: list[tuple[int, Row]]) -> str:
    """The columns of a file, for a message."""
    return ", ".join(dict.fromkeys(str(key) for _, row in found for key in row))[:200]


def _renamed(row: Row, columns: Mapping[str, str], path: str | Path, line: int) -> Row:
    given, inputs = row, row.get("inputs")
    if "label" in columns:  # that one alone is the label, whatever else the file calls so
        row = {key: value for key, value in row.items() if not key.startswith("label")}
    for name, column in columns.items():
        try:
            value = fields.read(given, column)
        except FieldError as error:
            raise DataError(f"--column {name}={column}: {error}", file=path, line=line) from None
        row = {**row, name: value}
        inputs = {**inputs, name: value} if isinstance(inputs, Mapping) else inputs
    return row if inputs is None else {**row, "inputs": inputs}


def _read(path: str | Path) -> Iterator[tuple[int, Row]]:
    kind = Path(path).suffix.lower()
    if kind in (".csv", ".tsv"):
        yield from _table(path, kind)
        return
    for number, line in enumerate(files.lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"not JSON; labels are {KINDS}", file=path, line=number) from None
        if not isinstance(row, dict):
            raise DataError(f"not a JSON object; labels are {KINDS}", file=path, line=number)
        yield number, row


def _table(path: str | Path, kind: str) -> Iterator[tuple[int, Row]]:
    text = files.text(path)
    head = text.partition("\n")[0]
    comma = "\t" if kind == ".tsv" else ";" if ";" in head and "," not in head else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=comma, strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise DataError("another number of columns than the header has", file=path, line=reader.line_num)
            yield reader.line_num, {str(key).strip(): value for key, value in row.items()}
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=path, line=reader.line_num) from None

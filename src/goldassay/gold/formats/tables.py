"""``tsv`` and ``csv``: classification, one document a line under a header (``text gold_type secondary_types``).

Answering's tables, one question a line, are those of `questions`.

Columns are found by their names: the text, the type, the secondary types (separated by ``|``, ``,`` or ``;``), an
``id`` and, for predictions, a ``confidence``. Without an ``id`` the record is named by its number. Where the type
column is ``gold_type`` and the types are single letters, they are the institution types GLAMORCUBESFIXPHDNT, and
another letter is an error; ``labels`` gives another list.

Written, csv quotes what needs it and tsv quotes nothing.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold.formats import questions
from goldassay.gold.records import Side

TASKS = ("classification", questions.TASK)
INSTITUTIONS = tuple("GLAMORCUBESFIXPHDNT")
NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "doc_id", "document_id"),
    "text": ("text", "document", "sentence"),
    "label": ("gold_type", "label", "type", "primary_type", "gold", "gold_label"),
    "secondary_labels": ("secondary_types", "secondary_labels", "secondary"),
    "confidence": ("confidence", "score", "probability"),
    "rationale": ("rationale",),
    "language": ("language", "lang"),
    "split": ("split",),
}
PREDICTED = ("pred_type", "predicted_type", "predicted_label", "prediction", "pred", "pred_label", *NAMES["label"])
FIELDS = {
    "gold": ("id", "text", "label", "secondary_labels", "rationale", "language", "split"),
    "pred": ("id", "text", "label", "secondary_labels", "confidence"),
}
FOREIGN = "goldassay gold convert FILE OUT.jsonl --task classification --map text=COLUMN,label=COLUMN renames columns"
LIST = re.compile(r"\s*[|,;]\s*")


def read(
    path: str | Path,
    task: str,
    side: Side = "gold",
    *,
    labels: Sequence[str] | None = None,
    delimiter: str | None = None,
    wrong: Wrong = stop,
) -> list[dict[str, Any]]:
    """The records of a table.

    Args:
        path: The file.
        task: The task.
        side: ``gold`` or ``pred``.
        labels: The labels that may stand in the table; any without them.
        delimiter: What separates the columns; told by the file's name without it.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    if task not in TASKS:
        raise GoldassayError(f"formats tsv and csv hold {' and '.join(TASKS)}, not {task}")
    header, rows = _rows(path, delimiter)
    if task == questions.TASK:
        return questions.from_table(header, rows, path, side, wrong)
    place = {field: _column(header, field, side) for field in FIELDS[side]}
    if place["label"] is None:
        raise DataError(f"no column {NAMES['label'][0]}; there are {', '.join(header)}; {FOREIGN}", file=path, line=1)
    if side == "gold" and place["text"] is None:
        raise DataError(f"no column text; there are {', '.join(header)}; {FOREIGN}", file=path, line=1)
    records = []
    for count, (line, row) in enumerate(rows, start=1):
        if len(row) != len(header):
            said = f"{len(row)} columns where the header has {len(header)} ({', '.join(header)})"
            wrong(DataError(said, file=path, line=line))
            continue
        cells = {field: row[index].strip() for field, index in place.items() if index is not None}
        try:
            records.append(_record(cells, count, side, path, line))
        except DataError as error:
            wrong(error, "schema")
    if side == "gold":
        _within(records, labels or _institutions(header, records), path, wrong)
    return records


def pairs(
    task: str,
    gold: str | Path,
    pred: str | Path,
    *,
    labels: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> tuple[list[dict[str, object]], list[dict[str, object]], list[str]]:
    """Both sides; where one has no ``id`` column, line by line, and then the texts must be the same.

    Args:
        task: The task.
        gold: The file of gold.
        pred: The file of predictions.
        labels: The labels that may stand in the tables; any without them.
        delimiter: What separates the columns; told by the files' names without it.
    """
    left = read(gold, task, labels=labels, delimiter=delimiter)
    right = read(pred, task, "pred", labels=labels, delimiter=delimiter)
    headers = [_rows(path, delimiter)[0] for path in (gold, pred)]
    named = questions.named if task == questions.TASK else lambda header: "id" in _known(header)
    if all(named(header) for header in headers):
        return left, right, []
    if len(left) != len(right):
        raise DataError(
            f"{len(right)} rows where gold has {len(left)}; without an id column both need the same", file=pred
        )
    for ours, theirs in zip(left, right, strict=True):
        if task == questions.TASK:
            same = theirs.get("meta", {}).get("question", ours["question"]) == ours["question"]
        else:
            same = theirs.get("text", ours["text"]) == ours["text"]
        if not same:
            raise DataError(f"row {theirs['id']} has another text than gold's; add an id column", file=pred)
        theirs["id"] = ours["id"]
    return left, right, []


def _rows(path: str | Path, delimiter: str | None) -> tuple[list[str], list[tuple[int, list[str]]]]:
    content = "\n".join(files.lines(path))
    comma = delimiter or ("," if Path(path).suffix.lower() == ".csv" else "\t")
    if delimiter is None and comma not in content.split("\n", 1)[0] and "\t" in content.split("\n", 1)[0]:
        comma = "\t"
    reader = csv.reader(
        io.StringIO(content),
        delimiter=comma,
        quoting=csv.QUOTE_MINIMAL if comma == "," else csv.QUOTE_NONE,
        strict=True,
    )
    csv.field_size_limit(files.LARGEST_LINE)
    try:
        header = [cell.strip() for cell in next(reader)]
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=path, line=reader.line_num) from None
    if not rows:
        raise DataError("no rows under the header", file=path)
    return header, rows


def _column(header: Sequence[str], field: str, side: Side) -> int | None:
    wanted = PREDICTED if field == "label" and side == "pred" else NAMES[field]
    known = {name.lower(): index for index, name in reversed(list(enumerate(header)))}
    return next((known[name] for name in wanted if name in known), None)


def _known(header: Sequence[str]) -> set[str]:
    """The fields that a header has."""
    return {field for field in NAMES if _column(header, field, "gold") is not None}


def _record(cells: Mapping[str, str], count: int, side: Side, path: str | Path, line: int) -> dict[str, Any]:
    record: dict[str, Any] = {"id": cells.get("id") or str(count)}
    if "text" in cells:
        record["text"] = cells["text"]
    if side == "gold" and not cells["label"]:
        raise DataError("no type", file=path, line=line, record=record["id"], field="label")
    record["label"] = cells["label"] or None
    if "secondary_labels" in cells:
        record["secondary_labels"] = [label for label in LIST.split(cells["secondary_labels"].strip("[]")) if label]
    record |= {field: cells[field] for field in ("rationale", "language", "split") if cells.get(field)}
    if cells.get("confidence"):
        record["confidence"] = _number(cells["confidence"], path, line, record["id"])
    return record


def _number(cell: str, path: str | Path, line: int, record: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")):
        raise DataError(f"not a number: {cell!r}", file=path, line=line, record=record, field="confidence")
    return number


def institutional(path: str | Path, delimiter: str | None = None) -> bool:
    """Whether a table's types are institution types: its column is ``gold_type``, and they are single letters."""
    header, rows = _rows(path, delimiter)
    place = _column(header, "label", "gold")
    labels = [{"label": row[place].strip() or None} for _, row in rows if place is not None and place < len(row)]
    return _institutions(header, labels) is not None


def _institutions(header: Sequence[str], records: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    letters = all(record["label"] is None or re.fullmatch("[A-Z]", record["label"]) for record in records)
    return INSTITUTIONS if letters and "gold_type" in header else None


def _within(records: Sequence[Mapping[str, Any]], labels: Sequence[str] | None, path: str | Path, wrong: Wrong) -> None:
    """Gold's labels stand in the list; a prediction outside it is the measure's affair (OTHER)."""
    if labels is None:
        return
    for record in records:
        for field in ("label", "secondary_labels"):
            found = record.get(field) or []
            for label in [found] if isinstance(found, str) else found:
                if label not in labels:
                    said = f"label {label!r} is outside the list {', '.join(labels)}"
                    wrong(DataError(said, file=path, record=record["id"], field=field), "label")


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write a table; the extension says which kind. Language, split and the like have a column where they are said."""
    if task not in TASKS:
        raise GoldassayError(f"formats tsv and csv hold {' and '.join(TASKS)}, not {task}")
    if task == questions.TASK:
        questions.save(path, records, side)
        return
    rows = list(records)
    comma = "," if Path(path).suffix.lower() == ".csv" else "\t"
    names = ["id", "text", "gold_type" if side == "gold" else "label", "secondary_types"]
    known = FIELDS[side][FIELDS[side].index("secondary_labels") + 1 :]
    more = [name for name in known if any(record.get(name) is not None for record in rows)]
    out = io.StringIO()
    table = questions.writer(out, comma)
    table.writerow([*names, *more])
    for record in rows:
        cells = [
            record["id"],
            record.get("text", ""),
            record["label"] or "",
            "|".join(record.get("secondary_labels", [])),
            *("" if record.get(name) is None else str(record[name]) for name in more),
        ]
        for name, cell in zip([*names, *more], cells, strict=True):
            if comma == "\t" and ("\t" in cell or "\n" in cell or "\r" in cell):
                raise DataError(
                    "a tab or line break cannot stand in tsv; write csv or jsonl", record=record["id"], field=name
                )
        table.writerow(cells)
    files.save(path, out.getvalue())

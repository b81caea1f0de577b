"""``tsv`` and ``csv``: classification and answering, one document or question a line under a header.

Columns are found by their names (`COLUMNS`). Without an ``id`` column a record is named by its number. A ``document``
column, or ``doc_id`` beside an ``id``, says which rows belong together.

In a table of classification, secondary types are separated by ``|``, ``,`` or ``;``; if the column is ``gold_type`` and
the types are single letters, they are the institution types GLAMORCUBESFIXPHDNT and another letter is an error; the
option ``labels`` gives another list. In a table of questions, a cell of several texts is a JSON list
(``["1800", "in 1800"]``) or has ``|`` between them, an empty ``answers`` is a question without an answer, and other
columns go to ``meta``.

A csv quotes what needs quotes, a tsv quotes nothing.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from goldassay import files, jsonl
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.gold.shapes import Side

TASKS = ("classification", "answering")
OPTIONS = ("labels", "delimiter")
INSTITUTIONS = tuple("GLAMORCUBESFIXPHDNT")
LABEL = ("gold_type", "label", "type", "primary_type", "gold", "gold_label")
PREDICTED = ("pred_type", "predicted_type", "predicted_label", "prediction", "pred", "pred_label")
DOCUMENT = {"id": ("id", "doc_id", "document_id"), "text": ("text", "document", "sentence")}
UNIT = {"document": ("document", "document_id", "doc_id")}  # a column that is not the id or the text
SECONDARY = ("secondary_types", "secondary_labels", "secondary")
QUESTION = {"id": ("id", "question_id", "qid")}
COLUMNS: dict[tuple[str, Side], dict[str, tuple[str, ...]]] = {
    ("classification", "gold"): DOCUMENT
    | {"label": LABEL, "secondary_labels": SECONDARY, "rationale": ("rationale",)}
    | {name: (name, f"gold_{name}") for name in ("labels", "score", "weight")}
    | UNIT
    | {"language": ("language", "lang"), "split": ("split",)},
    ("classification", "pred"): DOCUMENT
    | {"label": (*PREDICTED, *LABEL), "secondary_labels": SECONDARY, "probabilities": ("probabilities",)}
    | {name: (name, f"pred_{name}", f"predicted_{name}") for name in ("labels", "score")}
    | {"confidence": ("confidence", "score", "probability")},
    ("answering", "gold"): QUESTION
    | UNIT
    | {"question": ("question",), "answers": ("answers", "gold_answers", "gold_answer", "answer")}
    | {name: (name,) for name in ("reference", "supporting_facts", "answer_type", "documents", "context")}
    | {name: (name,) for name in ("answer_starts", "entities")}
    | {"language": ("language", "lang"), "split": ("split",), "strata": ("strata",), "meta": ("meta",)},
    ("answering", "pred"): QUESTION
    | {"answer": ("answer", "prediction", "predicted_answer", "generated_answer"), "confidence": ("confidence",)}
    | {"retrieved_contexts": ("retrieved_contexts", "contexts")}
    | {name: (name,) for name in ("citations", "latency_ms", "error", "text", "meta")},
}
NEEDED: dict[tuple[str, Side], tuple[str, ...]] = {
    ("classification", "gold"): ("label",),
    ("classification", "pred"): ("label",),
    ("answering", "gold"): ("question", "answers"),
    ("answering", "pred"): ("answer",),
}
SIGNS, SAMPLE = ("\t", ";", ",", "|"), 50  # of separators, and of rows in which one is looked for
INSTEAD = {"answers": ("reference",), "label": ("labels", "score")}
LISTS = ("labels", "answers", "supporting_facts", "documents", "entities", "retrieved_contexts")
NUMBERS = ("score", "weight", "confidence", "latency_ms")
JSON = ("meta", "strata", "citations", "answer_starts", "probabilities")
EMPTY_CELLS = (
    "answer",
    "answers",
    "label",
    "labels",
    "secondary_labels",
)  # fields of which an empty cell says that there is none
SEPARATORS = re.compile(r"\s*[|,;]\s*")


def asks(header: str) -> bool:
    """Whether the first line of a table names a question: then it is for answering."""
    return "question" in {cell.strip('" ').lower() for cell in re.split("[,\t]", header)}


def table(
    path: str | Path, delimiter: str | None = None, *, quoted: bool | None = None
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a table, and its rows with their lines; a row has as many cells as the header.

    Args:
        path: The file.
        delimiter: What separates the columns; guessed from the file's name and header if not given.
        quoted: Whether cells may be quoted; by default those of a csv.
    """
    content = "\n".join(files.lines(path))
    csv.field_size_limit(sys.maxsize)
    separator = delimiter or separator_of(content, "," if Path(path).suffix.lower() == ".csv" else "\t")
    quoting = _quoting(separator != "\t" if quoted is None else quoted)
    reader = csv.reader(io.StringIO(content), delimiter=separator, quoting=quoting, strict=not quoted)
    try:
        header = [cell.strip() if quoted is None else cell for cell in next(reader)]
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=path, line=reader.line_num) from None
    if not quoted:
        return header, rows
    if not header or len(set(header)) < len(header):
        raise DataError("a table begins with a header of names that differ", file=path, line=1)
    for line, cells in rows:
        check_width(header, cells, path, line)
    return header, rows


def separator_of(content: str, usual: str) -> str:
    """What separates the columns: the usual sign, unless the first rows have one width above 1 with another alone.

    A last line that is cut off, or a row that is too short, leaves the header to say it.

    >>> separator_of("id;text;share\\n1;a, b;0,5\\n2;c;0,7", ",")
    ';'
    """

    def width(sign: str) -> int:
        try:
            widths = {len(cells) for cells in islice(csv.reader(io.StringIO(content), delimiter=sign), SAMPLE) if cells}
        except csv.Error:
            return 1
        return widths.pop() if len(widths) == 1 else 1

    header = content.partition("\n")[0]
    if width(usual) > 1:
        return usual
    return max((usual, *SIGNS), key=lambda sign: (width(sign), header.count(sign)))


def _quoting(quoted: bool) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE


def no_column(name: str, header: Iterable[str]) -> str:
    """The message for a column that a table lacks."""
    field = name.partition(" ")[0]
    return f"no column {name}; there are {', '.join(header) or 'none'}; rename one, or set `map={field}=COLUMN`"


def check_width(header: Sequence[str], cells: Sequence[str], path: object, line: int) -> None:
    """Raise unless a row has as many cells as the header."""
    if len(cells) != len(header):
        what = f"{len(cells)} columns where the header has {len(header)} ({', '.join(header)})"
        raise DataError(what, file=path, line=line)


def rows(source: Source) -> Iterator[Row]:
    """One record a row."""
    header, lines = table(source.path, source.option("delimiter"))
    if not lines:
        raise DataError("no rows under the header", file=source.path)
    names = [name.strip().lower() for name in header if name.strip()]
    for name in names if len(set(names)) < len(names) else ():
        if names.count(name) > 1:
            raise DataError(f"column {name!r} stands twice; keep one", file=source.path, line=1)
    columns = columns_of(header, source.task, source.side)
    _check_needed(columns, header, source)
    source.numbered = "id" not in columns
    records = []
    for count, (line, cells) in enumerate(lines, start=1):
        with source.checking(line=line):
            check_width(header, cells, source.path, line)
            records.append(Row(_record(dict(zip(header, cells, strict=True)), columns, count, source), line))
    if source.task == "classification" and source.side == "gold":
        _check_labels(source, header, records)
    yield from records


def columns_of(header: Iterable[str], task: str, side: Side) -> dict[str, str]:
    """The column of each field, by the first of its names that the header has."""
    lower = {name.strip().lower(): name for name in reversed(list(header))}
    columns: dict[str, str] = {}
    for field, names in COLUMNS[task, side].items():
        name = next((lower[name] for name in names if name in lower), None)
        if name is not None and (field != "document" or name not in columns.values()):
            columns[field] = name
    if task == "classification":  # beside a label, a score is no grade
        for field in ("score",) if "label" in columns else ("confidence",) if columns.get("score") == "score" else ():
            columns.pop(field, None)
    return columns


def _check_needed(columns: Mapping[str, str], header: Sequence[str], source: Source) -> None:
    for field in NEEDED[source.task, source.side]:
        if field not in columns and not any(other in columns for other in INSTEAD.get(field, ())):
            names = dict.fromkeys((field, *COLUMNS[source.task, source.side][field][:2]))
            raise DataError(no_column(" or ".join(names), header), file=source.path, line=1)


def _record(row: Mapping[str, str], columns: Mapping[str, str], count: int, source: Source) -> dict[str, Any]:
    record: dict[str, Any] = {"id": str(count)}
    classified = source.task == "classification"
    try:
        for field, column in columns.items():
            cell = row[column].strip() if classified else row[column]
            if cell.strip() or field in EMPTY_CELLS or (classified and field == "text"):
                record[field] = _value(cell, field)
    except DataError as error:
        raise error.at(record=record["id"]) from None
    if classified and source.side == "gold" and record.get("label", "") is None:
        raise DataError("no type", record=record["id"], field="label")
    others = {name: cell for name, cell in row.items() if name not in columns.values() and cell.strip()}
    if others and not classified:
        record["meta"] = {**others, **record.get("meta", {})}
    return record


def _value(cell: str, field: str) -> Any:
    """The value of a cell."""
    if field in LISTS:
        return several(cell)
    if field == "secondary_labels":
        return [label for label in SEPARATORS.split(cell.strip("[]")) if label]
    if field in NUMBERS:
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(f"not a number: {cell!r}", field=field)
        return number
    if field in JSON:
        try:
            return jsonl.value(cell)
        except DataError as error:
            raise DataError(f"{error.what}: {cell[:60]!r}", field=field) from None
    return cell.strip() if field == "id" else cell or None if field == "label" else cell


def several(cell: str) -> list[str]:
    """Texts as a JSON list, or with ``|`` between them.

    >>> several('["a | b", "c"]'), several("1800 | in 1800"), several("[sic]"), several("")
    (['a | b', 'c'], ['1800', 'in 1800'], ['[sic]'], [])
    """
    if cell.lstrip().startswith("["):
        try:
            texts = jsonl.value(cell)
        except DataError:
            texts = None
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return texts
    return [part.strip() for part in cell.split("|") if part.strip()]


def institutional(path: str | Path, delimiter: str | None = None) -> bool:
    """Whether a table's types are institution types: its column is ``gold_type``, and they are single letters."""
    header, lines = table(path, delimiter)
    column = columns_of(header, "classification", "gold").get("label")
    labels = [cells[header.index(column)].strip() for _, cells in lines if column and len(cells) > header.index(column)]
    return "gold_type" in header and all(re.fullmatch("[A-Z]?", label) for label in labels)


def _check_labels(source: Source, header: Sequence[str], records: Sequence[Row]) -> None:
    """Gold's labels are in the list; a prediction outside it is the measure's business (OTHER)."""
    labels = source.option("labels")
    if labels is None:
        if "gold_type" not in header or not all(re.fullmatch("[A-Z]", row.record.get("label", "")) for row in records):
            return
        labels = INSTITUTIONS
    for row in records:
        for field in ("label", "secondary_labels"):
            values = row.record.get(field) or []
            for label in [values] if isinstance(values, str) else values:
                if label not in labels:
                    with source.checking("label", record=row.record["id"], field=field):
                        raise DataError(f"label {label!r} is outside the list {', '.join(labels)}")


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write a table with the columns that one of the records has; the extension says which kind."""
    several_records = list(records)
    names = {"label": "gold_type" if side == "gold" else "label", "secondary_labels": "secondary_types"}
    single = task == "classification" and any("label" in record for record in several_records)
    needed = NEEDED[task, side] if single or task != "classification" else ()
    always = ("id", *needed, *(("text", "secondary_labels") if single else ()))
    fields = [
        field
        for field in COLUMNS[task, side]
        if field in always or any(record.get(field) is not None for record in several_records)
    ]
    tab = Path(path).suffix.lower() != ".csv"
    out = io.StringIO()
    writer = csv.writer(
        out,
        delimiter="\t" if tab else ",",
        lineterminator="\n",
        quoting=_quoting(not tab),
        quotechar=None if tab else '"',
    )
    writer.writerow([names.get(field, field) if task == "classification" else field for field in fields])
    for record in several_records:
        cells = [_written(record.get(field), field) for field in fields]
        for field, cell in zip(fields, cells, strict=True):
            if tab and any(mark in cell for mark in "\t\n\r"):
                message = "a tab or line break cannot stand in tsv; write csv or jsonl"
                raise DataError(message, record=record["id"], field=field)
        writer.writerow(cells)
    files.save(path, out.getvalue())


def _written(value: Any, field: str) -> str:
    """A value as the cell that is read back the same."""
    if value is None:
        return ""
    if field == "secondary_labels":
        return "|".join(value)
    if field in LISTS:
        if not value:
            return "" if field in EMPTY_CELLS else "[]"
        return value[0] if len(value) == 1 and several(value[0]) == value else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False) if field in JSON else str(value)

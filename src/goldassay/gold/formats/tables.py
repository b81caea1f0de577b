"""Rows with named columns: ``csv``, ``tsv``, ``parquet``, lists in JSON, data sets, and records in Python.

Classification and answering find their columns by their names (`COLUMNS`), other tasks have the names of their fields;
what is no field goes to ``meta``, and of a JSON file it is an error. A row without an id is named by its number. A
``document`` column, or ``doc_id`` beside an ``id``, says which rows belong together. Of your own task a record has any
fields: a column of whole numbers, numbers or true/false is read as such.

In a cell of a table, secondary types are separated by ``|``, ``,`` or ``;``; several texts are a JSON list
(``["1800", "in 1800"]``) or have ``|`` between them, and an empty ``answers`` is a question without an answer. A csv
quotes what needs quotes, and so does a tsv of your own task; another tsv quotes nothing.

A data set is ``hf:NAME`` or ``hf:NAME:SPLIT`` (extra ``datasets``), or a folder that ``save_to_disk`` wrote. A class
label becomes its name, a date its ISO form, and the split ``validation`` is called dev; nothing is executed.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from itertools import islice
from math import isfinite
from os.path import isfile
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, MissingExtra
from goldassay.gold import anyfields
from goldassay.gold.formats import SPLITS, Row, Source, is_by_split
from goldassay.gold.records import schema
from goldassay.gold.shapes import Side
from goldassay.measure import TASKS as TASKS

WRITTEN = ("classification", "answering")
OPTIONS = ()
HF = "hf:"
DATASET_FILES = ("state.json", "dataset_dict.json")  # what a folder of `save_to_disk` holds
COLUMNS: dict[str, dict[str, dict[str, list[str]]]] = json.loads(
    resources.files("goldassay").joinpath("data/columns.json").read_text(encoding="utf-8")
)
"""Of a task's gold and predictions each field with the names that its column may have, the first of them first."""
INSTEAD = {"label": ("labels", "score"), "answers": ("reference",)}
SIGNS, SAMPLE = ("\t", ";", ",", "|"), 50  # of separators, and of rows in which one is looked for
LISTS = ("labels", "answers", "supporting_facts", "documents", "entities", "retrieved_contexts")
NUMBERS = ("score", "weight", "confidence", "latency_ms")
JSON = ("meta", "strata", "citations", "answer_starts", "probabilities")
EMPTY_CELLS = ("answer", "answers", "label", "labels", "secondary_labels", "text")
"""Fields of which an empty cell says that there is none."""


def is_dataset(place: str | Path) -> bool:
    """Whether this names a data set: ``hf:…``, or a folder of one."""
    return str(place).startswith(HF) or any(isfile(Path(place) / name) for name in DATASET_FILES)


def rows(source: Source) -> Iterator[Row]:
    """The records of a table, a list, a data set, or of Python objects."""
    empty, paths = True, source.options.get("map")
    for number, (line, raw) in enumerate(_rows(source), start=1):
        empty = False
        with source.checking(line=line, record=None if line else number):
            if not isinstance(raw, Mapping):
                raise DataError(f"a record is an object with fields, not {type(raw).__name__}")
            row = anyfields.renamed(raw, paths, predicted=source.side == "pred") if paths else dict(raw)
            if source.format not in ("csv", "tsv", "json", "jsonl"):
                row = {str(name): _plain(value, str(name)) for name, value in row.items()}
            record = anyfields.nested(row) if source.task == "records" else row
            record = _record(record, source) if source.task in TASKS else record
            name = record.pop("id", None)
            source.numbered = source.numbered or name in (None, "")
            record = {"id": str(number if name in (None, "") else name), **record}
            if record.get("split") is not None:
                record["split"] = str(record["split"])
            yield Row(record, line)
    if empty:
        raise DataError("there are no records", file=source.path)


def _rows(source: Source) -> Iterator[tuple[int | None, Any]]:
    """The rows with their lines, where a file has lines."""
    file, kind = source.path, source.format
    if "data" in source.options:
        yield from ((None, row) for row in anyfields.objects(source.options["data"]))
    elif is_dataset(file):
        yield from ((None, row) for row in _dataset(str(file)))
    elif kind == "jsonl":
        yield from files.json_lines(file)
    elif kind == "json":
        content = files.json_value(file)
        several = anyfields.objects(content) if is_by_split(content) else content
        yield from ((None, row) for row in (several if isinstance(several, (Iterator, list)) else [several]))
    elif kind == "parquet":
        yield from ((None, row) for row in _parquet(file))
    elif kind in ("csv", "tsv"):
        own = source.task not in WRITTEN
        header, lines = table(file, quoted=True if own or source.options.get("map") else None)
        cells: list[Any] = [row for _, row in lines]
        if own and lines:
            columns = zip(header, zip(*cells, strict=True), strict=True)
            typed = (_typed(name, column, source.task == "records") for name, column in columns)
            cells = list(zip(*typed, strict=True))
        for (line, _), row in zip(lines, cells, strict=True):
            with source.checking(line=line):
                _check_width(header, row, file, line)
                yield line, dict(zip(header, row, strict=True))
    else:
        raise DataError(f"records are read from jsonl, json, csv, tsv and parquet, not from {kind!r}", file=file)


def _record(row: dict[str, Any], source: Source) -> dict[str, Any]:
    """A row under the names of the task's fields."""
    header, columns = list(row), columns_of(row, source.task, source.side)
    record = {field: row.pop(column) for field, column in columns.items()}
    if source.format in ("csv", "tsv"):
        record = {name: _value(cell, name) for name, cell in record.items() if cell.strip() or name in EMPTY_CELLS}
    if "reference" in record or isinstance(record.get("answers", ()), str | None):
        answers = record.get("answers") or []
        record["answers"] = [answers] if isinstance(answers, str) else answers
    if record.get("answer", "") is None:
        record["answer"] = ""
    shape: Any = schema(source.task, source.side)
    record |= {name: row.pop(name) for name in [*row] if name in shape["properties"] and name not in record}
    for name in (*shape["required"], *(["label"] if source.task == "classification" else [])):
        if name != "id" and not {name, *INSTEAD.get(name, ())} & record.keys():
            there = ", ".join(header) or "none"
            raise DataError(f"no column {name}; there are {there}; rename one, or set `map={name}=COLUMN`")
    full: dict[str, Any] = {name: value for name, value in record.items() if value is not None or name in EMPTY_CELLS}
    others = {name: value for name, value in row.items() if value not in (None, "")}
    if others and source.format == "json":
        return {**full, **others}  # which are no fields of this record
    return {**full, "meta": {**others, **full.get("meta", {})}} if others else full


def columns_of(header: Iterable[str], task: str, side: Side) -> dict[str, str]:
    """The column of each field, by the first of its names that the header has."""
    lower = {name.strip().lower(): name for name in reversed(list(header))}
    columns: dict[str, str] = {}
    for field, names in COLUMNS.get(task, {}).get(side, {}).items():
        name = next((lower[name] for name in names if name in lower), None)
        if name is not None and name not in columns.values():
            columns[field] = name
    if task == "classification" and "label" in columns:  # beside a label, a score is no grade
        score = columns.pop("score", None)
        if side == "pred" and score is not None:
            columns.setdefault("confidence", score)
    return columns


def _value(cell: str, field: str) -> Any:
    """The value of a cell."""
    if field in LISTS:
        return several(cell)
    if field == "secondary_labels":
        return [label for label in re.split(r"\s*[|,;]\s*", cell.strip(" []")) if label]
    if field in NUMBERS:
        try:
            number = float(cell)
        except ValueError:
            number = float("nan")
        if not isfinite(number):
            raise DataError(f"not a number: {cell!r}", field=field)
        return number
    if field in JSON:
        try:
            return jsonl.value(cell)
        except DataError as error:
            raise DataError(f"{error.what}: {cell[:60]!r}", field=field) from None
    return cell.strip() or None if field in ("id", "label") else cell


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


def table(path: str | Path, *, quoted: bool | None = None) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a table, and its rows with their lines; a row has as many cells as the header.

    Args:
        path: The file.
        quoted: Whether cells may be quoted; by default those of a csv.
    """
    content = "\n".join(files.lines(path))
    csv.field_size_limit(sys.maxsize)
    separator = separator_of(content, "," if Path(path).suffix.lower() == ".csv" else "\t")
    quoting: Any = csv.QUOTE_MINIMAL if quoted or (quoted is None and separator != "\t") else csv.QUOTE_NONE
    reader = csv.reader(io.StringIO(content), delimiter=separator, quoting=quoting, strict=not quoted)
    try:
        header = next(reader)
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=path, line=reader.line_num) from None
    if len(set(names := [name.strip().lower() for name in header if name.strip()])) < len(names) or not names:
        raise DataError("a table begins with a header of names that differ", file=path, line=1)
    for line, cells in rows if quoted else ():
        _check_width(header, cells, path, line)
    return header, rows


def _check_width(header: Sequence[str], cells: Sequence[str], path: str | Path, line: int) -> None:
    """Raise unless a row has as many cells as the header."""
    if len(cells) != len(header):
        what = f"{len(cells)} columns where the header has {len(header)} ({', '.join(header)})"
        raise DataError(what, file=path, line=line)


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


def _typed(name: str, cells: Sequence[str], by_cell: bool = False) -> list[Any]:
    """A column as whole numbers, numbers or truth values if all of it reads so; an empty cell is None then."""
    if by_cell:
        return [value for cell in cells for value in _typed(name, [cell])]
    full = [cell.strip() for cell in cells if cell.strip()]
    if name in anyfields.ABOUT or not full:
        return list(cells)
    if all(cell.lower() in ("true", "false") for cell in full):
        return [cell.strip().lower() == "true" if cell.strip() else None for cell in cells]
    if any(len(cell) > 1 and cell[0] == "0" and cell[1].isdigit() for cell in full):  # 007 is a name
        return list(cells)
    for kind in (int, float):
        try:
            values = [kind(cell) if cell.strip() else None for cell in cells]
        except ValueError:
            continue
        return values if all(value is None or isfinite(value) for value in values) else list(cells)  # nan is a word
    return list(cells)


def _plain(value: Any, name: str) -> Any:
    """A value that JSON can hold; raises for an image, bytes and the like."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, name) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, name) for inner in value]
    simple = jsonl.plain(value)
    if isinstance(simple, str) and not hasattr(value, "isoformat"):
        message = f"{name} holds {type(value).__name__}, which no record can hold"
        raise DataError(f"{message}; name the fields you want (`map=NAME=PATH`)")
    return _plain(simple, name)


def _parquet(file: Path) -> Iterator[dict[str, object]]:
    """The rows of a Parquet file, a batch at a time."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("pyarrow", "datasets") from None
    try:
        for batch in ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        raise DataError(f"no Parquet that can be read ({error!s:.200})", file=file) from None


def _dataset(name: str) -> Iterator[dict[str, object]]:
    """The rows of a data set; each names its split if there are several."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets") from None
    try:
        if name.startswith(HF):
            whole, _, split = name.removeprefix(HF).partition(":")
            loaded = datasets.load_dataset(whole, split=split or None)
        else:
            loaded = datasets.load_from_disk(name)
    except Exception as error:  # noqa: BLE001 - the library raises what its many back ends raise
        raise DataError(f"no data set that can be read ({error!s:.200})", file=name) from None
    parts: Any = loaded.items() if isinstance(loaded, dict) else [(None, loaded)]
    for part_name, part in parts:
        labels = {column: kind for column, kind in part.features.items() if isinstance(kind, datasets.ClassLabel)}
        for raw in part:
            row = dict(raw)
            for column, kind in labels.items():
                if isinstance(row[column], int) and row[column] >= 0:
                    row[column] = kind.int2str(row[column])
            if part_name:
                row.setdefault("split", SPLITS.get(str(part_name), str(part_name)))
            yield row


def institutional(path: str | Path) -> bool:
    """Whether a table's types are institution types: its column is ``gold_type``, and they are single letters."""
    header, lines = table(path)
    return "gold_type" in header and all(
        re.fullmatch("[A-Z]?", cells[header.index("gold_type")].strip()) for _, cells in lines
    )


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write a table with the columns that one of the records has; the extension says which kind."""
    several_records = list(records)
    names = {"label": "gold_type", "secondary_labels": "secondary_types"} if side == "gold" else {}
    fields = [
        field
        for field in COLUMNS[task][side]
        if field == "id" or any(record.get(field) is not None for record in several_records)
    ]
    tab = Path(path).suffix.lower() != ".csv"
    out = io.StringIO()
    quoting: Any = {"quoting": csv.QUOTE_NONE, "quotechar": None} if tab else {}
    writer = csv.writer(out, delimiter="\t" if tab else ",", lineterminator="\n", **quoting)
    writer.writerow([names.get(field, field) for field in fields])
    for record in several_records:
        cells = [_written(record.get(field), field) for field in fields]
        if tab and re.search("[\t\n\r]", "".join(cells)):
            raise DataError("a tab or line break cannot stand in tsv; write csv or jsonl", record=record["id"])
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

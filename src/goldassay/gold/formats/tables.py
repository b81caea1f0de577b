"""Rows with named columns: ``csv``, ``tsv``, ``parquet``, lists in JSON, data sets, and records in Python.

A field's column has its name or one that other tools give it (`COLUMN_NAMES`). What is not a field goes to ``meta``; in
a JSON file of gold with the names of our fields it is an error. A row without an id is named by its number. A
``document`` column, or ``doc_id`` next to an ``id``, says which rows belong together. Of your own task a record has any
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
import warnings
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from enum import Enum
from functools import cache
from math import inf, isfinite
from os.path import isfile
from pathlib import Path
from typing import Any
from uuid import UUID

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, MissingExtra
from goldassay._support.files import Faults
from goldassay.core.fields import Fields, JsonObject, message_path
from goldassay.core.measure import ANSWER_FIELDS, TASKS
from goldassay.gold import anyfields
from goldassay.gold.formats import BY_QUERY_HEAD, SPLIT_NAMES, Format, Source, SourceRecord, head, is_by_split, trec
from goldassay.gold.records import COLUMN_NAMES, LABEL_FIELDS, empty_fields, is_labelled, schema
from goldassay.gold.shapes import Side

WRITTEN = ("classification", "answering")
HF = "hf:"
DATASET_FILES = ("state.json", "dataset_dict.json")  # what a folder of `save_to_disk` holds
INSTEAD = {"label": ("labels", "score"), "answers": ("reference",), "calls": ("messages",)}
LIST_FIELDS = ("labels", "answers", "supporting_facts", "documents", "entities", "retrieved_contexts")
NUMBERS = ("score", "weight", "confidence", "latency_ms")
JSON_FIELDS = ("meta", "strata", "citations", "answer_starts", "probabilities", "errors", *anyfields.DRAFTED)
EMPTY_CELLS = ("answer", "answers", "label", "labels", "secondary_labels", "text")
"""Fields of which an empty cell says that there is none."""


def is_dataset(path: str | Path) -> bool:
    """Whether this names a data set: ``hf:…``, or a folder of one."""
    return str(path).startswith(HF) or any(isfile(Path(path) / name) for name in DATASET_FILES)


def rows(source: Source) -> Iterator[SourceRecord]:
    """The records of a table, a list, a data set, or of Python objects.

    Raises:
        DataError: There are no records.
    """
    empty = True
    paths = source.options.get("map")
    for number, (line, raw) in enumerate(_raw_rows(source), start=1):
        empty = False
        with source.checking(line=line, record=None if line else number):
            if not isinstance(raw, Mapping):
                message = f"a record is an object with fields, not {type(raw).__name__}"
                if source.task in TASKS:
                    field = [*_schema(source.task, source.side)["required"][1:], *LABEL_FIELDS[source.task]][0]
                    message += f': {{"{field}": …}}'
                raise DataError(message)
            predicted = source.side == "pred"
            raw = anyfields.flat(raw, paths, predicted=predicted, empty=empty_fields(source.task))
            raw = anyfields.of_tokens(raw) if source.task == "extraction" else raw
            drafted = raw.get("sampling") is not None  # whose fields have the names of the task
            row = dict(raw)
            if paths and not drafted:
                row = anyfields.renamed(raw, paths, predicted=predicted, task=source.task, used=source.used_paths)
            for name in anyfields.DRAFTED:  # cells of a table hold them as JSON
                if isinstance(cell := row.get(name), str):
                    row[name] = jsonl.value(cell) if cell.strip() else None
            if source.format not in ("csv", "tsv", "json", "jsonl"):
                plain = {}
                for name, value in row.items():
                    with suppress(DataError) if name not in (paths or row) else nullcontext():
                        plain[str(name)] = _plain(value, str(name), predicted)
                row = plain
            record = row
            if source.task == "records":
                columns = COLUMN_NAMES["records"][source.side]["record"]
                is_column = any(isinstance(row.get(name), Mapping) for name in columns)
                record = row if is_column else anyfields.nested(row)
            record = _record(record, source) if source.task in TASKS else record
            own_id = record.pop("id", None)
            source.numbered = source.numbered or own_id in (None, "")
            split = {} if record.get("split") is None else {"split": str(record["split"])}
            yield SourceRecord({"id": str(number if own_id in (None, "") else own_id), **record, **split}, line)
    if empty:
        raise DataError("there are no records", file=source.path)


def _raw_rows(source: Source) -> Iterable[tuple[int | None, object]]:
    """The rows with their lines, where a file has lines."""
    file = source.path
    kind = source.format
    if kind in ("csv", "tsv"):
        is_own_task = source.task not in WRITTEN
        lines = table(file, quoted=True if is_own_task or source.options.get("map") else None, faults=source.faults)
        if not is_own_task or not lines or source.task == "labels":  # what a judge is asked stays as it is written
            return lines
        if rankings := _rankings([row for _, row in lines], source):
            return rankings
        if source.task == "records":
            return [(line, {name: _typed(name, [cell])[0] for name, cell in row.items()}) for line, row in lines]
        columns = {name: _typed(name, [row[name] for _, row in lines]) for name in lines[0][1]}
        return [(line, {name: columns[name][i] for name in columns}) for i, (line, _) in enumerate(lines)]
    if kind == "jsonl" and "data" not in source.options:
        return files.json_lines(file)
    records: Iterable[object]
    if "data" in source.options:
        is_bare = source.side == "pred" or source.task in ("classification", "records", "answering")
        content = source.options["data"]
        field = ANSWER_FIELDS.get(source.task, "") if is_bare else ""  # gold of the others needs more
        records = anyfields.objects(content, field)
        if source.side == "gold" and source.task == "answering":
            records = ({"question": "", **row} if row.keys() <= {"id", field} else row for row in records)
        if source.task == "retrieval" and not isinstance(content, Mapping):
            content = records = list(records)
        if rankings := _rankings(content, source):
            return rankings
    elif kind in ("dataset", "parquet"):
        records = _dataset(str(file), kind)
    elif kind == "json":
        is_by_query = source.task == "retrieval" and re.match(BY_QUERY_HEAD, head(file))
        content = files.json_value(file) if is_by_query else json_rows(file)
        if rankings := _rankings(content, source):
            return rankings
        records = anyfields.objects(content) if is_by_split(content) else content
        if not isinstance(records, (Iterator, list)):
            records = [records]
            source.warnings.append(f"{file} is one object and counts as one record; records are a list, [{{…}}, {{…}}]")
    else:
        raise DataError(f"records are read from jsonl, json, csv, tsv and parquet, not from {kind!r}", file=file)
    return ((None, row) for row in records)


def _rankings(content: object, source: Source) -> list[tuple[int | None, object]]:
    """The records of judgements or of a run that another tool holds by query or by pair; none if these are none."""
    rankings = trec.by_query(content, source) if source.task == "retrieval" else None
    source.format = "trec" if rankings else source.format  # whose scorer leaves out predictions for other queries
    return [(None, record) for record in rankings or ()]


def json_rows(file: Path) -> Any:
    """The content of a JSON file; of JSON Lines, of columns and of what pandas' `to_json` writes, the list of rows."""
    try:
        content = files.json_value(file)
    except DataError as error:
        with suppress(DataError):
            return [row for _, row in files.json_lines(file)]
        raise error from None
    columns = list(content.values()) if isinstance(content, dict) and not is_by_split(content) else []
    lists = {name: column for name, column in content.items() if isinstance(column, list)} if columns else {}
    if all(isinstance(row, dict) and "paragraphs" not in row for rows in lists.values() for row in rows):
        if lists and is_by_split(lists):  # with a version beside them
            return lists
        if lists.keys() <= {"data", "rows", "records", "examples"} and len(lists) == 1:  # a list with a name
            return next(iter(lists.values()))
    if columns and all(isinstance(column, list) for column in columns):
        if content.keys() >= {"columns", "data"}:  # orient="split"
            return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]
        if len({*map(len, columns)}) == 1:
            return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]
    if columns and all(isinstance(column, dict) for column in columns):
        if "".join(content).isdigit():  # orient="index"
            return columns
        numbers = dict.fromkeys(number for column in sorted(columns, key=len, reverse=True) for number in column)
        if "".join(numbers).isdigit():
            return [{name: content[name][row] for name in content if row in content[name]} for row in numbers]
    return content


def _record(row: JsonObject, source: Source) -> JsonObject:
    """A row under the names of the task's fields."""
    header = ", ".join(row) or "none"
    by_name = {name.strip().lower(): name for name in reversed(list(row))}
    columns: dict[str, str] = {}  # of each field, by the first of its names that the header has
    for field, names in COLUMN_NAMES.get(source.task, {}).get(source.side, {}).items():
        column = next((by_name[name] for name in names if name in by_name), None)
        if column is not None and column not in columns.values():
            columns[field] = column
    source.answer_column = columns.get(ANSWER_FIELDS[source.task], columns.get("answers", source.answer_column))
    if source.task == "classification" and "label" in columns:  # where there is a label, a score is not a grade
        score = columns.pop("score", None)
        if source.side == "pred" and score is not None:
            columns.setdefault("confidence", score)
    record: Fields = {field: row.pop(column) for field, column in columns.items()}
    drafted = row.get("sampling") is not None  # an empty cell of a draft is not labelled yet
    if source.format in ("csv", "tsv"):
        empty = [] if drafted else EMPTY_CELLS
        record = {
            name: _value(cell, name) if isinstance(cell, str) else cell
            for name, cell in record.items()
            if not isinstance(cell, str) or cell.strip() or name in empty
        }
    bare = record.get("answers", ())
    if isinstance(bare, str) or (bare is None and not drafted):
        answers = record.get("answers") or []
        record["answers"] = [answers] if isinstance(answers, str) else answers
    shape = _schema(source.task, source.side)
    if str(row.get("errors", "")).startswith("["):  # else a column of this name is one's own
        record["errors"] = row.pop("errors")
        if isinstance(record["errors"], str):
            record["errors"] = jsonl.value(record["errors"])
    direct = [name for name in row if name in shape["properties"] and name not in (*record, "errors")]
    record |= {name: row.pop(name) for name in direct}
    required = [*shape["required"], *(["label"] if source.task == "classification" else [])]
    for name in [] if drafted else required:
        if name != "id" and not {name, *INSTEAD.get(name, ())} & record.keys():
            path = message_path(row, "COLUMN")
            raise DataError(f'no column {name}; there are {header}; rename one, or set `map={{"{name}": "{path}"}}`')
    unused = {name: value for name, value in row.items() if value not in (None, "")}
    is_gold = source.side == "gold" and all(field == column for field, column in columns.items())
    if unused and source.format == "json" and "map" not in source.options and is_gold:
        return {**record, **unused}  # which are not fields of this record
    return {**record, "meta": {**unused, **(record.get("meta") or {})}} if unused else record


_schema = cache(schema)


def _value(cell: str, field: str) -> object:
    """The value of a cell."""
    if field in LIST_FIELDS:
        return several(cell)
    if field == "secondary_labels":
        return [label for label in re.split(r"\s*[|,;]\s*", cell.strip(" []")) if label]
    if field in NUMBERS:
        try:
            number = float(cell)
        except ValueError:
            number = inf
        if not isfinite(number):
            raise DataError(f"not a number: {cell!r}", field=field)
        return number
    if field in JSON_FIELDS:
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
    try:
        texts = jsonl.value(cell)
    except DataError:
        texts = None
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    return [item.strip() for item in cell.split("|") if item.strip()]


def table(
    path: str | Path, *, quoted: bool | None = None, faults: Faults | None = None
) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table with their lines; a row has as many cells as the header.

    The columns of a csv are separated by a comma, or by the sign that the header has instead, and those of another
    table by a tab or so.

    Args:
        path: The file.
        quoted: Whether cells may be quoted; by default those of a csv.
        faults: What happens to rows that are too short or too long; by default the first one is raised.
    """
    content = "\n".join(files.lines(path))
    usual = "," if Path(path).suffix.lower() == ".csv" else "\t"
    first = content.partition("\n")[0]
    separator = usual if usual in first else max((usual, "\t", ";", ",", "|"), key=first.count)
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(
        io.StringIO(content),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted or (quoted is None and separator != "\t") else csv.QUOTE_NONE,
        strict=not quoted,
    )
    try:
        header = list(map(files.csv_cell, next(reader)))
        rows = [(reader.line_num, list(map(files.csv_cell, cells))) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=path, line=reader.line_num) from None
    if len(set(names := [name.strip().lower() for name in header if name.strip()])) < len(names) or not names:
        raise DataError("a table begins with a header of names that differ", file=path, line=1)
    for line, cells in rows:
        if len(cells) != len(header):
            what = f"{len(cells)} columns where the header has {len(header)} ({', '.join(header)})"
            (faults or Faults()).report(DataError(what, file=path, line=line), "schema")
    return [(line, dict(zip(header, cells, strict=True))) for line, cells in rows if len(cells) == len(header)]


def _cell_value(cell: str) -> Any:
    """The JSON value of a cell, also a list as pandas writes it into a cell, ``['a', 'b']``; None of an empty one."""
    if not cell.startswith(("[", "{")):
        return json.loads(cell.lower()) if cell.strip() else None
    with suppress(DataError):
        return jsonl.value(cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a backslash before a letter is one of the text
        return literal_eval(cell)


def _typed(name: str, cells: list[str]) -> Sequence[object]:
    """A column as numbers, truth values, lists or objects, if all its cells read so; an empty cell is None then."""
    try:
        values = [_cell_value(cell) for cell in cells]
    except (
        ValueError,
        TypeError,
        SyntaxError,
        RecursionError,
        MemoryError,
    ):  # as of a set of lists, or of deep nesting
        return cells
    kinds = {type(value) for value in values if value is not None}
    if name in anyfields.ABOUT_RECORD or kinds not in ({bool}, {int}, {float}, {int, float}, {list}, {dict}):
        return cells
    return [float(value) if float in kinds and value is not None else value for value in values]


def _plain(value: object, name: str, predicted: bool) -> object:
    """A value as JSON holds it; of gold raises for an image, bytes and the like, which are predicted as their text."""

    def simple(inner: object) -> object:
        plain = jsonl.jsonable(inner)
        if isinstance(plain, str) and not (predicted or hasattr(inner, "isoformat") or isinstance(inner, (Enum, UUID))):
            message = f"{name} holds {type(inner).__name__}, which no record can hold"
            raise DataError(f'{message}; name the fields you want (`map={{"NAME": "PATH"}}`)')
        return plain

    return value if isinstance(value, str) else json.loads(json.dumps(value, default=simple))


def _dataset(name: str, kind: str) -> Iterator[JsonObject]:
    """The rows of a Parquet file or of a data set; each names its split if there are several."""
    try:
        if kind == "parquet":
            from pyarrow.parquet import ParquetFile

            for batch in ParquetFile(name).iter_batches():
                yield from batch.to_pylist()
            return
        import datasets

        if name.startswith(HF):
            dataset, _, split = name.removeprefix(HF).partition(":")
            loaded = datasets.load_dataset(dataset, split=split or None)
        else:
            loaded = datasets.load_from_disk(name)
    except ImportError:
        raise MissingExtra("datasets", "datasets") from None
    except Exception as error:  # noqa: BLE001 - the library raises what its many back ends raise
        what = "Parquet" if kind == "parquet" else "data set"
        raise DataError(f"no {what} that can be read ({error!s:.200})", file=name) from None
    parts = loaded.items() if isinstance(loaded, dict) else [(None, loaded)]
    for part_name, table in parts:
        for row in anyfields.dataset_rows(table):
            if part_name:
                row.setdefault("split", SPLIT_NAMES.get(str(part_name), str(part_name)))
            yield row


def write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side) -> None:
    """Write a table with the columns that one of the records has; the extension says which kind.

    A draft has an empty column for its labels.

    Raises:
        DataError: A cell has a tab or line break, which tsv cannot hold.
    """
    listed = list(records)
    to_fill = "" if all(is_labelled(record, task) for record in listed) else LABEL_FIELDS[task][0]
    names = {"label": "gold_type", "secondary_labels": "secondary_types"} if side == "gold" else {}
    columns = [*COLUMN_NAMES[task][side], *anyfields.DRAFTED, "errors"]
    fields = [
        field
        for field in columns
        if field in ("id", to_fill) or any(record.get(field) is not None for record in listed)
    ]
    tab = Path(path).suffix.lower() != ".csv"
    rows = [[names.get(field, field) for field in fields]]
    for record in listed:
        cells = [_written(record.get(field), field) for field in fields]
        if tab and re.search("[\t\n\r]", "".join(cells)):
            raise DataError("a tab or line break is not allowed in tsv; write csv or jsonl", record=record["id"])
        rows.append(cells)
    lines = ("\t".join(map(files.guarded, row)) + "\n" for row in rows)
    files.save(path, "".join(lines) if tab else files.csv_text(rows))


def _written(value: Any, field: str) -> str:
    """A value as the cell that is read back the same."""
    if field == "secondary_labels":
        return "|".join(value or ())
    if field in LIST_FIELDS and value is not None:
        if len(value) == 1 and several(value[0]) == value:
            return str(value[0])
        return json.dumps(value, ensure_ascii=False) if value or field not in EMPTY_CELLS else ""
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if field in JSON_FIELDS else str(value)


TABLE_FORMAT = Format(TASKS, rows, write, written=WRITTEN)
PARQUET_FORMAT = Format(TASKS, rows)

"""Records with any fields: gold for your own task, and foreign files whose fields are renamed.

A record is an object of JSON Lines or JSON, a line of csv or tsv, a row of Parquet or of a Hugging Face data set
(``hf:NAME`` or ``hf:NAME:SPLIT``, extra ``datasets``; or a folder that ``save_to_disk`` wrote). A record without an
``id`` gets its number. In a table a column of whole numbers, numbers or true/false is read as such. In a data set a
class label becomes its name, a date its ISO form, and the split ``validation`` is called dev; nothing is executed.

A mapping (``text=body.content,label=category``, or a JSON file of the same) renames fields: on the left the name that
the task has, on the right where the row has it, as a dotted path. It also reads foreign files for a built-in task.

>>> import tempfile
>>> from pathlib import Path
>>> from goldassay.gold import read
>>> file = Path(tempfile.mkdtemp()) / "years.csv"
>>> _ = file.write_text("note,year\\nOpened in 1784,1784\\n")
>>> read(file, task="decades", map="text=note,year=year")
[{'id': '1', 'text': 'Opened in 1784', 'year': 1784}]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite, isnan
from os.path import isfile
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, FieldError, GoldassayError, MissingExtra
from goldassay.fields import names
from goldassay.fields import read as field_at
from goldassay.gold.formats import SPLITS, Row, Source, entries, tables
from goldassay.gold.records import schema
from goldassay.measure import TASKS

HF = "hf:"
DATASET_FILES = ("state.json", "dataset_dict.json")  # what a folder of `save_to_disk` holds
ABOUT = ("id", "split", "language", "document", "strata", "meta")  # about a record, and no field of a task
BESIDE = (*ABOUT, "text", "latency_ms", "error")  # columns of a table of records that are no field of the record
INDEX = re.compile(r"\[(\d+)\]")
FEW = 30  # values of a field that are counted one by one


def is_dataset(place: str | Path) -> bool:
    """Whether this names a data set: ``hf:…``, or a folder of one."""
    return str(place).startswith(HF) or any(isfile(Path(place) / name) for name in DATASET_FILES)


def columnar(place: str | Path, format: str | None = None) -> bool:
    """Whether this is read here for every task: a data set, or a Parquet file."""
    return is_dataset(place) or (format or Path(place).suffix.lower().lstrip(".")) == "parquet"


def reads(place: str | Path, task: str, format: str | None = None) -> bool:
    """Whether a file of a built-in task is read here: columns and JSON lists for every task, any table for records."""
    kind = format or Path(place).suffix.lower().lstrip(".")
    if columnar(place, format) or (task == "records" and kind in ("csv", "tsv", "json")):
        return True
    return kind == "json" and isfile(place) and entries.is_flat(files.json_value(place))


def mapping(text: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """A mapping of fields as it is written: ``name=path,…``, or a JSON file of an object.

    >>> mapping("text=body.content, label=category")
    {'text': 'body.content', 'label': 'category'}
    """
    if text is None or isinstance(text, Mapping):
        return dict(text) if text else None
    if text.endswith(".json"):
        content = files.json_value(Path(text))
        if not isinstance(content, dict) or not all(isinstance(path, str) for path in content.values()):
            raise DataError('a mapping is an object such as {"text": "body.content"}', file=text)
        return dict(content)
    parts = [part.partition("=") for part in text.split(",")]
    for name, equals, path in parts:
        if not name.strip() or not path.strip():
            raise GoldassayError(f"a mapping reads like text=body.content,label=category, not {name + equals + path!r}")
    return {name.strip(): path.strip() for name, _, path in parts}


def records(source: Source) -> Iterator[Row]:
    """The records of a file or data set, renamed."""
    renamed, data = source.options.get("map"), source.options.get("data")
    number = 0
    of_records = source.task == "records"
    several = rows(source.path, source.format or None, by_cell=of_records) if data is None else objects(data)
    for number, row in enumerate(several, start=1):
        record = _renamed(row, renamed, source, number) if renamed else dict(row)
        if data is not None or columnar(source.path, source.format):
            record = {str(key): _plain(value, str(key), source.path) for key, value in record.items()}
        record = nested(record) if of_records else record
        with source.checking(field=f"[{number - 1}]" if data is None and not renamed else None):
            yield _row(record, source, number)
    if not number:
        raise DataError("there are no records", file=source.path)


def _row(record: dict[str, Any], source: Source, number: int) -> Row:
    """A row with its id, which is its number if it has none."""
    record = _fielded(record, source) if source.task in TASKS else record
    name = record.pop("id", None)
    source.numbered = source.numbered or name in (None, "")
    record = {"id": str(number if name in (None, "") else name), **record}
    if record.get("split") is not None:
        record["split"] = str(record["split"])
    return Row(record, number)


def objects(data: Any) -> Iterator[Mapping[str, Any]]:
    """The records of a JSON value or of Python objects: a list, lists by split, or a data frame.

    A record is a dict, a pydantic model, a ``dspy.Example`` or any object with attributes. Of a data frame, which is
    whatever has ``to_dicts`` (polars) or ``to_dict("records")`` (pandas), empty cells are None.

    >>> list(objects({"train": [{"id": "a"}], "validation": [{"id": "b"}]}))
    [{'split': 'train', 'id': 'a'}, {'split': 'dev', 'id': 'b'}]
    """
    if hasattr(data, "columns") and hasattr(data, "to_dict"):
        several = data.to_dicts() if hasattr(data, "to_dicts") else data.to_dict("records")
        yield from ({key: None if _is_empty(value) else value for key, value in row.items()} for row in several)
    elif isinstance(data, Mapping):
        if data and not entries.is_flat({name: [] for name in data}):
            raise DataError(f"lists by split are named {', '.join(SPLITS)}, not {', '.join(map(str, data))}")
        for name, part in data.items():
            yield from ({"split": SPLITS[name], **row} for row in objects(part))
    elif not isinstance(data, Iterable):
        raise GoldassayError(f"records are a file, a list, lists by split or a data frame, not {data!r}")
    else:
        for row in data:
            yield row if isinstance(row, Mapping) else {name: field_at(row, name) for name in names(row)}


def _is_empty(value: Any) -> bool:
    """Whether a cell of a data frame is empty: None, NaN, pandas' NA or NaT."""
    return value is None or (isinstance(value, float) and isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def _fielded(row: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """A row under the names of the task's fields; what has no field there goes to ``meta``, if it is no file's."""
    columns = tables.columns_of(row, source.task, source.side) if source.task in tables.TASKS else {}
    field_of = {column: field for field, column in columns.items()}
    record = {field_of.get(name, name): value for name, value in row.items()}
    if "reference" in record or isinstance(record.get("answers", ()), str | None):
        answers = record.get("answers") or []
        record["answers"] = [answers] if isinstance(answers, str) else answers
    if record.get("answer", "") is None:
        record["answer"] = ""
    shape: Any = schema(source.task, source.side)
    for name in (*shape["required"], *tables.NEEDED.get((source.task, source.side), ())):
        if name != "id" and not {name, *tables.INSTEAD.get(name, ())} & record.keys():
            raise DataError(tables.no_column(name, row), file=source.path)
    full: dict[str, Any] = {
        name: value for name, value in record.items() if value is not None or name in tables.EMPTY_CELLS
    }
    if "data" not in source.options:  # in a file another field is a slip
        return full
    others = {name: full.pop(name) for name in [*full] if name not in shape["properties"]}
    return {**full, "meta": {**others, **full.get("meta", {})}} if others else full


def _renamed(row: Mapping[str, object], renamed: Mapping[str, str], source: Source, number: int) -> dict[str, Any]:
    """A row under the names of a mapping; predictions, which may have other names than gold, keep what it lacks."""
    predicted = source.side == "pred"
    stay = (key for key in row if key not in renamed.values()) if predicted else ABOUT
    record: dict[str, Any] = {key: row[key] for key in stay if key in row and key not in renamed}
    for name, path in renamed.items():
        try:
            record[name] = field_at(row, path)
        except FieldError as error:
            if not predicted:
                message = f"{error}; the mapping asks for it as {name!r}"
                raise DataError(message, file=source.path, record=number) from None
            record |= {name: row[name]} if name in row else {}
    return record


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as a record with its fields: dotted columns are nested, empty cells are absent.

    The record is the column ``record``, the columns that begin with ``record.``, or all that do not describe it.

    >>> nested({"id": "1", "no": 7, "lines.0.what": "tea", "lines.0.qty": 2, "lines.1.what": "jam", "lines.1.qty": ""})
    {'id': '1', 'record': {'no': 7, 'lines': [{'what': 'tea', 'qty': 2}, {'what': 'jam'}]}}
    """
    prefix = "record." if any(str(name).startswith("record.") for name in row) else ""
    own = [name for name in row if (name.startswith(prefix) if prefix else name not in BESIDE)]
    if "record" in row or not own:
        return dict(row)
    tree: dict[str, Any] = {}
    for name in own:
        if row[name] not in (None, ""):
            *above, last = INDEX.sub(r".\1", name.removeprefix(prefix)).split(".")
            node = tree
            for step in above:
                node = node.setdefault(step, {})
                if not isinstance(node, dict):
                    raise DataError(f"the column {name!r} is inside of one that has a value", field=name)
            node[last] = row[name]
    return {name: value for name, value in row.items() if name not in own} | {"record": _lists(tree)}


def _lists(value: Any) -> Any:
    """Objects whose keys are numbers as lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(part) for key, part in value.items()}
    listed = bool(inner) and all(key.isdigit() for key in inner)
    return [inner[key] for key in sorted(inner, key=int)] if listed else inner


def rows(place: str | Path, format: str | None = None, *, by_cell: bool = False) -> Iterator[Mapping[str, Any]]:
    """The rows of a file or data set, as they are; the type of a column, or each cell, of a table is read from it."""
    if is_dataset(place):
        yield from _dataset(str(place))
        return
    file = Path(place)
    kind = format or file.suffix.lower().lstrip(".") or "jsonl"
    if kind in ("jsonl", "ndjson"):
        for number, value in files.json_lines(file):
            yield _object(value, file, number)
    elif kind == "json":
        content = files.json_value(file)
        several = objects(content) if entries.is_flat(content) else content if isinstance(content, list) else [content]
        for number, value in enumerate(several, start=1):
            yield _object(value, file, number)
    elif kind in ("csv", "tsv"):
        header, lines = tables.table(file, quoted=True)
        columns = [_typed(name, [cells[at] for _, cells in lines], by_cell) for at, name in enumerate(header)]
        yield from (dict(zip(header, cells, strict=True)) for cells in zip(*columns, strict=True))
    elif kind == "parquet":
        yield from _parquet(file)
    else:
        raise DataError(f"records are read from jsonl, json, csv, tsv and parquet, not from {kind!r}", file=file)


def _object(value: Any, file: Path, number: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"a record is an object with fields, not {type(value).__name__}", file=file, line=number)
    return value


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
        raise DataError(f"no Parquet that can be read ({_first_line(error)})", file=file) from None


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
        raise DataError(f"no data set that can be read ({_first_line(error)})", file=name) from None
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


def _plain(value: Any, name: str, place: str | Path) -> Any:
    """A value that JSON can hold; raises for an image, bytes and the like."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, name, place) for key, inner in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):  # an array, or a number of numpy
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(inner, name, place) for inner in value]
    message = (
        f"{name} holds {type(value).__name__}, which no record can hold; name the fields you want (`map=NAME=PATH`)"
    )
    raise DataError(message, file=place)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _typed(name: str, cells: Sequence[str], by_cell: bool = False) -> list[Any]:
    """A column as whole numbers, numbers or truth values if all of it reads so; an empty cell is None then."""
    if by_cell:
        return [value for cell in cells for value in _typed(name, [cell])]
    full = [cell.strip() for cell in cells if cell.strip()]
    if name in ABOUT or not full:
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


def fields(records: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """The fields of records with their types, as a DSPy signature writes them.

    Few texts that repeat are a Literal, unless they are copied from another field, as a name in a letter is.

    >>> fields([{"id": "1", "text": "a b", "year": 1784}, {"id": "2", "text": "c d", "year": 1913}])
    {'text': 'str', 'year': 'int'}
    """
    several = list(records)
    columns: dict[str, list[Any]] = {}
    for record in several:
        for name, value in record.items():
            if name not in ABOUT:
                columns.setdefault(name, []).append(value)
    types = {name: _type([value for value in values if value is not None]) for name, values in columns.items()}
    closed = [name for name, kind in types.items() if kind.startswith("Literal")]
    return types | {name: "str" for name in closed if _is_copied(name, several)}


def _is_copied(name: str, records: Sequence[Mapping[str, object]]) -> bool:
    """Whether the text of a field stands as a word in another field of most records."""
    several = [record for record in records if record.get(name)]
    copies = 0
    for record in several:
        texts = "\n".join(str(value) for key, value in record.items() if key not in (*ABOUT, name))
        copies += re.search(rf"(?<!\w){re.escape(str(record[name]))}(?!\w)", texts) is not None
    return 2 * copies > len(several)


def _type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        distinct = sorted(set(values))
        few = len(distinct) <= 12 and len(values) >= 3 * len(distinct) and all(len(text) <= 40 for text in distinct)
        return f"Literal[{', '.join(map(repr, distinct))}]" if few else "str"
    if kinds == {list}:
        inner = {type(item) for value in values for item in value}
        return f"list[{inner.pop().__name__}]" if len(inner) == 1 and inner <= {str, int, float, bool} else "list"
    if kinds <= {int, float} and kinds:
        return "float" if float in kinds else "int"
    return kinds.pop().__name__ if len(kinds) == 1 else "Any"


def counted(records: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """How many records have each field, and how often each value occurs if there are few."""
    counts: dict[str, object] = {}
    for name in fields(records):
        values = [record[name] for record in records if record.get(name) is not None]
        occurring = Counter(str(value) for value in values if isinstance(value, (str, int, float, bool)))
        few = occurring.total() == len(values) and 0 < len(occurring) <= FEW and len(occurring) < len(values)
        counts[name] = dict(occurring.most_common()) if few else len(values)
    return counts

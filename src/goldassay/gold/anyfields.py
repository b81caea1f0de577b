"""Records with any fields: gold for a task of one's own, and foreign files read as they are.

A record is whatever an object of JSON Lines or JSON, a line of csv or tsv, a row of Parquet or of a Hugging Face data
set (``hf:NAME`` or ``hf:NAME:SPLIT``, extra ``datasets``) holds. ``id`` is the record's number where there is none;
``split`` is kept. In a table a column of whole numbers, numbers or true/false is read as such.

A mapping (``text=body.content,label=category``, or a JSON file of the same) names the fields anew: at the left the name
that the task has, at the right where it stands in the row, as a dotted path. With a mapping the six tasks read foreign
files, too; their records are checked as always.

Of a data set a class label becomes its name, a date its ISO form, ``validation`` is dev; a folder that ``save_to_disk``
wrote is one too. Nothing of it is executed.

>>> import tempfile
>>> from pathlib import Path
>>> file = Path(tempfile.mkdtemp()) / "years.csv"
>>> _ = file.write_text("note,year\\nOpened in 1784,1784\\n")
>>> read(file, "decades", mapping("text=note,year=year"))
[{'id': '1', 'text': 'Opened in 1784', 'year': 1784}]
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from os.path import isfile  # a name that no file can have is none, not an error
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, FieldError, GoldassayError, MissingExtra
from goldassay.fields import read as field_at
from goldassay.gold.records import SPANS, check, prove
from goldassay.measure import TASKS

HF = "hf:"
MARKS = ("state.json", "dataset_dict.json")  # what a folder of `save_to_disk` holds
SIDES = {"validation": "dev"}


def is_dataset(place: str | Path) -> bool:
    """Whether this names a data set: ``hf:…``, or a folder of one."""
    return str(place).startswith(HF) or any(isfile(Path(place) / mark) for mark in MARKS)


def columnar(place: str | Path, format: str | None = None) -> bool:
    """Whether this is read here: a data set, or a Parquet file."""
    return is_dataset(place) or (format or Path(place).suffix.lower().lstrip(".")) == "parquet"


def parquet(file: Path) -> Iterator[dict[str, object]]:
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
        raise DataError(f"no Parquet that can be read ({_first(error)})", file=file) from None


def dataset(name: str) -> Iterator[dict[str, object]]:
    """The rows of a data set; those of one with several splits say theirs."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets") from None
    try:
        if name.startswith(HF):
            whole, _, split = name.removeprefix(HF).partition(":")
            found = datasets.load_dataset(whole, split=split or None)
        else:
            found = datasets.load_from_disk(name)
    except Exception as error:  # noqa: BLE001 - the library raises what its many back ends raise
        raise DataError(f"no data set that can be read ({_first(error)})", file=name) from None
    for side, part in found.items() if isinstance(found, dict) else [(None, found)]:
        names = {column: kind for column, kind in part.features.items() if isinstance(kind, datasets.ClassLabel)}
        for raw in part:
            row = dict(raw)
            for column, kind in names.items():
                if isinstance(row[column], int) and row[column] >= 0:
                    row[column] = kind.int2str(row[column])
            yield {**row, "split": SIDES.get(str(side), str(side))} if side and "split" not in row else row


def plain(row: Mapping[str, object], place: str | Path) -> dict[str, object]:
    """A row with values that JSON can hold; raises `DataError` where a field is an image, bytes or the like."""
    return {str(name): _plain(value, str(name), place) for name, value in row.items()}


def _plain(value: Any, name: str, place: str | Path) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one, name, place) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, name, place) for one in value]
    said = f"{name} holds {type(value).__name__}, which no record can hold; name the fields you want with --map"
    raise DataError(said, file=place)


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


ABOUT = ("id", "split", "language", "document", "strata", "meta")  # what is about a record, and no field of a task
DEEP = 100  # lists and objects inside each other: what walks through a record needs some calls for each
FEW = 30  # values of a field that are counted one by one


def mapping(said: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """A mapping of fields as it is written: ``name=path,…``, or a JSON file of an object.

    >>> mapping("text=body.content, label=category")
    {'text': 'body.content', 'label': 'category'}
    """
    if said is None or isinstance(said, Mapping):
        return dict(said) if said else None
    if said.endswith(".json"):
        found = files.json_value(Path(said))
        if not isinstance(found, dict) or not all(isinstance(path, str) for path in found.values()):
            raise DataError('a mapping is an object such as {"text": "body.content"}', file=said)
        return dict(found)
    pairs = [part.partition("=") for part in said.split(",")]
    if wrong := next(("".join(one) for one in pairs if not one[0].strip() or not one[2].strip()), None):
        raise GoldassayError(f"a mapping reads like text=body.content,label=category, not {wrong!r}")
    return {name.strip(): path.strip() for name, _, path in pairs}


def read(
    place: str | Path, task: str, renamed: Mapping[str, str] | None = None, format: str | None = None
) -> list[dict[str, Any]]:
    """The records of a file, renamed; those of the six tasks are checked, and their spans proved."""
    found = []
    typed = columnar(place, format)
    for number, row in enumerate(rows(place, format), start=1):
        record = _renamed(row, renamed, place, number) if renamed else dict(row)
        if typed:
            record = plain(record, place)
        record = {"id": str(record.pop("id", "") or number), **record}
        if record.get("split") is not None:
            record["split"] = str(record["split"])
        if task in TASKS:
            try:
                record = check(record, task)
                if task in SPANS and "text" in record:
                    prove(record["text"], record[SPANS[task]], SPANS[task], record["id"])
            except DataError as error:
                raise error.at(file=place, line=number) from None
        found.append(record)
    if not found:
        raise DataError("there are no records", file=place)
    return found


def _renamed(row: Mapping[str, object], renamed: Mapping[str, str], place: object, number: int) -> dict[str, Any]:
    out: dict[str, Any] = {key: row[key] for key in ABOUT if key in row and key not in renamed}
    for name, path in renamed.items():
        try:
            out[name] = field_at(row, path)
        except FieldError as error:
            raise DataError(f"{error}; the mapping asks for it as {name!r}", file=place, record=number) from None
    return out


def rows(place: str | Path, format: str | None = None) -> Iterator[Mapping[str, Any]]:
    """The rows of a file or data set, as they are."""
    if is_dataset(place):
        yield from dataset(str(place))
        return
    file = Path(place)
    if file.is_dir():
        raise DataError("a folder; name a file of it", file=file)
    kind = format or file.suffix.lower().lstrip(".") or "jsonl"  # a pipe has no ending
    if kind in ("jsonl", "ndjson"):
        for number, line in enumerate(files.lines(file), start=1):
            if line.strip():
                yield _object(_parsed(line, file, number), file, number)
    elif kind == "json":
        found = files.json_value(file)
        for number, one in enumerate(found if isinstance(found, list) else [found], start=1):
            yield _object(one, file, number)
    elif kind in ("csv", "tsv"):
        yield from _table(file, "," if kind == "csv" else "\t")
    elif kind == "parquet":
        yield from parquet(file)
    else:
        raise DataError(f"records are read from jsonl, json, csv, tsv and parquet, not from {kind!r}", file=file)


def _parsed(line: str, file: Path, number: int) -> Any:
    try:
        return jsonl.value(line.encode())
    except DataError as error:
        raise error.at(file=file, line=number) from None


def _object(found: Any, file: Path, number: int) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise DataError(f"a record is an object with fields, not {type(found).__name__}", file=file, line=number)
    inside: list[Any] = [found]
    for _ in range(DEEP):
        nested = [one for outer in inside for one in (outer.values() if isinstance(outer, dict) else outer)]
        inside = [one for one in nested if isinstance(one, (dict, list))]
    if inside:
        raise DataError(f"lists and objects inside each other more than {DEEP} times", file=file, line=number)
    return found


def _table(file: Path, delimiter: str) -> list[dict[str, Any]]:
    reader = csv.reader(io.StringIO("\n".join(files.lines(file))), delimiter=delimiter)
    try:
        header, *lines = list(reader) or [[]]
    except csv.Error as error:
        raise DataError(f"not a table: {error}", file=file, line=reader.line_num) from None
    if not header or len(set(header)) < len(header):
        raise DataError("a table begins with a header of names that differ", file=file, line=1)
    for number, line in enumerate(lines, start=2):
        if line and len(line) != len(header):
            said = f"{len(line)} columns where the header has {len(header)} ({', '.join(header)})"
            raise DataError(said, file=file, line=number)
    columns = {name: _typed(name, [line[at] for line in lines if line]) for at, name in enumerate(header)}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _typed(name: str, cells: Sequence[str]) -> list[Any]:
    """A column as whole numbers, numbers or truth values where all of it reads so; an empty cell is None then."""
    full = [cell.strip() for cell in cells if cell.strip()]
    if name in ABOUT or not full:
        return list(cells)
    if all(cell.lower() in ("true", "false") for cell in full):
        return [cell.strip().lower() == "true" if cell.strip() else None for cell in cells]
    for kind in (int, float):
        try:
            made = [kind(cell) if cell.strip() else None for cell in cells]
        except ValueError:
            continue
        if not all(one is None or isfinite(one) for one in made):  # nan is a word, not a number
            return list(cells)
        if not any(len(cell) > 1 and cell[0] == "0" and cell[1].isdigit() for cell in full):  # 007 is a name
            return made
    return list(cells)


def fields(records: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """The fields of records and their types as a signature of DSPy writes them; few words that repeat are a Literal.

    >>> fields([{"id": "1", "text": "a b", "year": 1784}, {"id": "2", "text": "c d", "year": 1913}])
    {'text': 'str', 'year': 'int'}
    """
    columns: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.items():
            if name not in ABOUT:
                columns.setdefault(name, []).append(value)
    return {name: _type([value for value in values if value is not None]) for name, values in columns.items()}


def _type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        known = sorted(set(values))
        few = len(known) <= 12 and len(values) >= 3 * len(known) and all(len(word) <= 40 for word in known)
        return f"Literal[{', '.join(map(repr, known))}]" if few else "str"
    if kinds == {list}:
        inner = {type(one) for value in values for one in value}
        return f"list[{inner.pop().__name__}]" if len(inner) == 1 and inner <= {str, int, float, bool} else "list"
    if kinds <= {int, float} and kinds:
        return "float" if float in kinds else "int"
    return kinds.pop().__name__ if len(kinds) == 1 else "Any"


def counted(records: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """How many records have each field, and how often each value of it occurs where they are few."""
    found: dict[str, Any] = {}
    for name in fields(records):
        values = [record[name] for record in records if record.get(name) is not None]
        plain = [str(value) for value in values if isinstance(value, (str, int, float, bool))]
        seen = Counter(plain)
        few = len(plain) == len(values) and 0 < len(seen) <= FEW and len(seen) < len(values)
        found[name] = dict(seen.most_common()) if few else len(values)
    return found

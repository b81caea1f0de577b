"""Records with any fields: how fields are renamed, where records in Python come from, and what types fields have.

A mapping (``text=body.content,label=category``, or a JSON file of the same) renames fields: on the left the name that
the task has, on the right where the row has it, as a dotted path. It also reads foreign files for a built-in task.
`goldassay.gold.formats.tables` reads the rows.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import isnan
from numbers import Number
from pathlib import Path
from types import NoneType
from typing import Any

from goldassay._support import files
from goldassay._support.exceptions import DataError, FieldError, GoldassayError
from goldassay.core.fields import Fields, JsonObject, Record, names
from goldassay.core.fields import read as field_at
from goldassay.core.measure import TASKS
from goldassay.gold.formats import SPLIT_NAMES, is_by_split
from goldassay.gold.shapes import SHAPES
from goldassay.text import spans as tagging

DRAFTED = ("sampling", "suggestions", "preferred")
"""The fields that a draft adds: how a record was chosen, what systems answered, and whose answers people chose."""
ABOUT_RECORD = ("id", "split", "language", "document", "strata", "meta", *DRAFTED)
"""Fields about a record, which are not fields of a task."""
NO_FIELDS: Record = {}
REFERENCES = ("reference_outputs", "reference", "expectations", "expected")
"""Where traces have what their outputs are compared with."""


def mapping(text: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """A mapping of fields as it is written: ``name=path,…``, or a JSON file of an object.

    Raises:
        DataError: The file does not hold an object of paths.
        GoldassayError: A part is not ``name=path``.

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
    parts = [item.partition("=") for item in text.split(",")]
    for name, equals, path in parts:
        if not name.strip() or not path.strip():
            raise GoldassayError(f"a mapping reads like text=body.content,label=category, not {name + equals + path!r}")
    return {name.strip(): path.strip() for name, _, path in parts}


def flat(row: Record, paths: Mapping[str, str] | None, *, predicted: bool, empty: Record = NO_FIELDS) -> Record:
    """A trace, ``{"inputs": {…}, "outputs": {…}}``, with the fields of both in one row; any other row as it is.

    Of a name that both have, a prediction has that of the outputs. Without outputs, as where a program failed, it is
    the ``empty`` one. Gold has the reference (`REFERENCES`) in place of the outputs, where there is one.

    >>> flat({"id": 1, "inputs": {"text": "Ur"}, "outputs": {"label": "M"}}, None, predicted=True)
    {'id': 1, 'text': 'Ur', 'label': 'M'}
    """
    if not isinstance(row.get("inputs"), Mapping) or "outputs" not in row:
        return row
    reference = next((name for name in REFERENCES if isinstance(row.get(name), Mapping)), "outputs")
    answer = "outputs" if predicted else reference
    mapped = {path.partition(".")[0] for path in (paths or {}).values()}
    merged = {key: row[key] for key in row if key not in ("inputs", "outputs", reference) or key in mapped}
    for name in ("inputs", answer) if predicted else (answer, "inputs"):
        merged |= row[name] if isinstance(row[name], Mapping) else {}
    return merged if row["outputs"] or not predicted else {**merged, **empty}


def of_tokens(row: Record) -> Record:
    """A row of tokens and their tags, as data sets of Hugging Face have them, as a text with its entities.

    A space is between the tokens. Any other row is left as it is.

    Raises:
        DataError: Tags are numbers, or there is not one for each token.

    >>> of_tokens({"id": 1, "tokens": ["In", "Ur"], "ner_tags": ["O", "B-TOP"]})
    {'id': 1, 'text': 'In Ur', 'entities': [(3, 5, 'TOP')]}
    """
    name = next((name for name in ("ner_tags", "tags") if name in row), "")
    listed = {key: [*value] for key, value in row.items() if key in ("tokens", name) and isinstance(value, Iterable)}
    tokens = listed.get("tokens", [])
    tags = listed.get(name, [])
    if "entities" in row or not (tokens and tags) or not all(isinstance(token, str) for token in tokens):
        return row
    if len(tokens) != len(tags):
        raise DataError(f"{len(tags)} tags for {len(tokens)} tokens", field=name)
    if any(isinstance(tag, Number) for tag in tags):
        raise DataError("tags are names such as B-LOC, not numbers; `hf:NAME` reads their names", field=name)
    ends = [*accumulate(len(token) + 1 for token in tokens)]
    starts = [0, *ends]
    marked = tagging.spans(tags, tagging.named(None, {*tags}))
    entities = [(starts[first], ends[last - 1] - 1, kind) for first, last, kind in marked]
    rest = {key: row[key] for key in row if key not in ("tokens", name)}
    return {**rest, "text": " ".join(tokens), "entities": entities}


def renamed(
    row: Mapping[str, object],
    paths: Mapping[str, str],
    *,
    predicted: bool,
    task: str = "",
    used: set[str] | None = None,
) -> JsonObject:
    """A row under the names of a mapping, which may be other names in predictions than in gold; other columns stay.

    Args:
        row: The row.
        paths: The mapping.
        predicted: Whether it is a prediction, which may lack fields; gold may if it has the field under its own name.
        task: The task; gold of a built-in one may lack what it has no field for.
        used: Gets the paths that the row has.

    Raises:
        DataError: A row of gold lacks a field that the mapping names.
    """
    optional = {*row} | ({*paths} - {*SHAPES["gold"][task].__annotations__} if task in TASKS else set())
    moved = {*paths, *paths.values(), *(path.partition(".")[0] for path in paths.values())}
    record = {key: row[key] for key in row if key not in moved}
    for name, path in paths.items():
        try:
            record[name] = field_at(row, path)
            if used is not None:
                used.add(path)
        except FieldError as error:
            if not predicted and name not in optional:
                raise DataError(f"{error}; the mapping asks for it as {name!r}") from None
            record |= {name: row[name]} if name in row else {}
    return record


def objects(data: Any, field: str = "") -> Iterator[Mapping[str, object]]:
    """The records of a JSON value or of Python objects: a list, lists by split, records by id, or a data frame.

    A record is a dict, a pydantic model, a ``dspy.Example`` or any object with attributes. Of a data frame, which is
    whatever has ``to_dicts`` (polars) or ``to_dict("records")`` (pandas), empty cells are None. Of a data set of
    Hugging Face, classes are their names.

    Args:
        data: The value.
        field: The field of which a list (or array, or column) of bare values holds one a record.

    Raises:
        DataError: A mapping has keys that are not splits, and values that are not records.
        GoldassayError: The value is not a list, a mapping or a data frame.

    >>> list(objects({"train": [{"id": "a"}], "validation": [{"id": "b"}]}))
    [{'split': 'train', 'id': 'a'}, {'split': 'dev', 'id': 'b'}]
    >>> list(objects({"a": "museum", "b": {"label": "archive"}}, "label"))
    [{'id': 'a', 'label': 'museum'}, {'id': 'b', 'label': 'archive'}]
    """
    if hasattr(data, "columns") and hasattr(data, "to_dict"):
        records = data.to_dicts() if hasattr(data, "to_dicts") else data.to_dict("records")
        yield from ({key: None if _is_empty(value) else value for key, value in row.items()} for row in records)
    elif isinstance(getattr(data, "features", None), Mapping):
        yield from dataset_rows(data)
    elif isinstance(data, Mapping):
        if is_by_split(data):
            for name, rows in data.items():
                yield from ({"split": SPLIT_NAMES[name], **row} for row in objects(rows, field))
            return
        answers = (str, Number, NoneType) if field in ("label", "record") else (str, Number, NoneType, list, tuple)
        for name, value in data.items():
            if not (isinstance(value, Mapping) or (field and isinstance(value, answers))):
                listed = ", ".join(map(str, [*data][:5]))
                raise DataError(
                    f"lists by split are named {', '.join(SPLIT_NAMES)}, and records by id are dicts: {listed}"
                )
            record: Mapping[str, object] = {field: value}
            if isinstance(value, Mapping) and (field != "record" or field in value):
                record = value
            yield {"id": str(name), **record}
    elif hasattr(data, "to_pylist"):  # a table of Arrow
        yield from objects(data.to_pylist(), field)
    elif not isinstance(data, Iterable):
        raise GoldassayError(f"records are a file, a list, lists by split or a data frame, not {data!r:.100}")
    else:
        values = list(data)
        if field and values and all(isinstance(value, str | Number | list | tuple | NoneType) for value in values):
            values = [{field: value} for value in values]
        for row in values:
            yield row if isinstance(row, Mapping) else {name: field_at(row, name) for name in names(row)} or row


def dataset_rows(table: Any) -> Iterator[dict[str, object]]:
    """The rows of a data set of the library ``datasets``, with the names of classes in place of their numbers."""
    kinds = {name: getattr(kind, "feature", kind) for name, kind in table.features.items()}  # of a list, its items'
    classes = {name: kind for name, kind in kinds.items() if hasattr(kind, "int2str")}
    for raw in table:
        row = dict(raw)
        for column, kind in classes.items():
            if isinstance(row[column], list) or (isinstance(row[column], int) and row[column] >= 0):
                row[column] = kind.int2str(row[column])
        yield row


def _is_empty(value: object) -> bool:
    """Whether a cell of a data frame is empty: None, NaN, pandas' NA or NaT."""
    return value is None or (isinstance(value, float) and isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def nested(row: Mapping[str, object]) -> JsonObject:
    """A row of a table as a record with its fields: dotted columns are nested, empty cells are absent.

    The record is the column ``record``, the columns that begin with ``record.``, or all that do not describe it.

    Raises:
        DataError: A column is inside of one that has a value.

    >>> nested({"id": "1", "no": 7, "lines.0.what": "tea", "lines.0.qty": 2, "lines.1.what": "jam", "lines.1.qty": ""})
    {'id': '1', 'record': {'no': 7, 'lines': [{'what': 'tea', 'qty': 2}, {'what': 'jam'}]}}
    """
    # columns of a table of records that are not fields of the record
    columns_beside = (*ABOUT_RECORD, "text", "latency_ms", "error")
    prefix = "record." if any(str(name).startswith("record.") for name in row) else ""
    columns = [name for name in row if (name.startswith(prefix) if prefix else name not in columns_beside)]
    if "record" in row or not columns:
        return dict(row)
    tree: Fields = {}
    for name in columns:
        if row[name] not in (None, ""):
            *above, last = re.sub(r"\[(\d+)\]", r".\1", name.removeprefix(prefix)).split(".")
            node = tree
            for step in above:
                node = node.setdefault(step, {})
                if not isinstance(node, dict):
                    raise DataError(f"the column {name!r} is inside of one that has a value", field=name)
            node[last] = row[name]
    return {name: value for name, value in row.items() if name not in columns} | {"record": _lists(tree)}


def _lists(value: object) -> object:
    """Objects whose keys are numbers as lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(item) for key, item in value.items()}
    listed = bool(inner) and all(key.isdigit() for key in inner)
    return [inner[key] for key in sorted(inner, key=int)] if listed else inner


def fields(records: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """The fields of records with their types, as a DSPy signature writes them.

    Few texts that repeat are a Literal, unless those of most records are words of another field, as a name in a letter
    is.

    >>> fields([{"id": "1", "text": "a b", "year": 1784}, {"id": "2", "text": "c d", "year": 1913}])
    {'text': 'str', 'year': 'int'}
    """
    listed = list(records)
    columns: dict[str, list[object]] = {}
    for record in listed:
        for name, value in record.items():
            if name not in ABOUT_RECORD:
                columns.setdefault(name, []).append(value)
    types = {name: _type([value for value in values if value is not None]) for name, values in columns.items()}
    for name in [name for name, kind in types.items() if kind.startswith("Literal")]:
        filled = [record for record in listed if record.get(name)]
        copies = 0
        for record in filled:
            texts = "\n".join(str(value) for key, value in record.items() if key not in (*ABOUT_RECORD, name))
            copies += re.search(rf"(?<!\w){re.escape(str(record[name]))}(?!\w)", texts) is not None
        if 2 * copies > len(filled):
            types[name] = "str"
    return types


def texts(records: Iterable[Mapping[str, object]]) -> list[str]:
    """The fields that are texts, not labels: the likely inputs of a task of which nothing else is known.

    >>> texts([{"id": str(n), "body": "abcdef"[n] * 9, "team": "AB"[n % 2]} for n in range(6)])
    ['body']
    """
    return [name for name, kind in fields(records).items() if kind in ("str", "dspy.Image", "dspy.History")]


def _type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {str} and all(value.startswith("data:image/") for value in values):
        return "dspy.Image"
    if kinds == {dict} and all(value.keys() == {"messages"} for value in values):
        return "dspy.History"
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

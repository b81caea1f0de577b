"""Reading the fields of gold examples and predictions, whatever they are.

A record may be a dict, a ``dspy.Example`` or ``Prediction``, a pydantic model or any object with attributes.
``columns`` maps a measure's name of a field to the program's: a name, a dotted path or a callable that gets the record.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from enum import Enum
from numbers import Real
from pathlib import Path
from typing import Any

from goldassay._support.exceptions import DataError, FieldError
from goldassay._support.jsonl import jsonable

Record = Mapping[str, Any]
"""The fields of an example, a row or a head of a file, by name."""
Fields = dict[str, Any]
"""The same, where they may be changed."""
JsonObject = dict[str, object]
"""An object that is written as JSON, and read as that."""
Column = str | Callable[[Any], Any]
Columns = Mapping[str, Column]
ABSENT = object()


def read(record: object, path: str, default: object = ABSENT) -> Any:
    """The value at a dotted path; a number is the place in a list, -1 the last.

    Raises:
        FieldError: It is not there, and there is no default.

    >>> read({"rag": {"contexts": ["a"]}}, "rag.contexts")
    ['a']
    >>> read({"messages": [{"content": "When?"}, {"content": "1885"}]}, "messages.-1.content")
    '1885'
    >>> read({"text": "x"}, "entities")
    Traceback (most recent call last):
    goldassay._support.exceptions.FieldError: no field 'entities'; it has text
    """
    value = record.get(path, ABSENT) if type(record) is dict else _step(record, path)
    if value is not ABSENT:
        return value
    if default is not ABSENT and "." not in path:
        return default
    value = record
    for key in path.split("."):
        inner = _step(value, key)
        if inner is ABSENT:
            if default is not ABSENT:
                return default
            inside = f" of {path!r}" if key != path else ""
            raise FieldError(f"no field {key!r}{inside}; it has {', '.join(names(value)) or 'none'}")
        value = inner
    return value


def _step(record: Any, key: str) -> object:
    if is_example(record) or isinstance(record, Mapping):
        return record.get(key, ABSENT)
    if isinstance(record, (list, tuple)) and key.removeprefix("-").isdigit():
        return record[int(key)] if -len(record) <= int(key) < len(record) else ABSENT
    if key.startswith("_") or record is None or isinstance(record, (str, bytes, int, float, list, tuple)):
        return ABSENT
    value = getattr(record, key, ABSENT)
    return ABSENT if callable(value) else value


def without_enums(value: object) -> Any:
    """The value of a member of an ``Enum``, also in a list; anything else as it is.

    >>> from enum import Enum
    >>> Team = Enum("Team", {"BILLING": "billing"}, type=str)
    >>> without_enums(Team.BILLING), without_enums([Team.BILLING]), without_enums(3)
    ('billing', ['billing'], 3)
    """
    if isinstance(value, list) and value and isinstance(value[0], Enum):
        return [without_enums(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def as_text(value: object) -> Any:
    """A number, a truth value or a date as a text, the way files and rows of runs have it; anything else as it is.

    >>> as_text(3), as_text(3.0), as_text(True), as_text(["3"])
    ('3', '3', 'True', ['3'])
    """
    if isinstance(value, str):  # most are, and the checks below take a microsecond
        return value
    if isinstance(value, (Decimal, date, time)) or hasattr(value, "tolist"):
        value = jsonable(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, Real) and value == value else value


def form(text: str) -> str:
    """A text's letters and digits, without case, or its number; yes is true, and none is empty.

    >>> form("E-Mail.") == form("email"), form("-1") == form("1"), form("5,00") == form("5"), form("None") == form("")
    (True, False, True, True)
    """
    letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
    if any(map(str.isalpha, letters)):
        return {"yes": "true", "no": "false", "none": ""}.get(letters, letters)
    with suppress(ValueError):
        return str(float(text.replace(",", ".")))
    return text


def is_example(record: object) -> bool:
    """Whether a record is a ``dspy.Example`` or ``dspy.Prediction``, without importing DSPy."""
    return type(record) is not dict and hasattr(type(record), "toDict") and hasattr(type(record), "with_inputs")


def names(record: Any) -> list[str]:
    """The names of the fields that a record has."""
    fields = record.keys() if isinstance(record, Mapping) or is_example(record) else ()
    if not fields and not is_example(record):
        fields = getattr(record, "__dataclass_fields__", None) or getattr(record, "__dict__", ())
    fields = [*fields, *getattr(type(record), "model_computed_fields", ())]  # of pydantic
    return [str(key) for key in fields if not str(key).startswith(("_", "dspy_"))]


def message_path(record: object, unknown: str) -> str:
    """The path to the answer in the messages that a record has in place of it; `unknown` if it has none.

    >>> message_path({"id": 1, "messages": [{"role": "assistant", "content": "1885"}]}, "COLUMN")
    'messages.-1.content'
    """
    paths = {"messages": "messages.-1.content", "choices": "choices.0.message.content"}
    return next((path for name, path in paths.items() if name in names(record)), unknown)


def identity(record: object, index: object) -> str:
    """The id of an example or a row, whatever it is; its place (or another name) if it has none.

    >>> identity({"id": 0}, 7), identity({}, 7)
    ('0', '7')
    """
    return _name(record, "id") or str(index)


def check_unique(records: Iterable[object], file: Path | str | None = None) -> None:
    """Raise if two records have one id; the numbers 1 and the text "1" are one."""
    seen = set()
    for index, record in enumerate(records):
        name = identity(record, index)
        if name in seen:
            raise DataError("duplicate document id; each record needs its own", file=file, record=name)
        seen.add(name)


def cluster(record: object, index: int) -> object:
    """The unit in which an example or a row is resampled, compared and split: the document that it names, else itself.

    That is its ``document`` (also under ``meta``), or the only one of its ``documents``.

    >>> cluster({"document": 0}, 7), cluster({"documents": ["d1"]}, 7), cluster({"id": "a"}, 7)
    ('0', 'd1', 7)
    """
    name = _name(record, "document") or _name(record, "meta.document")
    if not name and not isinstance(record, (list, tuple)):
        documents = read(record, "documents", None)
        name = str(documents[0]) if isinstance(documents, (list, tuple)) and len(documents) == 1 else ""
        name = "" if len(name) > 200 else name  # what is longer is a text, not the name of a document
    return name or index


def _name(record: object, path: str) -> str:
    """A name that is any string or number, 0 included; nothing without one (None, empty text, a table's NaN)."""
    name = None if isinstance(record, (list, tuple)) else read(record, path, None)
    return "" if name is None or name != name else str(name)


def clusters(records: Iterable[object]) -> list[object] | None:
    """The cluster of each example or row; None if no two share one."""
    names = [cluster(record, index) for index, record in enumerate(records)]
    return names if len(set(names)) < len(names) else None


def shuffled_documents(examples: Sequence[object], seed: int) -> list[list[int]]:
    """The documents in the seed's order, each as the places of its examples: the first ones stand for all.

    Parts of one document resemble each other, so they stay together in folds, in the order of measuring, in resamples.
    """
    documents: dict[Hashable, list[int]] = {}
    for index, example in enumerate(examples):
        documents.setdefault(cluster(example, index), []).append(index)
    return random.Random(seed).sample(list(documents.values()), len(documents))


def assign_folds(examples: Sequence[object], folds: int, seed: int) -> list[int]:
    """The fold of each example: documents whole, in a random order, as even as they allow.

    >>> sorted(assign_folds([{"id": i} for i in range(7)], 3, seed=0))
    [0, 0, 0, 1, 1, 2, 2]
    """
    fold_of = [0] * len(examples)
    sizes = [0] * folds
    for indices in shuffled_documents(examples, seed + 1):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(indices)
        for index in indices:
            fold_of[index] = fold
    return fold_of


def unit(size: int, clusters: Iterable[object] | None) -> str:
    """The unit of intervals and tests: ``size`` examples, or the documents that they belong to.

    >>> unit(3, None), unit(3, ["a", "b", "a"])
    ('3 examples', '2 documents')
    """
    number, name = (size, "example") if clusters is None else (len(set(clusters)), "document")
    return f"{number} {name}{'' if number == 1 else 's'}"


def shared_text(records: Iterable[object], outputs: Collection[str] = ()) -> str:
    """A warning if many examples have the same ``text`` or ``context`` and none names a document; else nothing.

    Args:
        records: The examples.
        outputs: The fields that the program answers with, of which nothing follows.

    >>> shared_text([{"text": "Ada"}] * 4 + [{"text": "Bo"}])
    "4 of 5 examples share a text with others and count as independent; name it as their 'document'"
    """
    content = ("text", "context")  # fields that two independent examples do not share, however short they are
    texts = []
    for index, record in enumerate(records):
        if cluster(record, index) != index:
            return ""
        values = [read(record, name, None) for name in content if name not in outputs]
        texts.append({text for text in values if isinstance(text, str) and text})
    times = Counter(text for contents in texts for text in contents)
    shared = sum(any(times[text] > 1 for text in contents) for contents in texts)
    if shared < max(4, len(texts) / 10):
        return ""
    what = "share a text with others and count as independent; name it as their 'document'"
    return f"{shared} of {len(texts)} examples {what}"


class Renamed(Mapping[str, object]):
    """A record seen through ``columns``: the measure's names for the program's fields.

    >>> Renamed({"rag": {"ctx": ["a"]}, "id": 7}, {"retrieved_contexts": "rag.ctx"})["retrieved_contexts"]
    ['a']
    """

    def __init__(self, record: object, columns: Columns, absent: Columns | None = None) -> None:
        self.record = record
        self.columns = columns
        self.absent = absent or {}  # columns of which it has neither name

    def __getitem__(self, key: str) -> object:
        column = self.columns.get(key)
        if column is None:
            value = read(self.record, key, None)
            if value is None and key not in names(self.record):
                raise KeyError(key)
            return value
        return column(self.record) if callable(column) else read(self.record, column)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.columns, *names(self.record)]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _column_applies(record: object, column: str, name: str) -> bool:
    """Whether a record has this column: a value there, or null while it has nothing under the measure's name either."""
    value = read(record, column, ...)
    return value is not ... and (value is not None or read(record, name, None) is None)


def sides(columns: Columns | None, gold: object, pred: object) -> tuple[object, object]:
    """Gold and prediction as a measure reads them.

    A key ``gold.NAME`` or ``pred.NAME`` renames on that side alone. A bare key renames on the prediction, and on the
    gold example too if a name or path leads to something there; a bare callable gets the prediction.
    """
    if not columns:
        return gold, pred
    gold_columns: dict[str, Column] = {}
    pred_columns: dict[str, Column] = {}
    absent = {}
    for key, column in columns.items():
        side, _, name = key.partition(".")
        if name and side in ("gold", "pred"):
            (gold_columns if side == "gold" else pred_columns)[name] = column
            continue
        in_gold = not callable(column) and _column_applies(gold, column, key)
        if in_gold:
            gold_columns.setdefault(key, column)
        elif read(gold, key, None) is None:
            absent[key] = column
        if not in_gold or _column_applies(pred, str(column), key):
            pred_columns.setdefault(key, column)
    return (
        Renamed(gold, gold_columns, absent) if gold_columns or absent else gold,
        Renamed(pred, pred_columns) if pred_columns and pred is not None else pred,
    )

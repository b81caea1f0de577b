"""Reading the fields of gold examples and predictions, whatever they are.

A record may be a dict, a ``dspy.Example`` or ``Prediction``, a pydantic model or any object with attributes.
``columns`` maps a measure's name of a field to the program's: a name, a dotted path or a callable that gets the record.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError, FieldError

Column = str | Callable[[Any], Any]
Columns = Mapping[str, Column]
_ABSENT = object()
CONTENT = ("text", "context")  # fields that two independent examples do not share, however short they are
PASSAGE = 200  # characters in a row that two examples do not share by chance
SENTENCE = re.compile(r"(?:\A|(?<=[.!?。])\s+|\n+)(?=\S)")


def read(record: object, path: str, default: object = _ABSENT) -> Any:
    """The value at a dotted path.

    >>> read({"rag": {"contexts": ["a"]}}, "rag.contexts")
    ['a']
    >>> read({"text": "x"}, "entities")
    Traceback (most recent call last):
    goldassay.exceptions.FieldError: no field 'entities'; it has text
    """
    value = record.get(path, _ABSENT) if type(record) is dict else _step(record, path)
    if value is not _ABSENT:
        return value
    value = record
    for key in path.split("."):
        inner = _step(value, key)
        if inner is _ABSENT:
            if default is not _ABSENT:
                return default
            inside = f" of {path!r}" if key != path else ""
            raise FieldError(f"no field {key!r}{inside}; it has {', '.join(names(value)) or 'none'}")
        value = inner
    return value


def _step(record: Any, key: str) -> Any:
    if isinstance(record, Mapping) or is_example(record):
        return record.get(key, _ABSENT)
    if key.startswith("_") or record is None or isinstance(record, (str, bytes, int, float, list, tuple)):
        return _ABSENT
    value = getattr(record, key, _ABSENT)
    return _ABSENT if callable(value) else value


def is_example(record: Any) -> bool:
    """Whether a record is a ``dspy.Example`` or ``dspy.Prediction``, without importing DSPy."""
    return hasattr(type(record), "toDict") and hasattr(type(record), "with_inputs")


def names(record: Any) -> list[str]:
    """The names of the fields that a record has."""
    fields: Iterable[Any] = record.keys() if isinstance(record, Mapping) or is_example(record) else ()
    if not fields and not is_example(record):
        fields = getattr(record, "__dict__", ())
    return [str(key) for key in fields if not str(key).startswith(("_", "dspy_"))]


def identity(record: object, index: object) -> str:
    """The id of an example or a row, whatever it is; its place (or another name) if it has none.

    >>> identity({"id": 0}, 7), identity({}, 7)
    ('0', '7')
    """
    return _name(record, "id") or str(index)


def check_unique(records: Iterable[object], file: object = None) -> None:
    """Raise if two records have one id; the numbers 1 and the text "1" are one."""
    seen: set[str] = set()
    for index, record in enumerate(records):
        name = identity(record, index)
        if name in seen:
            raise DataError("duplicate document id; each record needs its own", file=file, record=name)
        seen.add(name)


def cluster(record: object, index: int) -> object:
    """What an example or a row is resampled, compared and split with: the document that it names, else itself.

    That is its ``document`` (also under ``meta``), or the only one of its ``documents``.

    >>> cluster({"document": 0}, 7), cluster({"documents": ["d1"]}, 7), cluster({"id": "a"}, 7)
    ('0', 'd1', 7)
    """
    name = _name(record, "document") or _name(record, "meta.document")
    if not name and not isinstance(record, (list, tuple)):
        documents = read(record, "documents", None)
        name = str(documents[0]) if isinstance(documents, (list, tuple)) and len(documents) == 1 else ""
        name = "" if len(name) > PASSAGE else name  # a text, and no name
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
    documents: dict[Any, list[int]] = {}
    for index, example in enumerate(examples):
        documents.setdefault(cluster(example, index), []).append(index)
    return random.Random(seed).sample(list(documents.values()), len(documents))


def assign_folds(examples: Sequence[object], folds: int, seed: int) -> list[int]:
    """The fold of each example: documents whole, in a random order, as even as they allow.

    >>> sorted(assign_folds([{"id": i} for i in range(7)], 3, seed=0))
    [0, 0, 0, 1, 1, 2, 2]
    """
    fold_of, sizes = [0] * len(examples), [0] * folds
    for indices in shuffled_documents(examples, seed + 1):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(indices)
        for index in indices:
            fold_of[index] = fold
    return fold_of


def unit(size: int, clusters: Iterable[object] | None) -> str:
    """What intervals and tests count: ``size`` examples, or the documents that they belong to.

    >>> unit(3, None), unit(3, ["a", "b", "a"])
    ('3 examples', '2 documents')
    """
    number, name = (size, "example") if clusters is None else (len(set(clusters)), "document")
    return f"{number} {name}{'' if number == 1 else 's'}"


def shared_text(records: Iterable[object]) -> str:
    """A warning if many examples share a text and none names a document; else nothing.

    Two examples share a text if their ``text`` or ``context`` is the same, or if a passage of `PASSAGE` characters
    stands in both. A passage in more than half of all examples is a form, not a source.

    >>> shared_text([{"text": "Ada"}] * 4 + [{"text": "Bo"}])
    "4 of 5 examples share a text with others and count as independent; name it as their 'document'"
    """
    own: list[set[int]] = []
    whole: set[int] = set()
    for index, record in enumerate(records):
        if cluster(record, index) != index:
            return ""
        texts = {name: read(record, name, None) for name in names(record)}
        same = {hash(texts[name]) for name in CONTENT if isinstance(texts.get(name), str) and texts[name]}
        whole |= same
        own.append(same | {hash(part) for text in texts.values() if isinstance(text, str) for part in _passages(text)})
    times = Counter(part for parts in own for part in parts)
    several = {part for part, n in times.items() if n > 1 and (part in whole or 2 * n <= len(own))}
    shared = sum(not several.isdisjoint(parts) for parts in own)
    if shared < max(4, len(own) / 10):
        return ""
    what = "share a text with others and count as independent; name it as their 'document'"
    return f"{shared} of {len(own)} examples {what}"


def _passages(text: str) -> Iterator[str]:
    """The passages that begin where a sentence or a line begins."""
    if len(text) >= PASSAGE:
        starts = (match.end() for match in SENTENCE.finditer(text))
        yield from (text[start : start + PASSAGE] for start in starts if start + PASSAGE <= len(text))


class Renamed(Mapping[str, Any]):
    """A record seen through ``columns``: the measure's names for the program's fields.

    >>> Renamed({"rag": {"ctx": ["a"]}, "id": 7}, {"retrieved_contexts": "rag.ctx"})["retrieved_contexts"]
    ['a']
    """

    def __init__(self, record: object, columns: Columns) -> None:
        self.record, self.columns = record, columns

    def __getitem__(self, key: str) -> Any:
        column = self.columns.get(key)
        if column is None:
            value = read(self.record, key, None)
            if value is None and key not in names(self.record):
                raise KeyError(key)
            return value
        return column(self.record) if callable(column) else read(self.record, column)

    def __iter__(self) -> Any:
        return iter(dict.fromkeys([*self.columns, *names(self.record)]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def sides(columns: Columns | None, gold: object, pred: object) -> tuple[Any, Any]:
    """Gold and prediction as a measure reads them.

    A key ``gold.NAME`` or ``pred.NAME`` renames on that side alone. A bare key renames on the prediction, and on the
    gold example too if a name or path leads to something there; a bare callable gets the prediction.
    """
    if not columns:
        return gold, pred
    sides: dict[str, dict[str, Column]] = {"gold": {}, "pred": {}}
    for key, column in columns.items():
        side, _, name = key.partition(".")
        if name and side in sides:
            sides[side][name] = column
    for key, column in columns.items():
        if key.startswith(("gold.", "pred.")):
            continue
        in_gold = not callable(column) and read(gold, column, None) is not None
        if in_gold:
            sides["gold"].setdefault(key, column)
        if callable(column) or not in_gold or read(pred, column, None) is not None:
            sides["pred"].setdefault(key, column)
    renamed_gold = Renamed(gold, sides["gold"]) if sides["gold"] else gold
    return renamed_gold, Renamed(pred, sides["pred"]) if sides["pred"] and pred is not None else pred

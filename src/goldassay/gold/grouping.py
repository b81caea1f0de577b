"""What must stay on one side of a split: a document with its questions, a group, texts that are nearly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError, LeakError
from goldassay.gold.similarity import NEAR, distinct, near_pairs

CONTENT = ("text", "query", "question")
Record = Mapping[str, Any]


def grouped(records: Sequence[Record], *, group: str | None = None, near: float = NEAR) -> list[list[int]]:
    """Records that must stay together, as lists of their places: union-find over documents, groups and near texts."""
    parent = list(range(len(records)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    def join(a: int, b: int) -> None:
        low, high = sorted((root(a), root(b)))
        parent[high] = low

    first: dict[tuple[str, str], int] = {}
    for index, record in enumerate(records):
        ties = [("document", str(name)) for name in (record.get("documents") or [record["id"]])]
        ties.append(("document", str(record["id"])))
        if group is not None:
            tie = value(record, group)
            if tie is None:
                raise GoldassayError(f"record {record['id']} has no {group!r} to group by")
            ties.append(("group", str(tie)))
        for one in ties:
            join(first.setdefault(one, index), index)
    texts = [_text(record) for record in records]
    same = distinct(texts)
    for members in same:
        for index in members[1:]:
            join(members[0], index)
    for i, j, _ in near_pairs([texts[members[0]] for members in same], near):
        join(same[i][0], same[j][0])
    out: dict[int, list[int]] = defaultdict(list)
    for index in range(len(records)):
        out[root(index)].append(index)
    return list(out.values())


def leaks(records: Sequence[Record], *, near: float = NEAR, group: str | None = None) -> Iterator[tuple[str, str]]:
    """Records that must stay together and stand on different sides of the split that they have."""
    for members in grouped(records, group=group, near=near):
        first = records[members[0]]
        for index in members[1:]:
            if first.get("split") and records[index].get("split") not in (None, first["split"]):
                yield str(first["id"]), str(records[index]["id"])


def refuse_leaks(records: Sequence[Record], *, near: float = NEAR, group: str | None = None) -> None:
    """Raise for a split with leaks.

    >>> refuse_leaks([{"id": "a", "text": "Museum", "split": "train"}, {"id": "b", "text": "museum", "split": "test"}])
    Traceback (most recent call last):
    goldassay.exceptions.LeakError: record b: belongs to a, which is on another side of the split; keep both on one side
    """
    for one, other in leaks(records, near=near, group=group):
        raise LeakError(f"belongs to {one}, which is on another side of the split; keep both on one side", record=other)


def value(record: Record, factor: str) -> Any:
    """A factor of a record: in its strata, or a field of the record itself."""
    strata = record.get("strata") or {}
    return strata[factor] if factor in strata else record.get(factor)


def _text(record: Record) -> str:
    return next((str(record[name]) for name in CONTENT if record.get(name)), "")

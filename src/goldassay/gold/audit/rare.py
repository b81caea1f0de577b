"""Types and labels that look like another one, or that occur once where the others occur often: mostly slips.

>>> from goldassay.gold.audit.rows import Row
>>> labels = ["museum"] * 20 + ["archive"] * 20 + ["Museum"]
>>> rows = [Row("classification", {"id": str(n), "label": label}, "c.jsonl") for n, label in enumerate(labels)]
>>> [found.message for found in audit(rows)]
["'Museum' occurs once and looks like 'museum' (20 times); is it the same?"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row
from goldassay.measure import TASKS

OFTEN = 10  # times as often as a slip is the type that was meant
FEW = 50  # labels of a closed list; what has more is text


def audit(rows: Sequence[Row]) -> Iterator[Finding]:
    """The slips among the types, labels and closed fields of one task's records."""
    used: dict[str, Counter[str]] = {}
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        for field, value in _labels(row):
            used.setdefault(field, Counter())[value] += 1
            first.setdefault((field, value), row)
    for field, counts in used.items():
        if len(counts) > FEW or counts.total() < OFTEN * len(counts) / 2:
            continue
        for value, times in sorted(counts.items()):
            like = next((other for other, often in counts.most_common() if _slip(value, times, other, often)), None)
            seen = f"{value!r} occurs {f'{times} times' if times > 1 else 'once'}"
            if like is not None:
                said = f"{seen} and looks like {like!r} ({counts[like]} times); is it the same?"
                yield first[field, value].finding("label", said, field)
            elif times == 1 and value and field != "triples":  # of predicates most are rare
                said = f"{seen}: a slip, or too few to be shown in train and measured in test"
                yield first[field, value].finding("label", said, field)


def _slip(value: str, times: int, other: str, often: int) -> bool:
    """Whether ``other`` was meant: written the same but for case and signs and commoner, or much commoner and near."""
    if value == other or often <= times:
        return False
    return _bare(value) == _bare(other) != "" or (often >= OFTEN * times and alike(value, other))


def alike(one: str, other: str) -> bool:
    """Whether two labels differ by case, space, punctuation, or by one letter or two letters swapped.

    >>> alike("TOP", "TPO"), alike("library", "libary"), alike("GRP.HER.MUS", "GRP.HER.ARC"), alike("M", "A")
    (True, True, False, False)
    """
    from rapidfuzz.distance import OSA

    bare = [_bare(one), _bare(other)]
    if one != other and bare[0] == bare[1]:
        return bool(bare[0])
    return (
        min(map(len, bare)) >= 3
        and not any(map(str.isdigit, bare))
        and OSA.distance(*bare) == 1
        and not _numbered(*bare)
    )


def _bare(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum())


def _numbered(one: str, other: str) -> bool:
    """Whether two words differ by a digit only: level1 and level2 are two levels."""
    return one.rstrip("0123456789") == other.rstrip("0123456789")


def _labels(row: Row) -> Iterator[tuple[str, str]]:
    record: Mapping[str, Any] = row.record
    if row.task == "extraction":
        yield from (("entities", span["type"]) for span in record["entities"])
    elif row.task == "classification":
        yield "label", record["label"]
    elif row.task == "triples":
        yield from (("triples", triple["predicate"]) for triple in record["triples"])
    elif row.task not in TASKS:
        yield from ((name, value) for name, value in record.items() if isinstance(value, str) and 0 < len(value) <= 40)

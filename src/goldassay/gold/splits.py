"""Splits without leaks: documents whole, near duplicates on one side, several factors kept in proportion at once.

A group is what must stay together: a document with its questions, and texts that are nearly the same (`grouping`).
Groups go to sides by iterative stratification, and no side is left empty while there are groups.

Stratifying on the product of four factors leaves strata of one. The factors are taken side by side instead: the rarest
value first, and each of the groups that hold it goes where this value is most wanted. A value that is too rare to be
shared is always most wanted on the largest side; it goes there while there is room.

Source: Sechidis, Tsoumakas and Vlahavas, *On the stratification of multi-label data*, 2011.

>>> rows = [{"id": f"d{i}", "text": "abcdefghijklmnopqrst"[i] * 9, "strata": {"country": "NL" if i % 2 else "BE"}}
...         for i in range(20)]
>>> made = split(rows, factors=["country"])
>>> made.sizes
{'train': 14, 'dev': 3, 'test': 3}
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import heapify, heappop, heappush

from goldassay.exceptions import GoldassayError, LeakError
from goldassay.gold.shapes import Record
from goldassay.text.similarity import NEAR, distinct, near_pairs

Factor = tuple[str, str]  # a factor and its value


def iterative(
    wanted: Sequence[Mapping[Factor, int]], sizes: Sequence[int], shares: Mapping[str, float], seed: int = 0
) -> list[str]:
    """A side for each group. ``wanted`` has for each group how many records of each (factor, value) it holds."""
    rng = random.Random(seed)
    order = list(range(len(sizes)))
    rng.shuffle(order)
    order.sort(key=lambda index: -sizes[index])  # large groups first, while there is room for them
    totals: Counter[Factor] = Counter()
    for keys in wanted:
        totals.update(keys)
    room = {side: share * sum(sizes) for side, share in shares.items()}
    need = {side: {key: share * count for key, count in totals.items()} for side, share in shares.items()}
    tie = {side: rng.random() for side in shares}
    sides: dict[int, str] = {}
    holders: dict[Factor, list[int]] = defaultdict(list)
    for index in order:
        for key in wanted[index]:
            holders[key].append(index)
    left = Counter(totals)
    rarest = [(count, key) for key, count in left.items()]
    heapify(rarest)
    while rarest:
        count, rare = heappop(rarest)
        if count != left[rare]:  # said before some of its records were placed
            continue
        few = totals[rare] * min(shares.values()) < 0.5
        changed: set[Factor] = set()
        for index in holders[rare]:
            if index not in sides:
                side = max(
                    shares, key=lambda name: (not few or room[name] > 0, need[name][rare], room[name], tie[name])
                )
                sides[index] = side
                room[side] -= sizes[index]
                for key, held in wanted[index].items():
                    need[side][key] -= held
                    left[key] -= held
                    changed.add(key)
        for key in changed - {rare}:
            if left[key] > 0:
                heappush(rarest, (left[key], key))
    for index in order:  # what has no value of any factor
        if index not in sides:
            sides[index] = max(shares, key=lambda name: (room[name], tie[name]))
            room[sides[index]] -= sizes[index]
    return [sides[index] for index in range(len(sizes))]


def filled(sides: Sequence[str], sizes: Sequence[int], shares: Mapping[str, float]) -> list[str]:
    """The same sides, but none left empty: it takes the smallest group of the side that has most for its share.

    >>> filled(["train", "train", "train"], [1, 1, 1], {"train": 0.7, "dev": 0.15, "test": 0.15})
    ['train', 'test', 'dev']
    """
    out = list(sides)
    for side in shares:
        counts = Counter(out)
        if side not in counts and max(counts.values()) > 1:
            held = Counter[str]()
            for index, name in enumerate(out):
                held[name] += sizes[index]
            giver = max((name for name in counts if counts[name] > 1), key=lambda name: held[name] / shares[name])
            out[min((index for index in range(len(out)) if out[index] == giver), key=lambda at: (sizes[at], -at))] = (
                side
            )
    return out


DATASET_SPLITS = {"train": 0.70, "dev": 0.15, "test": 0.15}
STRATIFICATION_FACTORS = ("custodian_type", "country", "data_tier", "source_type")


@dataclass(frozen=True, slots=True)
class Off:
    """How far a factor's shares are from what they should be: the most and the mean, and where it is most."""

    factor: str
    most: float
    mean: float
    at: str


@dataclass(frozen=True, slots=True)
class Split:
    """Which record goes where, and how good that is."""

    of: Mapping[str, str]
    ratios: Mapping[str, float]
    groups: int
    off: Sequence[Off]

    @property
    def sizes(self) -> dict[str, int]:
        """How many records each side has."""
        counts = Counter(self.of.values())
        return {name: counts[name] for name in self.ratios}

    @property
    def empty(self) -> list[str]:
        """The sides that nothing was left for: there are fewer groups than sides."""
        return [name for name, size in self.sizes.items() if not size]

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "sizes": self.sizes}


def split(
    records: Sequence[Record],
    *,
    ratios: Mapping[str, float] | None = None,
    factors: Sequence[str] | None = None,
    group: str | None = None,
    near: float = NEAR,
    seed: int = 0,
) -> Split:
    """Sides for records.

    ``factors`` are names in a record's ``strata`` or fields of the record itself (by default those of
    ``STRATIFICATION_FACTORS`` that any record has); ``group`` is a field whose value stays together, beside the
    documents that questions are about.

    Args:
        ratios: The share of each side; train .7, dev .15 and test .15 without them.
        near: From how many per cent of similar characters two texts stay together.
        seed: Of everything that is drawn at random.
    """
    shares = _shares(ratios or DATASET_SPLITS)
    if not records:
        raise GoldassayError("nothing to split: there are no records")
    used = list(factors) if factors is not None else _present(records, STRATIFICATION_FACTORS)
    absent = [factor for factor in used if factor not in _present(records, used)]
    if absent:
        raise GoldassayError(f"no record has {', '.join(absent)}, neither in its strata nor as a field")
    groups = grouped(records, group=group, near=near)
    wanted = [Counter(key for index in members for key in _keys(records[index], used)) for members in groups]
    sizes = [len(members) for members in groups]
    sides = filled(iterative(wanted, sizes, shares, seed), sizes, shares)
    of = {str(records[index]["id"]): side for members, side in zip(groups, sides, strict=True) for index in members}
    of = {str(record["id"]): of[str(record["id"])] for record in records}
    return Split(of, shares, len(groups), deviations(records, of, shares, used))


def deviations(
    records: Sequence[Record], of: Mapping[str, str], shares: Mapping[str, float], factors: Sequence[str]
) -> list[Off]:
    """For each factor, and for the sizes, how far the shares are off."""
    out = []
    for factor in ("size", *factors):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for record in records:
            value = "" if factor == "size" else value_of(record, factor)
            if value is not None:
                counts[str(value)][of[str(record["id"])]] += 1
        gaps = [
            (abs(found[side] / found.total() - share), f"{value} {side}".strip(), found.total())
            for value, found in counts.items()
            for side, share in shares.items()
        ]
        if gaps:
            gap, at, _ = max(gaps)
            weights = sum(weight for *_, weight in gaps)
            out.append(Off(factor, gap, sum(gap * weight for gap, _, weight in gaps) / weights, at))
    return out


def _shares(ratios: Mapping[str, float]) -> dict[str, float]:
    total = sum(ratios.values())
    if len(ratios) < 2 or not all(share > 0 for share in ratios.values()) or not abs(total - 1) <= 1e-6:
        said = ", ".join(f"{name} {share:g}" for name, share in ratios.items())
        raise GoldassayError(f"the shares of two sides or more are above 0 and add up to 1, not {said or 'none'}")
    return dict(ratios)


def _present(records: Iterable[Record], factors: Sequence[str]) -> list[str]:
    rows = list(records)
    return [factor for factor in factors if any(value_of(record, factor) is not None for record in rows)]


def _keys(record: Record, factors: Sequence[str]) -> list[Factor]:
    return [(factor, str(value)) for factor in factors if (value := value_of(record, factor)) is not None]


CONTENT = ("text", "query", "question")


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
            tie = value_of(record, group)
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


def value_of(record: Record, factor: str) -> object:
    """A factor of a record: in its strata, or a field of the record itself."""
    strata = record.get("strata") or {}
    return strata[factor] if factor in strata else record.get(factor)


def _text(record: Record) -> str:
    return next((str(record[name]) for name in CONTENT if record.get(name)), "")

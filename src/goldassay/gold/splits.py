"""Splits without leaks: documents whole, near duplicates on one side, several factors kept in proportion at once.

A group is what must stay together: a document with its questions, and texts that are nearly the same (`grouped`).
Groups are assigned to sides by iterative stratification, and no side stays empty while there are groups.

Stratifying on the product of four factors would leave strata of one record. Instead, the factors are balanced side by
side: the rarest value first, and each group that holds it goes to the side that lacks most of it. A value too rare to
be shared would always go to the largest side; it does so only while there is room.

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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import JsonObject, Record, cluster
from goldassay.core.shape import input_text
from goldassay.gold import anyfields
from goldassay.results.view import Sentence, Table, TableRow, View
from goldassay.statistics.design import Design
from goldassay.text.near import NEAR_DUPLICATE, distinct, near_pairs

Factor = tuple[str, str]  # a factor and its value


def iterative(
    contents: Sequence[Mapping[Factor, int]], sizes: Sequence[int], shares: Mapping[str, float], seed: int = 0
) -> list[str]:
    """A side for each group; ``contents`` counts for each group its records by (factor, value)."""
    rng = random.Random(seed)
    order = list(range(len(sizes)))
    rng.shuffle(order)
    order.sort(key=lambda index: -sizes[index])  # large groups first, while there is room for them
    totals: Counter[Factor] = Counter()
    for counts in contents:
        totals.update(counts)
    room = {side: share * sum(sizes) for side, share in shares.items()}
    need = {side: {key: share * count for key, count in totals.items()} for side, share in shares.items()}
    tie = {side: rng.random() for side in shares}
    holders: dict[Factor, list[int]] = defaultdict(list)
    for index in order:
        for key in contents[index]:
            holders[key].append(index)
    side_of: dict[int, str] = {}
    left = Counter(totals)
    while left:
        rare = min(left, key=lambda key: (left[key], key))
        too_rare = totals[rare] * min(shares.values()) < 0.5
        for index in holders[rare]:
            if index not in side_of:
                side = max(
                    shares, key=lambda name: (not too_rare or room[name] > 0, need[name][rare], room[name], tie[name])
                )
                side_of[index] = side
                room[side] -= sizes[index]
                for key, count in contents[index].items():
                    need[side][key] -= count
                    left[key] -= count
        left = +left  # values whose records are all placed
    for index in order:  # groups without a value of any factor
        if index not in side_of:
            side_of[index] = max(shares, key=lambda name: (room[name], tie[name]))
            room[side_of[index]] -= sizes[index]
    return [side_of[index] for index in range(len(sizes))]


def filled(names: Sequence[str], sizes: Sequence[int], shares: Mapping[str, float]) -> list[str]:
    """The same sides, none of them empty: the smallest group moves there from the side that is largest for its share.

    >>> filled(["train", "train", "train"], [1, 1, 1], {"train": 0.7, "dev": 0.15, "test": 0.15})
    ['train', 'test', 'dev']
    """
    result = list(names)
    for side in shares:
        members = {name: [index for index, other in enumerate(result) if other == name] for name in shares}
        givers = [name for name, indices in members.items() if len(indices) > 1]
        if not members[side] and givers:
            giver = max(givers, key=lambda name: sum(sizes[index] for index in members[name]) / shares[name])
            result[min(members[giver], key=lambda index: (sizes[index], -index))] = side
    return result


DATASET_SPLITS = {"train": 0.70, "dev": 0.15, "test": 0.15}
TUNING_SPLITS = {"train": 0.70, "dev": 0.30}
STRATIFICATION_FACTORS = ("custodian_type", "country", "data_tier", "source_type")
CONTENT = ("text", "query", "question")


@dataclass(frozen=True, slots=True)
class Split:
    """The side of each record id, and how well the sides keep the ratios.

    A deviation is how far the shares are off: at most, on average, and where they are most.
    """

    of: Mapping[str, str]
    ratios: Mapping[str, float]
    groups: int
    deviations: Sequence[Record]

    @property
    def sizes(self) -> dict[str, int]:
        """How many records each side has."""
        counts = Counter(self.of.values())
        return {name: counts[name] for name in self.ratios}

    @property
    def empty(self) -> list[str]:
        """The sides that stay empty because there are fewer groups than sides."""
        return [name for name, size in self.sizes.items() if not size]

    def view(self) -> View:
        """The sizes, and how far each factor deviates."""
        n = len(self.of)
        sizes: list[TableRow] = [[name, self.ratios[name], size, size / n] for name, size in self.sizes.items()]
        factors: list[TableRow] = [[row[name] for name in ("factor", "at", "mean", "most")] for row in self.deviations]
        view: View = [
            Table(f"{n:,} ids, {self.groups:,} groups kept whole", ["side", "target", "ids", "share"], sizes),
            Table("deviation of the shares", ["factor", "largest at", "mean", "largest"], factors, left=2),
        ]
        if self.empty:
            view.append(Sentence(f"{', '.join(self.empty)} empty: there are fewer groups than sides"))
        return view

    def state(self) -> JsonObject:
        """As JSON."""
        return {**asdict(self), "sizes": self.sizes}


def split(
    records: Sequence[Mapping[str, object]],
    *,
    ratios: Mapping[str, float] | None = None,
    factors: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    near: float = NEAR_DUPLICATE,
    seed: int = 0,
) -> Split:
    """Assign records to sides.

    Args:
        records: The records.
        ratios: The share of each side; train .7, dev .15 and test .15 if not given.
        factors: What to keep in proportion: names in a record's ``strata`` or fields of the record itself; by default
            those of ``STRATIFICATION_FACTORS`` that any record has, and where none has any, the labels.
        inputs: The fields whose text says whether two records are near duplicates; by default the text, the query or
            the question, and of records that have none of these all texts.
        near: From how many per cent of similar characters two texts stay together.
        seed: Seeds the order of groups and ties.

    Raises:
        GoldassayError: The shares do not add up to 1, there are no records, or no record has a factor.
    """
    shares = dict(ratios or DATASET_SPLITS)
    if len(shares) < 2 or not all(share > 0 for share in shares.values()) or not abs(sum(shares.values()) - 1) <= 1e-6:
        listed = ", ".join(f"{name} {share:g}" for name, share in shares.items()) or "none"
        raise GoldassayError(f"the shares of two sides or more are above 0 and add up to 1, not {listed}")
    if not records:
        raise GoldassayError("nothing to split: there are no records")
    candidates = STRATIFICATION_FACTORS if factors is None else factors
    used = [factor for factor in candidates if any(value_of(record, factor) is not None for record in records)]
    if absent := [factor for factor in factors or () if factor not in used]:
        names = dict.fromkeys(name for record in records[:100] for name in fields_of(record))
        message = (
            f"no record has {', '.join(absent)}, neither in its strata nor as a field; there are {', '.join(names)}"
        )
        raise GoldassayError(message)
    if factors is None and not used:
        labels = Counter(str(record["label"]) for record in records if record.get("label") is not None)
        if labels and 2 * len(labels) <= labels.total():  # else they are numbers or texts
            used = ["label"]
    groups = grouped(records, inputs, near)
    facts = [[(factor, str(value)) for factor in used if (value := value_of(r, factor)) is not None] for r in records]
    contents = [Counter(fact for index in members for fact in facts[index]) for members in groups]
    sizes = [len(members) for members in groups]
    side_of_group = filled(iterative(contents, sizes, shares, seed), sizes, shares)
    of = {index: side for members, side in zip(groups, side_of_group, strict=True) for index in members}
    by_id = {str(record["id"]): of[index] for index, record in enumerate(records)}
    deviations: list[JsonObject] = []  # of the shares, for the sizes and for each factor
    for factor in ("size", *used):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for record in records:
            value = "" if factor == "size" else value_of(record, factor)
            if value is not None:
                counts[str(value)][by_id[str(record["id"])]] += 1
        gaps: list[tuple[float, str, int]] = []
        for name, by_side in counts.items():
            total = by_side.total()
            gaps += [
                (abs(by_side[side] / total - share), f"{name} {side}".strip(), total) for side, share in shares.items()
            ]
        most, at, _ = max(gaps)
        mean = sum(gap * weight for gap, _, weight in gaps) / sum(weight for *_, weight in gaps)
        deviations.append({"factor": factor, "most": most, "mean": mean, "at": at})
    return Split(by_id, shares, len(groups), deviations)


def for_tuning(records: Sequence[JsonObject], seed: int = 0, inputs: Sequence[str] | None = None) -> Split:
    """Records without splits on train, dev and test; without a test side from which no value could be estimated.

    Drafted records give one only if the draft is for a level and the side has records of each stratum.

    Args:
        records: The records.
        seed: Seeds the order.
        inputs: The fields whose text says whether two records are near duplicates.
    """
    division = split(records, inputs=inputs, seed=seed)
    design = Design.of([record for record in records if division.of[str(record["id"])] == "test"])
    return split(records, ratios=TUNING_SPLITS, inputs=inputs, seed=seed) if design.why_no_estimate else division


def fields_of(record: Record) -> JsonObject:
    """The fields by which a record can be split: its strata, its own fields, and the user's columns in ``meta``."""
    return {**(record.get("meta") or {}), **record, **(record.get("strata") or {})}


def value_of(record: Mapping[str, object], factor: str) -> object:
    """A factor of a record, if it has one."""
    return fields_of(record).get(factor)


def grouped(
    records: Sequence[Record], inputs: Sequence[str] | None = None, near: float = NEAR_DUPLICATE
) -> list[list[int]]:
    """Records that must stay together, as lists of their places.

    Records are connected by a common document and by (nearly) the same text; what is connected, also over several
    steps, is one group. A record without a ``document`` may be one: those that name its id belong to it. The id of a
    record with a document names nothing else.
    """
    first: dict[tuple[str, str], int] = {}
    edges: list[tuple[int, int]] = []
    for index, record in enumerate(records):
        document = cluster(record, index)
        name = str(record["id"])
        ties = [("record", name), ("document", document if isinstance(document, str) else name)]
        ties += [(kind, str(other)) for other in record.get("documents") or () for kind in ("record", "document")]
        edges += [(first.setdefault(tie, index), index) for tie in ties]
    names = inputs or [name for name in CONTENT if any(record.get(name) for record in records)]
    names = names or anyfields.texts(records)
    texts = [input_text(record, names) for record in records]
    same = distinct(texts)
    edges += [(members[0], index) for members in same for index in members[1:]]
    edges += [(same[i][0], same[j][0]) for i, j, _ in near_pairs([texts[members[0]] for members in same], near)]
    rows, columns = zip(*edges, strict=True) if edges else ((), ())
    size = len(records)
    graph = scipy.sparse.coo_array(([True] * len(edges), (rows, columns)), shape=(size, size))
    _, labels = scipy.sparse.csgraph.connected_components(graph, False)
    groups: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(labels.tolist()):
        groups[label].append(index)
    return list(groups.values())

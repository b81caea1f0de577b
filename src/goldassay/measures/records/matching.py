"""Two records, leaf by leaf: what agrees, and what is missing, invented or wrong.

Objects are compared field by field. Items of lists are aligned one to one so that most credit is given, so a missing
line item is one missing item and not twelve wrong fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy

from goldassay.measures.records.comparators import Comparator, by_value, comparator, difference, folded, json_type
from goldassay.measures.records.records import Read
from goldassay.tally import Counts

ROOT = "(record)"  # the field of a record that is a list of values
NEAR = 0.5  # the likeness from which two items that share no value are one wrong item, and not a missing and a new one
TIE = 1e-6  # what likeness weighs beside credit
SMALL = 0.25  # the likeness of equal numbers, which are more often equal by chance than texts
TRANSITIVE = ("exact", "normalised", "enum", "identifier", "number", "date")  # without a tolerance
Item = tuple[Any, str, str]


class Leaf(NamedTuple):
    """A leaf of one or both records.

    ``kind`` is "" if it is right, else the kind of the error. ``gold_path`` and ``pred_path`` are its places, empty on
    a side that lacks it; ``part`` is the place of the missing or invented part that it belongs to.
    """

    field: str
    kind: str
    credit: float
    gold_path: str
    pred_path: str
    gold: Any = None
    pred: Any = None
    part: str = ""
    likeness: float = 0.0

    @property
    def counts(self) -> Counts:
        """A wrong value is one false positive and one false negative."""
        return Counts(self.credit, (1 - self.credit) * bool(self.pred_path), (1 - self.credit) * bool(self.gold_path))


Match = list[Leaf]


@dataclass(frozen=True)
class Comparing:
    """How leaves are compared.

    ``named`` are the comparators of fields, as text or as functions; ``blank`` says which values are no leaf (``same``:
    absent, null and empty are one; ``null``: absent and null are; ``apart``: none are); ``ordered`` are the lists whose
    order counts, or ``all``.
    """

    named: Mapping[str, str | Comparator] = field(default_factory=dict)
    blank: str = "same"
    ordered: Collection[str] = ()

    def credit(self, name: str, gold: Any, pred: Any) -> float:
        """How much of a value is right."""
        chosen = self.named.get(name) or by_value(gold)
        return comparator(chosen)(gold, pred) if isinstance(chosen, str) else float(chosen(gold, pred))

    def stated(self, value: Any) -> bool:
        """Whether a value is there: not blank."""
        if self.blank != "same" or value is None:
            return value is not None or self.blank == "apart"
        if isinstance(value, (dict, list)):
            return any(map(self.stated, value.values() if isinstance(value, dict) else value))
        return not isinstance(value, str) or bool(value.strip())

    def leaves(self, record: Any) -> Iterator[tuple[str, str, Any]]:
        """The field, the place and the value of each leaf of a record."""
        return self._leaves(record, "", "")

    def _leaves(self, value: Any, name: str, path: str) -> Iterator[tuple[str, str, Any]]:
        inner = [*self.items(value, name, path)]
        for part, part_name, part_path in inner:
            yield from self._leaves(part, part_name, part_path)
        if not inner and (path or not isinstance(value, (dict, list))):
            yield name or ROOT, path or ROOT, value

    def items(self, value: Any, name: str, path: str) -> Iterator[tuple[Any, str, str]]:
        """The stated values inside an object or a list, with their fields and places."""
        if isinstance(value, dict):
            for key, part in value.items():
                if self.stated(part):
                    yield part, f"{name}.{key}" if name else key, f"{path}.{key}" if path else key
        for index, part in enumerate(value if isinstance(value, list) else ()):
            if self.stated(part):
                yield part, name, f"{path}[{index}]"

    def match(self, gold: Item, pred: Item) -> Match:
        """The leaves of two values; an item is a value, its field and its place."""
        kinds = json_type(gold[0]), json_type(pred[0])
        if kinds == ("object", "object"):
            return self._objects(gold, pred)
        if kinds == ("list", "list"):
            return self._lists(gold, pred)
        if {"object", "list"} & {*kinds}:
            return [*self._part(gold, "wrong_type", 0), *self._part(pred, "wrong_type", 1)]
        name = gold[1] or ROOT
        credit = self.credit(name, gold[0], pred[0])
        kind = "" if credit >= 1 else difference(gold[0], pred[0])
        likeness = _likeness(gold[0], pred[0]) if credit < 1 else 1.0 if kinds == ("text", "text") else SMALL
        return [Leaf(name, kind, credit, gold[2] or ROOT, pred[2] or ROOT, gold[0], pred[0], "", likeness)]

    def _objects(self, gold: Item, pred: Item) -> Match:
        left = {item[1]: item for item in self.items(*gold)}
        right = {item[1]: item for item in self.items(*pred)}
        leaves = self._empty(gold, pred, bool(left), bool(right))
        for name, item in left.items():
            leaves += self.match(item, right[name]) if name in right else self._part(item, "missing_field", 0)
        for name, item in right.items():
            leaves += [] if name in left else self._part(item, "invented_field", 1)
        return leaves

    def _lists(self, gold: Item, pred: Item) -> Match:
        left, right = [*self.items(*gold)], [*self.items(*pred)]
        ordered = self.ordered == "all" or gold[1] in self.ordered
        leaves = self._empty(gold, pred, bool(left), bool(right))
        if not ordered and self._transitive(gold[1]):  # equal items belong together: nothing gives more credit
            equal = _equal(left, right)
            leaves += [leaf for i, j in equal for leaf in self.match(left[i], right[j])]
            used = {i for i, _ in equal}, {j for _, j in equal}
            left, right = (
                [each for at, each in enumerate(side) if at not in gone]
                for side, gone in zip((left, right), used, strict=True)
            )
        matches = [[self.match(a, b) for b in right] for a in left]
        credit = np.array([[_credit(each) for each in row] for row in matches]).reshape(len(left), len(right))
        pairs = _in_order(credit) if ordered else _assigned(credit, left, right)
        pairs = [(i, j) for i, j in pairs if _belong(matches[i][j])]
        leaves += [leaf for i, j in pairs for leaf in matches[i][j]]
        for i in sorted({*range(len(left))} - {i for i, _ in pairs}):
            leaves += self._part(left[i], "missing_item", 0)
        for j in sorted({*range(len(right))} - {j for _, j in pairs}):
            leaves += self._part(right[j], "spurious_item", 1)
        return leaves

    def _transitive(self, name: str) -> bool:
        """Whether values of a list that are both right for a third are right for each other."""
        within = (chosen for field, chosen in self.named.items() if field == name or field.startswith(f"{name}."))
        return all(chosen in TRANSITIVE for chosen in within)

    def _empty(self, gold: Item, pred: Item, in_gold: bool, in_pred: bool) -> Match:
        """The leaf that an empty object or list inside a record is, where empty is a value."""
        if self.blank == "same" or not gold[2] or (in_gold and in_pred):
            return []
        if not in_gold and not in_pred:
            return [Leaf(gold[1], "", 1.0, gold[2], pred[2], gold[0], pred[0], "", 1.0)]
        value, name, path = pred if in_gold else gold
        if in_gold:
            return [Leaf(name, "invented_field", 0.0, "", path, None, value, path)]
        return [Leaf(name, "missing_field", 0.0, path, "", value, None, path)]

    def _part(self, item: Item, kind: str, side: int) -> Match:
        """The leaves of a part that the other side (0 is gold, 1 the prediction) lacks or has as something else."""
        part = item[2] or ROOT
        if side:
            return [Leaf(name, kind, 0.0, "", path, None, value, part) for name, path, value in self._leaves(*item)]
        return [Leaf(name, kind, 0.0, path, "", value, None, part) for name, path, value in self._leaves(*item)]


def match(read: Read, comparing: Comparing) -> Match:
    """The leaves of a pair of records; those of a prediction that does not count are missing.

    >>> gold = {"no": "7", "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}]}
    >>> pred = {"no": "7", "lines": [{"what": "jam", "qty": 3}]}
    >>> [(leaf.gold_path, leaf.kind) for leaf in match(Read(gold, pred), Comparing()) if leaf.kind]
    [('lines[1].qty', 'wrong_value'), ('lines[0].what', 'missing_item'), ('lines[0].qty', 'missing_item')]
    """
    empty: Any = [] if isinstance(read.gold, list) else {}
    return comparing.match((read.gold, "", ""), (empty if read.pred is None else read.pred, "", ""))


def _likeness(gold: Any, pred: Any) -> float:
    """How alike two different values are, from 0 to 1."""
    if isinstance(gold, str) and isinstance(pred, str):
        from rapidfuzz import fuzz

        return float(fuzz.ratio(folded(gold), folded(pred))) / 100
    return 0.0


def _credit(leaves: Match) -> float:
    """The credit of a pair of items; likeness decides between pairs of equal credit."""
    return sum(leaf.credit + TIE * leaf.likeness for leaf in leaves)


def _belong(leaves: Match) -> bool:
    """Whether two items are the same item: something in them is right, or most of it is nearly."""
    return any(leaf.credit for leaf in leaves) or sum(leaf.likeness for leaf in leaves) >= NEAR * max(1, len(leaves))


def _equal(left: Sequence[Item], right: Sequence[Item]) -> list[tuple[int, int]]:
    """The places of items that both sides have, each once."""
    places: dict[str, list[int]] = {}
    for at, item in enumerate(right):
        places.setdefault(repr(item[0]), []).append(at)
    return [(at, places[key].pop(0)) for at, item in enumerate(left) if places.get(key := repr(item[0]))]


def _assigned(credit: Any, left: Sequence[Item], right: Sequence[Item]) -> list[tuple[int, int]]:
    """The one-to-one assignment of most credit. Items are sorted first, so their order decides nothing."""
    rows, columns = (
        sorted(range(len(side)), key=[repr(item[0]) for item in side].__getitem__) for side in (left, right)
    )
    if not rows or not columns:
        return []
    chosen = scipy.optimize.linear_sum_assignment(credit[np.ix_(rows, columns)], maximize=True)
    return sorted((rows[i], columns[j]) for i, j in zip(*chosen, strict=True))


def _in_order(credit: Any) -> list[tuple[int, int]]:
    """The assignment of most credit in which no two pairs cross."""
    # As in an edit distance: best[i, j] is the most credit of the first i and j items, each pair or gap on the way.
    n, m = credit.shape
    best = np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            best[i + 1, j + 1] = max(best[i, j] + credit[i, j], best[i, j + 1], best[i + 1, j])
    pairs, i, j = [], n, m
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def by_field(leaves: Match) -> dict[str, Counts]:
    """The counts of each field."""
    counts: dict[str, Counts] = {}
    for leaf in leaves:
        counts[leaf.field] = counts.get(leaf.field, Counts()) + leaf.counts
    return counts

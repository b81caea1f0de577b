"""Two records, leaf by leaf: what agrees, and what is missing, invented or wrong.

Objects are compared field by field. Items of lists are aligned one to one so that most credit is given, so a missing
line item is one missing item and not twelve wrong fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz import fuzz
from scipy.optimize import linear_sum_assignment

from goldassay.measures.records.comparators import Comparator, by_value, comparator, difference, folded, json_type
from goldassay.measures.records.records import Read
from goldassay.tally import Counts

ROOT = "(record)"  # the field of a record that is a list of values
NEAR = 0.5  # the likeness from which two items that share no value are one wrong item, and not a missing and a new one
TIE = 1e-6  # what likeness weighs beside credit
SMALL = 0.25  # the likeness of equal numbers, which are more often equal by chance than texts
TRANSITIVE = ("exact", "normalised", "enum", "identifier", "number", "date")  # without a tolerance


class Item(NamedTuple):
    """A value in a record, its field (a dotted path without indices) and its place."""

    value: Any
    field: str = ""
    path: str = ""


class Leaf(NamedTuple):
    """A leaf of one or both records; None on a side that lacks it.

    ``kind`` is "" if it is right, else the kind of the error; ``part`` is the missing or invented value that it belongs
    to.
    """

    kind: str
    credit: float
    gold: Item | None
    pred: Item | None
    likeness: float = 0.0
    part: Item | None = None

    @property
    def field(self) -> str:
        """The dotted path."""
        item: Any = self.gold or self.pred
        return item.field or ROOT  # type: ignore[no-any-return]

    @property
    def counts(self) -> Counts:
        """A wrong value is one false positive and one false negative."""
        wrong = 1 - self.credit
        return Counts(self.credit, wrong * (self.pred is not None), wrong * (self.gold is not None))


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

    def stated(self, value: Any) -> bool:
        """Whether a value is there: not blank."""
        if self.blank != "same" or value is None:
            return value is not None or self.blank == "apart"
        if isinstance(value, (dict, list)):
            return any(map(self.stated, value.values() if isinstance(value, dict) else value))
        return not isinstance(value, str) or bool(value.strip())

    def items(self, item: Item) -> list[Item]:
        """The stated values inside an object or a list."""
        value, name, path = item
        if isinstance(value, dict):
            keys = ((f"{name}.{key}" if name else key, f"{path}.{key}" if path else key) for key in value)
            inside = [Item(part, *place) for part, place in zip(value.values(), keys, strict=True)]
        else:
            parts = enumerate(value if isinstance(value, list) else ())
            inside = [Item(part, name, f"{path}[{index}]") for index, part in parts]
        return [part for part in inside if self.stated(part.value)]

    def leaves(self, item: Item) -> Iterator[Item]:
        """The leaves of a value."""
        inside = self.items(item)
        for part in inside:
            yield from self.leaves(part)
        if not inside and (item.path or not isinstance(item.value, (dict, list))):
            yield item

    def match(self, gold: Item, pred: Item) -> Match:
        """The leaves of two values."""
        kinds = json_type(gold.value), json_type(pred.value)
        if {"object", "array"} & {*kinds}:
            if kinds[0] == kinds[1]:
                return self._inside(gold, pred, kinds[0])
            return [*self._part(gold, "wrong_type"), *self._part(pred, "wrong_type", in_gold=False)]
        chosen = self.named.get(gold.field or ROOT) or by_value(gold.value)
        credit = float((comparator(chosen) if isinstance(chosen, str) else chosen)(gold.value, pred.value))
        texts = kinds == ("string", "string")
        if credit >= 1:
            return [Leaf("", credit, gold, pred, 1.0 if texts else SMALL)]
        likeness = fuzz.ratio(folded(gold.value), folded(pred.value)) / 100 if texts else 0.0
        return [Leaf(difference(gold.value, pred.value), credit, gold, pred, likeness)]

    def _inside(self, gold: Item, pred: Item, kind: str) -> Match:
        """The leaves of two objects, or of two lists, in the order of gold."""
        left, right = self.items(gold), self.items(pred)
        if kind == "array":
            pairs, kinds = self._aligned(gold.field, left, right), ("missing_item", "spurious_item")
        else:
            fields = {item.field: place for place, item in enumerate(right)}
            common = {place: fields[item.field] for place, item in enumerate(left) if item.field in fields}
            pairs = {i: (j, self.match(left[i], right[j])) for i, j in common.items()}
            kinds = ("missing_field", "invented_field")
        leaves = self._empty(gold, pred, bool(left), bool(right))
        for place, item in enumerate(left):
            leaves += pairs[place][1] if place in pairs else self._part(item, kinds[0])
        for place in sorted({*range(len(right))} - {j for j, _ in pairs.values()}):
            leaves += self._part(right[place], kinds[1], in_gold=False)
        return leaves

    def _aligned(self, name: str, left: list[Item], right: list[Item]) -> dict[int, tuple[int, Match]]:
        """For items of a list the place of the item that belongs to each, and the leaves of both."""
        ordered = self.ordered == "all" or name in self.ordered
        equal = {} if ordered or not self._transitive(name) else _equal(left, right)
        rows = [place for place in range(len(left)) if place not in equal]
        columns = [place for place in range(len(right)) if place not in equal.values()]
        if not ordered:  # then the order decides nothing, nor between pairs of equal credit
            rows.sort(key=lambda place: repr(left[place].value))
            columns.sort(key=lambda place: repr(right[place].value))
        matches = [[self.match(left[i], right[j]) for j in columns] for i in rows]
        credit = np.array([[_credit(leaves) for leaves in row] for row in matches]).reshape(len(rows), len(columns))
        chosen = _in_order(credit) if ordered else zip(*linear_sum_assignment(credit, maximize=True), strict=True)
        pairs = {i: (j, self.match(left[i], right[j])) for i, j in equal.items()}
        return pairs | {rows[a]: (columns[b], matches[a][b]) for a, b in chosen if _belong(matches[a][b])}

    def _transitive(self, name: str) -> bool:
        """Whether values of a list that are both right for a third are right for each other.

        Then equal items belong together: nothing gives more credit.
        """
        within = (chosen for field, chosen in self.named.items() if field == name or field.startswith(f"{name}."))
        return all(chosen in TRANSITIVE for chosen in within)

    def _empty(self, gold: Item, pred: Item, in_gold: bool, in_pred: bool) -> Match:
        """The leaf that an empty object or list inside a record is, where empty is a value."""
        if self.blank == "same" or not gold.path or (in_gold and in_pred):
            return []
        if not in_gold and not in_pred:
            return [Leaf("", 1.0, gold, pred, 1.0)]
        if in_gold:
            return [Leaf("invented_field", 0.0, None, pred, part=pred)]
        return [Leaf("missing_field", 0.0, gold, None, part=gold)]

    def _part(self, part: Item, kind: str, *, in_gold: bool = True) -> Match:
        """The leaves of a part that the other side lacks or has as something else."""
        leaves = self.leaves(part)
        if in_gold:
            return [Leaf(kind, 0.0, leaf, None, part=part) for leaf in leaves]
        return [Leaf(kind, 0.0, None, leaf, part=part) for leaf in leaves]


def match(read: Read, comparing: Comparing) -> Match:
    """The leaves of a pair of records; those of a prediction that does not count are missing.

    >>> gold = {"no": "7", "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}]}
    >>> pred = {"no": "7", "lines": [{"what": "jam", "qty": 3}]}
    >>> [(leaf.gold.path, leaf.kind) for leaf in match(Read(gold, pred), Comparing()) if leaf.kind]
    [('lines[0].what', 'missing_item'), ('lines[0].qty', 'missing_item'), ('lines[1].qty', 'wrong_value')]
    """
    empty: Any = [] if isinstance(read.gold, list) else {}
    return comparing.match(Item(read.gold), Item(empty if read.pred is None else read.pred))


def _credit(leaves: Match) -> float:
    """The credit of a pair of items; likeness decides between pairs of equal credit."""
    return sum(leaf.credit + TIE * leaf.likeness for leaf in leaves)


def _belong(leaves: Match) -> bool:
    """Whether two items are the same item: something in them is right, or most of it is nearly."""
    return any(leaf.credit for leaf in leaves) or sum(leaf.likeness for leaf in leaves) >= NEAR * max(1, len(leaves))


def _equal(left: list[Item], right: list[Item]) -> dict[int, int]:
    """The places of items that both sides have, each once."""
    places: dict[str, list[int]] = {}
    for at, item in enumerate(right):
        places.setdefault(repr(item.value), []).append(at)
    return {at: places[key].pop(0) for at, item in enumerate(left) if places.get(key := repr(item.value))}


def _in_order(credit: Any) -> list[tuple[int, int]]:
    """The assignment of most credit in which no two pairs cross."""
    # As in an edit distance: best[i, j] is the most credit of the first i and j items, each pair or gap on the way.
    n, m = credit.shape
    best = np.zeros((n + 1, m + 1))
    for i, j in np.ndindex(n, m):
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
    return pairs

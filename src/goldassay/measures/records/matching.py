"""Two records, leaf by leaf: what agrees, and what is missing, invented or wrong; and as trees: how far they differ.

Objects are compared field by field. Items of lists are aligned one to one so that most credit is given, so a missing
line item is one missing item and not twelve wrong fields.

The tree edit distance is that of Zhang and Shasha, with the trees and costs of Donut's evaluation. A record becomes an
ordered tree: keys are nodes (sorted by length and name), objects in lists are ``<subtree>`` nodes, scalars are leaves
with their text. Empty values, and items that are neither texts nor numbers in lists of scalars, are left out. Inserting
or deleting a leaf costs its length, another node 1; leaves are changed at their edit distance, a leaf and a node at the
leaf's length and 1, two nodes at 1 if their names differ.

Source: Kim et al. 2022, OCR-free Document Understanding Transformer (Donut), section 3; Zhang & Shasha 1989
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any, NamedTuple

import numpy as np
import scipy
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from goldassay._support.jsonl import JSON
from goldassay.core.evidence import Floats
from goldassay.core.tally import Counts
from goldassay.measures.records.comparators import Comparator, by_value, comparator, difference, folded, json_type
from goldassay.measures.records.records import Read

ROOT = "(record)"  # the field of a record that is a list of values
TRANSITIVE = ("exact", "normalised", "enum", "identifier", "number", "date")  # without a tolerance


class FieldItem(NamedTuple):
    """A value in a record, its field (a dotted path without indices) and its place."""

    value: Any
    field: str = ""
    path: str = ""


class Leaf(NamedTuple):
    """A leaf of one or both records; None on a side that lacks it.

    ``kind`` is "" if it is right, else the kind of the error; ``subtree`` is the missing or invented value that it
    belongs to.
    """

    kind: str
    credit: float
    gold: FieldItem | None
    pred: FieldItem | None
    likeness: float = 0.0
    subtree: FieldItem | None = None

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
class RecordComparison:
    """How leaves are compared.

    ``named`` are the comparators of fields, as text or as functions; ``blank`` says which values are not leaves
    (``same``: absent, null and empty are one; ``null``: absent and null are; ``apart``: none are); ``ordered`` are the
    lists whose order counts, or ``all``.
    """

    named: Mapping[str, str | Comparator] = field(default_factory=dict)
    blank: str = "same"
    ordered: Collection[str] = ()

    def stated(self, value: JSON) -> bool:
        """Whether a value is there: not blank."""
        if self.blank != "same" or value is None:
            return value is not None or self.blank == "apart"
        if isinstance(value, (dict, list)):
            return any(map(self.stated, value.values() if isinstance(value, dict) else value))
        return not isinstance(value, str) or bool(value.strip())

    def items(self, item: FieldItem) -> list[FieldItem]:
        """The stated values inside an object or a list."""
        value, name, path = item
        if isinstance(value, dict):
            dots = f"{name}." if name else "", f"{path}." if path else ""
            inside = [FieldItem(inner, *(f"{dotted}{key}" for dotted in dots)) for key, inner in value.items()]
        else:
            elements = enumerate(value if isinstance(value, list) else ())
            inside = [FieldItem(element, name, f"{path}[{index}]") for index, element in elements]
        return [child for child in inside if self.stated(child.value)]

    def leaves(self, item: FieldItem) -> Iterator[FieldItem]:
        """The leaves of a value."""
        inside = self.items(item)
        for child in inside:
            yield from self.leaves(child)
        if not inside and (item.path or not isinstance(item.value, (dict, list))):
            yield item

    def match(self, gold: FieldItem, pred: FieldItem) -> Match:
        """The leaves of two values."""
        small = 0.25  # the likeness of equal numbers, which are more often equal by chance than texts
        kinds = json_type(gold.value), json_type(pred.value)
        if {"object", "array"} & {*kinds}:
            if kinds[0] == kinds[1]:
                return self._inside(gold, pred, kinds[0])
            return [*self._part(gold, "wrong_type"), *self._part(pred, "wrong_type", False)]
        chosen = self.named.get(gold.field or ROOT) or by_value(gold.value)
        credit = float((comparator(chosen) if isinstance(chosen, str) else chosen)(gold.value, pred.value))
        texts = kinds == ("string", "string")
        if credit >= 1:
            return [Leaf("", credit, gold, pred, 1.0 if texts else small)]
        likeness = fuzz.ratio(folded(gold.value), folded(pred.value)) / 100 if texts else 0.0
        return [Leaf(difference(gold.value, pred.value), credit, gold, pred, likeness)]

    def _inside(self, gold: FieldItem, pred: FieldItem, kind: str) -> Match:
        """The leaves of two objects, or of two lists, in the order of gold."""
        left = self.items(gold)
        right = self.items(pred)
        if kind == "array":
            pairs = self._aligned(gold.field, left, right)
            kinds = ("missing_item", "spurious_item")
        else:
            fields = {item.field: index for index, item in enumerate(right)}
            common = {index: fields[item.field] for index, item in enumerate(left) if item.field in fields}
            pairs = {i: (j, self.match(left[i], right[j])) for i, j in common.items()}
            kinds = ("missing_field", "invented_field")
        leaves: Match = []
        if self.blank != "same" and gold.path and not (left and right):  # then an empty object or list is a value
            if left or right:
                leaves = self._part(pred, "invented_field", False) if left else self._part(gold, "missing_field")
            else:
                leaves = [Leaf("", 1.0, gold, pred, 1.0)]
        for index, item in enumerate(left):
            leaves += pairs[index][1] if index in pairs else self._part(item, kinds[0])
        for index in sorted({*range(len(right))} - {j for j, _ in pairs.values()}):
            leaves += self._part(right[index], kinds[1], False)
        return leaves

    def _aligned(self, name: str, left: list[FieldItem], right: list[FieldItem]) -> dict[int, tuple[int, Match]]:
        """For items of a list the place of the item that belongs to each, and the leaves of both."""
        tie = 1e-6  # what likeness weighs next to credit
        near = 0.5  # the likeness from which two items without a common value are one wrong item, not two
        ordered = self.ordered == "all" or name in self.ordered
        within = (chosen for field, chosen in self.named.items() if field == name or field.startswith(f"{name}."))
        equal = {}
        if not ordered and all(chosen in TRANSITIVE for chosen in within):
            # values that are both right for a third are right for each other: equal items belong together
            places: dict[str, list[int]] = {}
            for at, item in enumerate(right):
                places.setdefault(repr(item.value), []).append(at)
            equal = {at: places[key].pop(0) for at, item in enumerate(left) if places.get(key := repr(item.value))}
        rows = [index for index in range(len(left)) if index not in equal]
        columns = [index for index in range(len(right)) if index not in equal.values()]
        if not ordered:  # then the order decides nothing, nor between pairs of equal credit
            rows.sort(key=lambda index: repr(left[index].value))
            columns.sort(key=lambda index: repr(right[index].value))
        matches = [[self.match(left[i], right[j]) for j in columns] for i in rows]
        # likeness decides between pairs of equal credit
        credit = np.array([[sum(x.credit + tie * x.likeness for x in leaves) for leaves in row] for row in matches])
        credit = credit.reshape(len(rows), len(columns))
        chosen = (
            _in_order(credit) if ordered else np.transpose(scipy.optimize.linear_sum_assignment(credit, maximize=True))
        )
        pairs = {i: (j, self.match(left[i], right[j])) for i, j in equal.items()}
        for a, b in chosen:
            leaves = matches[a][b]
            # two items are the same item if something in them is right, or most of it is nearly
            alike = sum(leaf.likeness for leaf in leaves) >= near * max(1, len(leaves))
            if alike or any(leaf.credit for leaf in leaves):
                pairs[rows[a]] = columns[b], leaves
        return pairs

    def _part(self, subtree: FieldItem, kind: str, in_gold: bool = True) -> Match:
        """The leaves of a part that the other side lacks or has as something else."""
        pairs = [(leaf, None) if in_gold else (None, leaf) for leaf in self.leaves(subtree)]
        return [Leaf(kind, 0.0, gold, pred, subtree=subtree) for gold, pred in pairs]


def match(read: Read, comparing: RecordComparison) -> Match:
    """The leaves of a pair of records; those of a prediction that does not count are missing.

    >>> gold = {"no": "7", "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}]}
    >>> pred = {"no": "7", "lines": [{"what": "jam", "qty": 3}]}
    >>> [(leaf.gold.path, leaf.kind) for leaf in match(Read(gold, pred), RecordComparison()) if leaf.kind]
    [('lines[0].what', 'missing_item'), ('lines[0].qty', 'missing_item'), ('lines[1].qty', 'wrong_value')]
    """
    empty: object = [] if isinstance(read.gold, list) else {}
    return comparing.match(FieldItem(read.gold), FieldItem(empty if read.pred is None else read.pred))


def _in_order(credit: Floats) -> list[tuple[int, int]]:
    """The assignment of most credit in which no two pairs cross."""
    # As in an edit distance: best[i, j] is the most credit of the first i and j items, each pair or gap on the way.
    n, m = credit.shape
    best = np.zeros((n + 1, m + 1))
    for i, j in np.ndindex(n, m):
        best[i + 1, j + 1] = max(best[i, j] + credit[i, j], best[i, j + 1], best[i + 1, j])
    pairs: list[tuple[int, int]] = []
    i = n
    j = m
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i -= 1
            j -= 1
            pairs.append((i, j))
    return pairs


class Node(NamedTuple):
    """A node: its name, or a leaf's text, and its children."""

    label: str
    leaf: bool = False
    children: tuple[Node, ...] = ()


def tree_accuracy(gold: JSON, pred: JSON) -> float | None:
    """1 − TED(pred, gold) / TED(empty, gold), at least 0; None if both are empty, 0 if only gold is.

    >>> tree_accuracy({"menu": [{"name": "cake"}]}, {"menu": [{"name": "cafe"}]})   # 1 edit of 3 nodes and 4 letters
    0.8571428571428572
    """
    expected = tree(gold)
    predicted = tree(pred)
    size = sum(_postorder(expected)[1][:-1])  # from the bare root all other nodes are inserted
    if not size:
        return 0.0 if predicted.children else None
    return 1.0 if expected == predicted else max(0.0, 1 - tree_distance(predicted, expected) / size)


def tree(value: JSON, name: str = "<root>") -> Node:
    """The tree of a value, in Donut's normal form."""
    children: list[Node] = []
    if isinstance(value, dict):
        parts = ((key, value[key]) for key in sorted(value, key=lambda key: (len(key), key)))
        children = [tree([field] if isinstance(field, dict) else field, key) for key, field in parts]
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        children = [tree(item, "<subtree>") for item in value]
    elif isinstance(value, list):
        texts = (str(item).strip() for item in value if type(item) in (str, int, float))
        children = [Node(text, leaf=True) for text in texts if text]
    elif value:
        return Node(name, children=(Node(str(value).strip(), leaf=True),))
    return Node(name, children=tuple(node for node in children if node.leaf or node.children))


def tree_distance(a: Node, b: Node) -> int:
    """The least cost of edits that turn one tree into the other."""
    # Every pair of keyroots (the root, and nodes with a left sibling) gets a table of forest distances, built from the
    # leaves up; where both forests are whole trees the result is the distance of two subtrees, which later tables use.
    nodes, deletes, first = _postorder(a)
    other_nodes, inserts, start = _postorder(b)
    trees = [[0] * len(other_nodes) for _ in nodes]
    for i, j in product(_keyroots(first), _keyroots(start)):
        top = first[i]
        left = start[j]
        table = [[0, *accumulate(inserts[left : j + 1])]]
        for x in range(top, i + 1):
            above = table[-1]
            row = [above[0] + deletes[x]]
            for y in range(left, j + 1):
                are_trees = first[x] == top and start[y] == left
                before = above[y - left] if are_trees else table[first[x] - top][start[y] - left]
                matched = before + (_change(nodes[x], other_nodes[y]) if are_trees else trees[x][y])
                row.append(min(matched, above[y - left + 1] + deletes[x], row[-1] + inserts[y]))
                if are_trees:
                    trees[x][y] = row[-1]
            table.append(row)
    return trees[-1][-1]


def _keyroots(first: Sequence[int]) -> list[int]:
    """The last node, in postorder, of those that share a leftmost leaf."""
    return sorted({leaf: index for index, leaf in enumerate(first)}.values())


def _change(a: Node, b: Node) -> int:
    """The cost of turning one node into another."""
    if a.leaf and b.leaf:
        return Levenshtein.distance(a.label, b.label)
    if a.leaf or b.leaf:
        return 1 + len(a.label if a.leaf else b.label)
    return int(a.label != b.label)


def _postorder(root: Node) -> tuple[list[Node], list[int], list[int]]:
    """The nodes of a tree, children first; of each its cost and the place of the leftmost leaf under it."""
    nodes: list[Node] = []
    first: list[int] = []

    def walk(node: Node) -> int:
        starts = [walk(child) for child in node.children]
        nodes.append(node)
        first.append(starts[0] if starts else len(first))
        return first[-1]

    walk(root)
    return nodes, [len(node.label) if node.leaf else 1 for node in nodes], first

"""The tree edit distance of Zhang and Shasha, with the trees and costs of Donut's evaluation.

A record becomes an ordered tree: keys are nodes (sorted by length and name), objects in lists are ``<subtree>`` nodes,
scalars are leaves with their text. Empty values, and items that are neither texts nor numbers in lists of scalars, are
left out. Inserting or deleting a leaf costs its length, another node 1; leaves are changed at their edit distance, a
leaf and a node at the leaf's length and 1, two nodes at 1 if their names differ.

Source: Kim et al. 2022, OCR-free Document Understanding Transformer (Donut), section 3; Zhang & Shasha 1989
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein


class Node(NamedTuple):
    """A node: its name, or a leaf's text, and its children."""

    label: str
    leaf: bool = False
    children: tuple[Node, ...] = ()


def accuracy(gold: Any, pred: Any) -> float | None:
    """1 − TED(pred, gold) / TED(empty, gold), at least 0; None if both are empty, 0 if only gold is.

    >>> accuracy({"menu": [{"name": "cake"}]}, {"menu": [{"name": "cafe"}]})      # 1 edit of 3 nodes and 4 letters
    0.8571428571428572
    """
    left, right = tree(normalised(gold)), tree(normalised(pred))
    size = sum(_postorder(left).costs[:-1])  # from the bare root all other nodes are inserted
    if not size:
        return 0.0 if right.children else None
    return 1.0 if left == right else max(0.0, 1 - distance(right, left) / size)


def normalised(value: Any) -> Any:
    """Donut's normal form: every value a list, keys sorted, nothing empty."""
    if not value:
        return {}
    if isinstance(value, dict):
        inner = {key: normalised(value[key]) for key in sorted(value, key=lambda key: (len(key), key))}
        return {key: part if isinstance(part, list) else [part] for key, part in inner.items() if part}
    if isinstance(value, list):
        if all(isinstance(item, dict) for item in value):
            return [part for item in value if (part := normalised(item))]
        return [text for item in value if type(item) in (str, int, float) and (text := str(item).strip())]
    return [str(value).strip()]


def tree(value: Any, name: str = "<root>") -> Node:
    """The tree of a record in normal form."""
    if isinstance(value, dict):
        return Node(name, children=tuple(tree(part, key) for key, part in value.items()))
    if all(isinstance(item, dict) for item in value):
        return Node(name, children=tuple(tree(item, "<subtree>") for item in value))
    return Node(name, children=tuple(Node(str(item), leaf=True) for item in value))


def distance(a: Node, b: Node) -> int:
    """The least cost of edits that turn one tree into the other."""
    # Every pair of keyroots (the root, and nodes with a left sibling) gets a table of forest distances, built from the
    # leaves up; where both forests are whole trees the result is the distance of two subtrees, which later tables use.
    left, right = _postorder(a), _postorder(b)
    change = [[_change(node, other) for other in right.nodes] for node in left.nodes]
    trees = [[0] * len(right.nodes) for _ in left.nodes]
    for i in _keyroots(left.first):
        for j in _keyroots(right.first):
            _forests(left, right, i, j, change, trees)
    return trees[-1][-1]


class Order(NamedTuple):
    """The nodes of a tree, children first; of each its cost, and the place of the leftmost leaf under it."""

    nodes: list[Node]
    costs: list[int]
    first: list[int]


def _forests(left: Order, right: Order, i: int, j: int, change: list[list[int]], trees: list[list[int]]) -> None:
    top, side = left.first[i], right.first[j]
    inserts = right.costs[side : j + 1]
    row = [0]
    for cost in inserts:
        row.append(row[-1] + cost)
    table = [row]
    for node in range(top, i + 1):
        above, cost, whole = table[-1], left.costs[node], left.first[node] == top
        before, changes, own = table[left.first[node] - top], change[node], trees[node]
        row = [above[0] + cost]
        for other, begin in zip(range(side, j + 1), right.first[side : j + 1], strict=True):
            y = other - side
            best = min(above[y + 1] + cost, row[y] + inserts[y])
            if whole and begin == side:
                own[other] = best = min(best, above[y] + changes[other])
            else:
                best = min(best, before[begin - side] + own[other])
            row.append(best)
        table.append(row)


def _postorder(root: Node) -> Order:
    order = Order([], [], [])

    def walk(node: Node) -> int:
        starts = [walk(child) for child in node.children]
        order.nodes.append(node)
        order.costs.append(len(node.label) if node.leaf else 1)
        order.first.append(starts[0] if starts else len(order.first))
        return order.first[-1]

    walk(root)
    return order


def _keyroots(first: list[int]) -> list[int]:
    return sorted({start: place for place, start in enumerate(first)}.values())


@lru_cache(maxsize=65536)
def _edits(a: str, b: str) -> int:
    return int(Levenshtein.distance(a, b))


def _change(a: Node, b: Node) -> int:
    if a.leaf and b.leaf:
        return _edits(a.label, b.label)
    if a.leaf or b.leaf:
        return 1 + len((a if a.leaf else b).label)
    return int(a.label != b.label)

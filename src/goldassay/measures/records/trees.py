"""The tree edit distance of Zhang and Shasha, with the trees and costs of Donut's evaluation.

A record becomes an ordered tree: keys are nodes (sorted by length and name), objects in lists are ``<subtree>`` nodes,
scalars are leaves with their text. Empty values, and items that are neither texts nor numbers in lists of scalars, are
left out. Inserting or deleting a leaf costs its length, another node 1; leaves are changed at their edit distance, a
leaf and a node at the leaf's length and 1, two nodes at 1 if their names differ.

Source: Kim et al. 2022, OCR-free Document Understanding Transformer (Donut), section 3; Zhang & Shasha 1989
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from goldassay.statistics.evidence import Ints


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
    left, right = tree(gold), tree(pred)
    size = int(_postorder(left).costs[:-1].sum())  # from the bare root all other nodes are inserted
    if not size:
        return 0.0 if right.children else None
    return 1.0 if left == right else max(0.0, 1 - distance(right, left) / size)


def tree(value: Any, name: str = "<root>") -> Node:
    """The tree of a value, in Donut's normal form."""
    return Node(name, children=tuple(_children(value)))


def _children(value: Any) -> Iterator[Node]:
    if isinstance(value, dict):
        for key in sorted(value, key=lambda key: (len(key), key)):
            part = value[key]
            node = tree([part] if isinstance(part, dict) else part, key)
            if node.children:
                yield node
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        yield from (node for item in value if (node := tree(item, "<subtree>")).children)
    elif isinstance(value, list):
        texts = (str(item).strip() for item in value if type(item) in (str, int, float))
        yield from (Node(text, leaf=True) for text in texts if text)
    elif value:
        yield Node(str(value).strip(), leaf=True)


def distance(a: Node, b: Node) -> int:
    """The least cost of edits that turn one tree into the other."""
    # Every pair of keyroots (the root, and nodes with a left sibling) gets a table of forest distances, built from the
    # leaves up; where both forests are whole trees the result is the distance of two subtrees, which later tables use.
    # Keyroots of one size lie in each other's tables nowhere: their tables are filled together, row by row.
    left, right = _postorder(a), _postorder(b)
    change, trees = _changes(left, right), np.zeros((len(left.nodes), len(right.nodes)), int)
    groups: dict[int, list[int]] = {}
    for j in _keyroots(right.first):
        groups.setdefault(j - int(right.first[j]), []).append(j)
    for i in _keyroots(left.first):
        for size, ends in sorted(groups.items()):
            _forests(left, right, i, np.array(ends)[:, None] + np.arange(-size, 1), change, trees)
    return int(trees[-1, -1])


class Order(NamedTuple):
    """The nodes of a tree, children first; of each its cost and the place of the leftmost leaf under it."""

    nodes: list[Node]
    costs: Ints
    first: Ints


def _forests(left: Order, right: Order, i: int, columns: Ints, change: Ints, trees: Ints) -> None:
    """Fill the tables of one keyroot and of several of the other tree, whose nodes are the ``columns``."""
    top, begins = int(left.first[i]), right.first[columns] - columns[:, :1]
    whole = begins == 0
    inserts = np.pad(np.cumsum(right.costs[columns], axis=1), ((0, 0), (1, 0)))
    table = [inserts]
    for node in range(top, i + 1):
        above, cost, first = table[-1], left.costs[node], int(left.first[node]) - top
        matched = np.take_along_axis(table[first], begins, 1) + trees[node][columns]
        if first == 0:
            matched = np.where(whole, above[:, :-1] + change[node][columns], matched)
        best = np.hstack([above[:, :1] + cost, np.minimum(above[:, 1:] + cost, matched)])
        row = inserts + np.minimum.accumulate(best - inserts, axis=1)  # or an insertion after an earlier column
        if first == 0:
            trees[node, columns[whole]] = row[:, 1:][whole]
        table.append(row)


def _postorder(root: Node) -> Order:
    nodes: list[Node] = []
    first: list[int] = []

    def walk(node: Node) -> int:
        starts = [walk(child) for child in node.children]
        nodes.append(node)
        first.append(starts[0] if starts else len(first))
        return first[-1]

    walk(root)
    return Order(nodes, np.array([len(node.label) if node.leaf else 1 for node in nodes]), np.array(first))


def _keyroots(first: Ints) -> list[int]:
    return sorted({start: place for place, start in enumerate(first.tolist())}.values())


def _changes(left: Order, right: Order) -> Ints:
    """What it costs to turn each node of one tree into each of the other."""
    texts = [[node.label for node in side.nodes] for side in (left, right)]
    a, b = (np.array([node.leaf for node in side.nodes]) for side in (left, right))
    edits = cdist(*texts, scorer=Levenshtein.distance, dtype=np.int64)
    mixed = 1 + np.where(a[:, None], left.costs[:, None], right.costs[None])
    return np.where(a[:, None] & b, edits, np.where(a[:, None] | b, mixed, edits > 0))

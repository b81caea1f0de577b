"""Which label stands against which: the same, in one group, or among the secondary labels.

One example has one gold label and one predicted one, so there is nothing to choose; `Batch` holds which gold label got
which prediction over many examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from goldassay.measures.classification.records import Read, institutions
from goldassay.measures.classification.tally import NONE, OTHER
from goldassay.tally import Confusion

INSTITUTIONS = "institutions"
Listed = str | tuple[str, ...]
Hierarchy = str | tuple[tuple[str, tuple[str, ...]], ...]


@lru_cache(maxsize=64)
def groups(hierarchy: Hierarchy) -> dict[str, str]:
    """Label to group."""
    found = institutions().hierarchy if isinstance(hierarchy, str) else hierarchy
    return {label: group for group, labels in found for label in labels}


def same_group(read: Read, group: dict[str, str]) -> bool:
    """Whether both labels are equal or stand in one group; a label outside the hierarchy has no group."""
    return read.gold == read.pred or (read.gold in group and group[read.gold] == group.get(read.pred))


def labels_shared(read: Read) -> tuple[int, int, int]:
    """Labels on both sides, on the predicted one alone, on gold's alone."""
    both = len(read.gold_set & read.pred_set)
    return both, len(read.pred_set) - both, len(read.gold_set) - both


class Batch:
    """Many examples: their labels, and which gold label got which prediction.

    >>> from goldassay.measures.classification.records import sides
    >>> batch = Batch([sides("M", "M"), sides("M", "G")])
    >>> batch.pairs["M", "G"].tolist()
    [0, 1]
    """

    def __init__(self, read: Sequence[Read]) -> None:
        self.read = read

    @cached_property
    def pairs(self) -> dict[tuple[str, str], NDArray[np.int8]]:
        """For each (gold, predicted) that occurs, 1 at the examples that have it; in alphabetical order."""
        known: dict[tuple[str, str], int] = {}
        codes = np.array([known.setdefault((one.gold, one.pred), len(known)) for one in self.read], dtype=np.int64)
        return {pair: (codes == code).astype(np.int8) for pair, code in sorted(known.items())}


def codes(labels: Listed) -> tuple[str, ...]:
    """A list of labels as its codes; () is those seen."""
    return labels if isinstance(labels, tuple) else institutions().codes if labels == INSTITUTIONS else ()


def confusion(read: Sequence[Read]) -> Confusion:
    """How often each gold label got each prediction."""
    return Confusion(Counter((one.gold, one.pred) for one in read))


def matrix(seen: Confusion, labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows of gold, columns of predictions, over ``labels``; OTHER takes what they do not have, where there is any."""
    rest = OTHER if OTHER not in labels else "OTHER (outside the list)"
    known = set(labels) - {NONE}
    pairs = Counter[tuple[str, str]]()
    for (gold, pred), count in seen.items():
        pairs[gold if gold in known else rest, pred if pred in known else rest] += int(count)
    names = [*labels, *([rest] if any(rest in pair for pair in pairs) else [])]
    return {gold: {pred: pairs[gold, pred] for pred in names} for gold in names}

"""Where judged documents stand: by query and rank, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # numpy arrays of one dimension


@dataclass(frozen=True, slots=True)
class Hits:
    """Judged documents that were retrieved, by query and rank (from 0)."""

    query: Array
    rank: Array
    grade: Array

    def where(self, keep: Array) -> Hits:
        """Those for which ``keep`` holds."""
        return self if keep.all() else Hits(self.query[keep], self.rank[keep], self.grade[keep])


def places(query: Array, n: int) -> Array:
    """The place of each entry within its query, from 0; entries of a query stand together.

    >>> places(np.array([0, 0, 2]), 3).tolist()
    [0, 1, 0]
    """
    sizes = np.bincount(query, minlength=n)
    return np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)

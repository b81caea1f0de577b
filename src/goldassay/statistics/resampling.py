"""Evidence as a matrix: what bootstraps and permutations work on.

A row an example (or a cluster), a column a number of its evidence; ``weights @ matrix`` is the evidence of a resample,
and the tally's own ``value`` turns it into the resampled values, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError

Floats = NDArray[np.float64]
Path = tuple[str, ...]
BLOCK = 512  # resamples at a time: the counts of a block stay in the cache


def flat(state: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, float]]:
    """The numbers of a nested state with their paths."""
    for key, value in state.items():
        if isinstance(value, Mapping):
            yield from flat(value, (*path, key))
        else:
            yield (*path, key), float(value)


def nested(paths: Sequence[Path], columns: Any) -> dict[str, Any]:
    """The nested state that these paths and columns came from."""
    out: dict[str, Any] = {}
    for path, column in zip(paths, columns, strict=True):
        here = out
        for key in path[:-1]:
            here = here.setdefault(key, {})
        here[path[-1]] = column
    return out


class Evidences:
    """The evidence of many examples: a matrix, and how a row of sums becomes a value."""

    def __init__(self, tallies: Sequence[Any], zero: Any, clusters: Sequence[Any] | None = None) -> None:
        if not tallies:
            raise GoldassayError("no evidence: there are no examples")
        states = [dict(flat(tally.state())) for tally in tallies]
        self.zero = zero
        self.paths = sorted({path for state in states for path in state})
        place = {path: index for index, path in enumerate(self.paths)}
        self.matrix: Floats = np.zeros((len(tallies), len(self.paths)))
        for row, state in enumerate(states):
            for path, number in state.items():
                self.matrix[row, place[path]] = number
        if clusters is not None:
            self.matrix = clustered(self.matrix, clusters)

    def values(self, sums: Floats) -> Floats:
        """The value of each row of summed evidence."""
        if not self.paths:
            return np.ones(len(sums))
        value = self.zero.from_state(nested(self.paths, np.ascontiguousarray(sums.T))).value
        return np.broadcast_to(np.asarray(value, dtype=float), (len(sums),))

    @property
    def value(self) -> float:
        """The corpus value."""
        return float(self.values(self.matrix.sum(axis=0, keepdims=True))[0])


def clustered(matrix: Floats, clusters: Sequence[Any]) -> Floats:
    """The rows summed within clusters (documents)."""
    if len(clusters) != len(matrix):
        raise GoldassayError(f"{len(clusters)} clusters for {len(matrix)} examples; the lengths must agree")
    names: dict[Any, int] = {}
    index = [names.setdefault(name, len(names)) for name in clusters]
    out = np.zeros((len(names), matrix.shape[1]))
    np.add.at(out, index, matrix)
    return out


def bootstrap(evidences: Evidences, resamples: int, seed: int) -> Floats:
    """The values of ``resamples`` resamples, drawn as multinomial counts over the distinct rows."""
    rows, counts = np.unique(evidences.matrix, axis=0, return_counts=True)
    n = int(counts.sum())
    rng = np.random.default_rng(seed)
    out = np.empty(resamples)
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        drawn = rng.multinomial(n, counts / n, size=size)
        out[start : start + size] = evidences.values(drawn.astype(float) @ rows)
    return out


def swaps(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of random swaps (0 or 1) of n pairs."""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        bits = np.unpackbits(rng.integers(0, 256, size=(size, -(-n // 8)), dtype=np.uint8), axis=1)
        yield bits[:, :n].astype(float)

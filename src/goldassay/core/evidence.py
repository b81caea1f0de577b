"""Evidence as a matrix: what bootstraps, permutations and standard errors work on.

A row is an example (or a cluster), a column a number of its evidence. ``weights @ matrix`` is the evidence of a
resample, and the tally's own ``value`` turns it into the resampled values, all at once.

`contributions` says what each example adds to the difference of two corpus values. A value such as micro-F1 is a
function V of the summed evidence, not a mean over examples, but tests that look at one example after the other need a
mean. The derivative of V at the summed evidence, times an example's own evidence, is what the example adds: the
influence function (Hampel 1974; Jaeckel 1972), and for a difference the Aumann–Shapley value (the derivative averaged
on the way from B to A), so that the parts add up to the whole. Derivatives are central differences of the tally's own
``value``: no measure is defined twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from goldassay._support.exceptions import GoldassayError
from goldassay.core.tally import Confusion, Mean, Number, Path, Sums, T, Tally, flat, nested

LEVEL_COLUMN = "level"  # the column of a tally that is not an amount, so that no weight multiplies it
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Values = Sequence[Any] | NDArray[Any] | Tally


class Evidences:
    """The evidence of many examples: a matrix, and how a row of sums becomes a value.

    The examples are tallies, or one tally whose fields are arrays (`stacked`). Without ``zero`` they are plain numbers,
    and their value is the mean. Examples of one cluster (document) share a row; ``unit`` is the noun for a row.

    Attributes:
        matrix: Of shape (examples or clusters, numbers): the evidence, a column for each number of the tally's state.
        paths: The keys of the state that lead to each column.
    """

    def __init__(self, tallies: Values, zero: Tally | None = None, clusters: Sequence[object] | None = None) -> None:
        self.zero: Tally = Mean() if zero is None else zero
        self.paths, matrix = _numbers(tallies) if zero is None else _matrix(tallies)
        self.matrix = matrix if clusters is None else clustered(matrix, clusters)
        self.unit = "documents" if len(self.matrix) < len(matrix) else "examples"

    @classmethod
    def paired(
        cls, a: Values, b: Values, zero: Tally | None = None, clusters: Sequence[object] | None = None
    ) -> tuple[Evidences, Floats, Floats]:
        """The evidence of two systems on the same examples, and the rows of each, of the same shape.

        Raises:
            GoldassayError: The sides, or the clusters, are of different lengths.
        """
        joint = cls(a, zero)
        second = cls(b, zero)
        sizes = len(joint.matrix), len(second.matrix)
        if sizes[0] != sizes[1]:
            raise GoldassayError(f"a paired comparison needs the same examples: {sizes[0]} against {sizes[1]}")
        paths = sorted({*joint.paths, *second.paths})
        rows = []
        for evidences in (joint, second):
            columns = dict(zip(evidences.paths, evidences.matrix.T, strict=True))
            absent = np.zeros(sizes[0])
            matrix = np.array([columns.get(path, absent) for path in paths]).T.reshape(sizes[0], len(paths))
            rows.append(matrix if clusters is None else clustered(matrix, clusters))
        joint.paths = paths
        joint.matrix = np.concatenate(rows)
        joint.unit = "documents" if len(rows[0]) < sizes[0] else "examples"
        return joint, np.ascontiguousarray(rows[0]), np.ascontiguousarray(rows[1])

    def tally(self, rows: Floats) -> Tally:
        """One tally whose fields are the columns of these rows."""
        return self.zero.from_state(nested(dict(zip(self.paths, np.ascontiguousarray(rows.T), strict=True))))

    def values(self, sums: Floats) -> Floats:
        """The value of each row of summed evidence: of shape (rows, numbers), the values of shape (rows,).

        A user's own tally may compute its value for plain numbers alone (``if``, ``max``, ``math``): then row by row.
        """
        if not self.paths:
            return np.ones(len(sums))
        try:
            return np.broadcast_to(np.asarray(self.tally(sums).value, dtype=float), (len(sums),))
        except (TypeError, ValueError):
            states = (nested(dict(zip(self.paths, row, strict=True))) for row in sums.tolist())
            return np.array([self.zero.from_state(state).value for state in states], dtype=float)

    def of(self, rows: Floats) -> float:
        """The corpus value of these rows."""
        return float(self.values(rows.sum(axis=0, keepdims=True))[0])

    @property
    def value(self) -> float:
        """The corpus value of all rows."""
        return self.of(self.matrix)


def _numbers(values: Values) -> tuple[list[Path], Floats]:
    """Plain numbers as the evidence of their mean."""
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise GoldassayError("the values are not all numbers; with tallies, give their zero too") from None
    if not numbers.size:
        raise GoldassayError("no evidence: there are no examples")
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise GoldassayError("a value is not a finite number; leave such examples out and say so")
    return [("total",), ("weight",)], np.column_stack([numbers, np.ones(len(numbers))])


def _matrix(tallies: Values | Tally) -> tuple[list[Path], Floats]:
    """A row for each tally, or each entry of one whose fields are arrays; a path that a tally lacks is 0."""
    if isinstance(tallies, Tally):
        columns = flat(tallies.state())
        if not any(map(np.size, columns.values())):
            raise GoldassayError("no evidence: there are no examples")
        return list(columns), np.column_stack(np.broadcast_arrays(*columns.values())).astype(float)
    if not len(tallies):
        raise GoldassayError("no evidence: there are no examples")
    kind = type(tallies[0])
    if issubclass(kind, Sums) and all(type(tally) is kind for tally in tallies):
        names = sorted(kind.__dataclass_fields__)
        rows = np.array(list(map(attrgetter(*names), tallies)), dtype=float)
        return [(name,) for name in names], rows.reshape(len(tallies), len(names))
    states = [flat(tally.state()) for tally in tallies]
    paths = sorted({path for state in states for path in state})
    matrix = np.array([[state.get(path, 0.0) for path in paths] for state in states], float)
    return paths, matrix.reshape(len(states), len(paths))


def clustered(matrix: Floats, clusters: Sequence[object]) -> Floats:
    """The rows summed within clusters (documents): an array of shape (clusters, numbers).

    Raises:
        GoldassayError: There is not one cluster an example.
    """
    if len(clusters) != len(matrix):
        raise GoldassayError(f"{len(clusters)} clusters for {len(matrix)} examples; the lengths must agree")
    names: dict[Hashable, int] = {}
    index = [names.setdefault(name, len(names)) for name in clusters]
    sums = np.zeros((len(names), matrix.shape[1]))
    np.add.at(sums, index, matrix)
    return sums


def means(values: Iterable[float | None]) -> Mean:
    """The evidence of examples that have a value each; None is not evidence.

    >>> means([1.0, None]).weight.tolist()
    [1.0, 0.0]
    """
    listed = list(values)
    has_value = np.array([value is not None for value in listed], float)
    return Mean(np.array([0.0 if value is None else value for value in listed], float), has_value)


def stacked(tallies: Sequence[T], zero: T) -> T:
    """The tallies of many examples as one tally whose fields are arrays: one number an example.

    >>> from goldassay.core.tally import Counts
    >>> stacked([Counts(1, 0, 0), Counts(1, 2, 0)], Counts()).precision.round(2).tolist()
    [1.0, 0.33]
    """
    if not len(tallies):
        return zero
    paths, matrix = _matrix(tallies)
    return zero.from_state(nested(dict(zip(paths, np.ascontiguousarray(matrix.T), strict=True))))


def row(tallies: T, index: int) -> T:
    """The tally of one example, from a tally whose fields are arrays; keys that the example lacks are left out.

    >>> from goldassay.core.tally import By, Counts
    >>> by_type = stacked([By({"A": Counts(1, 0, 0)}), By({"B": Counts(0, 2, 0)})], By())
    >>> row(by_type, 1)
    {'B': Counts(tp=0.0, fp=2.0, fn=0.0)}
    """
    columns = flat(tallies.state()).items()
    numbers = {path: column[index].item() if isinstance(column, np.ndarray) else column for path, column in columns}
    seen = {(), *(path[:-1] for path, number in numbers.items() if number)}
    return tallies.from_state(nested({path: number for path, number in numbers.items() if path[:-1] in seen}))


def rows(tallies: T, size: int) -> list[T]:
    """The `row` of each of many examples, in a time that grows with what they hold and not with all keys.

    >>> from goldassay.core.tally import By, Counts
    >>> rows(stacked([By({"A": Counts(1, 0, 0)}), By({"B": Counts(0, 2, 0)})], By()), 2)
    [{'A': Counts(tp=1.0, fp=0.0, fn=0.0)}, {'B': Counts(tp=0.0, fp=2.0, fn=0.0)}]
    """
    states: list[dict[Path, Number]] = [{} for _ in range(size)]
    end = None if isinstance(tallies, Confusion) else -1  # a cell that an example lacks is left out by itself
    for key, columns in groupby(flat(tallies.state()).items(), lambda item: item[0][:end]):
        numbers = {path: np.broadcast_to(column, size) for path, column in columns}
        seen = np.flatnonzero(np.any([*numbers.values()], axis=0)) if key else np.arange(size)
        for path, column in numbers.items():
            for index, number in zip(seen.tolist(), column[seen].tolist(), strict=True):
                states[index][path] = number
    return [tallies.from_state(nested(state)) for state in states]


def scaled(tallies: T, weights: Sequence[float] | Floats) -> T:
    """The evidence of many examples, each times its weight.

    >>> from goldassay.core.tally import Mean
    >>> scaled(Mean(np.array([1.0, 0.0]), np.array([1.0, 1.0])), [3, 1]).total.tolist()
    [3.0, 0.0]
    """
    times = np.array(weights)
    columns = flat(tallies.to_columns())
    for path, column in columns.items():
        if path[-1] != LEVEL_COLUMN:
            columns[path] = column * times
    return tallies.from_columns(nested(columns))


def chosen(tallies: T, places: Sequence[int]) -> T:
    """The evidence of some of many examples.

    >>> from goldassay.core.tally import Mean
    >>> chosen(Mean(np.array([1.0, 0.0, 0.5]), np.ones(3)), [0, 2]).total.tolist()
    [1.0, 0.5]
    """
    columns = flat(tallies.to_columns())
    return tallies.from_columns(nested({path: column[places] for path, column in columns.items()}))


class Chunks(Mapping[str, Tally]):
    """Tallies by name of examples that are measured chunk by chunk, put together when asked for.

    Most fields are small counts, so whole numbers are kept as small integers: a million examples fit into memory.

    >>> from goldassay.core.tally import Counts
    >>> chunks = Chunks({"strict": Counts()})
    >>> chunks.add({"strict": Counts(np.array([1, 0]), np.array([0, 2]), np.array([0, 0]))}, 2)
    >>> chunks.add({"strict": Counts(np.array([1]), np.array([0]), np.array([4]))}, 1)
    >>> chunks["strict"].tp.tolist()
    [1, 0, 1]
    """

    def __init__(self, zeros: Mapping[str, Tally]) -> None:
        self.zeros = zeros
        self.sizes = list[int]()
        self._parts: dict[str, list[dict[Path, tuple[NDArray[np.generic], DTypeLike]]]] = {name: [] for name in zeros}

    def add(self, tallies: Mapping[str, Tally], size: int) -> None:
        """The next chunk, of ``size`` examples."""
        for name, tally in tallies.items():
            columns = {path: np.broadcast_to(column, size) for path, column in flat(tally.to_columns()).items()}
            self._parts[name].append({path: (_compact(column), column.dtype) for path, column in columns.items()})
        self.sizes.append(size)

    def __len__(self) -> int:
        return len(self.zeros)

    def __iter__(self) -> Iterator[str]:
        return iter(self.zeros)

    def __getitem__(self, name: str) -> Tally:
        """The columns of all chunks; a path that a chunk lacks is 0 there."""
        parts = [{path: small.astype(kind) for path, (small, kind) in chunk.items()} for chunk in self._parts[name]]
        paths = dict.fromkeys(path for chunk in parts for path in chunk)
        if any(chunk.keys() != paths.keys() for chunk in parts):
            paths = dict.fromkeys(sorted(paths))
        sized = list(zip(parts, self.sizes, strict=True))
        columns = {p: np.concatenate([chunk.get(p, np.zeros(n, np.int8)) for chunk, n in sized]) for p in paths}
        return self.zeros[name].from_columns(nested(columns))


def _compact(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """The values in the smallest integers that hold them exactly, or as they are."""
    with np.errstate(invalid="ignore"):
        small = (values.astype(kind) for kind in (np.int8, np.int16, np.int32))
        return next((narrow for narrow in small if (narrow == values).all()), np.array(values))


def gains(tally: Tally, changes: Sequence[Tally]) -> list[float]:
    """How much higher the value of a tally is with each change: many at once, since one takes a walk over all keys.

    >>> from goldassay.core.tally import Counts
    >>> gains(Counts(1, 1, 0), [Counts(0, -1, 0), Counts(1, 0, 0)])
    [0.33333333333333337, 0.13333333333333341]
    """
    joint = Evidences([tally], tally)
    states = [flat(change.state()) for change in changes]
    columns = {path: at for at, path in enumerate(dict.fromkeys(chain(joint.paths, *states)))}
    sums = np.pad(joint.matrix[0], (0, len(columns) - len(joint.paths)))
    joint.paths = list(columns)
    values = [joint.values(sums[None])]
    at_once = max(1, 1_000_000 // len(columns))
    for start in range(0, len(states), at_once):
        block = np.tile(sums, (len(states[start : start + at_once]), 1))
        for row, state in zip(block, states[start:], strict=False):
            for path, number in state.items():
                row[columns[path]] += number
        values.append(joint.values(block))
    unchanged, *changed = np.concatenate(values).tolist()
    return [value - unchanged for value in changed]


STEP = 1e-5  # of a sum: the step of the derivative
NODES = np.polynomial.legendre.leggauss(5)  # points and weights of the mean on the way from B to A


def contributions(
    a: Values, b: Values, zero: Tally | None = None, *, clusters: Sequence[object] | None = None
) -> Floats:
    """The part of each example (or cluster) in the corpus value of A minus that of B.

    The parts add up to the difference, but for the rounding of the derivative; an example with the same evidence on
    both sides adds 0.

    >>> from goldassay.core.tally import Counts
    >>> a, b = [Counts(3, 0, 1), Counts(1, 1, 1)], [Counts(2, 1, 2), Counts(1, 1, 1)]
    >>> contributions(a, b, Counts()).round(6).tolist(), round(sum(a, Counts()).f1 - sum(b, Counts()).f1, 6)
    ([0.181818, 0.0], 0.181818)
    """
    joint, rows_a, rows_b = Evidences.paired(a, b, zero, clusters)
    return (rows_a - rows_b) @ slope_between(joint, rows_a.sum(axis=0), rows_b.sum(axis=0))


def slope_between(joint: Evidences, a: Floats, b: Floats) -> Floats:
    """The derivative of the corpus value, averaged on the straight way from the sums ``b`` to the sums ``a``.

    It is the same with A and B exchanged.
    """
    mean = np.zeros(len(a))
    for point, weight in zip(*NODES, strict=True):
        mean += weight / 2 * slope(joint, b + (1 + point) / 2 * (a - b))
    return mean


def slope(evidences: Evidences, sums: Floats) -> Floats:
    """The derivative of the corpus value by each number of the summed evidence.

    A number that is 0 in the sum is 0 in every example, and its derivative is not needed: 0.
    """
    moved = np.flatnonzero(sums)
    steps = STEP * sums[moved]
    up = np.tile(sums, (len(moved), 1))
    down = np.tile(sums, (len(moved), 1))
    index = np.arange(len(moved))
    up[index, moved] += steps
    down[index, moved] -= steps
    derivative = np.zeros(len(sums))
    derivative[moved] = (evidences.values(up) - evidences.values(down)) / (2 * steps)
    return derivative

"""What scoring a set of predictions gives: a list of measures, folded over all examples.

    shared = Batches(gold, pred)                       # the matching or ranking of all examples, done once
    card = fold("retrieval", [nDCG(10), RR()], shared) # values, counts, conventions, definitions
    card.estimate()                                    # the interval of each value

Nothing here computes a number of its own. Each measure gives one tally whose fields are arrays, a number an example
(`Measure.tallies`); its sum is the corpus evidence, the sum's ``value`` the value, and the spread of its rows
the interval. What ``eval`` folds example by example is the same evidence.

Records that stay in their file (`goldassay.gold.large`) are measured some thousands at a time, and only their
evidence is kept; the numbers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Measure

CHUNK = 10_000  # records of a file that are in memory at once


class Batches:
    """Aligned gold and predictions, and what measures share over them: made once, when first asked for."""

    def __init__(self, gold: Sequence[object], pred: Sequence[object]) -> None:
        if len(gold) != len(pred):
            raise DataError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
        self.gold, self.pred = gold, pred
        self._made: dict[Hashable, Any] = {}

    def of(self, measure: Measure[Any]) -> Any:
        """The batch that this measure counts in."""
        key = (type(measure).batch, tuple(getattr(measure, name) for name in measure.shares))
        if key not in self._made:
            self._made[key] = measure.batch(self.gold, self.pred)
        return self._made[key]

    def chunks(self) -> Iterator[Batches]:
        """These examples; of records that stay in their file some thousands at a time."""
        if isinstance(self.gold, (list, tuple)) or len(self.gold) <= CHUNK:
            yield self
            return
        for at in range(0, len(self.gold), CHUNK):
            yield Batches(list(self.gold[at : at + CHUNK]), list(self.pred[at : at + CHUNK]))

    @property
    def documents(self) -> list[object] | None:
        """The document that each example stands in, where examples name one (``document``); else ``None``."""
        named = [read(one, "document", None) if not isinstance(one, (list, tuple)) else None for one in self.gold]
        return [index if name is None else name for index, name in enumerate(named)] if any(named) else None


class Each(Mapping[str, dict[str, float | None]]):
    """The values of every example by its id: columns of numbers, of which a row is made when it is asked for.

    >>> from goldassay.measures.retrieval import RR
    >>> found = RR().tallies(Batches([{"relevant": ["a"]}], [{"results": ["b", "a"]}]).of(RR()))
    >>> table = Each(["q1"], {"RR": found})
    >>> table["q1"], dict(table) == table == {"q1": {"RR": 0.5}}
    ({'RR': 0.5}, True)
    """

    def __init__(self, ids: Sequence[str], tallies: Mapping[str, Any]) -> None:
        self.ids, self.names = ids, list(tallies)
        found = [tallies[name] for name in self.names]
        self.columns = [(one.total, None if one.weight.all() else one.weight) for one in found]
        self._places: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __getitem__(self, name: str) -> dict[str, float | None]:
        if self._places is None:
            self._places = {one: place for place, one in enumerate(self.ids)}
        place = self._places[name]
        return next(self.rows(place, place + 1))[1]

    def items(self) -> ItemsView[str, dict[str, float | None]]:
        return _Rows(self)

    def rows(self, first: int, last: int) -> Iterator[tuple[str, dict[str, float | None]]]:
        """The rows from one place to another, with their ids."""
        columns = [
            _numbers(total[first:last], None if weight is None else weight[first:last])
            for total, weight in self.columns
        ]
        for name, *values in zip(self.ids[first:last], *columns, strict=True):
            yield name, dict(zip(self.names, values, strict=True))


class _Rows(ItemsView[str, dict[str, float | None]]):
    """The rows of a table, some thousands at a time."""

    _mapping: Each

    def __iter__(self) -> Iterator[tuple[str, dict[str, float | None]]]:
        for first in range(0, len(self._mapping), CHUNK):
            yield from self._mapping.rows(first, first + CHUNK)


def _numbers(total: Any, weight: Any) -> list[float | None]:
    """A column of values; ``None`` where there is no evidence."""
    values: list[float | None] = total.tolist()
    if weight is None:
        return values
    return [value if known else None for value, known in zip(values, weight.tolist(), strict=True)]


def each(ids: Sequence[str], tallies: Mapping[str, object]) -> Mapping[str, dict[str, float | None]]:
    """The values of every example by its id; of records that stay in their file only the columns are in memory."""
    table = Each(ids, tallies)
    return dict(table.items()) if isinstance(tallies, dict) else table


@dataclass(repr=False)
class Scorecard:
    """Values by name, the counts they come from, the same by facet, and the convention behind each value.

    ``values`` hold ``None`` where there is no evidence. ``by`` maps a facet (``type``, ``label``, ``property`` …) to
    its keys and their values. ``explain`` maps a value's name to its definition and source, ``intervals`` to the low
    and the high end of its 95 % interval (`estimate`), ``methods`` to how that was made. ``measures`` are those that
    the values come from, ``tallies`` their evidence example by example (fields are arrays), ``totals`` the same over
    the corpus, all by the value's name. ``protocol`` is the official
    protocol that was asked for, and ``undefined`` names the values that it does not know: they are ours.
    """

    task: str
    examples: int
    values: dict[str, float | None] = field(default_factory=dict)
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    by: dict[str, Any] = field(default_factory=dict)
    conventions: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    explain: dict[str, str] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    protocol: str = ""
    undefined: tuple[str, ...] = ()
    measures: dict[str, Measure[Any]] = field(default_factory=dict, repr=False)
    tallies: Mapping[str, Any] = field(default_factory=dict, repr=False)
    totals: dict[str, Any] = field(default_factory=dict, repr=False)
    shared: Batches | None = field(default=None, repr=False)

    def estimate(self, *, level: float = 0.95) -> None:
        """Put an interval beside every value that has evidence (`goldassay.statistics.interval` says which).

        Examples are independent, or whole documents are where examples name the ``document`` that they stand in.

        >>> from goldassay.measures import retrieval
        >>> gold, pred = [{"relevant": ["a"]}, {"relevant": ["b"]}], [{"results": ["a"]}, {"results": ["a", "b"]}]
        >>> card = retrieval.scorecard(gold, pred, measures=["RR"])
        >>> card.estimate()
        >>> card.values["RR"], card.intervals["RR"]
        (0.75, (0.020201729145661984, 0.9977143192473907))
        """
        from goldassay.statistics.intervals import interval

        documents = self.shared.documents if self.shared else None
        for name, measure in self.measures.items():
            if self.values[name] is not None and name in self.tallies:
                tallies, limits = self.tallies[name], measure.limits
                found = interval(tallies, measure.zero, clusters=documents, bounds=limits, level=level)
                self.intervals[name], self.methods[name] = (found.low, found.high), found.method

    def __repr__(self) -> str:
        known = {name: value for name, value in self.values.items() if value is not None}
        shown = ", ".join(f"{name}={value:.4f}" for name, value in list(known.items())[:6])
        more = f", and {len(known) - 6} more" if len(known) > 6 else ""
        return f"Scorecard({self.task!r}, {self.examples} examples, {shown}{more})"

    def _repr_html_(self) -> str:
        """As a table in a notebook: values with intervals and conventions."""
        from html import escape

        rows = []
        for name, value in self.values.items():
            low, high = self.intervals.get(name, ("", ""))
            ends = f"[{low:.3f}, {high:.3f}]" if isinstance(low, float) else ""
            cells = name, "–" if value is None else f"{value:.4f}", ends, self.conventions.get(name, "")
            rows.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
        heads = "".join(f"<th>{head}</th>" for head in ("measure", "value", "95 %", "convention"))
        caption = f"<caption>{escape(self.task)}, {self.examples} examples</caption>"
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def state(self) -> dict[str, object]:
        """As one JSON object (``goldassay score --json``)."""
        said = {"protocol": self.protocol, "undefined": list(self.undefined)} if self.protocol else {}
        return {
            "task": self.task,
            "examples": self.examples,
            **said,
            "values": self.values,
            "intervals": self.intervals,
            "interval_methods": self.methods,
            "counts": self.counts,
            "by": self.by,
            "conventions": self.conventions,
            "warnings": self.warnings,
        }


Look = Callable[[Batches], object]


def fold(
    task: str,
    measures: Mapping[str, Measure[Any]] | Iterable[Measure[Any]],
    shared: Batches,
    look: Look | None = None,
    beside: Mapping[str, Measure[Any]] = MappingProxyType({}),
) -> Scorecard:
    """The scorecard of these measures over aligned examples; a mapping names the values, else their keys do.

    Args:
        task: The task.
        measures: What the values are, in their order.
        shared: The examples.
        look: It is shown every chunk of the examples, for what a task tells beside values.
        beside: Measures that have no value of their own: their totals stand with those of the others.

    >>> from goldassay.measures.retrieval import RR
    >>> card = fold("retrieval", [RR()], Batches([{"relevant": ["a"]}], [{"results": ["b", "a"]}]))
    >>> card.values, card.counts, card.conventions
    ({'RR': 0.5}, {'RR': {'total': 0.5, 'weight': 1.0}}, {'RR': 'RR[ties=docno_desc, missing=0]'})
    """
    from goldassay.statistics.evidence import flat

    named: Any = measures if isinstance(measures, Mapping) else {measure.key: measure for measure in measures}
    card = Scorecard(task, len(shared.gold), shared=shared, measures=dict(named))
    card.tallies, card.totals = _evidence({**named, **beside}, shared, look)
    for name, measure in named.items():
        total = card.totals[name]
        card.values[name] = valued(total)
        card.conventions[name] = measure.conventions
        card.explain[name] = measure.explained
        counted = name if measure.counted == measure.key else measure.counted
        if not counted or (isinstance(total, dict) and total):  # tallies by key stand in tables
            continue
        state = dict(flat(card.totals[name].state()))
        if all(len(path) == 1 for path in state):
            card.counts.setdefault(counted, {path[0]: number for path, number in state.items()})
    return card


def valued(total: Any) -> float | None:
    """The value of summed evidence; ``None`` where there is none."""
    return float(total.value) if total.weight else None


def _evidence(
    measures: Mapping[str, Measure[Any]], shared: Batches, look: Look | None
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """The evidence of each measure, example by example and over all of them."""
    from goldassay.statistics.evidence import Chunks, summed

    many = Chunks({name: measure.zero for name, measure in measures.items()})
    for part in shared.chunks():
        if look is not None:
            look(part)
        found = {name: measure.tallies(part.of(measure)) for name, measure in measures.items()}
        if part is shared:
            sums: dict[int, tuple[object, float]] = {}
            return found, {name: summed(tallies, sums) for name, tallies in found.items()}
        many.add(found, len(part.gold))
    return many, {name: many.total(name) for name in measures}


def rates(counts: Mapping[str, float], prefix: str = "") -> dict[str, float | None]:
    """Precision, recall and F1 of tp, fp, fn; ``None`` for all three where there is no evidence.

    >>> rates({"tp": 1, "fp": 1, "fn": 0}, "strict_")
    {'strict_precision': 0.5, 'strict_recall': 1.0, 'strict_f1': 0.6666666666666666}
    """
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    if tp + fp + fn == 0:
        return {f"{prefix}{name}": None for name in ("precision", "recall", "f1")}
    return {
        f"{prefix}precision": tp / (tp + fp) if tp + fp else 0.0,
        f"{prefix}recall": tp / (tp + fn) if tp + fn else 0.0,
        f"{prefix}f1": 2 * tp / (2 * tp + fp + fn),
    }

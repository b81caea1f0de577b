"""What scoring a set of predictions gives: a list of measures, folded over all examples.

    shared = Batches(gold, pred)                       # the matching or ranking of all examples, done once
    card = fold("retrieval", [nDCG(10), RR()], shared) # values, counts, conventions, definitions
    card.estimate()                                    # the interval of each value

Nothing here computes a number of its own. Each measure gives one tally whose fields are arrays, a number an example
(`Measure.tallies`); its sum is the corpus evidence, the sum's ``value`` the value, and the spread of its rows
the interval. What ``eval`` folds example by example is the same evidence.

Records that stay in their file (`goldassay.gold.reading`) are measured some thousands at a time, and only their
evidence stays in memory; the numbers are the same to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from goldassay.display import Displayed
from goldassay.exceptions import DataError, GoldassayError, optional
from goldassay.fields import Fields, Record, clusters, identity, shared_text, unit
from goldassay.measure import Measure, gold_field
from goldassay.tally import Counts, Mean, Tally, flat

if TYPE_CHECKING:
    from goldassay.statistics.design import Design

RATES = ("precision", "recall", "f1")
CHUNK = 10_000  # records of a file that are in memory at once
LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "↓": r"$\downarrow$"},
    }
)
Values = dict[str, float | None]
"""Values by name; None without evidence."""
Cell = tuple[float | None, tuple[float, float] | None]
"""A value and the ends of its interval."""


class Batches:
    """Aligned gold and predictions, and what measures share over them: computed once, when first needed."""

    def __init__(self, gold: Sequence[object], pred: Sequence[object]) -> None:
        if len(gold) != len(pred):
            raise DataError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
        self.gold = gold
        self.pred = pred
        self._cache: dict[Hashable, Any] = {}

    @cached_property
    def design(self) -> Design | None:
        """How the gold was chosen; None if nothing says so. Gold that stays in its file has no design."""
        from goldassay.statistics.design import Design

        return Design.of(self.gold) if isinstance(self.gold, (list, tuple)) else None

    def weighted(self, tallies: Any) -> Any:
        """Tallies of all examples, each times the inputs that it stands for; the same without a design."""
        from goldassay.statistics.evidence import scaled

        weights = self.design.weights if self.design else None
        return tallies if weights is None else scaled(tallies, weights)

    def of(self, measure: Measure) -> Any:
        """The batch that this measure counts in."""
        key = (type(measure).batch, tuple(getattr(measure, name) for name in measure.shares))
        if key not in self._cache:
            self._cache[key] = measure.batch(self.gold, self.pred)
        return self._cache[key]

    def chunks(self) -> Iterator[Batches]:
        """These examples; of records that stay in their file some thousands at a time."""
        if isinstance(self.gold, (list, tuple)) or len(self.gold) <= CHUNK:
            yield self
            return
        for at in range(0, len(self.gold), CHUNK):
            yield Batches(list(self.gold[at : at + CHUNK]), list(self.pred[at : at + CHUNK]))


@dataclass(repr=False)
class Scorecard(Displayed):
    """Values by name, the counts they come from, the same by facet, and the convention behind each value.

    Args:
        task: The task.
        examples: How many examples there are.
        values: The values; ``None`` without evidence.
        counts: The counts behind them.
        by: The values by facet (``type``, ``label``, ``property`` …) and key.
        conventions: The conventions behind each value.
        warnings: What a reader of the values should know.
        intervals: The low and the high end of its 95 % interval (`estimate`).
        methods: How that was estimated.
        unit: What the intervals count: ``48 documents``, or the examples.
        protocol: The official protocol that was applied.
        undefined: The values that the protocol does not define: they are ours.
        measures: The measures that the values come from.
        tallies: Their evidence example by example (fields are arrays).
        totals: The same over the corpus.
        shared: The examples.
        facts: What was counted beside measures (`Sections`).
    """

    task: str
    examples: int
    values: Values = field(default_factory=dict)
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    by: Fields = field(default_factory=dict)
    conventions: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    unit: str = ""
    protocol: str = ""
    undefined: tuple[str, ...] = ()
    measures: dict[str, Measure] = field(default_factory=dict, repr=False)
    tallies: Record = field(default_factory=dict, repr=False)
    totals: Fields = field(default_factory=dict, repr=False)
    shared: Batches | None = field(default=None, repr=False)
    facts: Counter[Hashable] = field(default_factory=Counter, repr=False)

    def estimate(self, *, level: float = 0.95) -> None:
        """Put an interval beside every value that has evidence (`goldassay.statistics.interval`).

        Examples are independent, or whole documents are, if examples name the ``document`` that they belong to. If
        none does and many share a text, a warning says so.

        >>> from goldassay.measures import retrieval
        >>> gold, pred = [{"relevant": ["a"]}, {"relevant": ["b"]}], [{"results": ["a"]}, {"results": ["a", "b"]}]
        >>> card = retrieval.scorecard(gold, pred, measures=["RR"])
        >>> card.estimate()
        >>> card.values["RR"], card.intervals["RR"]
        (0.75, (0.020201729145661984, 0.9977143192473907))
        """
        from goldassay.statistics.intervals import Interval, interval, worth

        design = self.shared.design if self.shared else None
        if self.no_level:
            return
        estimates: dict[str, Interval] = {}
        gold = self.shared.gold if self.shared else ()
        documents = clusters(gold)
        self.unit = unit(self.examples, documents)
        if isinstance(gold, (list, tuple)) and (warning := shared_text(gold)):  # a large file is not read again for it
            self.warnings.append(warning)
        for name, measure in self.measures.items():
            if self.values[name] is not None and name in self.tallies:
                tallies = self.tallies[name]
                estimate = design.interval if design else interval
                ends = estimate(tallies, measure.zero, clusters=documents, bounds=measure.known_limits, level=level)
                self.values[name] = ends.value if design else self.values[name]
                self.intervals[name] = (ends.low, ends.high)
                self.methods[name] = ends.method
                estimates[name] = ends
        self.warnings += worth(estimates)

    def withhold_level(self) -> None:
        """Leave out the values where the design of the gold tells none, and warn why (`statistics.design`)."""
        design = self.shared.design if self.shared else None
        if design and self.no_level:
            self.values = dict.fromkeys(self.values)
            self.intervals = {}
            self.counts = {}
            self.by = {"kind": self._kinds(design)} if design.question == "errors" else {}
            self.warnings.append(self.no_level)

    @property
    def no_level(self) -> str:
        """Why the design of the gold tells no values; empty if it does."""
        return self.shared.design.no_level if self.shared and self.shared.design else ""

    def _kinds(self, design: Design) -> dict[str, dict[str, float]]:
        """The share of all inputs in which each kind of error occurs, with its interval, the most frequent first."""
        from goldassay.statistics.evidence import means

        if self.shared is None or design.groups() is None:
            return {}
        kinds = [
            {error.kind for measure in self.measures.values() for error in measure(gold, pred).errors}
            for gold, pred in zip(self.shared.gold, self.shared.pred, strict=True)
        ]
        shares: dict[str, dict[str, float]] = {}
        for kind in sorted({kind for several in kinds for kind in several}):
            marks: Any = means([float(kind in several) for several in kinds])
            ends = design.interval(marks, Mean(), clusters=clusters(self.shared.gold), bounds=(0.0, 1.0))
            shares[kind] = {"share": ends.value, "low": ends.low, "high": ends.high}
        return dict(sorted(shares.items(), key=lambda item: -item[1]["share"]))

    @property
    def size(self) -> str:
        """How many examples there are, and the documents that they belong to, if any two share one."""
        return f"{self.examples} examples{f' in {self.unit}' if 'document' in self.unit else ''}"

    def __repr__(self) -> str:
        values = [f"{name}={value:.4f}" for name, value in self.values.items() if value is not None]
        more = f", and {len(values) - 6} more" if len(values) > 6 else ""
        return f"Scorecard({self.task!r}, {self.size}, {', '.join(values[:6])}{more})"

    def __getitem__(self, name: str) -> float | None:
        return self.values[name]

    def to_pandas(self) -> Any:
        """A data frame: a row a measure, with its value and the ends of its interval (needs pandas)."""
        rows = {name: (value, *self.intervals.get(name, (None, None))) for name, value in self.values.items()}
        return data_frame(rows, ("value", "low", "high"))

    def to_latex(self, rows: Sequence[str] = ()) -> str:
        """A LaTeX table (booktabs): a row a measure, or those named, with its interval."""
        return Scorecards({self.task: self}).to_latex(rows)

    def differences(self, other: Scorecard, names: Iterable[str]) -> dict[str, Cell]:
        """How much higher values are than another card's on the same examples, with the paired 95 % interval.

        Raises:
            GoldassayError: The cards are not of the same number of examples.
        """
        from goldassay.statistics import compare
        from goldassay.statistics.evidence import row

        documents = clusters(self.shared.gold if self.shared else ())
        cells: dict[str, Cell] = {}
        for name in names:
            if name in self.tallies and name in other.tallies:
                measure = self.measures[name]
                new = [row(self.tallies[name], index) for index in range(self.examples)]
                old = [row(other.tallies[name], index) for index in range(other.examples)]
                gap = compare(new, old, measure.zero, clusters=documents, bounds=measure.known_limits)
                cells[name] = (gap.difference, (gap.interval.low, gap.interval.high))
        return cells

    def state(self) -> Fields:
        """As one JSON object (``goldassay score --json``)."""
        protocol = {"protocol": self.protocol, "undefined": list(self.undefined)} if self.protocol else {}
        return {
            "task": self.task,
            "examples": self.examples,
            "unit": self.unit or unit(self.examples, None),
            **protocol,
            "values": self.values,
            "intervals": self.intervals,
            "interval_methods": self.methods,
            "counts": self.counts,
            "by": self.by,
            "conventions": self.conventions,
            "warnings": self.warnings,
        }


class Scorecards(dict[str, Scorecard]):
    """The scorecards of several systems on the same gold, by the systems' names."""

    def to_pandas(self) -> Any:
        """A data frame of values: a row a measure, a column a system (needs pandas)."""
        names = dict.fromkeys(name for card in self.values() for name in card.values)
        return data_frame({name: [card.values.get(name) for card in self.values()] for name in names}, self)

    def to_latex(self, rows: Sequence[str] = (), *, difference: bool = False) -> str:
        """A LaTeX table (booktabs): a row a measure, a column a system, values with intervals.

        Args:
            rows: The measures to show, in this order; by default all.
            difference: Add a column for each system but the first: its paired difference to the first.

        Raises:
            GoldassayError: A system has no value of a name.
        """
        columns: dict[str, dict[str, Cell]] = {
            system: {name: (value, card.intervals.get(name)) for name, value in card.values.items()}
            for system, card in self.items()
        }
        first, *others = self
        names = list(rows or columns[first])
        if unknown := [name for name in names if name not in columns[first]]:
            raise GoldassayError(f"no value {unknown[0]!r}; there are {', '.join(columns[first])}")
        gaps = {f"{name} - {first}": self[name].differences(self[first], names) for name in others if difference}
        return latex_table(columns | gaps, names, signed=gaps)


def data_frame(rows: Mapping[str, Sequence[float | None]], columns: Iterable[str]) -> Any:
    """A pandas data frame of rows by the measures' names.

    Raises:
        MissingExtra: Pandas is not installed.
    """
    return optional("pandas", "pandas").DataFrame.from_dict(
        dict(rows), orient="index", columns=list(columns), dtype=float
    )


@dataclass(frozen=True)
class Sections:
    """The parts of a scorecard beside values; every task has one table of them.

    Args:
        facts: What it counts, by name, in each chunk of the examples; it gets the first measure, for its batch.
        by: What each facet shows, made from the folded card; None leaves the facet out.
        warnings: By fact, a sentence that is added if the fact occurs: ``{n}`` is how often, ``{examples}`` how many
            examples there are.

    >>> sections = Sections(lambda part, first: {"long": 2}, warnings={"long": "{n} of {examples} texts are long"})
    >>> fold("retrieval", [], Batches(["a", "b", "c"], [None] * 3), sections=sections).warnings
    ['2 of 3 texts are long']
    """

    facts: Callable[[Batches, Any], Mapping[Any, int]] = lambda part, first: {}
    by: Mapping[str, Callable[[Scorecard], Record | None]] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)

    def add_to(self, card: Scorecard) -> None:
        """Put the facets and the warnings on a folded card."""
        for facet, rows in self.by.items():
            table = rows(card)
            if table is not None:
                card.by[facet] = table
        for name, text in self.warnings.items():
            if card.facts[name]:
                card.warnings.append(text.format(n=card.facts[name], examples=card.examples))


def fold(
    task: str,
    measures: Mapping[str, Measure] | Iterable[Measure],
    shared: Batches,
    beside: Mapping[str, Measure] = MappingProxyType({}),
    weight: str = "",
    sections: Sections = Sections(),
) -> Scorecard:
    """The scorecard of these measures over aligned examples; a mapping names the values, else their keys do.

    Args:
        task: The task.
        measures: What the values are, in their order.
        shared: The examples.
        beside: Measures that have no value of their own: their totals are among those of the others.
        weight: The field of gold that says how much an example counts.
        sections: What the card has beside values.

    >>> from goldassay.measures.retrieval import RR
    >>> card = fold("retrieval", [RR()], Batches([{"relevant": ["a"]}], [{"results": ["b", "a"]}]))
    >>> card.values, card.counts
    ({'RR': 0.5}, {'RR': {'total': 0.5, 'weight': 1.0}})
    >>> card.conventions["RR"]
    'RR[ties=docno_desc, missing=0, unjudged=irrelevant, no_relevant=0]'
    """
    from goldassay.statistics.evidence import Chunks, scaled

    pairs: Any = measures.items() if isinstance(measures, Mapping) else ((each.key, each) for each in measures)
    named: dict[str, Measure] = dict(pairs)
    every = {**named, **beside}
    chunks = Chunks({name: measure.zero for name, measure in every.items()})
    facts = Counter[Hashable]()
    for part in shared.chunks():
        facts.update(sections.facts(part, next(iter(named.values()), None)))
        tallies = {name: measure.tallies(part.of(measure)) for name, measure in every.items()}
        if weight:
            weights = [float(gold_field(example, weight)) for example in part.gold]
            tallies = {name: scaled(tally, weights) for name, tally in tallies.items()}
        chunks.add(tallies, len(part.gold))
    card = from_evidence(task, named, chunks, shared)
    card.facts = facts
    if weight:
        card.conventions = {
            name: text.replace("[", f"_by_{weight}[weight={weight}, ", 1) for name, text in card.conventions.items()
        }
    sections.add_to(card)
    return card


def from_evidence(task: str, measures: Mapping[str, Measure], tallies: Record, shared: Batches) -> Scorecard:
    """The scorecard of evidence: by name the tallies of every example, whose fields are arrays."""
    totals = {name: shared.weighted(tallies[name]).summed for name in tallies}
    card = Scorecard(task, len(shared.gold), shared=shared, measures=dict(measures), tallies=tallies, totals=totals)
    for name, measure in measures.items():
        total = totals[name]
        card.values[name] = valued(total)
        card.conventions[name] = measure.conventions
        counted = name if measure.counted == measure.key else measure.counted
        if not counted or (isinstance(total, dict) and total):  # tallies by key are shown in tables
            continue
        state = flat(total.state())  # pyright: ignore[reportAttributeAccessIssue]
        if all(len(path) == 1 for path in state):
            card.counts.setdefault(counted, {path[0]: number for path, number in state.items()})
    return card


def valued(total: Tally) -> float | None:
    """The value of summed evidence; ``None`` without any."""
    return float(total.value) if total.weight else None


def by_example(card: Scorecard) -> dict[str, Values]:
    """The values of every example by its id, of measures whose tally is a mean; ``None`` without evidence.

    >>> from goldassay.measures.retrieval import RR
    >>> by_example(fold("retrieval", [RR()], Batches([{"id": "q1", "relevant": ["a"]}], [{"results": ["b", "a"]}])))
    {'q1': {'RR': 0.5}}
    """
    gold = card.shared.gold if card.shared else ()
    ids = [identity(example, number) for number, example in enumerate(gold, start=1)]
    rows: list[Values] = [{} for _ in ids]
    for name in card.tallies:
        tally = card.tallies[name]
        for row, total, weight in zip(rows, tally.total.tolist(), tally.weight.tolist(), strict=True):
            row[name] = total if weight else None
    return dict(zip(ids, rows, strict=True))


def by_key(counts: Mapping[str, Counts]) -> dict[str, Values]:
    """Each key by itself: precision, recall, F1, and how often it occurs in gold and in predictions.

    >>> by_key({"total": Counts(3, 1, 0)})
    {'total': {'precision': 0.75, 'recall': 1.0, 'f1': 0.8571428571428571, 'support': 3.0, 'predicted': 4.0}}
    """
    return {
        name: {**rates(tally.state()), "support": float(tally.support), "predicted": float(tally.predicted)}
        for name, tally in sorted(counts.items())
    }


def rates(counts: Mapping[str, float], prefix: str = "") -> Values:
    """Precision, recall and F1 of tp, fp, fn; ``None`` for all three without evidence.

    >>> rates({"tp": 1, "fp": 1, "fn": 0}, "strict_")
    {'strict_precision': 0.5, 'strict_recall': 1.0, 'strict_f1': 0.6666666666666666}
    """
    tally = Counts(**counts)
    return {f"{prefix}{rate}": getattr(tally, rate) if tally.weight else None for rate in RATES}


def latex_table(
    columns: Mapping[str, Mapping[str, Cell]], rows: Sequence[str] = (), signed: Collection[str] = ()
) -> str:
    r"""Values by system and measure: a row a measure, or those of ``rows``; a column a system, some with signs.

    >>> print(latex_table({"ours": {"strict_f1": (0.5, (0.25, 0.75))}}).splitlines()[4])
    strict\_f1 & 0.500 {\small [0.250, 0.750]} \\
    """
    lines = [rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\toprule"]
    lines += [" & ".join(["", *(name.translate(LATEX) for name in columns)]) + r" \\", r"\midrule"]
    for measure in rows or dict.fromkeys(name for column in columns.values() for name in column):
        cells = [measure.translate(LATEX)]
        for system, column in columns.items():
            value, ends = column.get(measure, (None, None))
            sign = "+" if system in signed else ""
            interval = rf" {{\small [{ends[0]:{sign}.3f}, {ends[1]:{sign}.3f}]}}" if ends else ""
            cells.append("--" if value is None else f"{value:{sign}.3f}{interval}")
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

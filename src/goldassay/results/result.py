"""The result of scoring a set of predictions: columns of tallies, and every value that they hold.

    shared = Batches(gold, pred)                         # the matching or ranking of all examples, done once
    result = fold("retrieval", [nDCG(10), RR()], shared) # a column a measure
    result.values, result.intervals, result.counts       # computed from the columns, once

Nothing here computes a number of its own. Each measure gives one tally whose fields are arrays, a number an example
(`Measure.tallies`); its sum is the corpus evidence, the sum's ``value`` the value, and the spread of its rows
the interval. What ``eval`` folds example by example is the same evidence.

Examples are measured some thousands at a time, and only their evidence stays in memory; the numbers are the same to the
last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

from goldassay._support.display import Displayed
from goldassay._support.exceptions import GoldassayError, optional
from goldassay.core.evidence import Chunks, chosen, means, scaled
from goldassay.core.fields import Fields, JsonObject, Record, clusters, form, identity, shared_text, unit
from goldassay.core.measure import Batches, Error, Measure, gold_field
from goldassay.core.tally import Counts, Evidence, Mean, Tally, flat
from goldassay.results.comparison import METRIC
from goldassay.results.tables import result_view
from goldassay.results.view import View
from goldassay.statistics.design import Design
from goldassay.statistics.intervals import Interval, effective_labels
from goldassay.statistics.labels import DraftedAnswers
from goldassay.statistics.paired import PairedTest, compare

RATE_NAMES = ("precision", "recall", "f1")
Facets: TypeAlias = "Mapping[str, Callable[[Result], Record | None]]"
"""The table of each facet of a result; None leaves it out."""
Values = dict[str, float | None]
"""Values by name; None without evidence."""
Cell = tuple[float | None, tuple[float, float] | None]
"""A value and the ends of its interval."""


@dataclass(repr=False)
class Result(Displayed):
    """Measures over a set of examples: a column of tallies each, and from them values, counts and intervals.

    Args:
        task: The task.
        measures: The measures that have a value, by its name.
        columns: Their evidence, a tally whose fields are arrays, a number an example; also that of measures without a
            value of their own (a model is missing: a measure may have a value and no column).
        records: The examples: gold records, or rows of a run.
        batches: The gold records with their predictions.
        level: The share of such intervals that hold the true value; None: no intervals.
        set_values: Values that a convention sets, by name, such as 0 where nothing could be found.
        conventions: The conventions behind each value.
        by: The values by facet (``type``, ``label``, ``property`` …) and key.
        extra_counts: Counts besides those of the measures.
        notes: What a reader of the values should know; `warnings` has more.
        protocol: The official protocol that was applied.
        undefined: The values that the protocol does not define: they are ours.
        facts: What was counted besides measures (`Sections`).
        name: The name of the system, where several are compared.
        folder: The folder of its run.
        zero: No evidence yet, with the weights that the measures have in a metric; by default that of the measures.
        facets: By stratum and key, the positions of its examples.
        scores: The score of each example by the metric, if there is one.
        drafted: What the system answered to all inputs that gold was drafted from, if that is known.

    >>> from goldassay.measures import retrieval
    >>> gold, pred = [{"relevant": ["a"]}, {"relevant": ["b"]}], [{"results": ["a"]}, {"results": ["a", "b"]}]
    >>> result = retrieval.scorecard(gold, pred, measures=["RR"])
    >>> result["RR"], round(result.intervals["RR"].low, 3), round(result.intervals["RR"].high, 3)
    (0.75, 0.02, 0.998)
    """

    task: str
    measures: dict[str, Measure] = field(default_factory=dict)
    columns: Record = field(default_factory=dict)
    records: Sequence[object] = ()
    batches: Batches | None = None
    level: float | None = 0.95
    set_values: dict[str, float] = field(default_factory=dict)
    conventions: dict[str, str] = field(default_factory=dict)
    by: Fields = field(default_factory=dict)
    extra_counts: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    protocol: str = ""
    undefined: tuple[str, ...] = ()
    facts: Counter[Hashable] = field(default_factory=Counter)
    name: str = ""
    folder: str = ""
    zero: Evidence = field(default_factory=Evidence)
    facets: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    scores: Sequence[float] = ()
    drafted: DraftedAnswers | None = None
    _tests: dict[Hashable, tuple[Result, PairedTest]] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        if self.zero.keys() != self.measures.keys():
            default = Evidence.empty(self.measures, self.zero.weights)
            tallies = {name: self.zero.get(name, tally) for name, tally in default.items()}
            self.zero = Evidence(tallies, default.weights, {**default.worst, **self.zero.worst})

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return len(self.records)

    @cached_property
    def design(self) -> Design:
        """How the examples were chosen."""
        return Design.of(self.records)

    @property
    def why_no_estimate(self) -> str:
        """Why no value can be estimated from the examples; empty if it can."""
        return self.design.why_no_estimate

    @cached_property
    def clusters(self) -> list[object] | None:
        """The document of each example, if any two share one: examples of a document are not independent."""
        return clusters(self.records)

    @cached_property
    def ids(self) -> list[str]:
        """The id of each example; its position if it has none."""
        return [identity(example, index) for index, example in enumerate(self.records)]

    @cached_property
    def totals(self) -> Fields:
        """The evidence of all inputs together, a tally a column."""
        return {name: column.summed for name, column in self._weighted.items()}

    @cached_property
    def _weighted(self) -> dict[str, Tally]:
        """The columns, each example for the inputs that it stands for."""
        return {name: self.design.weighted(column) for name, column in self.columns.items()}

    @cached_property
    def by_stratum(self) -> dict[str, dict[str, dict[str, float]]]:
        """For each stratum its keys, with the number of examples and each value that has evidence."""
        if self.why_no_estimate:
            return {}
        strata: dict[str, dict[str, dict[str, float]]] = {}
        for name, keys in self.facets.items():
            strata[name] = {}
            for key, positions in sorted(keys.items()):
                strata[name][key] = {"examples": len(positions)}
                for measure, column in self._weighted.items():
                    value = valued(chosen(column, positions).summed)
                    if value is not None:
                        strata[name][key][measure] = value
        return strata

    @cached_property
    def values(self) -> Values:
        """The values by name; None without evidence, and if none can be estimated from the examples."""
        if self.why_no_estimate:
            return dict.fromkeys(self.measures)
        values: Values = {}
        for name in self.measures:
            value = valued(self.totals[name]) if name in self.columns else None
            if value is not None and self.design.drafted:
                value = self._interval(name).value
            values[name] = self.set_values.get(name, value)
        return values

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The interval of each value that has evidence, over examples, or over documents if examples name them."""
        if self.level is None:
            return {}
        names = [name for name, value in self.values.items() if value is not None and name in self.columns]
        return {name: self._interval(name) for name in names}

    def _interval(self, name: str) -> Interval:
        measure = self.measures[name]
        column = self.columns[name]
        limits = measure.known_limits
        level = self.level or 0.95
        return self.design.interval(column, self.zero[name], clusters=self.clusters, bounds=limits, level=level)

    @cached_property
    def counts(self) -> dict[str, dict[str, float]]:
        """The counts behind the values; none if no values can be estimated from the examples."""
        counts: dict[str, dict[str, float]] = {}
        for name in () if self.why_no_estimate else self.measures:
            measure = self.measures[name]
            total = self.totals.get(name)
            counted = name if measure.counted == measure.key else measure.counted
            if total is None or not counted or (isinstance(total, dict) and total):  # tallies by key are in tables
                continue
            evidence: Any = total
            state = flat(evidence.state())
            if all(len(path) == 1 for path in state):
                counts.setdefault(counted, {path[0]: number for path, number in state.items()})
        for name in () if self.why_no_estimate else self.extra_counts:
            counts[name] = {**counts.get(name, {}), **self.extra_counts[name]}
        return counts

    @property
    def unit(self) -> str:
        """The unit of the intervals: ``48 documents``, or the examples."""
        return unit(self.examples, None if self.level is None or self.why_no_estimate else self.clusters)

    @property
    def size(self) -> str:
        """How many examples there are, and the documents that they belong to, if any two share one."""
        return f"{unit(self.examples, None)}{f' in {self.unit}' if 'document' in self.unit else ''}"

    @property
    def warnings(self) -> list[str]:
        """Warnings for a reader of the values: the notes, and what makes values or intervals doubtful."""
        if self.why_no_estimate:
            return [*self.notes, self.why_no_estimate]
        if self.level is None:
            return list(self.notes)
        text = shared_text(self.records)
        return [*self.notes, *([text] if text else []), *effective_labels(self.intervals)]

    def select(self, names: Iterable[str]) -> Result:
        """The same with only the values of these names."""
        chosen = set(names)
        return replace(
            self,
            measures={name: measure for name, measure in self.measures.items() if name in chosen},
            columns={name: column for name, column in self.columns.items() if name in chosen},
            conventions={name: text for name, text in self.conventions.items() if name in chosen},
        )

    def __repr__(self) -> str:
        values = [f"{name}={value:.4f}" for name, value in self.values.items() if value is not None]
        more = f", and {len(values) - 6} more" if len(values) > 6 else ""
        return f"Result({self.task!r}, {self.size}, {', '.join(values[:6])}{more})"

    def __getitem__(self, name: str) -> float | None:
        return self.values[name]

    def to_pandas(self) -> Any:
        """A data frame: a row a measure, with its value and the ends of its interval (needs pandas)."""
        rows = {name: (value, *(ends or (None, None))) for name, (value, ends) in self._cells().items()}
        return data_frame(rows, ("value", "low", "high"))

    def to_latex(self, rows: Sequence[str] = ()) -> str:
        """A LaTeX table (booktabs): a row a measure, or those named, with its interval."""
        return Results({self.task: self}).to_latex(rows)

    def _cells(self) -> dict[str, Cell]:
        """Each value with the ends of its interval."""
        ends = {name: interval.ends for name, interval in self.intervals.items()}
        return {name: (value, ends.get(name)) for name, value in self.values.items()}

    def difference(self, other: Result, name: str, test: str = "permutation", seed: int = 0) -> PairedTest:
        """The paired test of a value, or of the metric, of this result less that of another one on the same examples.

        Tables, sentences, ranks and reports ask for the same pair: it is tested once.

        Raises:
            GoldassayError: The results are not of the same number of examples.
        """
        key = (id(other), name, test, seed)
        if key not in self._tests:
            columns: list[Tally] = [result.zero.with_items(result.columns) for result in (self, other)]
            zero: Tally = self.zero
            limits = None
            if name != METRIC:
                columns = [result.columns[name] for result in (self, other)]
                zero = self.zero[name]
                limits = self.measures[name].known_limits
            paired = compare(columns[0], columns[1], zero, clusters=self.clusters, bounds=limits, test=test, seed=seed)
            self._tests[key] = (other, paired)
            if test == "permutation":
                other._tests[id(self), name, test, seed] = (self, -paired)
        return self._tests[key][1]

    def view(self) -> View:
        """The values with their intervals and conventions, and the breakdowns."""
        return result_view(self)

    def state(self) -> JsonObject:
        """As one JSON object (``goldassay score --json``)."""
        protocol = {"protocol": self.protocol, "undefined": list(self.undefined)} if self.protocol else {}
        return {
            "task": self.task,
            "examples": self.examples,
            "unit": self.unit,
            **protocol,
            "values": self.values,
            "intervals": {name: interval.ends for name, interval in self.intervals.items()},
            "interval_methods": {name: interval.method for name, interval in self.intervals.items()},
            "counts": self.counts,
            "by": self.by,
            "conventions": self.conventions,
            "warnings": self.warnings,
        }


class Results(dict[str, Result]):
    """The results of several systems on the same gold, by the systems' names."""

    def to_pandas(self) -> Any:
        """A data frame of values: a row a measure, a column a system (needs pandas)."""
        names = dict.fromkeys(name for result in self.values() for name in result.values)
        return data_frame({name: [result.values.get(name) for result in self.values()] for name in names}, self)

    def to_latex(self, rows: Sequence[str] = (), *, difference: bool = False) -> str:
        """A LaTeX table (booktabs): a row a measure, a column a system, values with intervals.

        Args:
            rows: The measures to show, in this order; by default all.
            difference: Add a column for each system but the first: its paired difference to the first.

        Raises:
            GoldassayError: A system has no value of a name.
        """
        columns = {system: result._cells() for system, result in self.items()}
        first, *compared = self
        names = list(rows or columns[first])
        if unknown := [name for name in names if name not in columns[first]]:
            raise GoldassayError(f"no value {unknown[0]!r}; there are {', '.join(columns[first])}")
        gaps: dict[str, dict[str, Cell]] = {}
        for system in compared if difference else ():
            cells: dict[str, Cell] = {}
            for name in names:
                if name in self[system].columns and name in self[first].columns:
                    gap = self[system].difference(self[first], name)
                    cells[name] = (gap.difference, gap.interval.ends)
            gaps[f"{system} - {first}"] = cells
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
    """The sections of a result besides values; every task has one table of them.

    Args:
        facts: What it counts, by name, in each chunk of the examples; it gets the first measure, for its batch.
        by: What each facet shows, made from the folded result; None leaves the facet out.
        warnings: By fact, a sentence that is added if the fact occurs: ``{n}`` is how often, ``{examples}`` how many
            examples there are.

    >>> sections = Sections(lambda part, first: {"long": 2}, warnings={"long": "{n} of {examples} texts are long"})
    >>> fold("retrieval", [], Batches(["a", "b", "c"], [None] * 3), sections=sections).warnings
    ['2 of 3 texts are long']
    """

    facts: Callable[[Batches, Any], Mapping[Any, int]] = lambda part, first: {}
    by: Facets = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)


def fold(
    task: str,
    measures: Mapping[str, Measure] | Iterable[Measure],
    shared: Batches,
    parts: Mapping[str, Measure] = MappingProxyType({}),
    weight: str = "",
    sections: Sections = Sections(),
) -> Result:
    """The result of these measures over aligned examples; a mapping names the values, else their keys do.

    Args:
        task: The task.
        measures: What the values are, in their order.
        shared: The examples.
        parts: Measures that have no value of their own: their totals are among those of the others.
        weight: The field of gold that says how much an example counts.
        sections: What the result has besides values.

    >>> from goldassay.measures.retrieval import RR
    >>> result = fold("retrieval", [RR()], Batches([{"relevant": ["a"]}], [{"results": ["b", "a"]}]))
    >>> result.values, result.counts
    ({'RR': 0.5}, {'RR': {'total': 0.5, 'weight': 1.0}})
    >>> result.conventions["RR"]
    'RR[ties=docno_desc, missing=0, unjudged=irrelevant, no_relevant=0]'
    """
    pairs: Any = measures.items() if isinstance(measures, Mapping) else ((measure.key, measure) for measure in measures)
    named = dict(pairs)
    every = {**named, **parts}
    columns = Chunks({name: measure.zero for name, measure in every.items()})
    facts = Counter[Hashable]()
    for chunk in shared.chunks():
        facts.update(sections.facts(chunk, next(iter(named.values()), None)))
        tallies = {name: measure.tallies(chunk.of(measure)) for name, measure in every.items()}
        if weight:
            weights = [float(gold_field(example, weight)) for example in chunk.gold]
            tallies = {name: scaled(tally, weights) for name, tally in tallies.items()}
        columns.add(tallies, len(chunk.gold))
    result = from_columns(task, named, columns, shared)
    result.facts = facts
    if weight:
        stated = f"_by_{weight}[weight={weight}, "
        result.conventions = {name: text.replace("[", stated, 1) for name, text in result.conventions.items()}
    result.by = breakdowns(result, sections.by)
    result.notes += form_notes(result.by)
    for name, text in sections.warnings.items():
        if facts[name]:
            result.notes.append(text.format(n=facts[name], examples=result.examples))
    return result


def facts_of(facts: Counter[Hashable], kind: str) -> Counter[Any]:
    """The facts that are pairs of this kind and a name, by name.

    >>> facts_of(Counter({("domain", "art"): 2, "unaligned": 1}), "domain")
    Counter({'art': 2})
    """
    return Counter({fact[1]: n for fact, n in facts.items() if isinstance(fact, tuple) and fact[0] == kind})


def from_columns(task: str, measures: Mapping[str, Measure], columns: Mapping[str, Tally], shared: Batches) -> Result:
    """The result of evidence: by name the tallies of every example, whose fields are arrays."""
    conventions = {name: measure.conventions for name, measure in measures.items()}
    return Result(task, dict(measures), columns, shared.gold, shared, conventions=conventions)


def breakdowns(result: Result, tables: Facets) -> JsonObject:
    """The tables by facet; where no value can be estimated, the share of all inputs with each kind of error.

    Args:
        result: The result.
        tables: What each facet shows; None leaves the facet out.
    """
    if not result.why_no_estimate:
        by_facet = {facet: table(result) for facet, table in tables.items()}
        return {facet: table for facet, table in by_facet.items() if table is not None}
    design = result.design
    if design.question != "errors":
        return {}
    if result.batches is None or design.groups() is None:
        return {"kind": {}}
    kinds = [
        {error.kind for measure in result.measures.values() for error in measure(gold, pred).errors}
        for gold, pred in zip(result.batches.gold, result.batches.pred, strict=True)
    ]
    shares = {}
    for kind in sorted({kind for of_example in kinds for kind in of_example}):
        marks = means([float(kind in of_example) for of_example in kinds])
        ends = design.interval(marks, Mean(), clusters=result.clusters, bounds=(0.0, 1.0))
        shares[kind] = {"share": ends.value, "low": ends.low, "high": ends.high}
    return {"kind": dict(sorted(shares.items(), key=lambda item: -item[1]["share"]))}


def form_notes(by: Record) -> list[str]:
    """Notes on names of breakdowns (types, labels, tools, fields) that are predicted and differ from all of gold's."""
    notes = []
    for facet, keys in by.items():
        sides = [[key for key, row in keys.items() if row.get(side)] for side in ("support", "predicted")]
        notes += unlike_gold(facet, *sides)
    return notes


def unlike_gold(noun: str, gold: Collection[str], predicted: Collection[str]) -> list[str]:
    """A note if none of the predicted names is one of gold's, or if some differ from these in form alone.

    >>> unlike_gold("label", ["museum", "library"], ["museum", "Library"])
    ["predicted labels that differ from gold's in case, marks or Unicode form alone: 'Library' for 'library'"]
    """
    unlike = [name for name in predicted if name not in gold]
    if gold and unlike and len(unlike) == len(predicted):
        return [f"no predicted {noun} occurs in gold: {', '.join(map(repr, sorted(unlike)[:3]))}"]
    forms = {form(name): name for name in gold}
    pairs = [f"{name!r} for {forms[form(name)]!r}" for name in unlike if form(name) in forms]
    message = f"predicted {noun}s that differ from gold's in case, marks or Unicode form alone: {', '.join(pairs[:3])}"
    return [message] if pairs else []


def form_alone(errors: Iterable[Error]) -> Iterator[str]:
    """The messages of errors whose texts differ in case, marks, Unicode form, type or offsets alone."""
    for error in errors:
        pairs = ((error.pred, error.gold), (error.pred_type, error.gold_type))
        is_value = error.kind == "wrong_value"  # else an empty text is no value
        short = [pair for pair in pairs if pair[0] != pair[1] and len(pair[0]) < 200 and (is_value or all(pair))]
        is_type = error.kind in ("wrong_value", "wrong_type") and not error.pred_type and error.pred == error.gold
        is_type = is_type or (error.kind == "wrong_boundary" and error.pred == error.gold)  # of other offsets
        if is_type or any(form(pred) == form(gold) for pred, gold in short):
            yield f"{error.message:.200}"


def form_warning(forms: Counter[str]) -> str:
    """How many errors are of form alone, by their messages."""
    wrong = "1 error is" if forms.total() == 1 else f"{forms.total()} errors are"
    return f"{wrong} of form alone (case, marks, Unicode, type or offsets); the first: {next(iter(forms))}"


def valued(total: Tally) -> float | None:
    """The value of summed evidence; ``None`` without any."""
    return float(total.value) if total.weight else None


def by_example(result: Result) -> dict[str, Values]:
    """The values of every example by its id, of measures whose tally is a mean; ``None`` without evidence.

    >>> from goldassay.measures.retrieval import RR
    >>> by_example(fold("retrieval", [RR()], Batches([{"id": "q1", "relevant": ["a"]}], [{"results": ["b", "a"]}])))
    {'q1': {'RR': 0.5}}
    """
    ids = [identity(example, number) for number, example in enumerate(result.records, start=1)]
    rows: list[Values] = [{} for _ in ids]
    for name in result.columns:
        tally = result.columns[name]
        for values, total, weight in zip(rows, tally.total.tolist(), tally.weight.tolist(), strict=True):
            values[name] = total if weight else None
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
    return {f"{prefix}{rate}": getattr(tally, rate) if tally.weight else None for rate in RATE_NAMES}


def latex_table(
    columns: Mapping[str, Mapping[str, Cell]], rows: Sequence[str] = (), signed: Collection[str] = ()
) -> str:
    r"""Values by system and measure: a row a measure, or those of ``rows``; a column a system, some with signs.

    >>> print(latex_table({"ours": {"strict_f1": (0.5, (0.25, 0.75))}}).splitlines()[4])
    strict\_f1 & 0.500 {\small [0.250, 0.750]} \\
    """
    escapes = str.maketrans(
        {
            **{sign: f"\\{sign}" for sign in "&%$#_{}"},
            **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "↓": r"$\downarrow$"},
        }
    )
    lines = [rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\toprule"]
    lines += [" & ".join(["", *(name.translate(escapes) for name in columns)]) + r" \\", r"\midrule"]
    for measure in rows or dict.fromkeys(name for column in columns.values() for name in column):
        cells = [measure.translate(escapes)]
        for system, column in columns.items():
            value, ends = column.get(measure, (None, None))
            sign = "+" if system in signed else ""
            interval = rf" {{\small [{ends[0]:{sign}.3f}, {ends[1]:{sign}.3f}]}}" if ends else ""
            cells.append("--" if value is None else f"{value:{sign}.3f}{interval}")
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

"""A run: one evaluation, in memory or on disk as ``run.json`` and ``rows.jsonl``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay._support import jsonl
from goldassay._support.display import Displayed
from goldassay._support.exceptions import DataError, FieldError, GoldassayError, optional
from goldassay._support.extensions import of_kind, registered
from goldassay.core.evidence import Chunks, stacked
from goldassay.core.fields import Fields, JsonObject, sides, unit
from goldassay.core.measure import OWN_TASK, Batches, Error, Measure, Returned, parse
from goldassay.core.tally import Evidence, Mean
from goldassay.measures.judged import corrected
from goldassay.results.result import Result, Values, by_key, facts_of, fold, form_alone, form_warning
from goldassay.results.view import View
from goldassay.running.folder import ROWS, run_at
from goldassay.running.head import HEAD, NO_MEASURES, RunHead, read_head
from goldassay.running.noise import Noise, noise
from goldassay.running.rows import Row, Rows, example_row
from goldassay.running.summary import doubts, overall, run_view
from goldassay.statistics import Interval
from goldassay.statistics.design import SAMPLING, SIMPLE, Design
from goldassay.statistics.intervals import effective_labels
from goldassay.statistics.ppi import Corrected

if TYPE_CHECKING:
    from goldassay.core.metric import Metric
    from goldassay.statistics.labels import DraftedAnswers

MOST_EXAMPLES = 2**27  # examples of a run
ROWS_IN_COLUMNS = 4096  # rows whose evidence is put into columns at once


@dataclass(frozen=True)
class Case:
    """One evaluated example: its evidence, its errors and what it belongs to. Error patterns are found from these."""

    id: str
    evidence: Evidence
    errors: tuple[Error, ...] = ()
    strata: Mapping[str, object] = field(default_factory=dict)


@dataclass(repr=False)
class Run(Displayed):
    """Every row, the evidence, the settings. ``rows`` are in the order of the gold examples; of a large run they stay
    on disk and are read when asked for (`goldassay.running.rows`).

    A run with repeats has several answers to each example. Its ``rows`` are still one an example (their means), and
    ``answers`` are all that is stored, each with its ``repeat``.

    A run of a file of predictions on drafted gold has in ``drafted`` what it says of all inputs.

    ``value`` is the metric's corpus value, ``values`` and ``intervals`` those of its measures; ``evidence`` holds the
    tallies of each row, ``tallies(name)`` those of one measure.
    """

    head: RunHead
    rows: Sequence[Row]
    zero: Evidence
    folder: Path | None = None
    drafted: DraftedAnswers | None = field(default=None, compare=False)
    answers: Sequence[Row] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """The values of a function's dict are known from the rows alone: means without a weight of their own."""
        if self.head.of_function:
            new = dict.fromkeys(key for row in self.rows for key in row.tallies if key not in self.zero)
            weights = {**dict.fromkeys(new, 0.0), **self.zero.weights}
            self.zero = Evidence({**self.zero, **{key: Mean() for key in new}}, weights, self.zero.worst)
        self.answers = self.rows
        if self.repeats > 1:
            self.rows = [example_row(answers, self._evidence) for answers in self._by_example()]

    def _by_example(self) -> list[list[Row]]:
        """The answers to each example."""
        return [list(answers) for _, answers in groupby(self.answers, attrgetter("index"))]

    @property
    def name(self) -> str:
        """The name of what was run."""
        return str(self.head.name)

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the values: gold examples in the program's prompts, noise that was not measured."""
        warnings = [*self.head.warnings, *self.head.notes, *filter(None, [self.why_no_estimate])]
        if self.design.drafted:
            warnings += effective_labels(self.intervals)
        elif empty := [name for name, tally in self.total.items() if self.rows and not tally.weight]:
            count = ("measures", "it reads") if len(empty) == 1 else ("measure", "they read")
            warnings.append(f"{', '.join(empty)} {count[0]} nothing: no example has what {count[1]}")
        scores = self.result.scores if self.head.of_function else ()
        if scores and (max(scores) > 1 + 1e-9 or (self.failed and min(scores) < 0)):
            warnings.append(
                f"scores go from {min(scores):g} to {max(scores):g}; in error patterns, patches and demonstrations 1 "
                "is a right answer, and a failed example counts 0: return shares of 1"
            )
        if forms := facts_of(self.result.facts, "form"):
            warnings.append(form_warning(forms))
        called = self.head.model and (self.cost.get("calls") or self.cost.get("cached"))
        temperature = (self.head.model or {}).get("temperature")
        if called and self.repeats == 1 and temperature != 0:
            at = "its own temperature" if temperature is None else f"temperature {temperature:g}"
            warnings.append(
                f"each example was asked once, at {at}: the model's own noise cannot be separated from the differences "
                "between examples; use repeats to separate them"
            )
        return warnings

    @property
    def repeats(self) -> int:
        """How often each example was asked."""
        return self.head.repeats

    @property
    def cost(self) -> Fields:
        """Calls, tokens, seconds and money."""
        return dict(self.head.cost)

    def uncached(self, amount: float) -> float | None:
        """An amount of its cost as if no answer had come from the cache, which took nothing.

        Answers from the cache count like the others, call for call; None if all came from there.
        """
        calls = self.cost.get("calls", 0)
        cached = self.cost.get("cached", 0)
        if cached and not calls:
            return None
        return amount * (calls + cached) / calls if cached else amount

    @cached_property
    def evidence(self) -> list[Evidence]:
        """The tallies of each row."""
        return list(map(self._evidence, self.rows))

    def _evidence(self, row: Row) -> Evidence:
        evidence = self.zero.from_state(row.tallies)
        for key in self.zero.keys() - evidence.keys():  # it failed before the metric named it, or has no such value
            evidence[key] = Mean.of(self.zero.worst.get(key, 0.0)) if row.error else self.zero[key]
        return evidence

    @cached_property
    def result(self) -> Result:
        """The values of all rows with their intervals; those of a function's dict are means, as those of any log.

        One walk over the rows makes it: those of a large run are read once and do not stay in memory. Its ``facts``
        count the rows that failed, and those with an answer that was cut off.
        """
        measures: dict[str, Measure] = {}
        for name in self.zero:
            worst = self.zero.worst.get(name)
            described = self.head.measures.get(name)
            measures[name] = Returned(name, lower_is_better=worst is not None, most=worst)
            if described is not None:
                measures[name] = parse(described.measure)
        columns = Chunks(self.zero)
        facts = Counter[Hashable]()
        scores: list[float] = []
        numbers: dict[str | int, int] = {}
        documents: list[object] = []
        facets: dict[str, dict[str, list[int]]] = {}
        for start in range(0, len(self.rows), ROWS_IN_COLUMNS):
            chunk = self.rows[start : start + ROWS_IN_COLUMNS]
            evidence = list(map(self._evidence, chunk))
            tallies = {key: stacked([by_name[key] for by_name in evidence], zero) for key, zero in self.zero.items()}
            columns.add(tallies, len(chunk))
            for position, row in enumerate(chunk, start):
                facts.update(name for name in ("error", "truncated", SAMPLING) if getattr(row, name))
                scores.append(float(row.score))
                facts.update(("form", message) for message in form_alone(row.errors))
                documents.append(numbers.setdefault(row.document or position, len(numbers)))
                for name, key in row.facets.items():
                    facets.setdefault(name, {}).setdefault(key, []).append(position)
        result = Result(
            next((measure.task for measure in measures.values()), OWN_TASK),
            measures,
            dict(columns) if self.rows else {},
            self.rows,
            conventions={name: described.conventions for name, described in self.head.measures.items()},
            facts=facts,
            name=self.name,
            folder=str(self.folder or ""),
            zero=self.zero,
            facets=facets,
            scores=scores,
            drafted=self.drafted,
        )
        result.design = Design.of(self.rows) if facts[SAMPLING] else SIMPLE
        result.clusters = documents if len(numbers) < len(documents) else None
        return result

    def tallies(self, name: str) -> list[Any]:
        """One measure's tally of each row."""
        return [evidence[name] for evidence in self.evidence]

    @cached_property
    def total(self) -> Evidence:
        """The evidence of all rows together; none if no value can be estimated."""
        return self.zero if self.why_no_estimate or not self.rows else self.zero.with_items(self.result.totals)

    @property
    def value(self) -> float:
        """The metric's corpus value; NaN if none can be estimated, or nothing is measured yet."""
        return math.nan if self.why_no_estimate or not self.rows else float(self.total.value)

    @property
    def design(self) -> Design:
        """How the examples were chosen; values are weighed by it."""
        return self.result.design

    @property
    def why_no_estimate(self) -> str:
        """Why no value can be estimated from the examples; empty if it can."""
        return self.design.why_no_estimate

    @cached_property
    def values(self) -> dict[str, float]:
        """Each measure's corpus value; measures without evidence are left out."""
        return {name: value for name, value in self.result.values.items() if value is not None}

    @property
    def clusters(self) -> list[object] | None:
        """The document of each row, if any two rows share one: examples of a document are not independent."""
        return self.result.clusters

    @property
    def unit(self) -> str:
        """The unit of intervals and tests: ``48 documents``, or the examples."""
        return unit(len(self.rows), self.clusters)

    @property
    def size(self) -> str:
        """How many examples there are, and the documents that they belong to, if any two share one."""
        return unit(len(self.rows), None) + (f" in {self.unit}" if self.clusters else "")

    @property
    def failed(self) -> int:
        """How many examples failed."""
        return self.result.facts["error"]

    @property
    def available(self) -> bool:
        """Whether the program worked at all; a run in which every example failed has no value, and loses to none."""
        return self.failed < len(self.rows)

    @property
    def intervals(self) -> dict[str, Interval]:
        """Each measure's 95 % interval, over examples, or over documents if rows name them."""
        return self.result.intervals

    @cached_property
    def noise(self) -> Noise | None:
        """The program's own noise, from the repeats; None without repeats."""
        if self.repeats == 1:
            return None
        evidence = list(map(self._evidence, self.answers))
        return noise(self.answers, evidence, self.zero, self.head.pass_mark)

    @cached_property
    def interval(self) -> Interval | None:
        """The 95 % interval of the metric's value; None without rows, or where a measure has none."""
        weighted = self.zero.weighted
        if not self.rows or self.why_no_estimate:
            return None
        if len(weighted) != 1:
            columns = self.zero.with_items(self.result.columns)
            return self.design.interval(columns, self.zero, clusters=self.clusters)
        interval = self.intervals.get(weighted[0])
        worst = self.zero.worst.get(weighted[0])
        if interval is None or worst is None:
            return interval
        low = 1 - interval.high / worst
        high = 1 - interval.low / worst
        return replace(interval, value=1 - interval.value / worst, low=low, high=high)

    @cached_property
    def corrected(self) -> dict[str, Corrected]:
        """Judged values as people would find them, where people's labels were given (`goldassay.measures.judged`)."""
        labels = self.head.judge_labels
        if not labels:
            return {}
        ids = [str(row.id) for row in self.rows]
        return corrected(labels, ids, {name: self.tallies(name) for name in self.zero})

    @property
    def by_stratum(self) -> dict[str, dict[str, dict[str, float]]]:
        """For each stratum (and the language) its keys, with the number of examples and each measure's corpus value."""
        return self.result.by_stratum

    @cached_property
    def breakdowns(self) -> dict[str, dict[str, Values]]:
        """For each facet that a measure counts by (records: ``field``), the precision, recall and F1 of its keys.

        It is measured from the rows of all answers; empty without a trace, of examples chosen from strata, and where a
        program's fields have names that only its own metric reads.
        """
        by_facet: dict[str, Measure] = {}
        for measure in () if self.design.stratified else self.result.measures.values():
            by_facet.update(measure.breakdown)
        task = self.result.task
        result = self.measured(lambda shared: fold(task, by_facet, shared), self.answers) if by_facet else None
        return {facet: by_key(result.columns[facet].summed) for facet in by_facet} if result else {}

    def measured(self, scorecard: Callable[[Batches], Result], rows: Sequence[Row]) -> Result | None:
        """The values of other measures on the same answers; None without a trace, or if only the metric reads them.

        Args:
            scorecard: Measures pairs of gold and predictions.
            rows: The rows of the run, or its answers.

        Raises:
            DataError: A measure cannot read a row.
        """
        columns = self.head.columns
        if self.head.of_function or any(path.startswith("<") for path in columns.values()):
            return None
        gold: list[object] = []
        predictions: list[object] = []
        for row in rows:
            if row.gold is None:
                return None
            example = {"id": row.id, **(row.inputs or {}), **row.gold}
            if row.sampling:
                example[SAMPLING] = row.sampling
            pair = sides(columns, example, None if row.error else row.prediction or None)
            gold.append(pair[0])
            predictions.append(pair[1])
        try:
            return scorecard(Batches(gold, predictions)) if gold else None
        except DataError as error:
            raise error.at(file=self.folder and self.folder / ROWS) from None
        except FieldError:  # an older run.json does not say how the metric renamed fields
            return None

    @cached_property
    def cases(self) -> list[Case]:
        """The rows as error patterns are made from them, in the rows' order; errors and evidence of all answers."""
        return [
            Case(
                str(rows[0].id),
                sum(map(self._evidence, rows[1:]), self._evidence(rows[0])),
                tuple(error for row in rows for error in row.errors),
                rows[0].facets,
            )
            for rows in self._by_example()
        ]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4f}" for name, value in self.values.items()) if self.rows else "no rows"
        return f"Run({self.name!r}, {self.size}, {values})"

    def records(self) -> list[JsonObject]:
        """A flat record an example: id, strata, score, values, errors, seconds, tokens, inputs, gold, prediction."""
        records: list[JsonObject] = []
        for row, evidence in zip(self.rows, self.evidence, strict=True):
            record: JsonObject = {"id": row.id}
            record |= {f"stratum.{name}": key for name, key in row.facets.items()}
            record["score"] = row.score
            record |= {name: float(tally.value) if tally.weight else None for name, tally in evidence.items()}
            record |= {"failed": row.error, "errors": len(row.errors), "seconds": row.latency_s}
            record |= {"calls": row.usage.calls, "tokens": row.usage.prompt_tokens + row.usage.completion_tokens}
            for side, fields in (("input", row.inputs), ("gold", row.gold), ("prediction", row.prediction)):
                for name, value in (fields or {}).items():
                    if (side, name) != ("gold", "id"):
                        plain = isinstance(value, str | int | float | None)
                        record[f"{side}.{name}"] = value if plain else jsonl.dumps(value)
            records.append(record)
        return records

    def to_pandas(self) -> Any:
        """The `records` as a data frame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return optional("pandas", "pandas").DataFrame(self.records())

    @property
    def results(self) -> JsonObject:
        """The results as ``run.json`` holds them; ``value`` is that of the headline, corrected by people's labels."""
        headline = overall(self)
        ends = headline.interval
        results: JsonObject = {
            "unit": self.unit,
            "value": None if math.isnan(headline.value) else headline.value,
            "interval": [ends.low, ends.high] if ends else None,
            "values": self.values,
            "intervals": {key: [interval.low, interval.high] for key, interval in self.intervals.items()},
            "by": self.by_stratum,
        }
        if self.corrected:
            results["corrected"] = {name: asdict(estimate) for name, estimate in self.corrected.items()}
        return results

    def summary(self) -> Fields:
        """The result in short, as ``--json`` prints it."""
        measures = self.head.measures
        return {
            "name": self.name,
            "status": self.head.status,
            "examples": len(self.rows),
            "failed": self.failed,
            "truncated": self.result.facts["truncated"],
            **({"warnings": warnings} if (warnings := doubts(self)) else {}),
            **self.results,
            "by": self.breakdowns | self.by_stratum,
            **({"repeats": self.repeats, "noise": self.noise.state()} if self.noise else {}),
            "conventions": {key: measure.conventions for key, measure in measures.items()},
            "lower_is_better": list(self.zero.worst),
            "targets": {key: measure.target for key, measure in measures.items() if measure.target is not None},
            "cost": self.cost,
            "folder": str(self.folder) if self.folder else None,
        }

    def view(self) -> View:
        """A sentence, the values with intervals and targets, strata, breakdowns, noise, warnings and cost."""
        return run_view(self)

    @classmethod
    def load(cls, folder: Path | str, metric: Metric | None = None) -> Run:
        """A run from its folder, or by its name in ``runs``; also an interrupted one, and another tool's log.

        ``metric`` is needed only for the user's own measures. A log of several systems is opened by
        `open_runs`, or one of them as ``FILE:NAME``.

        Raises:
            GoldassayError: There is no run, or the log has several systems.
            DataError: It is damaged.
        """
        runs = open_runs(folder, metric)
        if len(runs) > 1:
            names = ", ".join(run.name for run in runs)
            raise GoldassayError(f"{folder} has several systems: {names}; name one as {runs[0].folder}")
        return runs[0]


def open_runs(place: Path | str, metric: Metric | None = None, **options: str) -> list[Run]:
    """The run of a folder, or the runs in a log of another tool, or in a folder of logs.

    Args:
        place: The path, the name of a run in ``runs``, or ``FILE:NAME`` for one system of a log.
        metric: The metric that measured a run, which is needed only for the user's own measures.
        options: Those of the readers: ``document``, the field of metadata that names the document of a sample.

    Raises:
        DataError: It is neither, or it is damaged.
    """
    runs = logged_runs(place, **options)
    if not runs and Path(place).is_file():
        readers = ", ".join(registered("readers")) or "nothing; no extension is installed"
        raise DataError(f"not a run folder and no log that can be read; there are readers for {readers}", file=place)
    return runs or [stored(run_at(Path(place)), metric)]


def logged_runs(place: Path | str, **options: str) -> list[Run]:
    """The runs that a reader of an extension knows in a file or folder which is not a run; empty if none does."""
    if (run_at(Path(place)) / HEAD).is_file():
        return []
    readers = dict.fromkeys(of_kind("readers").values())  # one reader may know several tools
    return next((runs for reader in readers if (runs := reader(place, **options))), [])


def stored(folder: Path, metric: Metric | None = None, repeats: int = 1) -> Run:
    """A run from its folder, whose rows are numbered for at least so many repeats.

    Raises:
        GoldassayError: There is no run.
        DataError: It is damaged.
    """
    head = read_head(folder)
    zero = zero_of(head, folder) if metric is None else metric.zero
    repeats = max(repeats, head.repeats)
    rows = Rows(folder / ROWS, repeats)

    def row_of(state: JsonObject) -> Row:
        """The row, if it is one of this run; rows of a function may hold values of other names."""
        row = Row.of(state)
        more = dict.fromkeys(row.tallies if head.of_function else (), Mean())
        evidence = zero.with_items({**more, **zero}).from_state(row.tallies)
        repeat = 1 if row.repeat is None else row.repeat
        fits = 0 <= row.index < MOST_EXAMPLES and 1 <= repeat <= repeats
        fits = fits and (head.of_function or evidence.keys() == zero.keys())
        if not fits or not math.isfinite(float(evidence.value) + row.score):
            raise ValueError
        row.check()
        return row

    if (folder / ROWS).exists():
        what = "a row of this run: an index, an id, and the tallies of its measures"
        for row, start in jsonl.parsed_rows(folder / ROWS, row_of, what=what):
            rows.add(row, start)
    return Run(head, rows, zero, folder)


def zero_of(head: RunHead, folder: Path) -> Evidence:
    """The empty evidence of the measures that a run names.

    Raises:
        DataError: A measure does not parse, or its weight or target is not finite.
    """
    weights = {name: abs(measure.weight) for name, measure in head.measures.items()}
    try:
        if not math.isfinite(sum([*weights.values(), *(measure.target or 0.0 for measure in head.measures.values())])):
            raise ValueError
        return Evidence.empty({name: parse(measure.measure) for name, measure in head.measures.items()}, weights)
    except GoldassayError as error:
        raise DataError(str(error), file=folder / HEAD, field="measures") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise DataError(NO_MEASURES, file=folder / HEAD) from None

"""A run: one evaluation, in memory or on disk as ``run.json`` and ``rows.jsonl``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import jsonl
from goldassay.display import Displayed
from goldassay.exceptions import DataError, FieldError, GoldassayError, optional
from goldassay.fields import Fields, Record, unit
from goldassay.measure import OWN, Error, parse
from goldassay.measures.judged import corrected
from goldassay.running.folder import ABOUT, ROWS, read_about, run_at
from goldassay.running.noise import Noise, noise
from goldassay.running.rows import Folded, Rows, check_parts, example_row, facets, record, values
from goldassay.scorecard import Values, by_key
from goldassay.statistics import Interval, interval
from goldassay.statistics.intervals import worth
from goldassay.statistics.ppi import Corrected
from goldassay.tally import Evidence, Mean

if TYPE_CHECKING:
    from goldassay.metric import Metric
    from goldassay.running.drafted import Drafted
    from goldassay.statistics.design import Design

MOST = 2**27  # examples of a run


@dataclass(frozen=True)
class Case:
    """One evaluated example: its evidence, its errors and what it belongs to. Error patterns are found from these."""

    id: str
    evidence: Evidence
    errors: tuple[Error, ...] = ()
    strata: Record = field(default_factory=dict)


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

    about: Fields
    rows: Sequence[Fields]
    zero: Evidence
    folder: Path | None = None
    drafted: Drafted | None = field(default=None, compare=False)
    answers: Sequence[Fields] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """The values of a function's dict are known from the rows alone: means without a weight of their own."""
        if of_function(self.about):
            new = dict.fromkeys(key for row in self.rows for key in row["tallies"] if key not in self.zero)
            weights = {**dict.fromkeys(new, 0.0), **self.zero.weights}
            self.zero = Evidence({**self.zero, **{key: Mean() for key in new}}, weights, self.zero.worst)
        self.answers = self.rows
        if self.repeats > 1:
            self.rows = [example_row(answers, self._evidence) for answers in self._by_example()]

    def _by_example(self) -> list[list[Fields]]:
        """The answers to each example."""
        return [list(answers) for _, answers in groupby(self.answers, itemgetter("index"))]

    @property
    def name(self) -> str:
        """The name of what was run."""
        return str(self.about.get("name", "run"))

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the values: gold examples in the program's prompts, noise that was not measured."""
        warnings = [str(warning) for name in ("warnings", "notes") for warning in self.about.get(name) or ()]
        warnings += [self.no_level] if self.no_level else []
        warnings += worth(self.intervals) if self.design else []
        model = self.about.get("model") or {}
        temperature = model.get("temperature")
        called = model and any(self.cost.get(name) for name in ("calls", "cached"))
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
        return int(self.about.get("repeats", 1))

    @property
    def cost(self) -> Fields:
        """Calls, tokens, seconds and money."""
        return dict(self.about.get("cost", {}))

    @cached_property
    def evidence(self) -> list[Evidence]:
        """The tallies of each row."""
        return list(map(self._evidence, self.rows))

    def _evidence(self, row: Record) -> Evidence:
        evidence = self.zero.from_state(row["tallies"])
        if row.get("error"):  # it may have failed before the metric named its values
            worst = {key: Mean.of(self.zero.worst.get(key, 0.0)) for key in self.zero if key not in evidence}
            evidence.update(worst)
        return evidence

    @cached_property
    def folded(self) -> Folded:
        """The sums over the rows; those of a large run are read once and do not stay in memory."""
        return Folded(self.rows, self._evidence, self.zero)

    def tallies(self, name: str) -> list[Any]:
        """One measure's tally of each row."""
        return [evidence[name] for evidence in self.evidence]

    @property
    def total(self) -> Evidence:
        """The evidence of all rows together."""
        return self.folded.total

    @property
    def value(self) -> float:
        """The metric's corpus value; NaN if the examples tell none."""
        return math.nan if self.no_level else float(self.total.value)

    @property
    def design(self) -> Design | None:
        """How the examples were chosen, if their gold says so; values are weighed by it."""
        return self.folded.design

    @property
    def no_level(self) -> str:
        """Why the examples tell no value; empty if they do."""
        return self.design.no_level if self.design else ""

    @cached_property
    def values(self) -> dict[str, float]:
        """Each measure's corpus value; measures without evidence are left out."""
        plain = values(self.total)
        return {key: self.intervals[key].value for key in plain} if self.design else plain

    @property
    def clusters(self) -> list[int] | None:
        """The document of each row, if any two rows share one: examples of a document are not independent."""
        return self.folded.clusters

    @property
    def unit(self) -> str:
        """The unit of intervals and tests: ``48 documents``, or the examples."""
        return unit(len(self.rows), self.clusters)

    @property
    def size(self) -> str:
        """How many examples there are, and the documents that they belong to, if any two share one."""
        return f"{len(self.rows)} examples{f' in {self.unit}' if self.clusters else ''}"

    @property
    def available(self) -> bool:
        """Whether the program worked at all; a run in which every example failed has no value, and loses to none."""
        return self.folded.failed < len(self.rows)

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Each measure's 95 % interval, over examples, or over documents if rows name them."""
        estimate = self.design.interval if self.design else interval
        return {
            key: estimate(self.folded.columns[key], self.zero[key], clusters=self.clusters, bounds=self.bounds(key))
            for key in values(self.total)
        }

    @cached_property
    def noise(self) -> Noise | None:
        """The program's own noise, from the repeats; None without repeats."""
        if self.repeats == 1:
            return None
        evidence = list(map(self._evidence, self.answers))
        return noise(self.answers, evidence, self.zero, float(self.about.get("pass_mark", 1.0)))

    @cached_property
    def interval(self) -> Interval | None:
        """The 95 % interval of the metric's value; None without rows, or where a measure has none."""
        weighted = [key for key in self.zero if self.zero.weights.get(key, 1.0)]
        if not self.rows or self.no_level:
            return None
        if len(weighted) != 1:
            columns: Any = self.zero.with_items(self.folded.columns)
            estimate = self.design.interval if self.design else interval
            return estimate(columns, self.zero, clusters=self.clusters)
        own = self.intervals.get(weighted[0])
        worst = self.zero.worst.get(weighted[0])
        if own is None or worst is None:
            return own
        return replace(own, value=1 - own.value / worst, low=1 - own.high / worst, high=1 - own.low / worst)

    def bounds(self, key: str) -> tuple[float, float] | None:
        """Between which a measure's value lies; None if the run does not say."""
        stored = str(self.about.get("measures", {}).get(key, {}).get("measure", OWN))
        return None if stored == OWN else parse(stored).known_limits

    @cached_property
    def corrected(self) -> dict[str, Corrected]:
        """Judged values as people would find them, where people's labels were given (`goldassay.measures.judged`)."""
        labels = self.about.get("judge_labels") or {}
        if not labels:
            return {}
        ids = [str(row["id"]) for row in self.rows]
        return corrected(labels, ids, {name: self.tallies(name) for name in self.zero})

    @cached_property
    def by_stratum(self) -> dict[str, dict[str, dict[str, float]]]:
        """For each stratum (and the language) its keys, with the number of examples and each measure's corpus value."""
        return self.folded.by_stratum

    @cached_property
    def breakdowns(self) -> dict[str, dict[str, Values]]:
        """For each facet that a measure counts by (records: ``field``), the precision, recall and F1 of its keys.

        It is measured from the rows of all answers; empty without a trace, of examples chosen from strata, and where a
        program's fields have names that only its own metric reads.
        """
        weighed = self.design is not None and (bool(self.no_level) or len(self.design.strata) > 1)
        if weighed or of_function(self.about) or not all("gold" in row for row in self.rows):
            return {}
        measures = [parse(each["measure"]) for each in self.about.get("measures", {}).values()]
        parts = [part for measure in measures for part in measure.breakdown.items()]
        breakdowns = {}
        for facet, measure in parts:
            total = measure.zero
            for row in self.answers:
                gold = {"id": row["id"], **row.get("inputs", {}), **row["gold"]}
                prediction = None if row.get("error") else row.get("prediction")
                try:
                    total += measure(gold, prediction).tally
                except (DataError, FieldError):
                    return {}
            breakdowns[facet] = by_key(total)
        return breakdowns

    @cached_property
    def cases(self) -> list[Case]:
        """The rows as error patterns are made from them, in the rows' order; errors and evidence of all answers."""
        return [
            Case(
                str(rows[0]["id"]),
                sum(map(self._evidence, rows[1:]), self._evidence(rows[0])),
                tuple(Error(**error) for row in rows for error in row.get("errors", ())),
                facets(rows[0]),
            )
            for rows in self._by_example()
        ]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4f}" for name, value in self.values.items()) if self.rows else "no rows"
        return f"Run({self.name!r}, {self.size}, {values})"

    def records(self) -> list[Fields]:
        """A flat record an example: id, strata, score, values, errors, seconds, tokens, inputs, gold, prediction."""
        return list(map(record, self.rows, self.evidence))

    def to_pandas(self) -> Any:
        """The `records` as a data frame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return optional("pandas", "pandas").DataFrame(self.records())

    @property
    def results(self) -> Fields:
        """The results as ``run.json`` holds them."""
        return {
            "unit": self.unit,
            "value": None if self.no_level else self.value,
            "interval": [self.interval.low, self.interval.high] if self.interval else None,
            "values": self.values,
            "intervals": {key: [interval.low, interval.high] for key, interval in self.intervals.items()},
            "by": self.by_stratum,
            **({"corrected": {name: asdict(each) for name, each in self.corrected.items()}} if self.corrected else {}),
        }

    def summary(self) -> Fields:
        """The result in short, as ``--json`` prints it."""
        measures = self.about.get("measures", {})
        return {
            "name": self.name,
            "status": self.about.get("status"),
            "examples": len(self.rows),
            "failed": self.folded.failed,
            "truncated": self.folded.truncated,
            **({"warnings": self.warnings} if self.warnings else {}),
            **self.results,
            "by": self.breakdowns | self.by_stratum,
            **({"repeats": self.repeats, "noise": self.noise.state()} if self.noise else {}),
            "conventions": {key: each["conventions"] for key, each in measures.items()},
            "lower_is_better": list(self.zero.worst),
            "targets": {key: each["target"] for key, each in measures.items() if each.get("target") is not None},
            "cost": self.cost,
            "folder": str(self.folder) if self.folder else None,
        }

    @classmethod
    def load(cls, folder: Path | str, metric: Metric | None = None) -> Run:
        """A run from its folder, or by its name in ``runs``; also an interrupted one, and another tool's log.

        ``metric`` is needed only for measures of one's own. A log of several systems is read by
        `goldassay.running.logs.read_log`, or as ``FILE:NAME``.

        Raises:
            GoldassayError: There is no run, or the log has several systems.
            DataError: It is damaged.
        """
        from goldassay.running.logs import runs_at, split_name

        if not split_name(folder)[0].is_file():
            return stored(run_at(Path(folder)), metric)
        runs = runs_at(folder)
        if len(runs) > 1:
            names = ", ".join(run.name for run in runs)
            raise GoldassayError(f"{folder} has several systems: {names}; name one as {runs[0].folder}")
        return runs[0]


def stored(place: Path, metric: Metric | None = None, repeats: int = 1) -> Run:
    """A run from its folder, whose rows are numbered for at least so many repeats.

    Raises:
        GoldassayError: There is no run.
        DataError: It is damaged.
    """
    about = read_about(place)
    zero = zero_of(about, place) if metric is None else metric.zero
    more = of_function(about)
    repeats = max(repeats, int(about.get("repeats", 1)))
    rows = Rows(place / ROWS, repeats)

    def check(row: Fields) -> None:
        """Check that this is a row of the run; rows of a function may hold values of other names."""
        new = dict.fromkeys(row["tallies"] if more else (), Mean())
        evidence = zero.with_items({**new, **zero}).from_state(row["tallies"])
        placed = 0 <= row["index"] < MOST and 1 <= row.get("repeat", 1) <= repeats and "id" in row
        if not (
            placed and (more or evidence.keys() == zero.keys()) and math.isfinite(float(evidence.value) + row["score"])
        ):
            raise ValueError
        for error in row.get("errors", ()):
            Error(**error)
        dict(row.get("strata") or {})
        check_parts(row)

    if (place / ROWS).exists():
        what = "a row of this run: an index, an id, and the tallies of its measures"
        for row, start in jsonl.rows_with_offsets(place / ROWS, what=what, check=check):
            rows.add(row, start)
    return Run(about, rows, zero, place)


def zero_of(about: Record, place: Path) -> Evidence:
    """The empty evidence of the measures that a run names.

    Raises:
        DataError: Its head names no measures.
    """
    try:
        measures = about["measures"]
        targets = [target for measure in measures.values() if (target := measure.get("target")) is not None]
        named = all(isinstance(measure["conventions"], str) for measure in measures.values())
        if not named or not math.isfinite(sum(targets)):
            raise TypeError
        weights = {key: abs(float(measure["weight"])) for key, measure in measures.items()}
        return Evidence.empty({key: parse(measure["measure"]) for key, measure in measures.items()}, weights)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise DataError("not a run: it lacks measures, weights or conventions", file=place / ABOUT) from None


def of_function(about: Record) -> bool:
    """Whether a run was measured by a function, whose rows may hold values that its head does not name."""
    return any(str(measure.get("measure", "")).startswith(f"{OWN}.") for measure in about.get("measures", {}).values())

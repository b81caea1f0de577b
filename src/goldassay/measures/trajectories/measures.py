"""Trajectories' measures: whole trajectories, calls, tools, arguments, and what they cost.

The calls of a prediction are assigned one to one to those of the acceptable list that they are nearest to. A right call
is a true positive, a call too many a false positive, a missing one a false negative; a wrong call is both.

In other tools' terms: `TrajectoryMatch` is Vertex AI's trajectory_exact_match, in_order_match and any_order_match.
agentevals' modes agree where its greedy assignment finds the largest one (its own way is the protocol ``agentevals``).
ragas' ToolCallF1 counts sets, so a repeated call counts once there; its ToolCallAccuracy is 0 unless the sequences of
names are equal. deepeval's ToolCorrectness compares names only, by default: `ToolF1`'s recall.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from goldassay._support.exceptions import DataError, GoldassayError, line_of, one_line
from goldassay._support.workspace import attribute
from goldassay.core.evidence import Floats, means
from goldassay.core.fields import identity
from goldassay.core.measure import NO_EVIDENCE, Conventions, Error, Limits, Measure, Names, Review, failed
from goldassay.core.tally import RATE_TALLIES, By, Counts, Mean, T, Tally
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.records.comparators import comparator
from goldassay.measures.trajectories import mistakes
from goldassay.measures.trajectories.matching import ARGUMENTS, CallComparison, CallPair
from goldassay.measures.trajectories.records import reference, trajectory


@dataclass(frozen=True, kw_only=True)
class TrajectoryMeasure(TaskMeasure[T, list[CallPair]]):
    """A measure on pairs of trajectories.

    ``arguments``: how arguments match: ``exact`` (all equal), ``ignore``, ``subset`` (none that gold lacks) or
    ``superset`` (all of gold's, others may be there). ``compare``: comparators by ``TOOL.ARGUMENT`` or ``ARGUMENT``, as
    those of `goldassay.measures.records`; an argument without one is compared by the type of gold's value.
    """

    task = "trajectories"
    shares = ("arguments", "compare")
    choices = {
        "arguments": ARGUMENTS,
        "rate": tuple(RATE_TALLIES),
        "mode": ("exact", "in_order", "any_order", "unordered", "subset"),
        "of": ("finished", "failed", "recovered", "repeated"),
    }

    arguments: str = "exact"
    compare: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = self.compare.items() if isinstance(self.compare, Mapping) else self.compare
        object.__setattr__(self, "compare", tuple((str(name), str(how)) for name, how in pairs))
        for _, how in self.compare:
            comparator(how)

    def batch(self, gold: Examples, pred: Examples) -> list[CallPair]:
        """Every pair, read once; the assignments are made when first needed.

        Raises:
            DataError: Calls cannot be read.
        """
        comparing = CallComparison(self.arguments, dict(self.compare))
        pairs = []
        for index, (example, prediction) in enumerate(zip(gold, pred, strict=True), start=1):
            try:
                pairs.append(CallPair(reference(example), trajectory(prediction), comparing))
            except DataError as error:
                raise error.at(record=identity(example, index)) from None
        return pairs

    def reviews(self, batch: list[CallPair]) -> list[Review]:
        """The errors of each pair."""
        return list(map(mistakes.review, batch))

    @property
    def chosen(self) -> Mapping[str, object]:
        """The conventions, with the comparators in words."""
        compared = ", ".join([*(f"{name}: {how}" for name, how in self.compare), "others by type (3 is 3.0)"])
        return {**super().chosen, "compare": compared}


@dataclass(frozen=True)
class TrajectoryMatch(TrajectoryMeasure[Mean]):
    """The share of trajectories that match an acceptable one as a whole.

    ``mode``: ``exact`` (the same calls, in the same order), ``in_order`` (all of gold's in their order, others between
    them), ``any_order`` (all of gold's, and others), ``unordered`` (the same calls in any order) or ``subset`` (no call
    that gold lacks). Order does not count where gold says ``order: any``.

    Formula: matching trajectories / all trajectories
    Source: Vertex AI's trajectory_exact_match, trajectory_in_order_match, trajectory_any_order_match; agentevals' modes

    >>> gold = {"calls": [{"name": "search", "args": {"q": "Delft"}}, {"name": "read", "args": {"id": 7}}]}
    >>> pred = {"trajectory": [{"name": "search", "args": {"q": "Delft"}}, {"name": "look"},
    ...                        {"name": "read", "args": {"id": 7.0}}]}
    >>> [TrajectoryMatch(mode)(gold, pred).tally.value for mode in ("exact", "in_order", "any_order")]
    [0.0, 1.0, 1.0]
    """

    mode: str = "exact"
    name = "trajectory_{mode}_match"
    in_key: ClassVar[Names] = ("mode",)

    def tallies(self, batch: list[CallPair]) -> Mean:
        """1 for a trajectory that matches."""
        values = []
        for pair in batch:
            matches = [alignment for alignment in pair.alignments if getattr(alignment, self.mode)]
            values.append(float(bool(matches) and not pair.trajectory.failure))
        return means(values)


@dataclass(frozen=True)
class CallF1(TrajectoryMeasure):
    """F1, precision or recall of calls, by name and arguments, each assigned once.

    Formula: F1 = 2 tp / (2 tp + fp + fn) over all calls
    Source: Vertex AI's trajectory_precision and trajectory_recall, micro-averaged and one to one

    >>> gold = {"calls": [{"name": "search", "args": {"q": ["Delft", "delft"]}}]}
    >>> score = CallF1()(gold, {"calls": [{"name": "search", "args": {"q": "Gouda"}}]})
    >>> score.tally, [error.kind for error in score.errors]
    (Counts(tp=0.0, fp=1.0, fn=1.0), ['wrong_argument'])
    """

    rate: str = "f1"
    name = "call_{rate}"
    fixed: ClassVar[Conventions] = {"assignment": "one to one, largest", "average": "micro", "empty": NO_EVIDENCE}

    in_key: ClassVar[Names] = ("rate",)
    counted: ClassVar[str] = "call"  # the three rates have the same counts
    assigned: ClassVar[str] = "right"  # the calls that are right, of an alignment

    @property
    def zero(self) -> Counts:
        """No evidence."""
        return RATE_TALLIES[self.rate]()

    def tallies(self, batch: list[CallPair]) -> Tally:
        """The counts of each pair."""
        alignments = [pair.best for pair in batch]
        right = _array(len(getattr(best, self.assigned)) for best in alignments)
        predicted = _array(len(best.pred) for best in alignments)
        expected = _array(len(best.gold) for best in alignments)
        return type(self.zero)(right, predicted - right, expected - right)


@dataclass(frozen=True)
class ToolF1(CallF1):
    """F1, precision or recall of tools: calls by their name alone, each assigned once.

    Formula: F1 = 2 tp / (2 tp + fp + fn) over all calls
    Source: the definition of `CallF1` with ``arguments="ignore"``

    >>> ToolF1()({"calls": [{"name": "search", "args": {"q": "Delft"}}]}, {"calls": [{"name": "search"}]}).tally.value
    1.0
    """

    name = "tool_{rate}"
    counted: ClassVar[str] = "tool"
    assigned: ClassVar[str] = "by_name"

    @property
    def breakdown(self) -> Mapping[str, Measure]:
        """The counts of each tool."""
        return {"tool": ByTool(arguments=self.arguments, compare=self.compare)} if self.rate == "f1" else {}


@dataclass(frozen=True)
class ByTool(TrajectoryMeasure):
    """The counts of calls by the name of their tool; its value is F1 over all of them, by name and arguments.

    Formula: F1 = 2 tp / (2 tp + fp + fn) over all calls
    Source: the definition of `CallF1`, counted by tool

    >>> ByTool()({"calls": [{"name": "search"}]}, {"calls": [{"name": "search"}, {"name": "read"}]}).tally["read"]
    Counts(tp=0.0, fp=1.0, fn=0.0)
    """

    name = "call_f1_by_tool"
    counted: ClassVar[str] = ""
    fixed: ClassVar[Conventions] = {"assignment": "one to one, largest", "average": "micro", "empty": NO_EVIDENCE}
    zero: ClassVar[By[str, Counts]] = By[str, Counts]()

    def tallies(self, batch: list[CallPair]) -> Tally:
        """The counts of each pair by tool."""
        size = len(batch)
        first_cell: dict[str, int] = {}  # of each tool, in a table of tools and pairs
        cells: tuple[list[int], list[int], list[int]] = ([], [], [])
        tp, fp, fn = cells
        for number, pair in enumerate(batch):
            best = pair.best
            for i, name in enumerate(best.gold.names):
                cell = first_cell.setdefault(name, len(first_cell) * size) + number
                (tp if i in best.right else fn).append(cell)
            if len(best.right) < len(best.pred):
                taken = {*best.right.values()}
                for j, name in enumerate(best.pred.names):
                    if j not in taken:
                        fp.append(first_cell.setdefault(name, len(first_cell) * size) + number)
        shape = (len(first_cell), size)
        tables = [np.bincount(np.array(c, int), minlength=len(first_cell) * size).reshape(shape) + 0.0 for c in cells]
        by_tool = dict(zip(first_cell, zip(*tables, strict=True), strict=True))
        return By({tool: Counts(*by_tool[tool]) for tool in sorted(by_tool)})


@dataclass(frozen=True)
class ArgumentAccuracy(TrajectoryMeasure[Mean]):
    """The share of arguments that are right, over the calls that are assigned by name.

    An argument that gold lacks counts as a wrong one. Calls that are missing or too many have no arguments here: they
    are what `ToolF1` counts.

    Formula: right arguments / (gold's arguments + arguments that gold lacks), over calls of the same tool
    Source: the share of right arguments of ragas' ToolCallAccuracy, over all calls and with unexpected arguments

    >>> gold = {"calls": [{"name": "find", "args": {"place": "Delft", "since": 1885}}]}
    >>> ArgumentAccuracy()(gold, {"calls": [{"name": "find", "args": {"place": "Delft", "since": 1886}}]}).tally.value
    0.5
    """

    name = "argument_accuracy"
    fixed: ClassVar[Conventions] = {"average": "micro", "empty": NO_EVIDENCE, "failed": "left out"}

    def tallies(self, batch: list[CallPair]) -> Mean:
        """Right arguments of each pair, and all."""
        right = []
        total = []
        for pair in batch:
            best = pair.best
            names = 0
            wrong = 0
            for i, j in best.by_name.items():
                gold = best.gold.args[i]
                args = best.pred.args[j]
                names += len(gold) if gold.keys() == args.keys() else len({*gold, *args})
                if i not in best.right:
                    wrong += len([*pair.comparing.wrong_arguments(best.gold.names[i], gold, args)])
            right.append(names - wrong)
            total.append(names)
        return Mean(_array(right), _array(total))


@dataclass(frozen=True)
class Steps(TrajectoryMeasure[Mean]):
    """How many steps a trajectory takes; of equal answers the shorter way is better.

    Formula: steps / trajectories
    Source: the length of the trajectory

    >>> Steps()({"calls": []}, {"calls": [{"name": "search"}, {"name": "search"}]}).tally.value
    2.0
    """

    name = "steps"
    fixed: ClassVar[Conventions] = {"failed": "left out"}
    lower_is_better: ClassVar[bool] = True  # type: ignore[misc]
    limits: ClassVar[Limits] = (0.0, float("inf"))

    def tallies(self, batch: list[CallPair]) -> Mean:
        """The steps of each prediction; a program that failed took none that are known."""
        return means(None if pair.trajectory.failure else float(pair.trajectory.steps) for pair in batch)

    def reviews(self, batch: list[CallPair]) -> list[Review]:
        """Long ways are not errors of their own."""
        return [((), ()) for _ in batch]


@dataclass(frozen=True)
class CostRatio(Steps):
    """How many calls are made for each call of the nearest acceptable trajectory; 1 is as many as needed.

    Formula: predicted calls / gold's calls
    Source: the ratio of lengths

    >>> CostRatio()({"calls": [{"name": "a"}]}, {"calls": [{"name": "a"}, {"name": "b"}]}).tally.value
    2.0
    """

    name = "cost_ratio"

    def tallies(self, batch: list[CallPair]) -> Mean:
        """Calls of each pair, weighed by gold's; a program that failed made none that are known."""
        readable = _array(not pair.trajectory.failure for pair in batch)
        return Mean(*(_array(len(getattr(pair.best, side)) for pair in batch) * readable for side in ("pred", "gold")))


@dataclass(frozen=True)
class Conduct(TrajectoryMeasure[Mean]):
    """How a trajectory went: ``finished``, or how many of its calls ``failed``, ``recovered`` or were ``repeated``.

    ``finished`` is the share of trajectories that came to their end: not cut, and without a program that failed. Of all
    calls ``failed`` returned an error, and ``repeated`` are the same as an earlier one and too many. ``recovered`` are
    the failed calls after which the same tool was called with success; without a failed call there is no evidence.

    Formula: finished / trajectories; failed / calls; repeated / calls; recovered / failed calls
    Source: counts of the steps

    >>> steps = [{"name": "read", "error": "timeout"}, {"name": "read"}, {"name": "read"}]
    >>> {of: Conduct(of)({"calls": [{"name": "read"}]}, {"calls": steps}).tally for of in ("failed", "recovered")}
    {'failed': Mean(total=1.0, weight=3.0), 'recovered': Mean(total=1.0, weight=1.0)}
    """

    of: str = "finished"
    name = "{of}"
    in_key: ClassVar[Names] = ("of",)

    @property
    def fixed(self) -> Conventions:
        return {} if self.of == "finished" else {"failed": "left out"}

    @property
    def key(self) -> str:
        return self.of if self.of == "finished" else f"{self.of}_calls"

    @property
    def lower_is_better(self) -> bool:
        return self.of in ("failed", "repeated")

    def tallies(self, batch: list[CallPair]) -> Mean:
        """The counts of each prediction; a program that failed did not finish, and made no calls that are known."""
        if self.of == "finished":
            return means(float(pair.trajectory.finished) for pair in batch)
        calls = _array(len(pair.trajectory.calls) for pair in batch)
        if self.of == "repeated":
            return Mean(_array(len(pair.repeated) for pair in batch), calls)
        failed = _array(sum(map(bool, pair.trajectory.calls.errors)) for pair in batch)
        if self.of == "failed":
            return Mean(failed, calls)
        return Mean(failed - _array(len(pair.unrecovered) for pair in batch), failed)


@dataclass(frozen=True)
class EndState(TaskMeasure[Mean]):
    """The share of trajectories after which what gold asks for is true, by a function of yours.

    ``check`` is ``FILE.py:NAME``, or a function at the top of a file: it takes gold and prediction and returns a bool,
    or a number from 0 to 1. A program that failed counts as 0. What it raises is an error of that example.

    Formula: sum of what the function returns / trajectories
    Source: the state checks of tau-bench

    >>> from pathlib import Path
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "checks.py")
    ...     _ = file.write_text("def paid(gold, pred):\\n    return pred['balance'] == gold['balance']\\n")
    ...     measure = EndState(f"{file}:paid")
    ...     [measure({"balance": 5}, {"balance": balance}).tally.value for balance in (5, 7)]
    [1.0, 0.0]
    """

    task = "trajectories"
    name = "end_state"

    check: Any

    def __post_init__(self) -> None:
        if callable(self.check):
            file = inspect.getsourcefile(self.check)
            if file is None or not self.check.__qualname__.isidentifier():
                raise GoldassayError(f"check is a function at the top of a file, or FILE.py:NAME, not {self.check!r}")
            object.__setattr__(self, "check", f"{file}:{self.check.__qualname__}")

    def tally(self, gold: object, pred: object) -> Mean:
        """The value that the function returns."""
        if failed(pred):
            return Mean(0.0, 1)
        file, _, name = self.check.rpartition(":")
        check = attribute(Path(file), name)
        try:
            value = check(gold, pred)
        except Exception as error:
            raise DataError(f"{name} raised {one_line(error)}{line_of(error)}", file=file) from error
        if value is None or isinstance(value, str) or not 0 <= value <= 1:
            raise DataError(f"{name} returned {value!r}: a check returns a bool, or a number from 0 to 1", file=file)
        return Mean(float(value), 1)

    def errors(self, gold: object, pred: object) -> Review:
        """The error that the function says no."""
        value = self.tally(gold, pred).value
        name = self.check.rpartition(":")[2]
        error = Error("wrong_state", f"{name} is {value:g} at the end.", field="trajectory")
        return () if value == 1 else (error,), ()


def _array(numbers: Iterable[float]) -> Floats:
    """A number an example, as the field of a tally."""
    return np.array([*numbers], float)


def listed(**options: Any) -> list[TrajectoryMeasure]:
    """Every measure of the scorecard, in its order, under the same conventions."""
    matches = [TrajectoryMatch(mode, **options) for mode in ("exact", "in_order", "any_order")]
    calls = [CallF1(rate, **options) for rate in RATE_TALLIES]
    tools = [ToolF1(rate, **options) for rate in RATE_TALLIES]
    conduct = [Conduct(of, **options) for of in ("finished", "failed", "recovered", "repeated")]
    return [*matches, *calls, *tools, ArgumentAccuracy(**options), Steps(**options), CostRatio(**options), *conduct]


MEASURES = (
    *listed(),
    TrajectoryMatch("unordered"),
    TrajectoryMatch("subset", arguments="subset"),
    CallF1(arguments="superset", compare={"query": "normalised"}),
    ByTool(),
)

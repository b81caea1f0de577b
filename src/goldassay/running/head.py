"""The head of a run, ``run.json``: what ran, so that the run can be repeated, resumed and compared.

A run is only resumed as it was started: with the same gold, metric, model and adapter, and the same program, prompts
and code.
"""

from __future__ import annotations

import functools
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, PositiveInt, TypeAdapter, ValidationError

from goldassay import __version__
from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.secrets import SETTING, remember, scrub
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import OWN_TASK, Measure, stored
from goldassay.running.hashing import code_hash, fingerprint, function_hash, gold_hash, settings_hash

if TYPE_CHECKING:
    import dspy

    from goldassay.core.metric import Metric
    from goldassay.running.guard import Program
    from goldassay.running.options import RunOptions

HEAD = "run.json"
NO_MEASURES = "not a run: it lacks measures, weights or conventions"
RESUMED = {
    "gold": "another gold",
    "program": "another program, or other prompts",
    "code": "another version of the program's code",
    "measures": "another measure",
    "metric": "another version of the metric's code",
    "function": "another function as its metric",
    "columns": "a metric that reads other fields",
    "model": "another model, or other settings of it",
    "adapter": "another adapter",
}
"""The parts that have to be the same for a run to be resumed, each with the words for a difference."""


@dataclass(frozen=True)
class RunGold:
    """The gold of a run: how many examples, and their hash, if they were hashed."""

    examples: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class RunMeasure:
    """A measure of a run: as it parses back, its conventions, its weight in the metric, and its target, if any."""

    measure: str
    conventions: str
    weight: float
    target: float | None = None


@dataclass(frozen=True)
class MetricFunction:
    """The function that measured a run: its name, and the hash of what it computes under a version of Python."""

    name: str
    sha256: str
    python: str

    @classmethod
    def of(cls, metric: Metric) -> MetricFunction | None:
        """The function of a metric; None for a metric of measures."""
        function = getattr(metric, "function", None)
        if function is None:
            return None
        return cls(
            _own_name(getattr(function, "func", function)),
            function_hash(function),
            ".".join(platform.python_version_tuple()[:2]),
        )

    def differs(self, other: MetricFunction) -> bool:
        """Whether another function computes something else; across versions of Python only names are compared."""
        return self.name != other.name if self.python != other.python else self.sha256 != other.sha256

    def __str__(self) -> str:
        return f"{self.name} ({self.sha256[:7]})"


@dataclass
class RunHead:
    """The settings of a run, and once it has ended its status, cost and values.

    Fields are those of ``run.json``, of which other versions of goldassay may have fewer or more. ``settings`` are
    those of whoever started the run, ``columns`` the fields that the metric renames, ``versions`` those of goldassay,
    DSPy and Python, ``warnings`` what was known before the first call, and ``notes`` what was noticed while it ran.
    ``value``, ``interval``, ``values`` and ``intervals`` are for lists of runs, which read no rows: a `Run` computes
    its own from its rows.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True)
    name: str | None = "run"
    settings: Fields = field(default_factory=dict)
    lm: str | None = None
    model: JsonObject | None = None
    adapter: str | None = None
    seed: int | None = None
    repeats: PositiveInt = 1
    pass_mark: float = 1.0
    versions: JsonObject = field(default_factory=dict)
    gold: RunGold = field(default_factory=RunGold)
    program: dict[str, str | None] = field(default_factory=dict)
    code: str | None = None
    metric: str | None = None
    function: MetricFunction | None = None
    measures: dict[str, RunMeasure] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    process: JsonObject = field(default_factory=dict)
    started: str | None = None
    cost: dict[str, int | float | JsonObject] = field(default_factory=dict)
    judge_labels: Fields = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    status: str | None = None
    finished: str | None = None
    notes: list[str] = field(default_factory=list)
    value: float | None = None
    interval: tuple[float, float] | None = None
    values: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def state(self) -> JsonObject:
        """The settings as ``run.json`` holds them, without the values of the run."""
        state: JsonObject = {"schema": 1, **vars(self)}
        state["gold"] = asdict(self.gold)
        state["function"] = self.function and asdict(self.function)
        state["measures"] = {name: asdict(measure) for name, measure in self.measures.items()}
        for name in ("value", "interval", "values", "intervals"):
            del state[name]
        for name in ("columns", "judge_labels", "warnings", "status", "finished", "notes"):
            if not state[name]:
                del state[name]
        return state

    def difference(self, earlier: RunHead) -> str | None:
        """The first of `RESUMED` in which this run differs from an earlier one."""
        now, before = [json.loads(jsonl.dumps(head.state())) for head in (self, earlier)]
        if self.function and earlier.function and not self.function.differs(earlier.function):
            before["function"] = now["function"]  # the version of Python may differ
        return next((name for name in RESUMED if now.get(name) != before.get(name)), None)

    @property
    def of_function(self) -> bool:
        """Whether a function measured the run, whose rows may hold values that its head does not name."""
        return any(measure.measure.startswith(f"{OWN_TASK}.") for measure in self.measures.values())


_reader = TypeAdapter(RunHead)


def read_head(folder: Path) -> RunHead:
    """The head of the run in a folder.

    Raises:
        GoldassayError: There is no run.
        DataError: The file is not one of a run.
    """
    file = folder / HEAD
    if folder.suffix and not folder.exists():
        raise DataError("no such file", file=folder)
    if not file.is_file():
        raise GoldassayError(f"no run at {folder}: expected {HEAD} there (goldassay runs list names them)")
    content = file.read_bytes()
    head = jsonl.value(content, file=file)
    if isinstance(head, dict) and "measures" not in head:
        raise DataError(NO_MEASURES, file=file)
    try:
        run_head = _reader.validate_json(content)
        for name, value in run_head.cost.items():
            if isinstance(value, dict) and name != "outside_rows":
                raise DataError(f"not a goldassay {HEAD}: a cost is a number", file=file, field=f"cost.{name}")
        return run_head
    except ValidationError as error:
        path = [str(name) for name in error.errors()[0]["loc"]]
        if len(path) > 2 and path[0] == "measures":
            raise DataError(NO_MEASURES, file=file) from None
        raise DataError(f"not a goldassay {HEAD}", file=file, field=".".join(path[:2]) or None) from None


def describe_run(
    program: Program, gold: Sequence[dspy.Example], metric: Metric, options: RunOptions, lm: dspy.BaseLM | None
) -> RunHead:
    """The head of a run that starts. Gold and code are hashed only if the run has a folder.

    Args:
        program: What runs.
        gold: The examples.
        metric: What measures them.
        options: The options of the run.
        lm: The model that will be called.
    """
    import dspy

    stays = options.folder is not None or options.resume is not None
    bound = [predictor.lm for predictor in program.predictors()] if hasattr(program, "predictors") else []
    called = [model or lm for model in bound] or [lm]
    function = getattr(metric, "function", None)
    return RunHead(
        name=options.name or _own_name(program),
        settings=dict(options.settings),
        lm=", ".join(dict.fromkeys(str(getattr(model, "model", model)) for model in called if model)) or None,
        model=described(lm),
        adapter=type(options.adapter or dspy.settings.adapter or dspy.ChatAdapter()).__name__,
        seed=options.seed,
        repeats=options.repeats,
        pass_mark=metric.pass_mark,
        versions=versions(),
        gold=RunGold(len(gold), gold_hash(gold)),
        program={
            "class": _own_name(program),
            "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
            "settings": settings_hash(program),
        },
        code=code_hash(program) if stays else None,
        metric=code_hash(function) if stays and function is not None else None,
        function=MetricFunction.of(metric),
        measures=described_measures(metric.measures, metric.weights, metric.targets),
        columns=described_columns(metric),
        process={"id": os.getpid(), "host": platform.node()},
        started=now(),
        judge_labels={name: dict(labels) for name, labels in (options.judge_labels or {}).items()},
    )


@functools.cache  # all installed packages are looked through
def versions() -> JsonObject:
    """The versions of goldassay, DSPy and Python."""
    return {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()}


def _own_name(code: object) -> str:
    """The name of a function, or of the class of a module."""
    return str(getattr(code, "__qualname__", type(code).__qualname__)).rpartition("<locals>.")[2]


def described_measures(
    measures: Mapping[str, Measure], weights: Mapping[str, float] = {}, targets: Mapping[str, float] = {}
) -> dict[str, RunMeasure]:
    """Measures as the head of a run describes them."""
    return {
        name: RunMeasure(stored(measure), measure.conventions, weights.get(name, 1.0), targets.get(name))
        for name, measure in measures.items()
    }


def described_columns(metric: Metric) -> dict[str, str]:
    """How a metric renames fields, as the head of a run describes it: names and paths, and functions by their hash."""
    return {
        name: column if isinstance(column, str) else f"<{column.__qualname__} {function_hash(column)[:7]}>"
        for name, column in metric.columns.items()
    }


def described(lm: dspy.BaseLM | None) -> JsonObject | None:
    """A model's settings that change its answers, without keys."""
    if lm is None:
        return None
    remember(lm)
    options = {
        str(key): scrub(json.loads(jsonl.dumps(value)))
        for key, value in sorted((getattr(lm, "kwargs", None) or {}).items())
        if not SETTING.search(str(key)) and not isinstance(value, Mapping) and value is not None
    }
    return {"name": str(getattr(lm, "model", type(lm).__name__)), **options}


def now() -> str:
    """This moment, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")

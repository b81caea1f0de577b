"""What ``goldassay rank`` puts beside each other: programs × models, runs, files of predictions, each as a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import TASKS

if TYPE_CHECKING:
    from goldassay.cli.evaluate import SplitExamples

READER = "reader:"


@dataclass(frozen=True)
class RankJob:
    """What a ranking is made with, whatever is ranked."""

    task: str
    metric: str | None
    threads: int
    seed: int
    out: Path
    cached: bool = True
    gold: str | None = None
    split: str = "dev"
    limit: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How files are read: format, column, protocol."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the task, that say how files are read or counted."""

    @property
    def recounted(self) -> bool:
        """Whether something else than the metric says how files are counted."""
        return bool(self.settings or "protocol" in self.reading)

    def examples(self, target: workspace.Target) -> SplitExamples:
        """The gold examples that are asked for, so many as are asked for."""
        from goldassay.cli.evaluate import examples

        data = examples(self.gold, target, self.split, **self.reading)
        return (
            data
            if self.limit is None
            else type(data)(data.name, data.examples[: self.limit], data.train, data.passages)
        )


@dataclass(frozen=True)
class System:
    """One program with one model."""

    label: str
    program: Any
    lm: Any = None
    adapter: Any = None
    model: str | None = None
    settings: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """For a person: the program, and the model where it asks one."""
        return self.label if self.model is None else f"{self.label} on {self.model}"


def systems(job: RankJob, lists: Mapping[str, Sequence[str]]) -> list[System]:
    """Each program with each model; what asks no model stands once."""
    from goldassay.lm import for_program

    if not lists["program"]:
        return []
    data = job.examples(workspace.Target(job.task, Path(), "program"))
    made = [_named(job, name, data) for name in lists["program"]]
    out = []
    for label, program, settings in made:
        models = [(name, for_program(program, name, cache=job.cached)) for name in (lists["lm"] or (None,))]
        for name, model in models if models[0][1].name is not None else models[:1]:
            listed = str(name).partition(".yaml:")[2] or model.name  # a file of models may name one model several times
            out.append(System(label, program, model.lm, model.adapter, listed if model.name else None, settings))
    return out


def _named(job: RankJob, name: str, data: Any) -> tuple[str, Any, dict[str, Any]]:
    """A program with its label and its settings: by its name or file, as it was tuned, or a reader of transformers."""
    from goldassay.cli.evaluate import prepared

    if name.startswith(READER):
        model = name.removeprefix(READER)
        program = workspace.attribute(workspace.target(job.task).file, "Pretrained")(model)
        if data.passages:
            program.index(data.passages)
        return f"reader-{Path(model).name}", program, {"program": f"Pretrained({model!r})"}
    if (Path(name) / "state.json").is_file():
        program = prepared(workspace.target(job.task), data.train, Path(name), data.passages)
        return f"{job.task}-{Path(name).resolve().name}", program, {"program": job.task, "state": name}
    known = name if Path(name.partition(":")[0]).is_file() else f"{job.task}:{name}"
    target = workspace.target(known, job.task)
    return target.label.replace(":", "-"), prepared(target, data.train, None, data.passages), {"program": name}


def matrix(job: RankJob, found: Sequence[System], preds: Sequence[Path] = ()) -> list[Any]:
    """A run of each system, and of each file of predictions, in folders of ``out``."""
    from goldassay.reporting import terminal
    from goldassay.reporting.ranking import Stored
    from goldassay.running import evaluate, new_folder

    if not found and not preds:
        return []
    measured = workspace.metric(job.task, job.metric)
    data = job.examples(workspace.Target(job.task, Path(), "program"))
    asked = {"gold": data.name, "split": job.split, "limit": job.limit}
    if job.recounted:
        measured = _recounted(job, measured, preds[0])
    everything = [*found, *(_stored(job, data, file) for file in preds)]
    made = []
    for one in everything:
        examples = data.examples
        if isinstance(one.program, Stored):  # which is asked by the id alone
            examples = [example.with_inputs(*example.inputs().keys(), "id") for example in examples]
        with terminal.working(one.name):
            made.append(
                evaluate(
                    one.program,
                    examples,
                    measured,
                    lm=one.lm,
                    adapter=one.adapter,
                    threads=job.threads,
                    folder=new_folder(job.out / "runs", one.label, one.model),
                    seed=job.seed,
                    name=one.label,
                    settings={**(one.settings or {}), **asked, "lm": one.model},
                    progress=False,
                    max_failures=1.0,
                )
            )
    return made


def _recounted(job: RankJob, metric: Any, file: Path) -> Any:
    """The metric's values, counted as the protocol or the settings say."""
    from goldassay import Metric
    from goldassay.cli.score import read as read_both

    if job.gold is None or job.task not in TASKS:
        raise GoldassayError("files are read under a protocol or a setting beside a file of gold: --gold FILE")
    both, options = read_both(job.task, Path(job.gold), file, **job.reading, **job.settings)
    card = import_module(f"goldassay.measures.{job.task}").scorecard(both.gold, both.pred, **options)
    weights = {card.measures[name]: weight for name, weight in metric.weights.items() if name in card.measures}
    if not any(weights.values()):
        raise GoldassayError(f"none of {', '.join(metric.weights)} is counted so; there are {', '.join(card.measures)}")
    return Metric(weights)


def _stored(job: RankJob, data: Any, file: Path) -> System:
    """A file of predictions as a program that gives them back; what the file lacks counts as missed."""
    from goldassay.cli.score import read as read_both
    from goldassay.gold import formats, read
    from goldassay.reporting.ranking import STORED, Stored
    from goldassay.reporting.terminal import warn

    if job.gold and Path(job.gold).is_file() and job.task in TASKS:
        both, _ = read_both(job.task, Path(job.gold), file, **job.reading, **job.settings)  # aligned by their tokens
        said = both.pred
        for warning in both.warnings:
            warn(f"{file}: {warning}")
    elif job.recounted:
        raise GoldassayError("files are read under a protocol or a setting beside a file of gold: --gold FILE")
    else:
        options = {**job.reading, "format": "run" if formats.is_run(file) else job.reading.get("format")}
        said = read(file, task=job.task, side="pred", **options)
    known = {str(one.id) for one in data.examples}
    found = {str(one["id"]): dict(one) for one in said}
    lost, strange = known - set(found), set(found) - known
    if not known & set(found):
        raise DataError("no prediction is for an example of this gold: the ids differ", file=file)
    if lost:
        warn(f"{file}: {len(lost)} of {len(known)} examples have no prediction and count as missed")
    if strange and job.limit is None:
        warn(f"{file}: {len(strange)} predictions are for no example of this gold")
    under = {"protocol": job.reading["protocol"]} if "protocol" in job.reading else {}
    return System(file.name, Stored(file, found), settings={STORED: str(file), **under})

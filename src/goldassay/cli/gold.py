"""``goldassay gold …``: the subcommands, parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Gold: validate, count, split, convert it; measure the agreement of annotators.", no_args_is_help=True
)

Set = Annotated[str, typer.Argument(metavar="SET|FILE", help="A gold set's name, its folder, or a file.")]
Task = Annotated[str | None, typer.Option(help="Only this task; needed where the file does not tell it.")]
Format = Annotated[str | None, typer.Option(help="The format, where the name does not tell it.")]
Near = Annotated[
    float, typer.Option(min=50, max=100, help="Per cent of similar characters that make a near duplicate.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def validate(
    gold: Set,
    task: Task = None,
    format: Format = None,
    near: Near = 90.0,
    fix: Annotated[Path | None, typer.Option(metavar="PLACE", help="Write a copy with mended offsets here.")] = None,
    annotator: Annotated[
        list[Path] | None, typer.Option(help="An annotator's file (twice or more): hold promised agreement to it.")
    ] = None,
    json: Json = False,
) -> None:
    """Find everything that is off in gold; exit code 1 when something is."""
    from goldassay.cli import gold_commands as commands

    commands.validate(gold, task=task, format=format, near=near, fix=fix, annotators=annotator or (), as_json=json)


@app.command()
def stats(
    gold: Set,
    task: Task = None,
    format: Format = None,
    by: Annotated[list[str] | None, typer.Option(help="Only by this: split, language, label or a stratum.")] = None,
    json: Json = False,
) -> None:
    """Count what there is, by split, language, type and stratum."""
    from goldassay.cli import gold_commands as commands

    commands.show_stats(gold, task=task, format=format, by=by or (), as_json=json)


@app.command()
def split(
    gold: Set,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the records with their split here.")] = None,
    task: Task = None,
    format: Format = None,
    ratios: Annotated[str | None, typer.Option(help="Default: train=0.7,dev=0.15,test=0.15.")] = None,
    factor: Annotated[list[str] | None, typer.Option(help="Keep this stratum or field in proportion.")] = None,
    group: Annotated[str | None, typer.Option(help="A field whose value stays on one side.")] = None,
    near: Near = 90.0,
    seed: Annotated[int, typer.Option(help="Another seed, another split.")] = 0,
    json: Json = False,
) -> None:
    """Split gold without leaks: stratified by several factors, documents whole, near duplicates on one side."""
    from goldassay.cli import gold_commands as commands

    commands.make_split(
        gold,
        task=task,
        format=format,
        out=out,
        ratios=ratios,
        factors=factor or (),
        group=group,
        near=near,
        seed=seed,
        as_json=json,
    )


@app.command()
def agree(
    files: Annotated[list[Path], typer.Argument(metavar="FILE FILE...", help="One file an annotator.")],
    task: Annotated[str | None, typer.Option(help="What they annotated; by default the first file tells it.")] = None,
    format: Format = None,
    level: Annotated[
        str | None, typer.Option(help="Krippendorff's level: nominal, ordinal, interval or ratio.")
    ] = None,
    most: Annotated[int, typer.Option(min=0, help="How many disagreements to list.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    json: Json = False,
) -> None:
    """Measure how far annotators agree, and list where they do not."""
    from goldassay.cli import gold_commands as commands

    commands.agree(files, task=task, format=format, level=level, most=most, seed=seed, as_json=json)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="The file to read.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help="The file to write.")],
    task: Annotated[str, typer.Option(help="What it is gold for.")],
    from_format: Annotated[str | None, typer.Option("--from", help="The format of FROM.")] = None,
    to_format: Annotated[str | None, typer.Option("--to", help="The format of TO.")] = None,
    column: Annotated[str | None, typer.Option(help="hipe, iob2: the column of tags.")] = None,
    scheme: Annotated[str | None, typer.Option(help="hipe, iob2: the tags to write, IOB2, IOBES and so on.")] = None,
    topics: Annotated[Path | None, typer.Option(help="trec: the file of the queries' texts.")] = None,
    pred: Annotated[bool, typer.Option("--pred", help="Predictions, not gold.")] = False,
) -> None:
    """Convert gold from one format into another, and say what is lost."""
    from goldassay.cli import gold_commands as commands

    commands.convert(
        source,
        target,
        task=task,
        source_format=from_format,
        target_format=to_format,
        column=column,
        scheme=scheme,
        topics=topics,
        pred=pred,
    )


@app.command()
def schema(
    task: Annotated[str, typer.Argument(help="extraction, classification, linking, retrieval, answering or triples.")],
    pred: Annotated[bool, typer.Option("--pred", help="Of predictions, not gold.")] = False,
) -> None:
    """Print the JSON Schema of a task's records."""
    from goldassay.cli import gold_commands as commands

    commands.schema(task, pred=pred)

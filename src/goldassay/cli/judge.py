"""``goldassay judge …``: the subcommands, parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Judges: ask one on a file, measure it beside people, audit it for biases.", no_args_is_help=True
)

Name = Annotated[
    str, typer.Option("--judge", help="What is asked: support, relevance, criterion, preference, type, link or rubric.")
]
Lm = Annotated[
    str | None,
    typer.Option(help="The judge's model: any name of dspy.LM, local/smollm2-135m (default), local:FILE, nli:MODEL."),
]
Levels = Annotated[
    Path | None, typer.Option("--rubric", metavar="FILE", help="yaml or json: levels and meanings, the worst first.")
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="LOW-HIGH", help="A rubric of numbers, the worst first, as 1-5.")
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=COLUMN", help="Where FILE names it otherwise: label=human (repeat)."),
]
Samples = Annotated[int, typer.Option("--samples", min=1, help="Ask the model so often; the samples vote.")]
Panel = Annotated[list[str] | None, typer.Option("--panel", metavar="LM", help="Another member of a panel (repeat).")]
How = Annotated[str, typer.Option(help="How a panel votes: majority or mean.")]
State = Annotated[Path | None, typer.Option(metavar="FOLDER", help="A judge tuned with tune --judge.")]
Store = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep verdicts here; they are not asked for again.")]
Threads = Annotated[int, typer.Option(min=1, help="How many items at once.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only so many items.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


@app.command("eval")
def evaluate(
    items: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv with ids and inputs.")],
    judge: Name = "support",
    rubric: Levels = None,
    scale: Scale = None,
    column: Column = None,
    lm: Lm = None,
    samples: Samples = 1,
    panel: Panel = None,
    how: How = "majority",
    state: State = None,
    store: Store = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write items with their verdicts (jsonl).")] = None,
    positive: Annotated[str | None, typer.Option(help="The label that counts as positive.")] = None,
    threads: Threads = 1,
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Ask a judge on the items of a file: how often which verdict, corrected where people have labelled some."""
    from goldassay.cli import judge_commands as commands
    from goldassay.cli.judge_options import Asked

    made = Asked(
        judge, lm, samples, panel or (), how, state, store, positive, threads, limit, rubric, scale, column or ()
    )
    commands.evaluate(items, made, out=out, as_json=json)


@app.command()
def align(
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="People's labels: jsonl, csv, tsv; RAGChecker's preferences: json.")
    ],
    judge: Name = "support",
    rubric: Levels = None,
    scale: Scale = None,
    column: Column = None,
    lm: Lm = None,
    samples: Samples = 1,
    panel: Panel = None,
    how: How = "majority",
    state: State = None,
    store: Store = None,
    positive: Annotated[str | None, typer.Option(help="The label that counts as positive.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Only these items (default: test, where the file has splits; else all).")
    ] = None,
    width: Annotated[float, typer.Option(help="The width of interval that is wanted.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the halves and the intervals.")] = 0,
    threads: Threads = 1,
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Measure a judge beside people: agreement, error rates, calibration, corrected rates, labels needed."""
    from goldassay.cli import judge_commands as commands
    from goldassay.cli.judge_options import Asked

    made = Asked(
        judge, lm, samples, panel or (), how, state, store, positive, threads, limit, rubric, scale, column or ()
    )
    commands.align_labels(labels, made, split=split, width=width, seed=seed, as_json=json)


@app.command()
def mean(
    numbers: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv: verdict, and label on some.")],
    scale: Annotated[str | None, typer.Option(metavar="LOW-HIGH", help="The ends of the scale, as 0-1 or 1-5.")] = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """The mean of the numbers that a judge gave, corrected by those that people gave some of the items (PPI++)."""
    from goldassay.cli import judge_commands as commands
    from goldassay.cli.judge_options import Asked

    commands.average(numbers, Asked("numbers", scale=scale, columns=column or ()), as_json=json)


@app.command()
def audit(
    gold: Annotated[str, typer.Option(help="A gold set with answering: its questions are the probes.")] = "heritage",
    format: Annotated[str | None, typer.Option(help="The format of a gold file.")] = None,
    lm: Lm = None,
    samples: Samples = 1,
    panel: Panel = None,
    how: How = "majority",
    state: State = None,
    store: Store = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this check (repeatable).")] = None,
    limit: Limit = 20,
    seed: Annotated[int, typer.Option(help="Which probes are taken.")] = 0,
    threads: Threads = 1,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 when a check is not passed.")] = False,
    json: Json = False,
) -> None:
    """Look for biases without any label: planted faults, orders in texts, swapped pairs, length, echo, repeats."""
    from goldassay.cli import judge_commands as commands
    from goldassay.cli.judge_options import Asked

    made = Asked("support", lm, samples, panel or (), how, state, store, None, threads, limit)
    commands.audit_judge(gold, made, format=format, only=only or (), seed=seed, gate=gate, as_json=json)

"""Options that the judge commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="What is asked: support, relevance, criterion, preference, type, link or rubric.",
    ),
]
Rubric = Annotated[
    Path | None, typer.Option("--rubric", metavar="FILE", help="yaml or json: levels and meanings, the worst first.")
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="LOW-HIGH", help="A rubric of numbers, the worst first, as 1-5.")
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=COLUMN", help="Where FILE names it otherwise: label=human (repeat)."),
]
Samples = Annotated[
    int, typer.Option("--samples", metavar="N", min=1, help="Ask the model so often; the samples vote.")
]
Panel = Annotated[list[str] | None, typer.Option("--panel", metavar="LM", help="Another member of a panel (repeat).")]
How = Annotated[str, typer.Option("--how", metavar="NAME", help="How a panel votes: majority or mean.")]
State = Annotated[Path | None, typer.Option("--state", metavar="FOLDER", help="A judge tuned with tune --judge.")]
Store = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Keep verdicts here; they are not asked for again.")
]
Positive = Annotated[str | None, typer.Option("--positive", metavar="LABEL", help="The label that counts as positive.")]

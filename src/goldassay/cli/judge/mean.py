"""``goldassay judge mean``: a mean grade, the judge's error out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.judge import options as ask
from goldassay.exceptions import DataError
from goldassay.reporting import terminal


def mean(
    numbers: Annotated[Path, typer.Argument(metavar="FILE", help="jsonl, csv or tsv: verdict, and label on some.")],
    scale: Annotated[str | None, typer.Option(metavar="LOW-HIGH", help="The ends of the scale, as 0-1 or 1-5.")] = None,
    column: ask.Column = None,
    json: use.Json = False,
) -> None:
    """The mean of the numbers that a judge gave, corrected by those that people gave some of the items (PPI++)."""
    from goldassay.cli.judge.asked import Asked
    from goldassay.judges.people import grades
    from goldassay.reporting import judge as tables

    asked = Asked("numbers", scale=scale, columns=column or ())
    bounds = asked.ends()
    people, said = grades.read(numbers, asked.renamed(), bounds)
    found = grades.estimated(people, said, bounds)
    if found.naive is None:
        raise DataError("a mean with an interval needs the verdicts of 2 items or more", file=numbers)
    if json:
        terminal.answer(found.state())
    else:
        tables.average(found)

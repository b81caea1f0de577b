"""``goldassay wikidata check-alignment``: what is wrong with a table of properties."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use


def check_alignment(
    table: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help="A table (default: the one of goldassay).")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A ground truth (JSON lines of statements and predicates) to hold to the table."
        ),
    ] = None,
    json: use.Json = False,
) -> None:
    """Defects of an alignment table: rows that repeat, that nothing reaches, that contradict; exit code 1 if any."""
    from dataclasses import asdict

    from goldassay.articles.truth import problems as defects
    from goldassay.articles.truth import read_truth
    from goldassay.reporting import terminal
    from goldassay.reporting import wikidata as tables
    from goldassay.wikibase.alignment import PropertyAlignmentTable
    from goldassay.wikibase.alignment_checks import contradictions, problems

    ours = PropertyAlignmentTable.ours()
    read = PropertyAlignmentTable.of(table) if table else ours
    size = f"{len(read.by_id)} properties"
    if truth is None:
        found = problems(read) + (contradictions(read, ours) if table else [])
    else:
        stated = read_truth(truth)
        found, size = defects(stated, read), f"{len(stated.lines)} statements"
    if json:
        terminal.answer([asdict(one) for one in found])
    else:
        tables.problems(found, size, named=truth is not None)
    if found:
        raise SystemExit(1)

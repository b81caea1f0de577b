"""Options that the commands for Wikidata share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        metavar="TASK|FILE",
        help="A program (triples:Articles, FILE:NAME), or a YAML file with program, lm, alignment …",
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option("--endpoint", metavar="URL|FILE", help="A SPARQL endpoint, or a local file of Wikidata."),
]
Results = Annotated[Path, typer.Option("--results", metavar="FILE", help="The result of an evaluation.")]
Output = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Where the report goes.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Fetch everything afresh.")]
CacheOnly = Annotated[bool, typer.Option("--cache-only", help="Fetch nothing: what is not in the cache fails.")]
Language = Annotated[
    str | None, typer.Option("--language", metavar="CODE", help="The language of the Wikipedia (default: en).")
]
Sample = Annotated[
    int | None,
    typer.Option("--sample", metavar="N", min=1, help="Only N articles; the domains keep their shares."),
]

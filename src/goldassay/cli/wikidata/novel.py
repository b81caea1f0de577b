"""``goldassay wikidata novel …``: what people judge of the triples that Wikidata does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.wikidata import options as ask
from goldassay.cli.wikidata.improve import evidence
from goldassay.exceptions import DataError, GoldassayError

app = use.commands("Judge what Wikidata does not have: sample, annotate, report.")

Annotations = Annotated[Path, typer.Argument(metavar="FILE", help="The file of annotations.")]


@app.command()
def sample(
    results: ask.Results,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file of annotations to write.")],
    share: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="The share of the unmatched triples.")
    ] = 0.1,
    seed: use.Seed = 0,
) -> None:
    """Draw unmatched triples for annotation; the domains keep their shares. What is judged is never written over."""
    from goldassay.articles import novel
    from goldassay.reporting import terminal

    if output.exists():
        raise GoldassayError(f"{output} exists; name another --output, so that no verdict is lost")
    entries = novel.drawn(evidence(results), share, seed)
    if not entries:
        raise DataError("no unmatched triple without a verdict is in its rows", file=results)
    novel.save(output, entries)
    terminal.line(f"{len(entries)} triples to judge:  goldassay wikidata novel annotate {output}")


@app.command()
def annotate(
    annotations: Annotations,
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who judges.")] = "human",
) -> None:
    """Judge one triple after another, one key each; stop and go on at will."""
    from goldassay.reporting.wikidata import annotate as asked

    asked(annotations, annotator)


@app.command()
def report(annotations: Annotations, output: ask.Output = None, json: use.Json = False) -> None:
    """The novel discovery rate with its interval, over all and by domain."""
    from goldassay.articles import novel
    from goldassay.files import save_json
    from goldassay.reporting import wikidata as tables

    found = novel.reported(annotations)
    if output:
        save_json(output, found)
    tables.told(found, output, json, tables.discovery)

"""``goldassay wikidata fetch``: freeze what Wikidata says of a benchmark's items in a file, so that it runs offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli.wikidata import options as ask
from goldassay.exceptions import GoldassayError


def fetch(
    dataset: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The benchmark whose articles and items are fetched.")
    ] = None,
    article: Annotated[
        list[str] | None, typer.Option(metavar="TITLE", help="An article, by its title (repeat).")
    ] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="The local file of Wikidata to write.")] = None,
    language: ask.Language = None,
    sample: ask.Sample = None,
    endpoint: ask.Endpoint = None,
    no_cache: ask.NoCache = False,
    dump: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read items from a Wikidata JSON dump instead.")
    ] = None,
) -> None:
    """Freeze a benchmark: its articles into the cache, its items into a file that evaluate takes as --endpoint."""
    from goldassay.articles import benchmark
    from goldassay.articles.freezing import fetch as freeze
    from goldassay.reporting import terminal

    if (dataset is None) == (not article):
        raise GoldassayError("name articles (--article TITLE) or a benchmark (--dataset FILE)")
    asked: Sequence[benchmark.Asked] = [benchmark.Asked(title) for title in article or ()]
    if dataset is not None:
        asked = benchmark.read_benchmark(dataset).articles
        asked = benchmark.sample(asked, sample) if sample else asked
    made = freeze(asked, to=to, language=language or "en", endpoint=endpoint, no_cache=no_cache, dump=dump)
    for line in made.failed:
        terminal.warn(line)
    terminal.line(f"{made.asked - len(made.failed)} of {made.asked} items, {made.triples} triples: {made.file}")
    if made.failed:
        raise SystemExit(1)

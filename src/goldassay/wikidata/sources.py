"""The clients of a run: Wikipedia behind its cache, Wikidata from its endpoint or from a local file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sources:
    """Where articles and items come from, and what to call that in the run's metadata."""

    wikipedia: Any
    wikidata: Any
    endpoint: str


def sources(
    *, language: str = "en", endpoint: str | None = None, no_cache: bool = False, cache_only: bool = False
) -> Sources:
    """The clients that the options of a command ask for."""
    from goldassay.kb.wikidata import WikidataClient
    from goldassay.kb.wikipedia import WikipediaClient

    wikipedia = WikipediaClient(language=language, no_cache=no_cache, cache_only=cache_only)
    wikidata = WikidataClient(endpoint) if endpoint else WikidataClient()
    return Sources(wikipedia, wikidata, str(endpoint or "https://query.wikidata.org/sparql"))

"""The clients of a run: Wikipedia behind its cache, Wikidata from its endpoint or from a local file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sources:
    """Where articles and items come from, what to call that in the run's metadata, and a hash of a local store."""

    wikipedia: Any
    wikidata: Any
    endpoint: str
    version: str = ""


def sources(
    *, language: str = "en", endpoint: str | None = None, no_cache: bool = False, cache_only: bool = False
) -> Sources:
    """The clients that the options of a command ask for."""
    from goldassay.kb.cache import Cache
    from goldassay.kb.wikidata import LANGUAGES, WDQS, WikidataClient
    from goldassay.kb.wikipedia import WikipediaClient

    wikipedia = WikipediaClient(language=language, no_cache=no_cache, cache_only=cache_only)
    languages = tuple(dict.fromkeys((language, *LANGUAGES)))
    wikidata = WikidataClient(
        endpoint or WDQS,
        languages=languages,
        cache=Cache(use="none" if no_cache else "only" if cache_only else "normal"),
    )
    return Sources(wikipedia, wikidata, str(endpoint or WDQS), version(endpoint))


def version(endpoint: str | None) -> str:
    """A hash of what a local store's files say; empty for an address, which says another thing another day."""
    place = Path(endpoint or "")
    if not endpoint or not place.exists():
        return ""
    made = hashlib.sha256()
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        if file.is_file():
            with file.open("rb") as raw:
                made.update(hashlib.file_digest(raw, "sha256").digest())
    return made.hexdigest()[:16]

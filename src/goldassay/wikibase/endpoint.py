"""Where SPARQL is answered: a query service on the web, or a store in this process; rows as SPARQL's JSON has them.

The store is filled from files and answers the service's own queries. Its library is loaded when it is first used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from goldassay.cache import Cache, Kept
from goldassay.exceptions import CacheOnlyError, DataError, FetchError
from goldassay.sources.http import Web, place
from goldassay.wikibase import entities as dumps
from goldassay.wikibase import rdf, sparql

PAGE = 5000
Binding = dict[str, dict[str, str]]


class Endpoint(Protocol):
    """Answers a query, all its pages, with the oldest day on which a page was fetched."""

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows."""
        ...


class Service:
    """A SPARQL endpoint on the web (the Wikidata Query Service), through the cache."""

    def __init__(self, url: str, web: Web | None = None, cache: Cache | None = None, page: int = PAGE) -> None:
        self.url, self.web, self.cache, self.page = url, web or Web(), cache or Cache(), page

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows of all pages."""
        found: list[Binding] = []
        dates = []
        for asked in self._pages(query, found):
            kept = self._kept(asked)
            found += kept.value
            dates.append(kept.fetched)
        return found, min(dates)

    def _kept(self, query: str) -> Kept:
        try:
            return self.cache.get("sparql", f"{self.url} {query}", lambda: self._ask(query))
        except CacheOnlyError:
            raise CacheOnlyError(
                f"what {place(self.url)} says of it is not in {self.cache.folder}; fetch it once without --cache-only, "
                "or name a local file of Wikidata (--endpoint FILE)"
            ) from None

    def _pages(self, query: str, found: list[Binding]) -> Iterator[str]:
        """Queries until a page brings nothing: a server may have a smaller limit than ours."""
        before = -1
        while len(found) > before:
            before = len(found)
            yield sparql.page(query, self.page, before)

    def _ask(self, query: str) -> list[Binding]:
        answer = self.web.json(
            self.url,
            data={"query": query, "format": "json"},
            headers={"Accept": "application/sparql-results+json"},
        )
        try:
            rows: list[Binding] = answer["results"]["bindings"]
        except (KeyError, TypeError):
            raise FetchError(f"{place(self.url)}: no SPARQL results; is it a SPARQL endpoint?") from None
        return rows


def opened(endpoint: str | Path, web: Web | None = None, cache: Cache | None = None) -> Endpoint:
    """The endpoint at an address, or the store of a file or folder."""
    if str(endpoint).startswith(("http://", "https://")):
        return Service(str(endpoint), web, cache)

    return TripleStore.load(endpoint)


KINDS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".nq": "N_QUADS"}


class TripleStore:
    """An embedded store; ``fetched`` is the oldest day that its files note, else the day of the files themselves."""

    def __init__(self, fetched: str = "") -> None:
        self.rdf = rdf.library().Store()
        self.fetched = fetched

    @classmethod
    def load(cls, path: str | Path, items: Iterable[str] | None = None) -> TripleStore:
        """A store of N-Triples or Turtle (``.nt``, ``.ttl``, also ``.gz``), of a Wikidata JSON dump, or of a folder.

        ``items`` keeps only these items of a dump.
        """
        place = Path(path)
        files = sorted(one for one in place.iterdir() if _readable(one)) if place.is_dir() else [place]
        if not files or not place.exists():
            raise DataError(
                "no such file of statements: give .nt, .ttl or a Wikidata .json dump (also .gz, .bz2)", file=path
            )
        day = datetime.fromtimestamp(max(one.stat().st_mtime for one in files), UTC)
        made = cls(day.isoformat(timespec="seconds"))
        for file in files:
            made.add(file, items)
        noted = made.rdf.quads_for_pattern(None, rdf.library().NamedNode(rdf.FETCHED), None)
        made.fetched = min((quad.object.value for quad in noted), default=made.fetched)
        return made

    def add(self, file: Path, items: Iterable[str] | None = None) -> None:
        """Add the statements of a file."""
        kind = _kind(file)
        if kind == ".json":
            for item in dumps.items(file, items):
                self.rdf.bulk_extend(rdf.quads(item))
            return
        if kind not in KINDS:
            raise DataError(f"expected .nt, .ttl, .nq or .json (also .gz), found {file.suffix!r}", file=file)
        opener = dumps.OPENERS.get(file.suffix, open)
        try:
            with opener(file, "rb") as raw:
                self.rdf.bulk_load(raw, format=getattr(rdf.library().RdfFormat, KINDS[kind]))
        except (SyntaxError, ValueError) as error:
            raise DataError(f"not RDF: {error}", file=file) from None
        except dumps.UNREADABLE as error:
            raise DataError(f"cannot be read: {error}", file=file) from None

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows; a store has no limit of its own, so one page has all of them."""
        found = self.rdf.query(f"{sparql.PREFIXES}{query}")
        raw = found.serialize(format=rdf.library().QueryResultsFormat.JSON)
        rows: list[Binding] = json.loads(raw)["results"]["bindings"]
        return rows, self.fetched


def _kind(file: Path) -> str:
    return (Path(file.stem) if file.suffix in (".gz", ".bz2") else file).suffix


def _readable(file: Path) -> bool:
    return file.is_file() and _kind(file) in (*KINDS, ".json")

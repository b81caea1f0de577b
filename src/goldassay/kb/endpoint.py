"""Where SPARQL is answered: a query service on the web, or a store in this process; rows as SPARQL's JSON has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from goldassay.exceptions import CacheOnlyError, FetchError
from goldassay.kb import sparql
from goldassay.kb.cache import Cache, Kept
from goldassay.kb.http import Web, place

PAGE = 5000
Binding = dict[str, dict[str, str]]


class Endpoint(Protocol):
    """Answers a query, all its pages, with the oldest day on which a page was fetched."""

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows."""


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
    from goldassay.kb.store import Store

    return Store.load(endpoint)

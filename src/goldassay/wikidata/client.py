"""Wikidata items by sitelink or id, with statements, ranks and typed values.

The same queries go to Wikidata's query service (`Service`) and to a local store (`goldassay.wikidata.sparql`). A failed
fetch raises a `FetchError`, a missing item a `NotFoundError`; neither ever becomes an item without statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldassay.cache import Cache, Fetched
from goldassay.exceptions import CacheOnlyError, FetchError, NotFoundError
from goldassay.measures.triples.objects import EXCLUDED
from goldassay.secrets import redact
from goldassay.wikidata import entities, sparql
from goldassay.wikidata.entities import Item, Statement
from goldassay.wikidata.web import Web

WDQS = "https://query.wikidata.org/sparql"
LANGUAGES = ("en", "nl", "de", "fr", "mul")
PAGE = 5000
BATCH = 50  # items in one query
Binding = dict[str, dict[str, str]]


class Service:
    """A SPARQL endpoint on the web, behind the cache."""

    def __init__(self, url: str, web: Web | None = None, cache: Cache | None = None, page: int = PAGE) -> None:
        self.url, self.web, self.cache, self.page = url, web or Web(), cache or Cache(), page

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows of all pages; a server may have a smaller limit than ours, so only an empty page is the last."""
        rows: list[Binding] = []
        dates = []
        before = -1
        while len(rows) > before:
            before = len(rows)
            page = self._page(sparql.page(query, self.page, before))
            rows += page.value
            dates.append(page.fetched)
        return rows, min(dates)

    def _page(self, query: str) -> Fetched:
        try:
            return self.cache.get("sparql", f"{self.url} {query}", lambda: self._fetch(query))
        except CacheOnlyError:
            raise CacheOnlyError(
                f"the answer of {redact(self.url)} is not in {self.cache.folder}, and only the "
                "cache may be asked; fetch it first, or use a local file of Wikidata (`endpoint=FILE`)"
            ) from None

    def _fetch(self, query: str) -> list[Binding]:
        headers = {"Accept": "application/sparql-results+json"}
        answer = self.web.json(self.url, data={"query": query, "format": "json"}, headers=headers)
        try:
            rows: list[Binding] = answer["results"]["bindings"]
        except (KeyError, TypeError):
            raise FetchError(f"{redact(self.url)}: no SPARQL results; is it a SPARQL endpoint?") from None
        return rows


class WikidataClient:
    """Items from an endpoint: a URL, a file or folder of statements, or one that is open.

    Args:
        endpoint: Where the items are.
        languages: The languages of labels and aliases, the preferred ones first.
        excluded: Data types whose statements are left out (identifiers, images, addresses, …).
        web: The HTTP client.
        cache: Keeps the answers of a service.
    """

    def __init__(
        self,
        endpoint: str | Path | Service | sparql.TripleStore = WDQS,
        *,
        languages: Sequence[str] = LANGUAGES,
        excluded: Iterable[str] = EXCLUDED,
        web: Web | None = None,
        cache: Cache | None = None,
    ) -> None:
        if isinstance(endpoint, (str, Path)):
            remote = str(endpoint).startswith(("http://", "https://"))
            endpoint = Service(str(endpoint), web, cache) if remote else sparql.TripleStore.load(endpoint)
        self.endpoint = endpoint
        self.languages = tuple(dict.fromkeys(languages))
        self.excluded = {_fold_type(name) for name in excluded}

    def item_of(self, title: str, language: str = "en") -> Item:
        """The item that has the article of this title as a sitelink."""
        rows, _ = self.endpoint.select(sparql.item_of(title, language))
        if not rows:
            raise NotFoundError(f"no item has the {language} article {title!r} as a sitelink")
        return self.item(_local_name(rows[0]["item"]["value"]))

    def item(self, qid: str) -> Item:
        """An item with its statements; the id of a merged item gives the item that it was merged into."""
        rows, fetched = self.endpoint.select(sparql.statements(qid))
        links, links_fetched = self.endpoint.select(sparql.sitelinks(qid))
        labels, aliases = self._names([qid])[qid]
        if not rows and not links and not labels:
            target = self.merged_into(qid)
            if target is None or target == qid:
                raise NotFoundError(f"{qid} is not there: it has no statement, sitelink or label")
            return self.item(target)
        statements: dict[str, Statement] = {}
        for row in rows:
            datatype = _datatype(row["type"]["value"])
            if _fold_type(datatype) not in self.excluded:
                rank = row["rank"]["value"].removeprefix(sparql.ONTOLOGY).removesuffix("Rank").lower()
                statement = Statement(_local_name(row["property"]["value"]), _value(row, datatype), datatype, rank)
                statements.setdefault(row["statement"]["value"], statement)
        sites = {_site(row["site"]["value"]): row["name"]["value"] for row in links}
        oldest = min(filter(None, (fetched, links_fetched)), default="")
        return Item(qid, labels, aliases, sites, tuple(statements.values()), oldest)

    def names(self, qids: Iterable[str]) -> dict[str, list[str]]:
        """Labels, then aliases, of items, each once; an item without any has an empty list."""
        return {
            qid: list(dict.fromkeys([*labels.values(), *(name for some in aliases.values() for name in some)]))
            for qid, (labels, aliases) in self._names(list(dict.fromkeys(qids))).items()
        }

    def classes(self, qids: Iterable[str]) -> dict[str, frozenset[str]]:
        """The classes (P31) of items; items without one are left out."""
        classes: dict[str, set[str]] = {}
        for row in self.select_items(sparql.classes, qids):
            classes.setdefault(_local_name(row["item"]["value"]), set()).add(_local_name(row["class"]["value"]))
        return {qid: frozenset(values) for qid, values in classes.items()}

    def merged_into(self, qid: str) -> str | None:
        """The item that this one was merged into, if it was."""
        rows, _ = self.endpoint.select(sparql.redirect(qid))
        return _local_name(rows[0]["to"]["value"]) if rows else None

    def _names(self, qids: Sequence[str]) -> dict[str, tuple[dict[str, str], dict[str, list[str]]]]:
        """Labels and aliases by language, in the order of this client's languages."""
        names: dict[str, tuple[dict[str, str], dict[str, list[str]]]] = {qid: ({}, {}) for qid in qids}
        rows = list(self.select_items(lambda some: sparql.names(some, self.languages), qids))
        for row in sorted(rows, key=lambda row: self.languages.index(row["name"]["xml:lang"])):
            labels, aliases = names[_local_name(row["item"]["value"])]
            name, language = row["name"]["value"], row["name"]["xml:lang"]
            if row["alias"]["value"] in ("true", "1"):
                aliases.setdefault(language, []).append(name)
            else:
                labels[language] = name
        return names

    def select_items(self, query: Any, qids: Iterable[str]) -> Iterator[Binding]:
        """The rows of a query about several items, some items at a time."""
        every = list(qids)
        for start in range(0, len(every), BATCH):
            yield from self.endpoint.select(query(every[start : start + BATCH]))[0]


def _value(row: Binding, datatype: str) -> Any:
    """A statement's value as `measures.triples` reads it; None if Wikidata does not know it."""
    term = row["value"]
    if term["type"] == "bnode" or "/.well-known/genid/" in term["value"]:
        return None

    def part(name: str) -> str:
        return row[name]["value"] if name in row else ""

    if datatype == "time" and "precision" in row:
        precision, calendar = int(part("precision")), part("calendar")
        time = entities.from_rdf(term["value"], precision, calendar)
        return {"time": time, "precision": precision, "calendarmodel": calendar}
    if datatype == "quantity":
        unit = _local_name(part("unit"))
        value = {"amount": part("amount") or term["value"], "unit": "" if unit == "Q199" else unit}
        return value | ({"upperBound": part("upper"), "lowerBound": part("lower")} if "upper" in row else {})
    if datatype == "globe-coordinate" and "latitude" in row:
        precision_ = {"precision": float(part("grain"))} if "grain" in row else {}
        globe = {"globe": _local_name(part("globe"))} if "globe" in row else {}
        return {"latitude": float(part("latitude")), "longitude": float(part("longitude")), **precision_, **globe}
    if term["type"] == "uri":
        return _local_name(term["value"])
    return {"text": term["value"], "language": term["xml:lang"]} if "xml:lang" in term else term["value"]


def _local_name(iri: str) -> str:
    return iri.removeprefix(sparql.ENTITY)


def _datatype(iri: str) -> str:
    """Wikidata's name of a data type: ``WikibaseItem`` is ``wikibase-item``."""
    name = iri.removeprefix(sparql.ONTOLOGY)
    if name in ("CommonsMedia", "Url"):
        return name[0].lower() + name[1:]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _fold_type(name: str) -> str:
    return name.replace("-", "").casefold()


def _site(address: str) -> str:
    """``https://en.wikipedia.org/`` is ``enwiki``; other projects keep their name."""
    host = re.sub(r"^https?://(?:www\.)?", "", address).strip("/").removesuffix(".org")
    language, _, project = host.partition(".")
    return f"{language.replace('-', '_')}{'wiki' if project == 'wikipedia' else project}"

"""Wikidata's items: by sitelink or id, with statements, ranks, qualifiers, references and typed values.

The same queries go to the Wikidata Query Service (`Service`) and to a local store (`TripleStore`, filled from files;
its library is loaded when it is first used); rows are as SPARQL's JSON has them. A fetch that failed is a `FetchError`,
an item that is not there a `NotFoundError`; neither is ever an item without statements.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from goldassay.cache import Cache, Fetched
from goldassay.exceptions import CacheOnlyError, DataError, FetchError, NotFoundError
from goldassay.measures.triples.objects import EXCLUDED
from goldassay.wikidata import entities, rdf, sparql
from goldassay.wikidata.entities import Item, Statement
from goldassay.wikidata.web import Web
from goldassay.wikidata.web import public_address as place

PAGE = 5000
Binding = dict[str, dict[str, str]]


class SparqlEndpoint(Protocol):
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

    def _kept(self, query: str) -> Fetched:
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


def opened(endpoint: str | Path, web: Web | None = None, cache: Cache | None = None) -> SparqlEndpoint:
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
            for item in entities.items(file, items):
                self.rdf.bulk_extend(rdf.quads(item))
            return
        if kind not in KINDS:
            raise DataError(f"expected .nt, .ttl, .nq or .json (also .gz), found {file.suffix!r}", file=file)
        opener = entities.OPENERS.get(file.suffix, open)
        try:
            with opener(file, "rb") as raw:
                self.rdf.bulk_load(raw, format=getattr(rdf.library().RdfFormat, KINDS[kind]))
        except (SyntaxError, ValueError) as error:
            raise DataError(f"not RDF: {error}", file=file) from None
        except entities.UNREADABLE as error:
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


WDQS = "https://query.wikidata.org/sparql"
LANGUAGES = ("en", "nl", "de", "fr", "mul")
BATCH = 50
TYPES = {"CommonsMedia": "commonsMedia", "Url": "url"}


class WikidataClient:
    """Items from an endpoint: an address, a file or folder of statements, or an `SparqlEndpoint`.

    ``excluded`` names the data types whose statements are left out (identifiers, images, addresses, …), ``()`` none.

    Args:
        languages: The languages of labels and aliases.
        web: The client that asks.
        cache: Where answers are kept.
    """

    def __init__(
        self,
        endpoint: str | Path | SparqlEndpoint = WDQS,
        *,
        languages: Sequence[str] = LANGUAGES,
        excluded: Iterable[str] = EXCLUDED,
        web: Web | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.endpoint = opened(endpoint, web, cache) if isinstance(endpoint, (str, Path)) else endpoint
        self.languages = tuple(dict.fromkeys(languages))
        self.excluded = {_bare(name) for name in excluded}
        self.redirects: dict[str, str] = {}

    def item_of(self, title: str, language: str = "en") -> Item:
        """The item whose sitelink is the article of this title."""
        rows, _ = self.endpoint.select(sparql.item_of(title, language))
        if not rows:
            raise NotFoundError(f"no item has the {language} article {title!r} as a sitelink")
        return self.item(_id(rows[0]["item"]["value"]))

    def item(self, qid: str) -> Item:
        """An item with all that is said of it; an id that was merged gives the item that it went to."""
        rows, fetched = self.endpoint.select(sparql.statements(qid))
        links, day = self.endpoint.select(sparql.sitelinks(qid))
        labels, aliases = self._names([qid])
        if not rows and not links and not labels[qid]:
            return self._redirected(qid)
        counts = {r["statement"]["value"]: int(r["references"]["value"]) for r in self._rows(sparql.references(qid))}
        notes: dict[str, list[tuple[str, Any]]] = defaultdict(list)
        for row in self._rows(sparql.qualifiers(qid)):
            notes[row["statement"]["value"]].append((_id(row["property"]["value"]), _plain(row["value"])))
        seen: dict[str, Statement] = {}
        for row in rows:
            name = row["statement"]["value"]
            kind = _type(row["type"]["value"])
            if name not in seen and _bare(kind) not in self.excluded:
                rank = row["rank"]["value"].removeprefix(sparql.ONTOLOGY).removesuffix("Rank").lower()
                property_ = _id(row["property"]["value"])
                about = (tuple(notes.get(name, ())), counts.get(name, 0))
                seen[name] = Statement(property_, _value(row, kind), kind, rank, *about)
        sites = {_site(row["site"]["value"]): row["name"]["value"] for row in links}
        return Item(
            qid, labels[qid], aliases[qid], sites, tuple(seen.values()), min(filter(None, (fetched, day)), default="")
        )

    def names(self, qids: Iterable[str]) -> dict[str, list[str]]:
        """Labels, then aliases, of items, each once; an item without any has an empty list."""
        wanted = list(dict.fromkeys(qids))
        labels, aliases = self._names(wanted)
        return {
            qid: list(
                dict.fromkeys([*labels[qid].values(), *(name for some in aliases[qid].values() for name in some)])
            )
            for qid in wanted
        }

    def _names(self, qids: Sequence[str]) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, list[str]]]]:
        """Labels and aliases by language, in the order of this client's languages."""
        labels: dict[str, dict[str, str]] = {qid: {} for qid in qids}
        aliases: dict[str, dict[str, list[str]]] = {qid: {} for qid in qids}
        for start in range(0, len(qids), BATCH):
            for row in self._rows(sparql.names(qids[start : start + BATCH], self.languages)):
                qid, name, language = _id(row["item"]["value"]), row["name"]["value"], row["name"].get("xml:lang", "")
                if row["alias"]["value"] in ("true", "1"):
                    aliases[qid].setdefault(language, []).append(name)
                else:
                    labels[qid][language] = name
        order = {language: place for place, language in enumerate(self.languages)}

        def ordered(found: dict[str, Any]) -> dict[str, Any]:
            return dict(sorted(found.items(), key=lambda pair: order.get(pair[0], len(order))))

        return (
            {qid: ordered(found) for qid, found in labels.items()},
            {qid: ordered(found) for qid, found in aliases.items()},
        )

    def _redirected(self, qid: str) -> Item:
        rows = self._rows(sparql.redirect(qid))
        target = _id(rows[0]["to"]["value"]) if rows else ""
        if not target or target == qid:
            raise NotFoundError(f"{qid} is not there: nothing is said of it")
        self.redirects[qid] = target
        return self.item(target)

    def _rows(self, query: str) -> list[Binding]:
        return self.endpoint.select(query)[0]


def _value(row: Binding, kind: str) -> Any:
    """A statement's value as `measures.triples` reads it; None where Wikidata knows none or does not say which."""
    term = row["value"]
    if _unknown(term):
        return None

    def part(name: str) -> str:
        return row[name]["value"] if name in row else ""

    if kind == "time" and "precision" in row:
        precision, calendar = int(part("precision")), part("calendar")
        time = entities.from_rdf(term["value"], precision, calendar)
        return {"time": time, "precision": precision, "calendarmodel": calendar}
    if kind == "quantity":
        unit = _id(part("unit"))
        found = {"amount": part("amount") or term["value"], "unit": "" if unit in ("", "Q199") else unit}
        return found | ({"upperBound": part("upper"), "lowerBound": part("lower")} if "upper" in row else {})
    if kind == "globe-coordinate" and "latitude" in row:
        grain = {"precision": float(part("grain"))} if "grain" in row else {}
        globe = {"globe": _id(part("globe"))} if "globe" in row else {}
        return {"latitude": float(part("latitude")), "longitude": float(part("longitude")), **grain, **globe}
    return _plain(term)


def _unknown(term: dict[str, str]) -> bool:
    """Whether a value stands for one that nobody knows: a blank node, or the address that Wikidata puts for one."""
    return term["type"] == "bnode" or "/.well-known/genid/" in term["value"]


def _plain(term: dict[str, str]) -> Any:
    if _unknown(term):
        return None
    if term["type"] == "uri":
        return _id(term["value"])
    if "xml:lang" in term:
        return {"text": term["value"], "language": term["xml:lang"]}
    return term["value"]


def _id(iri: str) -> str:
    return iri.removeprefix(sparql.ENTITY)


def _type(iri: str) -> str:
    """Wikidata's name of a data type: ``WikibaseItem`` is ``wikibase-item``."""
    name = iri.removeprefix(sparql.ONTOLOGY)
    return TYPES.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _bare(name: str) -> str:
    return name.replace("-", "").casefold()


def _site(address: str) -> str:
    """``https://en.wikipedia.org/`` is ``enwiki``; other projects keep their name."""
    host = re.sub(r"^https?://(?:www\.)?", "", address).strip("/").removesuffix(".org")
    language, _, project = host.partition(".")
    return f"{language.replace('-', '_')}{'wiki' if project == 'wikipedia' else project}"

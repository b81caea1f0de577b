"""A local store of Wikidata (pyoxigraph), which answers the queries of the service, and the files that it reads.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import DataError, GoldassayError, MissingExtra
from goldassay.wikidata import sparql

if TYPE_CHECKING:
    from goldassay.wikidata.client import Binding, WikidataClient

CLAIM, MAIN, DEEP = sparql.PROP, f"{sparql.PROP}statement/", f"{sparql.PROP}statement/value/"
FETCHED = f"{sparql.PROV}generatedAtTime"
"""When an item was fetched, as a property of the page with its data."""
FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".nq": "N_QUADS"}
OPENERS: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def library() -> ModuleType:
    """pyoxigraph, or an error that says how to install it."""
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtra("pyoxigraph", "wikidata") from None
    return pyoxigraph


class TripleStore:
    """An embedded SPARQL endpoint; ``fetched`` is the oldest date noted in its files, else the date of the files."""

    def __init__(self, fetched: str = "") -> None:
        self.rdf = library().Store()
        self.fetched = fetched

    @classmethod
    def load(cls, path: str | Path) -> TripleStore:
        """A store of N-Triples or Turtle (``.nt``, ``.ttl``, also ``.gz``), or of a folder of them."""
        place = Path(path)
        readable = (file for file in place.iterdir() if file.is_file() and _suffix(file) in FORMATS)
        files = sorted(readable) if place.is_dir() else [place]
        if not files or not place.exists():
            raise DataError("no such file of statements: expected .nt, .ttl or .nq (also .gz, .bz2)", file=path)
        day = datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC)
        store = cls(day.isoformat(timespec="seconds"))
        for file in files:
            store.add(file)
        noted = store.rdf.quads_for_pattern(None, library().NamedNode(FETCHED), None)
        store.fetched = min((quad.object.value for quad in noted), default=store.fetched)
        return store

    def add(self, file: Path) -> None:
        """Add the statements of a file."""
        suffix = _suffix(file)
        if suffix not in FORMATS:
            raise DataError(f"expected .nt, .ttl or .nq (also .gz, .bz2), got {file.suffix!r}", file=file)
        try:
            with OPENERS.get(file.suffix, open)(file, "rb") as raw:
                self.rdf.bulk_load(raw, format=getattr(library().RdfFormat, FORMATS[suffix]))
        except (SyntaxError, ValueError) as error:
            raise DataError(f"not RDF: {error}", file=file) from None
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot be read: {error}", file=file) from None

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows of a query."""
        results = self.rdf.query(f"{sparql.PREFIXES}{query}")
        text = results.serialize(format=library().QueryResultsFormat.JSON)
        rows: list[Binding] = json.loads(text)["results"]["bindings"]
        return rows, self.fetched


def _suffix(file: Path) -> str:
    return (Path(file.stem) if file.suffix in OPENERS else file).suffix


def write(lines: Iterable[str], file: Path) -> int:
    """Writes N-Triples, whole or not at all; returns the number of lines."""
    count = 0
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        output = part.open("w", encoding="utf-8")
    except OSError as error:
        raise GoldassayError(f"{file}: cannot be written: {error.strerror}") from None
    with output:
        for count, line in enumerate(lines, start=1):  # noqa: B007
            output.write(line)
    part.replace(file)
    return count


def item_lines(client: WikidataClient, qid: str) -> Iterator[str]:
    """An item as N-Triples, made of the rows that the service answers, so that a store answers the same."""
    rows, fetched = client.endpoint.select(sparql.statements(qid))
    node = sparql.ENTITY + qid
    for row in rows:
        statement, name = row["statement"]["value"], row["property"]["value"].removeprefix(sparql.ENTITY)
        for key, space in (("claim", CLAIM), ("statementProperty", MAIN), ("statementValue", DEEP)):
            yield _line(row["property"]["value"], sparql.ONTOLOGY + key, _iri(space + name))
        yield _line(row["property"]["value"], f"{sparql.ONTOLOGY}propertyType", row["type"])
        yield _line(node, CLAIM + name, _iri(statement))
        yield _line(statement, f"{sparql.ONTOLOGY}rank", row["rank"])
        yield _line(statement, MAIN + name, row["value"])
        parts = {name: row[key] for group in sparql.VALUE_PARTS for key, name in group.items() if key in row}
        for key, value in parts.items():
            yield _line(f"{statement}-value", sparql.ONTOLOGY + key, value)
        if parts:
            yield _line(statement, DEEP + name, _iri(f"{statement}-value"))
    for row in client.endpoint.select(sparql.sitelinks(qid))[0]:
        article = row["article"]["value"]
        yield _line(article, f"{sparql.SCHEMA}about", _iri(node))
        yield _line(article, f"{sparql.SCHEMA}isPartOf", row["site"])
        yield _line(article, f"{sparql.SCHEMA}name", row["name"])
    if fetched:
        day = {"type": "literal", "value": fetched, "datatype": "http://www.w3.org/2001/XMLSchema#dateTime"}
        yield _line(f"https://www.wikidata.org/wiki/Special:EntityData/{qid}", FETCHED, day)


def name_lines(client: WikidataClient, qids: Iterable[str]) -> Iterator[str]:
    """Labels and aliases of items as N-Triples."""
    for row in client.select_items(lambda some: sparql.names(some, client.languages), qids):
        is_alias = row["alias"]["value"] in ("true", "1")
        yield _line(row["item"]["value"], f"{sparql.SKOS}altLabel" if is_alias else f"{sparql.RDFS}label", row["name"])


def class_lines(client: WikidataClient, qids: Iterable[str]) -> Iterator[str]:
    """The classes (P31) of items as N-Triples."""
    for number, row in enumerate(client.select_items(sparql.classes, qids)):
        statement = f"{sparql.ENTITY}statement/class-{number}"
        yield _line(row["item"]["value"], f"{CLAIM}P31", _iri(statement))
        yield _line(statement, f"{MAIN}P31", row["class"])


def redirect_line(old: str, new: str) -> str:
    """That an item was merged into another."""
    return _line(sparql.ENTITY + old, f"{sparql.OWL}sameAs", _iri(sparql.ENTITY + new))


def _iri(iri: str) -> dict[str, str]:
    return {"type": "uri", "value": iri}


def _line(subject: str, predicate: str, term: Mapping[str, str]) -> str:
    """A triple whose object is a term of SPARQL's JSON; JSON's escapes are those of N-Triples, too."""
    value = json.dumps(term["value"], ensure_ascii=False)
    if term["type"] == "uri":
        value = f"<{term['value']}>"
    elif term["type"] == "bnode":
        value = f"_:{term['value']}"
    elif "xml:lang" in term:
        value += f"@{term['xml:lang']}"
    elif "datatype" in term:
        value += f"^^<{term['datatype']}>"
    return f"<{subject}> <{predicate}> {value} .\n"

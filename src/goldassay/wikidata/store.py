"""A local store of Wikidata (pyoxigraph), which answers the queries of the service.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import DataError, MissingExtra
from goldassay.wikidata import sparql

if TYPE_CHECKING:
    from goldassay.wikidata.client import Binding

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

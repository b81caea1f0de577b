"""Wikidata in this process: an embedded SPARQL store, filled from files, that answers the service's own queries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from goldassay.exceptions import DataError
from goldassay.kb import dumps, rdf, sparql
from goldassay.kb.endpoint import Binding
from goldassay.kb.oxigraph import library

KINDS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".nq": "N_QUADS"}


class Store:
    """An embedded store; ``fetched`` is the oldest day that its files note, else the day of the files themselves."""

    def __init__(self, fetched: str = "") -> None:
        self.rdf = library().Store()
        self.fetched = fetched

    @classmethod
    def load(cls, path: str | Path, items: Iterable[str] | None = None) -> Store:
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
        noted = made.rdf.quads_for_pattern(None, library().NamedNode(rdf.FETCHED), None)
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
                self.rdf.bulk_load(raw, format=getattr(library().RdfFormat, KINDS[kind]))
        except (SyntaxError, ValueError) as error:
            raise DataError(f"not RDF: {error}", file=file) from None
        except dumps.UNREADABLE as error:
            raise DataError(f"cannot be read: {error}", file=file) from None

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows; a store has no limit of its own, so one page has all of them."""
        found = self.rdf.query(f"{sparql.PREFIXES}{query}")
        raw = found.serialize(format=library().QueryResultsFormat.JSON)
        rows: list[Binding] = json.loads(raw)["results"]["bindings"]
        return rows, self.fetched


def _kind(file: Path) -> str:
    return (Path(file.stem) if file.suffix in (".gz", ".bz2") else file).suffix


def _readable(file: Path) -> bool:
    return file.is_file() and _kind(file) in (*KINDS, ".json")

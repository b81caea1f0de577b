"""The files of two official scorers of links: ``coref`` and ``neleval``.

**coref** is the coreference column of CoNLL-2011/2012, the last one, from ``#begin document`` to ``#end document``.
Offsets are numbers of tokens, since the official scorer compares these and not the words. A chain is the name ``NIL``
with its number. A mention that stands twice belongs to the chain that begins first. A cell has any
number of parts, with or without ``|`` between them; documents that only the system has are ignored.

**neleval** is TAC's links as neleval prepares them, ``document start end id score type`` a line. More candidates are
more triples of id, score and type; the first by score is gold's. The end is the last character of a mention. A document
that gold does not mention has no links there. A mention without a candidate counts among all mentions, and is neither
linked nor NIL; all of them are one cluster. The text is in neither file.

Sources: https://github.com/conll/reference-coreference-scorers,
https://github.com/wikilinks/neleval (doc/formats.rst)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import Fields
from goldassay.gold.formats import Format, Row, Source
from goldassay.jsonl import value as parse_json
from goldassay.measures.linking.records import UNNAMED

BEGIN = "#begin document"
END = "#end document"
PART = re.compile(r"\(\d+\)?|\d+\)")


def _coref(source: Source) -> Iterator[Row]:
    """One record a document."""
    name = ""
    first = 0
    repeats = 0
    cells: list[str] = []
    for number, line in source.filled_lines():
        if line.startswith(BEGIN):
            name = line.removeprefix(BEGIN).strip()
            first = number
            cells = []
        elif line.startswith(END) and name:
            with source.checking("unreadable", line=first, record=name):
                links: dict[tuple[int, int], Fields] = {}
                for chain, mentions in _chains(cells).items():
                    repeats += len(mentions)
                    for place in mentions:
                        links.setdefault(place, _names([f"NIL{chain}"], "chain", source))
                repeats -= len(links)
                yield _record(name, links, source, first)
            name = ""
        elif name:
            cells.append(line.split()[-1])
    if repeats:
        official = (
            "; the official scorer counts each of them" if source.side == "gold" else ", as the official scorer does"
        )
        message = f"{repeats} mentions of {source.path.name} repeat and count once, in the chain that begins first"
        source.warnings.append(message + official)
    if name or not first:
        what = f"document {name!r} does not end ({END})" if name else f"no line begins with {BEGIN}"
        raise DataError(what, file=source.path, line=first or None)


def _chains(cells: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """The mentions of each chain, by their first token and the one after their last."""
    chains: dict[str, list[tuple[int, int]]] = {}
    begun: dict[str, list[int]] = {}
    for token, cell in enumerate(cells):
        parts: list[str] = PART.findall(cell)
        if "".join(parts) != cell.strip("-_*").replace("|", ""):
            raise DataError(f"token {token + 1} has {cell!r}; chains are written (1), (1 or 1)")
        for part in sorted(parts, key=_turn):
            chain = part.strip("()")
            mentions = chains.setdefault(chain, [])
            if part.startswith("("):
                begun.setdefault(chain, []).append(token)
            if part.endswith(")"):
                if not begun.get(chain):
                    raise DataError(f"token {token + 1} ends a mention of chain {chain} that does not begin")
                mentions.append((begun[chain].pop(), token + 1))
    if unclosed := next((chain for chain, places in begun.items() if places), None):
        raise DataError(f"a mention of chain {unclosed} does not end")
    return chains


def _turn(part: str) -> int:
    """When the official scorer takes a part of a cell: mentions of one token, then beginnings, then ends."""
    if part.startswith("("):
        return 0 if part.endswith(")") else 1
    return 2


def _neleval(source: Source) -> Iterator[Row]:
    """One record a document."""
    documents: dict[str, dict[tuple[int, int], Fields]] = {}
    for number, line in source.filled_lines():
        with source.checking("unreadable", line=number):
            name, *cells = line.rstrip("\t").split("\t")
            if len(cells) < 2 or not all(cell.isdigit() for cell in cells[:2]):
                raise DataError("a line is document, start, end, id, score and type, between tabs")
            place = (int(cells[0]), int(cells[1]) + 1)
            links = documents.setdefault(name, {})
            with source.checking("repeated", line=number, record=name):
                if place in links:
                    raise DataError(f"mention {cells[0]}–{cells[1]} stands twice")
                triples = [[*cells[at : at + 3], "", ""][:3] for at in range(2, len(cells), 3)]
                ranked = sorted(triples, key=lambda triple: -float(triple[1] or 0))
                kind = ranked[0][2] if ranked else ""
                if kind.startswith("{"):
                    kind = str(parse_json(kind).get("type", ""))
                links[place] = _names([triple[0] for triple in ranked] or [UNNAMED], "kb", source) | {"type": kind}
    for name, links in documents.items():
        yield _record(name, links, source)


def _names(ids: Sequence[str], base: str, source: Source) -> Fields:
    """The first id for gold, all of them as candidates for a system."""
    return {"ids": {base: [*ids[:1]]}} if source.side == "gold" else {"candidates": [{"id": id_} for id_ in ids]}


def _record(name: str, links: Mapping[tuple[int, int], Any], source: Source, line: int | None = None) -> Row:
    """A document without its text."""
    text = {"text": ""} if source.side == "gold" else {}
    places = [{"start": start, "end": end, **link} for (start, end), link in links.items()]
    return Row({"id": name, **text, "links": places}, line)


FORMATS = {"coref": Format(("linking",), _coref), "neleval": Format(("linking",), _neleval)}

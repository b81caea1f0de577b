"""The files of two official scorers of links: ``coref`` and ``neleval``.

**coref** is the coreference column of CoNLL-2011/2012, the last one, from ``#begin document`` to ``#end document``.
Offsets are numbers of tokens, since the official scorer compares these and not the words. A chain is the name ``NIL``
with its number; chains come in the order in which they begin. A mention in two chains is two links. A cell has any
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
from collections.abc import Iterable, Iterator, Sequence

from goldassay._support.exceptions import DataError
from goldassay._support.jsonl import value as parse_json
from goldassay.core.fields import JsonObject
from goldassay.gold.formats import Format, Source, SourceRecord

BEGIN_DOCUMENT = "#begin document"
END_DOCUMENT = "#end document"
UNNAMED = "NIL?"  # as in goldassay.measures.linking.records, whose room loads numpy


def _coref(source: Source) -> Iterator[SourceRecord]:
    """One record a document."""
    name = ""
    first = 0
    repeats = 0
    cells: list[str] = []
    for number, line in source.filled_lines():
        if line.startswith(BEGIN_DOCUMENT):
            name = line.removeprefix(BEGIN_DOCUMENT).strip()
            first = number
            cells = []
        elif line.startswith(END_DOCUMENT) and name:
            with source.checking("unreadable", line=first, record=name):
                spans = [(span, chain) for chain, mentions in _chains(cells).items() for span in mentions]
                repeats += len(spans) - len({span for span, _ in spans})
                links = [(span, _names([f"NIL{chain}"], "chain", source)) for span, chain in spans]
                yield _record(name, links, source, first)
            name = ""
        elif name:
            cells.append(line.split()[-1])
    if repeats:
        where = "" if source.side == "gold" else " that gold does not have"
        message = f"mentions{where} count in each of their chains, as in the official scorer"
        source.warnings.append(f"{repeats} mentions of {source.path.name} repeat; such {message}")
    if name or not first:
        what = f"document {name!r} does not end ({END_DOCUMENT})" if name else f"no line begins with {BEGIN_DOCUMENT}"
        raise DataError(what, file=source.path, line=first or None)


def _chains(cells: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """The mentions of each chain, by their first token and the one after their last."""
    chains: dict[str, list[tuple[int, int]]] = {}
    begun: dict[str, list[int]] = {}
    for token, cell in enumerate(cells):
        brackets: list[str] = re.findall(r"\(\d+\)?|\d+\)", cell)
        if "".join(brackets) != cell.strip("-_*").replace("|", ""):
            raise DataError(f"token {token + 1} has {cell!r}; chains are written (1), (1 or 1)")
        # as the official scorer takes them: mentions of one token, then beginnings, then ends
        for bracket in sorted(brackets, key=lambda bracket: (not bracket.startswith("("), not bracket.endswith(")"))):
            chain = bracket.strip("()")
            mentions = chains.setdefault(chain, [])
            if bracket.startswith("("):
                begun.setdefault(chain, []).append(token)
            if bracket.endswith(")"):
                if not begun.get(chain):
                    raise DataError(f"token {token + 1} ends a mention of chain {chain} that does not begin")
                mentions.append((begun[chain].pop(), token + 1))
    if unclosed := next((chain for chain, places in begun.items() if places), None):
        raise DataError(f"a mention of chain {unclosed} does not end")
    return chains


def _neleval(source: Source) -> Iterator[SourceRecord]:
    """One record a document."""
    documents: dict[str, dict[tuple[int, int], JsonObject]] = {}
    for number, line in () if source.is_without_predictions() else source.filled_lines():
        with source.checking("unreadable", line=number):
            name, *cells = line.rstrip().split("\t")
            if len(cells) < 2 or not all(cell.isdigit() for cell in cells[:2]):
                raise DataError("a line is document, start, end, id, score and type, between tabs")
            span = (int(cells[0]), int(cells[1]) + 1)
            links = documents.setdefault(name, {})
            with source.checking("repeated", line=number, record=name):
                if span in links:
                    raise DataError(f"mention {cells[0]}–{cells[1]} is there twice")
                triples = [[*cells[at : at + 3], "", ""][:3] for at in range(2, len(cells), 3)]
                ranked = sorted(triples, key=lambda triple: -float(triple[1] or 0))
                kind = ranked[0][2] if ranked else ""
                if kind.startswith("{"):
                    kind = str(parse_json(kind).get("type", ""))
                links[span] = _names([triple[0] for triple in ranked] or [UNNAMED], "kb", source) | {"type": kind}
    for name, links in documents.items():
        yield _record(name, links.items(), source)


def _names(ids: Sequence[str], base: str, source: Source) -> JsonObject:
    """The first id for gold, all of them as candidates for a system."""
    return {"ids": {base: [*ids[:1]]}} if source.side == "gold" else {"candidates": [{"id": id_} for id_ in ids]}


def _record(
    name: str, links: Iterable[tuple[tuple[int, int], JsonObject]], source: Source, line: int | None = None
) -> SourceRecord:
    """A document without its text."""
    text = {"text": ""} if source.side == "gold" else {}
    places = [{"start": start, "end": end, **link} for (start, end), link in links]
    return SourceRecord({"id": name, **text, "links": places}, line)


coref = Format(("linking",), _coref, ignored="documents")
neleval = Format(("linking",), _neleval, spurious="links")

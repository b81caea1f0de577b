"""``coref``: the coreference column of CoNLL-2011/2012, the last one, from ``#begin document`` to ``#end document``.

Offsets are numbers of tokens, since the official scorer compares these and not the words. A chain is the name ``NIL``
with its number. A mention that stands twice belongs to the chain that begins first.

Source: https://github.com/conll/reference-coreference-scorers
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source

TASKS = ("linking",)
OPTIONS = ()
BEGIN = "#begin document"
PART = re.compile(r"\(\d+\)?|\d+\)")


def rows(source: Source) -> Iterator[Row]:
    """One record a document."""
    name, first, lines = "", 0, list[list[str]]()
    for number, line in enumerate(files.lines(source.path), start=1):
        if line.startswith(BEGIN):
            name, first, lines = line.removeprefix(BEGIN).strip(), number, []
        elif line.startswith("#end document") and name:
            with source.checking("unreadable", line=first, record=name):
                yield Row(_record(name, lines, source.side), first)
            name = ""
        elif name and line.strip():
            lines.append(line.split())
    if name or not first:
        what = f"document {name!r} does not end (#end document)" if name else f"no line begins with {BEGIN}"
        raise DataError(what, file=source.path, line=first or None)


def _record(name: str, lines: Sequence[Sequence[str]], side: str) -> dict[str, Any]:
    chains: dict[str, list[tuple[int, int]]] = {}
    begun: dict[str, list[int]] = {}
    for token, cells in enumerate(lines):
        for part in cells[-1].split("|") if cells[-1] not in "-_*" else ():
            if not PART.fullmatch(part):
                raise DataError(f"token {token + 1} has {cells[-1]!r}; chains are written (1), (1 or 1)")
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
    links: dict[tuple[int, int], dict[str, Any]] = {}
    for chain, mentions in chains.items():
        ids: dict[str, Any] = {"ids": {"chain": [f"NIL{chain}"]}}
        names = ids if side == "gold" else {"candidates": [{"id": f"NIL{chain}"}]}
        for start, end in mentions:
            links.setdefault((start, end), {"start": start, "end": end, **names})
    return {"id": name, **({"text": ""} if side == "gold" else {}), "links": list(links.values())}

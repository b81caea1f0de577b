"""Ids that mean the same: redirects and equivalences, from a table that the caller gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

Pairs = tuple[tuple[str, str], ...]

NIL = "NIL"
IRI = re.compile(
    r"^(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:)(?=Q\d+$)|^https?://(?:www\.)?viaf\.org/viaf/"
)


def plain(one: object) -> str:
    """An id without the address of its knowledge base; ``NIL`` for none.

    >>> plain("http://www.wikidata.org/entity/Q42"), plain("wd:Q42"), plain(None)
    ('Q42', 'Q42', 'NIL')
    """
    text = "" if one is None else str(one).strip()
    return IRI.sub("", text).rstrip("/") if text and text.upper() != NIL else NIL


def pairs(table: Mapping[str, str] | Pairs | None) -> Pairs:
    """A table as the tuple of pairs that a measure takes."""
    return tuple(sorted(table.items())) if isinstance(table, Mapping) else tuple(table or ())


@lru_cache(maxsize=64)
def canonical(table: Pairs) -> dict[str, str]:
    """Each id of a table with the one that is counted: the end of its chain, the least id where a chain runs in a ring.

    >>> canonical((("Q1", "Q2"), ("Q2", "Q3"), ("Q8", "Q9"), ("Q9", "Q8")))
    {'Q1': 'Q3', 'Q2': 'Q3', 'Q8': 'Q8', 'Q9': 'Q8'}
    """
    steps = {plain(a): plain(b) for a, b in table}
    out = {}
    for start in steps:
        seen = [start]
        while seen[-1] in steps and steps[seen[-1]] not in seen:
            seen.append(steps[seen[-1]])
        end = seen[-1]
        out[start] = min(seen[seen.index(steps[end]) :]) if end in steps else end
    return out

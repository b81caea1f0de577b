"""Small questions to an endpoint: the classes of several items at once, and where a merged item went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.kb import sparql

MOST = 50


def classes(client: Any, qids: Sequence[str]) -> dict[str, frozenset[str]]:
    """The classes of each item, as far as the client's endpoint knows; empty for a client that has no endpoint."""
    endpoint = getattr(client, "endpoint", None)
    if endpoint is None or not qids:
        return {}
    found: dict[str, set[str]] = {}
    for start in range(0, len(qids), MOST):
        for row in endpoint.select(query(qids[start : start + MOST]))[0]:
            item, kind = (row[name]["value"].removeprefix(sparql.ENTITY) for name in ("item", "class"))
            found.setdefault(item, set()).add(kind)
    return {item: frozenset(kinds) for item, kinds in found.items()}


def query(qids: Sequence[str]) -> str:
    """The query for the classes of these items.

    >>> query(["Q90"]).split("WHERE")[0]
    'SELECT DISTINCT ?item ?class '
    """
    items = " ".join(f"wd:{sparql.checked(qid)}" for qid in qids)
    edges = f"?item <{sparql.PROP}P31> ?said . ?said <{sparql.PROP}statement/P31> ?class ."
    return f"SELECT DISTINCT ?item ?class WHERE {{ VALUES ?item {{ {items} }} {edges} }} ORDER BY ?item ?class"


def merged_into(client: Any, qid: str) -> str | None:
    """The item that this one was merged into; None where it stands for itself, or nothing can be asked."""
    endpoint = getattr(client, "endpoint", None)
    if endpoint is None or not sparql.QID.fullmatch(qid):
        return None
    rows = endpoint.select(sparql.redirect(qid))[0]
    return str(rows[0]["to"]["value"]).removeprefix(sparql.ENTITY) if rows else None

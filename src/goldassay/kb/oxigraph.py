"""The embedded SPARQL store's library, loaded when it is first used."""

from __future__ import annotations

from typing import Any

from goldassay.exceptions import MissingExtra


def library() -> Any:
    """pyoxigraph, or how to install it."""
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtra("pyoxigraph", "wikidata") from None
    return pyoxigraph

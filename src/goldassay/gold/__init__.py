"""Gold: records, readers and writers (one file a format), sets with a card, splits, agreement, audit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from goldassay.gold.pairing import Pairs, align, pairs
from goldassay.gold.reading import Conversion, convert, read, write
from goldassay.gold.records import check, schema
from goldassay.gold.sets import GoldSet, TaskSet, load

if TYPE_CHECKING:
    from goldassay.gold.drafts import Draft, Pool, draft

__all__ = [
    "Conversion",
    "Draft",
    "GoldSet",
    "Pairs",
    "Pool",
    "TaskSet",
    "align",
    "check",
    "convert",
    "draft",
    "load",
    "pairs",
    "read",
    "schema",
    "write",
]


def __getattr__(name: str) -> Any:
    """Drafts are loaded when they are first used: records are read without numpy."""
    if name in ("Draft", "Pool", "draft"):
        return getattr(import_module("goldassay.gold.drafts"), name)
    raise AttributeError(f"module 'goldassay.gold' has no attribute {name!r}")

"""Gold: records, readers and writers (one file a format), sets with a card, splits, agreement, audit."""

from __future__ import annotations

from goldassay.gold.drafts import Draft, Pool, draft
from goldassay.gold.pairing import Pairs, align, pairs
from goldassay.gold.reading import Conversion, convert, read, write
from goldassay.gold.records import check, schema
from goldassay.gold.sets import GoldSet, TaskSet, load

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

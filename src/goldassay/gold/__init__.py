"""Gold: records, readers and writers (one file a format), sets with a card, splits, agreement, audit."""

from __future__ import annotations

from goldassay.gold.pairing import Pairs, join, pairs
from goldassay.gold.reading import Conversion, Records, convert, read, write
from goldassay.gold.records import check, schema
from goldassay.gold.sets import GoldSet, TaskSet, load

__all__ = [
    "Conversion",
    "GoldSet",
    "Pairs",
    "Records",
    "TaskSet",
    "check",
    "convert",
    "join",
    "load",
    "pairs",
    "read",
    "schema",
    "write",
]

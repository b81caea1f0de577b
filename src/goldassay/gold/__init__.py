"""Gold: records, readers and writers (one file a format), sets with a card, splits, agreement, audit."""

from __future__ import annotations

from goldassay.gold.reading import Pairs, aligned, pairs, read
from goldassay.gold.records import check, schema
from goldassay.gold.sets import GoldSet, TaskSet, load

__all__ = ["GoldSet", "Pairs", "TaskSet", "aligned", "check", "load", "pairs", "read", "schema"]

"""Records of large JSON Lines files: validated once, then read again, some at a time, whenever they are needed.

Tallies add up, so that a scorecard folds such files in chunks (`goldassay.scorecard.Batches.chunks`): what stays in
memory is the id and the byte offset of each record.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import DataError
from goldassay.gold import formats
from goldassay.gold.formats import Row, Source
from goldassay.gold.formats.jsonl import rows_of
from goldassay.gold.records import check, empty_prediction

LARGE = 32_000_000  # bytes of a file from which its records stay in it
MISSING = -1  # the offset of a record that the file does not have


def is_large(source: Source) -> bool:
    """Whether the records of a source can stay in its file, and it is large."""
    place = rows_of(source.path)
    streamable = source.format in ("jsonl", "run") and not source.options and not source.faults.limit
    return streamable and os.path.isfile(place) and os.path.getsize(place) >= LARGE


@dataclass(frozen=True)
class RecordFile(Sequence[Any]):
    """The records of a file, each validated when it is read.

    ``offsets`` are those of their lines, ``split_names`` their splits, and ``transform`` is called with each.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Source(Path(folder, "gold.jsonl"), "classification", "jsonl")
    ...     _ = source.path.write_text('{"id": "a", "label": "M", "split": "dev"}\\n{"id": "b", "label": "L"}\\n')
    ...     records = RecordFile.of(source, formats.named("jsonl").rows(source))
    ...     len(records), records[1]["label"], [record["id"] for record in records.of_split("dev")]
    (2, 'L', ['a'])
    """

    source: Source
    ids: Sequence[str]
    offsets: Sequence[int]
    split_names: Sequence[str | None]
    transform: Callable[[dict[str, Any]], Any] | None = None

    @classmethod
    def of(cls, source: Source, rows: Iterable[Row]) -> RecordFile:
        """The records of rows that were validated."""
        index: dict[str, tuple[int, str | None]] = {}
        for row in rows:
            name, split = row.record["id"], row.record.get("split")
            if name in index and source.format != "run":  # of a run the last row of an example counts
                raise DataError("duplicate document id; each record needs its own", file=source.path, record=name)
            index[name] = row.offset, sys.intern(split) if split else None
        offsets = array("q", (offset for offset, _ in index.values()))
        return cls(source, list(index), offsets, [split for _, split in index.values()])

    @property
    def splits(self) -> list[str]:
        """The names of the splits."""
        return [name for name in dict.fromkeys(self.split_names) if name]

    def select(self, places: Iterable[int]) -> RecordFile:
        """The records at these places."""
        chosen = list(places)
        ids, splits = [self.ids[place] for place in chosen], [self.split_names[place] for place in chosen]
        return replace(self, ids=ids, offsets=array("q", (self.offsets[place] for place in chosen)), split_names=splits)

    def of_split(self, split: str) -> RecordFile:
        """The records of a split."""
        return self.select(place for place, name in enumerate(self.split_names) if name == split)

    def ordered(self, ids: Sequence[str]) -> RecordFile:
        """The predictions with these ids in this order; one that the file does not have is empty."""
        offset_of = dict(zip(self.ids, self.offsets, strict=True))
        offsets = array("q", (offset_of.get(name, MISSING) for name in ids))
        return replace(self, ids=ids, offsets=offsets, split_names=[None] * len(ids))

    def mapped(self, transform: Callable[[dict[str, Any]], Any]) -> RecordFile:
        """The same records, transformed when they are read: as examples, say."""
        return replace(self, transform=transform)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self.select(range(*place.indices(len(self))))
        return next(iter(self.select([place])))

    def __iter__(self) -> Iterator[Any]:
        task, side = self.source.task, self.source.side
        record_of: Any = formats.named(self.source.format).record_of
        with rows_of(self.source.path).open("rb") as stream:
            for name, offset in zip(self.ids, self.offsets, strict=True):
                if offset == MISSING:
                    yield empty_prediction(name, task)
                    continue
                stream.seek(offset)
                record = record_of(jsonl.value(stream.readline(), file=self.source.path, unique=False), self.source)
                record = record if self.source.format == "run" else check(record, task, side)  # of a run it is checked
                yield self.transform(record) if self.transform else record

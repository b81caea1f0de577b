"""Records of large JSON Lines files: validated once, then read again, some at a time, whenever they are needed.

Tallies add up, so that a scorecard folds such files in chunks (`goldassay.scorecard.Batches.chunks`): what stays in
memory is the id and the byte offset of each record.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold import formats
from goldassay.gold.formats import Source
from goldassay.gold.formats.run import rows_of
from goldassay.gold.records import SPANS, check, prove

LARGE = 32_000_000  # bytes of a file from which its records stay in it
MISSING = -1  # the offset of a record that the file does not have


def is_large(*sources: Source) -> bool:
    """Whether the records of these sources can stay in their files, and one of the files is large."""
    places = [rows_of(source.path) for source in sources]
    streamable = all(source.format in ("jsonl", "run") and not source.options for source in sources)
    return streamable and any(os.path.isfile(place) and os.path.getsize(place) >= LARGE for place in places)


class RecordFile(Sequence[Any]):
    """The records of a file, each validated when it is read.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "gold.jsonl")
    ...     _ = file.write_text('{"id": "a", "label": "M", "split": "dev"}\\n{"id": "b", "label": "L"}\\n')
    ...     records = RecordFile(Source(file, "classification", "jsonl"))
    ...     len(records), records[1]["label"], [record["id"] for record in records.of_split("dev")]
    (2, 'L', ['a'])
    """

    def __init__(self, source: Source, also: Callable[[Mapping[str, Any]], None] | None = None) -> None:
        """Read the file once; ``also`` is called with each record and may raise a `DataError`."""
        self.source, self.path = source, rows_of(source.path)
        self._transform: Callable[[dict[str, Any]], Any] | None = None
        self._empty: Callable[[str], dict[str, Any]] | None = None
        index: dict[str, tuple[int, int, str | None]] = {}
        for line, offset, raw in files.raw_lines(self.path):
            record = self._parse(raw, line, offset) if raw.strip() else None
            if record is None:
                continue
            name = record["id"]
            if name in index and source.format != "run":  # of a run the last row of an example counts
                raise DataError("duplicate document id; each record needs its own", file=self.path, record=name)
            if also is not None:
                try:
                    also(record)
                except DataError as error:
                    raise error.at(file=source.path) from None
            split = record.get("split")
            index[name] = offset, len(raw), sys.intern(split) if split else None
        if not index:
            raise DataError("no predictions; did every example fail?", file=self.path)
        self.ids = list(index)
        self.offsets = array("q", (offset for offset, _, _ in index.values()))
        self.sizes = array("l", (size for _, size, _ in index.values()))
        self.split_names = [split for _, _, split in index.values()]
        self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def _parse(self, raw: bytes, line: int | None, offset: int) -> dict[str, Any] | None:
        task, side = self.source.task, self.source.side
        try:
            record = formats.module(self.source.format).parse(self.source, raw, line or 1, offset)
            if record is None:
                return None
            record = record if self.source.format == "run" else check(record, task, side)  # of a run it is checked
            if task in SPANS and "text" in record:
                prove(record["text"], record[SPANS[task]], SPANS[task], record["id"])
        except DataError as error:
            raise error.at(file=self.path, line=line) from None
        return record

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each id."""
        return {name: place for place, name in enumerate(self.ids)}

    @property
    def splits(self) -> list[str]:
        """The names of the splits."""
        return [name for name in dict.fromkeys(self.split_names) if name]

    def of_split(self, split: str) -> RecordFile:
        """The records of a split."""
        return self._some([place for place, name in enumerate(self.split_names) if name == split])

    def among(self, ids: set[str]) -> RecordFile:
        """The records with these ids."""
        return self._some([place for place, name in enumerate(self.ids) if name in ids])

    def ordered(self, ids: Sequence[str], empty: Callable[[str], dict[str, Any]]) -> RecordFile:
        """The records with these ids in this order; ``empty`` makes one that the file does not have."""
        records = self._some([self.places.get(name, MISSING) for name in ids])
        records.ids, records._empty = list(ids), empty
        return records

    def mapped(self, transform: Callable[[dict[str, Any]], Any]) -> RecordFile:
        """The same records, transformed when they are read: as examples, say."""
        records = copy(self)
        records._transform = transform
        return records

    def _some(self, places: Sequence[int]) -> RecordFile:
        records = copy(self)
        records.__dict__.pop("places", None)
        records.ids = [self.ids[place] if place >= 0 else "" for place in places]
        records.offsets = array("q", (self.offsets[place] if place >= 0 else MISSING for place in places))
        records.sizes = array("l", (self.sizes[place] if place >= 0 else 0 for place in places))
        records.split_names = [self.split_names[place] if place >= 0 else None for place in places]
        return records

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self._some(range(*place.indices(len(self))))
        return self._read(self.ids[place], self.offsets[place], self.sizes[place])

    def __iter__(self) -> Iterator[Any]:
        return map(self._read, self.ids, self.offsets, self.sizes)

    def _read(self, name: str, offset: int, size: int) -> Any:
        if offset == MISSING and self._empty is not None:
            return self._empty(name)
        record = self._parse(os.pread(self._file, size, offset), None, offset)
        return self._transform(record or {}) if self._transform else record

"""Gold that stays in its file: the records of a large file of JSON Lines, checked once, read again when asked for.

Only the place of each record and its split are kept, nine bytes a record.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, overload

from goldassay import files
from goldassay.gold import quick
from goldassay.gold.formats.jsonl import by_line
from goldassay.gold.reading import once

LARGE = 32_000_000  # bytes of a file from which its records are streamed
SPLITS = 127  # names of splits that a byte tells apart

Record = dict[str, Any]


class Records(Sequence[Record]):
    """The records of a file, each checked when it is made; ids are proved to be unique without keeping them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "gold.jsonl")
    ...     _ = file.write_text('{"id": "a", "label": "M", "split": "dev"}\\n{"id": "b", "label": "L"}\\n')
    ...     found = Records(file, "classification")
    ...     len(found), found[1]["label"], [record["id"] for record in found.of("dev")]
    (2, 'L', ['a'])
    """

    def __init__(self, path: Path, task: str) -> None:
        import numpy as np  # small gold is read without it

        self.path, self.task = path, task
        self.places, splits, names, ids = array("q"), array("b"), dict[Any, int](), array("q")
        for number, place, block in files.blocks(path):
            for record in self._checked(block, number, place):
                ids.append(hash(record["id"]))
                splits.append(names.setdefault(record.get("split") or None, min(len(names), SPLITS)))
            for line in block.split(b"\n"):
                if line.strip():
                    self.places.append(place)
                place += len(line) + 1
        self.names = list(names)
        self._splits = np.frombuffer(splits, np.int8)
        self.order = np.arange(len(self.places))
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.places.append(os.fstat(self._file).st_size)
        if len(np.unique(np.frombuffer(ids, np.int64))) < len(ids):
            once([{"id": record["id"]} for record in self], path)

    def _checked(self, block: bytes, number: int, place: int) -> list[Record]:
        found = quick.rows(block, self.task)
        return list(by_line(block, self.path, number, place, self.task, "gold")) if found is None else found

    @property
    def splits(self) -> list[str]:
        """The names of the splits that there are."""
        return [name for name in self.names if name]

    def of(self, split: str) -> Records:
        """The records of a split."""
        return self._some(self.order[self._splits[self.order] == self.names.index(split)])

    def _some(self, order: Any) -> Records:
        found = copy(self)
        found.order = order
        return found

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Records: ...
    def __getitem__(self, at: int | slice) -> Record | Records:
        if isinstance(at, slice):
            return self._some(self.order[at])
        index = int(self.order[at])
        start, end = self.places[index], self.places[index + 1]
        (record,) = self._checked(os.pread(self._file, end - start, start), index + 1, start)
        return record

    def __iter__(self) -> Iterator[Record]:
        return (self[at] for at in range(len(self)))


class Examples(Sequence[Any]):
    """Records as examples, made when asked for."""

    def __init__(self, records: Records, inputs: Sequence[str]) -> None:
        self.records, self.inputs = records, inputs

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return Examples(self.records[at], self.inputs)
        import dspy

        return dspy.Example(**self.records[at]).with_inputs(*self.inputs)


def streams(path: str | Path) -> bool:
    """Whether a file is so large that its records stay in it."""
    return os.path.isfile(path) and os.path.getsize(path) >= LARGE  # a name that no file can have is none

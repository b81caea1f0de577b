"""Records that stay in their file: a large file of JSON Lines, checked once, read again when they are asked for.

Only the place of each record, its split and a hash of its id are kept, 17 bytes a record.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from goldassay import files
from goldassay import jsonl as strict
from goldassay.exceptions import DataError
from goldassay.gold.formats import jsonl, run
from goldassay.gold.formats.jsonl import by_line
from goldassay.gold.records import SPANS, Side, once, prove

if TYPE_CHECKING:
    import dspy

    from goldassay.statistics.evidence import Ints

LARGE = 32_000_000  # bytes of a file from which its records are streamed
SPLITS = 127  # names of splits that a byte tells apart
BLOCK = 1000  # records that are read at once

RecordDict = dict[str, Any]


class Records(Sequence[RecordDict]):
    """The records of a file, each checked when it is made; ids are proved to be unique without keeping them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "gold.jsonl")
    ...     _ = file.write_text('{"id": "a", "label": "M", "split": "dev"}\\n{"id": "b", "label": "L"}\\n')
    ...     found = Records(file, "classification")
    ...     len(found), found[1]["label"], [record["id"] for record in found.of("dev")]
    (2, 'L', ['a'])
    """

    def __init__(self, path: Path, task: str, side: Side = "gold") -> None:
        import numpy as np  # small gold is read without it

        self.path, self.task = path, task
        self.side: Side = side
        self.places, splits, names, ids = array("q"), array("b"), dict[Any, int](), array("q")
        for number, place, block in files.blocks(path):
            for record in self._checked(block, number, place):
                ids.append(hash(record["id"]))
                splits.append(names.setdefault(record.get("split") or None, min(len(names), SPLITS)))
            for line in block.split(b"\n"):
                if line.strip():
                    self.places.append(place)
                place += len(line) + 1
        if not ids:
            raise DataError("the file is empty", file=path)
        self.names, self.hashes = list(names), np.frombuffer(ids, np.int64)
        self._splits = np.frombuffer(splits, np.int8)
        self.order = np.arange(len(self.places))
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.places.append(os.fstat(self._file).st_size)
        if len(np.unique(self.hashes)) < len(ids):
            once(self, path)

    def _checked(self, block: bytes, number: int, place: int) -> list[RecordDict]:
        found = jsonl.rows(block, self.task, self.side)
        return list(by_line(block, self.path, number, place, self.task, self.side)) if found is None else found

    @property
    def splits(self) -> list[str]:
        """The names of the splits that there are."""
        return [name for name in self.names if name]

    def of(self, split: str) -> Records:
        """The records of a split."""
        return self._some(self.order[self._splits[self.order] == self.names.index(split)])

    def among(self, hashes: Ints) -> Records:
        """The records whose ids have one of these hashes."""
        import numpy as np

        return self._some(self.order[np.isin(self.hashes[self.order], hashes)])

    def _some(self, order: Any) -> Records:
        found = copy(self)
        found.order = order
        return found

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, at: int) -> RecordDict: ...
    @overload
    def __getitem__(self, at: slice) -> Records: ...
    def __getitem__(self, at: int | slice) -> RecordDict | Records:
        if isinstance(at, slice):
            return self._some(self.order[at])
        return self.read(self.order[at : at + 1 or None])[0]

    def __iter__(self) -> Iterator[RecordDict]:
        for at in range(0, len(self), BLOCK):
            yield from self.read(self.order[at : at + BLOCK])

    def read(self, some: Ints) -> list[RecordDict]:
        """The records with these numbers; those that stand together are read together."""
        first, last = int(some[0]), int(some[-1])
        together = last - first == len(some) - 1 and (some[1:] > some[:-1]).all()
        parts = [(first, last + 1)] if together else [(one, one + 1) for one in some.tolist()]
        raw = b"\n".join(self._bytes(*part) for part in parts)
        with files.uncollected():
            return self._checked(raw, first + 1, self.places[first])

    def _bytes(self, first: int, last: int) -> bytes:
        start = self.places[first]
        return os.pread(self._file, self.places[last] - start, start)


class RunRows(Records):
    """The predictions of a run's rows, one for each example that did not fail, or the gold that stands beside them.

    Of an example that was tried again the last row counts. ``asked`` are the hashes of the ids of all its examples.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     row, failed = '{"id": "%s", "prediction": {"label": "%s"}}\\n', '{"id": "b", "error": "x"}\\n'
    ...     file = Path(folder, "rows.jsonl")
    ...     _ = file.write_text(row % ("a", "M") + failed + row % ("a", "L"))
    ...     found = RunRows(file, "classification")
    ...     [record["label"] for record in found], len(found.asked)
    (['L'], 2)
    """

    def __init__(self, path: Path, task: str, side: Side = "pred") -> None:
        import numpy as np

        self.path, self.task, self.side = path, task, side
        starts, ends, ids, asked = array("q"), array("q"), array("q"), array("q")
        for number, place, block in files.blocks(path):
            files.decoded(block, path, number, place)  # what is no UTF-8 is said by its line
            for line in block.split(b"\n"):
                row = strict.value(line, file=path, line=number, unique=True) if line.strip() else None
                if isinstance(row, dict) and "id" in row:
                    asked.append(hash(str(row["id"])))
                    if run.record(row, task, side, path, number) is not None:
                        starts.append(place)
                        ends.append(place + len(line))
                        ids.append(asked[-1])
                number, place = number + 1, place + len(line) + 1
        if not ids:
            raise DataError(run.NONE, file=path)
        hashes = np.frombuffer(ids, np.int64)
        first, last = (np.unique(some, return_index=True)[1] for some in (hashes, hashes[::-1]))
        kept = (len(hashes) - 1 - last)[np.argsort(first)]
        self.hashes, self.order, self.asked = hashes[kept], np.arange(len(kept)), np.unique(asked)
        self._starts, self._ends = np.frombuffer(starts, np.int64)[kept], np.frombuffer(ends, np.int64)[kept]
        self.names, self._splits = [None], np.zeros(len(kept), np.int8)
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def _record(self, line: bytes) -> RecordDict | None:
        return run.record(strict.value(line, file=self.path, unique=False), self.task, self.side, self.path)

    def read(self, some: Ints) -> list[RecordDict]:
        """The records with these numbers."""
        starts, sizes = self._starts[some], self._ends[some] - self._starts[some]
        with files.uncollected():
            lines = (os.pread(self._file, *one) for one in zip(sizes.tolist(), starts.tolist(), strict=True))
            return [made for line in lines if (made := self._record(line)) is not None]


class Answers(Sequence[RecordDict]):
    """The predictions of a file in the order of gold's records; an empty one where there is none.

    Spans are proved against gold's text whenever they are read.
    """

    def __init__(self, gold: Records, pred: Records, empty: Callable[[], Mapping[str, Any]]) -> None:
        import numpy as np

        self.gold, self.pred, self.empty = gold, pred, empty
        wanted, by_hash = gold.hashes[gold.order], np.argsort(pred.hashes, kind="stable")
        place = np.searchsorted(pred.hashes[by_hash], wanted)
        nearest = by_hash[np.minimum(place, len(by_hash) - 1)]
        self.order = np.where(pred.hashes[nearest] == wanted, nearest, -1)
        self._field = SPANS.get(gold.task)

    @property
    def unknown(self) -> Iterator[RecordDict]:
        """The predictions for records that gold does not have."""
        import numpy as np

        return (self.pred[int(at)] for at in np.setdiff1d(np.arange(len(self.pred)), self.order))

    @property
    def missing(self) -> list[int]:
        """Which gold records have no prediction."""
        found: list[int] = (self.order < 0).nonzero()[0].tolist()
        return found

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, at: int) -> RecordDict: ...
    @overload
    def __getitem__(self, at: slice) -> Answers: ...
    def __getitem__(self, at: int | slice) -> RecordDict | Answers:
        some = copy(self)
        some.gold, some.order = self.gold[at if isinstance(at, slice) else slice(at, at + 1 or None)], self.order[at]
        if isinstance(at, slice):
            return some
        some.order = self.order[at : at + 1 or None]
        return next(iter(some))

    def __iter__(self) -> Iterator[RecordDict]:
        for at in range(0, len(self), BLOCK):
            some = self.order[at : at + BLOCK]
            there = some[some >= 0]
            found = iter(self.pred.read(there)) if len(there) else iter(())
            gold = self.gold[at : at + BLOCK] if self._field or len(there) < len(some) else ()
            yield from self._placed(some, found, gold)

    def _placed(self, order: Any, found: Iterator[RecordDict], gold: Sequence[RecordDict]) -> Iterator[RecordDict]:
        if not len(gold):
            yield from found
            return
        for index, record in zip(order.tolist(), gold, strict=True):
            answer = next(found) if index >= 0 else {"id": record["id"], **self.empty()}
            if self._field and index >= 0:
                try:
                    prove(record["text"], answer[self._field], self._field, record["id"])
                except DataError as error:
                    raise error.at(file=self.pred.path) from None
            yield answer


class StreamedExamples(Sequence["dspy.Example"]):
    """Records as examples, made when asked for."""

    def __init__(self, records: Records, inputs: Sequence[str]) -> None:
        self.records, self.inputs = records, inputs

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return StreamedExamples(self.records[at], self.inputs)
        import dspy

        return dspy.Example(**self.records[at]).with_inputs(*self.inputs)


def streams(path: str | Path) -> bool:
    """Whether a file is so large that its records stay in it."""
    return os.path.isfile(path) and os.path.getsize(path) >= LARGE  # a name that no file can have is none

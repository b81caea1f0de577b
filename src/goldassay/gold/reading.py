"""``read``, ``write`` and ``convert`` files: one validated path from every format to records.

The reader of a format maps the file to plain dicts (`formats.Source`), pydantic validates them, spans are proved
against the text, and ids are used once. Records of large JSON Lines files are validated once and then read again, some
at a time, whenever they are needed: tallies add up, so that a scorecard folds them in chunks
(`goldassay.scorecard.Batches.chunks`), and what stays in memory is the id and the byte offset of each record.
"""

from __future__ import annotations

import logging
import os
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from goldassay import jsonl, workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import Record, check_unique
from goldassay.files import Faults
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import ReadOptions, Row, Source, tables
from goldassay.gold.formats.jsonl import rows_of
from goldassay.gold.records import SAMPLING, SPANS, check, empty_prediction, is_labelled, problems, prove
from goldassay.gold.shapes import Fields, Side
from goldassay.measure import TASKS

TOKENISED = ("hipe", "iob2", "conll")
LARGE = 32_000_000  # bytes of a file from which its records stay in it
MISSING = -1  # the offset of a record that the file does not have


def source_of(
    path: Any,
    task: str,
    side: Side = "gold",
    format: str | None = None,
    *,
    faults: Faults | None = None,
    audit: bool = False,
    drafts: bool = False,
    **options: Unpack[ReadOptions],
) -> Source:
    """What to read and how; raises for a task, a format or an option that does not exist.

    Args:
        path: The file, or the records themselves (`goldassay.gold.anyfields.objects`).
        task: The task.
        side: ``gold`` or ``pred``.
        format: The format; guessed if not given.
        faults: What happens to faults; by default the first one is raised.
        audit: Whether all faults are wanted, and offsets are left to the audit.
        drafts: Whether records of a draft that have no gold are read, too.
        options: How the format is read.
    """
    workspace.known(task)
    paths = anyfields.mapping(options.pop("map", None))
    chosen: Fields = {name: value for name, value in options.items() if value is not None}
    name = format or ""
    allowed: set[str] = set()
    if not is_file(path):
        allowed = {*chosen, "data"}  # they say how the file of the other side is read
        chosen["data"] = path
        path = "gold" if side == "gold" else "predictions"
        name = "data"
    elif tables.is_dataset(path):
        name = "dataset"
    elif paths or (task not in TASKS and format != "run"):
        suffix = Path(path).suffix.lower().lstrip(".")
        name = name or {"": "jsonl", "ndjson": "jsonl"}.get(suffix, suffix)
    else:
        name = name or formats.guess(path, task)
        allowed = set(formats.named(name).options) - ({"adjacent"} if task != "linking" else set())
    if wrong := next((option for option in chosen if option not in allowed), None):
        there = ", ".join(sorted(allowed)) or "none"
        form = "a table with `map`" if paths else f"format {name}"
        raise GoldassayError(f"{form} has no option {wrong!r} for reading {task}; there are {there}")
    if paths:
        chosen["map"] = paths
    return Source(Path(path), task, name, side, chosen, faults or Faults(), audit, drafts)


def is_file(place: object) -> bool:
    """Whether this names a file, and is not the records themselves."""
    return isinstance(place, (str, os.PathLike))


def rows(source: Source) -> Iterator[Row]:
    """The validated records of a file with their places."""
    own = source.task not in TASKS and source.format != "run"
    if own or source.format in ("data", "dataset") or "map" in source.options:
        return checked(source, tables.rows(source))
    return checked(source, formats.named(source.format, source.task).rows(source))


def checked(source: Source, unchecked: Iterable[Row]) -> Iterator[Row]:
    """Rows validated against their task's shape; in an audit all that is wrong is reported, and spans are left alone.

    Records of your own task may have any fields. Records of a draft without gold are left out, unless these are wanted.

    Raises:
        DataError: There are no records of gold.
    """
    labelled = 0
    spans = SPANS.get(source.task)
    for row in unchecked:
        if source.side == "gold" and not is_labelled(row.record, source.task):
            source.unlabelled += 1
            if source.drafts:
                with source.checking(line=row.line):
                    yield row._replace(record={**row.record, "id": str(row.record["id"])})
            continue
        labelled += 1
        place: Fields = {"file": row.file or source.path, "line": row.line}
        record = problems(row.record, source.task, source.side) if source.task in TASKS else row.record
        if isinstance(record, list):
            for error in record if source.audit else record[:1]:
                source.faults.report(error.at(**place), "schema")
            continue
        if source.side == "gold" and record.get(SAMPLING) is not None:
            from goldassay.statistics.design import sampling_of  # loads numpy, which other records do without

            with source.checking("schema", **place):
                sampling_of(record[SAMPLING], record["id"])
        with source.checking("offset", **place):
            if spans and "text" in record and not source.audit:
                prove(record["text"], record[spans], spans, record["id"])
            yield row._replace(record=record)
    if source.drafts and source.unlabelled:
        return
    if not labelled and source.side == "gold" and not source.faults.errors:
        what = (
            f"none of its {source.unlabelled} records is labelled yet" if source.unlabelled else "there are no records"
        )
        raise DataError(what, file=source.path)
    if source.unlabelled:
        which = f"{source.unlabelled} of the {source.unlabelled + labelled} records of {source.path}"
        source.warnings.append(f"{which} are not labelled yet and are left out")


def records_of(source: Source) -> Sequence[Fields]:
    """The records of a source; those of a large file stay in it."""
    place = rows_of(source.path)
    streamable = source.format in ("jsonl", "run") and not (source.options or source.faults.limit or source.drafts)
    if streamable and place.is_file() and place.stat().st_size >= LARGE:
        stored = RecordFile.of(source)
        return list(stored) if stored.sampled else stored
    records = [row.record for row in rows(source)]
    if source.format == "run":  # the last row of an example counts
        records = list({record["id"]: record for record in records}.values())
    check_unique(records, source.path)
    return records


def reported_records(source: Source) -> Sequence[Fields]:
    """The records of a source; what is left out of them is logged."""
    records = records_of(source)
    for warning in source.warnings:
        logging.getLogger("goldassay").warning("%s", warning)
    return records


@dataclass(frozen=True)
class RecordFile(Sequence[Any]):
    """The records of a large file, each validated when it is read.

    ``offsets`` are those of their lines, ``splits_of`` their splits, and ``transform`` is called with each. ``sampled``
    says whether any has a ``sampling``, which only records in memory are weighed by.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Source(Path(folder, "gold.jsonl"), "classification", "jsonl")
    ...     _ = source.path.write_text('{"id": "a", "label": "M", "split": "dev"}\\n{"id": "b", "label": "L"}\\n')
    ...     records = RecordFile.of(source)
    ...     len(records), records[1]["label"], [record["id"] for record in records[:1]]
    (2, 'L', ['a'])
    """

    source: Source
    ids: Sequence[str]
    offsets: Sequence[int]
    splits_of: Sequence[str | None]
    transform: Callable[[Fields], Any] | None = None
    sampled: bool = False

    @classmethod
    def of(cls, source: Source) -> RecordFile:
        """The places of the records, once all of them are validated.

        Raises:
            DataError: Two records have one id.
        """
        index: dict[str, tuple[int, str | None]] = {}
        sampled = False
        for row in rows(source):
            sampled = sampled or SAMPLING in row.record
            name = row.record["id"]
            split = row.record.get("split")
            if name in index and source.format != "run":  # of a run the last row of an example counts
                raise DataError("duplicate document id; each record needs its own", file=source.path, record=name)
            index[name] = row.offset, sys.intern(split) if split else None
        offsets = array("q", (offset for offset, _ in index.values()))
        return cls(source, list(index), offsets, [split for _, split in index.values()], sampled=sampled)

    def select(self, places: Iterable[int]) -> RecordFile:
        """The records at these places."""
        chosen = list(places)
        ids = [self.ids[place] for place in chosen]
        splits = [self.splits_of[place] for place in chosen]
        return replace(self, ids=ids, offsets=array("q", (self.offsets[place] for place in chosen)), splits_of=splits)

    def ordered(self, ids: Sequence[str]) -> RecordFile:
        """The predictions with these ids in this order; one that the file does not have is empty."""
        offset_of = dict(zip(self.ids, self.offsets, strict=True))
        offsets = array("q", (offset_of.get(name, MISSING) for name in ids))
        return replace(self, ids=ids, offsets=offsets, splits_of=[None] * len(ids))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self.select(range(*place.indices(len(self))))
        return next(iter(self.select([place])))

    def __iter__(self) -> Iterator[Any]:
        task = self.source.task
        side = self.source.side
        file = self.source.path
        record_of: Any = formats.named(self.source.format).record_of
        stored = jsonl.rows_at(rows_of(file), (offset for offset in self.offsets if offset != MISSING))
        for name, offset in zip(self.ids, self.offsets, strict=True):
            if offset == MISSING:
                yield empty_prediction(name, task)
                continue
            record = record_of(next(stored), self.source)
            record = record if self.source.format == "run" else check(record, task, side)  # of a run it is checked
            yield self.transform(record) if self.transform else record


def select(records: Sequence[Any], places: Iterable[int]) -> Sequence[Any]:
    """The records at these places."""
    return records.select(places) if isinstance(records, RecordFile) else [records[place] for place in places]


def splits_of(records: Sequence[Any]) -> Sequence[str | None]:
    """The split of each record."""
    return records.splits_of if isinstance(records, RecordFile) else [record.get("split") for record in records]


def mapped(records: Sequence[Any], transform: Callable[[Any], Any]) -> Sequence[Any]:
    """Each record transformed; those of a large file when they are read."""
    if isinstance(records, RecordFile):
        return replace(records, transform=transform)
    return list(map(transform, records))


def read(
    path: Any,
    *,
    format: str | None = None,
    task: str,
    side: Side = "gold",
    faults: Faults | None = None,
    **options: Unpack[ReadOptions],
) -> list[Fields]:
    """The records of a file.

    Your own task has records with any fields; ``map`` renames the fields of a foreign file (`anyfields`).

    Args:
        path: The file, or the records themselves.
        format: The format; guessed from the file's name and beginning if not given.
        task: The task.
        side: ``gold`` or ``pred``.
        faults: How many faults may be passed over; by default the first one is raised.
        options: How the format is read (`goldassay.gold.formats.ReadOptions`).
    """
    return list(reported_records(source_of(path, task, side, format, faults=faults, **options)))


def write(
    path: str | Path,
    records: Iterable[Record],
    *,
    format: str | None = None,
    task: str,
    side: Side = "gold",
) -> None:
    """Write records; the format is that of the file's name if none is given.

    Args:
        path: The file.
        records: The records.
        format: The format.
        task: The task.
        side: ``gold`` or ``pred``.

    Raises:
        DataError: A span has no offsets, which the format needs.
        GoldassayError: The format is not written for the task.
    """
    name = format or formats.by_name(path)
    several = list(records)
    spans = SPANS.get(task, "")
    for record in several if name != "jsonl" and spans else ():
        for index, span in enumerate(record.get(spans) or ()):  # a draft has none yet
            if span["start"] is None:
                message = f"{span.get('text')!r} has no offsets, and {name} holds only what is in the text; write jsonl"
                raise DataError(message, record=record["id"], field=f"{spans}[{index}]")
    form = formats.named(name, task)
    if form.write is None or (task in TASKS and task not in (form.written or form.tasks)):
        raise GoldassayError(f"format {name} is not written for {task}; write jsonl")
    form.write(path, several, task, side)


class Conversion(NamedTuple):
    """How many records were converted, and for each field in how many of them it differs in the new file."""

    records: int
    lost: dict[str, int]

    def __str__(self) -> str:
        fields = ", ".join(f"{name} ({count})" for name, count in self.lost.items())
        same = f"; not the same in the new file: {fields}" if fields else ", read back the same"
        return f"{self.records} records{same}"


def convert(
    source: str | Path,
    target: str | Path,
    *,
    task: str,
    side: Side = "gold",
    source_format: str | None = None,
    target_format: str | None = None,
    **options: Any,
) -> Conversion:
    """Read ``source``, write ``target``, read that back, and report the fields that differ, but for ``tokens``.

    Args:
        source: The file to read.
        target: The file to write.
        task: The task.
        side: ``gold`` or ``pred``.
        source_format: The format of ``source``; guessed if not given.
        target_format: The format of ``target``.
        options: How ``source`` is read (`goldassay.gold.formats.ReadOptions`).

    Raises:
        GoldassayError: The target is the source.
    """
    if Path(source).resolve() == Path(target).resolve():
        raise GoldassayError(f"{target} is the file to read; name another one to write")
    before = source_of(source, task, side, source_format, **options)
    if before.format in TOKENISED and side == "gold":
        before.options = {**before.options, "tokens": True}
    new = target_format or ("hipe" if Path(target).suffix == ".tsv" and task in SPANS else formats.by_name(target))
    records = records_of(before)
    write(target, records, format=new, task=task, side=side)
    changed: Counter[str] = Counter()
    by_id = {record["id"]: record for record in read(target, format=new, task=task, side=side)}
    for record in records:
        other = by_id.get(record["id"], {})
        for key in {*record, *other} - {"tokens"}:
            changed[key] += record.get(key) != other.get(key) and bool(record.get(key) or other.get(key))
    return Conversion(len(records), {key: count for key, count in sorted(changed.items()) if count})

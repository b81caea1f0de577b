"""``read`` and ``write`` a file.

One path for every format: its reader maps the file to plain dicts (`formats.Source`), pydantic validates them, spans
are proved against the text, and ids are used once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique
from goldassay.files import Faults
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import ReadOptions, Row, Source, tables
from goldassay.gold.large import RecordFile, is_large
from goldassay.gold.records import SPANS, problems, prove
from goldassay.gold.shapes import Side
from goldassay.measure import TASKS

TOKENISED = ("hipe", "iob2", "conll")


def source_of(
    path: Any,
    task: str,
    side: Side = "gold",
    format: str | None = None,
    *,
    faults: Faults | None = None,
    audit: bool = False,
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
        options: How the format is read.
    """
    workspace.known(task)
    paths = anyfields.mapping(options.pop("map", None))
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    name = format or ""
    if not is_file(path):
        chosen["data"], path, name = path, "gold" if side == "gold" else "predictions", "data"
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
            raise GoldassayError(f"format {name} has no option {wrong!r} for reading {task}; there are {there}")
    if paths:
        chosen["map"] = paths
    return Source(Path(path), task, name, side, chosen, faults or Faults(), audit)


def is_file(place: object) -> bool:
    """Whether this names a file, and is not the records themselves."""
    return isinstance(place, (str, PathLike))


def rows(source: Source) -> Iterator[Row]:
    """The validated records of a file with their places."""
    own = source.task not in TASKS and source.format != "run"
    if own or source.format in ("data", "dataset") or "map" in source.options:
        return checked(source, tables.rows(source))
    return checked(source, formats.named(source.format, source.task).rows(source))


def checked(source: Source, unchecked: Iterable[Row]) -> Iterator[Row]:
    """Rows validated against their task's shape; in an audit all that is wrong is reported, and spans are left alone.

    Records of your own task may have any fields.
    """
    empty, spans = True, SPANS.get(source.task)
    for row in unchecked:
        empty = False
        place: dict[str, Any] = {"file": row.file or source.path, "line": row.line}
        record = problems(row.record, source.task, source.side) if source.task in TASKS else row.record
        if isinstance(record, list):
            for error in record if source.audit else record[:1]:
                source.faults.report(error.at(**place), "schema")
            continue
        with source.checking("offset", **place):
            if spans and "text" in record and not source.audit:
                prove(record["text"], record[spans], spans, record["id"])
            yield row._replace(record=record)
    if empty and source.side == "gold" and not source.faults.errors:
        raise DataError("there are no records", file=source.path)


def records_of(source: Source) -> Sequence[dict[str, Any]]:
    """The records of a source; those of a large file stay in it."""
    if is_large(source):
        return RecordFile.of(source, rows(source))
    records = [row.record for row in rows(source)]
    if source.format == "run":  # the last row of an example counts
        records = list({record["id"]: record for record in records}.values())
    check_unique(records, source.path)
    return records


def mapped(records: Sequence[Any], transform: Callable[[Any], Any]) -> Sequence[Any]:
    """Each record transformed; those of a large file when they are read."""
    return records.mapped(transform) if isinstance(records, RecordFile) else list(map(transform, records))


def read(
    path: Any,
    *,
    format: str | None = None,
    task: str,
    side: Side = "gold",
    faults: Faults | None = None,
    **options: Unpack[ReadOptions],
) -> list[dict[str, Any]]:
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
    return list(records_of(source_of(path, task, side, format, faults=faults, **options)))


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
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
    """
    name = format or formats.by_name(path)
    several = list(records)
    spans = SPANS.get(task, "")
    for record in several if name != "jsonl" and spans else ():
        for index, span in enumerate(record[spans]):
            if span["start"] is None:
                message = f"{span.get('text')!r} has no offsets, and {name} holds only what is in the text; write jsonl"
                raise DataError(message, record=record["id"], field=f"{spans}[{index}]")
    form = formats.named(name, task)
    if form.write is None or (task in TASKS and task not in (form.written or form.tasks)):
        raise GoldassayError(f"format {name} is not written for {task}; write jsonl")
    form.write(path, several, task, side)

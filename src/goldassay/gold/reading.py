"""``read``, ``write`` and ``convert`` files: one validated path from every format to records.

The reader of a format maps the file to plain dicts (`formats.Source`), pydantic validates them, spans are proved
against the text, and ids are used once.

What is read is in memory: a million labels with their predictions (two files, 135 MB) take 1.0 GB, against 0.5 GB if
only their ids and offsets are kept, as an earlier version did, which scored half as fast. Evidence is computed some
thousands of examples at a time (`goldassay.results.result.Batches.chunks`).
"""

from __future__ import annotations

import difflib
import logging
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from goldassay._support import workspace
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.files import Faults
from goldassay.core.fields import Fields, JsonObject, Record, check_unique, identity
from goldassay.core.measure import TASKS
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import ReadOptions, Source, SourceRecord, tables
from goldassay.gold.records import SAMPLING, SPANS, is_labelled, problems, prove
from goldassay.gold.shapes import Side

if TYPE_CHECKING:
    from goldassay.statistics.design import Design

NO_LABEL = (None, "")
TOKENISED = ("hipe", "iob2", "conll")


def labels_by_annotator(row: Mapping[str, object]) -> Fields:
    """Each annotator's label; those without one are left out.

    >>> labels_by_annotator({"label_ann": "yes", "label_bob": ""}), labels_by_annotator({"label": None})
    ({'ann': 'yes'}, {})
    >>> labels_by_annotator({"labels": ["yes", "no"]})
    {'annotator 1': 'yes', 'annotator 2': 'no'}
    """
    labels = row.get("labels")
    if isinstance(labels, list):
        labels = {f"annotator {number}": label for number, label in enumerate(labels, start=1)}
    elif not isinstance(labels, Mapping):
        labels = {str(key)[6:]: label for key, label in row.items() if str(key).startswith("label_")}
        labels = labels or {"label": row.get("label")}
    return {str(name): label for name, label in labels.items() if label not in NO_LABEL}


def source_of(
    path: object,
    task: str,
    side: Side = "gold",
    format: str | None = None,
    *,
    faults: Faults | None = None,
    audit: bool = False,
    drafts: bool = False,
    **options: Unpack[ReadOptions],
) -> Source:
    """The file to read and the way to read it; raises for a task, a format or an option that does not exist.

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
    close = [] if task in TASKS else difflib.get_close_matches(task, TASKS, n=1, cutoff=0.8)
    if close and task not in workspace.FILE_TASKS and not (workspace.root() / "programs" / f"{task}.py").is_file():
        raise GoldassayError(f"no task {task!r}; did you mean {close[0]!r}?")
    paths = anyfields.mapping(options.pop("map", None))
    if paths:  # gold.NAME and pred.NAME are of one side alone
        other = "pred." if side == "gold" else "gold."
        paths = {name.removeprefix(f"{side}."): path for name, path in paths.items() if not name.startswith(other)}
    is_json = side == "gold" and not format and formats.is_file(path) and Path(path).suffix == ".json"
    if paths and is_json and formats.guess(path, task) == "squad":
        paths = None  # its fields have names of their own, so the mapping is of the predictions
    chosen = {name: value for name, value in options.items() if value is not None}
    name = format or ""
    allowed: set[str] = set()
    if not formats.is_file(path):
        allowed = {*chosen, "data"}  # they say how the file of the other side is read
        chosen["data"] = path
        path = "gold" if side == "gold" else "predictions"
        name = "data"
    elif tables.is_dataset(path):
        name = "dataset"
    elif (paths or task not in TASKS) and not format and (name := formats.recognised(Path(path), task)):
        pass
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
    if paths and not (name in formats.names() and formats.named(name).recognises):  # whose fields have their own names
        chosen["map"] = paths
    return Source(Path(path), task, name, side, chosen, faults or Faults(), audit, drafts)


def rows(source: Source) -> Iterator[SourceRecord]:
    """The validated records of a file with their places."""
    is_own_task = source.task not in TASKS and source.format not in ("run", "review")
    is_mapped = "map" in source.options and source.format != "run"
    if is_own_task or source.format in ("data", "dataset") or is_mapped:
        return checked(source, tables.rows(source))
    return checked(source, formats.named(source.format, source.task).rows(source))


def checked(source: Source, unchecked: Iterable[SourceRecord]) -> Iterator[SourceRecord]:
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
        location = {"file": row.file or source.path, "line": row.line}
        record = problems(row.record, source.task, source.side)
        if isinstance(record, list):
            for error in record if source.audit else record[:1]:
                source.faults.report(error.at(**location), "schema")
            continue
        if source.side == "gold" and record.get(SAMPLING) is not None:
            from goldassay.statistics.design import sampling_of  # loads numpy, which other records do without

            with source.checking("schema", **location):
                sampling_of(record[SAMPLING], record["id"])
        if spans and "text" in record and not source.audit and (source.side, source.format) != ("pred", "run"):
            try:
                prove(record["text"], record[spans], spans, record["id"])
            except DataError as error:
                source.faults.report(error.at(**location), "offset")
                continue
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


class Records(list[Fields]):
    """Gold or predictions of a task, as plain dicts, and what is known about all of them.

    Args:
        records: The records, validated.
        source: What they were read from.
        format: The format that was asked for; the reader may have seen another one in the file (``source.format``).
        lines: The line of each record, if they were read from lines.

    >>> records = read([{"id": 7, "label": "M", "split": "dev"}, {"id": 8, "label": "L"}], "classification")
    >>> records.ids, records.splits, records.of_split("dev").ids
    (['7', '8'], ['dev', None], ['7'])
    """

    def __init__(
        self, records: Iterable[JsonObject], source: Source, *, format: str = "", lines: Sequence[int | None] = ()
    ) -> None:
        super().__init__(records)
        self.source = source
        self.format = format or source.format
        self.lines = lines

    @classmethod
    def of(cls, source: Source, *, unique: bool = True) -> Records:
        """All records of a source.

        Raises:
            DataError: One cannot be read, or two have one id, unless they need not be ``unique``.
        """
        form = source.format  # the reader may see another one in the file
        parsed = list(rows(source))
        if form == "run":  # the last row of an example counts
            return cls({row.record["id"]: row.record for row in parsed}.values(), source, format=form)
        records = cls((row.record for row in parsed), source, format=form, lines=[row.line for row in parsed])
        if unique:
            check_unique(records, source.path)
        return records

    @property
    def file(self) -> Path | None:
        """The file or folder that they were read from; None of records in Python."""
        return None if self.format == "data" else self.source.path

    @property
    def warnings(self) -> list[str]:
        """Warnings about what was left out or read in an unusual way."""
        return self.source.warnings

    @property
    def ids(self) -> list[str]:
        """The id of each record."""
        return [identity(record, index) for index, record in enumerate(self)]

    @property
    def documents(self) -> list[str | None]:
        """The document that each record is a part of."""
        return [record.get("document") for record in self]

    @property
    def splits(self) -> list[str | None]:
        """The split of each record."""
        return [record.get("split") for record in self]

    @property
    def design(self) -> Design:
        """How gold was chosen to be labelled."""
        from goldassay.statistics.design import Design  # loads numpy, which records are read without

        return Design.of(self, self.source.path)

    def select(self, ids: Container[str]) -> Records:
        """The records with these ids."""
        records = (record for name, record in zip(self.ids, self, strict=True) if name in ids)
        return Records(records, self.source, format=self.format)

    def of_split(self, name: str) -> Records:
        """The records of a split.

        Raises:
            DataError: There are none.
        """
        records = [record for record in self if record.get("split") == name]
        if not records:
            names = ", ".join(filter(None, dict.fromkeys(self.splits))) or "none"
            raise DataError(f"no gold of the split {name!r}; there are {names}", file=self.source.path)
        return Records(records, self.source, format=self.format)


def read(
    place: object,
    task: str,
    side: Side = "gold",
    *,
    format: str | None = None,
    faults: Faults | None = None,
    drafts: bool = False,
    unique: bool = True,
    **options: Unpack[ReadOptions],
) -> Records:
    """The records of a file, a run folder, a data set, a list or a data frame; what is left out is logged.

    Your own task has records with any fields; ``map`` renames the fields of a foreign file (`anyfields`).

    Args:
        place: The file, or the records themselves (`goldassay.gold.anyfields.objects`).
        task: The task.
        side: ``gold`` or ``pred``.
        format: The format; guessed from the file's name and beginning if not given.
        faults: How many faults may be passed over; by default the first one is raised.
        drafts: Whether records of a draft that have no gold are read, too.
        unique: Whether two records with one id are an error.
        options: How the format is read (`goldassay.gold.formats.ReadOptions`).

    Raises:
        DataError: A record cannot be read.
        GoldassayError: There is no such task, format or option.
    """
    records = Records.of(source_of(place, task, side, format, faults=faults, drafts=drafts, **options), unique=unique)
    for warning in records.warnings:
        logging.getLogger("goldassay").warning("%s", warning)
    return records


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
    listed = list(records)
    spans = SPANS.get(task, "")
    for record in listed if name != "jsonl" and spans else ():
        for index, span in enumerate(record.get(spans) or ()):  # a draft has none yet
            if span["start"] is None:
                message = f"{span.get('text')!r} has no offsets, and {name} holds only what is in the text; write jsonl"
                raise DataError(message, record=record["id"], field=f"{spans}[{index}]")
    form = formats.named(name, task)
    if form.write is None or (task in TASKS and task not in (form.written or form.tasks)):
        raise GoldassayError(f"format {name} is not written for {task}; write jsonl")
    form.write(path, listed, task, side)


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
    records = Records.of(before)
    write(target, records, format=new, task=task, side=side)
    changed: Counter[str] = Counter()
    by_id = {record["id"]: record for record in read(target, format=new, task=task, side=side)}
    for record in records:
        other = by_id.get(record["id"], {})
        for key in {*record, *other} - {"tokens"}:
            changed[key] += record.get(key) != other.get(key) and bool(record.get(key) or other.get(key))
    return Conversion(len(records), {key: count for key, count in sorted(changed.items()) if count})

"""``read`` a file, and bring gold and predictions together as ``pairs``.

One path for every format: its module maps the file to plain dicts (`formats.Source`), pydantic validates them, spans
are proved against the text, and ids are used once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique, identity
from goldassay.files import Faults
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import ReadOptions, Row, Source, run
from goldassay.gold.large import RecordFile, is_large
from goldassay.gold.records import (
    SPANS,
    as_prediction,
    empty_prediction,
    problems,
    prove,
)
from goldassay.gold.shapes import Side
from goldassay.measure import TASKS

NAMED = 3  # records that a warning names
TOKENISED = ("hipe", "iob2", "conll")
PAIRED = (*TOKENISED, "musique")  # formats whose two files are read together
OFFICIALLY_IGNORED = {"trec": "queries", "text2kgbench": "outputs", "carb": "sentences"}
OFFICIALLY_IGNORED |= dict.fromkeys(("squad", *formats.QUESTIONS), "answers")
"""Formats whose official scorer ignores predictions that gold does not have, and what it calls them."""
OFFICIALLY_WRONG = {"neleval": "links", "docred": "triples"}
"""Formats whose official scorer counts them as wrong, and the field of theirs."""


@dataclass(slots=True)
class Pairs:
    """Gold records and their predictions, in gold's order, and warnings about them."""

    gold: Sequence[dict[str, Any]]
    pred: Sequence[dict[str, Any]]
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.gold)


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
    renamed = anyfields.mapping(options.pop("map", None))
    set_options: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    own = task not in TASKS and format != "run"
    if not is_file(path):
        set_options["data"], path = path, "gold" if side == "gold" else "predictions"
        renamed = renamed or {}
    if renamed is not None or own or anyfields.reads(path, task, format):
        return Source(Path(path), task, format or "", side, {**set_options, "map": renamed}, faults or Faults(), audit)
    name = format or formats.guess(path, task)
    allowed = set(formats.module(name).OPTIONS) - ({"adjacent"} if task != "linking" else set())
    for option in set_options:
        if option not in allowed:
            there = ", ".join(sorted(allowed)) or "none"
            raise GoldassayError(f"format {name} has no option {option!r} for reading {task}; there are {there}")
    return Source(Path(path), task, name, side, set_options, faults or Faults(), audit)


def is_file(place: object) -> bool:
    """Whether this names a file, and is not the records themselves."""
    return isinstance(place, (str, PathLike))


def rows(source: Source) -> Iterator[Row]:
    """The validated records of a file with their places."""
    if "map" in source.options:
        return checked(source, anyfields.records(source))
    return checked(source, formats.check_holds(source.format, source.task).rows(source))


def checked(source: Source, unchecked: Iterable[Row]) -> Iterator[Row]:
    """Rows validated against their task's shape; in an audit all that is wrong is reported, and spans are left alone.

    Records of your own task may have any fields.
    """
    empty = True
    for row in unchecked:
        empty = False
        record = row.record
        if source.task in TASKS:
            record = problems(record, source.task, source.side)
            for error in (record if source.audit else record[:1]) if isinstance(record, list) else ():
                with source.checking(file=row.file or source.path, line=row.line):
                    raise error
            if isinstance(record, list):
                continue
        if source.task in SPANS and "text" in record and not source.audit:
            spans = SPANS[source.task]
            with source.checking("offset", file=row.file or source.path, line=row.line):
                prove(record["text"], record[spans], spans, record["id"])
                yield row._replace(record=record)
        else:
            yield row._replace(record=record)
    if empty and source.side == "gold" and not source.audit:
        raise DataError("there are no records", file=source.path)


def records_of(source: Source) -> list[dict[str, Any]]:
    """The records of a file; ids are used once."""
    records = [row.record for row in rows(source)]
    check_unique(records, source.path)
    return records


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
    Parquet files and Hugging Face data sets are read so for every task.

    Args:
        path: The file, or the records themselves.
        format: The format; guessed from the file's name and beginning if not given.
        task: The task.
        side: ``gold`` or ``pred``.
        faults: How many faults may be passed over; by default the first one is raised.
        options: How the format is read (`goldassay.gold.formats.ReadOptions`).
    """
    return records_of(source_of(path, task, side, format, faults=faults, **options))


def pairs(
    task: str,
    gold: Any,
    pred: Any,
    *,
    split: str | None = None,
    format: str | None = None,
    pred_format: str | None = None,
    skip_bad: int = 0,
    overlap: bool = False,
    **options: Unpack[ReadOptions],
) -> Pairs:
    """Gold and predictions of a task, aligned by id.

    A gold record without a prediction gets an empty one and is counted in a warning; a prediction for an unknown
    document is an error. Tokenised formats are aligned by their tokens. A file of gold is its own prediction. Records
    of large JSON Lines files stay there and are read again when needed (`goldassay.gold.large`).

    Args:
        task: The task.
        gold: The file of gold, or the records.
        pred: The file, or the run folder, of predictions, or the records.
        split: Only gold of this split, and its predictions.
        format: The format of both; guessed if not given.
        pred_format: The format of the predictions, if it is another one.
        skip_bad: How many faults (a bad tag, a bad line) may be passed over; they are counted in a warning.
        overlap: Leave out, with a warning, predictions that gold does not have, and gold that a run was not asked.
        options: How the format is read (`goldassay.gold.formats.ReadOptions`).
    """
    faults = Faults(skip_bad)
    left = source_of(gold, task, "gold", format, faults=faults, **options)
    name = pred_format or _format_of(pred, task, format, left)
    own_options = options if name == left.format else {"map": options.get("map")}
    right = source_of(pred, task, "pred", name, faults=faults, **own_options)  # pyright: ignore[reportArgumentType]
    if not skip_bad and is_large(left, right):
        return align_files(RecordFile(left), right, overlap=overlap)
    if left.format in PAIRED and name in PAIRED:
        gold_rows, pred_rows = formats.check_holds(left.format, task).pair_rows(left, right)
        gold_records = [row.record for row in checked(left, gold_rows)]
        pred_records = [row.record for row in checked(right, pred_rows)]
        check_unique(gold_records, gold)
    else:
        gold_records, pred_records = records_of(left), predictions_of(right)
    if left.numbered or right.numbered:
        _match_rows(gold_records, pred_records, right)
    if split:
        gold_records, pred_records = _of_split(split, gold_records, pred_records, left)
    if faults.errors:
        lost = {error.record for error in faults.errors} - {record["id"] for record in gold_records}
        pred_records = [record for record in pred_records if record["id"] not in lost]
    if name in OFFICIALLY_IGNORED:
        pred_records = _without_unknown(gold_records, pred_records, right, OFFICIALLY_IGNORED[name])
    if name in OFFICIALLY_WRONG:
        gold_records += _without_gold(gold_records, pred_records, OFFICIALLY_WRONG[name])
    if overlap:
        names = _overlap(left, right, [record["id"] for record in gold_records], [r["id"] for r in pred_records])
        gold_records = [record for record in gold_records if record["id"] in names]
        pred_records = [record for record in pred_records if record["id"] in names]
    result = align(task, gold_records, pred_records, pred, faults)
    passed_over = (
        [f"{len(faults.errors)} faults were passed over; the first: {faults.errors[0]}"] if faults.errors else []
    )
    result.warnings = [*left.warnings, *right.warnings, *result.warnings, *passed_over]
    return result


def _format_of(pred: Any, task: str, format: str | None, gold: Source) -> str:
    """The format of predictions: their own, that of gold, or what their file suggests."""
    if not is_file(pred):
        return "data"
    return "run" if formats.is_run(pred) else format or formats.guess(pred, task, gold.format)


def _of_split(
    split: str, gold: Sequence[dict[str, Any]], pred: Sequence[dict[str, Any]], source: Source
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Gold of a split, and the predictions that are not of another one."""
    chosen = [record for record in gold if record.get("split") == split]
    if not chosen:
        there = ", ".join(dict.fromkeys(str(record["split"]) for record in gold if record.get("split"))) or "none"
        raise DataError(f"no gold of the split {split!r}; there are {there}", file=source.path)
    others = {record["id"] for record in gold if record.get("split") != split}
    return chosen, [record for record in pred if record["id"] not in others]


def predictions_of(source: Source) -> list[dict[str, Any]]:
    """The predictions of a file; of a file of gold what gold says, with a warning."""
    limit, reported = source.faults.limit, len(source.faults.errors)
    try:
        return records_of(source)
    except GoldassayError as error:
        if source.format == "run":  # it holds gold beside its predictions
            raise
        del source.faults.errors[reported:], source.faults.kinds[reported:]
        as_gold = Source(source.path, source.task, source.format, "gold", source.options, Faults(limit - reported))
        try:
            records = records_of(as_gold)
        except GoldassayError:
            raise error from None
        source.faults.errors += as_gold.faults.errors
        source.warnings.append(f"{source.path} holds gold, not predictions; each record counts as its own prediction")
        return [as_prediction(record, source.task) for record in records]


def align(
    task: str,
    gold: Sequence[dict[str, Any]],
    pred: Iterable[Mapping[str, Any]],
    file: object = None,
    faults: Faults | None = None,
) -> Pairs:
    """Records in memory, aligned by id; predicted spans are proved against gold's text.

    Args:
        task: The task.
        gold: The gold records.
        pred: The predicted ones.
        file: The file of predictions, for errors.
        faults: How many faulty predictions may be passed over: they count as empty.
    """
    faults = faults or Faults()
    predictions = list(pred)
    check_unique(gold)
    check_unique(predictions, file)
    ids = [identity(record, index) for index, record in enumerate(gold)]
    by_id = {identity(record, index): dict(record) for index, record in enumerate(predictions)}
    unknown = by_id.keys() - set(ids)
    if unknown:
        raise unknown_prediction(task, next(name for name in by_id if name in unknown), file)
    spans = SPANS.get(task)
    aligned = []
    for name, record in zip(ids, gold, strict=True):
        prediction = by_id.get(name) or empty_prediction(name, task)
        if spans:
            try:
                prove(record["text"], prediction[spans], spans, name)
            except DataError as error:
                faults.report(error.at(file=file))
                prediction = empty_prediction(name, task)
        aligned.append(prediction)
    missing = [name for name in ids if name not in by_id]
    return Pairs(list(gold), aligned, missing_warning(missing, len(gold)))


def align_files(gold: RecordFile, source: Source, *, overlap: bool = False) -> Pairs:
    """The same for files that are too large for memory: only ids and the places of records are kept."""
    task, spans = source.task, SPANS.get(source.task)

    def prove_against_gold(record: Mapping[str, Any]) -> None:
        if record["id"] not in gold.places:
            if overlap:
                return
            raise unknown_prediction(task, record["id"], source.path)
        if spans:
            prove(gold[gold.places[record["id"]]]["text"], record[spans], spans, record["id"])

    try:
        pred = RecordFile(source, prove_against_gold)
    except GoldassayError as error:
        try:  # a large file of gold is its own prediction
            own = RecordFile(Source(source.path, task, source.format))
        except GoldassayError:
            raise error from None
        source.warnings.append(f"{source.path} holds gold, not predictions; each record counts as its own prediction")
        pred = own.mapped(lambda record: as_prediction(record, task))
    if overlap:
        gold = gold.among(_overlap(gold.source, source, gold.ids, pred.ids))
    missing = [name for name in gold.ids if name not in pred.places]
    aligned = pred.ordered(gold.ids, lambda name: empty_prediction(name, task))
    return Pairs(gold, aligned, [*source.warnings, *missing_warning(missing, len(gold))])


def _overlap(gold: Source, pred: Source, gold_ids: Sequence[str], pred_ids: Iterable[str]) -> set[str]:
    """The ids that both sides have; of a run also the examples that failed."""
    asked_ids = run.ids_of(pred.path) if pred.format == "run" else set(gold_ids)
    names = asked_ids & set(gold_ids)
    if not names:
        raise GoldassayError(f"{gold.path} has none of the examples of {pred.path}")
    unknown, unasked = sum(name not in names for name in pred_ids), len(gold_ids) - len(names)
    if unknown:
        pred.warnings.append(f"{unknown} predictions are of examples that this gold does not have; they are left out")
    if unasked:
        pred.warnings.append(f"{unasked} examples of this gold were not in the run; they are left out")
    return names


def unknown_prediction(task: str, record: str, file: object) -> DataError:
    """The error for a prediction whose id gold does not have."""
    noun = {"retrieval": "query", "answering": "question"}.get(task, "document")
    run_hint = "; goldassay compare scores this run alone without it" if file and formats.is_run(str(file)) else ""
    return DataError(f"prediction for a {noun} that gold does not have{run_hint}", file=file, record=record)


def missing_warning(missing: Sequence[str], total: int) -> list[str]:
    """A warning that names the first gold records without a prediction."""
    if not missing:
        return []
    message = f"{len(missing)} of {total} gold records have no prediction and are counted as empty ones"
    return [f"{message} ({_listed(missing)})"]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def _without_unknown(
    gold: Sequence[Mapping[str, Any]], pred: list[dict[str, Any]], source: Source, noun: str
) -> list[dict[str, Any]]:
    """The predictions that gold has; if it has none of them they all stay, to be refused."""
    names = {record["id"] for record in gold}
    matched = [record for record in pred if record["id"] in names]
    others = [record["id"] for record in pred if record["id"] not in names]
    if not others or (not matched and source.format not in formats.QUESTIONS):
        return pred
    message = f"{len(others)} of {len(pred)} {noun} of {source.path} stand in no gold and are left out"
    source.warnings.append(f"{message}, as the official scorer does ({_listed(others)})")
    return matched


def _without_gold(
    gold: Sequence[Mapping[str, Any]], pred: Sequence[Mapping[str, Any]], field: str
) -> list[dict[str, Any]]:
    """Empty gold for predictions that have none; evidence for what is not there is left out, as DocRED does."""
    names, others = {record["id"] for record in gold}, list[dict[str, Any]]()
    for record in pred:
        if record["id"] not in names:
            others.append({"id": record["id"], "text": "", field: []})
            for each in record[field]:
                each.pop("evidence", None)
    return others


def _match_rows(gold: Sequence[Mapping[str, Any]], pred: Sequence[dict[str, Any]], source: Source) -> None:
    """Give predictions of a table without ids the ids of gold, row by row; the texts must be the same."""
    if len(gold) != len(pred):
        message = f"{len(pred)} rows where gold has {len(gold)}; without an id column both need the same"
        raise DataError(message, file=source.path)
    for record, prediction in zip(gold, pred, strict=True):
        content = "question" if source.task == "answering" else "text"
        predicted = prediction.get("meta", {}).get("question") if content == "question" else prediction.get("text")
        if predicted is not None and record.get(content) is not None and predicted != record[content]:
            message = f"row {prediction['id']} has another text than gold's; add an id column"
            raise DataError(message, file=source.path)
        prediction["id"] = record["id"]


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
    *,
    format: str | None = None,
    task: str,
    side: Side = "gold",
    **options: object,
) -> None:
    """Write records; the format is that of the file's name if none is given.

    Args:
        path: The file.
        records: The records.
        format: The format.
        task: The task.
        side: ``gold`` or ``pred``.
        options: Options of the format's writer.
    """
    name = format or formats.by_name(path)
    several = list(records)
    spans = SPANS.get(task, "")
    for record in several if name != "jsonl" and spans else ():
        for index, span in enumerate(record[spans]):
            if span["start"] is None:
                message = f"{span.get('text')!r} has no offsets, and {name} holds only what is in the text; write jsonl"
                raise DataError(message, record=record["id"], field=f"{spans}[{index}]")
    module = formats.check_holds(name, task)
    if task not in getattr(module, "WRITTEN", module.TASKS if hasattr(module, "write") else ()) and task in TASKS:
        raise GoldassayError(f"format {name} is not written for {task}; write jsonl")
    module.write(path, several, task, side, **options)

"""``read`` a file, and bring gold and predictions together as ``pairs``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, Unpack

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Skipping, Wrong, stop
from goldassay.gold import anyfields, formats, streamed
from goldassay.gold import tokens as tagged
from goldassay.gold.anyfields import columnar
from goldassay.gold.formats import ReadOptions
from goldassay.gold.formats.run import rows_of
from goldassay.gold.records import SPANS, Side, once, prove
from goldassay.gold.shapes import of_gold
from goldassay.measure import FAILURE, TASKS

NAMED = 3  # records that a warning names
TOKENISED = ("hipe", "iob2", "conll")
BEYOND = {"trec": "queries", "squad": "answers", "text2kgbench": "outputs"}
"""What the official scorer of a format passes over where gold does not have it."""
EMPTY: dict[str, Callable[[], dict[str, Any]]] = {
    "extraction": lambda: {"entities": []},
    "classification": lambda: {"label": None},
    "linking": lambda: {"links": []},
    "retrieval": lambda: {"results": []},
    "answering": lambda: {"answer": ""},
    "triples": lambda: {"triples": [], FAILURE: "no prediction"},  # which is not the same as one that says nothing
}


@dataclass(slots=True)
class Pairs:
    """Gold records and their predictions, in gold's order, and what a person should know about them."""

    gold: Sequence[dict[str, Any]]
    pred: Sequence[dict[str, Any]]
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.gold)


def read(
    path: str | Path,
    *,
    format: str | None = None,
    task: str,
    side: Side = "gold",
    column: str | None = None,
    wrong: Wrong | None = None,
    **options: Unpack[ReadOptions],
) -> list[dict[str, Any]]:
    """The records of a file. Without ``format`` the file's name tells it; ``wrong`` takes faults, to go on or to stop.

    A task of one's own has records with any fields; ``map`` names the fields of a foreign file anew (`anyfields`).
    Parquet and data sets (`arrow`) are read so for every task.

    Args:
        path: The file.
        side: ``gold`` or ``pred``.
        column: The column of tags, such as ``NE-COARSE-LIT``.
    """
    workspace.known(task)
    renamed = anyfields.mapping(options.pop("map", None))
    if task not in TASKS or renamed or columnar(path, format):
        foreign = anyfields.read(path, task, renamed, format)
        once(foreign, path)
        return foreign
    name = format or formats.guess(path, task)
    module = formats.module(name)
    skipping = {"wrong": wrong} if wrong is not None and "wrong" in signature(module.read).parameters else {}
    records: list[dict[str, Any]] = module.read(path, task, side, **given(name, task, column, options), **skipping)
    once(records, path)
    return records


def pairs(
    task: str,
    gold: str | Path,
    pred: str | Path,
    *,
    format: str | None = None,
    pred_format: str | None = None,
    column: str | None = None,
    skip_bad: int = 0,
    **options: Unpack[ReadOptions],
) -> Pairs:
    """Gold and predictions of a task, aligned by id.

    A gold record without a prediction gets an empty one and is counted in a warning; a prediction for an unknown
    document is an error. Tokenised formats are aligned by their tokens. ``pred_format`` is for predictions in another
    format than gold's; a run folder (or its ``rows.jsonl``) needs none, and a file of gold is its own prediction.
    ``skip_bad`` is how many faults (a bad tag, a bad line) may be passed over; they are counted in a warning.
    Large files of JSON Lines, a run's rows among them, stay where they are: their records are read again whenever they
    are asked for.

    Args:
        pred: The file, or the run folder, of predictions.
        column: The column of tags, such as ``NE-COARSE-LIT``.
    """
    if task not in TASKS:
        raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    name = format or formats.guess(gold, task)
    other = pred_format or ("run" if formats.is_run(pred) else format or formats.guess(pred, task, name))
    module = formats.module(name)
    wrong = Skipping(skip_bad)
    if skip_bad and "wrong" not in signature(getattr(module, "pairs", module.read)).parameters:
        raise GoldassayError(f"faults cannot be passed over in {name}; mend them (gold validate finds all)")
    skipping = {"wrong": wrong} if skip_bad else {}
    place = rows_of(pred) if other == "run" else Path(pred)
    if name == "jsonl" and other in ("jsonl", "run") and not skip_bad and any(map(streamed.streams, (gold, place))):
        given(name, task, column, options)
        found = _in_their_files(task, Path(gold), place, other)
        if found is not None:
            return found
    if module is formats.module(other) and hasattr(module, "pairs"):
        there = given(name, task, column, options)
        try:
            left, right, warnings = module.pairs(task, gold, pred, **there, **skipping)
        except GoldassayError as error:
            if name in TOKENISED or _readable(pred, other, task, options):
                raise
            left = read(gold, format=name, task=task, **options)
            right, warnings = _predictions(pred, other, task, None, options, wrong, error)
        once(left, gold)
        once(right, pred)
    else:
        there = given(name, task, column, options)
        left = module.read(gold, task, "gold", **there, **skipping)
        once(left, gold)
        right, warnings = _predictions(pred, other, task, column if name == other else None, options, wrong)
        if hasattr(module, "remarks"):
            warnings = [*module.remarks(gold), *warnings]
    if wrong.found:
        lost = {error.record for error in wrong.found} - {record["id"] for record in left}
        right = [record for record in right if record["id"] not in lost]  # gold of these was passed over
    if other in BEYOND:
        right, said = _asked(left, right, pred, BEYOND[other])
        warnings += said
    both = aligned(task, left, right, place, wrong)
    if wrong.found:
        warnings.append(f"{len(wrong.found)} faults were passed over; the first: {wrong.found[0]}")
    both.warnings[:0] = warnings
    return both


def _in_their_files(task: str, gold: Path, pred: Path, format: str) -> Pairs | None:
    """The pairs of two large files; None where the second holds no predictions, which reading it whole tells of."""
    left = streamed.Records(gold, task)
    try:
        right = streamed.RunRows(pred, task) if format == "run" else streamed.Records(pred, task, "pred")
    except GoldassayError:
        return None
    both, answers = laid(left, right)
    for record in answers.unknown:
        raise _unasked(task, record["id"], pred)
    return both


def laid(gold: streamed.Records, pred: streamed.Records) -> tuple[Pairs, streamed.Answers]:
    """Pairs of records that stay in their files, and the answers in them; what gold does not have is left out."""
    answers = streamed.Answers(gold, pred, EMPTY[gold.task])
    missing = [gold[at]["id"] for at in answers.missing[:NAMED]]
    return Pairs(gold, answers, _said_of(missing, len(answers.missing), len(gold))), answers


def _predictions(
    path: str | Path,
    format: str,
    task: str,
    column: str | None,
    options: ReadOptions,
    wrong: Skipping,
    first: GoldassayError | None = None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """The predictions of a file, or of a file of gold what gold says; and what is to be said of it.

    ``first`` is what was wrong when the file was read before; it is raised where the file is no gold either.
    """
    tried = Skipping(wrong.most - len(wrong.found))
    try:
        found = read(path, format=format, task=task, side="pred", column=column, wrong=tried, **options)
    except GoldassayError as error:
        if format == "run":  # it holds gold beside its predictions, which is no prediction
            raise
        try:
            records = read(path, format=format, task=task, column=column, **options)
        except GoldassayError:
            raise first or error from None
        said = f"{path} holds gold, not predictions; each record counts as its own prediction"
        return [of_gold(record, task) for record in records], [said]
    wrong.found += tried.found
    module = formats.module(format)
    return found, list(module.remarks(path)) if hasattr(module, "remarks") else []


def _readable(path: str | Path, format: str, task: str, options: ReadOptions) -> bool:
    """Whether a file holds predictions."""
    try:
        read(path, format=format, task=task, side="pred", **options)
    except GoldassayError:
        return False
    return True


def write(
    path: str | Path,
    records: Iterable[Mapping[str, object]],
    *,
    format: str | None = None,
    task: str,
    side: Side = "gold",
    **options: object,
) -> None:
    """Write records. Without ``format`` the file's name tells it.

    Args:
        path: The file.
        task: The task.
        side: ``gold`` or ``pred``.
    """
    name = format or formats.by_name(path)
    rows = list(records)
    if name != "jsonl" and task in SPANS:
        _placed(rows, SPANS[task], name)
    formats.module(name).write(path, rows, task, side, **options)


def aligned(
    task: str,
    gold: Sequence[dict[str, Any]],
    pred: Sequence[Mapping[str, Any]],
    file: object = None,
    wrong: Wrong = stop,
) -> Pairs:
    """Records that are already read, aligned by id; predicted spans are proved against gold's text.

    Args:
        gold: The gold records.
        pred: The predicted ones.
        task: The task.
        file: The file of predictions, for errors.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    known = {record["id"] for record in gold}
    by_id: dict[str, dict[str, Any]] = {}
    for record in pred:
        if record["id"] not in known:
            raise _unasked(task, record["id"], file)
        by_id[record["id"]] = dict(record)
    spans = SPANS.get(task)
    found, missing = [], []
    for record in gold:
        answer = by_id.get(record["id"])
        if answer is None:
            missing.append(record["id"])
            answer = {"id": record["id"], **EMPTY[task]()}
        elif spans:
            try:
                prove(record["text"], answer[spans], spans, record["id"])
            except DataError as error:
                wrong(error.at(file=file))
                answer = {"id": record["id"], **EMPTY[task]()}
        found.append(answer)
    return Pairs(list(gold), found, _said_of(missing[:NAMED], len(missing), len(gold)))


def _asked(
    gold: Sequence[dict[str, Any]], pred: list[dict[str, Any]], file: object, noun: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """The predictions for what gold has, and what is to be said of the others.

    Where gold has none all stay, to be refused: these are predictions for another gold.
    """
    known = {record["id"] for record in gold}
    asked = [record for record in pred if record["id"] in known]
    others = [record["id"] for record in pred if record["id"] not in known]
    if not asked or not others:
        return pred, []
    some = ", ".join(others[:NAMED]) + (", …" if len(others) > NAMED else "")
    said = (
        f"{len(others)} of {len(pred)} {noun} of {file} stand in no gold and are left out, as the official scorer does"
    )
    return asked, [f"{said} ({some})"]


def _unasked(task: str, record: str, file: object) -> DataError:
    noun = {"retrieval": "query", "answering": "question"}.get(task, "document")
    way = (
        "; goldassay compare with this --pred alone leaves it out"
        if file is not None and formats.is_run(str(file))
        else ""
    )
    return DataError(f"prediction for a {noun} that gold does not have{way}", file=file, record=record)


def _said_of(missing: Sequence[str], count: int, among: int) -> list[str]:
    """What is to be said of gold records without a prediction, by the first of their ids."""
    if not count:
        return []
    some = ", ".join(missing) + (", …" if count > len(missing) else "")
    return [f"{count} of {among} gold records have no prediction and are counted as empty ones ({some})"]


def _placed(records: Iterable[Mapping[str, Any]], spans: str, name: str) -> None:
    """Raise for a predicted span without offsets: only jsonl has a place for it."""
    for record in records:
        for index, span in enumerate(record[spans]):
            if span["start"] is None:
                raise DataError(
                    f"{span.get('text')!r} has no offsets, and {name} holds only what stands in the text; write jsonl",
                    record=record["id"],
                    field=f"{spans}[{index}]",
                )


def given(name: str, task: str, column: str | None, options: Mapping[str, object]) -> dict[str, object]:
    """The options that were given, if the format's reader has them; a column is only for formats that have several."""
    if column is not None and name not in TOKENISED:
        raise GoldassayError(f"a column of tags is for hipe and iob2, not for {name}")
    module = formats.module(name)
    known = {*signature(module.read).parameters} - {"path", "task", "side", "wrong", "options"}
    if name in TOKENISED:
        known |= {*signature(tagged.records).parameters} - {"documents", "side", "file", "sentences", "wrong"}
        known |= {"adjacent"} if name == "hipe" and task == "linking" else set()
    for option in options:
        if option not in known:
            there = ", ".join(sorted(known)) or "none"
            raise GoldassayError(f"format {name} has no option {option!r} for reading {task}; there are {there}")
    return dict(options) if column is None else {**options, "column": column}

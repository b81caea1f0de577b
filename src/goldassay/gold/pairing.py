"""``pairs``: gold and predictions brought together by id."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique, identity
from goldassay.files import Faults
from goldassay.gold import formats
from goldassay.gold.formats import ReadOptions, Source
from goldassay.gold.formats.jsonl import ids_of
from goldassay.gold.reading import (
    TOKENISED,
    RecordFile,
    checked,
    is_file,
    mapped,
    records_of,
    select,
    source_of,
    splits_of,
)
from goldassay.gold.records import SPANS, as_prediction, empty_prediction, prove

if TYPE_CHECKING:
    from goldassay.statistics.design import Design

NAMED = 3  # records that a warning names
PAIRED = (*TOKENISED, "musique")  # formats whose two files are read together
OFFICIALLY_IGNORED = {"trec": "queries", "text2kgbench": "outputs", "carb": "sentences", "coref": "documents"}
OFFICIALLY_IGNORED |= dict.fromkeys(("squad", *formats.QUESTIONS), "answers")
"""Formats whose official scorer ignores predictions that gold does not have, and what it calls them."""
OFFICIALLY_WRONG = {"neleval": "links", "docred": "triples", "carb": "triples"}
"""Formats whose official scorer counts them as wrong (CaRB's only if all are), and the field of theirs."""
Records = Sequence[dict[str, Any]]


@dataclass(slots=True)
class Pairs:
    """Gold records and their predictions, in gold's order, and warnings about them.

    Gold that was chosen by a design (`goldassay.statistics.design`) has it in ``design``, and ``population`` are all
    predictions then: those of the inputs that the labelled ones stand for. ``unlabelled`` says how many drafted records
    have no gold.
    """

    gold: Records
    pred: Records
    warnings: list[str] = field(default_factory=list)
    design: Design | None = None
    population: Records = ()
    unlabelled: int = 0

    def __len__(self) -> int:
        return len(self.gold)


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
    drafts: bool = False,
    **options: Unpack[ReadOptions],
) -> Pairs:
    """Gold and predictions of a task, aligned by id.

    A gold record without a prediction gets an empty one and is counted in a warning; a prediction for an unknown
    document is an error. Tokenised formats are aligned by their tokens. A file of gold is its own prediction.

    Args:
        task: The task.
        gold: The file of gold, or the records.
        pred: The file, or the run folder, of predictions, or the records.
        split: Only gold of this split, and its predictions.
        format: The format of both; guessed if not given.
        pred_format: The format of the predictions, if it is another one.
        skip_bad: How many faults (a bad tag, a bad line) may be passed over; they are counted in a warning.
        overlap: Leave out, with a warning, predictions that gold does not have, and gold that a run was not asked.
        drafts: Keep records of a draft that have no gold.
        options: How the format is read (`goldassay.gold.formats.ReadOptions`).
    """
    faults = Faults(skip_bad)
    left = source_of(gold, task, "gold", format, faults=faults, drafts=drafts, **options)
    name = pred_format or _format_of(pred, task, format, left)
    own_options = options if left.format in (name, "data") else {"map": options.get("map")}
    right = source_of(pred, task, "pred", name, faults=faults, **own_options)  # pyright: ignore[reportArgumentType]
    every_gold, every_pred = _read(left, right)
    ids = _ids_of_split(every_gold, split, left) if split else set(_ids(every_gold))
    unreadable = {str(error.record) for error in faults.errors}  # gold that cannot be read leaves its prediction out
    excluded = (unreadable | set(_ids(every_gold))) - ids
    split_gold = _among(every_gold, ids)
    split_pred = _among(every_pred, set(_ids(every_pred)) - excluded)
    design = None if isinstance(split_gold, RecordFile) else _design_of(split_gold, left)
    population = split_pred if design else ()
    split_pred = _among(split_pred, ids) if design else split_pred
    scored_gold, scored_pred = _settle_unknown(split_gold, split_pred, name, right)
    if overlap:
        answered = _asked(left, right, ids, [each for each in _ids(split_pred) if each not in ids])
        scored_gold = _among(scored_gold, answered)
        scored_pred = _among(scored_pred, answered)
    result = align(task, scored_gold, scored_pred, pred if is_file(pred) else None, faults)
    skipped = [f"{len(faults.errors)} faults were passed over; the first: {faults.errors[0]}"] if faults.errors else []
    warnings = [*left.warnings, *right.warnings, *result.warnings, *skipped, *_chosen_by_disagreement(split_gold)]
    if design and left.unlabelled and not (drafts or split):
        warnings += design.skipped
    return replace(result, warnings=warnings, design=design, population=population, unlabelled=left.unlabelled)


def _chosen_by_disagreement(gold: Records) -> list[str]:
    """A warning of records that ``gold from-traces`` drafted, which did not write down how it chose them."""
    several = [] if isinstance(gold, RecordFile) else gold
    drafted = sum("other_answers" in (record.get("meta") or {}) for record in several)
    if not drafted:
        return []
    what = (
        f"{drafted} of {len(several)} gold records were drafted where systems disagree, and nothing says from how many"
    )
    return [f"{what}: the values are not those of a random sample; goldassay gold draft writes it down"]


def _design_of(gold: Records, source: Source) -> Design | None:
    """The design of gold, which loads numpy: records are read without it."""
    from goldassay.statistics.design import Design

    return Design.of(gold, source.path)


def _ids_of_split(gold: Records, split: str, source: Source) -> set[str]:
    """The ids of gold of a split; raises if there are none."""
    ids = {each for each, of in zip(_ids(gold), splits_of(gold), strict=True) if of == split}
    if not ids:
        there = ", ".join(filter(None, dict.fromkeys(splits_of(gold)))) or "none"
        raise DataError(f"no gold of the split {split!r}; there are {there}", file=source.path)
    return ids


def _settle_unknown(gold: Records, pred: Records, format: str, source: Source) -> tuple[Records, Records]:
    """Both sides with predictions that have no gold treated as the format's official scorer treats them.

    ``format`` is the one asked for; a reader may have found another one in the file (``source.format``).
    """
    ids = set(_ids(gold))
    unknown = [each for each in _ids(pred) if each not in ids]
    noun = OFFICIALLY_IGNORED.get(format)
    if (
        noun and unknown and (len(unknown) < len(pred) or format in formats.QUESTIONS)
    ):  # if gold has none of them, `align` refuses
        message = f"{len(unknown)} of {len(pred)} {noun} of {source.path} have no gold record and are left out"
        source.warnings.append(f"{message}, as the official scorer does ({_listed(unknown)})")
        return gold, _among(pred, ids)
    if format in OFFICIALLY_WRONG:
        return [*gold, *_without_gold(pred, set(unknown), OFFICIALLY_WRONG[format])], pred
    return gold, pred


def _read(left: Source, right: Source) -> tuple[Records, Records]:
    """The records of both sides; those of tokenised formats are read together."""
    if left.format in PAIRED and right.format in PAIRED:
        pair_rows: Any = formats.named(left.format, left.task).pair_rows
        gold_rows, pred_rows = pair_rows(left, right)
        golds = [row.record for row in checked(left, gold_rows)]
        preds = [row.record for row in checked(right, pred_rows)]
        check_unique(golds, left.path)
        return golds, preds
    gold = records_of(left)
    pred = _predictions(right)
    if left.numbered or right.numbered:
        _name_by_row(gold, pred, right)
    return gold, _repeated(pred, left.repeats) if left.repeats else pred


def _repeated(pred: Records, repeats: Mapping[str, str]) -> Records:
    """Predictions, and those for ids that gold repeats once more under the names of the repeats."""
    by_id = {record["id"]: record for record in pred}
    again = {name: by_id[original] for name, original in repeats.items() if original in by_id and name not in by_id}
    return [*pred, *({**record, "id": name} for name, record in again.items())]


def _asked(left: Source, right: Source, known: set[str], unknown: Sequence[str]) -> set[str]:
    """The gold that a run was asked, also where it failed; the rest on either side is left out with a warning."""
    asked = known & (ids_of(right.path) if right.format == "run" else known)
    if not asked:
        raise GoldassayError(f"{left.path} has none of the examples of {right.path}")
    if unknown:
        message = "predictions are of examples that this gold does not have; they are left out"
        right.warnings.append(f"{len(unknown)} {message}")
    if len(asked) < len(known):
        message = "examples of this gold were not in the run; they are left out"
        right.warnings.append(f"{len(known) - len(asked)} {message}")
    return asked


def _format_of(pred: Any, task: str, format: str | None, gold: Source) -> str:
    """The format of predictions: their own, that of gold, or what their file suggests."""
    if not is_file(pred):
        return "data"
    return "run" if formats.is_run(pred) else format or formats.guess(pred, task, gold.format)


def _ids(records: Sequence[Any]) -> Sequence[str]:
    if isinstance(records, RecordFile):
        return records.ids
    return [identity(record, number) for number, record in enumerate(records)]


def _among(records: Records, names: Container[str]) -> Records:
    """The records with these ids."""
    return select(records, (place for place, name in enumerate(_ids(records)) if name in names))


def _predictions(source: Source) -> Records:
    """The predictions of a file; of a file of gold what gold says, with a warning."""
    limit = source.faults.limit
    reported = len(source.faults.errors)
    try:
        return records_of(source)
    except GoldassayError as error:
        if source.format in ("run", "kilt"):  # runs hold gold beside their predictions; KILT has one layout for both
            raise
        del source.faults.errors[reported:], source.faults.kinds[reported:]
        as_gold = replace(source, side="gold", faults=Faults(limit - reported), warnings=[])
        try:
            records = records_of(as_gold)
        except GoldassayError:
            raise error from None
        source.faults.errors += as_gold.faults.errors
        source.warnings.append(f"{source.path} holds gold, not predictions; each record counts as its own prediction")
        return mapped(records, lambda record: as_prediction(record, source.task))


def align(
    task: str,
    gold: Records,
    pred: Iterable[Mapping[str, Any]],
    file: str | Path | None = None,
    faults: Faults | None = None,
) -> Pairs:
    """Records aligned by id; predicted spans are proved against gold's text.

    Args:
        task: The task.
        gold: The gold records.
        pred: The predicted ones.
        file: The file of predictions, for errors.
        faults: How many faulty predictions may be passed over: they count as empty.

    Raises:
        DataError: An id is used twice, a prediction has no gold record, or too many spans are wrong.
    """
    faults = faults or Faults()
    predictions: Any = pred if isinstance(pred, RecordFile) else list(pred)
    for records, source in ((gold, None), (predictions, file)):
        if not isinstance(records, RecordFile):
            check_unique(records, source)
    ids = _ids(gold)
    predicted = _ids(predictions)
    known = set(ids)
    if unknown := next((name for name in predicted if name not in known), None):
        noun = {"retrieval": "query", "answering": "question"}.get(task, "document")
        hint = "; goldassay compare scores this run alone without it" if file and formats.is_run(str(file)) else ""
        raise DataError(f"prediction for a {noun} that gold does not have{hint}", file=file, record=unknown)
    aligned: Any
    if isinstance(predictions, RecordFile):
        aligned = predictions.ordered(ids)
    else:
        by_id = {name: dict(record) for name, record in zip(predicted, predictions, strict=True)}
        aligned = [by_id.get(name) or empty_prediction(name, task) for name in ids]
    spans = SPANS.get(task)
    for place, (record, prediction) in enumerate(zip(gold, aligned, strict=True) if spans else ()):
        try:
            prove(record["text"], prediction[spans], str(spans), ids[place])
        except DataError as error:
            faults.report(error.at(file=file))
            aligned[place] = empty_prediction(ids[place], task)
    answered = set(predicted)
    missing = [name for name in ids if name not in answered]
    message = f"{len(missing)} of {len(ids)} gold records have no prediction and are counted as empty ones"
    warnings = [f"{message} ({_listed(missing)})"] if missing else []
    return Pairs(gold if isinstance(gold, RecordFile) else list(gold), aligned, warnings)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def _without_gold(pred: Records, unknown: Container[str], field: str) -> Records:
    """Empty gold for predictions that have none; evidence for what is not there is left out, as DocRED does."""
    records = [record for record in pred if record["id"] in unknown]
    for each in (item for record in records for item in record[field]):
        each.pop("evidence", None)
    return [{"id": record["id"], "text": "", field: []} for record in records]


def _name_by_row(gold: Records, pred: Records, source: Source) -> None:
    """Give predictions of a table without ids the ids of gold, row by row; the texts must be the same."""
    if len(gold) != len(pred):
        message = f"{len(pred)} rows where gold has {len(gold)}; without an id column both need the same"
        raise DataError(message, file=source.path)
    content = "question" if source.task == "answering" else "text"
    for record, prediction in zip(gold, pred, strict=True):
        predicted = prediction.get("meta", {}).get("question") if content == "question" else prediction.get("text")
        if predicted is not None and record.get(content) is not None and predicted != record[content]:
            message = f"row {prediction['id']} has another text than gold's; add an id column"
            raise DataError(message, file=source.path)
        prediction["id"] = record["id"]

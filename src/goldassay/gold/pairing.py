"""Gold and predictions brought together by id: `join` of records, `pairs` of what records are read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.files import Faults
from goldassay.core.fields import Fields, JsonObject, check_unique, form
from goldassay.core.measure import ANSWER_FIELDS
from goldassay.gold import formats
from goldassay.gold.formats import ReadOptions, Source
from goldassay.gold.formats.jsonl import ids_of
from goldassay.gold.reading import Records, checked, source_of
from goldassay.gold.records import SPANS, as_prediction, empty_prediction, prove

if TYPE_CHECKING:
    from goldassay.statistics.design import Design


@dataclass(slots=True)
class Pairs:
    """Gold records and their predictions, in gold's order, and warnings about them.

    Gold that was chosen by a design (`goldassay.statistics.design`) has it in ``design``, and ``population`` are all
    predictions then: those of the inputs that the labelled ones stand for. ``unlabelled`` says how many drafted records
    have no gold.
    """

    gold: Sequence[Fields]
    pred: Sequence[Fields]
    warnings: list[str]
    design: Design
    population: Sequence[JsonObject] = ()
    unlabelled: int = 0

    def __len__(self) -> int:
        return len(self.gold)


def pairs(
    task: str,
    gold: object,
    pred: object,
    *,
    split: str | None = None,
    format: str | None = None,
    pred_format: str | None = None,
    skip_bad: int = 0,
    overlap: bool = False,
    drafts: bool = False,
    **options: Unpack[ReadOptions],
) -> Pairs:
    """Gold and predictions of a task, read and joined.

    Tokenised formats are aligned by their tokens. A file of gold is its own prediction.

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

    Raises:
        DataError: A side cannot be read, or the two do not fit together.
        GoldassayError: There is no such task, format or option, or nothing to compare.
    """
    faults = Faults(skip_bad)
    left = source_of(gold, task, "gold", format, faults=faults, drafts=drafts, **options)
    name = pred_format or ("run" if formats.is_run(pred) else format or formats.guess(pred, task, left.format))
    own_options = options if left.format in (name, "data") else {"map": options.get("map")}
    right = source_of(pred, task, "pred", name, faults=faults, **own_options)  # pyright: ignore[reportArgumentType]
    paired = [formats.named(side.format) for side in (left, right) if side.format in formats.names()]
    if len(paired) == 2 and paired[1].pair_rows and (together := paired[0].pair_rows):
        gold_rows, pred_rows = together(left, right)
        golds = Records((row.record for row in checked(left, gold_rows)), left)
        predictions = Records((row.record for row in checked(right, pred_rows)), right)
        check_unique(golds, left.path)
        return join(golds, predictions, split=split, overlap=overlap)
    golds = Records.of(left)
    predictions = _predictions(right)
    is_same = gold is pred or (formats.is_file(gold) and gold == pred)
    field = ANSWER_FIELDS.get(task, "")
    if (
        is_same
        and left.answer_column == right.answer_column != ""
        and all(as_prediction(a, task).get(field) == b.get(field) for a, b in zip(golds, predictions, strict=False))
    ):  # of a trace the column of its reference may have the same name
        names = '`map={"gold.NAME": "COLUMN", "pred.NAME": "COLUMN"}`'
        right.warnings.append(f"gold and predictions are one column, {left.answer_column!r}; name both ({names})")
    paths = {*left.options.get("map", {}).values()} if "map" in right.options else set()
    if unused := paths - left.used_paths - right.used_paths:
        raise DataError(f"neither gold nor a prediction has the column {min(unused)!r} of the mapping", file=right.path)
    rows = ids_of(right.path) if right.format == "run" and left.numbered else set()
    by_place = "0" in rows  # examples without ids have their places from 0
    numbered = by_place or (right.format != "run" and (left.numbered or right.numbered))
    size = len(rows) if by_place else len(predictions)
    if numbered and len(golds) != size:
        message = f"{size} rows where gold has {len(golds)}; without an id column both need the same"
        raise DataError(message, file=predictions.source.path)
    if by_place:  # a run has its rows in the order in which they ended, and lacks those that failed
        numbers = {str(place): name for place, name in enumerate(golds.ids)}
        for prediction in predictions:
            prediction["id"] = numbers.get(prediction["id"], prediction["id"])
    elif numbered:
        indices = [_index(left.option("data")), _index(right.option("data"))]
        if indices[0] != indices[1] and {*indices[0]} == {*indices[1]}:
            raise DataError(
                "by their index, its rows are in another order than gold's; add an id column", file=right.path
            )
        file = predictions.source.path
        content = "question" if golds.source.task == "answering" else "text"
        for record, prediction in zip(golds, predictions, strict=True):
            predicted = prediction.get("meta", {}).get("question") if content == "question" else prediction.get("text")
            if predicted is not None and record.get(content) is not None and predicted != record[content]:
                message = f"row {prediction['id']} has another text than gold's; add an id column"
                raise DataError(message, file=file)
            prediction["id"] = record["id"]
    ids = {*golds.ids}
    by_question = {str(record.get("question")): record["id"] for record in golds} if right.questions else {}
    for prediction in predictions if right.questions else ():
        if prediction["id"] not in ids:
            texts = right.questions[prediction["id"]]
            prediction["id"] = next(
                (by_question[text] for text in reversed(texts) if text in by_question), prediction["id"]
            )
    if left.repeats:  # the prediction of an id that gold repeats counts for each of its questions
        by_id = dict(zip(predictions.ids, predictions, strict=True))
        for name, original in left.repeats.items():
            if original in by_id and name not in by_id:
                predictions.append({**by_id[original], "id": name})
    return join(golds, predictions, split=split, overlap=overlap)


def _index(data: object) -> list[object]:
    """The index of a frame or a series of pandas; empty of anything else."""
    index: Any = getattr(data, "index", None)
    return list(index.tolist()) if hasattr(index, "tolist") else []


def _predictions(source: Source) -> Records:
    """The predictions of a file; of a file of gold what gold says, with a warning."""
    limit = source.faults.limit
    reported = len(source.faults.errors)
    try:
        return Records.of(source)
    except GoldassayError as error:
        # runs hold gold with their predictions; KILT has one layout for both; a table has a column of predictions
        if source.format in ("run", "kilt") or source.answer_column:
            raise
        del source.faults.errors[reported:], source.faults.kinds[reported:]
        as_gold = replace(source, side="gold", faults=Faults(limit - reported), warnings=[])
        try:
            golds = Records.of(as_gold)
        except GoldassayError:
            raise error from None
        source.faults.errors += as_gold.faults.errors
        source.warnings.append(f"{source.path} holds gold, not predictions; each record counts as its own prediction")
        return Records((as_prediction(record, source.task) for record in golds), source, format=golds.format)


def join(gold: Records, predictions: Records, *, split: str | None = None, overlap: bool = False) -> Pairs:
    """Gold and its predictions by id, in gold's order; predicted spans are proved against gold's text.

    A gold record without a prediction gets an empty one and is counted in a warning; a prediction for an unknown
    document is an error, unless the format's official scorer treats it in another way.

    Args:
        gold: The gold records (`goldassay.gold.read`).
        predictions: The predictions of the same task.
        split: Only gold of this split, and its predictions.
        overlap: Leave out, with a warning, predictions that gold does not have, and gold that a run was not asked.

    Raises:
        DataError: There is no such split, an id is used twice, a prediction has no gold record, or spans are wrong.
        GoldassayError: The two have no example in common (``overlap``).

    >>> from goldassay.gold import read
    >>> gold = read([{"id": "a", "label": "M"}, {"id": "b", "label": "L"}], "classification")
    >>> both = join(gold, read([{"id": "b", "label": "L"}], "classification", "pred"))
    >>> [prediction.get("label") for prediction in both.pred], both.warnings[0].partition(";")[0]
    ([None, 'L'], '1 of 2 gold records have no prediction (a)')
    """
    task = gold.source.task
    faults = predictions.source.faults
    file = predictions.file
    every = set(gold.ids)
    golds = gold.of_split(split) if split else gold
    ids = set(golds.ids)
    # Gold that cannot be read leaves its prediction out, as another split does.
    faulty = {str(error.record) for error in (*gold.source.faults.errors, *faults.errors)}
    excluded = (faulty | every) - ids
    preds = predictions.select({name for name in predictions.ids if name not in excluded})
    drafted = golds
    design = golds.design
    population = preds if design.drafted else ()
    if design.drafted:
        preds = preds.select(ids)
    strangers = [name for name in preds.ids if name not in ids]
    seen_as = "trec" if preds.source.format == "trec" else preds.format  # a table may hold a run of TREC
    layout = formats.named(seen_as) if seen_as in formats.names() else None
    if layout is not None and strangers:  # which are treated as the format's official scorer treats them
        if layout.ignored and (layout.ignores_all or len(strangers) < len(preds)):  # else they are refused below
            message = (
                f"{len(strangers)} of {len(preds)} {layout.ignored} of {preds.source.path} have no gold record and"
            )
            preds.warnings.append(f"{message} are left out, as the official scorer does ({_listed(strangers)})")
            preds = preds.select(ids)
        elif layout.spurious:
            empty = []  # gold for these; evidence for what is not there is left out, as DocRED does
            for record in preds.select(strangers):
                for item in record[layout.spurious]:
                    item.pop("evidence", None)
                empty.append({"id": record["id"], "text": "", layout.spurious: []})
            golds = Records([*golds, *empty], golds.source)
    if overlap:
        covered = ids & (ids_of(preds.source.path) if preds.source.format == "run" else ids)
        if not covered:
            raise GoldassayError(f"{gold.source.path} has none of the examples of {preds.source.path}")
        if unknown := sum(name not in ids for name in preds.ids):
            message = "predictions are of examples that this gold does not have; they are left out"
            preds.warnings.append(f"{unknown} {message}")
        if len(covered) < len(ids):
            message = "examples of this gold were not in the run; they are left out"
            preds.warnings.append(f"{len(ids) - len(covered)} {message}")
        golds = golds.select(covered)
        preds = preds.select(covered)
    check_unique(golds)
    check_unique(preds, file)
    names = golds.ids
    by_id = dict(zip(preds.ids, preds, strict=True))
    gold_ids = set(names)
    if stranger := next((name for name in by_id if name not in gold_ids), None):
        noun = {"retrieval": "query", "answering": "question"}.get(task, "document")
        hint = "; goldassay compare scores this run alone without it" if file and formats.is_run(file) else ""
        mapped = ("jsonl", "json", "csv", "tsv", "parquet", "data")  # whose fields may have other names
        if twin := {form(name): name for name in names}.get(form(stranger)):
            hint += f"; gold has {twin!a}, and {stranger!a} differs from it in form alone: write both alike"
        elif gold_ids.isdisjoint(by_id) and gold.source.format in mapped:
            hint += f'; they are matched by id, and gold has {_listed(names)} (another field: `map={{"id": "COLUMN"}}`)'
            if questions := predictions.source.questions.get(stranger):
                here = str(questions[-1])[:60]
                there = str(golds[0].get("question"))[:60]
                hint += f', or by question, here {here!r} and in gold {there!r} (`map={{"question": "COLUMN"}}`)'
        raise DataError(f"prediction for a {noun} that gold does not have{hint}", file=file, record=stranger)
    aligned = [by_id.get(name) or empty_prediction(name, task) for name in names]
    spans = SPANS.get(task, "")
    misplaced: list[DataError] = []  # of a run, which measured these spans as they are
    for index, (record, prediction) in enumerate(zip(golds, aligned, strict=True) if spans else ()):
        try:
            prove(record["text"], prediction[spans], spans, names[index])
        except DataError as error:
            if preds.format == "run":
                misplaced.append(error)
                continue
            faults.report(error.at(file=file))
            aligned[index] = empty_prediction(names[index], task)
    warnings: list[str] = []
    if misplaced:
        message = (
            f"{len(misplaced)} of {len(names)} predictions have a span that is not where it says, and count as they"
        )
        warnings.append(f"{message} did in the run; the first: {misplaced[0]}")
    if missing := [name for name in names if name not in by_id]:
        message = f"{len(missing)} of {len(names)} gold records have no prediction ({_listed(missing)})"
        warnings.append(f"{message}; they count as empty ones, unless the convention of a value leaves them out")
    if faults.errors:
        warnings.append(f"{len(faults.errors)} faults were passed over; the first: {faults.errors[0]}")
    by_disagreement = sum("other_answers" in (record.get("meta") or {}) for record in drafted)
    if by_disagreement:  # drafted by `gold from-traces`, which did not write down how it chose them
        warnings.append(
            f"{by_disagreement} of {len(drafted)} gold records were drafted where systems disagree, and nothing says "
            "from how many: the values are not those of a random sample; goldassay gold draft writes it down"
        )
    unlabelled = gold.source.unlabelled
    if unlabelled and not (gold.source.drafts or split):
        warnings += design.skipped
    return Pairs(golds, aligned, [*gold.warnings, *preds.warnings, *warnings], design, population, unlabelled)


def _listed(names: Sequence[str]) -> str:
    """The first three names."""
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")

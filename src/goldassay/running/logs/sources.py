"""What a draft of gold is made from: run folders, traces and logs, files of predictions, and plain inputs.

Sources are brought together by id, so that labelled gold pairs with the very files that it was drafted from. Traces and
logs of other tools have ids of their own; theirs are brought together by their inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import identity
from goldassay.fields import read as field_at
from goldassay.gold import Pool, read
from goldassay.gold.anyfields import ABOUT, mapping, renamed
from goldassay.gold.drafts import GOLD_FIELDS, text_of
from goldassay.gold.formats import Source as Reading
from goldassay.gold.formats.jsonl import record_of
from goldassay.gold.outputs import OUTPUTS
from goldassay.gold.records import INPUTS
from goldassay.gold.shapes import SHAPES, Fields
from goldassay.measure import TASKS
from goldassay.running.folder import run_at
from goldassay.running.logs.tools import number, rows_of_table, systems_in
from goldassay.running.run import stored
from goldassay.workspace import inputs as inputs_of_program

JSON_ROWS = (".jsonl", ".ndjson", ".json")
LOGS = (".eval", ".json", ".jsonl", ".csv")
DSPY = "dspy.Evaluate"  # a table of it is told from other tables by its columns


@dataclass
class Source:
    """One system, or inputs alone: what it was asked and what it answered, by its own ids.

    Args:
        place: The file or folder.
        name: The name of the system; empty for inputs alone.
        inputs: What it was asked, if that is stored.
        answers: The predictions that did not fail.
        own_ids: Whether the ids are those of a tool, which no other file has.
    """

    place: Path
    name: str = ""
    inputs: dict[str, Fields] = field(default_factory=dict)
    answers: dict[str, Fields] = field(default_factory=dict)
    own_ids: bool = False


def pool_of(
    places: Iterable[Path | str],
    task: str,
    *,
    map: str | Mapping[str, str] | None = None,
    verdicts: Path | str | None = None,
) -> Pool:
    """The inputs of several sources, and what each system answered to them.

    Args:
        places: Run folders, traces and logs of other tools, files of predictions, and files of inputs (a JSON object, a
            row of a table or a line of text each).
        task: The task.
        map: Which field of inputs or answers is which of the task's, such as ``{"text": "body", "label": "output"}``.
        verdicts: A judge's verdicts on the answers of one system: rows with an ``id`` and a ``score`` from 0 to 1.

    Raises:
        GoldassayError: A source cannot be read, or has no inputs or answers.
        DataError: Sources have one id for different inputs, or different ids for the same inputs.
    """
    sources = [source for place in places for source in _sources(Path(place), task, mapping(map) or {})]
    pool = Pool(task, {})
    ids: dict[int, dict[str, str]] = {}  # of each source, the pool's id by its own
    texts: dict[str, str] = {}  # the id of each text, as the sources so far have it
    for source in sorted(sources, key=lambda source: source.own_ids):  # the ids of files come first
        named = {own: _id(pool, source, own, record, texts) for own, record in source.inputs.items()}
        texts = {**{text_of(pool.inputs[each], task): each for each in named.values()}, **texts}
        ids[id(source)] = named
    systems = [source for source in sources if source.name]
    for source, name in zip(systems, _names(systems), strict=True):
        named = ids[id(source)]
        pool.answers[name] = {named.get(own, own): answer for own, answer in source.answers.items()}
        absent = next((each for each in pool.answers[name] if each not in pool.inputs), None)
        if absent is not None:
            message = "a prediction without its input; add a source with the inputs (runs, or a file of them)"
            raise DataError(message, file=source.place, record=absent)
    for name, answers in pool.answers.items():
        failed = len(pool.inputs) - len(answers)
        if failed:
            pool.warnings.append(
                f"{name} has no answer to {failed} of {len(pool.inputs)} inputs, which counts as empty"
            )
    if verdicts is not None:
        pool.verdicts = _verdicts(Path(verdicts), pool)
    return pool


def _verdicts(file: Path, pool: Pool) -> dict[str, float]:
    """The verdicts of a file (``judge eval --out``) on the answers of the one system.

    Raises:
        DataError: It has no verdict on any of the inputs.
        GoldassayError: There are several systems.
    """
    if len(pool.answers) != 1:
        raise GoldassayError(f"verdicts are on the answers of one system; the sources have {len(pool.answers)}")
    scores = {str(row.get("id")): number(row.get("score")) for row in _rows(file) if isinstance(row, Mapping)}
    verdicts = {name: score for name, score in scores.items() if score is not None and name in pool.inputs}
    if not verdicts:
        raise DataError("no row has the id of an input and a score", file=file)
    return verdicts


def _id(pool: Pool, source: Source, own: str, record: Fields, texts: Mapping[str, str]) -> str:
    """The id of a source's input in the pool, to which it is added if it is new.

    Raises:
        DataError: The id is that of other inputs, or the inputs have another id.
    """
    text = text_of(record, pool.task)
    same = texts.get(text)
    if own in pool.inputs and pool.text(own) == text:
        return own
    if source.own_ids and same is not None:
        return same
    name = f"{source.place.stem}-{own}" if source.own_ids and own in pool.inputs else own
    if name in pool.inputs:
        raise DataError("another source has this id for other inputs", file=source.place, record=own)
    if same is not None and same not in source.inputs:
        raise DataError(f"another source has the id {same} for the same inputs", file=source.place, record=own)
    pool.add_input(name, record)
    return name


def _names(systems: Sequence[Source]) -> list[str]:
    """The names of the systems, told apart by their places where two are the same."""
    names = [source.name for source in systems]
    for place in ("stem", "parent"):
        count = Counter(names)
        names = [
            f"{name} ({getattr(source.place, place)})" if count[name] > 1 else name
            for name, source in zip(names, systems, strict=True)
        ]
    return names


def _sources(place: Path, task: str, paths: Mapping[str, str]) -> list[Source]:
    """The systems of a place; a file of inputs is one without a name."""
    place = run_at(place)
    if place.is_dir():
        return [_of_run(place, task, paths)]
    if not place.exists():
        raise DataError("no such file", file=place)
    systems = systems_in(place) if place.suffix.lower() in LOGS else []
    if systems and systems[0].tool != DSPY:
        return [_of_log(place, each.name, each.samples, task, paths) for each in systems]
    if place.suffix.lower() == ".txt" and task != "retrieval":
        return [Source(place, inputs={str(at): {INPUTS.get(task, "text"): line} for at, line in _lines(place)})]
    try:
        source = _of_predictions(place, task, paths)
    except GoldassayError as error:
        if systems:
            return [_of_log(place, each.name, each.samples, task, paths) for each in systems]
        inputs = _of_inputs(place, task, paths)
        if not inputs:
            raise error from None
        return [Source(place, inputs=inputs)]
    if source.name and any("id" not in row for row in _rows(place) if isinstance(row, Mapping)) and "id" not in paths:
        raise DataError("predictions need an id, by which labelled gold is compared with them", file=place)
    return [source]


def _lines(place: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(files.lines(place), start=1) if line.strip())


def _of_run(place: Path, task: str, paths: Mapping[str, str]) -> Source:
    """The system of a run folder."""
    run = stored(place)
    source = Source(place, run.name)
    for row in run.rows:
        name = str(row["id"])
        inputs = row.get("inputs")
        if not isinstance(inputs, Mapping) or not inputs:
            raise GoldassayError(f"{place} was stored without inputs, so no gold can be drafted from it")
        answer = row.get("prediction") if "error" not in row else None
        sides = _sides(inputs, answer or {}, paths)
        about = {key: row[key] for key in ("strata", "document") if row.get(key) not in (None, {})}
        source.inputs[name] = {**sides[0], **about}
        if answer is not None and (prediction := _prediction(name, sides[1], task, place)):
            source.answers[name] = prediction
    return source


def _of_log(place: Path, name: str, samples: list[Fields], task: str, paths: Mapping[str, str]) -> Source:
    """A system of another tool's log."""
    source = Source(place, name, own_ids=True)
    for sample in samples:
        if not sample or sample.get("error"):
            continue
        # a tool may wrap inputs, or the answer, in one field
        wrapped = (sample["inputs"], sample["prediction"])
        inner = [next((v for v in side.values() if len(side) == 1 and isinstance(v, dict)), side) for side in wrapped]
        inputs, answer = _sides(inner[0], inner[1], paths)
        own = str(sample["id"])
        source.inputs[own] = inputs
        if prediction := _prediction(own, answer, task, place):
            source.answers[own] = prediction
    if not source.answers:
        outputs = " or ".join(OUTPUTS.get(task, ("answer",)))
        there = ", ".join(dict.fromkeys(key for each in samples for key in each.get("prediction") or ())) or "none"
        message = (
            f'no answer has {outputs}; there are {there} (`map={{"{OUTPUTS.get(task, ("answer",))[0]}": "COLUMN"}}`)'
        )
        raise DataError(message, file=place)
    return source


def _sides(inputs: Any, answer: Any, paths: Mapping[str, str]) -> tuple[Fields, Fields]:
    """The inputs and the answer of an example under the names of a mapping."""
    sides = []
    for side in (inputs, answer):
        values = {name: value for name, path in paths.items() if (value := field_at(side, path, None)) is not None}
        others = {name: value for name, value in side.items() if name not in {*values, *paths.values()}}
        sides.append({**others, **values})
    return sides[0], sides[1]


def _prediction(name: str, answer: Fields, task: str, place: Path) -> Fields | None:
    """An answer as a prediction of the task; None if it is none, which counts as failed."""
    reading = Reading(place, task, "run", "pred")
    return record_of({"id": name, "prediction": answer, "error": ""}, reading)


def _rows(place: Path) -> list[Any]:
    """The rows of a file that has rows of named fields; empty for other formats."""
    suffix = place.suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return [row for _, row in files.json_lines(place)]
    if suffix == ".json":
        content = files.json_value(place)
        return content if isinstance(content, list) else []
    return list(rows_of_table(place)) if suffix in (".csv", ".tsv") else []


def _of_predictions(place: Path, task: str, paths: Mapping[str, str]) -> Source:
    """The system of a file of predictions, which may have their inputs beside them."""
    rows = _rows(place)
    as_rows = rows if rows and place.suffix.lower() in JSON_ROWS else place
    records = read(as_rows, task=task, side="pred", map=paths or None)
    if task not in TASKS:
        return _of_own(place, task, records)
    inputs = _inputs_of(rows or records, task, paths)
    return Source(place, place.stem, inputs, {record["id"]: record for record in records})


def _of_own(place: Path, task: str, records: list[Fields]) -> Source:
    """The system, or the inputs alone, of records with any fields: the program says which are inputs."""
    names = inputs_of_program(task)
    if not names:
        raise DataError(f"which fields are inputs? Name a run of {task}, or write its program", file=place)
    inputs = {
        str(record["id"]): {key: record[key] for key in (*names, *ABOUT[1:]) if key in record} for record in records
    }
    answers = {
        str(record["id"]): {key: record[key] for key in record if key not in (*names, *ABOUT)} for record in records
    }
    alone = not any(answers.values())
    return Source(place, "" if alone else place.stem, inputs, {} if alone else answers)


def _of_inputs(place: Path, task: str, paths: Mapping[str, str]) -> dict[str, Fields]:
    """The records of a file of inputs; none if they lack the input of the task."""
    return _inputs_of(_rows(place), task, paths)


def _inputs_of(rows: list[Any], task: str, paths: Mapping[str, str]) -> dict[str, Fields]:
    """The inputs of rows by id; none if a row has no input."""
    inputs: dict[str, Fields] = {}
    name = INPUTS[task]
    allowed = set(SHAPES["gold"][task].__annotations__) - {*GOLD_FIELDS[task], *OUTPUTS[task]}
    for place, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            return {}
        record = renamed(row, paths, predicted=True) if paths else dict(row)
        if record.get(name) in (None, ""):
            return {}
        inputs[identity(record, place)] = {key: value for key, value in record.items() if key in allowed}
    return inputs

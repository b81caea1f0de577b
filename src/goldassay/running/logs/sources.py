"""What a draft of gold is made from: run folders, traces and logs, files of predictions, and plain inputs.

Sources are brought together by id, so that labelled gold pairs with the very files that it was drafted from. Traces and
logs of other tools have ids of their own; theirs are brought together by their inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from goldassay.workspace import attribute
from goldassay.workspace import inputs as inputs_of_program

JSON_ROWS = (".jsonl", ".ndjson", ".json")
LOGS = (".eval", ".json", ".jsonl", ".csv")
DSPY = "dspy.Evaluate"  # a table of it is told from other tables by its columns
OF_DSPY = ("example_", "pred_")


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
    rule: str | None = None,
    repeats: bool = False,
) -> Pool:
    """The inputs of several sources, and what each system answered to them.

    Args:
        places: Run folders, traces and logs of other tools, files of predictions, and files of inputs (a JSON object, a
            row of a table or a line of text each).
        task: The task.
        map: Which field of inputs or answers is which of the task's, such as ``{"text": "body", "label": "output"}``.
        verdicts: A judge's verdicts on the answers of one system: rows with an ``id`` and a ``score`` from 0 to 1
            (``judge eval --out``), or a run that a judge measured.
        rule: Your own function of (example, prediction), ``FILE[:NAME]``: whether an answer is likely wrong, or its
            kind in words.
        repeats: Whether the same inputs under another id of another file are another trace, as week after week.

    Raises:
        GoldassayError: A source cannot be read, or has no inputs or answers.
        DataError: Sources have one id for different inputs, or different ids for the same inputs.
    """
    sources = [source for place in places for source in _sources(Path(place), task, mapping(map) or {})]
    pool = Pool(task, {})
    ids: dict[int, dict[str, str]] = {}  # of each source, the pool's id by its own
    texts: dict[str, str] = {}  # the id of each text, as the sources so far have it
    for source in sorted(sources, key=lambda source: source.own_ids):  # the ids of files come first
        seen = texts if source.own_ids or not repeats else {}
        named = {own: _id(pool, source, own, record, seen) for own, record in source.inputs.items()}
        texts = {**{text_of(pool.inputs[each], task): each for each in named.values()}, **texts}
        ids[id(source)] = named
    systems = [source for source in sources if source.name]
    for source, name in zip(systems, _names(systems), strict=True):
        named = ids[id(source)]
        pool.answers[name] = {named.get(own, own): answer for own, answer in source.answers.items()}
        pool.files += [] if source.own_ids else [source.place]
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
    if rule is not None:
        pool.kinds = _kinds(rule, pool)
    return pool


def _kinds(place: str, pool: Pool) -> dict[str, str]:
    """The kind that a rule names, by the ids of the inputs of which it names one.

    Raises:
        GoldassayError: There is no such rule.
        DataError: The rule raised.
    """
    import dspy

    text, _, function = place.partition(":")
    file = Path(text)
    rule = attribute(file, function or "rule")
    kinds: dict[str, str] = {}
    for name, record in pool.inputs.items():
        for answer in pool.outputs(name):
            if answer is None or name in kinds:
                continue
            try:
                kind = rule(dspy.Example(**record), dspy.Prediction(**answer))  # as DSPy calls a metric
            except Exception as error:
                message = f"the rule {function or 'rule'} raised {type(error).__name__}: {error}"
                raise DataError(message, file=file, record=name) from error
            if kind:
                kinds[name] = kind if isinstance(kind, str) else function or "rule"
    return kinds


def _verdicts(file: Path, pool: Pool) -> dict[str, float]:
    """The verdicts of a file (``judge eval --out``) or a run on the answers of the one system.

    Raises:
        DataError: It has no verdict on any of the inputs.
        GoldassayError: There are several systems.
    """
    if len(pool.answers) != 1:
        raise GoldassayError(f"verdicts are on the answers of one system; the sources have {len(pool.answers)}")
    run = run_at(file)
    rows = stored(run).rows if run.is_dir() else _rows(file)
    scores = {str(row.get("id")): number(row.get("score")) for row in rows if isinstance(row, Mapping)}
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
    count = Counter(source.name for source in systems)
    stems = Counter((source.name, source.place.stem) for source in systems)
    names = []
    for source in systems:
        place = source.place.stem if stems[source.name, source.place.stem] == 1 else source.place
        name = source.name if count[source.name] == 1 else f"{source.name} ({place})"
        names.append(name.replace("=", "-").replace("|", "-"))  # which say who agrees with whom
    return names


def _sources(place: Path, task: str, paths: Mapping[str, str]) -> list[Source]:
    """The systems of a place; a file of inputs is one without a name."""
    place = run_at(place)
    if place.is_dir():
        run = stored(place)
        return [_of_samples(Source(place, run.name), run.rows, task, paths)]
    if not place.exists():
        raise DataError("no such file", file=place)
    suffix = place.suffix.lower()
    if suffix == ".txt" and task != "retrieval":
        lines = enumerate(files.lines(place), start=1)
        name = INPUTS.get(task, "text")
        return [Source(place, inputs={str(number): {name: line} for number, line in lines if line.strip()})]
    systems = systems_in(place) if suffix in LOGS else []
    rows = _rows(place) if not systems or systems[0].tool == DSPY else []
    if systems and (not rows or any(key.startswith(OF_DSPY) for row in rows for key in row)):
        logs = [(Source(place, system.name, own_ids=True), system.samples) for system in systems]
        return [_of_samples(source, samples, task, paths) for source, samples in logs]
    try:
        records = read(rows if rows and suffix in JSON_ROWS else place, task=task, side="pred", map=paths or None)
    except GoldassayError:
        outputs = {*OUTPUTS.get(task, ())}
        answered = any(outputs & {*row, *paths} for row in rows if isinstance(row, Mapping))
        inputs = {} if answered else _inputs_of(rows, task, paths, alone=True)
        if inputs:
            return [Source(place, inputs=inputs)]
        if answered or not rows or task not in TASKS:
            raise
        columns = dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row)
        raise DataError(_absent("input", [INPUTS[task]], columns), file=place) from None
    inputs = _inputs_of(rows or records, task, paths)
    answers = {record["id"]: record for record in records}
    if task not in TASKS:
        answers = {
            name: {key: answers[name][key] for key in answers[name].keys() - {*record, "id"}}
            for name, record in inputs.items()
        }
        if not any(answers.values()):
            return [Source(place, inputs=inputs)]
    if any(row.get("id") in (None, "") for row in rows) and "id" not in paths:
        raise DataError("predictions need an id, by which labelled gold is compared with them", file=place)
    return [Source(place, place.stem, inputs, answers)]


def _of_samples(source: Source, samples: Iterable[Fields], task: str, paths: Mapping[str, str]) -> Source:
    """The system of a run's rows or a log's samples, filled in.

    Raises:
        GoldassayError: A run has no inputs.
        DataError: No answer is one of the task.
    """
    own = Reading(source.place, task, "run", "pred")
    outputs: dict[str, None] = {}
    for sample in samples:
        inputs = _side(sample.get("inputs"), source, task, paths)
        if not inputs and not source.own_ids:
            raise GoldassayError(f"{source.place} was stored without inputs, so no gold can be drafted from it")
        if inputs:
            name = str(sample["id"])
            about = {key: sample[key] for key in ("strata", "document") if sample.get(key) not in (None, {})}
            source.inputs[name] = {**inputs, **about}
            answer = {} if sample.get("error") else _side(sample.get("prediction"), source, task, paths)
            outputs |= dict.fromkeys(answer)
            prediction = record_of({"id": name, "prediction": answer or None, "error": ""}, own)
            source.answers |= {name: prediction} if prediction else {}
    asked = INPUTS.get(task)
    if asked and not any(asked in inputs for inputs in source.inputs.values()):
        there = dict.fromkeys(key for inputs in source.inputs.values() for key in inputs)
        raise DataError(_absent("input", [asked], there), file=source.place)
    if not source.answers:
        raise DataError(_absent("answer", OUTPUTS.get(task, ("output",)), outputs), file=source.place)
    return source


def _absent(noun: str, names: Sequence[str], there: Iterable[str]) -> str:
    """A message: no input or answer has the field of the task."""
    hint = f'`map={{"{names[0]}": "COLUMN"}}`'
    return f"no {noun} has {' or '.join(names)}; there are {', '.join(there) or 'none'}; rename one ({hint})"


def _side(side: Any, source: Source, task: str, paths: Mapping[str, str]) -> Fields:
    """The inputs or the answer of a sample under the names of a mapping; a tool may wrap them in one field."""
    if not isinstance(side, Mapping):
        return {}
    if source.own_ids and len(side) == 1 and not side.keys() & {*OUTPUTS.get(task, ()), *paths.values()}:
        inner = next(iter(side.values()))
        side = inner if isinstance(inner, dict) else side
    values = {name: value for name, path in paths.items() if (value := field_at(side, path, None)) is not None}
    return {**{name: value for name, value in side.items() if name not in paths.values()}, **values}


def _rows(place: Path) -> list[Any]:
    """The rows of a file that has rows of named fields; empty for other formats."""
    suffix = place.suffix.lower()
    if suffix == ".json":
        content = files.json_value(place)
        return content if isinstance(content, list) else []
    if suffix in JSON_ROWS:
        return [row for _, row in files.json_lines(place)]
    return rows_of_table(place) if suffix in (".csv", ".tsv") else []


def _inputs_of(rows: Sequence[Any], task: str, paths: Mapping[str, str], *, alone: bool = False) -> dict[str, Fields]:
    """The inputs of rows by id, with all fields of rows that are inputs ``alone``; none if a row has no input.

    Raises:
        DataError: Nothing says which fields of a task of one's own are inputs.
    """
    names = {*ABOUT[1:], *(SHAPES["gold"][task].__annotations__ if task in TASKS else inputs_of_program(task) or ())}
    if names == {*ABOUT[1:]}:
        raise DataError(f"which fields are inputs? Name a run of {task}, or write programs/{task}.py")
    names -= {*GOLD_FIELDS.get(task, ()), *OUTPUTS.get(task, ()), *ABOUT[-2:]}
    inputs: dict[str, Fields] = {}
    for place, row in enumerate(rows, start=1):
        record = renamed(row, paths, predicted=True) if paths else row
        if not isinstance(record, Mapping) or (task in TASKS and not record.get(INPUTS[task])):
            return {}
        inputs[identity(record, place)] = {key: value for key, value in record.items() if alone or key in names}
    return inputs

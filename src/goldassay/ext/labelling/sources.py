"""The sources of a draft of gold: run folders, traces and logs, files of predictions, and plain inputs.

Sources are brought together by id, so that labelled gold pairs with the very files that it was drafted from. Traces and
logs of other tools have ids of their own; theirs are brought together by their inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, JsonObject, identity
from goldassay.core.fields import read as field_at
from goldassay.core.measure import TASKS
from goldassay.core.shape import ProgramShape
from goldassay.core.steps import CALLING, Step
from goldassay.ext.interop.logs.tools import rows_of_table, systems_in
from goldassay.ext.labelling.drafts import Pool, text_of
from goldassay.gold import read
from goldassay.gold.anyfields import ABOUT_RECORD, flat, mapping, renamed
from goldassay.gold.formats import Source
from goldassay.gold.formats.jsonl import record_of
from goldassay.gold.outputs import OUTPUT_FIELDS
from goldassay.gold.records import INPUT_FIELDS
from goldassay.gold.shapes import SHAPES
from goldassay.measures.trajectories.records import TRAJECTORY, steps_of
from goldassay.running.evaluated import number
from goldassay.running.folder import run_at
from goldassay.running.run import stored
from goldassay.workspace import attribute, own_program

JSON_ROWS = (".jsonl", ".ndjson", ".json")


@dataclass
class LogSource:
    """One system, or inputs alone: what it was asked and what it answered, by its own ids.

    Args:
        place: The file or folder.
        name: The name of the system; empty for inputs alone.
        inputs: What it was asked, if that is stored.
        answers: The predictions that did not fail.
        own_ids: Whether the ids are those of a tool, which no other file has.
        names: The pool's id of each input by its own.
    """

    place: Path
    name: str = ""
    inputs: dict[str, JsonObject] = field(default_factory=dict)
    answers: dict[str, JsonObject] = field(default_factory=dict)
    own_ids: bool = False
    names: dict[str, str] = field(default_factory=dict)


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
        task: The task, or the file of its program, as in ``triage.py:program``.
        map: Which field of inputs or answers is which of the task's, such as ``{"text": "body", "label": "output"}``.
        verdicts: A judge's verdicts on the answers of one system: rows with an ``id`` and a ``score`` from 0 to 1
            (``judge eval --out``), or a run that a judge measured.
        rule: Your own function of (example, prediction), ``FILE[:NAME]``: whether an answer is likely wrong, or its
            kind in words.
        repeats: Whether the same inputs under another id of another file are another trace, as week after week.

    Raises:
        GoldassayError: A source cannot be read, or has no inputs or answers.
        DataError: Sources have one id for different inputs, or different ids for the same inputs; or the rule raised.
    """
    program = own_program(task)
    pool = Pool(program.task if program else task, {})
    if program and pool.task not in TASKS:
        pool.shape = program.shape
    sources = [source for path in places for source in _sources(Path(path), pool, mapping(map) or {})]
    texts: dict[str, str] = {}  # the id of each text, as the sources so far have it
    for source in sorted(sources, key=lambda source: source.own_ids):  # the ids of files come first
        seen = texts if source.own_ids or not repeats else {}
        source.names = {name: _id(pool, source, name, record, seen) for name, record in source.inputs.items()}
        texts = {**{pool.text(item): item for item in source.names.values()}, **texts}
    systems = [source for source in sources if source.name]
    same_names = Counter(source.name for source in systems)
    same_stems = Counter((source.name, source.place.stem) for source in systems)
    for source in systems:
        name = source.name
        if same_names[name] > 1:  # told apart by their places
            name += f" ({source.place.stem if same_stems[name, source.place.stem] == 1 else source.place})"
        name = name.replace("=", "-").replace("|", "-")  # which say who agrees with whom
        pool.answers[name] = {source.names.get(item, item): answer for item, answer in source.answers.items()}
        pool.files += [] if source.own_ids else [source.place]
        absent = next((item for item in pool.answers[name] if item not in pool.inputs), None)
        if absent is not None:
            needed = [INPUT_FIELDS[pool.task]] if pool.task in INPUT_FIELDS else pool.shape.required or ["text"]
            message = "a prediction without its input; add a source with the inputs (runs, or a file of them)"
            column = f'or name its column (`map={{"{needed[0]}": "COLUMN"}}`)'
            raise DataError(f"{message}, {column}", file=source.place, record=absent)
    for name, answers in pool.answers.items():
        failed = len(pool.inputs) - len(answers)
        if failed:
            pool.warnings.append(
                f"{name} has no answer to {failed} of {len(pool.inputs)} inputs, which counts as empty"
            )
    if verdicts is not None:
        if len(pool.answers) != 1:
            raise GoldassayError(f"verdicts are on the answers of one system; the sources have {len(pool.answers)}")
        file = run_at(Path(verdicts))
        rows = [row.state() for row in stored(file).rows] if file.is_dir() else _rows(file)
        scores = {str(row.get("id")): number(row.get("score")) for row in rows if isinstance(row, Mapping)}
        pool.verdicts = {name: score for name, score in scores.items() if score is not None and name in pool.inputs}
        if not pool.verdicts:
            raise DataError("no row has the id of an input and a score", file=verdicts)
    if rule is not None:
        import dspy

        text, _, named_function = rule.partition(":")
        name_of_rule = named_function or "rule"
        file = Path(text)
        function = attribute(file, name_of_rule)
        kinds: dict[str, str] = {}
        for name, record in pool.inputs.items():
            for answer in pool.outputs(name):
                if answer is None or name in kinds:
                    continue
                try:
                    kind = function(dspy.Example(**record), dspy.Prediction(**answer))  # as DSPy calls a metric
                except Exception as error:
                    message = f"the rule {name_of_rule} raised {type(error).__name__}: {error}"
                    raise DataError(message, file=file, record=name) from error
                if kind:
                    kinds[name] = kind if isinstance(kind, str) else name_of_rule
        pool.kinds = kinds
    return pool


def _id(pool: Pool, source: LogSource, source_id: str, record: JsonObject, texts: Mapping[str, str]) -> str:
    """The id of a source's input in the pool, to which it is added if it is new.

    Raises:
        DataError: The id is that of other inputs, or the inputs have another id.
    """
    text = text_of(record, pool.task, pool.shape)
    same = texts.get(text)
    if source_id in pool.inputs and pool.text(source_id) == text:
        return source_id
    if source.own_ids and same is not None:
        return same
    name = f"{source.place.stem}-{source_id}" if source.own_ids and source_id in pool.inputs else source_id
    if name in pool.inputs:
        raise DataError("another source has this id for other inputs", file=source.place, record=source_id)
    if same is not None and same not in source.inputs:
        raise DataError(f"another source has the id {same} for the same inputs", file=source.place, record=source_id)
    pool.add_input(name, record)
    return name


def _sources(path: Path, pool: Pool, paths: Mapping[str, str]) -> list[LogSource]:
    """The systems of a place; a file of inputs is one without a name."""
    task = pool.task
    path = run_at(path)
    if path.is_dir():
        run = stored(path)
        return [_of_samples(LogSource(path, run.name), [row.state() for row in run.rows], pool, paths)]
    if not path.exists():
        raise DataError("no such file", file=path)
    suffix = path.suffix.lower()
    if suffix == ".txt" and task != "retrieval":
        lines = enumerate(files.lines(path), start=1)
        name = INPUT_FIELDS.get(task) or next(iter(pool.shape.required), "text")
        return [LogSource(path, inputs={str(number): {name: line} for number, line in lines if line.strip()})]
    systems = systems_in(path) if suffix in (".eval", ".json", ".jsonl", ".csv") else []
    # a table of dspy.Evaluate is told from other tables by its columns
    rows = _rows(path) if not systems or systems[0].tool == "dspy.Evaluate" else []
    if systems and (not rows or any(key.startswith(("example_", "pred_")) for row in rows for key in row)):
        logs = [(LogSource(path, system.name, own_ids=True), system.samples) for system in systems]
        return [_of_samples(source, samples, pool, paths) for source, samples in logs]
    try:
        records = read(rows if rows and suffix in JSON_ROWS else path, task=task, side="pred", map=paths or None)
    except GoldassayError as error:
        outputs = {*OUTPUT_FIELDS.get(task, ())}
        traces = [flat(row, paths, predicted=True) for row in rows if isinstance(row, Mapping)]
        columns = dict.fromkeys(key for row in traces for key in row)
        answered = bool(outputs & {*columns, *paths})
        inputs = {} if answered else _inputs_of(rows, path, pool, paths, alone=True)
        if inputs:
            return [LogSource(path, inputs=inputs)]
        if answered or not rows or task not in TASKS:
            if isinstance(error, DataError) and rows and suffix in JSON_ROWS:  # an error of rows names no file
                raise DataError(error.what, file=path, record=error.record, field=error.field) from None
            raise
        raise DataError(_absent("input", [INPUT_FIELDS[task]], columns), file=path) from None
    inputs = _inputs_of(rows or records, path, pool, paths)
    answers = {record["id"]: record for record in records}
    if task not in TASKS:
        answers = {name: _answer(record, pool.shape) for name, record in answers.items()}
        if not any(answers.values()):
            _check_inputs(inputs.values() or rows, path, pool)
            return [LogSource(path, inputs=inputs)]
    named = [row for row in rows if isinstance(row, Mapping)]
    if any(row.get("id") in (None, "") and "inputs" not in row for row in named) and "id" not in paths:
        hint = 'name its column (`map={"id": "COLUMN"}`), or leave out the answers to read inputs alone'
        raise DataError(f"predictions need an id, by which labelled gold is compared with them; {hint}", file=path)
    return [LogSource(path, path.stem, inputs, answers)]


def _answer(record: Mapping[str, object], shape: ProgramShape) -> JsonObject:
    """The answer of a row of a user's task: the outputs that its program declares, or all that is not an input."""
    names = [name for name in record if name in (shape.answered or record.keys() - {*shape.asked, *ABOUT_RECORD})]
    return {name: record[name] for name in names}


def _of_samples(source: LogSource, samples: Iterable[Fields], pool: Pool, paths: Mapping[str, str]) -> LogSource:
    """The system of a run's rows or a log's samples, filled in.

    Raises:
        GoldassayError: A run has no inputs.
        DataError: No answer is one of the task.
    """
    task = pool.task
    reading = Source(source.place, task, "run", "pred")
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
            prediction = record_of({"id": name, "prediction": answer or None, "error": ""}, reading)
            if prediction:
                steps = [step.state() if isinstance(step, Step) else step for step in sample.get("steps") or ()]
                has_own = not prediction.keys().isdisjoint(TRAJECTORY) or bool(steps_of(prediction))
                if _says_more(steps) and not (task == "trajectories" and has_own):
                    prediction["trajectory"] = steps
                source.answers[name] = prediction
    _check_inputs(source.inputs.values(), source.place, pool)
    if not source.answers:
        outputs_of_task = OUTPUT_FIELDS.get(task) or pool.shape.outputs or ("output",)
        raise DataError(_absent("answer", outputs_of_task, outputs), file=source.place)
    return source


def _says_more(steps: Sequence[JsonObject]) -> bool:
    """Whether steps tell a reader more than the answer: one is a call, or one was followed by another."""
    parents = [step.get("parent") for step in steps]
    return any(step.get("kind", "") in CALLING for step in steps) or len({*parents}) < len(parents)


def _check_inputs(rows: Collection[Mapping[str, object]], path: Path, pool: Pool) -> None:
    """Check that some row has each input that the task needs.

    Raises:
        DataError: None has.
    """
    needed = [INPUT_FIELDS[pool.task]] if pool.task in INPUT_FIELDS else pool.shape.required
    there = dict.fromkeys(key for row in rows for key in row if key not in ABOUT_RECORD or key in needed)
    absent = [name for name in needed if name not in there]
    if absent:
        raise DataError(_absent("input", absent, there), file=path)


def _absent(noun: str, names: Sequence[str], there: Iterable[str]) -> str:
    """A message: no input or answer has the field of the task."""
    fields = ", ".join(there)
    if not fields:
        return f"no {noun} has {' or '.join(names)}, nor any other field: record what was asked, and the answer"
    hint = f'`map={{"{names[0]}": "COLUMN"}}`'
    return f"no {noun} has {' or '.join(names)}; there are {fields}; rename one ({hint})"


def _side(side: Any, source: LogSource, task: str, paths: Mapping[str, str]) -> JsonObject:
    """The inputs or the answer of a sample under the names of a mapping; a tool may wrap them in one field."""
    if not isinstance(side, Mapping):
        return {}
    if source.own_ids and len(side) == 1 and not side.keys() & {*OUTPUT_FIELDS.get(task, ()), *paths.values()}:
        inner = next(iter(side.values()))
        side = inner if isinstance(inner, dict) else side
    if source.own_ids and len(side) == 1 and task in TASKS:  # a log has a text alone, under a name of its own
        fields = {"input": INPUT_FIELDS[task], "inputs": INPUT_FIELDS[task]}
        fields |= {"output": "answer"} if "answer" in OUTPUT_FIELDS[task] else {}
        side = {fields.get(name, name) if name not in paths.values() else name: value for name, value in side.items()}
    values = {name: value for name, path in paths.items() if (value := field_at(side, path, None)) is not None}
    return {**{name: value for name, value in side.items() if name not in paths.values()}, **values}


def _rows(path: Path) -> list[Any]:
    """The rows of a file that has rows of named fields; empty for other formats."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        content = files.json_value(path)
        return content if isinstance(content, list) else []
    if suffix in JSON_ROWS:
        return [row for _, row in files.json_lines(path)]
    return rows_of_table(path) if suffix in (".csv", ".tsv") else []


def _inputs_of(
    rows: Sequence[object], path: Path, pool: Pool, paths: Mapping[str, str], *, alone: bool = False
) -> dict[str, JsonObject]:
    """The inputs of rows by id, with all fields of rows that are inputs ``alone``; none if a row has no input.

    Raises:
        DataError: Nothing says which fields of a task of one's own are inputs.
    """
    task = pool.task
    is_own_task = task not in TASKS
    if is_own_task and not pool.shape.asked:
        columns = dict.fromkeys(
            key for row in rows if isinstance(row, Mapping) for key in row if key not in ABOUT_RECORD
        )
        question = f"which of {', '.join(columns)} are inputs?"
        raise DataError(f"{question} Name the file of the program that reads them (`task={task}.py`)", file=path)
    # the pool leaves out gold
    names = set() if is_own_task else {*ABOUT_RECORD, *SHAPES["gold"][task].__annotations__} - {"preferred"}
    inputs: dict[str, JsonObject] = {}
    for index, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            return {}
        record = flat(row, paths, predicted=False)
        record = renamed(record, paths, predicted=True) if paths else record
        if not is_own_task and not record.get(INPUT_FIELDS[task]):
            return {}
        hidden = _answer(record, pool.shape) if is_own_task else ()
        fields = {key: record[key] for key in record if key not in hidden and (is_own_task or alone or key in names)}
        inputs[identity(record, index)] = fields
    if is_own_task and not any(name in record for record in inputs.values() for name in pool.shape.asked):
        return {}  # answers alone
    _check_inputs(inputs.values(), path, pool)
    return inputs

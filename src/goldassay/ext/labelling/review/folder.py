"""The folder of a review: the draft, the settings, the decisions, the guidelines, and the gold that is written of them.

New traces come in waves, week after week, with the same modes (`add_wave`): each is drafted from its own traces for the
question of the first. Its records carry the time of the draft, and estimates take waves as strata of all traces
(`goldassay.statistics.design`).

::

    review.json     task, reviewer, share for two reviewers, what the draft was made of
    draft.jsonl     the records to label, with suggestions and how they were chosen
    labels.jsonl    the decisions, one a line
    guidelines.md   what the reviewers agreed on
    modes.yaml      the failure modes: name, description, examples; edit the descriptions as you like
    reviewed.jsonl  the records that were read, with their modes, also those without gold
    gold.jsonl      the labelled records (``--export``), and card.yaml, which says how good the labels are
    knowledge.jsonl for linking, if you put it there: ``{"id", "label", "aliases", "description"}`` a line
    schema.json     for records and tasks of your own: their JSON Schema, which the task's program declares, or yours
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from goldassay import workspace
from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.secrets import mask, redact
from goldassay.core.fields import Fields, JsonObject, Record, check_unique
from goldassay.core.measure import TASKS
from goldassay.ext.labelling import REVIEW, SUFFIX
from goldassay.ext.labelling.drafts import GOLD_FIELDS, Pool, draft, next_steps, text_of
from goldassay.ext.labelling.sources import pool_of
from goldassay.gold import anyfields, formats, reading
from goldassay.gold.anyfields import ABOUT_RECORD
from goldassay.gold.formats import HEAD_BYTES, TASK_OF_FIELD
from goldassay.gold.records import SPANS, as_gold, candidate_ids, problems, prove
from goldassay.gold.shapes import SHAPES
from goldassay.running.head import now
from goldassay.statistics.design import SAMPLING, Design
from goldassay.workspace import own_program
from goldassay.workspace.search import LabelEntry, LabelTable

SUGGESTIONS = "suggestions"
DRAFT_FILE = "draft.jsonl"
SCHEMA_FILE = "schema.json"


class Settings(BaseModel):
    """The settings of a review, which stay the same when it goes on.

    Args:
        task: The task.
        who: The reviewer, where the page names none.
        overlap: The share of the records that two reviewers label.
        judge: Whether the judge's verdicts are shown.
        created: When the folder was made.
        sources: The files and folders that its records were drafted from, relative to the folder.
        program: The file of the program and its name there, relative to the folder, if it was named.
        map: The fields of the sources under other names.
    """

    model_config = ConfigDict(extra="forbid")
    task: str
    who: Annotated[str, AfterValidator(redact)] = Field(default="me", min_length=1, max_length=200)
    overlap: float = Field(default=0.0, ge=0, le=1)
    judge: bool = False
    created: str | None = None
    sources: list[str] = []
    program: str | None = None
    map: dict[str, str] = {}


@dataclass(frozen=True)
class Suggestion:
    """A system's answer to a record: as it is, and in the fields of gold."""

    system: str
    output: JsonObject
    value: JsonObject


@dataclass
class Folder:
    """The folder of a review.

    Args:
        path: The folder.
        settings: Its settings.
        records: The records of the draft.

    Raises:
        DataError: The draft cannot be read.
    """

    path: Path
    settings: Settings
    records: Sequence[Fields]

    def __post_init__(self) -> None:
        self.design = Design.of(self.records, self.path / DRAFT_FILE)
        for record in self.records:
            for name, output in (record.get(SUGGESTIONS) or {}).items():
                try:
                    as_gold(output, self.task)
                except (AttributeError, TypeError, KeyError, ValueError):
                    message = f"the answer of {name} is not one of {self.task}"
                    raise DataError(message, file=self.path / DRAFT_FILE, record=record["id"]) from None
        self._lock = FileLock(self.path / ".lock")

    def lock(self) -> None:
        """Keep other processes from reviewing the folder, until it is closed.

        Raises:
            GoldassayError: Another process has it open.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            message = f"{self.path} is being reviewed by another process; open the address that it printed"
            raise GoldassayError(message) from None

    @classmethod
    def open(
        cls,
        sources: Sequence[Path],
        task: str | None = None,
        *,
        question: str | None = None,
        n: int | None = None,
        seed: int | None = None,
        map: str | Mapping[str, str] | None = None,
        **settings: Any,
    ) -> Folder:
        """The folder of a review: one to go on with, that of a draft, or that of a draft which is made of sources.

        Args:
            sources: The folder of a review; a draft, whose folder is beside it; or what a draft is made of
                (`goldassay.ext.labelling.sources.pool_of`), whose folder is made here.
            task: The task, or the file of its program; of a draft it is guessed if not given.
            question: What the labels of a new draft are for.
            n: How many records a new draft has (40).
            seed: The seed of a new draft.
            map: The fields of the sources under other names.
            settings: The other `Settings`; None is the default, or what the folder has.

        Raises:
            DataError: The draft cannot be read, or its folder has another one.
            GoldassayError: The sources have no task, or do not allow the question; the records are chosen and an option
                is for a new draft; or there is something to write, and another process has the folder open.
        """
        first = sources[0]
        named = task
        program = own_program(task) if task else None
        task = program.task if program else task
        resumed = len(sources) == 1 and (first / REVIEW).exists()
        drafted = not resumed and not (len(sources) == 1 and is_draft(first))
        stem = Path(first.resolve().name) if drafted else first
        path = first if resumed else stem.with_suffix(SUFFIX)
        existing = _settings(path)
        if task and existing and task != existing.task:
            raise DataError(f"its labels are for {existing.task}, not for {task}", file=path)
        task = existing.task if existing else task
        for name, value in {"question": question, "n": n, "seed": seed, "map": map if existing else None}.items():
            if value is not None and not drafted:
                raise GoldassayError(f"`{name}=` is for a new draft; the records of {first} are chosen")
        if drafted:
            if not first.exists():
                raise DataError("no such file", file=first)
            if not task:
                raise GoldassayError(f"{first} is not a draft; name the task of its inputs (`task=`) to draft them")
            pool = pool_of(sources, str(named), map=map)
            content = json_lines(draft(pool, question, n=n or 40, seed=seed or 0).records)
        elif not resumed and first.suffix == ".jsonl":
            if not task:
                task = task_of(records_of(first))
            if not task:
                raise DataError("name the task of the draft (`task=`): its suggestions do not imply one", file=first)
            content = _masked(first)
        elif not resumed:
            task = task or formats.task_of(first)
            form = "label-studio" if first.suffix == ".json" else formats.by_name(first)  # as gold draft writes it
            content = json_lines(mask(row) for row in reading.read(first, task, format=form, drafts=True))
        else:
            content = b""
        if content:
            old = _masked(path / DRAFT_FILE) if (path / DRAFT_FILE).exists() else b""
            if not old.startswith(content) and not content.startswith(old):
                message = f"its labels are of another draft; go on with them ({path}), or move the folder away"
                raise DataError(message, file=path)
            content = b"" if old.startswith(content) else content  # it has these records already, and perhaps more
        records = records_of(first, content) if content else records_of(path / DRAFT_FILE)
        sampling = Design.of(records, first if content else path / DRAFT_FILE).first
        new: JsonObject = {"task": task, "created": now()}
        new["sources"] = [relpath(source, path) for source in sources] if drafted else list(sampling.sources or ())
        new["map"] = anyfields.mapping(map) or sampling.map or {}
        if program and str(named).partition(":")[0].endswith(".py"):
            new["program"] = f"{relpath(program.file, path)}:{program.name}"
        changes = {name: value for name, value in settings.items() if value is not None}
        chosen = files.validated(Settings, {**(existing.model_dump() if existing else new), **changes}, path / REVIEW)
        contents: dict[Path, str | bytes] = {}
        if content:
            contents[path / DRAFT_FILE] = content
        if chosen != existing:
            contents[path / REVIEW] = f"{jsonl.dumps(chosen.model_dump(), 2)}\n"
        task = chosen.task
        folder = cls(path, chosen, records)
        program = program or own_program(folder.target)
        if program and folder.schema is None and (task == "records" or task not in TASKS):
            answers = [answer for record in folder.records for answer in (record.get(SUGGESTIONS) or {}).values()]
            if (schema := declared(program, answers)) is not None:
                contents[path / SCHEMA_FILE] = f"{jsonl.dumps(schema, 2)}\n"
        if contents:
            folder.write(contents)
        return folder

    def write(self, contents: Mapping[Path, str | bytes]) -> None:
        """Write files of the folder: all, or none.

        Raises:
            GoldassayError: Another process has it open.
            StorageError: A file cannot be written.
        """
        with jsonl.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self.lock()
        try:
            files.save_all(contents)
        finally:
            self.close()

    def append(self, records: Iterable[JsonObject], contents: Mapping[Path, str | bytes] = {}) -> None:
        """Write records behind those of the draft, and other files of the folder with them.

        Raises:
            GoldassayError: Another process has it open.
            StorageError: A file cannot be written.
        """
        draft = (self.path / DRAFT_FILE).read_bytes().removesuffix(b"\n")
        self.write({self.path / DRAFT_FILE: draft + b"\n" + json_lines(records), **contents})

    @classmethod
    def read(cls, path: Path) -> Folder:
        """The folder of a review as it is, of which nothing is changed.

        Raises:
            DataError: It is not a folder of a review, or cannot be read.
        """
        settings = _settings(path)
        if settings is None:
            raise DataError("no folder of a review; goldassay review makes one of traces", file=path)
        return cls(path, settings, records_of(path / DRAFT_FILE))

    @property
    def sources(self) -> list[Path]:
        """The files and folders that the records were drafted from."""
        return [self.path / source for source in self.settings.sources]

    @property
    def task(self) -> str:
        """The task."""
        return self.settings.task

    @property
    def target(self) -> str:
        """The task, or the file of its program and the name there."""
        program = self.settings.program
        return str((self.path / program).resolve()) if program else self.task

    def pool(self, sources: Iterable[Path]) -> Pool:
        """The traces of sources, read as those of its draft were.

        Raises:
            GoldassayError: A source cannot be read.
        """
        return pool_of(sources, self.target, map=self.settings.map, repeats=True)

    @property
    def next_steps(self) -> list[str]:
        """The commands that take its labels, as they are typed in the current folder."""
        if not self.design.drafted:
            return []
        task = relpath(self.target.removesuffix(":program")) if self.settings.program else self.task
        files = [Path(relpath(source)) for source in self.sources]
        if len(files) > len(self.systems):  # some have inputs alone
            files = [file for file in files if file.stem in self.systems]
        return next_steps(self.design.question, task, Path(relpath(self.path)), files, self.settings.map)

    @property
    def mode(self) -> Literal["label", "compare"]:
        """Whether records are labelled, or sides compared whose names are hidden."""
        return "compare" if self.design.question == "compare" else "label"

    @cached_property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return list(dict.fromkeys(name for record in self.records for name in record.get(SUGGESTIONS) or {}))

    @cached_property
    def outputs(self) -> list[str]:
        """The fields that a decision sets: of a built-in task those that the suggestions have, and its first."""
        present = dict.fromkeys(name for value in self.suggested for name in value)
        return list(present or GOLD_FIELDS.get(self.task, ())[:1] or (self.schema or {}).get("properties", ()))

    @cached_property
    def suggested(self) -> list[Fields]:
        """The gold fields of all suggestions."""
        return [item.value for index in range(len(self.records)) for item in self.suggestions(index)]

    def first(self, index: int) -> Suggestion | None:
        """The answer of the first system that has one."""
        answers = {item.system: item for item in self.suggestions(index)}
        return next((answers[name] for name in self.systems if name in answers), None)

    def fields(self, index: int, blind: bool = False) -> JsonObject:
        """The fields of a record that a reviewer reads: its inputs, and what else is known of it.

        Args:
            index: The record.
            blind: Whether nothing may give away whose answers are shown, or which is right: then the inputs alone,
                since any other column of a file may hold an old answer.
        """
        inputs = self.inputs(index)
        if blind or self.mode == "compare":
            return inputs
        record = self.records[index]
        extra = {name: record[name] for name in record if name not in inputs} | (record.get("meta") or {})
        return inputs | {name: value for name, value in extra.items() if name not in self._not_read}

    def inputs(self, index: int) -> JsonObject:
        """The inputs of a record; of a task of your own its language may be one."""
        task = self.task
        hidden = self._not_read - ({"language"} if task not in TASKS else set())
        names = SHAPES["gold"][task].__annotations__ if task in TASKS else self.records[index]
        return {name: value for name, value in self.records[index].items() if name in names and name not in hidden}

    @cached_property
    def _not_read(self) -> set[str]:
        """The fields of a record that nobody is asked about: what is decided, gold, and facts about the record."""
        gold = (*GOLD_FIELDS[self.task], "errors") if self.task in TASKS else self._declared
        return {*ABOUT_RECORD, *self.outputs, *gold}

    def suggestions(self, index: int, visit: str = "first") -> list[Suggestion]:
        """The answers to a record: in compare in a random order that changes with the visit."""
        outputs = self.records[index].get(SUGGESTIONS) or {}
        answers = []
        for name, output in outputs.items():
            value = as_gold(output, self.task)
            declared = {field: value[field] for field in value if field in self._declared}
            answers.append(Suggestion(name, output, declared or value))
        if self.mode == "compare":
            random.Random(f"{self.design.first.seed} {index} {visit}").shuffle(answers)
        return answers

    @cached_property
    def knowledge(self) -> LabelTable:
        """The entries that mentions may be linked to."""
        file = self.path / "knowledge.jsonl"
        return LabelTable.load(file) if file.exists() else LabelTable()

    @cached_property
    def _declared(self) -> Collection[str]:
        """The outputs that the program of a user's task declares: anything else that it returns is not an answer."""
        return () if self.task in TASKS else (self.schema or {}).get("properties", ())

    @property
    def schema(self) -> Fields | None:
        """The JSON Schema of the records to fill in."""
        file = self.path / SCHEMA_FILE
        schema = files.json_value(file) if file.exists() else None
        return schema

    def place(self, item: str) -> tuple[int, str]:
        """The record and the visit that an item names.

        Raises:
            DataError: There is no such item.
        """
        match = re.fullmatch(r"(0|[1-9][0-9]{0,8})(?::(repeat|conflict))?", item)
        if match and int(match[1]) < len(self.records):
            return int(match[1]), match[2] or "first"
        raise DataError(f"no item {item!r}")

    def check(self, index: int, value: JsonObject) -> None:
        """Check that a record with this value is gold of its task.

        Raises:
            DataError: It is not; the message names the field.
        """
        task = self.task
        name = self.records[index]["id"]
        allowed = dict.fromkeys([*self.outputs, *GOLD_FIELDS.get(task, ())])
        if other := next((key for key in value if key not in allowed), None):
            message = f"no such field to decide; there are {', '.join(allowed)}"
            raise DataError(message, record=name, field=other)
        if task not in TASKS:
            return
        checked = problems({**self.records[index], **value}, task, extra="ignore")
        if isinstance(checked, list):
            raise checked[0]
        if task in SPANS:
            prove(checked["text"], checked[SPANS[task]], SPANS[task], name)

    def entry(self, entry: LabelEntry) -> JsonObject:
        """An entry of the knowledge base for the page."""
        return {
            "id": entry.id,
            "ids": candidate_ids({"id": entry.id}),
            "label": entry.label,
            "description": entry.description,
        }

    def guidelines(self) -> dict[str, str]:
        """The text of the guidelines, and its version."""
        file = self.path / "guidelines.md"
        text = files.text(file) if file.exists() else ""
        return {"text": text, "version": hashlib.sha256(text.encode()).hexdigest()[:16]}

    def write_guidelines(self, text: str, record: str | None = None) -> None:
        """Write the guidelines; each new line ends with the record that prompted it.

        Raises:
            DataError: They are too long.
        """
        text = redact(text)
        if record is not None:
            old = {"", *self.guidelines()["text"].splitlines()}
            prompted = f" (record {' '.join(record.split())})"
            text = "\n".join(line if line.rstrip() in old else line.rstrip() + prompted for line in text.splitlines())
        if len(text.encode("utf-8", "replace")) > 64 * 1024:
            raise DataError("guidelines have at most 64 KB")
        files.save(self.path / "guidelines.md", text)

    def close(self) -> None:
        """Let other processes open the folder."""
        self._lock.release()


def _settings(path: Path) -> Settings | None:
    """The settings of a folder; None if it is not a folder of a review."""
    file = path / REVIEW
    return files.validated(Settings, files.json_value(file), file) if file.exists() else None


def task_of(records: Sequence[Record]) -> str | None:
    """The task that a draft's suggestions imply; steps that come with an answer only show how it was reached.

    >>> task_of([{"id": "a", "suggestions": {"run": {"label": "M", "trajectory": []}}}])
    'classification'
    """
    fields = {**TASK_OF_FIELD, "query": "retrieval", "results": "retrieval", "labels": "classification"}
    outputs = set[str]().union(*(answer for record in records for answer in (record.get(SUGGESTIONS) or {}).values()))
    names = outputs.union(*records)
    if fields.keys() & outputs - {"trajectory"}:
        names.discard("trajectory")
    return next((fields[name] for name in fields if name in names), None)


def is_draft(file: Path) -> bool:
    """Whether a file holds records that were drafted: with suggestions, or how they were chosen."""
    if not file.is_file():
        return False
    if file.suffix != ".jsonl":
        with files.opened(file) as stream:
            return SAMPLING.encode() in stream.read(HEAD_BYTES)
    _, row = next(files.json_lines(file), (0, None))
    return isinstance(row, dict) and (SUGGESTIONS in row or SAMPLING in row)


def _masked(file: Path) -> bytes:
    """The lines of a draft, in which secrets are masked; a line without one stays as it is."""
    lines = file.read_bytes().removeprefix(files.BOM).splitlines(keepends=True)
    for number, line in enumerate(lines):
        record = jsonl.value(line, file=file, line=number + 1) if line.strip() else None
        if mask(record) != record:
            lines[number] = f"{jsonl.dumps(mask(record))}\n".encode()
    return b"".join(lines)


def json_lines(rows: Iterable[JsonObject]) -> bytes:
    """Rows as JSON Lines."""
    return "".join(f"{jsonl.dumps(row)}\n" for row in rows).encode("utf-8", "replace")


def records_of(file: Path, content: bytes | None = None) -> list[JsonObject]:
    """The records of a draft.

    Args:
        file: Its file.
        content: The lines, if they are not those of the file.

    Raises:
        DataError: A line is not a record, or two have one id.
    """
    rows = files.json_lines(file)
    if content is not None:
        lines = enumerate(content.splitlines(), start=1)
        rows = ((number, jsonl.value(line, file=file, line=number)) for number, line in lines if line.strip())
    records = []
    for number, row in rows:
        suggestions = row.get(SUGGESTIONS) or {} if isinstance(row, dict) else None
        if not isinstance(suggestions, dict) or not all(isinstance(item, dict) for item in suggestions.values()):
            raise DataError(
                'a record of a draft is an object, with "suggestions": {SYSTEM: {…}}', file=file, line=number
            )
        if not isinstance(row.get("meta") or {}, dict):
            raise DataError("expected an object", file=file, line=number, field="meta")
        if row.get("id") in (None, ""):
            raise DataError("a record of a draft needs an id", file=file, line=number)
        records.append(row | {"id": str(row["id"])})
    check_unique(records, file)
    if not records:
        raise DataError("a draft without records", file=file)
    return records


def declared(target: workspace.Target, answers: Iterable[Record]) -> JsonObject | None:
    """The JSON Schema of the outputs that a program declares in its signatures; None if it declares none of them.

    Args:
        target: The program.
        answers: The answers of the draft; a declaration that lacks one of their fields is that of other records.

    Raises:
        GoldassayError: The program cannot be loaded.
    """
    fields: dict[str, Any] = {}
    for name, field in target.shape.declarations.items():
        hint = str((field.json_schema_extra or {}).get("desc") or "")
        fields[name] = (field.annotation, Field(description=None if hint.startswith("${") else hint))
    schema = create_model("Outputs", **fields).model_json_schema()
    if target.task in TASKS:
        answers = [answer.get("record") or {} for answer in answers]
        schema |= schema.get("properties", {}).get("record", {"properties": {}})
        schema |= schema["$defs"][str(schema.pop("$ref")).rpartition("/")[2]] if "$ref" in schema else {}
    names = {name for answer in answers for name in target.shape.answer(answer)}
    return schema if schema.get("properties") and names <= schema["properties"].keys() else None


def add_wave(folder: Folder, sources: Sequence[Path], *, n: int = 40, seed: int = 0) -> tuple[Folder, list[str]]:
    """Draft a wave of new traces into a review; returns the folder with them, and what a reader should know.

    Traces that the review was drafted from before are left out.

    Args:
        folder: The folder.
        sources: What the wave is drafted from, as the first draft was.
        n: At most so many records.
        seed: The seed of the wave's draft.

    Raises:
        GoldassayError: The review compares systems, does not say how its records were chosen, or has all these traces;
            or another process has it open.
        DataError: A source cannot be read, or has an id that the review has for other inputs.
    """
    if not folder.design.drafted:
        message = "its records do not say how they were chosen, so no wave can be weighted with them"
        raise GoldassayError(f"{folder.path}: {message}; draft the new traces into a folder of their own")
    if folder.mode == "compare":
        raise GoldassayError(f"{folder.path} compares systems; draft the new traces into a folder of their own")

    def text(record: JsonObject) -> str:
        """The key that identifies a trace."""
        hidden = (*ABOUT_RECORD, *folder.outputs)
        return redact(text_of({name: value for name, value in record.items() if name not in hidden}, folder.task))

    wave = datetime.now(UTC).isoformat()
    earlier = [path for path in folder.sources if path.exists()]
    seen = {str(record["id"]): text(record) for record in folder.records}
    seen |= {name: text(record) for name, record in folder.pool(earlier).inputs.items()}
    pool = folder.pool([*earlier, *sources])  # ids are as if all of them had been read at once
    for name in pool.inputs.keys() & seen:
        if text(pool.inputs[name]) != seen[name]:
            message = f"{folder.path} has this id for other inputs; new traces need ids of their own"
            raise DataError(message, record=name)
    inputs = {name: record for name, record in pool.inputs.items() if name not in seen}
    left_out = len(folder.pool(sources).inputs) - len(inputs)
    if not inputs:
        raise GoldassayError(f"{folder.path}: all {left_out} traces of these sources are in it already")
    answers = {system: {name: item[name] for name in inputs if name in item} for system, item in pool.answers.items()}
    answered = {system: item for system, item in answers.items() if item}
    pool = Pool(pool.task, inputs, answered, shape=pool.shape)
    drafted = draft(pool, folder.design.question, n=n, seed=seed)
    records = [{**record, SAMPLING: {**record[SAMPLING], "wave": wave}} for record in drafted.records]
    places = [relpath(source, folder.path) for source in sources]
    settings = folder.settings.model_copy(update={"sources": [*folder.settings.sources, *places]})
    folder.append(records, {folder.path / REVIEW: f"{jsonl.dumps(settings.model_dump(), 2)}\n"})
    messages = [f"drafted: {len(records)} of {len(pool.inputs)} new traces", *drafted.warnings]
    if left_out:
        messages.append(f"left out, since the review was drafted from them before: {left_out}")
    return Folder.read(folder.path), messages

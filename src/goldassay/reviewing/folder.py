"""The folder of a review: the draft, the settings, the decisions, the guidelines, and the gold that is written of them.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import relpath
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique
from goldassay.gold import formats, reading
from goldassay.gold.anyfields import ABOUT
from goldassay.gold.drafts import GOLD_FIELDS, draft
from goldassay.gold.formats import HEAD, TASK_OF_FIELD
from goldassay.gold.modes import REVIEW
from goldassay.gold.records import as_gold, candidate_ids
from goldassay.gold.shapes import Fields, Record
from goldassay.measure import TASKS
from goldassay.reviewing.forms import declared, program_of
from goldassay.running.about import now
from goldassay.running.logs.sources import pool_of
from goldassay.search import LabelEntry, LabelTable
from goldassay.statistics.design import SAMPLING, Design

SUGGESTIONS = "suggestions"
DRAFT = "draft.jsonl"
SUFFIX = ".review"
SETTINGS = REVIEW
SCHEMA = "schema.json"
MOST = 64 * 1024  # bytes of guidelines


class Settings(BaseModel):
    """The settings of a review, which stay the same when it goes on.

    Args:
        task: The task.
        who: The reviewer, where the page names none.
        overlap: The share of the records that two reviewers label.
        judge: Whether the judge's verdicts are shown.
        created: When the folder was made.
        sources: The files and folders that its records were drafted from, relative to the folder.
    """

    model_config = ConfigDict(extra="forbid")
    task: str
    who: str = Field(default="me", min_length=1, max_length=200)
    overlap: float = Field(default=0.0, ge=0, le=1)
    judge: bool = False
    created: str | None = None
    sources: list[str] = []


@dataclass(frozen=True)
class Suggestion:
    """A system's answer to a record: as it is, and in the fields of gold."""

    system: str
    output: Fields
    value: Fields


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
        self.design = Design.of(self.records, self.path / DRAFT)
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
        n: int = 40,
        seed: int = 0,
        **settings: Any,
    ) -> Folder:
        """The folder of a review: one to go on with, that of a draft, or that of a draft which is made of sources.

        Args:
            sources: The folder of a review; a draft, whose folder is beside it; or what a draft is made of
                (`goldassay.running.logs.sources.pool_of`), whose folder is made here.
            task: The task, or the file of its program; of a draft it is guessed if not given.
            question: What the labels of a new draft are for.
            n: How many records a new draft has.
            seed: The seed of a new draft.
            settings: The other `Settings`; None is the default, or what the folder has.

        Raises:
            DataError: The draft cannot be read, or its folder has another one.
            GoldassayError: The sources have no task, or do not allow the question.
        """
        first = sources[0]
        program = program_of(task) if task else None
        task = program.task if program else task
        resumed = len(sources) == 1 and (first / SETTINGS).exists()
        drafted = not resumed and not (len(sources) == 1 and is_draft(first))
        place = Path(first.resolve().name) if drafted else first
        path = first if resumed else place.with_suffix(SUFFIX)
        own = _settings(path)
        if task and own and task != own.task:
            raise DataError(f"its labels are for {own.task}, not for {task}", file=path)
        task = own.task if own else task
        if drafted:
            if not first.exists():
                raise DataError("no such file", file=first)
            if not task:
                raise GoldassayError(f"{first} is no draft; name the task of its inputs (`task=`) to draft them")
            _keep(path, json_lines(draft(pool_of(sources, task), question, n=n, seed=seed).records))
        elif not resumed:
            task = task or (task_of(first) if first.suffix == ".jsonl" else formats.task_of(first))
            _keep(path, _as_lines(first, task))
        new = {"task": task, "created": now(), "sources": [relpath(source, path) for source in sources if drafted]}
        changes = {name: value for name, value in settings.items() if value is not None}
        chosen = files.validated(Settings, {**(own.model_dump() if own else new), **changes}, path / SETTINGS)
        files.save_json(path / SETTINGS, chosen.model_dump())
        task = chosen.task
        folder = cls(path, chosen, records_of(path / DRAFT))
        program = program or program_of(task)
        if program and folder.schema is None and (task == "records" or task not in TASKS):
            answers = [answer for record in folder.records for answer in (record.get(SUGGESTIONS) or {}).values()]
            if (schema := declared(program, answers)) is not None:
                files.save_json(path / SCHEMA, schema)
        return folder

    @classmethod
    def read(cls, path: Path) -> Folder:
        """The folder of a review as it is, of which nothing is changed.

        Raises:
            DataError: It is no folder of a review, or cannot be read.
        """
        settings = _settings(path)
        if settings is None:
            raise DataError("no folder of a review; goldassay review makes one of traces", file=path)
        return cls(path, settings, records_of(path / DRAFT))

    @property
    def sources(self) -> list[Path]:
        """The files and folders that the records were drafted from."""
        return [self.path / place for place in self.settings.sources]

    @property
    def task(self) -> str:
        """The task."""
        return self.settings.task

    @property
    def seed(self) -> int:
        """The seed of the draft."""
        return self.design.first.seed if self.design else 0

    @property
    def mode(self) -> Literal["label", "compare"]:
        """Whether records are labelled, or sides compared whose names are hidden."""
        return "compare" if self.design and self.design.question == "compare" else "label"

    @cached_property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return list(dict.fromkeys(name for record in self.records for name in record.get(SUGGESTIONS) or {}))

    @cached_property
    def outputs(self) -> list[str]:
        """The fields that a decision sets: of a built-in task those that the suggestions have, and its first."""
        values = [suggestion.value for index in range(len(self.records)) for suggestion in self.suggestions(index)]
        present = dict.fromkeys(name for value in values for name in value)
        return list(present or GOLD_FIELDS.get(self.task, ())[:1] or (self.schema or {}).get("properties", ()))

    def fields(self, index: int) -> Fields:
        """The fields of a record that a reviewer reads: its inputs, and what is known of it beside them."""
        others = (self.records[index].get("meta") or {}).items()
        return self.inputs(index) | {name: value for name, value in others if name not in (*ABOUT, *self.outputs)}

    def inputs(self, index: int) -> Fields:
        """The inputs of a record."""
        hidden = (*ABOUT, *self.outputs)
        return {name: value for name, value in self.records[index].items() if name not in hidden}

    def suggestions(self, index: int, visit: str = "first") -> list[Suggestion]:
        """The answers to a record: in compare in a random order that changes with the visit."""
        outputs = self.records[index].get(SUGGESTIONS) or {}
        answers = [Suggestion(name, output, as_gold(output, self.task)) for name, output in outputs.items()]
        if self.mode == "compare":
            random.Random(f"{self.seed} {index} {visit}").shuffle(answers)
        return answers

    @cached_property
    def knowledge(self) -> LabelTable:
        """The entries that mentions may be linked to."""
        file = self.path / "knowledge.jsonl"
        return LabelTable.load(file) if file.exists() else LabelTable()

    @property
    def schema(self) -> Fields | None:
        """The JSON Schema of the records to fill in."""
        file = self.path / SCHEMA
        schema: Fields | None = files.json_value(file) if file.exists() else None
        return schema

    def entry(self, entry: LabelEntry) -> Fields:
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
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return {"text": text, "version": hashlib.sha256(text.encode()).hexdigest()[:16]}

    def write_guidelines(self, text: str, record: str | None = None) -> None:
        """Write the guidelines; each new line ends with the record that prompted it.

        Raises:
            DataError: They are too long.
        """
        if record is not None:
            old = {"", *self.guidelines()["text"].splitlines()}
            prompted = f" (record {' '.join(record.split())})"
            text = "\n".join(line if line.rstrip() in old else line.rstrip() + prompted for line in text.splitlines())
        if len(text.encode("utf-8", "replace")) > MOST:
            raise DataError(f"guidelines have at most {MOST // 1024} KB")
        files.save(self.path / "guidelines.md", text)

    def close(self) -> None:
        """Let other processes open the folder."""
        self._lock.release()


def _settings(path: Path) -> Settings | None:
    """The settings of a folder; None if it is no folder of a review."""
    file = path / SETTINGS
    return files.validated(Settings, files.json_value(file), file) if file.exists() else None


def is_draft(file: Path) -> bool:
    """Whether a file holds records that were drafted: with suggestions, or how they were chosen."""
    if not file.is_file():
        return False
    if file.suffix != ".jsonl":
        with files.opened(file) as stream:
            return SAMPLING.encode() in stream.read(HEAD)
    _, row = next(files.json_lines(file), (0, None))
    return isinstance(row, dict) and (SUGGESTIONS in row or SAMPLING in row)


def _as_lines(file: Path, task: str) -> bytes:
    """A draft as JSON Lines, also that of a table or of Label Studio."""
    if file.suffix == ".jsonl":
        return file.read_bytes()
    form = "label-studio" if file.suffix == ".json" else None  # as gold draft writes it
    source = reading.source_of(file, task, format=form, drafts=True)
    return json_lines(reading.records_of(source))


def json_lines(rows: Iterable[Record]) -> bytes:
    """Rows as JSON Lines."""
    return "".join(f"{jsonl.dumps(row)}\n" for row in rows).encode("utf-8", "replace")


def _keep(path: Path, content: bytes) -> None:
    """Keep a draft in the folder that has its labels, also one that was continued there or by ``gold draft --more``."""
    file = path / DRAFT
    old = file.read_bytes() if file.exists() else b""
    if old.startswith(content):
        return
    if not content.startswith(old):
        raise DataError(
            f"its labels are of another draft; go on with them ({path}), or move the folder away", file=path
        )
    files.save_all({file: content})


def records_of(file: Path) -> list[Fields]:
    """The records of a draft.

    Raises:
        DataError: A line is no record, or two have one id.
    """
    records: list[Fields] = []
    for number, row in files.json_lines(file):
        suggestions = row.get(SUGGESTIONS) or {} if isinstance(row, dict) else None
        if not isinstance(suggestions, dict) or not all(isinstance(each, dict) for each in suggestions.values()):
            raise DataError(
                'a record of a draft is an object, with "suggestions": {SYSTEM: {…}}', file=file, line=number
            )
        if row.get("id") in (None, ""):
            raise DataError("a record of a draft needs an id", file=file, line=number)
        records.append(row | {"id": str(row["id"])})
    check_unique(records, file)
    if not records:
        raise DataError("a draft without records", file=file)
    return records


def task_of(file: Path) -> str:
    """The task that a draft's suggestions imply.

    Raises:
        DataError: They imply none.
    """
    names: set[str] = set()
    for record in records_of(file):
        names = names.union(record, *(record.get(SUGGESTIONS) or {}).values())
    for field, task in {**TASK_OF_FIELD, "query": "retrieval", "labels": "classification"}.items():
        if field in names:
            return task
    raise DataError("name the task of the draft (`task=`): its suggestions do not imply one", file=file)

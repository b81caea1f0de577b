"""The formats, and which format and task a file has if nobody says.

A `Format` yields each record of a file as a plain dict with its place, and may write records. Ours are named in
``formats.json``, others are registered by extensions (`goldassay._support.extensions`); either is imported when it is
needed. The records are validated and their offsets proved in one place, `goldassay.gold.reading`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from typing_extensions import TypeIs

from goldassay._support import extensions, files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.files import Faults
from goldassay._support.jsonl import value as parse_json
from goldassay._support.options import shell_line
from goldassay.core.measure import TASKS
from goldassay.gold.shapes import Side

FORMAT_NAMES: dict[str, dict[str, str]] = files.resource("formats.json")
BUILT_IN = FORMAT_NAMES["formats"]  # a reference to each, as extensions have it
EXTENSIONS = FORMAT_NAMES["extensions"]
TASK_OF_FIELD = FORMAT_NAMES["task_of_field"]  # a question comes first, because it may name entities
CLASSIFIED = files.resource("columns.json")["classification"].values()
LABEL_COLUMNS = {name for side in CLASSIFIED for field in ("label", "labels", "score") for name in side[field]}
LABEL_COLUMNS -= {"expected", "target", "output"}  # which other tasks have too
SPLIT_NAMES = {"train": "train", "dev": "dev", "test": "test", "validation": "dev"}
"""The names that splits have, and what they are called here."""
HEAD_BYTES = 1_000_000  # bytes of a file that are looked at to guess its format


def is_by_split(content: object) -> bool:
    """Whether these are lists by split, such as ``{"train": […], "test": […]}``."""
    return isinstance(content, Mapping) and content.keys() <= SPLIT_NAMES.keys()


class ReadOptions(TypedDict, total=False):
    """How a file is read: ``map`` renames the fields of any table (`anyfields`), the others belong to some formats."""

    map: str | Mapping[str, str] | None
    column: str | None
    scheme: str | None
    malformed: str
    tokens: bool
    adjacent: str
    protocol: str | None
    topics: str | Path | None
    na_probs: str | Path | None
    train: str | Path | None


class SourceRecord(NamedTuple):
    """A record as a format's reader gives it, and its place: line, file of a folder."""

    record: Any
    line: int | None = None
    file: Path | None = None


@dataclass(slots=True)
class Source:
    """A file to read records from: what every reader gets.

    Args:
        path: The file, or the folder.
        task: The task.
        format: The name of the format.
        side: ``gold`` or ``pred``.
        options: The options of the format.
        faults: What happens to faults.
        audit: Whether all faults are wanted, and offsets are left to the audit.
        drafts: Whether records of a draft that have no gold are read, too.
    """

    path: Path
    task: str
    format: str
    side: Side = "gold"
    options: Mapping[str, Any] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    audit: bool = False
    drafts: bool = False
    warnings: list[str] = field(default_factory=list)
    repeats: dict[str, str] = field(default_factory=dict)
    """Names of questions whose id repeats, and that id; set where the official scorer counts each of them."""
    questions: dict[str, list[str]] = field(default_factory=dict)
    """The question behind each prediction, where ids are a tool's own."""
    unlabelled: int = 0
    """How many records of a draft have no gold."""
    used_paths: set[str] = field(default_factory=set)
    """The paths of ``map`` that a row of a table has."""
    answer_column: str = ""
    """The column of a table that is read as the answer."""
    numbered: bool = False
    """Whether ids are numbers of rows, because the file has none; set by readers of tables."""

    def option(self, name: str, default: object = None) -> Any:
        """The value of an option; ``None`` counts as not set."""
        value = self.options.get(name)
        return default if value is None else value

    def counts(self, row: Mapping[str, Any]) -> bool:
        """Whether a row counts: of several answers to an example the first does, and a warning says so."""
        first = row.get("repeat", 1) == 1
        if not first and self.side == "pred" and not self.warnings:
            command = shell_line("goldassay runs show", self.path)
            self.warnings.append(f"of several answers to an example the first counts; what all come to: {command}")
        return bool(first)

    def is_without_predictions(self) -> bool:
        """Whether this is a file of predictions with blank lines only, which some official scorers take for none."""
        return self.side == "pred" and not self.path.read_bytes().strip()

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines of the file with their numbers."""
        return enumerate(files.lines(self.path), start=1)

    def filled_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank."""
        return ((number, line) for number, line in self.lines() if line.strip())

    @contextmanager
    def checking(self, kind: str = "schema", **place: Any) -> Iterator[None]:
        """Report what is raised inside as a fault of this file, at this place, and go on.

        A reader takes the fields that its format has; one that is absent, or of another kind, raises Python's error.
        """
        try:
            yield
        except DataError as error:
            self.faults.report(error.at(**{"file": self.path, **place}), kind)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else error
            fault = DataError(f"not as in the format {self.format}: {what}", **{"file": self.path, **place})
            self.faults.report(fault, kind)


class Format(NamedTuple):
    """A format: the tasks that it holds, its reader, and what else it has.

    Args:
        tasks: The tasks.
        rows: Yields the records of a source.
        write: Writes records, called with the path, the records, the task and the side.
        written: The tasks for which it is written; all of them if not given.
        options: The names of its reading options.
        pair_rows: Reads gold and predictions together, where the one cannot be read without the other.
        task_of: The task of a file that may hold one of several.
        suffixes: The suffixes of files that are of an extension's format.
        recognises: Whether a file, read for a task, is of an extension's format.
        ignored: What the official scorer calls predictions that gold does not have, if it ignores them.
        ignores_all: Whether it ignores them, too, if gold has none of the predictions.
        spurious: The field of such predictions, if the official scorer counts what is in it as wrong.
    """

    tasks: Sequence[str]
    rows: Callable[[Source], Iterator[SourceRecord]]
    write: Callable[[str | Path, Iterable[Mapping[str, object]], str, Side], None] | None = None
    written: Sequence[str] = ()
    options: Sequence[str] = ()
    pair_rows: Callable[[Source, Source], tuple[Iterable[SourceRecord], Iterable[SourceRecord]]] | None = None
    task_of: Callable[[Path], str | None] | None = None
    suffixes: Sequence[str] = ()
    recognises: Callable[[Path, str], bool] | None = None
    ignored: str = ""
    ignores_all: bool = False
    spurious: str = ""


def is_file(path: object) -> TypeIs[str | Path]:
    """Whether this names a file, and is not the records themselves."""
    return isinstance(path, (str, PathLike))


def names() -> list[str]:
    """The names of all formats: ours, then those of extensions."""
    return list({**BUILT_IN, **extensions.registered("formats")})


def named(name: str, task: str | None = None) -> Format:
    """The format of this name, which must have records of the task if one is given.

    Raises:
        GoldassayError: There is no such format, or it does not hold the task.
    """
    if name not in names():
        raise GoldassayError(f"no format {name!r}; the formats are {', '.join(names())}")
    form: Format = extensions.load(BUILT_IN.get(name) or extensions.registered("formats")[name])
    if task and task not in form.tasks and (task in TASKS or {*form.tasks} < {*TASKS}):  # one of all tasks has yours
        raise GoldassayError(f"format {name} holds {', '.join(form.tasks)}, not {task}")
    return form


def by_name(path: str | Path, otherwise: str = "") -> str:
    """The format that a file's name alone suggests; ``otherwise`` if it suggests none.

    Raises:
        DataError: The name suggests none, and there is no other one to take.
    """
    suffix = Path(path).suffix.lower()
    if suffix in EXTENSIONS:
        return EXTENSIONS[suffix]
    for name, form in extensions.of_kind("formats").items():
        if suffix in form.suffixes:
            return name
    if not otherwise:
        if suffix in (".xlsx", ".xls", ".ods"):
            raise DataError(
                "a spreadsheet; save the sheet as csv, or pass pandas.read_excel(FILE) in Python", file=path
            )
        raise DataError(f"its format does not follow from its name; name it ({', '.join(names())})", file=path)
    return otherwise


SPLIT_HEAD = r'\{\s*"(train|dev|test|validation|columns)"\s*:\s*\['
ROWS_HEAD = rf'\s*(\[|{SPLIT_HEAD}|\{{[^\n]*\}}\s*\n\s*\{{|\{{"[^"]*":\{{"0":)'
"""How a JSON file of rows begins: a list, lists by split, JSON Lines, or as pandas' `to_json` writes it."""
BY_QUERY_HEAD = r'\s*\{\s*"[^"]*"\s*:\s*\{\s*("[^"]*"\s*:\s*-?\d|\})'
"""How judgements or a run begin that are held by query."""
LABEL_STUDIO_HEAD = r'(?s)\s*\[\s*\{(?=.*"(annotations|predictions)"\s*:\s*\[).*"data"\s*:\s*\{'
"""What tasks of Label Studio have."""
QRELS_LINE = r"\S+\s+(\S+\s+)?\S+\s+-?\d+\s*|\S+\s+Q0\s.*"
"""A line of judgements or of a run, without a header."""


def is_run(path: object) -> bool:
    """Whether this is a run folder, or the rows of one."""
    if not is_file(path):
        return False
    file = Path(path)
    return (file / "rows.jsonl").is_file() or (file.name == "rows.jsonl" and '"tallies":' in head(file))


def guess(path: object, task: str, otherwise: str = "") -> str:
    """The format that a file's name, its beginning and the task suggest; ``otherwise`` if they suggest none.

    That of records in Python is ``data``.

    Raises:
        DataError: The file does not exist, or nothing suggests a format.
    """
    if not is_file(path):
        return "data"
    file = Path(path)
    suffix = file.suffix.lower()
    if not exists(file):  # a name that no file can have does not exist
        raise DataError("no such file", file=path)
    if name := recognised(file, task):
        return name
    if file.is_dir():
        return "brat"
    if suffix == ".tsv":
        line = first_line(file)
        if task == "retrieval" and re.fullmatch(QRELS_LINE, line):
            return "trec"
        return "hipe" if line.startswith("TOKEN\t") else "tsv"
    if suffix == ".json":
        text = head(file)
        if task in ("extraction", "classification") and re.match(LABEL_STUDIO_HEAD, text):
            return "label-studio"
        ours = re.match(ROWS_HEAD, text) or any(
            f'"{key}"' in text for key in ("ner_annotations", "qa_pairs", "entity_linking")
        )
        ours = ours or ('"question"' in text and '"qas"' not in text)  # SQuAD has its questions as qas
        may_be_squad = task == "answering" or (task == "retrieval" and '"data"' in text)
        return "squad" if may_be_squad and not ours else "json"
    return by_name(file, "trec" if task == "retrieval" else otherwise)


def recognised(path: Path, task: str) -> str:
    """The format of an extension that recognises a file or folder; empty if none does."""
    registered = extensions.of_kind("formats").items()
    return next((name for name, form in registered if form.recognises and form.recognises(path, task)), "")


def head(file: Path) -> str:
    """The beginning of a file."""
    with files.opened(file) as stream:
        return stream.read(HEAD_BYTES).decode("utf-8-sig", errors="replace")


def first_line(file: Path) -> str:
    """The first line of a file, or what of it is in its beginning."""
    return next(iter(head(file).splitlines()), "")


def task_of(file: Path, format: str | None = None, column: str | None = None, mapped: Iterable[str] = ()) -> str:
    """The task of a single file, from its name, its format, or its content.

    Args:
        file: The file.
        format: Its format; guessed if not given.
        column: The column of tags.
        mapped: The fields that a mapping names.

    Raises:
        DataError: The task cannot be inferred.
    """
    if file.stem in TASKS:
        return file.stem
    name = "dataset" if not exists(file) else format or guess(file, "")
    task: str | None = None
    if name in ("tsv", "csv"):
        columns = {*re.split('[,;\t"]', first_line(file).lower()), *mapped}
        if "question" in columns:
            task = "answering"
        elif not LABEL_COLUMNS.isdisjoint(columns):
            task = "classification"
    elif name == "hipe":
        task = "linking" if str(column).startswith("NEL") else "extraction"
    elif name == "jsonl":
        with suppress(DataError):
            task = task_of_record(parse_json(first_line(file)))
    elif name in names() and name not in ("parquet", "run", "label-studio"):
        form = named(name)
        task = form.task_of(file) if form.task_of else form.tasks[0]
    if task is None:
        answer = f"Name it (`task=NAME`): {', '.join(TASKS)}, or any other name for a task of your own"
        raise DataError(f"which task is this gold for? {answer}", file=file)
    return task


def task_of_record(record: object) -> str | None:
    """The task whose fields a record has."""
    fields = record if isinstance(record, dict) else ()
    return next((task for name, task in TASK_OF_FIELD.items() if name in fields), None)

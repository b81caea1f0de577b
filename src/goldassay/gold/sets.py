"""Gold sets: a folder with a card and a file a task, or one file; loaded in one line as ``dspy.Example`` lists.

``load`` gives a gold set with an attribute for each task, the examples of each by split, and its passages.

>>> from goldassay.gold import load
>>> load("no-such-set")
Traceback (most recent call last):
goldassay.exceptions.DataError: no gold set 'no-such-set': neither a file, nor a folder, nor a name under gold/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from goldassay import files, workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import anyfields, formats, streamed
from goldassay.gold.anyfields import HF, is_dataset
from goldassay.gold.formats import ReadOptions, squad
from goldassay.gold.reading import read
from goldassay.gold.records import INPUTS, once
from goldassay.measure import TASKS


def passages(file: Path) -> list[dict[str, Any]]:
    """A passage collection: one JSON object a line with an id (``id`` or ``doc_id``) and a text."""
    found = []
    for number, row in files.json_lines(file):
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("text"), str)
            or not (row.get("id") or row.get("doc_id"))
        ):
            raise DataError("a passage is an object with an id and a text", file=file, line=number)
        row["id"] = str(row.get("id") or row["doc_id"])
        found.append(row)
    return found


def paragraphs(sources: Iterable[Mapping[str, Any]], task: str) -> list[dict[str, object]]:
    """The paragraphs of those sources that are SQuAD files, also such as nobody asked about."""
    if task not in squad.TASKS:
        return []
    found: list[dict[str, Any]] = []
    for source in sources:
        if (source.get("format") or formats.guess(source["path"], task)) == "squad":
            found += squad.passages(source["path"])
    return found


def contexts(records: Iterable[Mapping[str, Any]]) -> list[dict[str, object]]:
    """The paragraphs that questions were asked about, each once: where a record names one document, its context.

    >>> contexts([{"documents": ["d1"], "context": "In 1800 …"}, {"documents": ["d1"], "context": "In 1800 …"}])
    [{'id': 'd1', 'text': 'In 1800 …'}]
    """
    found = {
        str(record["documents"][0]): str(record["context"])
        for record in records
        if record.get("context") and len(record.get("documents") or ()) == 1
    }
    return [{"id": name, "text": text} for name, text in found.items()]


Source = dict[str, Any]


class TaskSet:
    """The gold of one task: ``.train``, ``.dev``, ``.test`` (or whatever splits there are) and ``.all``."""

    def __init__(
        self, task: str, sources: list[Source], folder: Path | None = None, stated: Sequence[str] = ()
    ) -> None:
        self.task, self.sources, self.folder, self.stated = task, sources, folder, list(stated)

    @cached_property
    def records(self) -> Sequence[dict[str, Any]]:
        """The records as plain dicts, in the order of the files; those of one large JSON Lines file stay in it."""
        if len(self.sources) == 1 and self.task in TASKS and streamed.streams(self.sources[0]["path"]):
            source = {"format": formats.guess(self.sources[0]["path"], self.task), **self.sources[0]}
            if source.keys() == {"path", "format"} and source["format"] == "jsonl":
                return streamed.Records(Path(source["path"]), self.task)
        found: list[dict[str, Any]] = []
        for source in self.sources:
            options = {key: value for key, value in source.items() if key not in ("path", "split")}
            for record in read(source["path"], task=self.task, **options):
                if "split" in source:
                    record.setdefault("split", source["split"])
                found.append(record)
        once(found, self.folder or self.sources[0]["path"])
        return found

    @property
    def splits(self) -> list[str]:
        """The names of the splits that there are."""
        if isinstance(self.records, streamed.Records):
            return self.records.splits
        return list(dict.fromkeys(record["split"] for record in self.records if record.get("split")))

    @cached_property
    def all(self) -> Sequence[dspy.Example]:
        """Every example, whatever its split."""
        import dspy

        if isinstance(self.records, streamed.Records):
            return streamed.StreamedExamples(self.records, self.inputs)

        with files.uncollected():
            return [dspy.Example(**record).with_inputs(*self.inputs) for record in self.records]

    @property
    def inputs(self) -> list[str]:
        """The fields that a program is given: of a task of one's own those that its card states, else its program's."""
        if self.task in INPUTS:
            return [INPUTS[self.task]]
        found = self.stated or workspace.inputs(self.task) or list(anyfields.fields(self.records))
        absent = [name for name in found if not any(name in record for record in self.records)]
        if absent:
            there = ", ".join(anyfields.fields(self.records))
            place = self.folder or self.sources[0]["path"]
            raise DataError(
                f"no record has {', '.join(absent)}, which the program takes; there are {there}", file=place
            )
        return found

    def split(self, name: str) -> Sequence[dspy.Example]:
        """The examples of a split (``all`` is every one); an absent one is an error that names those that exist."""
        if name == "all":
            return self.all
        if name not in self.splits:
            there = ", ".join(self.splits) or "none; its records have no 'split' (goldassay gold split makes them)"
            raise DataError(
                f"no split {name!r} of {self.task}; there are {there}", file=self.folder or self.sources[0]["path"]
            )
        if isinstance(self.records, streamed.Records):
            return streamed.StreamedExamples(self.records.of(name), self.inputs)
        return [example for example in self.all if example.get("split") == name]

    @cached_property
    def passages(self) -> list[dict[str, Any]]:
        """The collection that retrieval searches, ``{id, text, …}``.

        It is ``passages.jsonl``, or all paragraphs of SQuAD files, or the questions' contexts.
        """
        file = self.folder / "passages.jsonl" if self.folder else None
        if file and file.exists():
            return passages(file)
        return paragraphs(self.sources, self.task) or contexts(self.records)

    def __getattr__(self, name: str) -> Sequence[dspy.Example]:
        if name in ("train", "dev", "test", "validation"):
            return self.split(name)
        raise AttributeError(f"{name!r}: a gold task has train, dev, test, all, records, splits")

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"TaskSet({self.task!r}, {len(self.records)} records, splits {self.splits})"


class GoldSet:
    """A gold set: its ``card`` and an attribute for each task that it has."""

    def __init__(self, name: str, tasks: dict[str, TaskSet], card: dict[str, Any], folder: Path | None = None) -> None:
        self.name, self.tasks, self.card, self.folder = name, tasks, card, folder

    def task(self, name: str) -> TaskSet:
        """The gold of a task."""
        if name not in self.tasks:
            raise DataError(f"no gold for {name}; it has {', '.join(self.tasks)}", file=self.folder or self.name)
        return self.tasks[name]

    def __getattr__(self, name: str) -> TaskSet:
        if name in TASKS or name in self.tasks:
            return self.task(name)
        raise AttributeError(f"{name!r}: a gold set has card, name, tasks and {', '.join(self.tasks)}")

    def __repr__(self) -> str:
        return f"GoldSet({self.name!r}, {', '.join(self.tasks)})"


if TYPE_CHECKING:
    import dspy

CARD = "card.yaml"


def load(
    name_or_path: str | Path,
    *,
    format: str | None = None,
    task: str | None = None,
    column: str | None = None,
    **options: Unpack[ReadOptions],
) -> GoldSet:
    """A gold set by its name under ``gold/``, its folder, or one file of it.

    Args:
        name_or_path: The name, the folder or the file.
        format: The format of the file; told by it without one.
        task: The task of the file.
        column: Its column of tags.
        options: How it is read otherwise (`goldassay.gold.formats.ReadOptions`).
    """
    place = find(name_or_path)
    said = {name: value for name, value in {"column": column, **options}.items() if value is not None}
    if place.is_dir() and format is None and not is_dataset(place):
        if not standoff(place):
            if unused := [f"--{name}" for name in said]:
                raise GoldassayError(f"{place} is a set, whose card says how it is read; {unused[0]} is for one file")
            return _folder(place, task)
        task = task or "extraction"
    job = task or formats.task_of(place, format, column)
    source = {"path": place, **({"format": format} if format else {}), **said}
    return GoldSet(place.stem, {job: TaskSet(job, [source])}, {}, None)


def find(name_or_path: str | Path) -> Path:
    """Where a set is: the path itself, or ``gold/NAME`` here, in the workspace, or in what came with goldassay."""
    direct = Path(name_or_path)
    if direct.exists() or str(name_or_path).startswith(HF):
        return direct
    for base in (Path.cwd(), workspace.root(), workspace.installed()):
        if (base / "gold" / direct).is_dir():
            return base / "gold" / direct
    raise DataError(f"no gold set {str(name_or_path)!r}: neither a file, nor a folder, nor a name under gold/")


def standoff(folder: Path) -> bool:
    """Whether a folder is no set (no card, no file named by a task), but has annotations of brat."""
    named = (folder / CARD).exists() or any((folder / f"{job}.jsonl").exists() for job in TASKS)
    return not named and next(folder.rglob("*.ann"), None) is not None


def card(folder: Path) -> dict[str, object]:
    """The card of a set; a set without one has an empty card."""
    file = folder / CARD
    if not file.exists():
        return {}
    found = files.yaml_value(file)
    if not isinstance(found, dict):
        raise DataError("a card is a mapping: name, version, licence, source, …", file=file)
    return found


def _folder(folder: Path, task: str | None) -> GoldSet:
    about = card(folder)
    named = about.get("files") or {}
    if not isinstance(named, dict):
        raise DataError("'files' maps a task to its file or files", file=folder / CARD, field="files")
    tasks = {}
    jobs: list[str] = [*TASKS, *map(str, named), *([task] if task else [])]
    for job in dict.fromkeys(jobs):
        if task in (None, job):
            sources = _sources(folder, named[job], job) if job in named else []
            if not sources and (folder / f"{job}.jsonl").exists():
                sources = [{"path": folder / f"{job}.jsonl", "format": "jsonl"}]
            if sources:
                tasks[job] = TaskSet(job, sources, folder, _inputs(about, folder) if job not in TASKS else ())
    if not tasks:
        wanted = f"{task}.jsonl" if task else "extraction.jsonl, …"
        raise DataError(f"no gold in this folder: neither {wanted} nor files that a card names", file=folder)
    return GoldSet(str(about.get("name") or folder.name), tasks, about, folder)


def _inputs(about: dict[str, Any], folder: Path) -> list[str]:
    """The inputs that a card states for a task of one's own."""
    found = about.get("inputs") or []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise DataError("'inputs' is a list of the fields that a program is given", file=folder / CARD, field="inputs")
    return found


def _sources(folder: Path, entry: Any, task: str) -> list[Source]:
    """What the card says of a task's files: a path, a mapping with ``path``, or a list of either."""
    found = []
    for item in entry if isinstance(entry, list) else [entry]:
        source = {"path": item} if isinstance(item, str) else item
        if not isinstance(source, dict) or not isinstance(source.get("path"), str):
            raise DataError("a file is a path, or a mapping with 'path'", file=folder / CARD, field=f"files.{task}")
        path = folder / source["path"]
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"{source['path']!r} lies outside the set", file=folder / CARD, field=f"files.{task}")
        found.append({**source, "path": path})
    return found


__all__ = ["CARD", "GoldSet", "TaskSet", "card", "find", "load", "passages"]

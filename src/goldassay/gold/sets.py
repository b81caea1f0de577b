"""Gold sets: a folder with a card and a file a task, or one file; loaded in one line as ``dspy.Example`` lists.

>>> from goldassay.gold import load
>>> load("no-such-set")
Traceback (most recent call last):
goldassay.exceptions.DataError: no gold set 'no-such-set': neither a file, nor a folder, nor a name under gold/
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import files, formats, yamls
from goldassay.gold.reading import once, read
from goldassay.gold.records import INPUTS
from goldassay.measure import TASKS

CARD = "card.yaml"
Source = dict[str, Any]


class TaskSet:
    """The gold of one task: ``.train``, ``.dev``, ``.test`` (or whatever splits there are) and ``.all``."""

    def __init__(self, task: str, sources: list[Source], folder: Path | None = None) -> None:
        self.task, self.sources, self.folder = task, sources, folder

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The records as plain dicts, in the order of the files."""
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
        return list(dict.fromkeys(record["split"] for record in self.records if record.get("split")))

    @cached_property
    def all(self) -> list[Any]:
        """Every example, whatever its split."""
        import dspy

        with files.uncollected():
            return [dspy.Example(**record).with_inputs(INPUTS[self.task]) for record in self.records]

    def split(self, name: str) -> list[Any]:
        """The examples of a split (``all`` is every one); an absent one is an error that names those that exist."""
        if name == "all":
            return self.all
        if name not in self.splits:
            there = ", ".join(self.splits) or "none; its records have no 'split'"
            raise DataError(
                f"no split {name!r} of {self.task}; there are {there}", file=self.folder or self.sources[0]["path"]
            )
        return [example for example in self.all if example.get("split") == name]

    @cached_property
    def passages(self) -> list[dict[str, Any]]:
        """The collection that retrieval searches: ``{id, text, …}`` from ``passages.jsonl``."""
        return passages(self.folder / "passages.jsonl") if self.folder else []

    def __getattr__(self, name: str) -> list[Any]:
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
            if name not in TASKS:
                raise GoldassayError(f"no task {name!r}; the tasks are {', '.join(TASKS)}")
            raise DataError(f"no gold for {name}; it has {', '.join(self.tasks)}", file=self.folder or self.name)
        return self.tasks[name]

    def __getattr__(self, name: str) -> TaskSet:
        if name in TASKS:
            return self.task(name)
        raise AttributeError(f"{name!r}: a gold set has card, name, tasks and {', '.join(TASKS)}")

    def __repr__(self) -> str:
        return f"GoldSet({self.name!r}, {', '.join(self.tasks)})"


def load(
    name_or_path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    task: str | None = None,
    **options: Any,
) -> GoldSet:
    """A gold set by its name under ``gold/``, its folder, or one file of it."""
    place = find(name_or_path)
    if place.is_dir() and format is None:
        return _folder(place, task)
    job = task or _task(place, format, options.get("column"))
    source = {"path": place, **({"format": format} if format else {}), **options}
    return GoldSet(place.stem, {job: TaskSet(job, [source])}, {}, None)


def find(name_or_path: str | Path) -> Path:
    """Where a set is: the path itself, or ``gold/NAME`` here, in the workspace, or in what came with goldassay."""
    direct = Path(name_or_path)
    if direct.exists():
        return direct
    for base in (Path.cwd(), workspace.root(), workspace.installed()):
        if (base / "gold" / direct).is_dir():
            return base / "gold" / direct
    raise DataError(f"no gold set {str(name_or_path)!r}: neither a file, nor a folder, nor a name under gold/")


def card(folder: Path) -> dict[str, Any]:
    """The card of a set; a set without one has an empty card."""
    file = folder / CARD
    if not file.exists():
        return {}
    found = yamls.load(file)
    if not isinstance(found, dict):
        raise DataError("a card is a mapping: name, version, licence, source, …", file=file)
    return found


def passages(file: Path) -> list[dict[str, Any]]:
    """A passage collection: one JSON object a line with an id (``id`` or ``doc_id``) and a text."""
    import json

    found = []
    for number, line in enumerate(files.lines(file), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"not JSON: {getattr(error, 'msg', 'nested too deeply')}", file=file, line=number) from None
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("text"), str)
            or not (row.get("id") or row.get("doc_id"))
        ):
            raise DataError("a passage is an object with an id and a text", file=file, line=number)
        row["id"] = str(row.get("id") or row["doc_id"])
        found.append(row)
    return found


def _folder(folder: Path, task: str | None) -> GoldSet:
    about = card(folder)
    named = about.get("files") or {}
    if not isinstance(named, dict):
        raise DataError("'files' maps a task to its file or files", file=folder / CARD, field="files")
    tasks = {}
    for job in TASKS:
        if task in (None, job):
            sources = _sources(folder, named[job], job) if job in named else []
            if not sources and (folder / f"{job}.jsonl").exists():
                sources = [{"path": folder / f"{job}.jsonl", "format": "jsonl"}]
            if sources:
                tasks[job] = TaskSet(job, sources, folder)
    if not tasks:
        wanted = f"{task}.jsonl" if task else "extraction.jsonl, …"
        raise DataError(f"no gold in this folder: neither {wanted} nor files that a card names", file=folder)
    return GoldSet(str(about.get("name") or folder.name), tasks, about, folder)


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


def _task(file: Path, given: str | None, column: str | None) -> str:
    """The task of a single file, from its format and its name."""
    if file.stem in TASKS:
        return file.stem
    name = given or formats.guess(file, "")
    if name == "hipe":
        return "linking" if str(column).startswith("NEL") else "extraction"
    known = {
        "iob2": "extraction",
        "conll": "extraction",
        "brat": "extraction",
        "tsv": "classification",
        "csv": "classification",
        "trec": "retrieval",
        "squad": "answering",
        "text2kgbench": "triples",
    }
    if name in known:
        return known[name]
    raise DataError(f"which task is this gold for? say it with task= ({', '.join(TASKS)})", file=file)

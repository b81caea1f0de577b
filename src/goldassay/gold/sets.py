"""Gold sets: a folder with a card and a file a task, or one file; loaded in one line as ``dspy.Example`` lists.

>>> from goldassay.gold import load
>>> load("no-such-set")
Traceback (most recent call last):
goldassay.exceptions.DataError: no gold set 'no-such-set': neither a file, nor a folder, nor a name under gold/
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay import files, jsonl, workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import formats
from goldassay.gold.anyfields import HF, columnar, is_dataset
from goldassay.gold.formats import entries, questions
from goldassay.gold.goldset import GoldSet, Source, TaskSet, passages
from goldassay.measure import TASKS

CARD = "card.yaml"
FIELDS = {
    "question": "answering",  # first, for a question may name entities
    "entities": "extraction",
    "label": "classification",
    "links": "linking",
    "relevant": "retrieval",
    "triples": "triples",
}

__all__ = ["CARD", "GoldSet", "TaskSet", "card", "find", "load", "passages"]


def load(
    name_or_path: str | Path,
    *,
    format: str | None = None,
    task: str | None = None,
    **options: Any,
) -> GoldSet:
    """A gold set by its name under ``gold/``, its folder, or one file of it."""
    place = find(name_or_path)
    if place.is_dir() and format is None and not is_dataset(place):
        if not standoff(place):
            if unused := [f"--{name}" for name, value in options.items() if value is not None]:
                raise GoldassayError(f"{place} is a set, whose card says how it is read; {unused[0]} is for one file")
            return _folder(place, task)
        task = task or "extraction"
    job = task or _task(place, format, options.get("column"))
    source = {"path": place, **({"format": format} if format else {}), **options}
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


def card(folder: Path) -> dict[str, Any]:
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


def _task(file: Path, given: str | None, column: str | None) -> str:
    """The task of a single file, from its format and its name."""
    if file.stem in TASKS:
        return file.stem
    if columnar(file, given):
        raise DataError("name the task of a data set with --task", file=file)
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
        "benchmark": "linking",
        "annotations": "triples",
    }
    if name in ("tsv", "csv") and questions.asks(file):
        return questions.TASK
    if name in known:
        return known[name]
    job = _by_fields(file) if name == "jsonl" else _by_parts(file) if name == "json" else None
    if name == "json" and questions.flat(files.json_value(file)):
        job = questions.TASK
    if job is None:
        said = f"say it with task=, at the command line with --task ({', '.join(TASKS)})"
        raise DataError(f"which task is this gold for? {said}", file=file)
    return job


def _by_fields(file: Path) -> str | None:
    """The task that a record of JSON Lines is for: each has a field of its own."""
    _, _, block = next(files.blocks(file), (1, 0, b""))
    try:
        record = jsonl.value(block.strip().split(b"\n")[0])
    except DataError:
        return None
    return next((task for field, task in FIELDS.items() if field in record), None) if isinstance(record, dict) else None


def _by_parts(file: Path) -> str | None:
    """The task that a JSON file is for: SQuAD has paragraphs, the founding format's entries a part for each task."""
    with files.opened(file) as stream:
        head = stream.read(1_000_000).decode("utf-8", errors="replace")
    if '"paragraphs"' in head:
        return "answering"
    found = [task for task, part in entries.PART.items() if f'"{part}"' in head]
    return found[0] if len(found) == 1 else None

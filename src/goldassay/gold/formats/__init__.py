"""The formats, one file each. Each module has ``TASKS``, ``read(path, task, side, **options)`` and ``write(...)``.

Here is which format a file has (`guess`), and which task it is for (`task_of`), where nobody says so.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypedDict

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.jsonl import value as json_of
from goldassay.measure import TASKS

MODULES = {
    "jsonl": "jsonl",
    "iob2": "iob2",
    "conll": "iob2",
    "hipe": "hipe",
    "brat": "brat",
    "tsv": "tables",
    "csv": "tables",
    "trec": "trec",
    "squad": "squad",
    "json": "entries",
    "text2kgbench": "text2kgbench",
    "kit": "kits",
    "label-studio": "label_studio",
    "run": "run",
}
EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".iob": "iob2",
    ".iob2": "iob2",
    ".bio": "iob2",
    ".conll": "conll",
    ".csv": "csv",
    ".qrels": "trec",
    ".run": "trec",
    ".trec": "trec",
    ".ann": "brat",
}
OF_TASK = {
    "iob2": "extraction",
    "conll": "extraction",
    "brat": "extraction",
    "tsv": "classification",
    "csv": "classification",
    "trec": "retrieval",
    "squad": "answering",
    "text2kgbench": "triples",
}
"""The task that a file of a format is for, where nothing says another."""
FIELDS = {
    "question": "answering",  # first, for a question may name entities
    "entities": "extraction",
    "label": "classification",
    "links": "linking",
    "relevant": "retrieval",
    "triples": "triples",
}


class ReadOptions(TypedDict, total=False):
    """What may be said of how files are read, beside their task and column: each for some formats (see `read`)."""

    map: str | Mapping[str, str] | None
    scheme: str | None
    malformed: str
    tokens: bool
    adjacent: str
    repeated: str
    protocol: str | None
    labels: Sequence[str] | None
    delimiter: str | None
    topics: str | Path | None
    na_probs: str | Path | None


def module(name: str) -> ModuleType:
    """The module of a format."""
    if name not in MODULES:
        raise GoldassayError(f"no format {name!r}; the formats are {', '.join(MODULES)}")
    return import_module(f"goldassay.gold.formats.{MODULES[name]}")


def by_name(path: str | Path) -> str:
    """The format that a file's name alone suggests."""
    file = Path(path)
    known = {**EXTENSIONS, ".tsv": "tsv", ".json": "json"}
    if file.suffix.lower() not in known:
        raise GoldassayError(f"the name of {file} does not tell its format; say it: {', '.join(MODULES)}")
    return known[file.suffix.lower()]


def is_run(path: str | Path) -> bool:
    """Whether this is a run folder, or the rows of one."""
    file = Path(path)
    return (file / "rows.jsonl").is_file() or (file.name == "rows.jsonl" and '"tallies":' in _head(file))


def guess(path: str | Path, task: str, otherwise: str = "") -> str:
    """The format that a file's name, its first line and the task suggest; ``otherwise`` where they suggest none."""
    file = Path(path)
    suffix = file.suffix.lower()
    try:
        kind = file.stat().st_mode
    except FileNotFoundError:
        raise DataError("no such file", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError:
        raise DataError("a path cannot hold a NUL character", file=repr(str(path))) from None
    if stat.S_ISDIR(kind):
        return "brat"
    if suffix in EXTENSIONS:
        return (
            "text2kgbench" if suffix == ".jsonl" and task == "triples" and _text2kgbench(file) else EXTENSIONS[suffix]
        )
    if suffix == ".tsv":
        return "hipe" if _first_line(file).split("\t")[0] == "TOKEN" else "tsv"
    if suffix == ".json":
        head = _head(file)
        entries = any(f'"{part}"' in head for part in ("ner_annotations", "qa_pairs", "entity_linking"))
        entries |= head.lstrip().startswith("[")
        return "squad" if task in ("answering", "retrieval") and not entries else "json"
    if suffix in (".yaml", ".yml"):
        return "kit"
    if task == "retrieval":
        return "trec"
    if otherwise:
        return otherwise
    raise DataError(f"its format cannot be told from the name; say it with --format ({', '.join(MODULES)})", file=path)


def _head(file: Path) -> str:
    with files.opened(file) as stream:
        return stream.read(1_000_000).decode("utf-8-sig", errors="replace")


def _first_line(file: Path) -> str:
    with files.opened(file) as stream:
        return stream.readline(1_000_000).decode("utf-8-sig", errors="replace").rstrip("\r\n")


def _text2kgbench(file: Path) -> bool:
    head = _first_line(file)
    return any(mark in head for mark in ('"sent":', '"response":', '"triples": [['))


def task_of(file: Path, given: str | None = None, column: str | None = None) -> str:
    """The task of a single file, from its format and its name, or from what stands in it."""
    from goldassay.gold.anyfields import columnar
    from goldassay.gold.formats import kits, questions

    if file.stem in TASKS:
        return file.stem
    if columnar(file, given):
        raise DataError("name the task of a data set with --task", file=file)
    name = given or guess(file, "")
    if name == "hipe":
        return "linking" if str(column).startswith("NEL") else "extraction"
    if name in ("tsv", "csv") and questions.asks(file):
        return questions.TASK
    if name in OF_TASK:
        return OF_TASK[name]
    if name == "kit" and (held := kits.HOLDS.get(kits.load(file).kind)):
        return held
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
        record = json_of(block.strip().split(b"\n")[0])
    except DataError:
        return None
    return next((task for field, task in FIELDS.items() if field in record), None) if isinstance(record, dict) else None


def _by_parts(file: Path) -> str | None:
    """The task that a JSON file is for: SQuAD has paragraphs, the founding format's entries a part for each task."""
    from goldassay.gold.formats import entries

    with files.opened(file) as stream:
        head = stream.read(1_000_000).decode("utf-8", errors="replace")
    if '"paragraphs"' in head:
        return "answering"
    found = [task for task, part in entries.PART.items() if f'"{part}"' in head]
    return found[0] if len(found) == 1 else None

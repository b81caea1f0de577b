"""The formats, one file each. Each module has ``TASKS``, ``read(path, task, side, **options)`` and ``write(...)``."""

from __future__ import annotations

import stat
from importlib import import_module
from pathlib import Path
from types import ModuleType

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError

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
    "benchmark": "benchmark",
    "annotations": "judged",
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
        return "annotations" if task == "triples" else "benchmark"
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

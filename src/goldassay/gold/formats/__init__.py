"""The formats, one file each. Each module has ``TASKS``, ``read(path, task, side, **options)`` and ``write(...)``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

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


def guess(path: str | Path, task: str) -> str:
    """The format that a file's name, its first line and the task suggest."""
    file = Path(path)
    suffix = file.suffix.lower()
    if not file.exists():
        raise DataError("no such file", file=path)
    if file.is_dir():
        return "brat"
    if suffix in EXTENSIONS:
        return (
            "text2kgbench" if suffix == ".jsonl" and task == "triples" and _text2kgbench(file) else EXTENSIONS[suffix]
        )
    if suffix == ".tsv":
        return "hipe" if _first_line(file).split("\t")[0] == "TOKEN" else "tsv"
    if suffix == ".json":
        return "squad" if task == "answering" else "json"
    if task == "retrieval":
        return "trec"
    raise DataError(f"its format cannot be told from the name; say it with --format ({', '.join(MODULES)})", file=path)


def _first_line(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.readline(1_000_000).decode("utf-8-sig", errors="replace").rstrip("\r\n")


def _text2kgbench(file: Path) -> bool:
    head = _first_line(file)
    return any(mark in head for mark in ('"sent":', '"response":', '"triples": [['))

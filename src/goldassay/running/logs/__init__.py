"""Logs of other tools, read as runs: Inspect, promptfoo, deepeval, MLflow and ``dspy.Evaluate``.

Each tool has one small module here with a function ``systems`` that turns the content of a file into `System`s: their
samples, with the scores that the tool gave. `goldassay.running.logs.system` makes a run of each. Whatever takes a run
folder takes such a file too; of a file with several systems, ``FILE:NAME`` is one of them.

What a file is follows from its content. Nothing in it is executed, and archives are never unpacked to disk.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.folder import run_at
from goldassay.running.logs import deepeval, dspy, inspect, mlflow, otel, promptfoo
from goldassay.running.logs.system import DOCUMENT, System, as_run
from goldassay.running.run import Run

TOOLS = (inspect, promptfoo, deepeval, mlflow, otel, dspy)
KINDS = (
    "Inspect (.eval, .json), promptfoo, deepeval, MLflow (tables and traces), OpenTelemetry and dspy.Evaluate "
    "(JSON, CSV)"
)


def read_log(place: Path | str, *, document: str = DOCUMENT) -> list[Run]:
    """The runs in another tool's log, one a system; empty if the file is no log that is known.

    Args:
        place: The file, or ``FILE:NAME`` for one of its systems.
        document: The field of the samples' metadata that names their document.

    Raises:
        DataError: The file is damaged, or has no scores.
    """
    file, name = split_name(place)
    systems = systems_in(file)
    chosen = [system for system in systems if name in ("", system.name)]
    if systems and not chosen:
        raise GoldassayError(f"{file} has no system {name!r}; it has {', '.join(system.name for system in systems)}")
    return [as_run(each, file if len(systems) == 1 else Path(f"{file}:{each.name}"), document) for each in chosen]


def systems_in(file: Path) -> list[System]:
    """The systems in another tool's log, whose samples need no scores; empty if it is none that is known."""
    content = _content(file)
    try:
        return next((systems for tool in TOOLS if (systems := tool.systems(content, file))), [])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(f"a log of another shape than expected: {type(error).__name__}: {error}", file=file) from None


def runs_at(place: Path | str, *, document: str = DOCUMENT) -> list[Run]:
    """The run of a folder, or the runs of another tool's log."""
    file, _ = split_name(place)
    if not file.is_file():
        return [Run.load(file)]
    runs = read_log(place, document=document)
    if not runs:
        raise DataError(f"not a run folder and no log that can be read; there are readers for {KINDS}", file=file)
    return runs


def split_name(place: Path | str) -> tuple[Path, str]:
    """The file, and the name of a system in it, which may hold colons itself."""
    parts = str(place).split(":")
    ends = (at for at in range(1, len(parts)) if Path(":".join(parts[:at])).is_file())
    at = next(ends, len(parts))
    return run_at(Path(":".join(parts[:at]))), ":".join(parts[at:])


def _content(file: Path) -> Any:
    """What the file holds: an Inspect archive as one object, the rows of a CSV, or JSON."""
    if file.suffix.lower() in (".csv", ".tsv"):
        return dspy.rows_of_table(file)
    with files.opened(file) as stream:
        data = stream.read()
    if data.startswith(b"PK"):
        return inspect.unzipped(data, file)
    try:
        return json.loads(data)  # where NaN may stand for a missing score
    except (ValueError, RecursionError):
        if file.suffix.lower() == ".jsonl":
            return [value for _, value in files.json_lines(file)]
        return jsonl.value(data, file=file)  # which says where it is wrong

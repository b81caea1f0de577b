"""Logs of other tools, read as runs: Inspect, promptfoo, deepeval, MLflow and ``dspy.Evaluate``.

`goldassay.ext.interop.logs.tools` has a reader for each tool; here a `LogSystem` becomes a run. The scores of a sample
are the values of measures, each the mean over the examples, as the tools compute it. A sample that failed is a failed
row: what the tool did not score counts as the worst value, while most tools leave it out.

Whatever takes a run folder takes such a file too; of a file with several systems, ``FILE:NAME`` is one of them. What a
file is follows from its content. Nothing in it is executed, and archives are never unpacked to disk.
"""

from __future__ import annotations

from pathlib import Path

from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.ext.interop.logs.tools import foreign, systems_in
from goldassay.running.evaluated import DOCUMENT_FIELD, as_run
from goldassay.running.folder import run_at
from goldassay.running.head import HEAD
from goldassay.running.run import Run, open_runs


def read_log(path: Path | str, document: str = DOCUMENT_FIELD) -> list[Run]:
    """The runs in another tool's log, one a system; empty if it is not a log that is known.

    Args:
        path: The file, or ``FILE:NAME`` for one of its systems.
        document: The field of the samples' metadata that names their document.

    Raises:
        DataError: The file is damaged, or has no scores.
    """
    file, name = split_name(path)
    if file.suffix == ".py":
        command = shell_line("goldassay compare", file, program="OTHER")
        raise GoldassayError(f"{file} is a program, not a run; compare programs with {command}")
    systems = systems_in(file)
    chosen = [system for system in systems if name in ("", system.name)]
    if systems and not chosen:
        raise GoldassayError(f"{file} has no system {name!r}; it has {', '.join(system.name for system in systems)}")
    with foreign(file):
        return [as_run(item, file if len(systems) == 1 else Path(f"{file}:{item.name}"), document) for item in chosen]


def read_place(path: Path | str, document: str = DOCUMENT_FIELD) -> list[Run] | None:
    """The runs of another tool's log, or of a folder of logs; None if it is neither.

    Raises:
        DataError: A log is damaged.
    """
    file, _ = split_name(path)
    if file.is_file():
        return read_log(path, document) or None
    logs = [] if (file / HEAD).exists() else sorted(log for kind in ("*.eval", "*.json") for log in file.glob(kind))
    return [run for log in logs for run in open_runs(log, document=document)] or None


def split_name(path: Path | str) -> tuple[Path, str]:
    """The file, and the name of a system in it, which may hold colons itself."""
    parts = str(path).split(":")
    ends = (at for at in range(1, len(parts)) if Path(":".join(parts[:at])).is_file())
    at = next(ends, len(parts))
    return run_at(Path(":".join(parts[:at]))), ":".join(parts[at:])

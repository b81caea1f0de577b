"""A run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row, written by one process."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError, create_model

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.secrets import redact, scrub

ABOUT, ROWS = "run.json", "rows.jsonl"
OBJECTS = ("settings", "versions", "program", "process", "by", "corrected", "judge_labels")
_fields: Any = {
    **dict.fromkeys(("name", "status", "started", "finished", "lm", "adapter"), (str | None, None)),
    **dict.fromkeys(OBJECTS, (dict[str, Any], {})),
    "model": (dict[str, Any] | None, None),
    "gold": (dict[str, int | str | None], {}),
    "cost": (dict[str, float | dict[str, Any]], {}),
    "measures": (dict[str, dict[str, Any]], {}),
    "values": (dict[str, float], {}),
    "intervals": (dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]], {}),
    "value": (float, 0.0),
}
Head = create_model("Head", __config__=ConfigDict(strict=True), **_fields)
"""The shape of ``run.json``, as far as what lists and shows runs relies on it."""


def new_folder(runs: Path, name: str, lm: str | None = None) -> Path:
    """A new run folder, named after the time, the program and the model: no other run gets the same.

    ``runs/20261121-101500-extraction-smollm2-135m``
    """
    full = name if lm is None else f"{name}-{lm.rstrip('/').rpartition('/')[2]}"
    safe = re.sub(r"[^\w.-]+", "-", full).strip("-.")[:120] or "run"
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe}"
    with jsonl.writing(runs):
        runs.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = runs / (stem if number == 1 else f"{stem}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()  # either this makes it, or somebody else did
                break
    return folder


class Writer:
    """The one writer of a run folder, which is locked until it is closed.

    Rows are on disk as soon as they are made, so that a crash loses only what is in flight; secrets are hidden.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()  # a program may change the current folder
        with jsonl.writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.callback(os.close, locked(folder))
            self._rows = stack.enter_context(jsonl.Log(self.folder / ROWS))
            self._stack = stack.pop_all()

    def row(self, row: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Append a row: the row without secrets, and the offset in the file at which it starts."""
        line = jsonl.dumps(row)
        if redact(line) != line:  # rare, so rows without secrets are not parsed again
            row = scrub(json.loads(line))
            line = jsonl.dumps(row)
        return row, self._rows.lines([line])

    def about(self, about: Mapping[str, object]) -> None:
        """Replace ``run.json``, whole or not at all."""
        self._rows.check_place()
        text = jsonl.dumps(scrub(json.loads(jsonl.dumps(about))), indent=1)
        jsonl.replace(self.folder / ABOUT, f"{text}\n")

    def close(self) -> None:
        """Close the files and unlock the folder."""
        self._stack.close()


def locked(folder: Path) -> int:
    """A handle that locks the folder for this process until it is closed.

    The lock is the operating system's: it goes with its process, so a process that was killed leaves none behind.

    Raises:
        GoldassayError: Another process has it.
    """
    with jsonl.writing(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        process = read_about(folder).get("process") if (folder / ABOUT).exists() else None
        who = f" (process {process['id']} on {process['host']})" if process else ""
        raise GoldassayError(
            f"{folder} is being written by another run{who}; wait until it ends, or choose another folder"
        ) from None
    except OSError:  # a file system without locks
        pass
    return handle


def run_at(place: Path, runs: Path = Path("runs")) -> Path:
    """A run's folder, also by its name in ``runs``, as ``goldassay runs list`` shows it."""
    by_name = runs / place.name
    return by_name if not place.exists() and place.name == str(place) and by_name.is_dir() else place


def read_about(folder: Path) -> dict[str, Any]:
    """What ``run.json`` holds."""
    file = folder / ABOUT
    if not file.is_file():
        raise GoldassayError(f"no run at {folder}: expected {ABOUT} there (goldassay runs list names them)")
    about = jsonl.value(file.read_bytes(), file=file)
    if not isinstance(about, dict):
        raise DataError("not a run", file=file)
    try:
        Head.model_validate(about)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"][:2]))
        raise DataError("not a run: this has another shape than goldassay writes", file=file, field=place) from None
    return about

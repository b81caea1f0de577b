"""A run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row, and one process that writes both.

A folder is made by whoever asks for it first and is locked while a run is written to it. The lock is the operating
system's: it goes when its process goes, however that ends, so a dead process leaves none behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.secrets import redact, scrub

ABOUT, ROWS = "run.json", "rows.jsonl"


def new_folder(runs: Path, name: str, lm: str | None = None) -> Path:
    """A new run folder, named after the time, the program and the model: no other run gets the same.

    ``runs/20261121-101500-extraction-smollm2-135m``
    """
    named = name if lm is None else f"{name}-{lm.rstrip('/').rpartition('/')[2]}"
    safe = re.sub(r"[^\w.-]+", "-", named).strip("-.")[:120] or "run"
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe}"
    with jsonl.writing(runs):
        runs.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = runs / (stem if number == 1 else f"{stem}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()  # either this makes it, or somebody else did
                break
    return folder


class RowLog:
    """Rows on disk as soon as they are made, so that a crash loses only what is in flight; no secret among them."""

    def __init__(self, file: Path, secrets: tuple[str, ...], locked: bool = False) -> None:
        self.secrets = secrets
        self._log = jsonl.Log(file, locked=locked)

    def add(self, row: Mapping[str, object]) -> int:
        """One more row; the place in the file where it starts."""
        line = jsonl.dumps(row)
        if redact(line, self.secrets) != line:  # rare, so that rows without secrets are written at once
            line = jsonl.dumps(scrub(json.loads(line), self.secrets))
        return self._log.lines([line])

    def close(self) -> None:
        """No more rows."""
        self._log.close()


class Writer:
    """The one writer of a run folder, which is locked until it is closed."""

    def __init__(self, folder: Path, secrets: tuple[str, ...]) -> None:
        self.folder, self.secrets = folder, secrets
        with jsonl.writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock: int | None = locked(folder)
        try:
            self._rows = RowLog(folder / ROWS, secrets)
        except BaseException:
            os.close(self._lock)
            raise

    def row(self, row: Mapping[str, object]) -> int:
        """One more row; the place in the file where it starts."""
        return self._rows.add(row)

    def about(self, about: Mapping[str, object]) -> None:
        """Replace ``run.json``, whole or not at all."""
        text = jsonl.dumps(scrub(json.loads(jsonl.dumps(about)), self.secrets), indent=1)
        jsonl.replace(self.folder / ABOUT, f"{text}\n")

    def discard(self) -> None:
        """Leave nothing behind of a run that could not begin."""
        for name in (ROWS, ABOUT):
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's files stay, and their folder
            self.folder.rmdir()

    def close(self) -> None:
        """No more rows; somebody else may write here."""
        self._rows.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def locked(folder: Path) -> int:
    """The folder, locked for this process until the handle is closed; refused where another process has it."""
    handle = _lock(folder)
    if handle is None:
        who = _process(folder)
        raise GoldassayError(
            f"{folder} is being written by another run{who}; wait until it ends, or choose another folder"
        )
    return handle


def _lock(folder: Path) -> int | None:
    """The folder itself, open and locked; nothing where another process has it."""
    with jsonl.writing(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # a file system that knows no locks
        pass
    return handle


def _process(folder: Path) -> str:
    try:
        found = read_about(folder).get("process") or {}
        return f" (process {found['id']} on {found['host']})"
    except (GoldassayError, KeyError, TypeError):
        return ""


def run_at(place: Path, runs: Path = Path("runs")) -> Path:
    """A run's folder: as it is given, or by its name in ``runs``, as ``goldassay runs list`` shows it."""
    named = runs / place
    return named if not place.exists() and place.name == str(place) and named.is_dir() else place


def being_written(folder: Path) -> bool:
    """Whether a living process writes to a folder."""
    handle = _lock(folder)
    if handle is None:
        return True
    os.close(handle)
    return False


def read_about(folder: Path) -> dict[str, Any]:
    """What ``run.json`` says."""
    file = folder / ABOUT
    try:
        raw = file.read_bytes()
    except OSError:
        raise GoldassayError(f"no run at {folder}: expected {ABOUT} there (goldassay runs list names them)") from None
    found = jsonl.value(raw, file=file)
    if not isinstance(found, dict):
        raise DataError("not a run", file=file)
    return found

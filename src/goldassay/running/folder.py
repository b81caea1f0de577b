"""A run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row, written by one process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from goldassay._support import jsonl
from goldassay._support.exceptions import GoldassayError
from goldassay._support.secrets import scrub
from goldassay.core.fields import Record
from goldassay.running.head import HEAD, RunHead, read_head
from goldassay.running.rows import Row, without_secrets

ROWS = "rows.jsonl"
LOCK_FILE = ".lock"
NAME_LENGTH = 120  # characters of a folder's name, without the time


def new_folder(runs: Path, name: str, lm: str | None = None) -> Path:
    """A new run folder, named after the time, the program and the model: no other run gets the same.

    ``runs/20261121-101500-extraction-smollm2-135m``
    """
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe_name(name, lm)}"
    with jsonl.writing(runs):
        runs.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = runs / (stem if number == 1 else f"{stem}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()  # another process may have made it first
                break
    return folder


def safe_name(name: str, lm: str | None) -> str:
    """The name of a program and its model as a part of a folder's name."""
    model = f"-{lm.rstrip('/').rpartition('/')[2]}" if lm else ""
    return re.sub(r"[^\w.-]+", "-", name + model).strip("-.")[:NAME_LENGTH] or "run"


def earlier_folder(runs: Path, name: str, lm: str | None = None) -> Path | None:
    """The last run folder of this program and model in which a run began; None if there is none."""
    stem = re.compile(rf"\d{{8}}-\d{{6}}-{re.escape(safe_name(name, lm))}(-\d+)?")
    folders = [folder for folder in runs.glob("*") if stem.fullmatch(folder.name) and (folder / "run.json").is_file()]
    return max(folders, key=lambda folder: folder.name, default=None)


class Writer:
    """The one writer of a run folder, which is locked until it is closed.

    Rows are on disk as soon as they are made, so that a crash loses only what is in flight; secrets are hidden.

    Raises:
        GoldassayError: Another process writes to the folder.
        StorageError: Nothing can be written there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()  # a program may change the current folder
        with jsonl.writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder))
            self._rows = stack.enter_context(jsonl.Log(self.folder / ROWS))
            self._stack = stack.pop_all()

    def row(self, row: Row) -> tuple[Row, int]:
        """Append a row: the row without secrets, and the offset in the file at which it starts."""
        row, line = without_secrets(row)
        return row, self._rows.lines([line])

    def head(self, head: RunHead, results: Record = {}) -> None:
        """Replace ``run.json``, whole or not at all."""
        self._rows.check_place()
        text = jsonl.dumps(scrub(json.loads(jsonl.dumps({**head.state(), **results}))), indent=1)
        jsonl.replace(self.folder / HEAD, f"{text}\n")

    def close(self) -> None:
        """Close the files and unlock the folder."""
        self._stack.close()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process.

    The lock is the operating system's: it ends with its process, also with one that is killed.

    Raises:
        GoldassayError: Another process has it.
        StorageError: The folder cannot be written to.
    """
    file = folder.absolute() / LOCK_FILE
    lock = FileLock(file, thread_local=False)
    with jsonl.writing(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            process = read_head(folder).process if (folder / HEAD).exists() else None
            who = f" (process {process['id']} on {process['host']})" if process else ""
            raise GoldassayError(
                f"{folder} is being written by another run{who}; wait until it ends, or choose another folder"
            ) from None
    try:
        yield
    finally:
        # Removed while it is still locked: whoever opened it meanwhile sees that it is gone, and makes a new one.
        with suppress(OSError):  # Windows removes it after the release
            file.unlink()
        lock.release()


def run_at(path: Path, runs: Path = Path("runs")) -> Path:
    """A run's folder, also by its name in ``runs``, as ``goldassay runs list`` shows it."""
    by_name = runs / path.name
    return by_name if not path.exists() and path.name == str(path) and by_name.is_dir() else path

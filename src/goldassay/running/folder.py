"""A run folder: ``run.json`` at the start and at the end, ``rows.jsonl`` row by row, written by one process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ConfigDict, ValidationError, create_model

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import Fields
from goldassay.secrets import redact, scrub

ABOUT = "run.json"
ROWS = "rows.jsonl"
LOCK = ".lock"
NAME_LENGTH = 120  # characters of a folder's name beside the time
_objects = ("settings", "versions", "program", "process", "by", "corrected", "judge_labels")
_fields: Any = {
    **dict.fromkeys(("name", "status", "started", "finished", "lm", "adapter"), (str | None, None)),
    **dict.fromkeys(_objects, (Fields, {})),
    "model": (Fields | None, None),
    "gold": (dict[str, int | str | None], {}),
    "cost": (dict[str, float | Fields], {}),
    "measures": (dict[str, Fields], {}),
    "values": (dict[str, float], {}),
    "intervals": (dict[str, tuple[float, float]], {}),
    "value": (float | None, 0.0),
}
Head = create_model("Head", __config__=ConfigDict(strict=True), **_fields)
"""The shape of ``run.json``, as far as what lists and shows runs relies on it."""


def new_folder(runs: Path, name: str, lm: str | None = None) -> Path:
    """A new run folder, named after the time, the program and the model: no other run gets the same.

    ``runs/20261121-101500-extraction-smollm2-135m``
    """
    model = f"-{lm.rstrip('/').rpartition('/')[2]}" if lm else ""
    safe = re.sub(r"[^\w.-]+", "-", name + model).strip("-.")[:NAME_LENGTH] or "run"
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

    def row(self, row: Fields) -> tuple[Fields, int]:
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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process.

    The lock is the operating system's: it ends with its process, also with one that is killed.

    Raises:
        GoldassayError: Another process has it.
        StorageError: The folder cannot be written to.
    """
    file = folder.absolute() / LOCK
    lock = FileLock(file, thread_local=False)
    with jsonl.writing(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            process = read_about(folder).get("process") if (folder / ABOUT).exists() else None
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


def run_at(place: Path, runs: Path = Path("runs")) -> Path:
    """A run's folder, also by its name in ``runs``, as ``goldassay runs list`` shows it."""
    by_name = runs / place.name
    return by_name if not place.exists() and place.name == str(place) and by_name.is_dir() else place


def read_about(folder: Path) -> Fields:
    """The content of ``run.json``.

    Raises:
        GoldassayError: There is no run.
        DataError: The file is not one of a run.
    """
    file = folder / ABOUT
    if folder.suffix and not folder.exists():
        raise DataError("no such file", file=folder)
    if not file.is_file():
        raise GoldassayError(f"no run at {folder}: expected {ABOUT} there (goldassay runs list names them)")
    content = file.read_bytes()
    about: Fields = jsonl.value(content, file=file)
    try:
        Head.model_validate_json(content)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"][:2])) or None
        raise DataError(f"not a goldassay {ABOUT}", file=file, field=place) from None
    return about

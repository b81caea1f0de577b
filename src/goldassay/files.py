"""Files that people give: read as UTF-8, bounded, with what is wrong said by file and line; and written whole.

A byte-order mark is left out; lines end in LF or CRLF. What never ends is refused before memory grows: devices, pipes
that nobody writes to, lines and files beyond a bound. A pipe (``<(command)``) can be read only once, so it is kept in a
temporary file for as long as the process lives.

A reader that meets what is wrong calls ``wrong`` with the error and leaves out the line, the question or the tag that
it is about: it stops there (`stop`), goes on (`go_on`), or tells it, as an audit does; the kind is one of the audit's.

YAML is read safely: no objects, no aliases (a bomb is made of them), no file beyond a bound.
"""

from __future__ import annotations

import gc
import json
import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import yaml
from yaml.composer import ComposerError

from goldassay import jsonl
from goldassay.exceptions import DataError

LARGEST = 2_000_000_000  # bytes of a file that is read whole
LARGEST_LINE = 64_000_000
MEASURED = 1_000_000_000  # a line that is longer than this is not measured to its end
LARGEST_YAML = 20_000_000
BLOCK = 1 << 16
BOM = b"\xef\xbb\xbf"
PATIENCE = 5.0  # seconds that a pipe may have no writer


def text(path: str | Path) -> str:
    """The whole file as text, line ends as they are; a byte-order mark is left out."""
    raw = content(path)
    return decoded(raw, path).removeprefix("\ufeff")


def content(path: str | Path) -> bytes:
    """The bytes of a file that must not be empty and has no line longer than ``LARGEST_LINE``."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_LINE:
            for _ in blocks(path):  # a line that is too long is an error before the file is in memory
                pass
        if size > LARGEST:
            raise DataError(f"{size:,} bytes; at most {LARGEST:,} are read at once: split it", file=path)
        raw = file.read()
    _refuse_nul(raw, path, 1, 0)
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raise DataError("the file is empty", file=path)
    return raw


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """A file open for reading; what stands in the way is one line."""
    file = Path(path)
    try:
        kind = file.stat().st_mode
        if stat.S_ISDIR(kind):
            raise DataError("this is a folder; name a file in it", file=path)
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise DataError("this is a device or a socket, which has no end; name a file", file=path)
        with (_piped(file) if stat.S_ISFIFO(kind) else file).open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise DataError("no such file", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError as error:
        if "null byte" not in str(error):
            raise
        raise DataError("a path cannot hold a NUL character", file=repr(str(path))) from None


_PIPES: dict[tuple[int, int], Path] = {}
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _piped(path: Path) -> Path:
    """What comes out of a pipe, in a temporary file, so that it can be read as often as a file."""
    found = path.stat()
    key = (found.st_dev, found.st_ino)
    if key in _PIPES:
        return _PIPES[key]
    _KEPT.append(tempfile.TemporaryDirectory(prefix="goldassay-"))
    kept = Path(_KEPT[-1].name) / "pipe"
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        waiting, size = select.poll(), 0
        waiting.register(handle, select.POLLIN | select.POLLHUP)
        until = time.monotonic() + PATIENCE
        with kept.open("wb") as out:
            while True:
                events = dict(waiting.poll(100)).get(handle, 0)
                try:
                    piece = os.read(handle, BLOCK)
                except BlockingIOError:  # somebody writes, and has nothing to say yet
                    continue
                if not piece and (size or events & select.POLLHUP):
                    break
                if not piece and time.monotonic() > until:
                    raise DataError("a pipe that nobody writes to", file=path)
                size += out.write(piece)
                if size > LARGEST:
                    raise DataError(f"a pipe of more than {LARGEST:,} bytes: write it to a file", file=path)
                if not piece:
                    time.sleep(0.05)
    finally:
        os.close(handle)
    _PIPES[key] = kept
    return kept


def _refuse_nul(raw: bytes, path: str | Path, line: int, start: int) -> None:
    at = raw.find(b"\0")
    if at >= 0:
        raise DataError(
            f"a NUL at byte {start + at}: this is no text, or the file is damaged",
            file=path,
            line=line + raw.count(b"\n", 0, at),
        )


def decoded(raw: bytes, path: str | Path, line: int = 1, start: int = 0) -> str:
    """Bytes as text; ``line`` and ``start`` are where they stand in the file, for the error."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        place, at = error.start + start, line + raw.count(b"\n", 0, error.start)
        raise DataError(
            f"not UTF-8 at byte {place} (0x{raw[error.start]:02x}); save the file as UTF-8", file=path, line=at
        ) from None


def blocks(path: str | Path) -> Iterator[tuple[int, int, bytes]]:
    """Whole lines, many at a time, each block with its first line's number and its place in the file.

    A byte-order mark is left out. A line that is longer than ``LARGEST_LINE`` is measured, never kept.
    """
    with opened(path) as file:
        number, place = 1, len(BOM) if file.read(len(BOM)) == BOM else 0
        file.seek(place)
        kept: list[bytes] = []
        length = 0
        while piece := file.read(min(BLOCK, LARGEST_LINE)):
            _refuse_nul(piece, path, number, place + length)
            cut = piece.rfind(b"\n") + 1
            if length + (piece.find(b"\n") if cut else len(piece)) > LARGEST_LINE:
                while piece and not cut and length < MEASURED:
                    length += len(piece)
                    piece = file.read(BLOCK)
                    cut = piece.find(b"\n") + 1
                length += piece.find(b"\n") if cut else 0
                raise DataError(
                    f"a line of {'' if cut or not piece else 'more than '}{length:,} bytes; at most {LARGEST_LINE:,} "
                    "are read: make more records of it, or of a JSON file more lines",
                    file=path,
                    line=number,
                )
            kept.append(piece[:cut] if cut else piece)
            length += len(piece)
            if cut:
                block = b"".join(kept)
                yield number, place, block
                number, place = number + block.count(b"\n"), place + len(block)
                kept, length = [piece[cut:]], len(piece) - cut
        if length:
            yield number, place, b"".join(kept)


def lines(path: str | Path) -> list[str]:
    """The lines of a file without their ends: split at LF and CRLF alone, never at other Unicode separators."""
    whole = text(path)
    found = whole.split("\n")
    if len(found) == 1 and "\r" in whole.rstrip("\r"):
        raise DataError("its lines end in CR alone; save it with LF or CRLF", file=path)
    if found and not found[-1]:
        found.pop()
    return [line.removesuffix("\r") for line in found] if "\r" in whole else found


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector: in a bulk load of records it costs more than validating them.

    Its first round afterwards would walk through every new record, which are trees and no garbage. Freezing and
    thawing moves them to the oldest generation at no cost; who froze objects before keeps them frozen.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def json_value(path: str | Path) -> Any:
    """The content of a JSON file, as `jsonl.value` reads it."""
    return jsonl.value(text(path), file=path)


def json_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """What the lines of a JSON Lines file say, with their numbers; empty lines are left out."""
    for number, line in enumerate(lines(path), start=1):
        if line and not line.isspace():
            yield number, jsonl.value(line, file=path, line=number)


def save_json(path: str | Path, value: object) -> None:
    """Write a JSON file, indented."""
    save(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def save(path: str | Path, content: str) -> None:
    """Write text as UTF-8 with the line ends that it has: whole, or not at all."""
    file = Path(path)
    try:
        if file.exists() and not file.is_file():  # a device or a pipe is written to, not replaced
            with jsonl.writing(path):
                file.write_bytes(content.encode("utf-8"))
        else:
            jsonl.replace(file.resolve(), content)
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError(f"cannot be written: {half} is half of a character", file=path) from None


class Wrong(Protocol):
    """Takes an error, and either raises it or returns."""

    def __call__(self, error: DataError, kind: str = "unreadable") -> None: ...


def stop(error: DataError, kind: str = "unreadable") -> None:
    """Raise the first error.

    >>> stop(DataError("no type", file="gold.tsv", line=3))
    Traceback (most recent call last):
    goldassay.exceptions.DataError: gold.tsv:3: no type
    """
    raise error


def go_on(error: DataError, kind: str = "unreadable") -> None:
    """Say nothing: what is wrong was told before.

    >>> go_on(DataError("no type", file="gold.tsv", line=3))
    """


class Skipping:
    """Passes over as many faults as it may, and keeps them; the next one is raised.

    >>> wrong = Skipping(1)
    >>> wrong(DataError("no type", file="gold.tsv", line=3))
    >>> str(wrong.found[0])
    'gold.tsv:3: no type'
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.found: list[DataError] = []

    def __call__(self, error: DataError, kind: str = "unreadable") -> None:
        if len(self.found) == self.most:
            raise error
        self.found.append(error)


class _Plain(yaml.SafeLoader):
    """A safe loader that takes no aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            raise ComposerError(
                None, None, f"alias *{event.anchor}: aliases are not read here; write the value out", event.start_mark
            )
        return super().compose_node(parent, index)


def yaml_value(path: str | Path) -> Any:
    """The content of a YAML file.

    Repeated keys are an error of the file that YAML itself lets pass; the last one counts.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
    if size > LARGEST_YAML:
        raise DataError(f"{size:,} bytes; a YAML file here has at most {LARGEST_YAML:,}", file=path)
    content = text(path)
    try:
        return yaml.load(content, Loader=_Plain)  # noqa: S506 (it is a SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DataError(f"not YAML: {error.problem}", file=path, line=line) from None
    except yaml.YAMLError as error:
        raise DataError(f"not YAML: {str(error).splitlines()[0]}", file=path) from None
    except RecursionError:
        raise DataError("not YAML that can be read: it is nested too deeply", file=path) from None
    except ValueError as error:  # a number of thousands of digits, a date that is none
        raise DataError(f"not YAML that can be read: {str(error).partition(';')[0]}", file=path) from None

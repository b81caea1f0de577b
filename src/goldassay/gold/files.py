"""Reading files: UTF-8 with or without a byte-order mark, LF or CRLF, and what can be wrong with that.

What a reader does with what is wrong in a file: stop there, as a rule, or tell it and go on, as an audit asks.

A reader calls ``wrong`` with the error and leaves out the line, the question or the tag that it is about. The kind is
one of the audit's kinds of findings.

YAML, read safely: no objects, no aliases (a bomb is made of them), no file beyond a bound.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import yaml

from goldassay.exceptions import DataError

LARGEST_LINE = 64_000_000
BLOCK = 1 << 16
BOM = b"\xef\xbb\xbf"


def text(path: str | Path) -> str:
    """The whole file as text, line ends as they are; a byte-order mark is left out."""
    raw = content(path)
    return decoded(raw, path).removeprefix("\ufeff")


def content(path: str | Path) -> bytes:
    """The bytes of a file that must not be empty and has no line longer than ``LARGEST_LINE``."""
    if Path(path).is_file() and Path(path).stat().st_size > LARGEST_LINE:
        for _ in blocks(path):  # a line that is too long is an error before the file is in memory
            pass
    with opened(path) as file:
        raw = file.read()
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raise DataError("the file is empty", file=path)
    return raw


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """A file open for reading; what stands in the way is one line."""
    file = Path(path)
    if file.is_dir():
        raise DataError("this is a folder; name a file in it", file=path)
    try:
        with file.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise DataError("no such file", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None


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
            cut = piece.rfind(b"\n") + 1
            if length + (piece.find(b"\n") if cut else len(piece)) > LARGEST_LINE:
                while piece and not cut:
                    length += len(piece)
                    piece = file.read(BLOCK)
                    cut = piece.find(b"\n") + 1
                length += piece.find(b"\n") if cut else 0
                raise DataError(
                    f"a line of {length:,} bytes; at most {LARGEST_LINE:,} are read: make more records of it, or of a "
                    "JSON file more lines",
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


def json_value(path: str | Path, *, unique: bool = False) -> Any:
    """The content of a JSON file; NaN and Infinity are not JSON, nor, if ``unique``, is an id that stands twice."""
    try:
        return json.loads(text(path), parse_constant=_constant, object_pairs_hook=_once if unique else None)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} (column {error.colno})", file=path, line=error.lineno) from None
    except DataError as error:
        raise error.at(file=path) from None
    except RecursionError:
        raise DataError("not JSON that can be read: it is nested too deeply", file=path) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise DataError("this id stands twice in one object; keep one", record=twice)
    return made


def _constant(name: str) -> Any:
    raise DataError(f"{name} is not JSON")


def save_json(path: str | Path, value: Any) -> None:
    """Write a JSON file, indented."""
    save(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def save(path: str | Path, content: str) -> None:
    """Write text as UTF-8 with the line ends that it has."""
    file = Path(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode("utf-8"))
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", file=path) from None


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


LARGEST = 20_000_000


class _Plain(yaml.SafeLoader):
    """A safe loader that takes no aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, f"alias *{event.anchor}: aliases are not read here; write the value out", event.start_mark
            )
        return super().compose_node(parent, index)


def load(path: str | Path) -> Any:
    """The content of a YAML file.

    Repeated keys are an error of the file that YAML itself lets pass; the last one counts.
    """
    file = Path(path)
    if file.is_file() and file.stat().st_size > LARGEST:
        raise DataError(f"{file.stat().st_size:,} bytes; a YAML file here has at most {LARGEST:,}", file=path)
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

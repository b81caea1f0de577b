"""Reading files: UTF-8 with or without a byte-order mark, LF or CRLF, and what can be wrong with that."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError

LARGEST_LINE = 64_000_000


def text(path: str | Path) -> str:
    """The whole file as text, line ends as they are; a byte-order mark is left out."""
    raw = content(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"not UTF-8 at byte {error.start} (0x{raw[error.start]:02x}); save the file as UTF-8", file=path, line=line
        ) from None


def content(path: str | Path) -> bytes:
    """The bytes of a file that must not be empty."""
    file = Path(path)
    if file.is_dir():
        raise DataError("this is a folder; name a file in it", file=path)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise DataError("no such file", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raise DataError("the file is empty", file=path)
    return raw


def lines(path: str | Path) -> list[str]:
    """The lines of a file without their ends: split at LF and CRLF alone, never at other Unicode separators."""
    content = text(path)
    found = content.split("\n")
    if found and not found[-1]:
        found.pop()
    if len(content) > LARGEST_LINE:
        longest = max(range(len(found)), key=lambda index: len(found[index]))
        if len(found[longest]) > LARGEST_LINE:
            raise DataError(f"a line of {len(found[longest]):,} characters", file=path, line=longest + 1)
    return [line.removesuffix("\r") for line in found] if "\r" in content else found


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector: in a bulk load of records it costs more than validating them."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def json_value(path: str | Path) -> Any:
    """The content of a JSON file; NaN and Infinity are not JSON."""
    try:
        return json.loads(text(path), parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} (column {error.colno})", file=path, line=error.lineno) from None
    except DataError as error:
        raise error.at(file=path) from None
    except RecursionError:
        raise DataError("not JSON that can be read: it is nested too deeply", file=path) from None


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

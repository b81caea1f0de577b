"""The exceptions of goldassay: one small tree.

::

    GoldassayError              exit code 2: the input or the call is wrong
    ├── DataError               a file, a record or a field is wrong; says where
    │   └── LeakError           the same example is on two sides of a split
    ├── MetricError             a metric is at fault, whatever the prediction was
    ├── FieldError              a gold example or a prediction lacks a field
    ├── ConventionError         two numbers were made under different conventions
    ├── StorageError            something cannot be kept: a full disk, a folder that is read-only
    ├── RunStopped              exit code 3: a run stopped before its end and can be resumed
    ├── FetchError              an article or an item could not be fetched
    │   ├── NotFoundError       it is not there
    │   └── CacheOnlyError      it is not in the cache, and only the cache may be asked
    ├── ModelError              a language model or an embedder cannot be used
    └── MissingExtra            an optional dependency is not installed

Every message is one line: what, where, what was found, how to fix it.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from goldassay._support.secrets import redact


def clipped(text: str, most: int = 2000) -> str:
    """A text without its middle if it is longer: a value that a message quotes may be a whole file.

    >>> clipped("expected a number, found 123456789; use digits", 40)
    'expected a number, found 12345…use digits'
    """
    return text if len(text) <= most else f"{text[: most * 3 // 4]}…{text[-most // 4 :]}"


class GoldassayError(Exception):
    """The input or the call is wrong; the message says how to fix it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(clipped(message))


class DataError(GoldassayError):
    """A file, a record or a field is wrong.

    Args:
        what: What is wrong, and how to fix it.

    >>> str(DataError("end before start", file="gold.jsonl", line=3, record="nl-1", field="entities[0]"))
    'gold.jsonl:3: record nl-1, entities[0]: end before start'
    """

    def __init__(
        self,
        what: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        record: object = None,
        field: str | None = None,
    ) -> None:
        self.what = clipped(what)
        self.file = file
        self.line = line
        self.record = record
        self.field = field
        where = f"line {line}" if file is None and line else ":".join(str(part) for part in (file, line) if part)
        inside = ", ".join(filter(None, ("" if record is None else f"record {record}", field)))
        message = ": ".join(filter(None, (where, inside, what)))
        super().__init__(message.replace("\n", "\\n").replace("\r", "\\r"))  # a name in a file may hold either

    def at(self, **place: Any) -> DataError:
        """The same error with more of its place (file, line, record, field); what the error has already stays."""
        fields = {name: getattr(self, name) for name in ("what", "file", "line", "record", "field")}
        return type(self)(**{**place, **{name: value for name, value in fields.items() if value is not None}})


class LeakError(DataError):
    """The same example is on two sides of a split, exactly or nearly."""


class FieldError(GoldassayError):
    """A gold example or a prediction lacks a field that a measure needs."""


class MetricError(GoldassayError):
    """A metric is at fault, whatever the prediction was: it returned no number."""


class ConventionError(GoldassayError):
    """Two numbers that were made under different conventions were put side by side."""


class StorageError(GoldassayError):
    """Something cannot be kept: the disk is full, a folder is read-only."""


class RunStopped(GoldassayError):
    """A run stopped before its end; its rows are safe, and it can be resumed (exit code 3).

    ``run`` is the run until then.
    """

    def __init__(self, message: str, run: object = None) -> None:
        super().__init__(message)
        self.run = run


class FetchError(GoldassayError):
    """An article or an item could not be fetched; nothing is known of it."""


class NotFoundError(FetchError):
    """An article or an item is not there."""


class CacheOnlyError(FetchError):
    """Only the cache may be asked, and it does not hold this."""


class ModelError(GoldassayError):
    """A language model or an embedder cannot be found, loaded or read."""


class MissingExtra(GoldassayError):
    """An optional dependency is not installed.

    >>> str(MissingExtra("xllamacpp", "local"))
    "this needs xllamacpp, which is not installed: pip install 'goldassay[local]'"
    """

    def __init__(self, package: str, extra: str, otherwise: str = "") -> None:
        super().__init__(f"this needs {package}, which is not installed: pip install 'goldassay[{extra}]'{otherwise}")


def optional(package: str, extra: str) -> ModuleType:
    """A module of an extra.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(package, extra) from None


def one_line(error: BaseException) -> str:
    """An exception in one line, without secrets; its ``__str__`` may itself raise.

    >>> one_line(ValueError("no\\n text"))
    'ValueError: no text'
    """
    try:
        text = redact(" ".join(str(error).split()))[:500]
    except Exception:  # noqa: BLE001
        text = "(its text cannot be read)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_of(error: BaseException) -> str:
    """The first line of a user's own code that an exception came through, as `` (metric.py:9)``; empty without one."""
    package = str(Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((frame for frame in frames if not frame.filename.startswith(package)), None)
    return f" ({Path(frame.filename).name}:{frame.lineno})" if frame else ""


@contextmanager
def user_code(name: str) -> Iterator[None]:
    """Call a user's function in this: what it raises is one line with its name.

    Raises:
        GoldassayError: The function raised.
    """
    try:
        yield
    except GoldassayError:
        raise
    except Exception as error:
        raise GoldassayError(f"{name} raised {one_line(error)}{line_of(error)}") from error


def short_repr(value: object, length: int) -> str:
    """A value in one line, for a message; its ``__repr__`` may itself raise."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001
        text = f"<{type(value).__name__}>"
    return text if len(text) <= length else f"{text[: length - 1]}…"

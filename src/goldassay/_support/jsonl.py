"""JSON values, and files of one JSON object a line that survive a crash of the writer.

`value` reads strictly: NaN, numbers that no float holds (``1e999``) and repeated keys are one-line errors. Half of a
character (a lone surrogate, as tools in JavaScript write it) becomes ``\ufffd``, one character for one, so that offsets
stay what they were.

`Log` appends whole lines under a lock that other processes respect. A line that does not fit on the disk is taken back.
If a process is killed while it writes, the last line is cut off: reading leaves it out, and the next write removes it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, TypeAlias, TypeVar

import orjson

from goldassay._support.exceptions import DataError, StorageError

JSON: TypeAlias = str | float | bool | Mapping[str, Any] | Sequence[Any] | None
"""A value that JSON can write, on its upper level."""
FENCED = re.compile(r"```(?:\w*\s|(?=[\[{]))(.*?)(?:```|\Z)", re.DOTALL)
MOST_NESTED = 50  # levels of an odd value that are written
HALF = re.compile("[\\ud800-\\udfff]")  # of a surrogate pair: no character
DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
LONG_NUMBER = b"0" * 20  # of digits: orjson reads an integer beyond 64 bits as a float, and two of them as the same
LOCK_SECONDS = 0.002  # seconds after which a writer asks again for a file that another process is writing


def value(text: str | bytes, *, file: Path | str | None = None, line: int | None = None, unique: bool = True) -> Any:
    """Parse a JSON text; ``file`` and ``line`` say where it is, for errors.

    ``unique=False`` accepts repeated keys (the last one counts), which is faster: for files that goldassay wrote.

    Raises:
        DataError: It is not JSON.

    >>> value('{"id": "a", "label": "M", "label": "L"}', file="gold.jsonl", line=3)
    Traceback (most recent call last):
    goldassay._support.exceptions.DataError: gold.jsonl:3: 'label' is repeated in one object; keep one
    """
    try:
        if not unique:
            raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
            try:
                if LONG_NUMBER not in raw.translate(DIGITS_TO_ZERO):
                    return orjson.loads(text)
            except orjson.JSONDecodeError:  # such as a number that only Python reads
                pass
        content = text if isinstance(text, str) else text.decode()
        parsed = (UNIQUE_DECODER if unique else DECODER).decode(content)
        return whole(parsed) if "\\ud" in content or "\\uD" in content else parsed
    except DataError as error:
        raise error.at(file=file, line=line) from None
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} (column {error.colno})"
        raise DataError(message, file=file, line=error.lineno if line is None else line) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}; save the file as UTF-8", file=file, line=line) from None
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
        raise DataError(f"not JSON that can be read: {str(error).partition(';')[0]}", file=file, line=line) from None


def without_fence(text: str) -> str:
    """The content of the one Markdown fence in a model's answer; any other text as it is.

    >>> without_fence('Here it is:\\n```json\\n{"no": 7}\\n```')
    '{"no": 7}'
    """
    blocks = [] if text.lstrip()[:1] in ("{", "[") else FENCED.findall(text)
    return blocks[0].strip() if len(blocks) == 1 else text


def parse_field(text: str, name: str) -> object:
    """The value of a field in a model's answer: a list, or an object with this field, that it wrote as JSON; else text.

    >>> parse_field('[{"start": 0}]', "entities"), parse_field("```\\nM\\n```", "label")
    ([{'start': 0}], 'M')
    """
    if not any(sign in text for sign in "{[`"):
        return text
    content = without_fence(text)
    with suppress(DataError):
        parsed = value(content)
        if isinstance(parsed, dict) and name in parsed:
            return parsed[name]
        return parsed if isinstance(parsed, list) and name != "label" else content
    return content


def finite(digits: str) -> float:
    """The float of a JSON number.

    Raises:
        DataError: It is larger than any float.
    """
    number = float(digits)
    if math.isinf(number):
        raise DataError(f"{digits[:20]}{'…' if len(digits) > 20 else ''} is larger than any number that can be kept")
    return number


def whole(parsed: object) -> object:
    """A parsed value in which half of a character is ``\ufffd``, so that UTF-8 can hold it.

    >>> whole({"text": "a\\ud83d b", "n": [1, "c"]})
    {'text': 'a\ufffd b', 'n': [1, 'c']}
    """
    if isinstance(parsed, str):
        return HALF.sub("\ufffd", parsed)
    if isinstance(parsed, dict):
        return {whole(key): whole(inner) for key, inner in parsed.items()}
    return [whole(inner) for inner in parsed] if isinstance(parsed, list) else parsed


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise DataError(f"{repeated!r} is repeated in one object; keep one")
    return parsed


def _refuse_constant(name: str) -> NoReturn:
    raise DataError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_float=finite, parse_constant=_refuse_constant)
UNIQUE_DECODER = json.JSONDecoder(parse_float=finite, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)


def dumps(value: object, indent: int | None = None) -> str:
    """JSON of whatever a program returned: one odd value does not lose a run.

    >>> print(dumps({("a", 1): {3}, "score": float("nan")}))
    {"('a', 1)": [3], "score": null}
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=jsonable, indent=indent, allow_nan=False)
        text.encode()  # half of a surrogate pair cannot be written as UTF-8
    except Exception:  # noqa: BLE001  whatever the value's own methods raise
        return json.dumps(_writable(value), indent=indent)
    return text


def _writable(value: object, depth: int = 0) -> object:
    """``value`` with what JSON can hold: other keys as text, numbers that are not finite as null.

    Of a value whose own methods raise, or that is nested too deeply, only the name of its type is left.
    """
    try:
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None
        if value is None or isinstance(value, bool) or (isinstance(value, int) and value.bit_length() < 1000):
            return value
        if isinstance(value, str):
            return HALF.sub("\ufffd", str.__str__(value))
        if isinstance(value, dict) and depth < MOST_NESTED:
            return {_writable(str(key)): _writable(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, (list, tuple)) and depth < MOST_NESTED:
            return [_writable(inner, depth + 1) for inner in value]
        return _writable(jsonable(value), depth + 1) if depth < MOST_NESTED else "…"
    except Exception:  # noqa: BLE001
        return f"<{type(value).__name__}>"


def jsonable(value: object) -> object:
    """A value that JSON can write for one that it cannot: models as dicts, arrays as lists, the rest as text.

    >>> from dataclasses import make_dataclass
    >>> from datetime import datetime
    >>> jsonable(Decimal("12.50")), jsonable(datetime(2024, 3, 1, 10, 30))
    (12.5, '2024-03-01T10:30:00')
    >>> jsonable(make_dataclass("Line", ["quantity"])(3))
    {'quantity': 3}
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (Decimal, date, time)):
        return float(value) if isinstance(value, Decimal) else value.isoformat()
    if type(value).__module__.startswith("dspy.") and (declared := getattr(type(value), "model_fields", None)):
        return {name: getattr(value, name) for name in declared}  # its dump is made for prompts
    for method in ("model_dump", "toDict", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value, key=str) if isinstance(value, (set, frozenset)) else str(value)


Check = Callable[[dict[str, Any]], object]
T = TypeVar("T")


def rows(file: Path, *, what: str = "a JSON object", check: Check | None = None) -> Iterator[dict[str, Any]]:
    """The objects of a file that a `Log` wrote, one at a time; a last line that was cut off is left out.

    ``check`` is called with each and may raise `KeyError`, `TypeError` or `ValueError`; ``what`` names what a line is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.jsonl").write_text('{"a": 1}\\n{"a": 2}\\n{"a"')
    ...     list(rows(Path(folder, "x.jsonl")))
    [{'a': 1}, {'a': 2}]
    """

    def checked(row: dict[str, object]) -> dict[str, object]:
        (check or dict)(row)
        return row

    return (row for row, _ in parsed_rows(file, checked, what=what))


def parsed_rows(file: Path, parse: Callable[[dict[str, Any]], T], *, what: str) -> Iterator[tuple[T, int]]:
    """The result of ``parse`` for each object of a file that a `Log` wrote, with the offset of its line (`rows_at`).

    Raises:
        DataError: A line is not JSON, or ``parse`` raises.
    """
    offset = 0
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):  # cut off, or being written: what follows would be read as a line of its own
                return
            if not line.isspace():
                row = value(line, file=file, line=number, unique=False)
                try:
                    parsed = parse(row)
                except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
                    raise DataError(f"not {what}", file=file, line=number) from None
                yield parsed, offset
            offset += len(line)


def rows_at(file: Path, offsets: Iterable[int]) -> Iterator[dict[str, object]]:
    """The objects whose lines start at these byte offsets, for sequences that leave their rows in a file."""
    with file.open("rb") as stream:
        for offset in offsets:
            stream.seek(offset)
            row = value(stream.readline(), file=file, unique=False)
            yield row


class Log:
    """A file that threads and processes append objects to, whole lines only.

    Args:
        file: The file.
        sync: Whether a line is on the disk when `add` returns, so that it survives a crash of the machine, too.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Log(Path(folder) / "x.jsonl") as log:
    ...         _ = log.add({"a": 1})
    ...     log.file.read_text()
    '{"a": 1}\\n'
    """

    def __init__(self, file: Path, *, sync: bool = False) -> None:
        self.file = file
        self._sync = sync
        self._lock = Lock()
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            self._stream = file.open("ab+", buffering=0)

    def add(self, row: Mapping[str, object]) -> int:
        """Append one object; returns the byte offset of its line."""
        return self.lines([dumps(row)])

    def lines(self, texts: list[str]) -> int:
        """Append several lines that are JSON already, all or none; returns the byte offset of the first."""
        from filelock import lock_descriptor, unlock_descriptor  # imports asyncio

        raw = "".join(f"{text}\n" for text in texts).encode()
        with self._lock, writing(self.file):
            lock_descriptor(self._stream.fileno(), poll_interval=LOCK_SECONDS)
            try:
                self.check_place()
                end = self._stream.seek(0, os.SEEK_END)
                if end:
                    self._stream.seek(-1, os.SEEK_END)
                    if self._stream.read(1) != b"\n":  # a process was killed while it wrote the last line
                        end = self.file.read_bytes().rfind(b"\n") + 1
                        self._stream.truncate(end)
                try:
                    while raw:
                        raw = raw[self._stream.write(raw) :]
                    if self._sync:
                        os.fsync(self._stream.fileno())
                except BaseException:
                    self._stream.truncate(end)
                    raise
                return end
            finally:
                unlock_descriptor(self._stream.fileno())

    def check_place(self) -> None:
        """Check that nobody deleted or moved the file: what is written to it now would be lost.

        Raises:
            StorageError: Somebody did.
        """
        if not (self.file.exists() and os.path.samestat(self.file.stat(), os.fstat(self._stream.fileno()))):
            raise StorageError(f"{self.file} was deleted or moved while it was being written")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._stream.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn an error of the operating system into one line that names ``path``.

    Raises:
        StorageError: Something cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from None


def replace(file: Path, text: str) -> None:
    """Replace a file's content by ``text``, whole or not at all."""
    replace_all({file: text.encode("utf-8")})


def replace_all(contents: Mapping[Path, bytes]) -> None:
    """Replace the contents of files: all of them, or none if one cannot be written."""
    parts = {file: file.with_name(f".{file.name}.{os.getpid()}.part") for file in contents}
    try:
        for file, written in parts.items():
            with writing(file):
                file.parent.mkdir(parents=True, exist_ok=True)
                written.write_bytes(contents[file])
        for file, written in parts.items():
            with writing(file):
                os.replace(written, file)
    except BaseException:
        for written in parts.values():
            with suppress(OSError):
                written.unlink()
        raise

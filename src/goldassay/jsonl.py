"""JSON as it is exchanged, and files of one JSON object a line that survive whoever writes them.

`value` reads strictly: NaN, infinities, numbers without end, halves of characters, keys that stand twice in one object
and nesting without end are one line each, on reading, where the file and the line are known.

`Log` appends: runs, verdicts, ledgers, annotations and the rows of articles are such files. A line is written with one
call, under a lock that other processes see, and a line that does not fit on the disk is taken back: so whatever
happens, a file holds whole lines, but for a last one that was cut off by a kill. That is left out on reading and cut
away before the next line is written. Lines are handed to the operating system at once, which survives the death of the
process; ``sync`` also waits for the disk: that survives the death of the machine.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from goldassay.exceptions import DataError, GoldassayError, StorageError

DIGITS = 309  # a whole number that is longer is no number that a measure can count with
ODD = re.compile(rf"\d{{{DIGITS},}}|[eE]\+?\d{{3}}|\\u[dD][89a-fA-F]")
FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota is used up", errno.EFBIG: "the file is too large"}


def value(text: str | bytes, *, file: object = None, line: int | None = None, unique: bool = True) -> Any:
    """What a JSON text says. ``file`` and ``line`` are where it stands, for the error.

    ``unique=False`` lets keys stand twice (the last one counts), which is faster: for what goldassay wrote itself.

    >>> value('{"id": "a", "id": "b"}', file="gold.jsonl", line=3)
    Traceback (most recent call last):
    goldassay.exceptions.DataError: gold.jsonl:3: 'id' stands twice in one object; keep one
    """
    try:
        plain = text if isinstance(text, str) else text.decode("utf-8")
        odd = ODD.search(plain) is not None
        numbers: dict[str, Any] = {"parse_int": _int, "parse_float": _float} if odd else {}
        found = json.loads(plain, parse_constant=_constant, object_pairs_hook=_once if unique else None, **numbers)
        if odd:
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}; save the file as UTF-8", file=file, line=line) from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError(f"{half} is half of a character; write the other half too", file=file, line=line) from None
    except json.JSONDecodeError as error:
        where = line if line is not None else error.lineno
        raise DataError(f"not JSON: {error.msg} (column {error.colno})", file=file, line=where) from None
    except DataError as error:
        raise error.at(file=file, line=line) from None
    except RecursionError:
        raise DataError("not JSON that can be read: it is nested too deeply", file=file, line=line) from None
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise DataError(f"{twice!r} stands twice in one object; keep one")
    return made


def _constant(name: str) -> Any:
    raise DataError(f"{name} is not JSON")


def _int(digits: str) -> int:
    if len(digits) > DIGITS:
        raise DataError(f"a number of {len(digits.lstrip('-')):,} digits; at most {DIGITS} are read")
    return int(digits)


def _float(written: str) -> float:
    found = float(written)
    if math.isinf(found):
        raise DataError(f"{written[:20]} is larger than any number that can be counted with")
    return found


def dumps(value: object, indent: int | None = None) -> str:
    """JSON of whatever a program returned: a run is not lost because of one odd value.

    >>> print(dumps({("a", 1): {3}, "score": float("nan")}))
    {"('a', 1)": [3], "score": null}
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=plain, indent=indent, allow_nan=False)
        text.encode()  # half of a surrogate pair cannot be written as UTF-8
    except Exception:  # noqa: BLE001  whatever the value's own methods raise
        return json.dumps(_odd(value, 0), indent=indent)
    return text


def _odd(value: Any, depth: int) -> Any:
    """``value`` with what JSON has no word for: other keys as text, numbers that are not finite as null."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() < 1000 else f"a number of {value.bit_length():,} bits"
    if isinstance(value, str):
        return str.encode(value, "utf-8", "backslashreplace").decode()  # half of a character is shown as its number
    if depth > 50:
        return "…"  # nested without end
    if isinstance(value, dict):
        return {str(_odd(_text(key), 0)): _odd(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_odd(inner, depth + 1) for inner in value]
    try:
        made = plain(value)
    except Exception:  # noqa: BLE001
        made = f"<{type(value).__name__}>"
    return _odd(made, depth + 1)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  a __str__ that raises
        return f"<{type(value).__name__}>"


def plain(value: object) -> Any:
    """What JSON cannot write by itself: models as dicts, arrays as lists, the rest as text."""
    for method in ("model_dump", "toDict", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value, key=str) if isinstance(value, (set, frozenset)) else _text(value)


def rows(
    file: Path, *, what: str = "a JSON object", check: Callable[[dict[str, object]], object] | None = None
) -> Iterator[dict[str, Any]]:
    """The objects of a file that a `Log` wrote, one at a time; a last line that was cut off is left out.

    ``check`` is called with each and may raise `KeyError`, `TypeError` or `ValueError`; ``what`` says what a line is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.jsonl").write_text('{"a": 1}\\n{"a": 2}\\n{"a"')
    ...     list(rows(Path(folder, "x.jsonl")))
    [{'a': 1}, {'a': 2}]
    """
    return (row for row, _ in placed(file, what=what, check=check))


def placed(
    file: Path, *, what: str = "a JSON object", check: Callable[[dict[str, object]], object] | None = None
) -> Iterator[tuple[dict[str, Any], int]]:
    """Like `rows`, each with the place in the file where its line starts (`at` reads it again)."""
    start = 0
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    return
                if not line.isspace():
                    yield _object(line, file, number, what, check), start
                start += len(line)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=file) from None


def at(file: Path, places: Iterable[int]) -> Iterator[dict[str, object]]:
    """The objects whose lines start at these places, in their order: memory does not grow with the file."""
    with file.open("rb") as lines:
        for start in places:
            lines.seek(start)
            found: dict[str, Any] = value(lines.readline(), file=file, unique=False)
            yield found


def _object(
    line: bytes, file: Path, number: int, what: str, check: Callable[[dict[str, Any]], object] | None
) -> dict[str, Any]:
    found = value(line, file=file, line=number, unique=False)
    try:
        if not isinstance(found, dict):
            raise TypeError
        if check is not None:
            check(found)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(f"not {what}", file=file, line=number) from None
    return found


class Log:
    """A file that objects are appended to, by threads and by processes, whole lines only.

    ``alone``: by this process alone, until the file is closed or the process is gone; what another has is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Log(Path(folder) / "x.jsonl") as log:
    ...         _ = log.add({"a": 1})
    ...     log.file.read_text()
    '{"a": 1}\\n'
    """

    def __init__(self, file: Path, *, sync: bool = False, alone: bool = False) -> None:
        self.file, self.sync, self.alone, self._lock = file, sync, alone, Lock()
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            self._handle: int | None = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if alone:
            self._take()
        with self._held() as handle:
            _mend(handle)

    def _take(self) -> None:
        handle = self._handle or 0
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise GoldassayError(
                f"{self.file}: is being written by another run; wait until it ends, or write to another file"
            ) from None
        except OSError:  # a file system that knows no locks
            self.alone = False

    def add(self, row: object) -> int:
        """One more line; it is on its way to the disk when this returns. Gives the place where it starts."""
        return self.line(dumps(row))

    def line(self, text: str) -> int:
        """One more line, as JSON that is written already; the place where it starts."""
        return self.lines([text])

    def lines(self, texts: list[str]) -> int:
        """Several lines at once: all of them, or none; the place where the first one starts."""
        raw = "".join(f"{text}\n" for text in texts).encode("utf-8")
        with self._held() as handle, writing(self.file):
            end = os.fstat(handle).st_size
            try:
                left = memoryview(raw)
                while left:
                    left = left[os.write(handle, left) :]
                if self.sync:
                    os.fsync(handle)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(handle, end)
                raise
            return end

    @contextmanager
    def _held(self) -> Iterator[int]:
        """The open file, while no other thread and no other process writes to it."""
        with self._lock:
            handle = self._handle
            if handle is None:
                raise StorageError(f"{self.file}: is closed")
            if not self.alone:
                fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                yield handle
            finally:
                if not self.alone:
                    fcntl.flock(handle, fcntl.LOCK_UN)

    def close(self) -> None:
        """No more lines."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


def _mend(handle: int) -> None:
    """Cut off a last line that was being written when a process was killed."""
    size = keep = os.fstat(handle).st_size
    while keep:
        start = max(0, keep - 65536)
        found = os.pread(handle, keep - start, start).rfind(b"\n")
        if found >= 0:
            keep = start + found + 1
            break
        keep = start
    if keep < size:
        os.ftruncate(handle, keep)


@contextmanager
def writing(place: object) -> Iterator[None]:
    """What stands in the way of writing is one line."""
    try:
        yield
    except OSError as error:
        why = FULL.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"{place}: cannot be written: {why}") from None


def replace(file: Path, text: str) -> None:
    """Put ``text`` in place of a file's content, whole or not at all."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    with writing(file):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as out:
                out.write(text.encode("utf-8"))
            os.replace(part, file)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise

"""What was fetched or computed, kept in one SQLite file that several processes may share.

A `Store` keeps bytes by kind and key (an embedder's name and a text, a language and a title). Both are values in a
table and never part of a path, so nothing that stands in data leads out of the folder. What cannot be kept (a full
disk, a read-only folder) is an error in one line; a file that is damaged is put aside with a warning in one line, and
the work goes on with an empty one: a cache holds nothing that cannot be had again.

A `Cache` is a store of what was fetched from elsewhere, as JSON, good for 30 days.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar
from unicodedata import normalize

from goldassay import jsonl
from goldassay.exceptions import CacheOnlyError, DataError, StorageError

FOLDER = Path(".goldassay") / "article_cache"
DAYS = 30
WAIT = 60.0  # seconds for another process to finish writing
ASKED = 500  # SQLite takes at least 999 parameters in a statement
TABLE = "CREATE TABLE IF NOT EXISTS kept (kind BLOB, key BLOB, value BLOB, written TEXT, PRIMARY KEY (kind, key))"
Use = Literal["normal", "none", "only"]
Key = TypeVar("Key", str, bytes)
T = TypeVar("T")


class Store:
    """Bytes by kind and key, in a SQLite file that is made when it is first used.

    Several threads may share a store, and several processes its file: each write is whole or not there. A copy that
    was pickled or forked opens the file anew.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "kept.sqlite")
    ...     _ = store.put("nl", {"Delft": b"a town"})
    ...     {key: value for key, (value, written) in store.get("nl", ["Delft", "Gouda"]).items()}
    {'Delft': b'a town'}
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._file: sqlite3.Connection | None = None
        self._process = 0

    def get(self, kind: str, keys: Sequence[Key]) -> dict[Key, tuple[bytes, str]]:
        """What is kept by these keys: the value, and the day and time on which it was written."""
        known = {_bytes(key): key for key in keys}
        asked: list[bytes] = list(known)

        def read(file: sqlite3.Connection) -> dict[Key, tuple[bytes, str]]:
            out: dict[Key, tuple[bytes, str]] = {}
            for start in range(0, len(asked), ASKED):
                part: list[bytes] = asked[start : start + ASKED]
                marks = ",".join("?" * len(part))
                rows = file.execute(
                    f"SELECT key, value, written FROM kept WHERE kind = ? AND key IN ({marks})", [_bytes(kind), *part]
                )
                out |= {known[key]: (value, written) for key, value, written in rows}
            return out

        return self._with(read)

    def put(self, kind: str, values: Mapping[Key, bytes]) -> str:
        """Keep these values, all of them or none; the day and time that is noted with them."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(_bytes(kind), _bytes(key), value, now) for key, value in values.items()]

        def write(file: sqlite3.Connection) -> None:
            with file:
                file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows)

        self._with(write)
        return now

    def close(self) -> None:
        """Let the file go; the next use opens it again."""
        with self._lock:
            if self._file is not None and self._process == os.getpid():
                self._file.close()
            self._file = None

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                try:
                    return work(self._open())
                except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # its own message may be damaged too
                    if isinstance(error, sqlite3.Error) and type(error) is not sqlite3.DatabaseError:
                        raise  # locked, full, not to be opened
                    self._put_aside(str(error))
                    return work(self._open())
            except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
                self.close()
                said = error.strerror if isinstance(error, OSError) else str(error)
                raise StorageError(f"{self.path}: nothing can be kept here ({said})") from None

    def _open(self) -> sqlite3.Connection:
        if self._file is None or self._process != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, check_same_thread=False, timeout=WAIT)
            self._process = os.getpid()
            self._file.execute(TABLE)
        return self._file

    def _put_aside(self, said: str) -> None:
        """Rename a damaged file; of several processes that find it so, one does."""
        self.close()
        with self.path.with_name(f"{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _sound(self.path):
                return
            aside = self.path.with_name(f"{self.path.name}.damaged")
            os.replace(self.path, aside)
            for rest in ("-journal", "-wal", "-shm"):
                self.path.with_name(self.path.name + rest).unlink(missing_ok=True)
        logging.getLogger("goldassay").warning(
            "%s was damaged (%s); it is now %s, and an empty one takes its place", self.path, said, aside.name
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        Store.__init__(self, state["path"])


def _bytes(key: str | bytes) -> bytes:
    return key if isinstance(key, bytes) else normalize("NFC", key).encode("utf-8", "surrogatepass")


def _sound(path: Path) -> bool:
    file = sqlite3.connect(path, timeout=WAIT)
    try:
        return bool(file.execute("PRAGMA quick_check").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False
    finally:
        file.close()


@dataclass(frozen=True)
class Fetched:
    """A thing with the day and time on which it was fetched."""

    value: Any
    fetched: str


class Cache:
    """What was fetched, in ``fetched.sqlite`` of a folder.

    ``use`` is ``normal``, ``none`` (always fetch, but keep what was fetched) or ``only`` (never fetch).
    """

    def __init__(self, folder: Path | str = FOLDER, *, days: float = DAYS, use: Use = "normal") -> None:
        self.folder, self.days, self.use = Path(folder), days, use
        self.store = Store(self.folder / "fetched.sqlite")

    def get(self, kind: str, key: str, fetch: Callable[[], Any]) -> Fetched:
        """What is known by that key: from the folder while it is fresh, else fetched and kept.

        Raises:
            CacheOnlyError: Only the cache may be asked, and it does not hold this.
            StorageError: What was fetched cannot be kept.
        """
        known = None if self.use == "none" else self._read(kind, key)
        if known is not None and (self.use == "only" or age(known.fetched) <= timedelta(days=self.days)):
            return known
        if self.use == "only":
            raise CacheOnlyError(f"{key!r} is not in {self.folder}; fetch it once without --cache-only")
        value = fetch()
        return Fetched(value, self.store.put(kind, {key: json.dumps(value).encode()}))

    def _read(self, kind: str, key: str) -> Fetched | None:
        found = self.store.get(kind, [key]).get(key)
        if found is not None:
            try:
                return Fetched(jsonl.value(found[0], unique=False), found[1])
            except DataError:
                pass  # not ours: it is fetched again
        return None


def age(fetched: str) -> timedelta:
    """How long ago; a date that cannot be read is very long ago."""
    try:
        then = datetime.fromisoformat(fetched)
    except ValueError:
        return timedelta.max
    return datetime.now(UTC) - (then if then.tzinfo else then.replace(tzinfo=UTC))


def old(dates: Iterable[str], days: int = 90) -> list[str]:
    """Those dates that are more than ``days`` days ago: what was fetched then should be fetched again.

    >>> old(["2001-01-01T00:00:00+00:00"])
    ['2001-01-01T00:00:00+00:00']
    """
    return [date for date in dates if age(date) > timedelta(days=days)]

"""Fetched and computed values, in one SQLite file that several threads and processes may share.

A `Store` holds bytes by kind and key (an embedder's name and a text, a language and a title). Both are values in a
table and never part of a path, so no data leads out of the folder. A `Cache` is a store of what was fetched, as JSON,
fresh for 30 days.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from unicodedata import normalize

from goldassay._support import jsonl
from goldassay._support.exceptions import CacheOnlyError, DataError, StorageError

FOLDER = Path(".goldassay") / "article_cache"
DAYS = 30
WAIT = 60.0  # seconds for another process to finish writing
CREATE = "CREATE TABLE IF NOT EXISTS kept (kind BLOB, key BLOB, value BLOB, written TEXT, PRIMARY KEY (kind, key))"
SELECT = "SELECT value, written FROM kept WHERE kind = ? AND key = ?"
Key = TypeVar("Key", str, bytes)


def user_cache() -> Path:
    """The user's cache: ``$GOLDASSAY_CACHE``, or ``goldassay`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    named = os.environ.get("GOLDASSAY_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "goldassay"


class Store:
    """Bytes by kind and key, in a SQLite file that is made when it is first used. Each write is whole or not there.

    Raises:
        StorageError: The file cannot be written, or is damaged.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "store.sqlite")
    ...     _ = store.put("nl", {"Delft": b"a town"})
    ...     {key: value for key, (value, written) in store.get("nl", ["Delft", "Gouda"]).items()}
    {'Delft': b'a town'}
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._file: sqlite3.Connection | None = None

    def get(self, kind: str, keys: Sequence[Key]) -> dict[Key, tuple[bytes, str]]:
        """The values of these keys, each with the day and time when it was written."""
        with self._opened() as file:
            rows = {key: file.execute(SELECT, (_bytes(kind), _bytes(key))).fetchone() for key in keys}
        return {key: row for key, row in rows.items() if row is not None}

    def put(self, kind: str, values: Mapping[Key, bytes]) -> str:
        """Store these values, all of them or none; the day and time that is noted with them."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(_bytes(kind), _bytes(key), value, now) for key, value in values.items()]
        with self._opened() as file, file:
            file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows)
        return now

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file, while no other thread uses it; what goes wrong is one line."""
        with self._lock:
            try:
                if self._file is None:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    self._file = sqlite3.connect(self.path, check_same_thread=False, timeout=WAIT)
                    self._file.execute(CREATE)
                yield self._file
            except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
                self.close()
                fix = (
                    "; delete the file: its contents can be fetched or computed again"
                    if type(error) is sqlite3.DatabaseError
                    else ""
                )
                raise StorageError(f"{self.path}: nothing can be stored here ({error}){fix}") from None

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        Store.__init__(self, state["path"])


def _bytes(key: str | bytes) -> bytes:
    return key if isinstance(key, bytes) else normalize("NFC", key).encode("utf-8", "surrogatepass")


class Fetched(NamedTuple):
    """A value with the day and time on which it was fetched."""

    value: Any
    fetched: str


class Cache:
    """A cache of what was fetched, in ``fetched.sqlite`` of a folder.

    ``use`` is ``normal``, ``none`` (always fetch, and store what was fetched) or ``only`` (never fetch).
    """

    def __init__(
        self, folder: Path | str = FOLDER, *, days: float = DAYS, use: Literal["normal", "none", "only"] = "normal"
    ) -> None:
        self.folder = Path(folder)
        self.days = days
        self.use = use
        self.store = Store(self.folder / "fetched.sqlite")

    def get(self, kind: str, key: str, fetch: Callable[[], object]) -> Fetched:
        """The value of a key: from the folder while it is fresh, else fetched and stored.

        Raises:
            CacheOnlyError: Fetching is off, and the cache does not have this.
            StorageError: The value cannot be stored.
        """
        cached = None
        for value, written in self.store.get(kind, [key]).values() if self.use != "none" else ():
            with suppress(DataError):  # what is not ours is fetched again
                cached = Fetched(jsonl.value(value, unique=False), written)
        if cached is not None and (self.use == "only" or age(cached.fetched) <= timedelta(days=self.days)):
            return cached
        if self.use == "only":
            raise CacheOnlyError(f"{key!r} is not in {self.folder}, and only the cache may be asked; fetch it first")
        fetched = fetch()
        return Fetched(fetched, self.store.put(kind, {key: json.dumps(fetched).encode()}))


def age(fetched: str) -> timedelta:
    """The time since a date; a date that cannot be read is very long ago."""
    try:
        then = datetime.fromisoformat(fetched)
    except ValueError:
        return timedelta.max
    return datetime.now(UTC) - (then if then.tzinfo else then.replace(tzinfo=UTC))

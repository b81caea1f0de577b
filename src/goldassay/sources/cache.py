"""What was fetched, kept on disk: one JSON file a thing, written whole or not at all, good for 30 days.

A file is named by a hash of its key, with a few readable letters before it, so that titles of any script stay apart;
the key stands in the file and is checked. ``use`` is ``normal``, ``none`` (always fetch, but keep what was fetched) or
``only`` (never fetch).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

from goldassay import jsonl
from goldassay.exceptions import CacheOnlyError, DataError

FOLDER = Path(".goldassay") / "article_cache"
DAYS = 30
Use = Literal["normal", "none", "only"]


@dataclass(frozen=True)
class Kept:
    """A thing with the day and time on which it was fetched."""

    value: Any
    fetched: str


class Cache:
    """A folder of fetched things."""

    def __init__(self, folder: Path | str = FOLDER, *, days: float = DAYS, use: Use = "normal") -> None:
        self.folder, self.days, self.use = Path(folder), days, use

    def get(self, kind: str, key: str, fetch: Callable[[], Any]) -> Kept:
        """What is known by that key: from the folder while it is fresh, else fetched and kept."""
        file = self.file(kind, key)
        known = None if self.use == "none" else self._read(file, key)
        if known is not None and (self.use == "only" or self._fresh(known)):
            return known
        if self.use == "only":
            raise CacheOnlyError(f"{key!r} is not in {self.folder}; fetch it once without --cache-only")
        kept = Kept(fetch(), datetime.now(UTC).isoformat(timespec="seconds"))
        self._write(file, {"key": normalize("NFC", key), "fetched": kept.fetched, "value": kept.value})
        return kept

    def file(self, kind: str, key: str) -> Path:
        """Where a thing stands; a key never leaves the folder.

        >>> Cache("c").file("en", "../../Delft").name.startswith("Delft-")
        True
        """
        name = normalize("NFC", key)
        letters = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:40]
        return self.folder / _plain(kind) / f"{letters}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"

    def _read(self, file: Path, key: str) -> Kept | None:
        try:
            found = jsonl.value(file.read_bytes(), unique=False)
            if found["key"] == normalize("NFC", key):
                return Kept(found["value"], str(found["fetched"]))
        except (OSError, DataError, KeyError, TypeError):
            pass  # absent, or not ours: it is fetched again
        return None

    def _fresh(self, kept: Kept) -> bool:
        return age(kept.fetched) <= timedelta(days=self.days)

    def _write(self, file: Path, content: dict[str, Any]) -> None:
        jsonl.replace(file, json.dumps(content))


def _plain(kind: str) -> str:
    """A kind as the name of a folder, which stays in the cache whatever the kind is.

    >>> _plain("en"), _plain("../..").startswith("-")
    ('en', True)
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", kind)[:40]
    return kind if safe == kind and kind else f"{safe}-{hashlib.sha256(kind.encode()).hexdigest()[:16]}"


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

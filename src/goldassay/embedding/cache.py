"""Embeddings kept on disk by (model, text): each text is embedded once, ever.

One SQLite file holds all models. Texts are deduplicated and the missing ones sorted by length, so that a batch holds
texts of like length and little is padded; they are written batch by batch, so that an interrupted run loses one batch.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from goldassay.embedding.models import Array, Embedder, checked
from goldassay.exceptions import ModelError
from goldassay.lm.files import cache as cache_folder

BATCH = 256
ASKED = 500  # SQLite takes at least 999 parameters in a statement


class Cached:
    """An embedder whose vectors are kept; itself an embedder of the same name.

    ``path`` is the SQLite file (by default ``embeddings.sqlite`` in the user's cache). ``embedded`` counts the texts
    that the model itself had to embed.

    >>> import tempfile
    >>> class Lengths:
    ...     name = "lengths"
    ...     def __call__(self, texts):
    ...         return [[len(text), 1.0] for text in texts]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Cached(Lengths(), Path(folder) / "e.sqlite")
    ...     made(["abc", "a", "abc"]).tolist(), made(["a"]).tolist(), made.embedded
    ([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0]], [[1.0, 1.0]], 2)
    """

    def __init__(self, embedder: Embedder, path: Path | str | None = None) -> None:
        self.embedder, self.embedded = embedder, 0
        self.path = Path(path) if path is not None else cache_folder() / "embeddings.sqlite"
        self._lock = threading.Lock()
        self._memory: dict[bytes, Array] = {}
        self._file: sqlite3.Connection | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.embedder.name

    def __call__(self, texts: Sequence[str], /) -> Array:
        """One row a text, from the file where it is there."""
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise ModelError(f"text {place} is not text but {text!r}; embedders take texts")
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._lock:
            keys = [_key(text) for text in texts]
            wanted = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._memory}
            if wanted:
                self._read(list(wanted))
                missing = [(key, text) for key, text in wanted.items() if key not in self._memory]
                for batch in _batches(sorted(missing, key=lambda pair: (len(pair[1]), pair[1]))):
                    self._embed(batch)
            found = [self._memory[key] for key in keys]
            sizes = sorted({len(vector) for vector in found})
            if len(sizes) > 1:
                raise ModelError(
                    f"{self.path} has vectors of another length for {self.name!r} ({', '.join(map(str, sizes))}): "
                    "another model had this name; give this one its own"
                )
            return np.stack(found)

    def _embed(self, batch: list[tuple[bytes, str]]) -> None:
        vectors = checked(self.embedder([text for _, text in batch]), len(batch), self.name)
        self.embedded += len(batch)
        found = {key: vector for (key, _), vector in zip(batch, vectors, strict=True)}
        self._memory |= found
        rows = [(self.name, key, vector.astype("<f4").tobytes()) for key, vector in found.items()]
        with self._open() as connection:
            connection.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)

    def _read(self, keys: list[bytes]) -> None:
        connection = self._open()
        for start in range(0, len(keys), ASKED):
            part = keys[start : start + ASKED]
            marks = ",".join("?" * len(part))
            found = connection.execute(
                f"SELECT text, vector FROM embeddings WHERE model = ? AND text IN ({marks})", [self.name, *part]
            )
            self._memory |= {key: np.frombuffer(vector, "<f4") for key, vector in found}

    def _open(self) -> sqlite3.Connection:
        if self._file is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = sqlite3.connect(self.path, check_same_thread=False, timeout=60)
                self._file.execute(
                    "CREATE TABLE IF NOT EXISTS embeddings "
                    "(model TEXT, text BLOB, vector BLOB, PRIMARY KEY (model, text)) WITHOUT ROWID"
                )
            except (OSError, sqlite3.Error) as error:
                self._file = None
                raise ModelError(
                    f"{self.path}: no cache of embeddings can be kept here ({error}); set GOLDASSAY_CACHE"
                ) from None
        return self._file

    def close(self) -> None:
        """Let the file go; the next call opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
            self._memory.clear()


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _batches(missing: list[tuple[bytes, str]]) -> Iterator[list[tuple[bytes, str]]]:
    for start in range(0, len(missing), BATCH):
        yield missing[start : start + BATCH]

"""A cache of vectors on disk, around any embedder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from goldassay._support.cache import Store, user_cache
from goldassay._support.exceptions import StorageError
from goldassay.models.embedding.protocols import Embedder, Vectors, checked

_computing = threading.RLock()


class Cached:
    """An embedder that caches its vectors in a file; itself an embedder of the same name.

    ``path`` is the SQLite file (by default ``embeddings.sqlite`` in the user's cache). ``embedded`` counts the texts
    that the model itself had to embed. Each text is embedded once; missing ones are sorted by length, so that a batch
    holds texts of similar length and little is padded, and written batch by batch, so that an interrupted run loses
    one batch.

    >>> import tempfile
    >>> from goldassay.models.embedding import Function
    >>> lengths = Function(lambda texts: [[len(text), 1.0] for text in texts], "lengths")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cached = Cached(lengths, Path(folder) / "e.sqlite")
    ...     cached(["abc", "a", "abc"]).tolist(), cached(["a"]).tolist(), cached.embedded
    ([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0]], [[1.0, 1.0]], 2)
    """

    def __init__(self, embedder: Embedder, path: Path | str | None = None) -> None:
        self.embedder = embedder
        self.embedded = 0
        self.path = Path(path) if path is not None else user_cache() / "embeddings.sqlite"
        self._store = Store(self.path)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.embedder.name

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text, from the file if it is there.

        Raises:
            StorageError: The file cannot be written.
        """
        size = 256
        if not texts:
            return np.zeros((0, 0), np.float32)
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        with _computing:
            try:
                rows = {key: row for key, (row, _) in self._store.get(self.name, list(by_key)).items()}
                missing = sorted(by_key.keys() - rows.keys(), key=lambda key: (len(by_key[key]), by_key[key]))
                for start in range(0, len(missing), size):
                    batch = missing[start : start + size]
                    vectors = checked(self.embedder([by_key[key] for key in batch]), len(batch), self.name)
                    self.embedded += len(batch)
                    new = {key: vector.astype("<f4").tobytes() for key, vector in zip(batch, vectors, strict=True)}
                    self._store.put(self.name, new)
                    rows |= new
            except StorageError as error:
                raise StorageError(f"{error}; set GOLDASSAY_CACHE to a folder that can be written") from None
        return np.stack([np.frombuffer(rows[key], "<f4") for key in keys])

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._store.close()

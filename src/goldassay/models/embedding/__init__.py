"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` returns one by its name: a model (`goldassay.models.embedding.models`), or what is registered (`register`),
such as a `Function`: any function from texts to vectors, or a ``dspy.Embedder``. `Cached` keeps the vectors of any of
them.
"""

from goldassay.models.embedding.cached import Cached
from goldassay.models.embedding.models import DEFAULT_EMBEDDER, SentenceTransformers, Transformer, place
from goldassay.models.embedding.protocols import Embedder, Function, TokenEmbedder, checked, cosine
from goldassay.models.embedding.registry import available, available_tokens, register, resolve, resolve_tokens

__all__ = [
    "DEFAULT_EMBEDDER",
    "Cached",
    "Embedder",
    "Function",
    "SentenceTransformers",
    "TokenEmbedder",
    "Transformer",
    "available",
    "available_tokens",
    "checked",
    "cosine",
    "place",
    "register",
    "resolve",
    "resolve_tokens",
]

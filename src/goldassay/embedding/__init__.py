"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` returns one by its name: a model (`goldassay.embedding.models`), or what is registered (`register`), such as a
`Function`: any function from texts to vectors, or a ``dspy.Embedder``. `Cached` keeps the vectors of any of them.
"""

from goldassay.embedding.cached import Cached
from goldassay.embedding.models import DEFAULT, SentenceTransformers, Transformer, place
from goldassay.embedding.protocols import Embedder, Function, TokenEmbedder, checked, cosine
from goldassay.embedding.registry import available, available_tokens, register, resolve, resolve_tokens

__all__ = [
    "DEFAULT",
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

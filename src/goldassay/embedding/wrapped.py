"""Embedders that somebody else made: ``dspy.Embedder``, or any function from texts to vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from goldassay.embedding.protocol import Array
from goldassay.exceptions import ModelError


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

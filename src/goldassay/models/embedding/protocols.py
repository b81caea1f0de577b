"""Embedders: functions from texts to vectors, under two protocols, and what their vectors are checked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldassay._support.exceptions import ModelError

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
    """Texts to vectors of their tokens: for each text the ids of its tokens and an array of shape (tokens, d).

    Tokens in ``special`` open and close a text; they weigh nothing in BERTScore.
    """

    @property
    def name(self) -> str: ...
    @property
    def special(self) -> frozenset[int]: ...
    def __call__(self, texts: Sequence[str], /) -> list[tuple[Vectors, Vectors]]: ...


class Function:
    """A function from a list of texts to their vectors, with a name to keep its vectors under.

    A ``dspy.Embedder`` has the name of its model, unless that is a function of its own.

    Raises:
        ModelError: The function has no name.

    >>> Function(lambda texts: [[float(len(text))] for text in texts], "lengths")(["ab"])
    [[2.0]]
    """

    def __init__(self, function: Callable[[list[str]], Any], name: str | None = None) -> None:
        model = getattr(function, "model", None)
        if not name and not isinstance(model, str):  # the next function would have its vectors in the cache
            raise ModelError("a function needs a name to keep its vectors under; give it one: name=…")
        self.function = function
        self.name = name or f"dspy:{model}"

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """One row a text."""
        vectors: Vectors = self.function(list(texts))
        return vectors


def checked(vectors: ArrayLike, n: int, name: str) -> Vectors:
    """The vectors of ``n`` texts as an array of float32 and of shape (n, d).

    Raises:
        ModelError: There is not a row for each text, or a number is none.

    >>> checked([[1.0, 0.0]], 2, "bad")
    Traceback (most recent call last):
    goldassay._support.exceptions.ModelError: the embedder 'bad' gave an array of shape (1, 2) for 2 texts; it must \
give (2, d)
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

    Both have the shape (n, d), the result (n,).

    >>> cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[-2.0, 0.0], [0.0, 3.0]])).round(4).tolist()
    [-1.0, 0.7071]
    """
    left = np.asarray(one, np.float64)
    right = np.asarray(other, np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = np.einsum("ij,ij->i", left, right)
    cosines: Vectors = np.clip(np.divide(products, lengths, out=np.zeros(len(left)), where=lengths > 0), -1.0, 1.0)
    return cosines

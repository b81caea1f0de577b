"""What an embedder is, and the check that what comes out of one can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from goldassay.exceptions import ModelError

Array = Any  # numpy arrays


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors: n texts give an array of shape (n, d). ``name`` is the model's, and the key of the cache."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def __call__(self, texts: Sequence[str], /) -> Array:
        """One row a text."""


@runtime_checkable
class TokenEmbedder(Protocol):
    """Texts to vectors of their tokens: for each text the ids of its tokens and an array of shape (tokens, d)."""

    @property
    def name(self) -> str:
        """The model, and the layer."""
        ...

    @property
    def special(self) -> frozenset[int]:
        """The ids of tokens that stand for no word; they weigh nothing in BERTScore."""
        ...

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Array, Array]]:
        """The ids and the vectors of each text."""
        ...


def checked(vectors: Any, n: int, name: str) -> Array:
    """The vectors as float32, if there is a row for each text and every number is one.

    >>> checked([[1.0, 0.0]], 2, "bad")
    Traceback (most recent call last):
    goldassay.exceptions.ModelError: the embedder 'bad' gave an array of shape (1, 2) for 2 texts; it must give (2, d)
    """
    try:
        made = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise ModelError(f"the embedder {name!r} gave no array of numbers; it must give one row a text") from None
    if made.ndim != 2 or len(made) != n or not made.shape[1]:
        raise ModelError(
            f"the embedder {name!r} gave an array of shape {made.shape} for {n} texts; it must give ({n}, d)"
        )
    bad = ~np.isfinite(made).all(axis=1)
    if bad.any():
        raise ModelError(f"the embedder {name!r} gave NaN or infinity for text {int(bad.argmax())} of {n}")
    return made


def cosine(one: Array, other: Array) -> Array:
    """The cosine of each pair of rows, from −1 to 1; 0 where a row is all zeros.

    >>> cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[-2.0, 0.0], [0.0, 3.0]])).round(4).tolist()
    [-1.0, 0.7071]
    """
    left, right = np.asarray(one, np.float64), np.asarray(other, np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = np.einsum("ij,ij->i", left, right)
    return np.clip(np.divide(products, lengths, out=np.zeros(len(left)), where=lengths > 0), -1.0, 1.0)

"""Dense vectors of passages: by any embedder, or by character n-grams without a model.

`CharacterLSA` is latent semantic analysis of character n-grams (tf-idf reduced by a truncated SVD). It is not a neural
embedder and is not called one: it sees spelling, not meaning, which across related languages is still worth something.

Source: Deerwester et al., Indexing by latent semantic analysis, JASIS 1990
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from goldassay.exceptions import ModelError
from goldassay.kb.passages import Hit, best, passages, tokens

Embedder = Callable[[Sequence[str]], Any]


class CharacterLSA:
    """Vectors from character 3- to 5-grams within words: tf-idf, reduced by SVD, fitted on a collection.

    >>> lsa = CharacterLSA(["het stadsarchief", "the city museum", "le musée"], dimensions=2)
    >>> lsa(["stadsarchief", "museum"]).shape
    (2, 2)
    """

    name = "char-lsa"

    def __init__(self, texts: Sequence[str], dimensions: int = 128, seed: int = 0) -> None:
        self._counter = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, dtype=np.float32)
        counts = self._counter.fit_transform([_folded(text) for text in texts])
        size = min(dimensions, min(counts.shape) - 1)
        self._reducer = TruncatedSVD(size, random_state=seed).fit(counts) if size >= 1 else None

    def __call__(self, texts: Sequence[str]) -> Any:
        """One row a text."""
        counts = self._counter.transform([_folded(text) for text in texts])
        return counts.toarray() if self._reducer is None else self._reducer.transform(counts)


class DenseIndex:
    """Passages by the cosine of their vectors with the query's.

    ``embedder`` turns a list of texts into rows (see `goldassay.embedding`); without one `CharacterLSA` is fitted on
    the passages.

    >>> index = DenseIndex([{"id": "a", "text": "het stadsarchief"}, {"id": "b", "text": "the museum"}])
    >>> index.search("archief", 1)[0][0], index.source
    ('a', 'char-lsa')
    """

    def __init__(self, collection: str | Path | Iterable[Any], embedder: Embedder | None = None) -> None:
        self.passages = passages(collection)
        texts = [passage.text for passage in self.passages]
        self._embedder: Embedder | None = embedder
        if embedder is None and any(map(str.strip, texts)):
            self._embedder = CharacterLSA(texts)
        self.source = str(getattr(self._embedder, "name", "dense"))
        self._vectors = self._unit(texts) if texts and self._embedder else None

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k nearest passages whose cosine is above 0."""
        if self._vectors is None or not query.strip():
            return []
        return best(self.passages, self._vectors @ self._unit([query])[0], k)

    def _unit(self, texts: Sequence[str]) -> Any:
        vectors = np.asarray(self._embedder(texts) if self._embedder else [], dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(f"the embedder gave an array of shape {vectors.shape} for {len(texts)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> DenseIndex:
        """Itself: nothing in it changes, and optimizers copy programs often."""
        return self


def _folded(text: str) -> str:
    return " ".join(tokens(text)) or "∅"

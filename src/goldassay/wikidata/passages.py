"""Searching a collection of passages: BM25 for text in any script, and dense vectors.

``bm25s`` ranks (Lucene's formula). The tokenizer is ours: words of letters, marks and digits, folded by NFKC and case,
and pairs of characters for scripts without spaces. Dense vectors come from any embedder, or from `CharacterLSA`: latent
semantic analysis of character n-grams, which needs no model and sees spelling, not meaning.

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; bm25s, https://github.com/xhluca/bm25s;
Deerwester et al., Indexing by latent semantic analysis, JASIS 1990
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from goldassay.exceptions import DataError, ModelError
from goldassay.fields import read
from goldassay.text import words

UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+)")
Hit = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be found."""

    id: str
    text: str


def passages(source: str | Path | Iterable[object]) -> list[Passage]:
    """Passages from a JSON Lines file, or from records with ``id`` (or ``doc_id``) and ``text``.

    >>> passages([{"id": "a", "text": "Het Rijksmuseum"}])
    [Passage(id='a', text='Het Rijksmuseum')]
    """
    from goldassay.gold.sets import passages as read_file

    records: Iterable[Any] = read_file(Path(source)) if isinstance(source, (str, Path)) else source
    collection: dict[str, Passage] = {}
    for number, record in enumerate(records):
        key, text = read(record, "id", None) or read(record, "doc_id", None), read(record, "text", None)
        if not key or not isinstance(text, str):
            raise DataError("a passage is an object with an 'id' and a 'text'", field=f"[{number}]")
        if str(key) in collection:
            raise DataError("two passages have this id", record=key)
        collection[str(key)] = Passage(str(key), text)
    return list(collection.values())


@lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded; pairs of characters where words are not spaced.

    >>> tokens("L’Archive d'État, n° 7"), tokens("国立図書館")
    (('l', 'archive', 'd', 'état', 'n', '7'), ('国立', '立図', '図書', '書館'))
    """
    return tuple(
        token
        for word in words.runs(text.replace("°", " "), "unicode")
        for part in UNSPACED.split(word)
        if part
        for token in _bigrams(part)
    )


def _bigrams(part: str) -> list[str]:
    if len(part) < 2 or not UNSPACED.fullmatch(part):
        return [part]
    return [part[start : start + 2] for start in range(len(part) - 1)]


class BM25Index:
    """BM25 over passages; only passages that share a word with the query are returned.

    >>> index = BM25Index([{"id": "a", "text": "Het Rijksmuseum"}, {"id": "b", "text": "Het Stadsarchief"}])
    >>> [name for name, _ in index.search("rijksmuseum", 5)]
    ['a']
    """

    def __init__(self, collection: str | Path | Iterable[Any], *, k1: float = 1.5, b: float = 0.75) -> None:
        self.passages = passages(collection)
        tokenized = [list(tokens(passage.text)) for passage in self.passages]
        self._ranker: Any = None
        if any(tokenized):
            self._ranker = bm25s.BM25(k1=k1, b=b, method="lucene")
            self._ranker.index(tokenized, show_progress=False)

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k best passages; equal scores by id, descending (as they are measured)."""
        terms = list(tokens(query))
        return top(self.passages, self._ranker.get_scores(terms), k) if self._ranker and terms else []

    def __deepcopy__(self, memo: Mapping[int, Any]) -> BM25Index:
        """Itself: an index does not change, and optimizers copy programs often."""
        return self


def top(collection: Sequence[Passage], scores: ArrayLike, k: int) -> list[Hit]:
    """The k passages with the highest scores above 0."""
    values = np.asarray(scores, float)
    hits = [(float(values[index]), collection[index].id) for index in np.flatnonzero(values > 0).tolist()]
    return [(name, score) for score, name in sorted(hits, reverse=True)[:k]]


def fused(rankings: Mapping[str, Sequence[Hit]], k: int = 10, constant: float = 60.0) -> list[tuple[str, float, str]]:
    """Several rankings as one by reciprocal rank fusion: Σ 1 / (constant + rank); with the sources that found each.

    Cormack, Clarke and Büttcher, Reciprocal rank fusion, SIGIR 2009.

    >>> fused({"bm25": [("a", 9.0), ("b", 8.0)], "dense": [("b", 0.9)]}, constant=0)
    [('b', 1.5, 'bm25+dense'), ('a', 1.0, 'bm25')]
    """
    scores: dict[str, float] = {}
    sources: dict[str, list[str]] = {}
    for source, ranking in rankings.items():
        for rank, (name, _) in enumerate(ranking, start=1):
            scores[name] = scores.get(name, 0.0) + 1.0 / (constant + rank)
            sources.setdefault(name, []).append(source)
    ranked = sorted(scores, key=lambda name: (scores[name], name), reverse=True)[:k]
    return [(name, scores[name], "+".join(sources[name])) for name in ranked]


Encode = Callable[[Sequence[str]], Any]


class CharacterLSA:
    """Vectors from character 3- to 5-grams within words: tf-idf, reduced by SVD, fitted on a collection.

    >>> lsa = CharacterLSA(["het stadsarchief", "the city museum", "le musée"], dimensions=2)
    >>> lsa(["stadsarchief", "museum"]).shape
    (2, 2)
    """

    name = "char-lsa"

    def __init__(self, texts: Sequence[str], dimensions: int = 128, seed: int = 0) -> None:
        kind: Any = np.float32  # scikit-learn's stubs know float64 alone
        self._counter: Any = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, dtype=kind)
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

    def __init__(self, collection: str | Path | Iterable[Any], embedder: Encode | None = None) -> None:
        self.passages = passages(collection)
        texts = [passage.text for passage in self.passages]
        self._embedder: Encode | None = embedder
        if embedder is None and any(map(str.strip, texts)):
            self._embedder = CharacterLSA(texts)
        self.source = str(getattr(self._embedder, "name", "dense"))
        self._vectors = self._unit(texts) if texts and self._embedder else None

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k nearest passages whose cosine is above 0."""
        if self._vectors is None or not query.strip():
            return []
        return top(self.passages, self._vectors @ self._unit([query])[0], k)

    def _unit(self, texts: Sequence[str]) -> Any:
        vectors = np.asarray(self._embedder(texts) if self._embedder else [], dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(f"the embedder gave an array of shape {vectors.shape} for {len(texts)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> DenseIndex:
        """Itself: an index does not change, and optimizers copy programs often."""
        return self


def _folded(text: str) -> str:
    return " ".join(tokens(text)) or "∅"

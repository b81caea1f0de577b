"""Retrieval: passages for a query, by BM25 with terms that a language model adds, and by two baselines without a model.

``program`` searches twice, with the query and with the words that a model adds to it (synonyms, and the other languages
of the collection), and fuses the rankings. ``baseline`` is BM25; ``dense`` ranks by vectors, which without an embedder
are character n-grams reduced by SVD, not a neural model. Each searches the passages that it was given with ``index``;
without any, those of the heritage set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from goldassay.gold import load
from goldassay.workspace.search import BM25Index, DenseIndex, Encode, Hit, tokens
from goldassay.workspace.search import passages as read_passages

DEPTH = 20


class Expand(dspy.Signature):  # type: ignore[misc]
    """Write search terms for the query: synonyms, and the same words in Dutch, English, German and French.
    Give words that a relevant text would contain, not the query's own words."""

    query: str = dspy.InputField()
    terms: list[str] = dspy.OutputField()


class Searching(dspy.Module):  # type: ignore[misc]
    """A retriever over passages."""

    def __init__(self, depth: int = DEPTH) -> None:
        super().__init__()
        self.depth = depth
        self._indexed: Any = None

    def index(self, passages: str | Path | Iterable[Any]) -> Any:
        """The same retriever over these passages: a JSON Lines file, or records with ``id`` and ``text``."""
        self._indexed = self._made(passages)
        return self

    def fit(self, train: Sequence[Any]) -> Any:
        """Nothing is learnt from queries."""
        return self

    def search(self, query: str) -> list[tuple[str, float]]:
        """The best passages by this retriever's index."""
        if self._indexed is None:
            self.index(load("heritage").retrieval.passages)
        hits: list[tuple[str, float]] = self._indexed.search(query, self.depth)  # pyright: ignore[reportOptionalMemberAccess]
        return hits

    def results(self, hits: Iterable[tuple[str, float, str]]) -> list[dict[str, Any]]:
        """Hits as records, with their texts for whoever reads the errors."""
        texts = {passage.id: passage.text for passage in self._indexed.passages}
        return [{"doc_id": name, "score": score, "source": source, "text": texts[name]} for name, score, source in hits]

    def _made(self, passages: Any) -> Any:
        return BM25Index(passages)


class BM25(Searching):
    """BM25; no model."""

    def forward(self, query: str) -> dspy.Prediction:
        """The passages that share words with the query."""
        return dspy.Prediction(results=self.results((*hit, "bm25") for hit in self.search(query)))


class Dense(Searching):
    """Vectors by ``embedder`` (texts to rows); without one character n-grams reduced by SVD (``char-lsa``)."""

    def __init__(self, embedder: Encode | None = None, depth: int = DEPTH) -> None:
        super().__init__(depth)
        self.embedder = embedder

    def _made(self, passages: Any) -> Any:
        collection = read_passages(passages)
        return DenseIndex(collection, self.embedder or CharacterLSA([passage.text for passage in collection]))

    def forward(self, query: str) -> dspy.Prediction:
        """The passages whose vectors are nearest to the query's."""
        found = self.search(query)
        return dspy.Prediction(results=self.results((*hit, self._indexed.source) for hit in found))


class Expanded(Searching):
    """BM25 with the query and with the model's terms, fused by reciprocal rank."""

    def __init__(self, depth: int = DEPTH) -> None:
        super().__init__(depth)
        self.expand = dspy.Predict(Expand)

    def forward(self, query: str) -> dspy.Prediction:
        """The passages that either search finds; ``source`` says which did."""
        terms = [str(term) for term in self.expand(query=query).terms or ()]
        rankings = {"bm25": self.search(query)}
        if terms:
            rankings["expansion"] = self.search(f"{query} {' '.join(terms)}")
        return dspy.Prediction(results=self.results(fused(rankings, self.depth)), terms=terms)


class CharacterLSA:
    """Vectors from character 3- to 5-grams within words: tf-idf, reduced by SVD, fitted on a collection.

    Latent semantic analysis needs no model; it sees spelling, not meaning (Deerwester et al., JASIS 1990).

    >>> lsa = CharacterLSA(["het stadsarchief", "the city museum", "le musée"], dimensions=2)
    >>> lsa(["stadsarchief", "museum"]).shape
    (2, 2)
    """

    name = "char-lsa"

    def __init__(self, texts: Sequence[str], dimensions: int = 128, seed: int = 0) -> None:
        kind: Any = np.float32  # scikit-learn's stubs know float64 alone
        self._counter: Any = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, dtype=kind)
        counts = self._counter.fit_transform([_words(text) for text in texts])
        size = min(dimensions, min(counts.shape) - 1)
        self._reducer = TruncatedSVD(size, random_state=seed).fit(counts) if size >= 1 else None

    def __call__(self, texts: Sequence[str]) -> Any:
        """One row a text."""
        counts = self._counter.transform([_words(text) for text in texts])
        return counts.toarray() if self._reducer is None else self._reducer.transform(counts)


def _words(text: str) -> str:
    return " ".join(tokens(text)) or "∅"


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


program = Expanded()
baseline = BM25()
dense = Dense()

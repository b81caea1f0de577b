"""Searching a collection of passages: BM25 for text in any script, and dense vectors.

``bm25s`` ranks (Lucene's formula). The tokenizer is ours: words of letters, marks and digits, folded by NFKC and case,
and pairs of characters for scripts without spaces. Dense vectors come from any embedder.

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; bm25s, https://github.com/xhluca/bm25s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import cosine_similarity

from goldassay.embedding import checked
from goldassay.exceptions import DataError
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
        names = [read(record, field, None) for field in ("id", "doc_id")]
        key, text = next((str(name) for name in names if name not in (None, "")), ""), read(record, "text", None)
        if not key or not isinstance(text, str):
            raise DataError("a passage is an object with an 'id' and a 'text'", field=f"[{number}]")
        if key in collection:
            raise DataError("two passages have this id", record=key)
        collection[key] = Passage(key, text)
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
            import bm25s

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


Encode = Callable[[Sequence[str]], Any]


class DenseIndex:
    """Passages by the cosine of their vectors with the query's.

    Args:
        collection: The passages, or their file.
        embedder: Turns a list of texts into rows (see `goldassay.embedding`).

    >>> collection = [{"id": "a", "text": "x"}, {"id": "b", "text": "yyy"}]
    >>> DenseIndex(collection, lambda texts: [[1, len(text)] for text in texts]).search("zzz", 1)[0][0]
    'b'
    """

    def __init__(self, collection: str | Path | Iterable[Any], embedder: Encode) -> None:
        self.passages, self._embedder = passages(collection), embedder
        self.source = str(getattr(embedder, "name", "dense"))
        self._vectors = self._embed([passage.text for passage in self.passages]) if self.passages else None

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k nearest passages whose cosine is above 0."""
        if self._vectors is None or not query.strip():
            return []
        return top(self.passages, cosine_similarity(self._vectors, self._embed([query]))[:, 0], k)

    def _embed(self, texts: Sequence[str]) -> Any:
        return checked(self._embedder(texts), len(texts), self.source)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> DenseIndex:
        """Itself: an index does not change, and optimizers copy programs often."""
        return self

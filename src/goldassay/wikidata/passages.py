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
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from goldassay.embedding import checked
from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.text import words

UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+)")
Hit = tuple[str, float]
Encode = Callable[[Sequence[str]], Any]
Collection = str | Path | Iterable[object]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be found."""

    id: str
    text: str


def passages(source: Collection) -> list[Passage]:
    """Passages from a JSON Lines file, or from records with ``id`` (or ``doc_id``) and ``text``.

    >>> passages([{"id": "a", "text": "Het Rijksmuseum"}])
    [Passage(id='a', text='Het Rijksmuseum')]
    """
    from goldassay.gold.sets import passages as read_file

    records: Iterable[Any] = read_file(Path(source)) if isinstance(source, (str, Path)) else source
    collection: dict[str, Passage] = {}
    for record in records:
        id_ = read(record, "id", None)
        passage = Passage(str(read(record, "doc_id") if id_ is None else id_), read(record, "text"))
        if collection.setdefault(passage.id, passage) is not passage:
            raise DataError("two passages have this id", record=passage.id)
    return list(collection.values())


@lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded; pairs of characters where words are not spaced.

    >>> tokens("L’Archive d'État, n° 7"), tokens("国立図書館")
    (('l', 'archive', 'd', 'état', 'n', '7'), ('国立', '立図', '図書', '書館'))
    """
    every: list[str] = []
    for word in words.tokens(text.replace("°", " "), "unicode"):
        for part in filter(None, UNSPACED.split(word)):
            unspaced = len(part) > 1 and UNSPACED.fullmatch(part)
            every += map("".join, pairwise(part)) if unspaced else [part]
    return tuple(every)


class Index:
    """Passages that can be searched; only passages with a score above 0 are returned."""

    def __init__(self, collection: Collection) -> None:
        self.passages = passages(collection)

    def scores(self, query: str) -> Any:
        """The score of each passage."""
        raise NotImplementedError

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k best passages; equal scores by id, descending (as they are measured)."""
        scores = np.asarray(self.scores(query) if self.passages and tokens(query) else [], float)
        hits = [(float(scores[index]), self.passages[index].id) for index in np.flatnonzero(scores > 0)]
        return [(name, score) for score, name in sorted(hits, reverse=True)[:k]]

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Index:
        """Itself: an index does not change, and optimizers copy programs often."""
        return self


class BM25Index(Index):
    """BM25 over passages.

    >>> index = BM25Index([{"id": "a", "text": "Het Rijksmuseum"}, {"id": "b", "text": "Het Stadsarchief"}])
    >>> [name for name, _ in index.search("rijksmuseum", 5)]
    ['a']
    """

    def __init__(self, collection: Collection) -> None:
        import bm25s

        super().__init__(collection)
        tokenized = [list(tokens(passage.text)) for passage in self.passages]
        self._ranker = bm25s.BM25(method="lucene") if any(tokenized) else None
        if self._ranker:
            self._ranker.index(tokenized, show_progress=False)

    def scores(self, query: str) -> Any:
        """BM25 of each passage."""
        return self._ranker.get_scores(list(tokens(query))) if self._ranker else []


class DenseIndex(Index):
    """Passages by the cosine of their vectors with the query's.

    Args:
        collection: The passages, or their file.
        embedder: Turns a list of texts into rows (see `goldassay.embedding`).

    >>> collection = [{"id": "a", "text": "x"}, {"id": "b", "text": "yyy"}]
    >>> DenseIndex(collection, lambda texts: [[1, len(text)] for text in texts]).search("zzz", 1)[0][0]
    'b'
    """

    def __init__(self, collection: Collection, embedder: Encode) -> None:
        super().__init__(collection)
        self._embedder, self.source = embedder, str(getattr(embedder, "name", "dense"))
        self._vectors = self._embed([passage.text for passage in self.passages]) if self.passages else None

    def scores(self, query: str) -> Any:
        """The cosine of each passage."""
        return cosine_similarity(self._vectors, self._embed([query]))[:, 0]

    def _embed(self, texts: Sequence[str]) -> Any:
        return checked(self._embedder(texts), len(texts), self.source)

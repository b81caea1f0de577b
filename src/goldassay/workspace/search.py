"""Search for programs without a model: a table of labels, and indexes of passages.

**Labels**: every mention is compared with every name (labels and aliases, ignoring case) by rapidfuzz's ``ratio``.
`cdist` compares several names in one SIMD instruction, so comparing everything beats an index. The result is that of
``rapidfuzz.process.extract``, with ties in table order.

**Passages**: ``bm25s`` ranks (Lucene's formula). The tokenizer is ours: words of letters, marks and digits, folded by
NFKC and case, and pairs of characters for scripts without spaces. Dense vectors come from any embedder.

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; bm25s, https://github.com/xhluca/bm25s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict
from rapidfuzz import fuzz, process

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import read
from goldassay.gold import sets
from goldassay.models.embedding import Vectors, checked
from goldassay.text import words

__all__ = ["BM25Index", "DenseIndex", "LabelTable", "Match", "Passage", "passages"]

MENTIONS_AT_ONCE = 100  # mentions that are scored at once: with 100,000 names a block of 80 MB
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+)")
Hit = tuple[str, float]
"""The id of a passage and its score."""
Encode = Callable[[Sequence[str]], Any]
Collection = str | Path | Iterable[object]


class Match(NamedTuple):
    """An entry of the table, its name nearest to the mention, and their similarity (0–100)."""

    id: str
    name: str
    score: float


class LabelEntry(BaseModel):
    """One line of the table."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    kind: str = ""


class LabelTable(dict[str, LabelEntry]):
    """Entries by id; `exact` looks names up, `best` finds the nearest.

    >>> table = LabelTable.of({"Q190804": ["Rijksmuseum"], "Q19675": ["Louvre", "Musée du Louvre"]})
    >>> table.exact("musée du louvre"), table.best(["Rijksmusem"], 1)[0][0].id
    (['Q19675'], 'Q190804')
    """

    @classmethod
    def of(cls, names: Mapping[str, Sequence[str]]) -> LabelTable:
        """A table from ids with their names, the label first."""
        return cls((id_, LabelEntry(id=id_, label=label, aliases=tuple(more))) for id_, (label, *more) in names.items())

    @classmethod
    def load(cls, path: str | Path) -> LabelTable:
        """A table from JSON Lines: ``{"id", "label", "aliases", "description", "kind"}``.

        Raises:
            DataError: A line is not an entry, or an id appears twice.
        """
        table = cls()
        for line, row in files.json_lines(path):
            entry = files.validated(LabelEntry, row, path, f"line {line}")
            if table.setdefault(entry.id, entry) is not entry:
                raise DataError("this id appears twice", file=path, line=line, record=entry.id)
        return table

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """All names, folded, each with the id of its entry."""
        return [
            (fold(name), id_)
            for id_, entry in self.items()
            for name in dict.fromkeys((entry.label, *entry.aliases))
            if name
        ]

    @cached_property
    def _most_names(self) -> int:
        """The number of names that the entry with the most has."""
        return max((len(entry.aliases) + 1 for entry in self.values()), default=0)

    @cached_property
    def _ids(self) -> dict[str, list[str]]:
        """The ids of a name."""
        ids: dict[str, list[str]] = {}
        for name, id_ in dict.fromkeys(self._names):
            ids.setdefault(name, []).append(id_)
        return ids

    @property
    def longest(self) -> int:
        """The number of words of the longest name."""
        return max((len(name.split()) for name in self._ids), default=0)

    def exact(self, mention: str) -> list[str]:
        """The ids of the entries with this name, ignoring case, in table order."""
        return self._ids.get(fold(mention), [])

    def best(self, mentions: Sequence[str], k: int = 1) -> list[list[Match]]:
        """For each mention the ``k`` nearest entries, best first; equal scores in table order.

        An entry counts with its nearest name.
        """
        names = [name for name, _ in self._names]
        nearest: list[list[Match]] = []
        # The k best entries are among so many best names: in the worst case the best names are all those of k entries.
        most = min(len(names), k * self._most_names)
        for start in range(0, len(mentions), MENTIONS_AT_ONCE):
            chunk = [fold(mention) for mention in mentions[start : start + MENTIONS_AT_ONCE]]
            for scores in process.cdist(chunk, names, scorer=fuzz.ratio, dtype=np.float64):
                near = np.flatnonzero(scores >= np.partition(scores, -most)[-most]) if most else np.zeros(0, int)
                best: dict[str, Match] = {}
                for index in sorted(near, key=lambda index: -scores[index]):
                    name, id_ = self._names[index]
                    best.setdefault(id_, Match(id_, name, float(scores[index])))
                nearest.append(list(best.values())[:k])
        return nearest


def fold(name: str) -> str:
    """A name without differences of case and spacing."""
    return " ".join(name.casefold().split())


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that a search returns."""

    id: str
    text: str


def passages(source: Collection) -> list[Passage]:
    """Passages from a JSON Lines file, or from records with ``id`` (or ``doc_id``) and ``text``.

    Raises:
        DataError: Two passages have one id, or a line of the file is not a passage.

    >>> passages([{"id": "a", "text": "Het Rijksmuseum"}])
    [Passage(id='a', text='Het Rijksmuseum')]
    """
    records = sets.passages(Path(source)) if isinstance(source, (str, Path)) else source
    collection: dict[str, Passage] = {}
    for record in records:
        id_ = read(record, "id", None)
        passage = Passage(str(read(record, "doc_id") if id_ is None else id_), read(record, "text"))
        if collection.setdefault(passage.id, passage) is not passage:
            raise DataError("two passages have this id", record=passage.id)
    return list(collection.values())


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded; pairs of characters in scripts without spaces.

    >>> tokens("L’Archive d'État, n° 7"), tokens("国立図書館")
    (('l', 'archive', 'd', 'état', 'n', '7'), ('国立', '立図', '図書', '書館'))
    """
    parts: list[str] = []
    for word in words.tokens(text.replace("°", " "), "unicode"):
        for piece in filter(None, UNSPACED.split(word)):
            if len(piece) > 1 and UNSPACED.fullmatch(piece):
                parts += map("".join, pairwise(piece))
            else:
                parts.append(piece)
    return tuple(parts)


class BM25Index:
    """Passages that can be searched by BM25; only passages with a score above 0 are returned.

    >>> index = BM25Index([{"id": "a", "text": "Het Rijksmuseum"}, {"id": "b", "text": "Het Stadsarchief"}])
    >>> [name for name, _ in index.search("rijksmuseum", 5)]
    ['a']
    """

    def __init__(self, collection: Collection) -> None:
        import bm25s

        self.passages = passages(collection)
        tokenized = [list(tokens(passage.text)) for passage in self.passages]
        self._ranker = bm25s.BM25(method="lucene") if any(tokenized) else None
        if self._ranker:
            self._ranker.index(tokenized, show_progress=False)

    def scores(self, query: str) -> Vectors:
        """The score of each passage, an array of shape (passages,)."""
        if self._ranker is None:
            return np.zeros(len(self.passages))
        return np.asarray(self._ranker.get_scores(list(tokens(query))), float)

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k best passages; equal scores by id, descending (as they are measured)."""
        if not self.passages or not tokens(query):
            return []
        scores = self.scores(query)
        hits = [(float(scores[index]), self.passages[index].id) for index in np.flatnonzero(scores > 0)]
        return [(name, score) for score, name in sorted(hits, reverse=True)[:k]]

    def __deepcopy__(self, memo: object) -> BM25Index:
        """Itself: an index does not change, and optimizers copy programs often."""
        return self


class DenseIndex(BM25Index):
    """Passages by the cosine of their vectors with the query's.

    Args:
        collection: The passages, or their file.
        embedder: Turns a list of texts into rows (see `goldassay.models.embedding`).

    >>> collection = [{"id": "a", "text": "x"}, {"id": "b", "text": "yyy"}]
    >>> DenseIndex(collection, lambda texts: [[1, len(text)] for text in texts]).search("zzz", 1)[0][0]
    'b'
    """

    def __init__(self, collection: Collection, embedder: Encode) -> None:
        self.passages = passages(collection)
        self.embedder = embedder
        self.source = str(getattr(embedder, "name", "dense"))
        texts = [passage.text for passage in self.passages]
        self._vectors = self._unit_vectors(texts) if texts else np.zeros((0, 0))

    def scores(self, query: str) -> Vectors:
        """The cosine of each passage, an array of shape (passages,)."""
        scores: Vectors = self._vectors @ self._unit_vectors([query])[0]
        return scores

    def _unit_vectors(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, of length 1, an array of shape (texts, dimensions)."""
        vectors: Vectors = checked(self.embedder(texts), len(texts), self.source)
        unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
        return unit

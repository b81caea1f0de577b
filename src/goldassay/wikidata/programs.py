"""What programs are built of: a table of labels, an index of passages, a reader of whole articles.

**Labels**: every mention is compared with every name (labels and aliases, ignoring case) by rapidfuzz's ``ratio``.
`cdist` compares several names in one SIMD instruction, so comparing everything beats an index. The result is that of
``rapidfuzz.process.extract``, with ties in table order.

**Passages**: ``bm25s`` ranks (Lucene's formula). The tokenizer is ours: words of letters, marks and digits, folded by
NFKC and case, and pairs of characters for scripts without spaces. Dense vectors come from any embedder.

**Articles**: `ArticleReader` makes a program for whole articles of one for short texts. It reads overlapping pieces and
merges their triples. A piece ends at a paragraph or a sentence if possible; the next one begins some sentences earlier,
so that a sentence across a border is whole in one of them.

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; bm25s, https://github.com/xhluca/bm25s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import dspy
import numpy as np
from pydantic import BaseModel, ConfigDict
from rapidfuzz import fuzz, process

from goldassay import files
from goldassay.embedding import checked
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measures.triples.objects import canonical, written
from goldassay.text import words
from goldassay.text.normal import normal, signed
from goldassay.wikidata.alignment import validated

CHUNK = 100  # mentions that are scored at once: with 100,000 names a block of 80 MB
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+)")
BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[\"“(\[]?[^\Wa-z_])|(?<=[。！？])\s*|\n")
PRONOUNS = (
    "he she it they him her his hers its their i er sie es ihr ihre sein seine hij zij het ze hem haar il elle lui son "
    "sa leur on"
)
BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
FIELDS = ("subject", "predicate", "object", "confidence")
Hit = tuple[str, float]
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
        """A table from JSON Lines: ``{"id", "label", "aliases", "description", "kind"}``."""
        table = cls()
        for line, row in files.json_lines(path):
            entry = validated(LabelEntry, row, path, f"line {line}")
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
        names, nearest = [name for name, _ in self._names], []
        # the k best entries are among so many best names
        most = min(len(names), k * max((len(entry.aliases) + 1 for entry in self.values()), default=0))
        for start in range(0, len(mentions), CHUNK):
            chunk = [fold(mention) for mention in mentions[start : start + CHUNK]]
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

    def scores(self, query: str) -> Any:
        """The score of each passage."""
        return self._ranker.get_scores(list(tokens(query))) if self._ranker else []

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k best passages; equal scores by id, descending (as they are measured)."""
        scores = np.asarray(self.scores(query) if self.passages and tokens(query) else [], float)
        hits = [(float(scores[index]), self.passages[index].id) for index in np.flatnonzero(scores > 0)]
        return [(name, score) for score, name in sorted(hits, reverse=True)[:k]]

    def __deepcopy__(self, memo: Mapping[int, Any]) -> BM25Index:
        """Itself: an index does not change, and optimizers copy programs often."""
        return self


class DenseIndex(BM25Index):
    """Passages by the cosine of their vectors with the query's.

    Args:
        collection: The passages, or their file.
        embedder: Turns a list of texts into rows (see `goldassay.embedding`).

    >>> collection = [{"id": "a", "text": "x"}, {"id": "b", "text": "yyy"}]
    >>> DenseIndex(collection, lambda texts: [[1, len(text)] for text in texts]).search("zzz", 1)[0][0]
    'b'
    """

    def __init__(self, collection: Collection, embedder: Encode) -> None:
        self.passages, self.embedder = passages(collection), embedder
        self.source = str(getattr(embedder, "name", "dense"))
        self._vectors = self._unit_vectors([passage.text for passage in self.passages]) if self.passages else None

    def scores(self, query: str) -> Any:
        """The cosine of each passage."""
        return self._vectors @ self._unit_vectors([query])[0]

    def _unit_vectors(self, texts: Sequence[str]) -> Any:
        vectors = checked(self.embedder(texts), len(texts), self.source)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)


def chunks(text: str, size: int = 3000, overlap: int = 300) -> Iterator[str]:
    """The pieces of a text, each at most ``size`` characters, each with up to ``overlap`` of the one before.

    >>> list(chunks("One is one. Two is two. Three is three. Four.", size=30, overlap=13))
    ['One is one. Two is two.', 'Two is two. Three is three.', 'Four.']
    """
    if not 0 <= overlap < size:
        raise GoldassayError(f"the overlap must be from 0 to the size of a piece ({size}), got {overlap}")
    piece: list[str] = []
    for part in _parts(text, size):
        if sum(map(len, piece)) + len(part) > size:
            yield "".join(piece).strip()
            while sum(map(len, piece)) > min(overlap, size - len(part)):
                del piece[0]
        piece.append(part)
    if rest := "".join(piece).strip():
        yield rest


def _parts(text: str, size: int) -> Iterator[str]:
    """Sentences; of those longer than a piece the words, and of longer words what fits."""
    ends = [0, *(match.end() for match in BREAK.finditer(text)), len(text)]
    for sentence in (text[start:end] for start, end in pairwise(ends)):
        for part in [sentence] if len(sentence) <= size else re.findall(r"\S+\s*", sentence):
            yield from (part[start : start + size] for start in range(0, len(part), size))


def resolve_subject(name: str, title: str) -> str:
    """The article's title if a pronoun, the last name or the first name stands for it, else the name.

    >>> [resolve_subject(name, "Marie Curie") for name in ("She", "Curie", "Marie", "Pierre Curie")]
    ['Marie Curie', 'Marie Curie', 'Marie Curie', 'Pierre Curie']
    >>> resolve_subject("Drake", "Drake (musician)"), resolve_subject("the river", "Rhine")
    ('Drake (musician)', 'the river')
    """
    words, own = normal(name).split(), normal(BRACKETS.sub("", title)).split()
    is_part = name.strip()[:1].isupper() and words in (own[:1], own[-len(words) :])
    stands_for_it = words == own or is_part or " ".join(words) in PRONOUNS.split()
    return title if words and own and stands_for_it else name.strip()


def merge(triples: Iterable[Mapping[str, Any]], title: str = "") -> list[dict[str, object]]:
    """Each statement once, in the order of first mention, with its highest confidence.

    >>> triples = [("She", "born in", "Warsaw", 0.4), ("Marie Curie", "born_in", "warsaw", 0.9)]
    >>> merge([dict(zip(FIELDS, triple)) for triple in triples], "Marie Curie")
    [{'subject': 'Marie Curie', 'predicate': 'born in', 'object': 'Warsaw', 'confidence': 0.9}]
    """
    merged: dict[tuple[str, str, str], dict[str, Any]] = {}
    for triple in triples:
        subject = resolve_subject(str(triple["subject"]), title)
        key = (normal(subject), canonical(str(triple["predicate"])), signed(written(triple["object"])))
        first = merged.setdefault(key, {**triple, "subject": subject})
        if (triple.get("confidence") or 0.0) > (first.get("confidence") or 0.0):
            first["confidence"] = triple["confidence"]
    return list(merged.values())


class ArticleReader(dspy.Module):  # type: ignore[misc]
    """Reads an article piece by piece with ``reader``, a program from ``text`` to ``triples``.

    >>> born = {"subject": "She", "predicate": "P19", "object": "Warsaw", "confidence": 0.8}
    >>> class Reader(dspy.Module):
    ...     def forward(self, text):
    ...         return dspy.Prediction(triples=[born] if "born" in text else [])
    >>> ArticleReader(Reader())(text="She was born in Warsaw.", title="Marie Curie").triples[0]["subject"]
    'Marie Curie'
    """

    def __init__(self, reader: Any, size: int = 3000, overlap: int = 300) -> None:
        super().__init__()
        self.reader, self.size, self.overlap = reader, size, overlap

    def forward(self, text: str, title: str = "") -> dspy.Prediction:
        """The statements of all pieces."""
        pieces = chunks(text, self.size, self.overlap)
        triples = [triple for piece in pieces for triple in read(self.reader(text=piece), "triples") or ()]
        values = ({name: read(triple, name, None) for name in FIELDS} for triple in triples)
        return dspy.Prediction(triples=merge(values, title))

    def to_demo(self, example: dspy.Example) -> dict[str, object]:
        """A gold example as the reader's demonstration."""
        return dict(self.reader.to_demo(example))

"""`ArticleReader` makes a program for short texts read whole articles.

It reads overlapping pieces and merges their triples. A piece ends at a paragraph or a sentence if possible; the next
one begins some sentences earlier, so that a sentence across a border is whole in one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import dspy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, JsonObject, Record, read
from goldassay.measures.triples.objects import canonical, written
from goldassay.text.normal import normal, signed

BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[\"“(\[]?[^\Wa-z_])|(?<=[。！？])\s*|\n")
PRONOUNS = (
    "he she it they him her his hers its their i er sie es ihr ihre sein seine hij zij het ze hem haar il elle lui son "
    "sa leur on"
)
STATEMENT_FIELDS = ("subject", "predicate", "object", "confidence")


def chunks(text: str, size: int = 3000, overlap: int = 300) -> Iterator[str]:
    """The pieces of a text, each at most ``size`` characters, each with up to ``overlap`` of the one before.

    Raises:
        GoldassayError: The overlap is not less than the size.

    >>> list(chunks("One is one. Two is two. Three is three. Four.", size=30, overlap=13))
    ['One is one. Two is two.', 'Two is two. Three is three.', 'Four.']
    """
    if not 0 <= overlap < size:
        raise GoldassayError(f"the overlap must be from 0 to the size of a piece ({size}), got {overlap}")
    piece: list[str] = []
    for sentence in _parts(text, size):
        if sum(map(len, piece)) + len(sentence) > size:
            yield "".join(piece).strip()
            while sum(map(len, piece)) > min(overlap, size - len(sentence)):
                del piece[0]
        piece.append(sentence)
    if tail := "".join(piece).strip():
        yield tail


def _parts(text: str, size: int) -> Iterator[str]:
    """Sentences; those longer than a piece are cut into words, and longer words into parts that fit."""
    ends = [0, *(match.end() for match in BREAK.finditer(text)), len(text)]
    for sentence in (text[start:end] for start, end in pairwise(ends)):
        for stretch in [sentence] if len(sentence) <= size else re.findall(r"\S+\s*", sentence):
            yield from (stretch[start : start + size] for start in range(0, len(stretch), size))


def resolve_subject(name: str, title: str) -> str:
    """The article's title if the name is a pronoun, its last name or its first name; else the name.

    >>> [resolve_subject(name, "Marie Curie") for name in ("She", "Curie", "Marie", "Pierre Curie")]
    ['Marie Curie', 'Marie Curie', 'Marie Curie', 'Pierre Curie']
    >>> resolve_subject("Drake", "Drake (musician)"), resolve_subject("the river", "Rhine")
    ('Drake (musician)', 'the river')
    """
    tokens = normal(name).split()
    title_tokens = normal(re.sub(r"\s*\([^()]*\)\s*$", "", title)).split()
    is_part = name.strip()[:1].isupper() and tokens in (title_tokens[:1], title_tokens[-len(tokens) :])
    means_title = tokens == title_tokens or is_part or " ".join(tokens) in PRONOUNS.split()
    return title if tokens and title_tokens and means_title else name.strip()


def merge(triples: Iterable[Record], title: str = "") -> list[JsonObject]:
    """Each statement once, in the order of first mention, with its highest confidence.

    >>> triples = [("She", "born in", "Warsaw", 0.4), ("Marie Curie", "born_in", "warsaw", 0.9)]
    >>> merge([dict(zip(STATEMENT_FIELDS, triple)) for triple in triples], "Marie Curie")
    [{'subject': 'Marie Curie', 'predicate': 'born in', 'object': 'Warsaw', 'confidence': 0.9}]
    """
    merged: dict[tuple[str, str, str], Fields] = {}
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

    def __init__(self, reader: dspy.Module, size: int = 3000, overlap: int = 300) -> None:
        super().__init__()
        self.reader = reader
        self.size = size
        self.overlap = overlap

    def forward(self, text: str, title: str = "") -> dspy.Prediction:
        """The statements of all pieces."""
        pieces = chunks(text, self.size, self.overlap)
        triples = [triple for piece in pieces for triple in read(self.reader(text=piece), "triples") or ()]
        values = ({name: read(triple, name, None) for name in STATEMENT_FIELDS} for triple in triples)
        return dspy.Prediction(triples=merge(values, title))

    def to_demo(self, example: dspy.Example) -> JsonObject:
        """A gold example as the reader's demonstration."""
        reader: Any = self.reader
        return dict(reader.to_demo(example))

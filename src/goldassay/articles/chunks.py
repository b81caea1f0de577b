"""A program for whole articles made of one for short texts: in pieces that overlap, put together again.

A piece ends at a paragraph or a sentence where it can; the next begins some sentences earlier, so that what stands
across a border is whole in one of them. What two pieces say is said once, with the greater confidence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import dspy

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measures.triples.objects import written
from goldassay.measures.triples.predicates import canonical
from goldassay.text.fuzzy import normal, signed

BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[\"“(\[]?[^\Wa-z_])|(?<=[。！？])\s*|\n")
WORDS = (
    "he she it they him her his hers its their i er sie es ihr ihre sein seine hij zij het ze hem haar il elle lui son "
    "sa leur on"
)
PRONOUNS = frozenset(WORDS.split())
BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")


def chunks(text: str, size: int = 3000, overlap: int = 300) -> Iterator[str]:
    """The pieces of a text, each at most ``size`` characters, each with up to ``overlap`` of the one before.

    >>> list(chunks("One is one. Two is two. Three is three. Four.", size=30, overlap=13))
    ['One is one. Two is two.', 'Two is two. Three is three.', 'Four.']
    """
    if not 0 <= overlap < size:
        raise GoldassayError(f"the overlap lies between 0 and the size of a piece ({size}), not at {overlap}")
    ends = [found.end() for found in BREAK.finditer(text)]
    start = 0
    while start < len(text):
        stop = min(len(text), start + size)
        if stop < len(text):
            last = bisect_right(ends, stop) - 1
            within = last >= 0 and ends[last] > start + overlap
            stop = ends[last] if within else text.rfind(" ", start + overlap + 1, stop) + 1 or stop
        piece = text[start:stop].strip()
        if piece:
            yield piece
        if stop >= len(text):
            return
        first = bisect_left(ends, max(start + 1, stop - overlap))
        if first < len(ends) and ends[first] < stop:
            start = ends[first]
        elif within:
            start = stop
        else:  # cut within a sentence: what stands across the cut is whole in the next piece
            start = text.find(" ", stop - overlap, stop) + 1 or stop - overlap


def subject(said: str, title: str) -> str:
    """The article's own name where a pronoun, the last name or the first name stands for it.

    >>> [subject(name, "Marie Curie") for name in ("She", "Curie", "Marie", "Pierre Curie")]
    ['Marie Curie', 'Marie Curie', 'Marie Curie', 'Pierre Curie']
    >>> subject("Drake", "Drake (musician)"), subject("the river", "Rhine")
    ('Drake (musician)', 'the river')
    """
    words, own = normal(said).split(), normal(BRACKETS.sub("", title)).split()
    if not own or not words:
        return said.strip()
    part = len(words) < len(own) and words in (own[-len(words) :], own[: len(words)] if len(words) == 1 else None)
    if " ".join(words) in PRONOUNS or words == own or (part and said.strip()[:1].isupper()):
        return title
    return said.strip()


def merged(triples: Iterable[Mapping[str, Any]], title: str = "") -> list[dict[str, Any]]:
    """Each statement once, in the order of first mention; names of the article's subject are made its title.

    >>> said = [("She", "born in", "Warsaw", 0.4), ("Marie Curie", "born_in", "warsaw", 0.9)]
    >>> keys = ("subject", "predicate", "object", "confidence")
    >>> merged([dict(zip(keys, one)) for one in said], "Marie Curie")
    [{'subject': 'Marie Curie', 'predicate': 'born in', 'object': 'Warsaw', 'confidence': 0.9}]
    """
    out: dict[tuple[str, str, str], dict[str, Any]] = {}
    for one in triples:
        named = subject(str(one["subject"]), title) if title else str(one["subject"]).strip()
        value = written(one["object"])
        key = (normal(named), canonical(str(one["predicate"])), signed(value))
        kept = out.setdefault(key, {**one, "subject": named})
        if (one.get("confidence") or 0.0) > (kept.get("confidence") or 0.0):
            kept["confidence"] = one["confidence"]
    return list(out.values())


PARTS = ("subject", "predicate", "object", "confidence")


class ArticleReader(dspy.Module):  # type: ignore[misc]
    """Reads an article with ``reader``, a program from ``text`` to ``triples``, piece by piece.

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
        """The statements of all pieces, each once."""
        found: list[dict[str, Any]] = []
        for piece in chunks(text, self.size, self.overlap):
            for one in read(self.reader(text=piece), "triples") or ():
                found.append({name: read(one, name, None) for name in PARTS})
        return dspy.Prediction(triples=merged(found, title))

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the reader's demonstration."""
        return dict(self.reader.to_demo(example))

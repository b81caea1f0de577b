"""`ArticleReader`: a program for whole articles, made of a program for short texts.

It reads overlapping pieces and merges their triples. A piece ends at a paragraph or a sentence if possible; the next
one begins some sentences earlier, so that a sentence across a border is whole in one of them.
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
from goldassay.measures.triples.terms import canonical
from goldassay.text.normal import normal, signed

BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[\"“(\[]?[^\Wa-z_])|(?<=[。！？])\s*|\n")
PRONOUNS = (
    "he she it they him her his hers its their i er sie es ihr ihre sein seine hij zij het ze hem haar il elle lui son "
    "sa leur on"
)
BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
FIELDS = ("subject", "predicate", "object", "confidence")


def chunks(text: str, size: int = 3000, overlap: int = 300) -> Iterator[str]:
    """The pieces of a text, each at most ``size`` characters, each with up to ``overlap`` of the one before.

    >>> list(chunks("One is one. Two is two. Three is three. Four.", size=30, overlap=13))
    ['One is one. Two is two.', 'Two is two. Three is three.', 'Four.']
    """
    if not 0 <= overlap < size:
        raise GoldassayError(f"the overlap must be from 0 to the size of a piece ({size}), got {overlap}")
    breaks = [match.end() for match in BREAK.finditer(text)]
    start = 0
    while start < len(text):
        end, whole = min(len(text), start + size), True
        if end < len(text):
            last = bisect_right(breaks, end) - 1
            whole = last >= 0 and breaks[last] > start + overlap
            end = breaks[last] if whole else text.rfind(" ", start + overlap + 1, end) + 1 or end
        if piece := text[start:end].strip():
            yield piece
        if end >= len(text):
            return
        first = bisect_left(breaks, max(start + 1, end - overlap))
        if first < len(breaks) and breaks[first] < end:
            start = breaks[first]
        else:  # a sentence that was cut is whole in the next piece
            start = end if whole else text.find(" ", end - overlap, end) + 1 or end - overlap


def resolve_subject(name: str, title: str) -> str:
    """The article's title if a pronoun, the last name or the first name stands for it, else the name.

    >>> [resolve_subject(name, "Marie Curie") for name in ("She", "Curie", "Marie", "Pierre Curie")]
    ['Marie Curie', 'Marie Curie', 'Marie Curie', 'Pierre Curie']
    >>> resolve_subject("Drake", "Drake (musician)"), resolve_subject("the river", "Rhine")
    ('Drake (musician)', 'the river')
    """
    words, own = normal(name).split(), normal(BRACKETS.sub("", title)).split()
    if not own or not words:
        return name.strip()
    is_part = len(words) < len(own) and (words == own[-len(words) :] or words == own[:1])
    if " ".join(words) in PRONOUNS.split() or words == own or (is_part and name.strip()[:1].isupper()):
        return title
    return name.strip()


def merge(triples: Iterable[Mapping[str, Any]], title: str = "") -> list[dict[str, object]]:
    """Each statement once, in the order of first mention, with its highest confidence.

    >>> triples = [("She", "born in", "Warsaw", 0.4), ("Marie Curie", "born_in", "warsaw", 0.9)]
    >>> merge([dict(zip(FIELDS, triple)) for triple in triples], "Marie Curie")
    [{'subject': 'Marie Curie', 'predicate': 'born in', 'object': 'Warsaw', 'confidence': 0.9}]
    """
    merged: dict[tuple[str, str, str], dict[str, Any]] = {}
    for triple in triples:
        name = str(triple["subject"])
        subject = resolve_subject(name, title) if title else name.strip()
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

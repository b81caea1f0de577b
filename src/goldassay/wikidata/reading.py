"""A program for whole articles made of one for short texts: in overlapping pieces, duplicates merged."""

from __future__ import annotations

from typing import Any

import dspy

from goldassay.fields import read
from goldassay.wikidata.chunking import chunks, merged

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

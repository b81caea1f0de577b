"""The way back: spans of characters as one cell a token, for the writers of tokenised formats."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import Any

from goldassay.exceptions import DataError
from goldassay.text import words

LETTERS = {
    "IOB1": ("I", "I", "I", "I"),
    "IOB2": ("B", "I", "I", "B"),
    "IOE": ("I", "I", "E", "E"),
    "IOE1": ("I", "I", "I", "I"),
    "IOE2": ("I", "I", "E", "E"),
    "IOBES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
}
Place = tuple[int, int]


def places(record: Mapping[str, Any], field: str) -> list[Place]:
    """The tokens of a record: its own, or words and signs, cut where a span begins or ends.

    >>> places({"text": "L'année 1800", "entities": [{"start": 8, "end": 10}]}, "entities")
    [(0, 1), (1, 2), (2, 7), (8, 10), (10, 12)]
    """
    own = record.get("tokens")
    found = [(start, end) for start, end in own] if own else words.places(record["text"])
    edges = sorted({edge for span in record[field] for edge in (span["start"], span["end"])})
    out: list[Place] = []
    for start, end in found:
        inner = [edge for edge in edges if start < edge < end]
        bounds = [start, *inner, end]
        out += pairwise(bounds)
    return out


def covered(spans: Sequence[Mapping[str, Any]], tokens: Sequence[Place], record: object) -> list[tuple[int, int, int]]:
    """For each span its tokens (first, after the last) and its number, in order; overlaps cannot be told by tags."""
    firsts = {start: index for index, (start, _) in enumerate(tokens)}
    lasts = {end: index + 1 for index, (_, end) in enumerate(tokens)}
    found = []
    for number, span in enumerate(spans):
        if span.get("fragments") or span["start"] not in firsts or span["end"] not in lasts:
            raise DataError("this span is not a run of tokens; write jsonl or brat", record=record, field=f"[{number}]")
        found.append((firsts[span["start"]], lasts[span["end"]], number))
    found.sort()
    for (_, end, _), (start, _, number) in pairwise(found):
        if start < end:
            raise DataError("this span overlaps another; write jsonl or brat", record=record, field=f"[{number}]")
    return found


def tags(
    spans: Sequence[tuple[int, int, str]], size: int, scheme: str = "IOB2", breaks: Container[int] = ()
) -> list[str]:
    """Tags of a sequence of tokens from spans (first, after the last, type) that do not overlap.

    ``breaks`` are the tokens with which a sentence begins: IOB1 and IOE1 mark neighbours within a sentence alone.

    >>> tags([(0, 2, "TOP"), (2, 3, "TOP")], 4)
    ['B-TOP', 'I-TOP', 'B-TOP', 'O']
    >>> tags([(0, 2, "TOP"), (2, 3, "TOP")], 4, "IOBES")
    ['B-TOP', 'E-TOP', 'S-TOP', 'O']
    """
    first, inner, last, single = LETTERS[scheme]
    found = ["O"] * size
    before: tuple[int, str] = (-1, "")
    for start, end, kind in spans:
        if any(character.isspace() for character in kind) or not kind:
            raise DataError(f"a type with white space ({kind!r}) cannot stand in a tag")
        letters = [single] if end - start == 1 else [first, *[inner] * (end - start - 2), last]
        if before == (start, kind) and start not in breaks:
            if scheme == "IOB1":
                letters[0] = "B"
            elif scheme == "IOE1":
                found[start - 1] = f"E-{kind}"
        found[start:end] = [f"{letter}-{kind}" for letter in letters]
        before = (end, kind)
    return found

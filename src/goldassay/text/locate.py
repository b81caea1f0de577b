"""Locates the words that a program names in the text that it read.

A model that lists the names in a text rarely gives the right offsets, and it changes case, quotation marks, spacing or
Unicode form. So names come from the model and offsets from here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

Offsets = tuple[int, int]

QUOTES = {**dict.fromkeys("‘’‚‛`´′", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
MARKS = str.maketrans(QUOTES)
INNER = "'\"_"  # what stands inside of words, beside letters and digits
EDGES = " \t\n\r\"'“”„«».,;:()[]"


def locate(text: str, quotes: Sequence[str]) -> list[Offsets | None]:
    """For each quote its place in ``text`` (start, end), or ``None`` if it does not occur.

    Quotes are taken in the order in which they were mentioned: each gets the first place of its words after the one
    before it, or else the first from the beginning. A free place comes before one inside a longer quote of the list,
    and that before one that is taken, so a name that is mentioned more often than it occurs gets a place twice. Whole
    words come before parts of words, and the exact words before the same words in another case, with other quotes,
    spacing or Unicode form, or without the punctuation around them. Offsets are those of ``text`` as given.

    >>> locate("Het  Rijksmuseum en het Rijksmuseum", ["het rijksmuseum", "Rijksmuseum", "Louvre"])
    [(0, 16), (24, 35), None]
    """
    reading = _Reading(text)
    places = [reading.places(quote) for quote in quotes]
    everywhere = {span for spans in places for span in spans}
    nested = {(a, b) for a, b in everywhere if any(c <= a and b <= d and (a, b) != (c, d) for c, d in everywhere)}
    taken: set[Offsets] = set()
    located: list[Offsets | None] = []
    after = 0

    def rank(span: Offsets) -> tuple[Any, ...]:
        overlaps = any(span[0] < end and start < span[1] for start, end in taken)
        return span in taken, overlaps, span in nested, span[0] < after, span

    for spans in places:
        best = min(spans, key=rank, default=None)
        located.append(best)
        if best:
            taken.add(best)
            after = best[1]
    return located


class _Reading:
    """A text in three forms, each with the place of every character: as given, folded, and folded without spaces."""

    def __init__(self, text: str) -> None:
        folded = _folded(text)
        self.text = text
        self.forms = (
            [(sign, span) for span in _letters(text) for sign in text[slice(*span)]],
            folded,
            [(sign, span) for sign, span in folded if sign != " "],
        )
        self.strings = ["".join(sign for sign, _ in form) for form in self.forms]

    def places(self, quote: str) -> list[Offsets]:
        """The places of a quote, by the first way of looking that finds any."""
        folded, bare = _fold(quote), _fold(quote.strip(EDGES))
        ways = ((quote.strip(), 0), (folded, 1), (bare, 1), (folded.replace(" ", ""), 2), (bare.replace(" ", ""), 2))
        matches = [(span, way) for way, (words, form) in enumerate(ways) for span in self._find(words, form)]
        whole = [pair for pair in matches if self._whole(pair[0])] or matches
        return sorted({span for span, way in whole if way == whole[0][1]})

    def _find(self, words: str, number: int) -> Iterator[Offsets]:
        form, string = self.forms[number], self.strings[number]
        start = string.find(words) if words else -1
        while start >= 0:
            end = start + len(words)
            begins = start == 0 or form[start - 1][1] != form[start][1]
            ends = end == len(form) or form[end][1] != form[end - 1][1]
            if begins and ends:
                yield form[start][1][0], form[end - 1][1][1]
            start = string.find(words, start + 1)

    def _whole(self, span: Offsets) -> bool:
        """Whether the place does not cut a word in two."""
        around = (self.text[max(span[0] - 1, 0) : span[0] + 1], self.text[span[1] - 1 : span[1] + 1])
        return not any(a.isalnum() and b.isalnum() for pair in around for a, b in pairwise(pair))


def _fold(quote: str) -> str:
    return "".join(sign for sign, _ in _folded(quote)).strip()


def _folded(text: str) -> list[tuple[str, Offsets]]:
    """The text without differences of case, quotes, spacing and Unicode form; each character with its place."""
    signs: list[tuple[str, Offsets]] = []
    for start, end in _letters(text):
        for sign in _plain(text[start:end]):
            if sign == " " and signs and signs[-1][0] == " ":
                signs[-1] = (" ", (signs[-1][1][0], end))
            else:
                signs.append((sign, (start, end)))
    return signs


def _letters(text: str) -> Iterator[Offsets]:
    """The places of letters. One with the marks that combine with it is one place, so no match ends between them."""
    end = 0
    while end < len(text):
        start, end = end, end + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        yield start, end


def _plain(letter: str) -> str:
    """One letter folded; invisible characters (soft hyphens, zero-width spaces) vanish."""
    decomposed = unicodedata.normalize("NFKD", letter).translate(MARKS).casefold()
    signs = (sign for sign in unicodedata.normalize("NFKD", decomposed) if unicodedata.category(sign) != "Cf")
    return "".join(" " if sign.isspace() else sign for sign in signs)


def widened(start: int, end: int, text: str) -> tuple[int, int]:
    """A span with the rest of the words that it cuts: letters, digits, and ``'``, ``"``, ``_`` on both sides.

    An opening quotation mark whose closing one stands outside is left out. As in ELEVANT (Bast et al. 2022).

    >>> widened(0, 6, "Albert's birthplace is Ulm."), widened(1, 19, '"Hearts and Flowers" is a song.')
    ((0, 8), (0, 20))
    """
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in INNER):
        start -= 1
    while end < len(text) - 1 and (text[end].isalnum() or text[end] in INNER):
        end += 1
    if text[start] == '"' and '"' not in text[start + 1 : end]:
        start += 1
    return start, end

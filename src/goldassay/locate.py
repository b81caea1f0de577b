"""Finding the words that a program names in the text that it read."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

QUOTES = str.maketrans({"’": "'", "‘": "'", "‛": "'", "`": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-", "—": "-"})
EDGES = " \t\n\r\"'“”„«».,;:()[]"


def locate(text: str, names: Sequence[str]) -> list[tuple[int, int] | None]:
    """For each name where it stands in ``text`` (start, end), or ``None``.

    A name that is given again is looked for after the place where it was found before. First the exact words are
    looked for, then the same words whatever their case, quotes, spacing or Unicode form; then without quotation marks
    and full stops around them. Offsets are those of ``text`` as it is.

    >>> locate("Het  Rijksmuseum en het Rijksmuseum", ["het rijksmuseum", "Rijksmuseum", "Louvre"])
    [(0, 16), (24, 35), None]
    """
    folded, places = _folded(text)
    taken: set[tuple[int, int]] = set()
    out: list[tuple[int, int] | None] = []
    for name in names:
        found = _exact(text, name, taken) or _loose(folded, places, name, taken) or _loose(folded, places, name.strip(EDGES), taken)
        if found is not None:
            taken.add(found)
        out.append(found)
    return out


def _exact(text: str, name: str, taken: set[tuple[int, int]]) -> tuple[int, int] | None:
    start = text.find(name) if name else -1
    while start >= 0:
        span = (start, start + len(name))
        if _free(span, taken) and _whole(text, span):
            return span
        start = text.find(name, start + 1)
    return None


def _loose(folded: str, places: list[tuple[int, int]], name: str, taken: set[tuple[int, int]]) -> tuple[int, int] | None:
    wanted = _folded(name)[0].strip()
    start = folded.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        span = (places[start][0], places[end - 1][1])
        if _free(span, taken) and _whole(folded, (start, end)):
            return span
        start = folded.find(wanted, start + 1)
    return None


def _free(span: tuple[int, int], taken: set[tuple[int, int]]) -> bool:
    return all(span[1] <= start or end <= span[0] for start, end in taken)


def _whole(text: str, span: tuple[int, int]) -> bool:
    """Whether the place does not cut a word in two."""
    start, end = span
    cut_before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    cut_after = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not (cut_before or cut_after)


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without differences of case, quotes, spacing and Unicode form, and where each sign came from."""
    signs: list[str] = []
    places: list[tuple[int, int]] = []
    index = 0
    while index < len(text):
        end = index + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = unicodedata.normalize("NFKC", text[index:end]).translate(QUOTES).casefold()
        for sign in piece:
            if sign.isspace() and signs and signs[-1] == " ":
                places[-1] = (places[-1][0], end)
                continue
            signs.append(" " if sign.isspace() else sign)
            places.append((index, end))
        index = end
    return "".join(signs), places

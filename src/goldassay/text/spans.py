"""Spans of texts: the places of words that a program names, and the spans that tags of tokens mark.

A model that lists the names in a text rarely gives the right offsets, and it changes case, quotation marks, spacing or
Unicode form. So names come from the model and offsets from `locate`.

Tags of the six schemes are `spans` of tokens, with both readings of malformed sequences. ``conlleval``: an orphan I-
opens an entity and so does a change of type, as in the CoNLL-2000 script. ``strict``: the scheme as written; what does
not begin and end as the scheme says is nothing. The strict reading is that of seqeval 1.2.2, step by step (`STRICT`),
where it is unfinished too: in IOE1 an entity that begins with E is lost, and in IOB1 one that ends before a B of
another type.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from goldassay._support.exceptions import DataError, GoldassayError

Offsets = tuple[int, int]
Form = tuple[str, list[Offsets]]
"""A text in some form, and the place of each of its characters in the text as given."""

QUOTES = {**dict.fromkeys("‘’‚‛`´′", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
PLAIN_MARKS = str.maketrans(QUOTES)
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
    letters = [(sign, span) for span in _letters(text) for sign in text[slice(*span)]]
    folded = _folded(text)
    readings = letters, folded, [(sign, span) for sign, span in folded if sign != " "]
    forms = [("".join(sign for sign, _ in reading), [span for _, span in reading]) for reading in readings]
    places = [_places(quote, text, forms) for quote in quotes]
    everywhere = {span for spans in places for span in spans}
    nested = {(a, b) for a, b in everywhere if any(c <= a and b <= d and (a, b) != (c, d) for c, d in everywhere)}
    taken: set[Offsets] = set()
    located: list[Offsets | None] = []
    after = 0

    def rank(span: Offsets) -> tuple[bool, bool, bool, bool, Offsets]:
        overlaps = any(span[0] < end and start < span[1] for start, end in taken)
        return span in taken, overlaps, span in nested, span[0] < after, span

    for spans in places:
        best = min(spans, key=rank, default=None)
        located.append(best)
        if best:
            taken.add(best)
            after = best[1]
    return located


def _places(quote: str, text: str, forms: Sequence[Form]) -> list[Offsets]:
    """The places of a quote, by the first way of looking that finds any; whole words come first."""
    folded = _fold(quote)
    bare = _fold(quote.strip(EDGES))
    ways = ((quote.strip(), 0), (folded, 1), (bare, 1), (folded.replace(" ", ""), 2), (bare.replace(" ", ""), 2))
    matches: list[tuple[Offsets, int]] = []  # also overlapping ones; none begins or ends inside of a letter
    for way, (words, form) in enumerate(ways):
        string, spans = forms[form]
        for match in re.finditer(f"(?={re.escape(words)})", string) if words else ():
            start = match.start()
            end = start + len(words)
            begins = start == 0 or spans[start - 1] != spans[start]
            if begins and (end == len(spans) or spans[end] != spans[end - 1]):
                matches.append(((spans[start][0], spans[end - 1][1]), way))
    cut = (any(0 < at < len(text) and text[at - 1 : at + 1].isalnum() for at in span) for span, _ in matches)
    complete = [match for match, inside in zip(matches, cut, strict=True) if not inside] or matches
    return sorted({span for span, way in complete if way == complete[0][1]})


def _fold(quote: str) -> str:
    return "".join(sign for sign, _ in _folded(quote)).strip()


def _folded(text: str) -> list[tuple[str, Offsets]]:
    """The text without differences of case, quotes, spacing and Unicode form; each character with its place."""
    signs: list[tuple[str, Offsets]] = []
    for start, end in _letters(text):
        decomposed = unicodedata.normalize("NFKD", text[start:end]).translate(PLAIN_MARKS).casefold()
        for letter in unicodedata.normalize("NFKD", decomposed):
            if unicodedata.category(letter) == "Cf":  # invisible: soft hyphens, zero-width spaces
                continue
            sign = " " if letter.isspace() else letter
            if sign == " " and signs and signs[-1][0] == " ":
                signs[-1] = (" ", (signs[-1][1][0], end))
            else:
                signs.append((sign, (start, end)))
    return signs


def _letters(text: str) -> Iterator[Offsets]:
    """The places of letters. One with the marks that combine with it is one place, so no match ends between them."""
    return pairwise([*(at for at, sign in enumerate(text) if not (at and unicodedata.combining(sign))), len(text)])


def widened(start: int, end: int, text: str) -> tuple[int, int]:
    """A span with the rest of the words that it cuts: letters, digits, and ``'``, ``"``, ``_`` on both sides.

    An opening quotation mark whose closing one is outside is left out. As in ELEVANT (Bast et al. 2022).

    >>> widened(0, 6, "Albert's birthplace is Ulm."), widened(1, 19, '"Hearts and Flowers" is a song.')
    ((0, 8), (0, 20))
    """
    inner = "'\"_"  # characters inside of words, besides letters and digits
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in inner):
        start -= 1
    while end < len(text) - 1 and (text[end].isalnum() or text[end] in inner):
        end += 1
    if text[start] == '"' and '"' not in text[start + 1 : end]:
        start += 1
    return start, end


TAG_PREFIXES = {
    "IOB1": "IB",
    "IOB2": "IB",
    "IOE": "IE",
    "IOE1": "IE",
    "IOE2": "IE",
    "IOBES": "IBES",
    "BILOU": "IBLU",
}
OUTSIDE = frozenset(("O", "_", "-", ""))
Spans = list[tuple[int, int, str]]


def scheme_of(tags: Iterable[str]) -> str:
    """The scheme that a set of tags shows; what is not a tag (``LOC``), or the rarer of two endings, does not decide.

    >>> scheme_of(["O", "B-TOP", "E-TOP"]), scheme_of(["B-TOP", "E-TOP", "S-TOP", "LOC", "L-TOP"])
    ('IOBES', 'IOBES')
    """
    seen = Counter(tag[:1] for tag in tags if tag[1:2] in ("", "-"))
    if seen["L"] + seen["U"] > seen["E"] + seen["S"]:
        return "BILOU"
    if seen["S"] or (seen["B"] and seen["E"]):
        return "IOBES"
    return "IOE2" if seen["E"] else "IOB2"


def named(scheme: str | None, tags: Iterable[str]) -> str:
    """The scheme of this name, or else the one that the tags show.

    Raises:
        GoldassayError: There is no such scheme.
    """
    name = scheme_of(tags) if scheme is None else scheme.upper().replace("BIO", "IOB2").replace("IOB22", "IOB2")
    if name not in TAG_PREFIXES:
        raise GoldassayError(f"no tag scheme {scheme!r}; the schemes are {', '.join(TAG_PREFIXES)}")
    return name


def split(tag: str, scheme: str) -> tuple[str, str]:
    """Prefix and type of a tag; ``("O", "")`` outside, the type ``_`` where a tag has none (as in seqeval).

    Raises:
        DataError: The scheme has no such tag.

    >>> split("B-GRP.HER.MUS", "IOB2"), split("B", "IOB2")
    (('B', 'GRP.HER.MUS'), ('B', '_'))
    """
    if tag in OUTSIDE:
        return "O", ""
    prefix = tag[:1]
    kind = "_" if tag == prefix else tag[2:]
    if prefix not in TAG_PREFIXES[scheme] or tag[1:2] not in ("", "-") or not kind:
        allowed = ", ".join(f"{letter}-TYPE" for letter in TAG_PREFIXES[scheme])
        raise DataError(f"tag {tag!r} is outside the scheme {scheme}, which has O, {allowed}")
    return prefix, kind


def spans(tags: Sequence[str], scheme: str = "IOB2", malformed: str = "conlleval") -> Spans:
    """Spans (first token, token after the last, type) of one sentence or document.

    >>> spans(["B-TOP", "I-TOP", "O", "I-TMP"])
    [(0, 2, 'TOP'), (3, 4, 'TMP')]
    >>> spans(["B-TOP", "I-TOP", "O", "I-TMP"], malformed="strict")
    [(0, 2, 'TOP')]
    """
    spans: Spans = []
    start = -1
    before = ("O", "")
    for index, current in enumerate([*(split(tag, scheme) for tag in tags), ("O", "")]):
        opens, inside, ends = step(scheme, malformed, before[0], current[0], before[1] == current[1])
        if start >= 0 and not inside:
            if ends:
                spans.append((start, index, before[1]))
            start = -1
        if start < 0 and opens:
            start = index
        before = current
    return spans


STRICT = {
    "IOB1": ("OI II! BI IB= BB=", "BI= II=", "II! IO IB BO BI! BB="),
    "IOB2": ("*B", "BI= II=", "IO II! IB BO BI! BB"),
    "IOE1": ("OI II! EI EE=", "II= IE=", "II! IO IE! EI= EE="),
    "IOE2": ("OI OE EI EE II! IE!", "IE= II=", "E*"),
    "IOBES": ("*B *S", "BI= BE= II= IE=", "S* E*"),
    "BILOU": ("*B *U", "BI= BL= II= IL=", "U* L*"),
}
"""Between which two letters an entity opens, goes on and ends as it should; ``=`` with the same type, ``!`` another."""
STRICT["IOE"] = STRICT["IOE2"]


@cache
def step(scheme: str, malformed: str, before: str, letter: str, same: bool) -> tuple[bool, bool, bool]:
    """Whether an entity may open at a tag, goes on there, and has ended well where it does not go on.

    Args:
        scheme: The scheme.
        malformed: The reading: ``conlleval`` or ``strict``.
        before: The letter of the tag before.
        letter: The letter of the tag.
        same: Whether both have one type.

    Raises:
        GoldassayError: There is no such reading.

    >>> step("IOB2", "strict", "O", "I", False), step("IOB2", "conlleval", "O", "I", False)
    ((False, False, False), (True, False, True))
    """
    lenient = "BI= BE= BL= II= IE= IL="
    if malformed not in ("conlleval", "strict"):
        raise GoldassayError(f"no reading {malformed!r} of malformed tags; there are conlleval and strict")

    def any_of(patterns: str) -> bool:
        return any(
            pair[0] in ("*", before) and pair[1] in ("*", letter) and pair[2:] in ("", "=" if same else "!")
            for pair in patterns.split()
        )

    if malformed == "strict":
        opens, inside, ends = map(any_of, STRICT[scheme])
        return opens, inside, ends
    inside = any_of(lenient)
    return letter != "O" and not inside, inside, True

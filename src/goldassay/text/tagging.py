"""Tags of the five schemes as spans of tokens, with both readings of malformed sequences.

``conlleval``: an orphan I- opens an entity and so does a change of type, as in the CoNLL-2000 script. ``strict``: the
scheme as written; what does not begin as the scheme says is nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from goldassay.exceptions import DataError, GoldassayError

PREFIXES = {
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
    """The scheme that a set of tags shows; what is no tag (``LOC``), or the rarer of two endings, does not decide.

    >>> scheme_of(["O", "B-TOP", "E-TOP"]), scheme_of(["B-TOP", "E-TOP", "S-TOP", "LOC", "L-TOP"])
    ('IOBES', 'IOBES')
    """
    seen = Counter(tag[0] for tag in tags if tag[1:2] == "-" and tag[2:])
    letters = set(seen)
    if seen["L"] + seen["U"] > seen["E"] + seen["S"]:
        return "BILOU"
    if letters & set("S") or {"B", "E"} <= letters:
        return "IOBES"
    return "IOE2" if "E" in letters else "IOB2"


def named(scheme: str | None, tags: Iterable[str]) -> str:
    """The scheme that was asked for, or else the one that the tags show."""
    if scheme is None:
        return scheme_of(tags)
    name = scheme.upper().replace("BIO", "IOB2").replace("IOB22", "IOB2")
    if name not in PREFIXES:
        raise GoldassayError(f"no tag scheme {scheme!r}; the schemes are {', '.join(PREFIXES)}")
    return name


def split(tag: str, scheme: str) -> tuple[str, str]:
    """Prefix and type of a tag; ``("O", "")`` outside.

    >>> split("B-GRP.HER.MUS", "IOB2")
    ('B', 'GRP.HER.MUS')
    """
    if tag in OUTSIDE:
        return "O", ""
    prefix, dash, kind = tag[:1], tag[1:2], tag[2:]
    if prefix not in PREFIXES[scheme] or dash != "-" or not kind:
        allowed = ", ".join(f"{letter}-TYPE" for letter in PREFIXES[scheme])
        raise DataError(f"tag {tag!r} is outside the scheme {scheme}, which has O, {allowed}")
    return prefix, kind


def spans(tags: Sequence[str], scheme: str = "IOB2", malformed: str = "conlleval") -> Spans:
    """Spans (first token, token after the last, type) of one sentence or document.

    >>> spans(["B-TOP", "I-TOP", "O", "I-TMP"])
    [(0, 2, 'TOP'), (3, 4, 'TMP')]
    >>> spans(["B-TOP", "I-TOP", "O", "I-TMP"], malformed="strict")
    [(0, 2, 'TOP')]
    """
    parts = [split(tag, scheme) for tag in tags]
    if malformed == "conlleval":
        return _conlleval(parts)
    if malformed != "strict":
        raise GoldassayError(f"no reading {malformed!r} of malformed tags; there are conlleval and strict")
    return _strict(parts, scheme)


def _conlleval(parts: Sequence[tuple[str, str]]) -> Spans:
    spans: Spans = []
    start, kind, before = -1, "", "O"
    for place, (letter, current) in enumerate([*parts, ("O", "")]):
        inside = letter in "IEL" and before in "BI" and current == kind
        if start >= 0 and not inside:
            spans.append((start, place, kind))
            start = -1
        if letter != "O" and start < 0:
            start, kind = place, current
        before = letter
    return spans


WRITTEN = {
    "IOB1": re.compile("(?<=[BI])BI*|I+"),
    "IOB2": re.compile("BI*"),
    "IOE": re.compile("I*E"),
    "IOE1": re.compile("I*E(?=[IE])|I+"),
    "IOE2": re.compile("I*E"),
    "IOBES": re.compile("S|BI*E"),
    "BILOU": re.compile("U|BI*L"),
}


def _strict(parts: Sequence[tuple[str, str]], scheme: str) -> Spans:
    spans: Spans = []
    start = 0
    while start < len(parts):
        kind, end = parts[start][1], start + 1
        while end < len(parts) and parts[end][1] == kind:
            end += 1
        if kind:
            letters = "".join(letter for letter, _ in parts[start:end])
            spans += ((start + m.start(), start + m.end(), kind) for m in WRITTEN[scheme].finditer(letters))
        start = end
    return spans

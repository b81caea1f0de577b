"""Tags of the six schemes as spans of tokens, with both readings of malformed sequences.

``conlleval``: an orphan I- opens an entity and so does a change of type, as in the CoNLL-2000 script. ``strict``: the
scheme as written; what does not begin and end as the scheme says is nothing. The strict reading is that of seqeval
1.2.2, step by step (`STRICT`), where it is unfinished too: in IOE1 an entity that begins with E is lost, and in IOB1
one that ends before a B of another type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

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
    spans: Spans = []
    start, before = -1, ("O", "")
    for place, current in enumerate([*(split(tag, scheme) for tag in tags), ("O", "")]):
        opens, inside, ends = step(scheme, malformed, before[0], current[0], before[1] == current[1])
        if start >= 0 and not inside:
            if ends:
                spans.append((start, place, before[1]))
            start = -1
        if start < 0 and opens:
            start = place
        before = current
    return spans


LENIENT = "BI= BE= BL= II= IE= IL="
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

    >>> step("IOB2", "strict", "O", "I", False), step("IOB2", "conlleval", "O", "I", False)
    ((False, False, False), (True, False, True))
    """
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
    inside = any_of(LENIENT)
    return letter != "O" and not inside, inside, True

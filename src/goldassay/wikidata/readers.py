"""Programs for whole articles: one made of a program for short texts, and a baseline without a model.

`ArticleReader` reads in pieces that overlap, put together again. A piece ends at a paragraph or a sentence where it
can; the next begins some sentences earlier, so that what stands across a border is whole in one of them. What two
pieces say is said once, with the greater confidence.

`ArticlePatterns` is what English articles say of their subject in set phrases, by regular expressions. Only what
Wikipedia's house style makes regular is looked for: the brackets of the first sentence, "born in", "married", "founded
by", "is the capital of". Confidence is the share of right triples that each phrase is expected to have.
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


def merged(triples: Iterable[Mapping[str, Any]], title: str = "") -> list[dict[str, object]]:
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

    def to_demo(self, example: dspy.Example) -> dict[str, object]:
        """A gold example as the reader's demonstration."""
        return dict(self.reader.to_demo(example))


CAPITAL = r"(?:[A-Z]\.|[^\W\d_a-zà-öø-ÿß][\w’'\-]*)"
LINK = r"(?:of|the|and|de|der|des|du|la|le|von|van|in|for|al|bin|d[’'])"
NAME = rf"(?P<object>{CAPITAL}(?:[ ](?:{LINK}[ ]){{0,2}}{CAPITAL})*)"
DATE = r"(?P<object>\d{1,2} [A-Z][a-z]+ \d{3,4}|[A-Z][a-z]+ \d{1,2}, \d{3,4})"
YEAR = r"(?P<object>1[0-9]{3}|20\d{2})"
WHEN = r"(?:\d{1,2} [A-Z][a-z]+ \d{3,4}|[A-Z][a-z]+ \d{1,2}, \d{3,4}|\d{3,4})"
PATTERNS: tuple[tuple[str, str, float], ...] = (
    ("P569", rf"\((?:[^()]*?; )?(?:born )?{DATE}(?: ?[–—-]|\))", 0.95),
    ("P570", rf"\([^()]*?\d{{3,4}} ?[–—-] ?{DATE}\)", 0.95),
    ("P569", rf"\bborn [^.;()]{{0,80}}?\bon {DATE}", 0.9),
    ("P19", rf"\b(?:was|were) born [^.;()]{{0,40}}?\b(?:in|at) (?:the )?{NAME}", 0.85),
    ("P570", rf"\bdied [^.;()]{{0,80}}?\bon {DATE}", 0.9),
    ("P20", rf"\bdied [^.;()\d]{{0,40}}?\b(?:in|at) (?:the )?{NAME}", 0.8),
    ("P119", rf"\b(?:buried|interred) (?:in|at) (?:the )?{NAME}", 0.85),
    ("P26", rf"\bmarried (?:to )?(?:the (?:\w+ ){{0,2}}[a-z]+ )?{NAME}", 0.85),
    ("P40", rf"\b(?:daughters?|sons?|child(?:ren)?),? (?:named )?{NAME}", 0.6),
    ("P166", rf"\b(?:won|received|awarded|receive|share[ds]?) the (?:\d{{4}} )?(?P<object>[A-Z][\w ’'-]*?"
     rf"(?:Prize|Medal|Award|Order)(?: in {CAPITAL}| of {CAPITAL})?)", 0.85),
    ("P69", rf"\b(?:studied|educated|graduated|enrolled) [^.;]{{0,40}}?\b(?:at|from) (?:the )?{NAME}", 0.75),
    ("P108", rf"\b(?:professor|lecturer|worked|employed) [^.;]{{0,30}}?\b(?:at|by|for) (?:the )?{NAME}", 0.65),
    ("P27", rf"\bcitizen(?:ship)? of (?:the )?{NAME}", 0.8),
    ("P112", rf"\bfounded (?:in {WHEN} )?by (?:the )?{NAME}", 0.85),
    ("P571", rf"\b(?:founded|established|incorporated|created) [^.;]{{0,40}}?\bin (?:[A-Z][a-z]+ )?{YEAR}", 0.8),
    ("P159", rf"\bheadquarter(?:s|ed) (?:is |are )?(?:located )?in (?:the )?{NAME}", 0.85),
    ("P1376", rf"\bcapital (?:and largest city )?of (?:the )?{NAME}", 0.8),
    ("P131", rf"\b(?:city|town|village|museum|building|municipality) in (?:the )?{NAME}", 0.55),
    ("P1082", r"\bpopulation (?:of|was|is)(?: about| around| approximately)? (?P<object>\d{1,3}(?:,\d{3})+|\d+)", 0.6),
    ("P57", rf"\bdirected by {NAME}", 0.9),
    ("P50", rf"\b(?:novel|book|play|poem) (?:written )?by (?:the )?(?:[a-z]+ )*{NAME}", 0.85),
    ("P577", rf"\b(?:published|released) (?:in|on) (?:\d{{1,2}} )?(?:[A-Z][a-z]+ )?{YEAR}", 0.75),
    ("P84", rf"\b(?:designed by|architect) (?:the architect )?{NAME}", 0.75),
    ("P138", rf"\bnamed (?:after|for|in honou?r of) (?:the )?{NAME}", 0.8),
)  # fmt: skip
COMPILED = tuple((name, re.compile(pattern), confidence) for name, pattern, confidence in PATTERNS)
TRADES = (
    "physicist|chemist|mathematician|biologist|astronomer|philosopher|economist|politician|lawyer|actor|actress|singer|"
    "songwriter|composer|writer|novelist|poet|painter|sculptor|architect|engineer|inventor|businessman|businesswoman|"
    "entrepreneur|footballer|tennis player|historian|statesman|film director|director|producer|physician|theologian"
)
TRADE = re.compile(rf"\b(?:is|was) an? (?P<list>[^.;]{{0,120}}?\b(?:{TRADES})\b[^.;]{{0,80}})")
SAME = re.compile(rf"\b(?:{TRADES})\b")


class ArticlePatterns:
    """Triples about the article's title, by phrases.

    >>> text = "Ann Lee (1 May 1900 – 2 June 1980) was a poet. She married Bob Lee."
    >>> found = ArticlePatterns()(text=text, title="Ann Lee")
    >>> [(one["predicate"], one["object"]) for one in found["triples"]]
    [('P569', '1 May 1900'), ('P570', '2 June 1980'), ('P26', 'Bob Lee'), ('P106', 'poet')]
    """

    def __call__(self, text: str, title: str) -> dict[str, Any]:
        """The triples of a text."""
        out: dict[tuple[str, str], dict[str, Any]] = {}
        for name, pattern, confidence in COMPILED:
            for found in pattern.finditer(text):
                value = found["object"].strip(" .,'’")
                if value and value.casefold() != title.casefold():
                    out.setdefault((name, value.casefold()), _triple(title, name, value, confidence))
        lead = TRADE.search(text)
        for word in SAME.findall(lead["list"]) if lead else ():
            out.setdefault(("P106", word), _triple(title, "P106", word, 0.8))
        return {"triples": list(out.values())}


def _triple(subject: str, name: str, value: str, confidence: float) -> dict[str, Any]:
    return {"subject": subject, "predicate": name, "object": value, "confidence": confidence}

"""What English articles say of their subject in set phrases, by regular expressions: a baseline without a model.

Only what Wikipedia's house style makes regular is looked for: the brackets of the first sentence, "born in", "married",
"founded by", "is the capital of". Confidence is the share of right triples that each phrase is expected to have.
"""

from __future__ import annotations

import re
from typing import Any

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

"""Triples: what a text says about an institution, as statements with Wikidata properties.

``program`` asks a language model for statements whose predicates are those of a list of properties, with a confidence
each. ``baseline`` needs no model: patterns in Dutch, English, German and French for founding years, places, founders,
architects and codes; the subject is the name that looks most like an institution's. Fitted, it knows how often each
pattern is right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import dspy
from pydantic import Field, create_model

from goldassay.ext.wikidata.alignment import PropertyAlignmentTable
from goldassay.ext.wikidata.reading import ArticleReader
from goldassay.measures.triples import TripleMatching, match
from goldassay.models.lm import Copied

PROPERTIES = {
    "instance of": "P31",
    "inception": "P571",
    "date of official opening": "P1619",
    "located in": "P131",
    "headquarters location": "P159",
    "location": "P276",
    "country": "P17",
    "next to body of water": "P206",
    "founded by": "P112",
    "architect": "P84",
    "owned by": "P127",
    "operator": "P137",
    "commissioned by": "P88",
    "manufacturer": "P176",
    "named after": "P138",
    "part of": "P361",
    "jurisdiction": "P1001",
    "operating area": "P2541",
    "ISIL": "P791",
    "World Heritage ID": "P757",
}


class Say(dspy.Signature):  # type: ignore[misc]
    """List the statements that the text makes about institutions.
    Copy subject and object exactly from the text. Choose each predicate from the list.
    confidence: how sure you are that the text says it, from 0 to 1."""

    text: str = dspy.InputField()
    statements: list[Any] = dspy.OutputField()


class Triples(dspy.Module):  # type: ignore[misc]
    """Statements by a language model; ``properties`` maps the predicates it may use to property ids."""

    def __init__(self, properties: Mapping[str, str] = PROPERTIES) -> None:
        super().__init__()
        self.properties = dict(properties)
        self.labels = {name: label for label, name in self.properties.items()}
        predicate: Any = Literal[tuple(self.properties)]
        statement: Any = create_model(
            "Statement",
            subject=(Copied, ...),
            predicate=(predicate, ...),
            object=(Copied, ...),
            confidence=(float, Field(default=1.0, ge=0.0, le=1.0)),
        )
        self.say = dspy.Predict(Say.with_updated_fields("statements", type_=list[statement]))

    def forward(self, text: str) -> dspy.Prediction:
        """The statements of a text, each once, with its greatest confidence."""
        confidences: dict[tuple[str, str, str], float] = {}
        for statement in self.say(text=text).statements or ():
            key = (statement.subject.strip(), self.properties[statement.predicate], statement.object.strip())
            if key[0] and key[2]:
                confidences[key] = max(confidences.get(key, 0.0), statement.confidence)
        return dspy.Prediction(triples=[_triple(*key, confidence) for key, confidence in confidences.items()])

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the predictor's demonstration; statements of other properties are left out."""
        return {
            "statements": [
                {
                    "subject": triple["subject"],
                    "predicate": self.labels[triple["predicate"]],
                    "object": triple["object"],
                    "confidence": 1.0,
                }
                for triple in example["triples"]
                if triple["predicate"] in self.labels
            ]
        }


class Articles(ArticleReader):
    """`Triples` on whole Wikipedia articles, in overlapping pieces, with the properties of the alignment table.

    ``ArticlePatterns`` is its baseline without a model.
    """

    def __init__(self) -> None:
        super().__init__(Triples({row.label: row.id for row in PropertyAlignmentTable.of().rows}))


CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'.\-]*[\w’']"
LINK = r"(?:of|the|and|de|het|van|voor|en|der|des|für|und|von|du|la|le|les|et|da|di|al|bin|d[’'])"
NAME = rf"{CAPITAL}(?:[ ](?:{LINK}[ ])*(?:{CAPITAL}|[A-Z]))*"
YEAR = r"(?:(?:c\.|ca\.|um|omstreeks|vers) )?(?:1[0-9]|20)\d{2}|\d{1,2}\.? [^\W\d]+ (?:1[0-9]|20)\d{2}"
BEGAN = (
    "founded|established|created|begun|built|started|formed|since|opened|launched|"
    "opgericht|gesticht|gebouwd|sinds|begonnen|aangelegd|opende|opening|stichtten?|richtten?|"
    "gegründet|errichtet|erbaut|seit|entstand|gründeten?|begann|eröffnet|"
    "fondée?s?|créée?s?|construite?|depuis|ouverte?|ouvrit|fonda|bâtie?"
)
PATTERNS: dict[str, tuple[str, str]] = {
    "year after a verb of founding": ("P571", rf"\b(?:{BEGAN})\b[^.;]{{0,40}}?\b(?P<object>{YEAR})\b"),
    "year before a verb of founding": ("P571", rf"\b(?P<object>{YEAR})\b[^.;]{{0,40}}?\b(?:{BEGAN})\b"),
    "year": ("P571", rf"\b(?P<object>{YEAR})\b"),
    "place after in": (
        "P131",
        rf"\b(?:in|te|à|near|bei|nahe|aus|from) (?P<object>{CAPITAL}(?: (?:an der |am )?{CAPITAL})?)",
    ),
    "founder after by": (
        "P112",
        rf"\b(?:founded|established|opgericht|gesticht|gegründet|fondée?|créée?) (?:\w+ ){{0,3}}?(?:by|door|von|par) "
        rf"(?P<object>{NAME})",
    ),
    "architect": ("P84", rf"\b(?:[Aa]rchite[ck]te?n?|designed by|ontworpen door|entworfen von) (?P<object>{NAME})"),
    "number of world heritage": (
        "P757",
        r"(?:[Ww]orld [Hh]eritage|[Ww]erelderf|[Ww]elterbe|patrimoine mond)[^.]{0,60}?"
        r"\b(?P<object>\d{2,3}|1[0-6]\d\d)\b",
    ),
    "code": ("P791", r"\b(?P<object>(?:NL|DE|FR|GB|US|BE|AT|CH|IE)-[A-Za-z0-9]{1,11})\b"),
}
LEAST = 0.3
KIND = re.compile(
    "museum|musée|arch[ie]+[fv]|archives?|biblioth?e[ek]|library|bibliothèque|galer[iy]e?|gallery|kunsthalle?|institu[ut]|"
    "genootschap|society|verein|gesellschaft|société|colle[ck]tie?|sammlung|universit|academ|akadem|académ|school|schule|"
    "école|zoo|hortus|ga[ar][rt][td]en|jardin|ker[kc]|church|kirche|église|abdij|abbey|abbaye|[ck]ath[ée]dr|stichting|"
    "foundation|stiftung|fondation|trust"
)
STOP = re.compile(
    "the|an?|in|on|at|of|and|its?|this|that|het|de|een|op|te|en|van|di[te]|deze|er|de[rs]|das|eine?|im|am|und|von|l[ea]s?|"
    "une?|dans|à|aux?|et|du|des|cett?e|ils?|elles?|sur|since|sinds|seit|depuis|wie|wer|who|qui|aan|bij|met|voor|bei|mit|"
    "für|auf|zu[mr]|pour|par|avec|chez|onder|unter|sous|when|where|als|wenn|si|my|mijn|mein|mon|ou[rn]s?"
)


class PatternTriples(dspy.Module):  # type: ignore[misc]
    """Patterns; no model. `fit` learns how often each pattern is right, and the words for kinds of institution."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: dict[str, float] = {}
        self.kinds: set[str] = set()

    def fit(self, train: Sequence[Any]) -> PatternTriples:
        """The baseline with its patterns' success rates on ``train`` (Laplace's rule) and the kinds named there."""
        fitted = PatternTriples()
        named = Counter(t["object"] for example in train for t in example["triples"] if t["predicate"] == "P31")
        fitted.kinds = set(named)
        right: Counter[str] = Counter()
        tried: Counter[str] = Counter()
        for example in train:
            for rule, triple in fitted.matches(example["text"]):
                tried[rule] += 1
                right[rule] += bool(match(example, {"triples": [triple]}, TripleMatching(excluded=())).pairs)
        fitted.rates = {rule: (right[rule] + 1) / (tried[rule] + 2) for rule in tried}
        return fitted

    def matches(self, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The triples of each rule: the first object of each pattern, about the text's subject."""
        subject = _subject(text)
        if subject is None:
            return
        taken: set[str] = set()
        for rule, (name, pattern) in PATTERNS.items():
            hit = next((m for m in re.finditer(pattern, text) if _fits(m["object"], subject)), None)
            if hit and name not in taken:
                taken.add(name)
                yield rule, _triple(subject, name, hit["object"], self.rates.get(rule, 0.5))
        kind = next(
            (word for word in sorted(self.kinds, key=len, reverse=True) if re.search(rf"\b{re.escape(word)}\b", text)),
            None,
        )
        if kind:
            yield "kind", _triple(subject, "P31", kind, self.rates.get("kind", 0.5))

    def forward(self, text: str) -> dspy.Prediction:
        """The statements of a text; once fitted, only by patterns that are right in at least LEAST of the cases."""
        triples = [triple for rule, triple in self.matches(text) if self.rates.get(rule, 1.0) >= LEAST]
        return dspy.Prediction(triples=triples)


def _subject(text: str) -> str | None:
    """The name that looks most like an institution's: a word for one, several words, early in the text."""
    best: tuple[float, str] | None = None
    for candidate in re.finditer(NAME, text):
        words = candidate[0].split()
        while words and STOP.fullmatch(words[0].casefold()):
            words = words[1:]
        name = " ".join(words).removesuffix(".")
        if not any(word[:1].isupper() for word in words):
            continue
        score = 2.0 * bool(KIND.search(name.casefold())) + 0.5 * (len(words) > 1) + 0.3 * text.count(name)
        if len(words) == 1 and (not candidate.start() or text[: candidate.start()].rstrip()[-1:] in ".:;!?"):
            score -= 0.8  # any word begins a sentence with a capital
        score -= candidate.start() / max(1, len(text)) + 0.5 * bool(
            re.search(rf"\b(?:in|te|à|from) {re.escape(name)}", text)
        )
        if best is None or score > best[0]:
            best = (score, name)
    return best[1] if best else None


def _fits(value: str, subject: str) -> bool:
    return value not in subject and not STOP.fullmatch(value.casefold())


def _triple(subject: str, name: str, value: str, confidence: float) -> dict[str, Any]:
    return {"subject": subject, "predicate": name, "object": value, "confidence": round(confidence, 4)}


WORD = r"(?:[A-Z]\.|[^\W\d_a-zà-öø-ÿß][\w’'\-]*)"
PARTICLE = r"(?:of|the|and|de|der|des|du|la|le|von|van|in|for|al|bin|d[’'])"
OBJECT = rf"(?P<object>{WORD}(?:[ ](?:{PARTICLE}[ ]){{0,2}}{WORD})*)"
DATE = r"(?P<object>\d{1,2} [A-Z][a-z]+ \d{3,4}|[A-Z][a-z]+ \d{1,2}, \d{3,4})"
FULL_YEAR = r"(?P<object>1[0-9]{3}|20\d{2})"
WHEN = r"(?:\d{1,2} [A-Z][a-z]+ \d{3,4}|[A-Z][a-z]+ \d{1,2}, \d{3,4}|\d{3,4})"
ARTICLE_PATTERNS: tuple[tuple[str, str, float], ...] = (
    ("P569", rf"\((?:[^()]*?; )?(?:born )?{DATE}(?: ?[–—-]|\))", 0.95),
    ("P570", rf"\([^()]*?\d{{3,4}} ?[–—-] ?{DATE}\)", 0.95),
    ("P569", rf"\bborn [^.;()]{{0,80}}?\bon {DATE}", 0.9),
    ("P19", rf"\b(?:was|were) born [^.;()]{{0,40}}?\b(?:in|at) (?:the )?{OBJECT}", 0.85),
    ("P570", rf"\bdied [^.;()]{{0,80}}?\bon {DATE}", 0.9),
    ("P20", rf"\bdied [^.;()\d]{{0,40}}?\b(?:in|at) (?:the )?{OBJECT}", 0.8),
    ("P119", rf"\b(?:buried|interred) (?:in|at) (?:the )?{OBJECT}", 0.85),
    ("P26", rf"\bmarried (?:to )?(?:the (?:\w+ ){{0,2}}[a-z]+ )?{OBJECT}", 0.85),
    ("P40", rf"\b(?:daughters?|sons?|child(?:ren)?),? (?:named )?{OBJECT}", 0.6),
    ("P166", rf"\b(?:won|received|awarded|receive|share[ds]?) the (?:\d{{4}} )?(?P<object>[A-Z][\w ’'-]*?"
     rf"(?:Prize|Medal|Award|Order)(?: in {WORD}| of {WORD})?)", 0.85),
    ("P69", rf"\b(?:studied|educated|graduated|enrolled) [^.;]{{0,40}}?\b(?:at|from) (?:the )?{OBJECT}", 0.75),
    ("P108", rf"\b(?:professor|lecturer|worked|employed) [^.;]{{0,30}}?\b(?:at|by|for) (?:the )?{OBJECT}", 0.65),
    ("P27", rf"\bcitizen(?:ship)? of (?:the )?{OBJECT}", 0.8),
    ("P112", rf"\bfounded (?:in {WHEN} )?by (?:the )?{OBJECT}", 0.85),
    ("P571", rf"\b(?:founded|established|incorporated|created) [^.;]{{0,40}}?\bin (?:[A-Z][a-z]+ )?{FULL_YEAR}", 0.8),
    ("P159", rf"\bheadquarter(?:s|ed) (?:is |are )?(?:located )?in (?:the )?{OBJECT}", 0.85),
    ("P1376", rf"\bcapital (?:and largest city )?of (?:the )?{OBJECT}", 0.8),
    ("P131", rf"\b(?:city|town|village|museum|building|municipality) in (?:the )?{OBJECT}", 0.55),
    ("P1082", r"\bpopulation (?:of|was|is)(?: about| around| approximately)? (?P<object>\d{1,3}(?:,\d{3})+|\d+)", 0.6),
    ("P57", rf"\bdirected by {OBJECT}", 0.9),
    ("P50", rf"\b(?:novel|book|play|poem) (?:written )?by (?:the )?(?:[a-z]+ )*{OBJECT}", 0.85),
    ("P577", rf"\b(?:published|released) (?:in|on) (?:\d{{1,2}} )?(?:[A-Z][a-z]+ )?{FULL_YEAR}", 0.75),
    ("P84", rf"\b(?:designed by|architect) (?:the architect )?{OBJECT}", 0.75),
    ("P138", rf"\bnamed (?:after|for|in honou?r of) (?:the )?{OBJECT}", 0.8),
)  # fmt: skip
TRADES = (
    "physicist|chemist|mathematician|biologist|astronomer|philosopher|economist|politician|lawyer|actor|actress|singer|"
    "songwriter|composer|writer|novelist|poet|painter|sculptor|architect|engineer|inventor|businessman|businesswoman|"
    "entrepreneur|footballer|tennis player|historian|statesman|film director|director|producer|physician|theologian"
)
TRADE_LIST = re.compile(rf"\b(?:is|was) an? (?P<list>[^.;]{{0,120}}?\b(?:{TRADES})\b[^.;]{{0,80}})")


class ArticlePatterns:
    """What English Wikipedia articles say about their subject in set phrases; no model.

    Only what the house style makes regular is looked for: the brackets of the first sentence, "born in", "married",
    "founded by", "is the capital of". Confidence is the expected share of right triples of each phrase.

    >>> text = "Ann Lee (1 May 1900 – 2 June 1980) was a poet. She married Bob Lee."
    >>> triples = ArticlePatterns()(text=text, title="Ann Lee")["triples"]
    >>> [(triple["predicate"], triple["object"]) for triple in triples]
    [('P569', '1 May 1900'), ('P570', '2 June 1980'), ('P26', 'Bob Lee'), ('P106', 'poet')]
    """

    def __call__(self, text: str, title: str) -> dict[str, Any]:
        """The triples of a text."""
        triples: dict[tuple[str, str], dict[str, Any]] = {}
        for name, pattern, confidence in ARTICLE_PATTERNS:
            for match_ in re.finditer(pattern, text):
                value = match_["object"].strip(" .,'’")
                if value and value.casefold() != title.casefold():
                    triples.setdefault((name, value.casefold()), _triple(title, name, value, confidence))
        trades = TRADE_LIST.search(text)
        for trade in re.findall(rf"\b(?:{TRADES})\b", trades["list"]) if trades else ():
            triples.setdefault(("P106", trade), _triple(title, "P106", trade, 0.8))
        return {"triples": list(triples.values())}


program = Triples()
baseline = PatternTriples()

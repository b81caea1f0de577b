"""Extraction: named entities of heritage texts, by a language model and by patterns.

``program`` asks a model for names with their types and finds their offsets by code. ``baseline`` needs no model: it
knows what dates and identifiers look like, which words name an institution and which words come before a place, and
after ``fit`` the names that it saw in training. ``prompted`` needs none either: it knows English alone, and obeys rules
of its prompt, so that patches can be tried without a model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

import dspy
from pydantic import BaseModel

from goldassay.text.spans import locate

Type = Literal["GRP.HER.MUS", "GRP.HER.ARC", "GRP.HER.LIB", "GRP.HER.SOC", "TOP", "TMP", "IDENTIFIER"]


class Mention(BaseModel):
    """A name as it is written in the text, with its type."""

    text: str
    type: Type


class Extract(dspy.Signature):
    """List the names in the text, copied exactly, each with its type.
    GRP.HER.MUS museum or gallery, GRP.HER.ARC archive, GRP.HER.LIB library, GRP.HER.SOC society,
    TOP place, TMP year or date, IDENTIFIER code or number."""

    text: str = dspy.InputField()
    mentions: list[Mention] = dspy.OutputField()


class Extraction(dspy.Module):
    """Names by a language model; offsets by code (`goldassay.text.spans`).

    A name that is not in the text is kept with ``start`` and ``end`` of ``None``: the measures count it as
    spurious and say so. A name that is repeated without being there again counts once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict(Extract)

    def forward(self, text: str) -> dspy.Prediction:
        """The entities of a text, in the order of mention."""
        return _placed(text, self.extract(text=text).mentions)

    async def aforward(self, text: str) -> dspy.Prediction:
        """The same, asynchronously."""
        return _placed(text, (await self.extract.acall(text=text)).mentions)

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the predictor's demonstration: its names in the order of the text."""
        spans = sorted(example["entities"], key=lambda span: (span["start"], span["end"]))
        return {"mentions": [{"text": span["text"], "type": span["type"]} for span in spans]}


def _placed(text: str, mentions: Sequence[Mention] | None) -> dspy.Prediction:
    names = [mention.text for mention in mentions or []]
    entities: dict[tuple[Any, ...], dict[str, Any]] = {}
    for mention, place in zip(mentions or [], locate(text, names), strict=True):
        start, end = place or (None, None)
        words = mention.text if place is None else text[start:end]
        key = (start, end, mention.type) if place else (words.casefold(), mention.type)
        entities.setdefault(key, {"start": start, "end": end, "type": mention.type, "text": words})
    return dspy.Prediction(entities=list(entities.values()))


MONTH = (
    "jan(?:uary|uari|uar|vier)|feb(?:ruary|ruari|ruar)|f[ée]vrier|march|maart|märz|mars|apr(?:il)?|avril|may|mei|mai|"
    "june?|juni|juin|july|juli|juillet|august(?:us)?|août|sept(?:ember|embre)|o[ck]tob(?:er|re)|nov(?:ember|embre)|"
    "de[cz]ember|décembre"
)
YEAR = r"(?<![\d.,/-])(?:1\d|20)\d{2}(?![\d/-]|[.,]\d)"
CENTURY = (
    r"\d{1,2}(?:th|st|nd|rd|e|de|ste|ème)?\.?[ -](?:century|eeuw|Jahrhunderts?|siècle)|[XVI]+(?:er|e|ème) siècle|"
    r"jaren (?:\w+tig|'?\d{2})|(?:1\d|20)\d0(?:s|er)\b"
)
TIME = re.compile(
    rf"\b(?:\d{{1,2}}\.? )?(?:{MONTH}) (?:\d{{1,2}}, )?{YEAR}|\b(?:{CENTURY})|\b\d{{1,4}} BC\b|"
    rf"\b(?:1\d|20)\d\d[-–](?:1\d|20)\d\d\b|{YEAR}",
    re.IGNORECASE,
)
CODE = re.compile(
    r"\b[A-Z]{2,}(?:[-/][A-Za-z0-9]+)*[-/]\w*\d\w*(?:[-/.]\w+)*|\b[A-Z]{2}-[A-Z][A-Za-z]+\b|\bQ\d{2,}\b|"
    r"\b[A-Z]{1,4} \d+(?:[./-]\w+)*\b|(?<=nummer )\d+\b|(?<=Nummer )\d+\b|(?<=numéro )\d+\b|(?<=Heritage site )\d+\b"
)
KEYWORDS = {
    "GRP.HER.MUS": r"museum|musée|muséum|galerie|gallery|kunsthalle|kunsthal|kunsthaus|pinakothek",
    "GRP.HER.ARC": r"archief|archives?|archiv",
    "GRP.HER.LIB": r"bibliotheek|library|bibliothek|bibliothèque|médiathèque",
    "GRP.HER.SOC": r"vereniging|genootschap|stichting|gilde|society|trust|fund|verein|vereinigung|gesellschaft|"
    r"stiftung|société|association|fondation|confrérie|cercle",
}
CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
LINK = r"(?:of|and|for|van|voor|de|het|en|der|des|für|und|du|la|le|les|et)"
LOWER = r"(?:national(?:es?)?|municipales?|départementales|royale?|française)\b"
WHERE = (
    "in|te|at|near|bei|nahe|à|uit|from|aus|vanuit|über|nach|naar|around|bij|across|près de|am|aan de|op de|siège de|"
    "in the|of the|nördlich von|südlich von|outside|grounds of"
)
START = (
    "The|Het|De|Das|Der|Die|Dem|Den|Le|La|Les|Im|Am|In|Au|Aux|Du|Dans|Een|A|An|Une|Un|Bei|Wie|Als|Wer|Zur|Zum|Notre|"
    "Onder|Voor|Für|Pour|Du|Das|Sinds|Since|Seit|Depuis|At|On|Aan|Op|This|Our|Unser|Unsere|Ons|Onze"
)


class PatternExtraction(dspy.Module):
    """Patterns and a gazetteer; no model."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        self.places = PLACE
        self.institutions = INSTITUTIONS

    def fit(self, train: Sequence[Any]) -> PatternExtraction:
        """The baseline that also knows the names of ``train``, each with the type that it mostly has there."""
        fitted = PatternExtraction()
        seen: dict[str, Counter[str]] = {}
        for example in train:
            for span in example["entities"]:
                if span["type"] not in ("TMP", "IDENTIFIER") and len(span["text"]) > 2:
                    seen.setdefault(span["text"], Counter())[span["type"]] += 1
        fitted.names = {name: types.most_common(1)[0][0] for name, types in seen.items()}
        return fitted

    def forward(self, text: str) -> dspy.Prediction:
        """The entities of a text; of overlapping finds the longest stays."""
        taken: list[tuple[int, int, str]] = []
        for start, end, kind in sorted(set(self._found(text)), key=lambda span: (span[0] - span[1], span)):
            if all(end <= a or b <= start for a, b, _ in taken):
                taken.append((start, end, kind))
        return dspy.Prediction(
            entities=[{"start": a, "end": b, "type": kind, "text": text[a:b]} for a, b, kind in sorted(taken)]
        )

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        for match in TIME.finditer(text):
            yield match.start(), match.end(), "TMP"
        for match in CODE.finditer(text):
            yield match.start(), match.end(), "IDENTIFIER"
        for kind, pattern in self.institutions.items():
            for match in pattern.finditer(text):
                if not match["alone"] or match["alone"].casefold() != match["name"].casefold():
                    yield match.start("name"), match.end("name"), kind
        for match in self.places.finditer(text):
            yield match.start(1), match.end(1), "TOP"
        for name, kind in self.names.items():
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                yield match.start(), match.end(), kind


@cache
def _institution(words: str) -> re.Pattern[str]:
    """A name with one of these words in it: alone it names nothing, so other words of the name must be around it."""
    head = rf"(?:(?!(?:{START})\b){CAPITAL} (?:{LINK} )?){{0,3}}"
    key = rf"(?:(?P<alone>\b(?i:{words})(?:s|es|n|en)?)|\b{CAPITAL}?(?i:{words})(?:s|es|n|en)?)\b"
    tail = (
        rf"(?: {LOWER})?(?: (?:(?:{LINK} ){{0,2}}{CAPITAL}|(?:du|de la|des) \w+ {CAPITAL}|d[’'](?:{CAPITAL}|\w+ \w+)))*"
    )
    return re.compile(rf"(?P<name>{head}{key}{tail})")


@cache
def _place(words: str) -> re.Pattern[str]:
    """A name behind one of these words."""
    return re.compile(rf"\b(?i:{words}) ((?!(?:{START})\b){CAPITAL}(?: {CAPITAL})*)")


INSTITUTIONS = {kind: _institution(words) for kind, words in KEYWORDS.items()}
PLACE = _place(WHERE)
ENGLISH = {
    "GRP.HER.MUS": "museum|gallery",
    "GRP.HER.ARC": "archives?",
    "GRP.HER.LIB": "library",
    "GRP.HER.SOC": "society|trust|fund|association",
    "TOP": "in|at|near|from|around|in the|of the|outside|grounds of",
}
RULE = re.compile(
    r"\b(GRP\.HER\.(?:MUS|ARC|LIB|SOC) also|TOP after) ((?:[^\W\d]+(?: [^\W\d]+)?)(?:, [^\W\d]+(?: [^\W\d]+)?)*)"
)


class PromptedPatterns(dspy.Module):
    """Patterns for English that obey their prompt; no model.

    Two kinds of rules add to what it knows, ``TOP after te, bei`` and ``GRP.HER.ARC also archief, Archiv``, wherever
    they are in the instructions, and so do the names in demonstrations.
    """

    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict(Extract)

    def forward(self, text: str) -> dspy.Prediction:
        """The entities of a text, as `PatternExtraction` finds them with the words of the prompt."""
        words = dict(ENGLISH)
        instructions = self.extract.dump_state()["signature"]["instructions"]
        for head, more in RULE.findall(instructions):
            kind = head.split()[0]
            words[kind] = "|".join([words[kind], *map(re.escape, more.split(", "))])
        patterns = PatternExtraction()
        patterns.places = _place(words.pop("TOP"))
        patterns.institutions = {kind: _institution(keys) for kind, keys in words.items()}
        for demo in self.extract.demos:
            mentions = [mention if isinstance(mention, dict) else mention.model_dump() for mention in demo["mentions"]]
            patterns.names.update(
                {mention["text"]: mention["type"] for mention in mentions if len(mention["text"]) > 2}
            )
        return patterns(text=text)

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as a demonstration, as `Extraction` has it."""
        return Extraction.to_demo(program, example)


class Together(dspy.Module):
    """Patterns, and the names of a model beside them: only those of ``types``, where the patterns found nothing.

    Patterns know a place by the word before it or from training; a model may know it from what it has read.
    """

    def __init__(self, model: Any, patterns: Any, types: Sequence[str] = ("TOP",)) -> None:
        super().__init__()
        self.model, self.patterns, self.types = model, patterns, tuple(types)

    def forward(self, text: str) -> dspy.Prediction:
        """The entities of a text, in its order."""
        sure = list(self.patterns(text=text).entities)
        more = [
            entity
            for entity in self.model(text=text).entities
            if entity["type"] in self.types
            and entity["start"] is not None
            and all(entity["end"] <= other["start"] or other["end"] <= entity["start"] for other in sure)
        ]
        return dspy.Prediction(entities=sorted([*sure, *more], key=lambda entity: (entity["start"], entity["end"])))


program = Extraction()
baseline = PatternExtraction()
prompted = PromptedPatterns()

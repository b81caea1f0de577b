"""Extraction: named entities of heritage texts, by a language model and by patterns.

``program`` asks a model for names with their types and finds their offsets by code. ``baseline`` needs no model: it knows
what years and identifiers look like, which words begin an institution's name, and the names that it saw in training.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import dspy
from pydantic import BaseModel

from goldassay.locate import locate

Type = Literal["GRP.HER.MUS", "GRP.HER.ARC", "GRP.HER.LIB", "GRP.HER.SOC", "TOP", "TMP", "IDENTIFIER"]


class Mention(BaseModel):
    """A name as it stands in the text, with its type."""

    text: str
    type: Type


class Extract(dspy.Signature):  # type: ignore[misc]
    """List the names in the text, copied exactly, each with its type.
    GRP.HER.MUS museum or gallery, GRP.HER.ARC archive, GRP.HER.LIB library, GRP.HER.SOC society,
    TOP place, TMP year or date, IDENTIFIER code or number."""

    text: str = dspy.InputField()
    mentions: list[Mention] = dspy.OutputField()


class Extraction(dspy.Module):  # type: ignore[misc]
    """Names by a language model; offsets by code.

    A name that does not stand in the text is kept with ``start`` and ``end`` of ``None``: the measures count it as
    spurious and say so.
    """

    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict(Extract)

    def forward(self, text: str) -> dspy.Prediction:
        """The entities of a text."""
        mentions = self.extract(text=text).mentions
        names = [mention.text for mention in mentions]
        entities: list[dict[str, Any]] = []
        for mention, place in zip(mentions, locate(text, names), strict=True):
            start, end = place or (None, None)
            words = mention.text if place is None else text[start:end]
            entities.append({"start": start, "end": end, "type": mention.type, "text": words})
        return dspy.Prediction(entities=_once(entities))

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the predictor's demonstration: the names in the order of the text."""
        spans = sorted(example["entities"], key=lambda span: (span["start"], span["end"]))
        return {"mentions": [{"text": span["text"], "type": span["type"]} for span in spans]}


def _once(entities: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without names that a model repeats although the text does not."""
    seen: set[tuple[str, str]] = set()
    out = []
    for entity in entities:
        key = (entity["text"].casefold(), entity["type"])
        if entity["start"] is not None or key not in seen:
            out.append(entity)
        seen.add(key)
    return out


MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "januari|februari|maart|mei|juni|juli|augustus|oktober|januar|februar|märz|mai|dezember|"
    "janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
)
CENTURY = r"(?:\d{1,2}(?:th|st|nd|rd|e|de|ste|ème)?\.?[ -](?:century|eeuw|Jahrhunderts?|siècle)|[XVI]+e siècle)"
YEAR = r"(?<![\d.,-])(?:1[0-9]|20)\d{2}(?![\d,-]|\.\d)"
TIME = re.compile(rf"\b\d{{1,2}}\.? (?:{MONTHS}) (?:1\d|20)\d{{2}}\b|{CENTURY}|{YEAR}", re.IGNORECASE)
CODE = re.compile(r"\b[A-Z]{2}-[A-Za-z0-9][\w/:-]*\d*\b|\bQ\d{2,}\b|\b[A-Z]{1,4}[ ./-]?\d+(?:[./-]\w+)*\b")
KEYWORDS = {
    "GRP.HER.MUS": r"museum|musée|museo|galerie|gallery|kunsthalle|kunsthal|pinakothek|rijksmuseum",
    "GRP.HER.ARC": r"archief|archives?|archiv|rijksarchief|stadsarchief|landesarchiv|stadtarchiv|bundesarchiv|nationaal archief",
    "GRP.HER.LIB": r"bibliotheek|library|bibliothek|bibliothèque|staatsbibliothek|stadtbibliothek|mediathek|médiathèque",
    "GRP.HER.SOC": r"vereniging|genootschap|society|verein|gesellschaft|société|association|trust",
}
CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'\-]*"
ARTICLE = re.compile(r"(?:(?:The|Het|De|Das|Der|Die|Dem|Le|La|Les|Im|Am|In|Au|Aux|Du) )*")
LINK = r"(?:of|the|de|het|van|voor|der|des|für|du|la|le|les|et|d[’'])"


class PatternExtraction(dspy.Module):  # type: ignore[misc]
    """Patterns and a gazetteer; no model.

    `fit` learns the names of its training examples, and which places follow which words.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, str] = {}

    def fit(self, train: Sequence[Any]) -> PatternExtraction:
        """The baseline that also knows the names of ``train``."""
        made = PatternExtraction()
        seen: dict[str, Counter[str]] = {}
        for example in train:
            for span in example["entities"]:
                if span["type"] not in ("TMP", "IDENTIFIER"):
                    seen.setdefault(span["text"], Counter())[span["type"]] += 1
        made.names = {name: types.most_common(1)[0][0] for name, types in seen.items() if len(name) > 2}
        return made

    def forward(self, text: str) -> dspy.Prediction:
        """The entities of a text; of overlapping finds the longest stays."""
        found = [(m.start(), m.end(), "TMP") for m in TIME.finditer(text)]
        found += [(m.start(), m.end(), "IDENTIFIER") for m in CODE.finditer(text)]
        found += [span for kind, words in KEYWORDS.items() for span in _institutions(text, words, kind)]
        found += self._known(text)
        found += _places(text)
        taken: list[tuple[int, int, str]] = []
        for start, end, kind in sorted(found, key=lambda span: span[0] - span[1]):
            if all(end <= a or b <= start for a, b, _ in taken):
                taken.append((start, end, kind))
        return dspy.Prediction(
            entities=[{"start": a, "end": b, "type": kind, "text": text[a:b]} for a, b, kind in sorted(taken)]
        )

    def _known(self, text: str) -> list[tuple[int, int, str]]:
        out = []
        for name, kind in self.names.items():
            start = text.find(name)
            while start >= 0:
                end = start + len(name)
                before, after = text[start - 1 : start], text[end : end + 1]
                if not (before.isalnum() or after.isalnum()):
                    out.append((start, end, kind))
                start = text.find(name, end)
        return out


def _institutions(text: str, words: str, kind: str) -> list[tuple[int, int, str]]:
    """Names with one of these words in them: capitalised words before and after it."""
    head = rf"(?:{CAPITAL} (?:{LINK} )*)*"
    tail = rf"(?: (?:{LINK} )*{CAPITAL})*"
    name = re.compile(rf"\b{head}(?-i:(?=[A-ZÀ-Þ]))[\w’'\-]*(?i:{words}){tail}")
    spans = [(m.start(), m.end()) for m in name.finditer(text)]
    return [(start + len(ARTICLE.match(text[start:end]).group()), end, kind) for start, end in spans]  # type: ignore[union-attr]


def _places(text: str) -> list[tuple[int, int, str]]:
    """Capitalised words after a word that says where."""
    where = re.compile(rf"\b(?:in|te|à|near|bei|près de|uit|from|aus|nahe) ({CAPITAL}(?: {CAPITAL})*)")
    return [(m.start(1), m.end(1), "TOP") for m in where.finditer(text)]


program = Extraction()
baseline = PatternExtraction()

"""Texts made equal before they are compared: SQuAD's rules, and the same for any script.

``squad`` is the published rule: lower case, ASCII punctuation deleted, the English articles replaced by a space, white
space folded. ``unicode`` is ours: compatibility forms and case folded (NFKC, casefold), all punctuation of Unicode
deleted, articles replaced (those that are asked for), white space folded. ``mlqa`` is the published rule of MLQA for
its seven languages: Unicode's punctuation deleted, the language's articles replaced, and in Chinese each character a
word of its own. Japanese, Thai, Lao, Khmer and Burmese, which do not separate words either, follow the same rule with
their own scripts; that widening is ours.

Lewis et al., MLQA: evaluating cross-lingual extractive question answering, ACL 2020.
Rajpurkar et al., SQuAD: 100,000+ questions for machine comprehension of text, EMNLP 2016.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from string import punctuation

ARTICLES = ("a", "an", "the")
_DELETE = str.maketrans("", "", punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_BETWEEN = "\x00"


def squad(text: str) -> str:
    """A text by SQuAD's rules.

    >>> squad("The  Rijksmuseum, Amsterdam's!")
    'rijksmuseum amsterdams'
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_DELETE)).split())


def squad_all(texts: Sequence[str]) -> list[str]:
    """Many texts by SQuAD's rules: joined, so that each step runs once, in C.

    >>> squad_all(["A museum.", "THE archive"])
    ['museum', 'archive']
    """
    joined = _BETWEEN.join(texts)
    if joined.count(_BETWEEN) != len(texts) - 1:
        return [squad(text) for text in texts]
    parts = _ARTICLE.sub(" ", joined.lower().translate(_DELETE)).split(_BETWEEN)
    return [" ".join(part.split()) for part in parts]


def unicode(text: str, articles: Iterable[str] = ARTICLES) -> str:
    """A text of any script, made equal.

    >>> unicode("«Москва»"), unicode("ﬁlm, l’Étoile", articles=())
    ('москва', 'film létoile')
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_marks())
    pattern = _pattern(tuple(articles))
    return " ".join((pattern.sub(" ", folded) if pattern else folded).split())


@cache
def _marks() -> dict[int, None]:
    """All punctuation of Unicode, and the ASCII symbols that SQuAD counts as punctuation."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")]
    return dict.fromkeys([*marks, *map(ord, punctuation)])


@cache
def _pattern(articles: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, articles))})\b") if articles else None


MLQA_ARTICLES = {
    "en": r"\b(?:a|an|the)\b",
    "es": r"\b(?:un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(?:của|là|cái|chiếc|những)\b",
    "de": r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "ar": r"\sال^|ال",  # as published, also inside words
    "hi": "",
}
HAN = "\u4e00-\u9fa5"
JOINED = {
    "zh": HAN,
    "ja": f"{HAN}\u3005\u3040-\u30ff",
    "th": "\u0e00-\u0e7f",
    "lo": "\u0e80-\u0eff",
    "km": "\u1780-\u17ff",
    "my": "\u1000-\u109f",
}
"""The languages that do not separate words, with the characters that are words of their own."""
MLQA = (*MLQA_ARTICLES, *JOINED)


def mlqa(text: str, language: str) -> str:
    """A text by MLQA's rules for its language; for a language that it does not know, without articles.

    >>> mlqa("在 1800 年。", "zh"), mlqa("Das Museum!", "de"), mlqa("1800年に", "ja")
    ('在 1800 年', 'museum', '1800 年 に')
    """
    folded = text.lower().translate(_marks())
    if pattern := MLQA_ARTICLES.get(language):
        folded = re.sub(pattern, " ", folded)
    if language in JOINED:
        folded = _joined(JOINED[language]).sub(r" \g<0> ", folded)
    return " ".join(folded.split())


def joined(text: str) -> str:
    """The language of a text whose script does not separate words, by its characters; empty for other scripts.

    >>> joined("在 1800 年"), joined("1800年に"), joined("กรุงเทพ"), joined("In 1800")
    ('zh', 'ja', 'th', '')
    """
    if text.isascii() or not _joined("".join(JOINED.values())).search(text):
        return ""
    scripts = {"ja": "\u3040-\u30ff", **{code: JOINED[code] for code in ("th", "lo", "km", "my")}}
    return next((code for code, script in scripts.items() if _joined(script).search(text)), "zh")


@cache
def _joined(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")

"""Texts are normalised before they are compared: SQuAD's rules, the same for any script, MLQA's, and for names.

``squad`` is the published rule: lower case, ASCII punctuation deleted, the English articles replaced by a space, white
space folded. ``unicode`` is ours: compatibility forms and case folded (NFKC, casefold), all punctuation of Unicode
deleted, articles replaced (those that are asked for), white space folded. ``mlqa`` is the published rule of MLQA for
its seven languages: Unicode's punctuation deleted, the language's articles replaced, and in Chinese each character a
word of its own. Japanese, Thai, Lao, Khmer and Burmese, which do not separate words either, follow the same rule with
their own scripts; that widening is ours.

``normal`` is for names and values: NFKC, case folding, dashes and quotes unified, everything but letters, marks and
digits to one space. Characters that are not seen (soft hyphens, direction marks) go, and so do the marks that a script
writes in some places and leaves out in others: Cyrillic stress, Greek accents (capitals have none), Hebrew points,
Arabic vowel signs. It keeps every script: stripping to ASCII makes "Москва" and "Париж" both empty, and so equal. Two
such texts are `similar` up to small differences of spelling, but numbers in them must be the same, Roman ones too.

Lewis et al., MLQA: evaluating cross-lingual extractive question answering, ACL 2020.
Rajpurkar et al., SQuAD: 100,000+ questions for machine comprehension of text, EMNLP 2016.
Unicode Standard Annex 15 (NFKC); rapidfuzz's ratio (2 · longest common subsequence / length of both).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from string import punctuation

from rapidfuzz import fuzz

from goldassay.text.words import characters

ARTICLES = ("a", "an", "the")
_DELETE = str.maketrans("", "", punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def squad(text: str) -> str:
    """A text by SQuAD's rules.

    >>> squad("The  Rijksmuseum, Amsterdam's!")
    'rijksmuseum amsterdams'
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_DELETE)).split())


_SPACED = str.maketrans(dict.fromkeys(f"{punctuation}‘’´`", " "))


def triviaqa(text: str) -> str:
    """A text by TriviaQA's rules: punctuation and underscores become spaces, unlike SQuAD's, which are deleted.

    >>> triviaqa("The Bell-Bottoms’ (a film)")
    'bell bottoms film'
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_SPACED)).split())


def nq_open(text: str) -> str:
    """A text by the rules of open Natural Questions: SQuAD's, after letters are parted from their marks (NFD)."""
    return squad(unicodedata.normalize("NFD", text))


def unicode(text: str, articles: Iterable[str] = ARTICLES) -> str:
    """A text of any script, made equal.

    >>> unicode("«Москва»"), unicode("ﬁlm, l’Étoile", articles=())
    ('москва', 'film létoile')
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_marks())
    words = "|".join(map(re.escape, articles))
    return " ".join((re.sub(rf"\b(?:{words})\b", " ", folded) if words else folded).split())


@cache
def _marks() -> dict[int, None]:
    """All punctuation of Unicode, and the ASCII symbols that SQuAD counts as punctuation."""
    return dict.fromkeys(map(ord, characters("P") + punctuation))


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


def mlqa(text: str, language: str) -> str:
    """A text by MLQA's rules for its language; for a language that it does not know, without articles.

    >>> mlqa("在 1800 年。", "zh"), mlqa("Das Museum!", "de"), mlqa("1800年に", "ja")
    ('在 1800 年', 'museum', '1800 年 に')
    """
    folded = text.lower().translate(_marks())
    if pattern := MLQA_ARTICLES.get(language):
        folded = re.sub(pattern, " ", folded)
    if language in JOINED:
        folded = re.sub(f"[{JOINED[language]}]", r" \g<0> ", folded)
    return " ".join(folded.split())


def joined(text: str) -> str:
    """The language of a text whose script does not separate words, by its characters; empty for other scripts.

    >>> joined("在 1800 年"), joined("1800年に"), joined("กรุงเทพ"), joined("In 1800")
    ('zh', 'ja', 'th', '')
    """
    if text.isascii() or not re.search(f"[{''.join(JOINED.values())}]", text):
        return ""
    scripts = {"ja": "\u3040-\u30ff", **{code: JOINED[code] for code in ("th", "lo", "km", "my")}}
    return next((code for code, script in scripts.items() if re.search(f"[{script}]", text)), "zh")


NUMBER_OR_NUMERAL = re.compile(r"\d+|\b(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})(?<=[ivx])\b")
OPTIONAL = re.compile(
    "(?<=[\u0400-\u052f])[\u0300\u0301]|"  # stress on a Cyrillic letter; й and ё are letters of their own
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]|"  # Hebrew points and accents
    "[\u0610-\u061a\u0640\u064b-\u0652\u0670]"  # Arabic vowel signs and the stretching stroke
)
ZWNJ = "\u200c"  # Persian writes it where others write a space
GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+")


@lru_cache(maxsize=65536)
def normal(text: str) -> str:
    """The words of a text, folded, separated by single spaces.

    >>> normal("  Musée  d’Orsay_(Paris) "), normal("МОСКВА")
    ('musée d orsay paris', 'москва')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if not folded.isascii():
        folded = GREEK.sub(_unaccented, OPTIONAL.sub("", folded))
    return " ".join("".join(map(_kept, folded)).split())


def signed(text: str) -> str:
    """A value's words, folded, with the sign of a number or a year: two values are the same if these are.

    >>> signed("−5 °C"), signed("5 °C"), signed("The Hague"), signed("?!")
    ('-5 c', '5 c', 'the hague', '?!')
    """
    words = normal(text)
    if not words:
        return text.strip()
    return f"-{words}" if text.lstrip()[:1] in ("-", "−") else words


@cache
def _kept(c: str) -> str:
    """A letter, mark or digit as it is, nothing for a character that is not seen, a space for any other."""
    category = unicodedata.category(c)
    if category[0] in "LMN":
        return c
    return "" if category == "Cf" and c != ZWNJ else " "


def _unaccented(match: re.Match[str]) -> str:
    parts = unicodedata.normalize("NFD", match[0])
    return "".join(c for c in parts if not unicodedata.combining(c)).replace("ς", "σ")


def numbers(folded: str) -> list[str]:
    """The numbers of a folded text; Roman ones as far as XXXIX, beyond which they are mostly words.

    >>> numbers("henry viii 1509 1547"), numbers("rocky ii"), numbers("civil war")
    (['viii', '1509', '1547'], ['ii'], [])
    """
    return NUMBER_OR_NUMERAL.findall(folded)


def similar(gold: str, pred: str, threshold: float = 0.9) -> bool:
    """Whether two texts say the same, up to small differences of spelling but not of number.

    >>> similar("Ruth Manning-Sanders", "Ruth Manning Sanders"), similar("Москва", "Париж"), similar("100", "1000")
    (True, False, False)
    >>> similar("Henry VIII of England", "Henry VII of England"), similar("Москва́", "Москва")
    (False, True)
    """
    ours = normal(gold)
    theirs = normal(pred)
    if ours == theirs:
        return bool(ours) or gold.strip() == pred.strip()
    if numbers(ours) != numbers(theirs):
        return False
    return bool(fuzz.ratio(ours, theirs) >= 100 * threshold)


def plain(text: str) -> str:
    """A text as it is compared: composed, folded, single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()

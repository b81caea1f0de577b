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

`near_pairs` finds texts that are nearly the same: at least a given percentage of their characters is similar, by
rapidfuzz's ratio, 2 l / (a + b) for lengths a, b and a longest common subsequence l. Among up to ``ALL`` texts every
pair is compared; in a larger collection only the pairs that `candidates` proposes, which may miss a pair whose changes
are scattered all over. They are found in linear time, by MinHash with banding. A text is the set of its runs of four
characters. Two sets with the Jaccard index J have the same smallest hash with probability J; ``ROWS`` of such hashes
make a band, and texts that agree in one of ``BANDS`` bands are candidates, which happens with probability
1 - (1 - J^ROWS)^BANDS: 0.66 for J = 0.3, 0.93 for 0.4, 0.995 for 0.5, 1.000 for 0.6. A text of 150 characters in which
a year or a name is changed has J above 0.8. In a band with more than ``MOST`` equal texts (a form that was filled in
many times) each is paired with the next ``MOST`` only. Broder, *On the resemblance and containment of documents*, 1997;
Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, chapter 3.

>>> texts = ["the museum opened in 1885", "the museum opened in 1886", "a library of music in delft"]
>>> candidates(texts)
[(0, 1)]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations
from string import punctuation

import numpy as np
from numpy.typing import NDArray
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


NUMBERS = re.compile(r"\d+|\b(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})(?<=[ivx])\b")
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
    return NUMBERS.findall(folded)


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


NEAR = 90.0  # per cent of similar characters, as for the leak guard of tuning
ALL = 2_000  # texts of which all pairs are compared; their time grows with the square
ROWS = 3
BANDS = 40
GRAM = 4
MOST = 30
PRIME = np.uint64((1 << 31) - 1)


def plain(text: str) -> str:
    """A text as it is compared: composed, folded, single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def near_pairs(texts: Sequence[str], near: float = NEAR) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts with at least ``near`` per cent of similar characters, each with how many (100: the same).

    >>> [(i, j) for i, j, _ in near_pairs(["The museum opened in 1885.", "Delft", "The museum opened in 1886."])]
    [(0, 2)]
    """
    filled = [(place, folded) for place, text in enumerate(texts) if (folded := plain(text))]
    pairs = candidates([text for _, text in filled]) if len(filled) > ALL else combinations(range(len(filled)), 2)
    for (one, text), (other, rest) in ((filled[first], filled[second]) for first, second in pairs):
        if score := fuzz.ratio(text, rest, score_cutoff=near):
            yield one, other, score


def distinct(texts: Sequence[str]) -> list[list[int]]:
    """The places of each text, those that are the same as compared together; empty texts are left out.

    >>> distinct(["Delft", "", "delft ", "Gouda"])
    [[0, 2], [3]]
    """
    places: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        places.setdefault(plain(text), []).append(index)
    places.pop("", None)
    return list(places.values())


def candidates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places whose texts are worth a comparison, in order."""
    signs = signatures(texts)
    pairs: set[int] = set()
    size = len(texts)
    for band in range(BANDS):
        keys = np.zeros(size, dtype=np.uint64)
        for row in range(ROWS):
            keys = keys * np.uint64(1_000_000_007) + signs[:, band * ROWS + row]
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        for step in range(1, MOST + 1):
            equal = np.flatnonzero(ordered[step:] == ordered[:-step])
            if not len(equal):
                break
            first = order[equal]
            second = order[equal + step]
            pairs.update((np.minimum(first, second) * size + np.maximum(first, second)).tolist())
    return [divmod(pair, size) for pair in sorted(pairs)]


def signatures(texts: Sequence[str]) -> NDArray[np.uint64]:
    """For each text its smallest hashes, one of each hash function, an array of shape (texts, ROWS * BANDS)."""
    rng = np.random.default_rng(0)
    slopes = rng.integers(1, int(PRIME), ROWS * BANDS, dtype=np.uint64)
    shifts = rng.integers(0, int(PRIME), ROWS * BANDS, dtype=np.uint64)
    signs = np.empty((len(texts), ROWS * BANDS), dtype=np.uint64)
    for index, text in enumerate(texts):
        signs[index] = ((grams(text)[:, None] * slopes + shifts) % PRIME).min(axis=0)
    return signs


def grams(text: str) -> NDArray[np.uint64]:
    """The different runs of characters of a text as numbers below 2^31; a shorter text is one run."""
    codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32).astype(np.uint64)
    size = max(1, len(codes) - GRAM + 1)
    mixed = np.zeros(size, dtype=np.uint64)
    for at in range(min(GRAM, len(codes))):
        mixed = (mixed * np.uint64(1_000_003) + codes[at : at + size]) % PRIME
    return np.unique(mixed)

"""Words of texts, for ROUGE, by two tokenizers.

``rouge-score`` is the tokenizer of the package of that name: lower case, runs of ASCII letters and digits, the rest is
space, so a text without ASCII letters has no words and scores 0 even against itself. ``unicode`` is ours: case folded
(NFKC, casefold), runs of letters, digits and marks of any script. Stemming is Porter's (NLTK's extensions), for words
of more than three letters, as rouge-score does it.

Formats and coefficients that need tokens where gold has none get words and signs.

A word is a run of letters, digits and underscores; every other character that is no white space is a sign of its own.
What a character carries stays with it: combining marks (Unicode category M: accents, vowel points, variation
selectors), joiners and skin tones, so that a decomposed é or an emoji of a family is not torn apart.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

from goldassay.exceptions import GoldassayError

TOKENIZERS = ("rouge-score", "unicode")
_RUNS = re.compile(r"[a-z0-9]+")


def tokens(text: str, tokenizer: str = "rouge-score", stem: bool = False) -> list[str]:
    """The words of one text.

    >>> tokens("Het Rijksmuseum, opened 1800"), tokens("Москва"), tokens("Москва", "unicode")
    (['het', 'rijksmuseum', 'opened', '1800'], [], ['москва'])
    >>> tokens("museums opened", stem=True)
    ['museum', 'open']
    """
    found = runs(text, tokenizer)
    return [stemmed(word) for word in found] if stem else found


def runs(text: str, tokenizer: str) -> list[str]:
    """The words before stemming."""
    if tokenizer == "rouge-score":
        return _RUNS.findall(text.lower())
    if tokenizer == "unicode":
        return _any_script().findall(unicodedata.normalize("NFKC", text).casefold())
    raise GoldassayError(f"no tokenizer {tokenizer!r}; there are {', '.join(TOKENIZERS)}")


@cache
def _any_script() -> re.Pattern[str]:
    r"""Runs of letters, digits and marks: ``\w`` alone would break Devanagari at every vowel sign."""
    marks = "".join(chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    return re.compile(rf"[^\W_][^\W_{marks}]*(?:[{marks}]+[^\W_]*)*")


@cache
def small_letters() -> str:
    """The small letters of all scripts, as the inside of a regular expression's class."""
    found = [code for code in range(sys.maxunicode + 1) if chr(code).islower() and chr(code).isalpha()]
    starts = [code for code, before in zip(found, [-1, *found], strict=False) if code != before + 1]
    ends = [code for code, after in zip(found, [*found[1:], -1], strict=True) if code != after - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


@cache
def stemmed(word: str) -> str:
    """Porter's stem of a word of more than three letters; others stay.

    >>> stemmed("archives"), stemmed("has")
    ('archiv', 'has')
    """
    return _porter()(word) if len(word) > 3 else word


@cache
def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem


JOINER = "\u200d"
SCRIPTS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))  # where Unicode has its marks


def places(text: str) -> list[tuple[int, int]]:
    """The offsets of the words and signs of a text.

    >>> places("L'année 1800")
    [(0, 1), (1, 2), (2, 7), (8, 12)]
    >>> places("cafe\u0301!")
    [(0, 5), (5, 6)]
    """
    return [found.span() for found in (ASCII if text.isascii() else _any()).finditer(text)]


ASCII = re.compile(r"\w+|[^\w\s]")


@cache
def _any() -> re.Pattern[str]:
    """The pattern with all marks of Unicode; it takes a moment to make, so it is made when a text needs it."""
    marks = [point for script in SCRIPTS for point in script if unicodedata.category(chr(point)).startswith("M")]
    carried = "".join(map(chr, [*marks, 0x200C, ord(JOINER), *range(0x1F3FB, 0x1F400)]))
    return re.compile(rf"\w[\w{carried}]*|[^\w\s](?:[{carried}]|(?<={JOINER})[^\w\s])*")

"""Words of texts as numbers, for ROUGE: all texts in one pass.

``rouge-score`` is the tokenizer of the package of that name: lower case, runs of ASCII letters and digits, the rest is
space, so a text without ASCII letters has no words and scores 0 even against itself. ``unicode`` is ours: case folded
(NFKC, casefold), runs of letters, digits and marks of any script. Stemming is Porter's (NLTK's extensions), for words
of more than three letters, as rouge-score does it.
"""

from __future__ import annotations

import itertools
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError

TOKENIZERS = ("rouge-score", "unicode")
Array = Any  # numpy arrays of whole numbers
_BREAK = b"\x01"
_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyz" + _BREAK
_TABLE = bytes(code if code in _KEPT else ord(" ") for code in bytes(range(256)).lower())
_BECOME_ASCII = {"\u0130": "i ", "\u212a": "k"}  # İ (an i and a mark) and K (Kelvin): alone in having ASCII lower case
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


def numbered(texts: Sequence[str], tokenizer: str = "rouge-score", stem: bool = False) -> tuple[Array, Array]:
    """The words of all texts as one array of ids from 1 on, and how many each text has.

    >>> ids, lengths = numbered(["a museum", "museum"])
    >>> ids.tolist(), lengths.tolist()
    ([1, 2, 2], [2, 1])
    """
    vocabulary: defaultdict[Any, int] = defaultdict(itertools.count(1).__next__)
    if tokenizer == "rouge-score":
        found = _ascii_runs(texts)
        vocabulary[_BREAK] = 0
        ids = np.fromiter(map(vocabulary.__getitem__, found), np.int64, len(found))
        breaks = np.flatnonzero(ids == 0)
        ids, lengths = ids[ids != 0], np.diff(breaks, prepend=-1) - 1
        del vocabulary[_BREAK]
    else:
        lists = [runs(text, tokenizer) for text in texts]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        ids = np.fromiter(map(vocabulary.__getitem__, itertools.chain(*lists)), np.int64, int(lengths.sum()))
    return (_by_stem(ids, vocabulary) if stem and len(ids) else ids), lengths


def _ascii_runs(texts: Sequence[str]) -> list[bytes]:
    """All words of all texts, with a break after each text; the table lowers ASCII, so nothing else need be lowered."""
    joined = " \x01 ".join(texts)
    if joined.count("\x01") != len(texts) - 1:
        joined = " \x01 ".join(text.replace("\x01", " ") for text in texts)
    for capital, lowered in _BECOME_ASCII.items():
        joined = joined.replace(capital, lowered)
    return (joined + " \x01").encode("ascii", "replace").translate(_TABLE).split() if texts else []


def _by_stem(ids: Array, vocabulary: dict[Any, int]) -> Array:
    stems: defaultdict[str, int] = defaultdict(itertools.count(1).__next__)
    table = np.zeros(len(vocabulary) + 2, np.int64)
    for word, number in vocabulary.items():
        table[number] = stems[stemmed(word.decode() if isinstance(word, bytes) else word)]
    return table[ids]

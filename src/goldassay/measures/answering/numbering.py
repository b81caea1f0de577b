"""Words of texts as numbers, for ROUGE: all texts in one pass, without an object for each word.

For rouge-score's tokenizer the texts are one array of bytes. Words are compared eight letters at a time, as one number
of 64 bits; a longer word is numbered by the number of what came before and its next eight letters. What is longer than
that (`ROUNDS` times eight letters) is looked up as it stands.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.measures.answering.words import runs, stemmed

Array = Any  # numpy arrays of whole numbers
ROUNDS = 4
_WIDTH = 8  # letters in a number of 64 bits
_BREAK = b"\x01"  # stands as a word between texts
_SPACE = ord(" ")
_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyz" + _BREAK
_TABLE = bytes(code if code in _KEPT else _SPACE for code in bytes(range(256)).lower())
_BECOME_ASCII = {"\u0130": "i ", "\u212a": "k"}  # İ (an i and a mark) and K (Kelvin): alone in having ASCII lower case
_MASKS = np.array([(1 << 8 * letters) - 1 for letters in range(_WIDTH + 1)], np.uint64)


def numbered(texts: Sequence[str], tokenizer: str = "rouge-score", stem: bool = False) -> tuple[Array, Array]:
    """The words of all texts as one array of ids from 1 on, and how many each text has.

    >>> ids, lengths = numbered(["a museum", "museum"])
    >>> ids.tolist(), lengths.tolist()
    ([1, 2, 2], [2, 1])
    """
    if tokenizer != "rouge-score":
        lists = [runs(text, tokenizer) for text in texts]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        table: defaultdict[str, int] = defaultdict(itertools.count(1).__next__)
        words = itertools.chain(*([stemmed(word) for word in each] if stem else each for each in lists))
        return np.fromiter(map(table.__getitem__, words), np.int64, int(lengths.sum())), lengths
    joined = _joined(texts)
    starts, ends = _bounds(joined)
    ids = _identified(joined, starts, ends)
    breaks = np.flatnonzero(ids == 0)  # a break is the least of all words
    lengths = np.diff(breaks, prepend=-1) - 1
    if stem and len(ids):
        ids = _by_stem(joined, starts, ends, ids)
    return np.delete(ids, breaks), lengths


def _joined(texts: Sequence[str]) -> bytes:
    """All texts in lower case, with spaces for what is no letter and no digit, and a break after each."""
    joined = " \x01 ".join(texts)
    if joined.count("\x01") != len(texts) - 1:
        joined = " \x01 ".join(text.replace("\x01", " ") for text in texts)
    for capital, lowered in _BECOME_ASCII.items():
        joined = joined.replace(capital, lowered)
    written = joined.encode("ascii", "replace").translate(_TABLE)
    return b" " + (written + b" \x01" if texts else b"") + b" " * _WIDTH


def _bounds(joined: bytes) -> tuple[Array, Array]:
    """Where each word starts and ends; there is a space before the first and after the last."""
    inside = np.frombuffer(joined, np.uint8) != _SPACE
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    return edges[::2], edges[1::2]


def _identified(joined: bytes, starts: Array, ends: Array) -> Array:
    """A number for each word, the same for the same words; 0 for a break."""
    window = np.ndarray(len(joined) - _WIDTH + 1, "<u8", joined, 0, (1,))  # eight bytes from each place on
    lengths = ends - starts
    known, ids = np.unique(window[starts] & _MASKS[np.minimum(lengths, _WIDTH)], return_inverse=True)
    count = len(known)
    longer = np.flatnonzero(lengths > _WIDTH)
    for place in range(_WIDTH, _WIDTH * ROUNDS, _WIDTH):
        if not len(longer):
            return ids
        letters = window[starts[longer] + place] & _MASKS[np.minimum(lengths[longer] - place, _WIDTH)]
        known, next_letters = np.unique(letters, return_inverse=True)
        pairs, found = np.unique(ids[longer] * len(known) + next_letters, return_inverse=True)
        ids[longer] = count + found
        count += len(pairs)
        longer = longer[lengths[longer] > place + _WIDTH]
    table: defaultdict[bytes, int] = defaultdict(itertools.count(count).__next__)
    for place in longer.tolist():
        ids[place] = table[joined[starts[place] : ends[place]]]
    return ids


def _by_stem(joined: bytes, starts: Array, ends: Array, ids: Array) -> Array:
    """The number of each word's stem, from 1 on."""
    where = np.full(int(ids.max()) + 1, -1)
    where[ids] = np.arange(len(ids))  # one place of each word
    stems: defaultdict[str, int] = defaultdict(itertools.count(1).__next__)
    table = np.zeros(len(where), np.int64)
    for number, place in enumerate(where.tolist()):
        if place >= 0:
            table[number] = stems[stemmed(joined[starts[place] : ends[place]].decode())]
    return table[ids]

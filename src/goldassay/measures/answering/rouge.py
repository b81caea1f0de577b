"""ROUGE-1, 2, L and Lsum of many pairs at once, without an object for each word.

All texts are tokenised in one pass; the words become numbers. For rouge-score's tokenizer the texts are one array of
bytes: words are compared eight letters at a time, as one number of 64 bits; a longer word is numbered by the number of
what came before and its next eight letters; what is longer than that (`ROUNDS` times eight letters) is looked up as it
stands. The overlap of n-grams is counted by sorting one key for each (pair, n-gram) of both sides together; the longest
common subsequence is rapidfuzz's bit-parallel one, over words written as code points. The numbers are those of
rouge-score, to the last bits of a float.

ROUGE-Lsum is the union of longest common subsequences, line by line (a line is a sentence): for each line of the
reference, the words that a longest common subsequence with any line of the prediction takes; each word counts as often
as both sides have it. Of several longest subsequences one must be chosen: the table is walked back from its end, and
where it ties the reference's word is dropped, as rouge-score does. The table is bit-parallel.

Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop. Hyyrö, Bit-parallel LCS-length
computation revisited, AWOCA 2004.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from goldassay.exceptions import GoldassayError
from goldassay.measures.answering.records import check_pairs
from goldassay.statistics.evidence import Floats, Ints
from goldassay.tally import divide
from goldassay.text.words import runs, stemmed, tokens

ROUNDS = 4
_WIDTH = 8  # letters in a number of 64 bits
_SLOTS = 18  # bits of a hash of a word: some hundred thousand words
_BREAK = b"\x01"  # stands as a word between texts
_SPACE = ord(" ")
_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyz" + _BREAK
_TABLE = bytes(code if code in _KEPT else _SPACE for code in bytes(range(256)).lower())
_BECOME_ASCII = {"\u0130": "i ", "\u212a": "k"}  # İ (an i and a mark) and K (Kelvin): alone in having ASCII lower case
_MASKS = np.array([(1 << 8 * letters) - 1 for letters in range(_WIDTH + 1)], np.uint64)
KINDS = ("1", "2", "L", "Lsum")
PARTS = ("p", "r", "f")
_SURROGATES = 0xD800


def rouge(
    predictions: Sequence[str],
    references: Sequence[str],
    kinds: Sequence[str] = ("1", "2", "L"),
    *,
    stem: bool = False,
    tokenizer: str = "rouge-score",
) -> dict[str, Floats]:
    """ROUGE of many pairs.

    Args:
        predictions: n answers.
        references: n gold texts, one for each.
        kinds: of ``1``, ``2``, ``L`` and ``Lsum``.
        stem: compare Porter's stems.
        tokenizer: ``rouge-score`` (ASCII letters and digits) or ``unicode``.

    Returns:
        For each kind an array of shape (n, 3): precision, recall and F1 of each pair.

    Raises:
        GoldassayError: the lengths differ, something is no text, or there is no such kind or tokenizer.

    >>> rouge(["the museum opened"], ["the museum has opened"])["L"].round(4).tolist()    # LCS 3; P 3/3, R 3/4
    [[1.0, 0.75, 0.8571]]
    """
    check_pairs(predictions, references, "ROUGE compares texts")
    for kind in kinds:
        if kind not in KINDS:
            raise GoldassayError(f"no ROUGE kind {kind!r}; there are {', '.join(KINDS)}")
    words = Words(predictions, references, stem=stem, tokenizer=tokenizer)
    return {kind: words.rouge(kind) for kind in kinds}


class Words:
    """The words of many pairs as numbers, with the pair that each word belongs to; made when first needed."""

    def __init__(
        self, predictions: Sequence[str], references: Sequence[str], *, stem: bool = False, tokenizer: str
    ) -> None:
        self.texts, self.stem, self.tokenizer = (predictions, references), stem, tokenizer
        self.n = len(predictions)

    def rouge(self, kind: str) -> Floats:
        """An array of shape (pairs, 3): precision, recall and F1 of each pair."""
        if kind != "Lsum":
            return self.common_subsequence() if kind == "L" else self.grams(int(kind))
        sides = ([_lines(text, self.tokenizer, self.stem) for text in side] for side in self.texts)
        rows = [summary(one, other) for one, other in zip(*sides, strict=True)]
        return _rates(*np.asarray(rows, np.int64).reshape(-1, 3).T)

    @cached_property
    def _numbered(self) -> tuple[Ints, Ints]:
        return numbered([*self.texts[0], *self.texts[1]], self.tokenizer, self.stem)

    @cached_property
    def lengths(self) -> tuple[Ints, Ints]:
        """How many words each prediction and each reference has."""
        lengths = self._numbered[1]
        return lengths[: self.n], lengths[self.n :]

    @cached_property
    def ids(self) -> tuple[Ints, Ints]:
        """The words of all predictions and of all references."""
        ids, cut = self._numbered[0], int(self.lengths[0].sum())
        return ids[:cut], ids[cut:]

    @cached_property
    def pair(self) -> tuple[Ints, ...]:
        """The pair that each word belongs to."""
        return tuple(np.repeat(np.arange(self.n), each) for each in self.lengths)

    @cached_property
    def size(self) -> int:
        """More than the largest number of a word."""
        ids = self._numbered[0]
        return int(ids.max()) + 1 if len(ids) else 1

    def grams(self, n: int) -> Floats:
        """ROUGE-1 or ROUGE-2: the overlap of multisets of words, or of neighbours."""
        if n == 1:
            return self._overlap(self.ids, self.pair, self.size, self.lengths)
        inside = [pair[1:] == pair[:-1] for pair in self.pair]
        grams = [(ids[:-1] * self.size + ids[1:])[keep] for ids, keep in zip(self.ids, inside, strict=True)]
        size = self.size * self.size
        if self.n * size >= 2**61:  # the key would not fit: number the pairs of words that occur
            distinct, number = np.unique(np.concatenate(grams), return_inverse=True)
            grams, size = [number[: len(grams[0])], number[len(grams[0]) :]], len(distinct)
        pair = [one[1:][keep] for one, keep in zip(self.pair, inside, strict=True)]
        return self._overlap(grams, pair, size, [np.maximum(each - 1, 0) for each in self.lengths])

    def _overlap(
        self,
        grams: Sequence[Ints],
        pair: Sequence[Ints],
        size: int,
        totals: Sequence[Ints],
    ) -> Floats:
        """Each (pair, gram) is a key; its lowest bit says the side. Sorted, equal keys stand together."""
        keys = np.concatenate([(p * size + g) * 2 + side for side, (p, g) in enumerate(zip(pair, grams, strict=True))])
        if not len(keys):
            return _rates(np.zeros(self.n), *totals)
        keys.sort()
        gram = keys >> 1
        first = np.flatnonzero(np.concatenate(([True], gram[1:] != gram[:-1])))
        in_gold = np.add.reduceat(keys & 1, first)
        both = np.diff(np.append(first, len(keys)))
        common = np.bincount(gram[first] // size, np.minimum(in_gold, both - in_gold), self.n)
        return _rates(common, *totals)

    def common_subsequence(self) -> Floats:
        """ROUGE-L: the longest common subsequence of words."""
        sides = [_written(ids, each) for ids, each in zip(self.ids, self.lengths, strict=True)]
        common = cpdist(*sides, scorer=LCSseq.similarity, dtype=np.int64) if self.n else np.zeros(0, np.int64)
        common = np.where((self.lengths[0] == 0) | (self.lengths[1] == 0), 0, common)
        return _rates(common, *self.lengths)


def _lines(text: str, tokenizer: str, stem: bool) -> list[list[str]]:
    """The words of each line: rouge-score takes a line for a sentence."""
    return [tokens(line, tokenizer, stem) for line in text.split("\n") if line]


def numbered(texts: Sequence[str], tokenizer: str = "rouge-score", stem: bool = False) -> tuple[Ints, Ints]:
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


def _bounds(joined: bytes) -> tuple[Ints, Ints]:
    """Where each word starts and ends; there is a space before the first and after the last."""
    inside = np.frombuffer(joined, np.uint8) != _SPACE
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    return edges[::2], edges[1::2]


def _identified(joined: bytes, starts: Ints, ends: Ints) -> Ints:
    """A number for each word, the same for the same words; 0 for a break."""
    window = np.ndarray(len(joined) - _WIDTH + 1, "<u8", joined, 0, (1,))  # eight bytes from each place on
    lengths = ends - starts
    ids, count = _distinct(window[starts] & _MASKS[np.minimum(lengths, _WIDTH)])
    if len(ids):  # the last of all is a break
        ids, count = np.where(ids == ids[-1], 0, ids + 1), count + 1
    longer = np.flatnonzero(lengths > _WIDTH)
    for place in range(_WIDTH, _WIDTH * ROUNDS, _WIDTH):
        if not len(longer):
            return ids
        letters = window[starts[longer] + place] & _MASKS[np.minimum(lengths[longer] - place, _WIDTH)]
        distinct, next_letters = np.unique(letters, return_inverse=True)
        pairs, number = np.unique(ids[longer] * len(distinct) + next_letters, return_inverse=True)
        ids[longer] = count + number
        count += len(pairs)
        longer = longer[lengths[longer] > place + _WIDTH]
    table: defaultdict[bytes, int] = defaultdict(itertools.count(count).__next__)
    for place in longer.tolist():
        ids[place] = table[joined[starts[place] : ends[place]]]
    return ids


def _distinct(keys: Any) -> tuple[Ints, int]:
    """A number for each key (``uint64``), the same for the same keys, and more than the largest.

    A table by a hash (Knuth's, multiplicative) gives each key the last place of its slot; keys that share their slot
    with another key, which are few, are sorted. To sort all of them takes four times as long.
    """
    slots = (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _SLOTS)
    table = np.zeros(1 << _SLOTS, np.int64)
    table[slots] = np.arange(len(keys))
    place = table[slots]
    chosen = np.zeros(len(keys), np.int64)
    chosen[place] = 1
    ids, count = (np.cumsum(chosen) - 1)[place], int(chosen.sum())
    others = np.flatnonzero(keys[place] != keys)
    if len(others):
        distinct, number = np.unique(keys[others], return_inverse=True)
        ids[others], count = count + number, count + len(distinct)
    return ids, count


def _by_stem(joined: bytes, starts: Ints, ends: Ints, ids: Ints) -> Ints:
    """The number of each word's stem, from 1 on."""
    where = np.full(int(ids.max()) + 1, -1)
    where[ids] = np.arange(len(ids))  # one place of each word
    stems: defaultdict[str, int] = defaultdict(itertools.count(1).__next__)
    table = np.zeros(len(where), np.int64)
    for number, place in enumerate(where.tolist()):
        if place >= 0:
            table[number] = stems[stemmed(joined[starts[place] : ends[place]].decode())]
    return table[ids]


def _rates(common: Ints | Floats, predicted: Ints, expected: Ints) -> Floats:
    """Precision, recall and F1 of each pair; 0 where a side is empty."""
    precision = common / np.maximum(predicted, 1)
    recall = common / np.maximum(expected, 1)
    return np.stack([precision, recall, divide(2 * precision * recall, precision + recall)], axis=1)


def _written(ids: Ints, lengths: Ints) -> list[Any]:
    """Each text as a string with one character a word; as tuples when there are more words than characters."""
    ends = [0, *np.cumsum(lengths).tolist()]
    codes = ids + 0x800 * (ids >= _SURROGATES)  # surrogates are no characters
    if len(codes) and codes.max() > 0x10FFFF:
        return [tuple(ids[start:end].tolist()) for start, end in pairwise(ends)]
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [text[start:end] for start, end in pairwise(ends)]


def summary(prediction: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """How many words are common, how many the prediction has, how many the reference has.

    >>> summary([["a", "b"], ["c"]], [["a", "c", "d"]])
    (2, 3, 3)
    """
    left, right = Counter(w for s in prediction for w in s), Counter(w for s in reference for w in s)
    common = 0
    masks = [_masks(other) for other in prediction]
    for sentence in reference:
        places: set[int] = set()
        for other, each in zip(prediction, masks, strict=True):
            if not each.keys().isdisjoint(sentence):
                places |= _places(sentence, other, each)
        for place in sorted(places):
            word = sentence[place]
            if left[word] > 0 and right[word] > 0:
                common += 1
                left[word] -= 1
                right[word] -= 1
    return common, sum(map(len, prediction)), sum(map(len, reference))


def _masks(words: Sequence[str]) -> dict[str, int]:
    """For each word a number with a bit set at each of its places."""
    masks: dict[str, int] = {}
    for place, word in enumerate(words):
        masks[word] = masks.get(word, 0) | 1 << place
    return masks


def _places(sentence: Sequence[str], other: Sequence[str], masks: Mapping[str, int]) -> set[int]:
    """Where in ``sentence`` the words of one longest common subsequence with ``other`` stand.

    The table is kept as a whole number a row: bit j is 0 where the row's length grows from column j to the next.
    """
    full = (1 << len(other)) - 1
    rows = [full]
    for word in sentence:
        row = rows[-1]
        matched = row & masks.get(word, 0)
        rows.append(((row + matched) | (row - matched)) & full)
    places = set()
    i, j = len(sentence), len(other)
    while i and j:
        if sentence[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            places.add(i)
        elif _length(rows[i], j - 1) > _length(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return places


def _length(row: int, column: int) -> int:
    """The length of the longest common subsequence in a row up to a column."""
    return column - (row & ((1 << column) - 1)).bit_count()

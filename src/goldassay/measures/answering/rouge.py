"""ROUGE-1, 2, L and Lsum of many pairs at once, without an object for each word.

All texts are tokenised in one pass, and the words become numbers. The overlap of n-grams is counted by sorting one key
for each (pair, n-gram) of both sides together; the longest common subsequence is rapidfuzz's bit-parallel one, over
words written as code points. The numbers are those of rouge-score, to the last bits of a float.

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

_BREAK = "\x01"  # stands as a word between texts
_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyz" + _BREAK.encode()
_TABLE = bytes(code if code in _KEPT else ord(" ") for code in bytes(range(256)).lower())
_BECOME_ASCII = {"\u0130": "i ", "\u212a": "k"}  # İ (an i and a mark) and K (Kelvin): alone in having ASCII lower case
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
    """The words of all texts as one array of numbers from 1 on, and how many each text has.

    >>> ids, lengths = numbered(["a museum", "museum"])
    >>> ids.tolist(), lengths.tolist()
    ([1, 2, 2], [2, 1])
    """
    words: list[Any] = _split(texts) if tokenizer == "rouge-score" else []
    if tokenizer != "rouge-score":
        words = [word for text in texts for word in (*runs(text, tokenizer), _BREAK)]
    number: defaultdict[Any, int] = defaultdict(itertools.count(1).__next__, {_BREAK: 0, _BREAK.encode(): 0})
    ids = np.fromiter(map(number.__getitem__, words), np.int64, len(words))
    breaks = np.flatnonzero(ids == 0)
    ids, lengths = ids[ids > 0], np.diff(breaks, prepend=-1) - 1
    if stem:
        distinct = (word if isinstance(word, str) else word.decode() for word in itertools.islice(number, 2, None))
        stems: defaultdict[str, int] = defaultdict(itertools.count(1).__next__)
        ids = np.array([0, *(stems[stemmed(word)] for word in distinct)])[ids]
    return ids, lengths


def _split(texts: Sequence[str]) -> list[bytes]:
    """The words of all texts by rouge-score's tokenizer, with a break after each text; one pass in C."""
    joined = f" {_BREAK} ".join(texts)
    if joined.count(_BREAK) != len(texts) - 1:
        joined = f" {_BREAK} ".join(text.replace(_BREAK, " ") for text in texts)
    for capital, lowered in () if joined.isascii() else _BECOME_ASCII.items():
        joined = joined.replace(capital, lowered)
    words = joined.encode("ascii", "replace").translate(_TABLE).split()
    words.extend([_BREAK.encode()] if texts else ())
    return words


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
                places |= common_places(sentence, other, each)
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


def common_places(sentence: Sequence[str], other: Sequence[str], masks: Mapping[str, int] | None = None) -> set[int]:
    """Where in ``sentence`` the words of one longest common subsequence with ``other`` stand.

    The table is kept as a whole number a row: bit j is 0 where the row's length grows from column j to the next.
    Where it ties, the last word of ``sentence`` is dropped.
    """
    masks = _masks(other) if masks is None else masks
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

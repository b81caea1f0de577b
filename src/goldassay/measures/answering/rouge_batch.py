"""ROUGE-1, 2, L and Lsum of many pairs at once.

All texts are tokenised in one pass; the words become numbers. The overlap of n-grams is counted by sorting one key for
each (pair, n-gram) of both sides together; the longest common subsequence is rapidfuzz's bit-parallel one, over words
written as code points. The numbers are those of rouge-score, to the last bits of a float.

Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from goldassay.exceptions import GoldassayError
from goldassay.measures.answering.numbering import numbered
from goldassay.measures.answering.records import all_texts
from goldassay.measures.answering.rouge_sum import summary
from goldassay.measures.answering.words import tokens
from goldassay.tally import divide

KINDS = ("1", "2", "L", "Lsum")
Array = Any  # numpy arrays
_SURROGATES = 0xD800


def rouge_batch(
    predictions: Sequence[str],
    references: Sequence[str],
    kinds: Sequence[str] = ("1", "2", "L"),
    *,
    stem: bool = False,
    tokenizer: str = "rouge-score",
) -> dict[str, Array]:
    """For each kind an array of shape (pairs, 3): precision, recall and F1 of each pair.

    >>> rouge_batch(["the museum opened"], ["the museum has opened"])["L"].round(4).tolist()    # LCS 3; P 3/3, R 3/4
    [[1.0, 0.75, 0.8571]]
    """
    all_texts(predictions, "prediction", "ROUGE compares texts")
    all_texts(references, "reference", "ROUGE compares texts")
    if len(predictions) != len(references):
        raise GoldassayError(
            f"{len(predictions)} predictions against {len(references)} references; they must be aligned"
        )
    for kind in kinds:
        if kind not in KINDS:
            raise GoldassayError(f"no ROUGE kind {kind!r}; there are {', '.join(KINDS)}")
    out: dict[str, Array] = {}
    plain = [kind for kind in kinds if kind != "Lsum"]
    pairs = _Pairs(predictions, references, stem, tokenizer) if plain else None
    for kind in kinds:
        if kind == "Lsum" or pairs is None:
            rows = [
                summary(_lines(one, tokenizer, stem), _lines(other, tokenizer, stem))
                for one, other in zip(predictions, references, strict=True)
            ]
            out[kind] = _rates(*np.asarray(rows, np.int64).reshape(-1, 3).T)
        else:
            out[kind] = pairs.common_subsequence() if kind == "L" else pairs.grams(int(kind))
    return out


def _lines(text: str, tokenizer: str, stem: bool) -> list[list[str]]:
    """The words of each line: rouge-score takes a line for a sentence."""
    return [tokens(line, tokenizer, stem) for line in text.split("\n") if line]


def _rates(common: Array, predicted: Array, wanted: Array) -> Array:
    """Precision, recall and F1 of each pair; 0 where a side is empty."""
    precision = common / np.maximum(predicted, 1)
    recall = common / np.maximum(wanted, 1)
    return np.stack([precision, recall, divide(2 * precision * recall, precision + recall)], axis=1)


class _Pairs:
    """The words of both sides as numbers, with the pair that each word belongs to."""

    def __init__(self, predictions: Sequence[str], references: Sequence[str], stem: bool, tokenizer: str) -> None:
        ids, lengths = numbered([*predictions, *references], tokenizer, stem)
        self.n = len(predictions)
        self.lengths = lengths[: self.n], lengths[self.n :]
        cut = int(self.lengths[0].sum())
        self.ids = ids[:cut], ids[cut:]
        self.pair = tuple(np.repeat(np.arange(self.n), each) for each in self.lengths)
        self.size = int(ids.max()) + 1 if len(ids) else 1

    def grams(self, n: int) -> Array:
        """ROUGE-1 or ROUGE-2: the overlap of multisets of words, or of neighbours."""
        if n == 1:
            return self._overlap(self.ids, self.pair, self.size, self.lengths)
        inside = [pair[1:] == pair[:-1] for pair in self.pair]
        grams = [(ids[:-1] * self.size + ids[1:])[keep] for ids, keep in zip(self.ids, inside, strict=True)]
        size = self.size * self.size
        if self.n * size >= 2**61:  # the key would not fit: number the pairs of words that occur
            seen, made = np.unique(np.concatenate(grams), return_inverse=True)
            grams, size = [made[: len(grams[0])], made[len(grams[0]) :]], len(seen)
        pair = [one[1:][keep] for one, keep in zip(self.pair, inside, strict=True)]
        return self._overlap(grams, pair, size, [np.maximum(each - 1, 0) for each in self.lengths])

    def _overlap(self, grams: Sequence[Array], pair: Sequence[Array], size: int, totals: Sequence[Array]) -> Array:
        """Each (pair, gram) is a key; its lowest bit says the side. Sorted, equal keys stand together."""
        keys = np.concatenate([(p * size + g) * 2 + side for side, (p, g) in enumerate(zip(pair, grams, strict=True))])
        if not len(keys):
            return _rates(np.zeros(self.n), *totals)
        keys.sort()
        gram = keys >> 1
        first = np.flatnonzero(np.concatenate(([True], gram[1:] != gram[:-1])))
        wanted = np.add.reduceat(keys & 1, first)
        both = np.diff(np.append(first, len(keys)))
        common = np.bincount(gram[first] // size, np.minimum(wanted, both - wanted), self.n)
        return _rates(common, *totals)

    def common_subsequence(self) -> Array:
        """ROUGE-L: the longest common subsequence of words."""
        sides = [_written(ids, each) for ids, each in zip(self.ids, self.lengths, strict=True)]
        common = cpdist(*sides, scorer=LCSseq.similarity, dtype=np.int64) if self.n else np.zeros(0, np.int64)
        common = np.where((self.lengths[0] == 0) | (self.lengths[1] == 0), 0, common)
        return _rates(common, *self.lengths)


def _written(ids: Array, lengths: Array) -> list[Any]:
    """Each text as a string with one character a word; as tuples when there are more words than characters."""
    ends = [0, *np.cumsum(lengths).tolist()]
    codes = ids + 0x800 * (ids >= _SURROGATES)  # surrogates are no characters
    if len(codes) and codes.max() > 0x10FFFF:
        return [tuple(ids[start:end].tolist()) for start, end in pairwise(ends)]
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [text[start:end] for start, end in pairwise(ends)]

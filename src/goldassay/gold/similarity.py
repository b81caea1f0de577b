"""Texts that are nearly the same: the pairs with at least so many per cent of similar characters, and no other.

The measure is rapidfuzz's ratio, 2 l / (a + b) for lengths a, b and a longest common subsequence l. Among up to
``ALL`` texts every pair is found; in a larger collection those that `minhash` proposes are measured, which may miss a
pair whose changes are scattered all over. Two bounds spare most comparisons and lose no pair:

* l <= a, so texts whose lengths differ much cannot be similar;
* with l at least the wanted one, a - l characters are deleted from the shorter text and b - l inserted. A deletion
  breaks at most three of its a - 2 trigrams, an insertion two: the two texts share at least
  (a - 2) - 3 (a - l) - 2 (b - l) trigrams. They are counted in hashed buckets, where the share can only look larger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import normalize

import numpy as np
from rapidfuzz import fuzz, process

from goldassay.gold.minhash import candidates

NEAR = 90.0  # per cent of similar characters, as for the leak guard of tuning
SPACE = re.compile(r"\s+")
BUCKETS, BLOCK = 1024, 4096
ALL = 4_000  # texts of which all pairs are compared; their time grows with the square
LONG = 60_000  # a bucket of a text up to here cannot overflow its 16 bits


def plain(text: str) -> str:
    """A text as it is compared: composed, folded, single spaces."""
    return SPACE.sub(" ", normalize("NFC", text)).strip().casefold()


def near_pairs(texts: Sequence[str], near: float = NEAR) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts with at least ``near`` per cent of similar characters, each with how many (100: the same).

    >>> [(i, j) for i, j, _ in near_pairs(["The museum opened in 1885.", "Delft", "The museum opened in 1886."])]
    [(0, 2)]
    """
    folded = [plain(text) for text in texts]
    if len(folded) > ALL:
        yield from _proposed(folded, near)
        return
    order = sorted((index for index in range(len(folded)) if folded[index]), key=lambda index: len(folded[index]))
    found = [folded[index] for index in order]
    sizes = np.array([len(text) for text in found], dtype=np.int64)
    grams = np.array([trigrams(text) for text in found]).reshape(len(found), BUCKETS)
    share, first = near / 100, 0
    for at, text in enumerate(found):
        while 2 * sizes[first] < share * (sizes[first] + sizes[at]):
            first += 1
        for start in range(first, at, BLOCK):
            stop = min(at, start + BLOCK)
            close = start + np.flatnonzero(_possible(grams, sizes, slice(start, stop), at, share))
            window = [found[other] for other in close]
            for _, score, place in process.extract(text, window, scorer=fuzz.ratio, score_cutoff=near, limit=None):
                i, j = order[at], order[close[place]]
                yield min(i, j), max(i, j), score


def distinct(texts: Sequence[str]) -> list[list[int]]:
    """The places of each text, those that are the same as compared together; empty texts are left out.

    >>> distinct(["Delft", "", "delft ", "Gouda"])
    [[0, 2], [3]]
    """
    found: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        found.setdefault(plain(text), []).append(index)
    found.pop("", None)
    return list(found.values())


def _proposed(folded: Sequence[str], near: float) -> Iterator[tuple[int, int, float]]:
    """The pairs of a large collection; texts that are the same are candidates like any other."""
    order = [index for index, text in enumerate(folded) if text]
    found = [folded[index] for index in order]
    for one, two in candidates(found):
        score = fuzz.ratio(found[one], found[two], score_cutoff=near)
        if score:
            yield order[one], order[two], score


def trigrams(text: str) -> Any:
    """How often the trigrams of a text fall into each bucket."""
    codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32).astype(np.uint64)
    if len(codes) < 3:
        return np.zeros(BUCKETS, dtype=np.uint16)
    hashed = (
        codes[:-2] * np.uint64(1_000_003) + codes[1:-1] * np.uint64(8191) + codes[2:] * np.uint64(127)
    ) % np.uint64(BUCKETS)
    return np.bincount(hashed.astype(np.int64), minlength=BUCKETS).clip(0, 65_535).astype(np.uint16)


def _possible(grams: Any, sizes: Any, window: slice, at: int, share: float) -> Any:
    """Which texts of the window, none longer than the one at ``at``, share enough trigrams with it."""
    a, b = sizes[window], sizes[at]
    common = share * (a + b) / 2
    least = (a - 2) - 3 * (a - common) - 2 * (b - common)
    shared = np.minimum(grams[window], grams[at]).sum(axis=1, dtype=np.int64)
    return (shared >= least - 1e-6) | (b > LONG)

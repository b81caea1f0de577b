"""Texts that are nearly the same: the pairs with at least a given percentage of similar characters.

The measure is rapidfuzz's ratio, 2 l / (a + b) for lengths a, b and a longest common subsequence l. Among up to
``ALL`` texts every pair is found; in a larger collection only the pairs that `candidates` proposes are compared, which
may miss a pair whose changes are scattered all over. Two bounds save most comparisons and lose no pair:

* l <= a, so texts whose lengths differ much cannot be similar;
* with l at least the required one, a - l characters are deleted from the shorter text and b - l inserted. A deletion
  breaks at most three of its a - 2 trigrams, an insertion two: the two texts share at least
  (a - 2) - 3 (a - l) - 2 (b - l) trigrams. They are counted in hashed buckets, where the share can only look larger.

In a large collection candidates are found in linear time, by MinHash with banding. A text is the set of its runs of
four characters. Two sets with the Jaccard index J have the same smallest hash with probability J; ``ROWS`` of such
hashes make a band, and texts that agree in one of ``BANDS`` bands are candidates, which happens with probability
1 - (1 - J^ROWS)^BANDS: 0.66 for J = 0.3, 0.93 for 0.4, 0.995 for 0.5, 1.000 for 0.6. A text of 150 characters in which
a year or a name is changed has J above 0.8. In a band with more than ``MOST`` equal texts (a form that was filled in
many times) each is paired with the next ``MOST`` only.

Source: Broder, *On the resemblance and containment of documents*, 1997; Leskovec, Rajaraman and Ullman, *Mining of
Massive Datasets*, chapter 3.

>>> texts = ["the museum opened in 1885", "the museum opened in 1886", "a library of music in delft"]
>>> candidates(texts)
[(0, 1)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

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
    ordered = [folded[index] for index in order]
    sizes = np.array([len(text) for text in ordered], dtype=np.int64)
    grams = np.array([trigrams(text) for text in ordered]).reshape(len(ordered), BUCKETS)
    share, first = near / 100, 0
    for at, text in enumerate(ordered):
        while 2 * sizes[first] < share * (sizes[first] + sizes[at]):
            first += 1
        for start in range(first, at, BLOCK):
            stop = min(at, start + BLOCK)
            close = start + np.flatnonzero(_possible(grams, sizes, slice(start, stop), at, share))
            window = [ordered[other] for other in close]
            for _, score, place in process.extract(text, window, scorer=fuzz.ratio, score_cutoff=near, limit=None):
                i, j = order[at], order[close[place]]
                yield min(i, j), max(i, j), score


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


def _proposed(folded: Sequence[str], near: float) -> Iterator[tuple[int, int, float]]:
    """The pairs of a large collection; texts that are the same are candidates like any other."""
    order = [index for index, text in enumerate(folded) if text]
    filled = [folded[index] for index in order]
    for first, second in candidates(filled):
        score = fuzz.ratio(filled[first], filled[second], score_cutoff=near)
        if score:
            yield order[first], order[second], score


def trigrams(text: str) -> NDArray[np.uint16]:
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


ROWS, BANDS = 3, 40
GRAM, MOST = 4, 30
PRIME = np.uint64((1 << 31) - 1)


def candidates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places whose texts are worth a comparison, in order."""
    signs, pairs = signatures(texts), set[int]()
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
            first, second = order[equal], order[equal + step]
            pairs.update((np.minimum(first, second) * size + np.maximum(first, second)).tolist())
    return [divmod(pair, size) for pair in sorted(pairs)]


def signatures(texts: Sequence[str]) -> NDArray[np.uint64]:
    """For each text its smallest hashes, one of each of ``ROWS * BANDS`` functions."""
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

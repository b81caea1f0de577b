"""Texts that are nearly the same: the pairs with at least a given percentage of similar characters.

The measure is rapidfuzz's ratio, 2 l / (a + b) for lengths a, b and a longest common subsequence l. Among up to
``ALL`` texts every pair is compared; in a larger collection only the pairs that `candidates` proposes, which may miss a
pair whose changes are scattered all over.

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
from itertools import combinations
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

NEAR = 90.0  # per cent of similar characters, as for the leak guard of tuning
SPACE = re.compile(r"\s+")
ALL = 2_000  # texts of which all pairs are compared; their time grows with the square


def plain(text: str) -> str:
    """A text as it is compared: composed, folded, single spaces."""
    return SPACE.sub(" ", normalize("NFC", text)).strip().casefold()


def near_pairs(texts: Sequence[str], near: float = NEAR) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts with at least ``near`` per cent of similar characters, each with how many (100: the same).

    >>> [(i, j) for i, j, _ in near_pairs(["The museum opened in 1885.", "Delft", "The museum opened in 1886."])]
    [(0, 2)]
    """
    filled = [(place, folded) for place, text in enumerate(texts) if (folded := plain(text))]
    several = len(filled) > ALL
    pairs = candidates([text for _, text in filled]) if several else combinations(range(len(filled)), 2)
    for first, second in pairs:
        (one, text), (other, near_text) = filled[first], filled[second]
        if score := fuzz.ratio(text, near_text, score_cutoff=near):
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

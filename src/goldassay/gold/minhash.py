"""Candidates for near duplicates in a large collection, in time linear in its size: MinHash with banding.

A text is the set of its runs of four characters. Two sets with the Jaccard index J have the same smallest hash with
probability J; ``ROWS`` of such hashes make a band, and texts that agree in one of ``BANDS`` bands are candidates, which
happens with probability 1 - (1 - J^ROWS)^BANDS: 0.66 for J = 0.3, 0.93 for 0.4, 0.995 for 0.5, 1.000 for 0.6. A text of
150 characters in which a year or a name was changed has J above 0.8.

In a band with more than ``MOST`` alike texts (a form that was filled in many times) each meets its next ``MOST`` alone.

Source: Broder, *On the resemblance and containment of documents*, 1997; Leskovec, Rajaraman and Ullman, *Mining of
Massive Datasets*, chapter 3.

>>> texts = ["the museum opened in 1885", "the museum opened in 1886", "a library of music in delft"]
>>> candidates(texts)
[(0, 1)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

ROWS, BANDS = 3, 40
GRAM, MOST = 4, 30
PRIME = np.uint64((1 << 31) - 1)


def candidates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places whose texts are worth a comparison, in order."""
    signs, found = signatures(texts), set[int]()
    size = len(texts)
    for band in range(BANDS):
        keys = np.zeros(size, dtype=np.uint64)
        for row in range(ROWS):
            keys = keys * np.uint64(1_000_000_007) + signs[:, band * ROWS + row]
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        for step in range(1, MOST + 1):
            alike = np.flatnonzero(ordered[step:] == ordered[:-step])
            if not len(alike):
                break
            one, two = order[alike], order[alike + step]
            found.update((np.minimum(one, two) * size + np.maximum(one, two)).tolist())
    return [divmod(pair, size) for pair in sorted(found)]


def signatures(texts: Sequence[str]) -> Any:
    """For each text its smallest hashes, one of each of ``ROWS * BANDS`` functions."""
    rng = np.random.default_rng(0)
    slopes = rng.integers(1, int(PRIME), ROWS * BANDS, dtype=np.uint64)
    shifts = rng.integers(0, int(PRIME), ROWS * BANDS, dtype=np.uint64)
    out = np.empty((len(texts), ROWS * BANDS), dtype=np.uint64)
    for index, text in enumerate(texts):
        out[index] = ((grams(text)[:, None] * slopes + shifts) % PRIME).min(axis=0)
    return out


def grams(text: str) -> Any:
    """The different runs of characters of a text as numbers below 2^31; a shorter text is one run."""
    codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32).astype(np.uint64)
    size = max(1, len(codes) - GRAM + 1)
    mixed = np.zeros(size, dtype=np.uint64)
    for at in range(min(GRAM, len(codes))):
        mixed = (mixed * np.uint64(1_000_003) + codes[at : at + size]) % PRIME
    return np.unique(mixed)

"""Texts that are nearly the same, by `near_pairs`: at least a given percentage of their characters is similar, by
rapidfuzz's ratio, 2 l / (a + b) for lengths a, b and a longest common subsequence l. Among up to ``ALL`` texts of up
to ``ALL_CHARACTERS`` together every pair is compared, which takes some seconds; in a larger collection only the pairs
that `candidates` proposes, which may miss a pair whose changes are scattered all over. They are found in linear
time, by MinHash with banding. A text is the set of its runs of four characters, or of eight where the texts are
pages and more, of which any two have most runs of four in common. Two sets with the Jaccard index J have the same
smallest hash with probability J; ``MINHASH_ROWS`` of these make a band, and texts that agree in one of
``MINHASH_BANDS`` bands are candidates, which happens with probability 1 - (1 - J^rows)^bands: 0.66 for J = 0.3, 0.93
for 0.4, 0.995 for 0.5, 1.000 for 0.6. A text of 150 characters in which a year or a name is changed has J above 0.8.
In a band with more than ``BAND_LIMIT`` equal texts (a form that was filled in many times) each is paired with the
next ``BAND_LIMIT`` only, and next to it are texts that agree in hashes of the next band, too. Of 50,000 forms these
six propose 144 pairs a text, 16.0 of them near; ten in the order of the collection propose 162, 15.8 of them near,
and of 50,000 texts of few syllables 42 instead of 29, none near. Broder, *On the resemblance and containment of
documents*, 1997; Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, chapter 3.

Of the candidates, only those are compared whose counts of characters differ by no more than two near texts can: each
insertion or deletion changes one count by one, so the counts lose no pair. Of texts of 25 words by Zipf's law they
leave one candidate in 75 to 500, of texts of digits one in three.

>>> texts = ["the museum opened in 1885", "the museum opened in 1886", "a library of music in delft"]
>>> candidates(texts).tolist()
[[0, 1]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from goldassay.text.normal import plain

NEAR_DUPLICATE = 90.0  # per cent of similar characters, as for the leak guard of tuning
ALL = 2_000  # texts of which all pairs are compared; their time grows with the square
ALL_CHARACTERS = 500_000  # of all texts whose pairs are compared: so does the time of comparing them
MINHASH_ROWS = 3
MINHASH_BANDS = 40
BAND_LIMIT = 6  # texts with the same band that each is paired with
GRAM = 4
LONG_GRAM = 8  # where a text has more than `LONG_TEXT` characters, in the mean
LONG_TEXT = 1_000
BLOCK_CHARACTERS = 1 << 17  # characters that are hashed at once, so that they fit a processor's cache
CHARACTER_CLASSES = 32


def near_pairs(texts: Sequence[str], near: float = NEAR_DUPLICATE) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts with at least ``near`` per cent of similar characters, each with how many (100: the same).

    They come in order, one at a time: a form that was filled in many times makes a hundred of them a text.

    >>> [(i, j) for i, j, _ in near_pairs(["The museum opened in 1885.", "Delft", "The museum opened in 1886."])]
    [(0, 2)]
    """
    at_once = 1 << 17  # pairs
    filled = [(index, folded) for index, text in enumerate(texts) if (folded := plain(text))]
    folded_texts = [folded for _, folded in filled]
    if len(filled) > ALL or sum(map(len, folded_texts)) > ALL_CHARACTERS:
        pairs = candidates(folded_texts, near)
    else:
        pairs = np.column_stack(np.triu_indices(len(filled), 1))
    for start in range(0, len(pairs), at_once):
        firsts, seconds = pairs[start : start + at_once].T.tolist()
        compared = [[folded_texts[index] for index in places] for places in (firsts, seconds)]
        scores = process.cpdist(*compared, scorer=fuzz.ratio, score_cutoff=near, dtype=np.float64)
        hits = np.flatnonzero(scores)
        for hit, score in zip(hits.tolist(), scores[hits].tolist(), strict=True):
            yield filled[firsts[hit]][0], filled[seconds[hit]][0], score


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


def candidates(texts: Sequence[str], near: float = 0.0) -> NDArray[np.int64]:
    """The pairs of places whose texts are worth a comparison, in order: an array of shape (pairs, 2).

    Pairs whose characters alone show that less than ``near`` per cent of them are similar are left out.
    """
    signs = signatures(texts)
    counts = character_counts(texts)
    size = len(texts)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=size)
    places = np.arange(size, dtype=np.uint64)
    bits = size.bit_length()
    mask = np.uint64((1 << bits) - 1)
    upper = ~np.uint64((1 << (bits + 14)) - 1)
    pairs = np.empty(0, dtype=np.int64)
    new: list[NDArray[np.int64]] = []
    for band in range(MINHASH_BANDS):
        keys = np.zeros(size, dtype=np.uint64)
        for row in range(MINHASH_ROWS):
            keys = keys * np.uint64(1_000_000_007) + signs[:, band * MINHASH_ROWS + row]
        # Sorting numbers is five times as fast as sorting places, so a place takes the lower bits of its mixed key, and
        # hashes of the next band come before it.
        following = (band + 1) % MINHASH_BANDS * MINHASH_ROWS
        codes = (signs[:, following] % 128 * 128 + signs[:, following + 1] % 128).astype(np.uint64)
        lower = codes << np.uint64(bits) | places
        order = (np.sort((keys * np.uint64(0x9E3779B97F4A7C15)) & upper | lower) & mask).astype(np.int64)
        ordered = keys[order]
        for step in range(1, BAND_LIMIT + 1):
            equal = np.flatnonzero(ordered[step:] == ordered[:-step])
            if not len(equal):
                break
            for start in range(0, len(equal), 1 << 14):  # pairs, whose counts fit a processor's cache
                some = equal[start : start + (1 << 14)]
                firsts = np.minimum(order[some], order[some + step])
                seconds = np.maximum(order[some], order[some + step])
                more = np.maximum(counts[firsts], counts[seconds])
                less = np.minimum(counts[firsts], counts[seconds])
                changes = (more - less) @ np.ones(CHARACTER_CLASSES, dtype=np.float32)
                possible = changes < (lengths[firsts] + lengths[seconds]) * (1 - near / 100) + 1
                new.append(firsts[possible] * size + seconds[possible])
        if band % 8 == 7:  # a pair that agrees in many bands is kept once before memory is short
            pairs = np.sort(np.concatenate([pairs, *new]))  # numpy's unique takes ten times as long
            pairs = pairs[np.diff(pairs, prepend=-1) > 0]
            new = []
    return np.column_stack(np.divmod(pairs, size))


def character_counts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """How many characters of each class every text has, at most 255: an array of shape (texts, classes)."""
    counts = np.empty((len(texts), CHARACTER_CLASSES), dtype=np.uint8)
    for first, last in _blocks(texts):
        some = texts[first:last]
        codes = np.frombuffer("".join(some).encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)
        cells = np.repeat(np.arange(len(some)), [len(text) for text in some]) * CHARACTER_CLASSES
        table = np.bincount(cells + codes % CHARACTER_CLASSES, minlength=len(some) * CHARACTER_CLASSES)
        counts[first:last] = table.clip(max=255).reshape(-1, CHARACTER_CLASSES)
    return counts


def signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """For each text its smallest hashes, one of each hash function, an array of shape (texts, rows * bands).

    A text is its runs of `GRAM` or `LONG_GRAM` characters as well mixed numbers of 32 bits; a shorter one is filled up.
    """
    gram = GRAM if sum(map(len, texts)) <= LONG_TEXT * len(texts) else LONG_GRAM
    rng = np.random.default_rng(0)
    # Numbers of 32 bits wrap, which is the modulus; odd slopes lose nothing, and the smallest goes by the upper bits.
    slopes = rng.integers(0, 1 << 31, MINHASH_ROWS * MINHASH_BANDS, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    shifts = rng.integers(0, 1 << 32, MINHASH_ROWS * MINHASH_BANDS, dtype=np.uint32)
    signs = np.empty((len(texts), MINHASH_ROWS * MINHASH_BANDS), dtype=np.uint32)
    for first, last in _blocks(texts):
        filled = [text.ljust(gram, "\0") for text in texts[first:last]]
        codes = np.frombuffer("".join(filled).encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)
        mixed = np.zeros(len(codes) - gram + 2, dtype=np.uint32)  # one more, since the last text ends there
        for at in range(gram):
            mixed[:-1] = mixed[:-1] * np.uint32(1_000_003) + codes[at : at + len(mixed) - 1]
        mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        mixed ^= mixed >> np.uint32(13)
        ends = np.cumsum([len(text) for text in filled])
        bounds = np.column_stack([np.append(0, ends[:-1]), ends - gram + 1]).ravel()
        hashes = np.empty_like(mixed)
        for function, (slope, shift) in enumerate(zip(slopes, shifts, strict=True)):
            np.multiply(mixed, slope, out=hashes)
            hashes += shift
            signs[first:last, function] = np.minimum.reduceat(hashes, bounds)[::2]
    return signs


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where each block begins and ends: consecutive texts of up to `BLOCK_CHARACTERS` together, or one longer text."""
    first = 0
    size = 0
    for index, text in enumerate(texts):
        if size > 0 and size + len(text) > BLOCK_CHARACTERS:
            yield first, index
            first = index
            size = 0
        size += len(text)
    if texts:
        yield first, len(texts)

"""ROUGE-Lsum: the union of longest common subsequences, sentence by sentence (a line is a sentence).

For each sentence of the reference, the words that a longest common subsequence with any sentence of the prediction
takes; each word counts as often as both sides have it. Of several longest subsequences one must be chosen: the table is
walked back from its end, and where it ties the reference's word is dropped, as rouge-score does. The table is
bit-parallel (Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence


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

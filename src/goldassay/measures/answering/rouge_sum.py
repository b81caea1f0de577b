"""ROUGE-Lsum: the union of longest common subsequences, sentence by sentence (a line is a sentence).

For each sentence of the reference, the words that a longest common subsequence with any sentence of the prediction
takes; each word counts as often as both sides have it. Of several longest subsequences one must be chosen: the table is
walked back from its end, and where it ties the reference's word is dropped, as rouge-score does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def summary(prediction: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """How many words are common, how many the prediction has, how many the reference has.

    >>> summary([["a", "b"], ["c"]], [["a", "c", "d"]])
    (2, 3, 3)
    """
    left, right = Counter(w for s in prediction for w in s), Counter(w for s in reference for w in s)
    common = 0
    for sentence in reference:
        places = set().union(*(_places(sentence, other) for other in prediction))
        for place in sorted(places):
            word = sentence[place]
            if left[word] > 0 and right[word] > 0:
                common += 1
                left[word] -= 1
                right[word] -= 1
    return common, sum(map(len, prediction)), sum(map(len, reference))


def _places(sentence: Sequence[str], other: Sequence[str]) -> set[int]:
    """Where in ``sentence`` the words of one longest common subsequence with ``other`` stand."""
    table = [[0] * (len(other) + 1)]
    for word in sentence:
        above, row = table[-1], [0]
        for column, mine in enumerate(other):
            row.append(above[column] + 1 if word == mine else max(above[column + 1], row[column]))
        table.append(row)
    places = set()
    i, j = len(sentence), len(other)
    while i and j:
        if sentence[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            places.add(i)
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places

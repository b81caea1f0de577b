"""The place of errors: the word that most of them stand right after, or right before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from goldassay.measure import Error

LEAST, SHARE = 3, 0.7  # so many errors, and such a part of them, make a word their place


def place(errors: Sequence[Error]) -> str:
    """What the errors stand after or before, in words; empty where they have no place in common.

    >>> names = "Delft", "Gouda", "Tiel"
    >>> place([Error("wrong_type", "", gold=name, context=f"…lives in {name} now") for name in names])
    'after "in"'
    """
    found: Counter[tuple[str, str]] = Counter()
    for error in errors:
        words = error.gold or error.pred
        if not words or words not in error.context:
            continue
        before, _, after = error.context.partition(words)
        for side, near in (("after", before.split()[-1:]), ("before", after.split()[:1])):
            found.update((side, word.strip("…").casefold()) for word in near if word.strip("…").isalpha())
    for (side, word), count in found.most_common(1):
        if count >= max(LEAST, SHARE * len(errors)):
            return f'{side} "{word}"'
    return ""

"""Words and signs of a text, for formats and coefficients that need tokens where gold has none.

A word is a run of letters, digits and underscores; every other character that is no white space is a sign of its own.
What a character carries stays with it: combining marks (Unicode category M: accents, vowel points, variation
selectors), joiners and skin tones, so that a decomposed é or an emoji of a family is not torn apart.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

JOINER = "\u200d"
SCRIPTS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))  # where Unicode has its marks


def places(text: str) -> list[tuple[int, int]]:
    """The offsets of the words and signs of a text.

    >>> places("L'année 1800")
    [(0, 1), (1, 2), (2, 7), (8, 12)]
    >>> places("cafe\u0301!")
    [(0, 5), (5, 6)]
    """
    return [found.span() for found in (ASCII if text.isascii() else _any()).finditer(text)]


ASCII = re.compile(r"\w+|[^\w\s]")


@cache
def _any() -> re.Pattern[str]:
    """The pattern with all marks of Unicode; it takes a moment to make, so it is made when a text needs it."""
    marks = [point for script in SCRIPTS for point in script if unicodedata.category(chr(point)).startswith("M")]
    carried = "".join(map(chr, [*marks, 0x200C, ord(JOINER), *range(0x1F3FB, 0x1F400)]))
    return re.compile(rf"\w[\w{carried}]*|[^\w\s](?:[{carried}]|(?<={JOINER})[^\w\s])*")

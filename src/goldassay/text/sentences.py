"""Sentences of a text, without a model: a mark that ends one, then space and a capital or a digit; or a line's end."""

from __future__ import annotations

import re
from functools import cache

from goldassay.text.words import small_letters

_SHORT = re.compile(
    r"(?:\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Prof|ca|bzw|resp|vol|nr|no|ir|mr|drs|dhr|mw|etc|vs|p|pp|fig|Jr|Sr|e\.g|i\.e|z\.B|o\.a|v\.d|blz))\.$"
)


@cache
def _end() -> re.Pattern[str]:
    """Where a sentence ends."""
    opens = rf"[\"'“‘«(\[]?[^\W_{small_letters()}]"
    return re.compile(rf"(?<=[.!?…。！？])[\"'”“’»)\]]*(?:\s+(?={opens})|(?<=[。！？]))|\n+")


def sentences(text: str) -> list[str]:
    """The sentences; a full stop after an initial or a common abbreviation ends none.

    >>> sentences("Het opende in 1800. Dr. A. Bredius gaf veel! Mooi.")
    ['Het opende in 1800.', 'Dr. A. Bredius gaf veel!', 'Mooi.']
    >>> sentences("Он основан, т. е. открыт, в 1764 г. по указу. Это музей.")
    ['Он основан, т. е. открыт, в 1764 г. по указу.', 'Это музей.']
    """
    out: list[str] = []
    open_one = ""
    for part in _end().split(text):
        piece = part.strip()
        if not piece:
            continue
        open_one = f"{open_one} {piece}" if open_one else piece
        if not _SHORT.search(open_one):
            out.append(open_one)
            open_one = ""
    return [*out, open_one] if open_one else out

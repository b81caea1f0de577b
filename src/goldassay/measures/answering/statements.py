"""The words of a statement, for asking whether another says the same: numbers whole, negations written out.

Words are those of the ``unicode`` tokenizer. ``1,800``, ``1.800`` and ``1 800`` (with a narrow or a no-break space) are
``1800``: a mark between a digit and just three digits parts thousands. "didn't" is "did not", French "n'ouvre pas" is
"ne ouvre pas".
"""

from __future__ import annotations

import re
from itertools import pairwise

from goldassay.measures.answering.vocabulary import CONTRACTED, NE_PAIRS
from goldassay.measures.answering.words import tokens

_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,\u00a0\u2009\u202f'’]\d{3})+(?![\d]|[.,]\d)")


def statement(text: str) -> list[str]:
    """The words.

    >>> statement("It didn't sell 1,800 tickets on 12.5.1920")
    ['it', 'did', 'not', 'sell', '1800', 'tickets', 'on', '12', '5', '1920']
    >>> statement("Il n'ouvre pas"), statement("It can't."), statement("It cannot")
    (['il', 'ne', 'ouvre', 'pas'], ['it', 'can', 'not'], ['it', 'can', 'not'])
    >>> statement("aan 't water")
    ['aan', 't', 'water']
    """
    words = tokens(_THOUSANDS.sub(lambda found: re.sub(r"\D", "", found.group()), text), "unicode")
    french = any(word in NE_PAIRS for word in words)
    out: list[str] = []
    for before, word in pairwise(["", *words]):
        if word == "t" and before in CONTRACTED:
            out[-1:] = [CONTRACTED[before], "not"]
        elif word == "cannot":
            out += ["can", "not"]
        else:
            out.append("ne" if word == "n" and french else word)
    return out

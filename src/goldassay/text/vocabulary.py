"""Small words of English, Dutch, German and French (and negations of Spanish and Italian) that the patterns know.

With them the words of a statement are found, to ask whether another says the same: numbers whole, negations written
out.

Words are those of the ``unicode`` tokenizer. ``1,800``, ``1.800`` and ``1 800`` (with a narrow or a no-break space) are
``1800``: a mark between a digit and just three digits parts thousands. "didn't" is "did not", French "n'ouvre pas" is
"ne ouvre pas".
"""

from __future__ import annotations

import re
from itertools import pairwise

from goldassay.text.words import tokens


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


OPENERS = _words(
    "the a an in on at it its this that these those he she they we his her their of from by for with and but or as is",
    "was yes no who what where when which",
    "de het een dit dat deze die in op bij te uit van voor door met en maar of als hij zij ze er wie wat waar wanneer",
    "welke ja nee",
    "der die das ein eine im am zu aus von für mit und aber oder als er sie es wer was wo wann welche seit dem den des",
    "nein",
    "le la les un une des du au aux en dans par pour avec et mais ou il elle ils elles ce cette ces qui que où quand",
    "depuis oui non",
)
"""Words that open a sentence with a capital and are no part of a name."""

NEGATIONS = _words(
    "not no never none nobody nothing neither nor without cannot",
    "niet geen nooit niemand niets noch zonder",
    "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts weder ohne",
    "ne pas jamais aucun aucune rien sans non",
    "ni ningún ninguna nunca nada senza mai nessun nessuna",
)
"""Words that turn a sentence into its opposite."""
CONTRACTED = {
    "can": "can",
    "won": "will",
    "shan": "shall",
    "ain": "is",
    **{
        f"{verb}n": verb
        for verb in _words("do does did is are was were would could should has have had must need might ought dare")
    },
}
"""What stands before "'t" in an English negation ("didn't"), and the verb; Dutch "van 't" and "aan 't" are none."""
NE_PAIRS = ("pas", "jamais", "aucun", "aucune", "rien")
"""What closes a French negation that ``ne`` opened: the two are one."""


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

"""Small words of English, Dutch, German and French (and negations of Spanish and Italian) that the patterns know."""

from __future__ import annotations


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

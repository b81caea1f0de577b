"""Errors of classification in words: which label was taken for which, and what speaks for the right one."""

from __future__ import annotations

import re
from functools import cache

from goldassay.core.measure import Error, Review
from goldassay.measures.classification.records import LabelPair, institutions
from goldassay.measures.classification.tally import NONE

Place = tuple[int | None, int | None, str]
"""Where a word of a text begins and ends, and the text around it."""


def review(pair: LabelPair) -> Review:
    """The errors of one example, and what was right; secondary labels only if the program gives any.

    Letters are named as institution types if a word of the text speaks for one of them: they may be anybody's labels.

    >>> from goldassay.measures.classification.records import sides
    >>> mistakes, _ = review(sides({"label": "A", "text": "Het Stadsarchief van Delft"}, {"label": "M"}))
    >>> print(mistakes[0].message)
    A (Archive) was taken for M (Museum): "Stadsarchief" speaks for A, in "Het Stadsarchief van Delft".
    """
    codes = institutions()
    longest = 3  # characters of a label of the same set, such as XL beside M
    named = any(signs(pair.text, label) for label in (pair.gold_set | pair.pred_set) & codes.keys())
    titles = {label: f"{label} ({codes[label].name})" for label in codes} if named else {}
    mistakes: list[Error] = []
    right = [f"label {titles.get(pair.gold, pair.gold)}"] if pair.gold == pair.pred else []
    if not right:
        kind = "wrong_label"
        gold = titles.get(pair.gold, pair.gold)
        message = f"{gold} was taken for {titles.get(pair.pred, pair.pred)}"
        if pair.pred == NONE:
            kind = "no_label"
            message = f"{gold} was not answered: no label came back"
        elif pair.gold in codes and pair.pred not in codes and (named or len(pair.pred) > longest):
            kind = "unknown_label"
            message = f"{gold} was answered with {pair.pred!r}, which is not in the list of labels"
        elif pair.pred in pair.gold_others:
            kind = "secondary_label"
            message += ", which is only a secondary label here"
        clause, place = _clue(pair.text, pair.gold)
        message += f': {clause} for {pair.gold}, in "{place[2]}".' if clause else "."
        predicted = "" if pair.pred == NONE else pair.pred
        mistakes.append(Error(kind, message, "", "", pair.gold, predicted, *place, "label"))
    for label in sorted(pair.gold_others - pair.pred_set) if pair.pred_others else ():
        clause, place = _clue(pair.text, label)
        message = f"the secondary label {titles.get(label, label)} was missed" + (
            f": {clause} for it" if clause else ""
        )
        mistakes.append(Error("missed", f"{message}.", "", "", label, "", *place, "secondary_labels"))
    for label in sorted(pair.pred_others - pair.gold_set):
        message = f"{titles.get(label, label)} is not among the secondary labels."
        mistakes.append(Error("spurious", message, "", "", "", label, field="secondary_labels"))
    return tuple(mistakes), tuple(right)


def _clue(text: str, code: str) -> tuple[str, Place]:
    """The words of a text that speak for an institution type, as a clause, and the place of the first.

    >>> _clue("Het Stadsarchief bewaart akten", "A")
    ('"Stadsarchief", "akten" speak', (4, 16, 'Het Stadsarchief bewaart akten'))
    """
    most = 3  # words that are named as evidence
    margin = 30  # characters of the text on each side
    matches = signs(text, code)
    if not matches:
        return "", (None, None, "")
    words = list(dict.fromkeys(match[0] for match in matches))[:most]
    clause = ", ".join(f'"{word}"' for word in words) + (" speaks" if len(words) == 1 else " speak")
    start, end = matches[0].span()
    before = max(0, start - margin)
    after = end + margin
    around = " ".join(text[before:after].split())
    return clause, (start, end, f"{'…' if before else ''}{around}{'…' if after < len(text) else ''}")


def signs(text: str, code: str) -> list[re.Match[str]]:
    """The words of a text that speak for an institution type, in the order of the text; a program uses them, too.

    >>> [match[0] for match in signs("Het Stadsarchief bewaart akten", "A")]
    ['Stadsarchief', 'akten']
    """
    label = institutions().get(code)
    spoken = label.words if label else frozenset()
    folded = text.lower()  # of ASCII lower case is all that is folded, and most texts have no word of a label
    possible = spoken and (not text.isascii() or any(word.lower() in folded for word in spoken))
    return list(_pattern(spoken).finditer(text)) if possible else []


@cache
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    """The pattern that finds words; a long one also inside a compound ("Stadsarchief")."""
    long = 5
    ordered = sorted(words, key=lambda word: (-len(word), word))
    edges = {word: r"\w*" if len(word) >= long else r"\b" for word in ordered}
    pattern = "|".join(f"{edge}{re.escape(word)}{edge}" for word, edge in edges.items())
    return re.compile(pattern, re.IGNORECASE)

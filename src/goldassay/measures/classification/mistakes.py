"""Errors of classification in words: which label was taken for which, and what speaks for the right one."""

from __future__ import annotations

from typing import NamedTuple

from goldassay.core.measure import Error, Review
from goldassay.measures.classification.records import LabelPair, institutions, signs
from goldassay.measures.classification.tally import NONE

AROUND = 30  # characters of the text on each side


class Clue(NamedTuple):
    """The place of the first word that speaks for a label, such words as a clause, and the text around."""

    start: int | None = None
    end: int | None = None
    clause: str = ""
    around: str = ""


def review(pair: LabelPair) -> Review:
    """The errors of one example, and what was right; secondary labels only if the program gives any.

    >>> from goldassay.measures.classification.records import sides
    >>> mistakes, _ = review(sides({"label": "A", "text": "Het Stadsarchief van Delft"}, {"label": "M"}))
    >>> print(mistakes[0].message)
    A (Archive) was taken for M (Museum): "Stadsarchief" speaks for A, in "Het Stadsarchief van Delft".
    """
    mistakes: list[Error] = []
    right = [f"label {_title(pair.gold)}"] if pair.gold == pair.pred else []
    if not right:
        kind, message = _wrong_label(pair)
        clue = _clue(pair.text, pair.gold)
        message += f': {clue.clause} for {pair.gold}, in "{clue.around}".' if clue.clause else "."
        predicted = "" if pair.pred == NONE else pair.pred
        mistakes.append(Error(kind, message, "", "", pair.gold, predicted, clue.start, clue.end, clue.around, "label"))
    for label in sorted(pair.gold_others - pair.pred_set) if pair.pred_others else ():
        clue = _clue(pair.text, label)
        message = f"the secondary label {_title(label)} was missed" + (f": {clue.clause} for it" if clue.clause else "")
        key = (clue.start, clue.end, clue.around)
        mistakes.append(Error("missed", f"{message}.", "", "", label, "", *key, "secondary_labels"))
    for label in sorted(pair.pred_others - pair.gold_set):
        message = f"{_title(label)} is not among the secondary labels."
        mistakes.append(Error("spurious", message, "", "", "", label, field="secondary_labels"))
    return tuple(mistakes), tuple(right)


def _wrong_label(pair: LabelPair) -> tuple[str, str]:
    """The kind of error and the message for a label that is not gold's."""
    gold = _title(pair.gold)
    codes = institutions()
    if pair.pred == NONE:
        return "no_label", f"{gold} was not answered: no label came back"
    if pair.gold in codes and pair.pred not in codes:
        return "unknown_label", f"{gold} was answered with {pair.pred!r}, which is not in the list of labels"
    message = f"{gold} was taken for {_title(pair.pred)}"
    if pair.pred in pair.gold_others:
        return "secondary_label", f"{message}, which is only a secondary label here"
    return "wrong_label", message


def _clue(text: str, label: str) -> Clue:
    most = 3  # words that are named as evidence
    clues = signs(text, label)
    if not clues:
        return Clue()
    words = list(dict.fromkeys(text[sign.start : sign.end] for sign in clues))[:most]
    clause = ", ".join(f'"{word}"' for word in words) + (" speaks" if len(words) == 1 else " speak")
    _, start, end = clues[0]
    before = max(0, start - AROUND)
    after = end + AROUND
    around = " ".join(text[before:after].split())
    return Clue(start, end, clause, f"{'…' if before else ''}{around}{'…' if after < len(text) else ''}")


def _title(code: str) -> str:
    label = institutions().get(code)
    return f"{code} ({label.name})" if label else code

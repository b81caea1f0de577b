"""Errors of classification in words: which label was taken for which, and what speaks for the right one."""

from __future__ import annotations

from goldassay.measure import Error, Review
from goldassay.measures.classification.records import Read, institutions, signs
from goldassay.measures.classification.tally import NONE

AROUND = 30  # characters of the text shown on each side
SHOWN = 3  # words that are named as evidence


def review(read: Read) -> Review:
    """The errors of one example, and what was right; secondary labels only if the program gives any.

    >>> from goldassay.measures.classification.records import sides
    >>> mistakes, _ = review(sides({"label": "A", "text": "Het Stadsarchief van Delft"}, {"label": "M"}))
    >>> print(mistakes[0].message)
    A (Archive) was taken for M (Museum): "Stadsarchief" speaks for A, in "Het Stadsarchief van Delft".
    """
    gold, pred, codes = _title(read.gold), _title(read.pred), institutions()
    mistakes, right = [], (f"label {gold}",) if read.gold == read.pred else ()
    if not right:
        kind, message = "wrong_label", f"{gold} was taken for {pred}"
        if read.pred == NONE:
            kind, message = "no_label", f"{gold} was not answered: no label came back"
        elif read.gold in codes and read.pred not in codes:
            kind = "unknown_label"
            message = f"{gold} was answered with {read.pred!r}, which is not in the list of labels"
        elif read.pred in read.gold_others:
            kind, message = "secondary_label", f"{message}, which is only a secondary label here"
        start, end, clause, around = _clue(read.text, read.gold)
        message += f': {clause} for {read.gold}, in "{around}".' if clause else "."
        predicted = "" if read.pred == NONE else read.pred
        mistakes.append(Error(kind, message, "", "", read.gold, predicted, start, end, around, "label"))
    for label in sorted(read.gold_others - read.pred_set) if read.pred_others else ():
        start, end, clause, around = _clue(read.text, label)
        message = f"the secondary label {_title(label)} was missed" + (f": {clause} for it." if clause else ".")
        mistakes.append(Error("missed", message, "", "", label, "", start, end, around, "secondary_labels"))
    for label in sorted(read.pred_others - read.gold_set):
        message = f"{_title(label)} is not among the secondary labels."
        mistakes.append(Error("spurious", message, "", "", "", label, field="secondary_labels"))
    return tuple(mistakes), right


def _clue(text: str, label: str) -> tuple[int | None, int | None, str, str]:
    """Where the first word stands that speaks for a label, such words as a clause, and the text around."""
    clues = signs(text, label)
    if not clues:
        return None, None, "", ""
    words = list(dict.fromkeys(text[sign.start : sign.end] for sign in clues))[:SHOWN]
    clause = ", ".join(f'"{word}"' for word in words) + (" speaks" if len(words) == 1 else " speak")
    _, start, end = clues[0]
    before, after = max(0, start - AROUND), end + AROUND
    around = " ".join(text[before:after].split())
    return start, end, clause, f"{'…' if before else ''}{around}{'…' if after < len(text) else ''}"


def _title(code: str) -> str:
    label = institutions().get(code)
    return f"{code} ({label.name})" if label else code

"""Errors of classification in words: which label was taken for which, and what speaks for the right one."""

from __future__ import annotations

from goldassay.measure import Error, Review
from goldassay.measures.classification.records import Read, institutions, signs
from goldassay.measures.classification.tally import NONE

AROUND = 30  # characters of the text shown on each side
SHOWN = 3  # words that are named as evidence


def errors(read: Read) -> Review:
    """The errors of one example, and what was right.

    >>> from goldassay.measures.classification.records import sides
    >>> mistakes, _ = errors(sides({"label": "A", "text": "Het Stadsarchief van Delft"}, {"label": "M"}))
    >>> print(mistakes[0].message)
    A (Archive) was taken for M (Museum): "Stadsarchief" speaks for A, in "Het Stadsarchief van Delft".
    """
    if read.gold == read.pred:
        return _secondary(read), (f"label {_title(read.gold)}",)
    kind, message = _confusion(read)
    start, end, clause, around = _clue(read.text, read.gold)
    misled = signs(read.text, read.pred)
    if clause:
        message += f': {clause} for {read.gold}, in "{around}"'
    elif misled:
        message += f': "{read.text[misled[0].start : misled[0].end]}" speaks for {read.pred}, but does not decide here'
    pred = "" if read.pred == NONE else read.pred
    error = Error(kind, f"{message}.", "", "", read.gold, pred, start, end, around, "label")
    return (error, *_secondary(read)), ()


def _confusion(read: Read) -> tuple[str, str]:
    gold, codes = _title(read.gold), institutions()
    if read.pred == NONE:
        return "no_label", f"{gold} was not answered: no label came back"
    if read.gold in codes and read.pred not in codes:
        return "unknown_label", f"{gold} was answered with {read.pred!r}, which is not in the list of labels"
    message = f"{gold} was taken for {_title(read.pred)}"
    if read.pred in read.gold_others:
        return "secondary_label", f"{message}, which is only a secondary label here"
    return "wrong_label", message


def _secondary(read: Read) -> tuple[Error, ...]:
    """Secondary labels that are missing or too many; only if the program gives any."""
    if not read.pred_others:
        return ()
    mistakes = []
    for label in sorted(read.gold_others - read.pred_set):
        start, end, clause, around = _clue(read.text, label)
        message = f"the secondary label {_title(label)} was missed" + (f": {clause} for it." if clause else ".")
        mistakes.append(Error("missed", message, "", "", label, "", start, end, around, "secondary_labels"))
    for label in sorted(read.pred_others - read.gold_set):
        message = f"{_title(label)} is not among the secondary labels."
        mistakes.append(Error("spurious", message, "", "", "", label, field="secondary_labels"))
    return tuple(mistakes)


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

"""Errors of classification in words: which label was taken for which, and what speaks for the right one."""

from __future__ import annotations

from goldassay.measure import Error, Review
from goldassay.measures.classification.records import LabelList, Read, institutions
from goldassay.measures.classification.tally import NONE

AROUND = 30  # characters of the text shown on each side
SHOWN = 3  # words that are named as evidence


def errors(read: Read, labels: LabelList | None = None) -> Review:
    """The errors of one example, and what was right.

    >>> from goldassay.measures.classification.records import sides
    >>> mistakes, _ = errors(sides({"label": "A", "text": "Het Stadsarchief van Delft"}, {"label": "M"}))
    >>> print(mistakes[0].message)
    A (Archive) was taken for M (Museum): "Stadsarchief" speaks for A, in "Het Stadsarchief van Delft".
    """
    types = labels or institutions()
    if read.gold == read.pred:
        return _secondary(read, types), (f"label {_title(read.gold, types)}",)
    kind, message = _confusion(read, types)
    start, end, words = _evidence(read.text, read.gold, types)
    around = _context(read.text, start, end)
    misled = types.signs(read.text, read.pred)
    if words:
        message += f": {words} for {read.gold}"
    elif misled:
        message += f': "{read.text[misled[0].start : misled[0].end]}" speaks for {read.pred}, but does not decide here'
    message += f', in "{around}".' if around else "."
    pred = "" if read.pred == NONE else read.pred
    error = Error(kind, message, "", "", read.gold, pred, start, end, around, "label")
    return (error, *_secondary(read, types)), ()


def _confusion(read: Read, types: LabelList) -> tuple[str, str]:
    gold = _title(read.gold, types)
    if read.pred == NONE:
        return "no_label", f"{gold} was not answered: no label came back"
    if read.gold in types.codes and read.pred not in types.codes:
        return "unknown_label", f"{gold} was answered with {read.pred!r}, which is not in the list of labels"
    message = f"{gold} was taken for {_title(read.pred, types)}"
    if read.pred in read.gold_others:
        return "secondary_label", f"{message}, which is only a secondary label here"
    return "wrong_label", message


def _secondary(read: Read, types: LabelList) -> tuple[Error, ...]:
    """Secondary labels that are missing or too many; only if the program gives any."""
    if not read.pred_others:
        return ()
    mistakes = []
    for label in sorted(read.gold_others - read.pred_set):
        start, end, words = _evidence(read.text, label, types)
        message = f"the secondary label {_title(label, types)} was missed" + (f": {words} for it" if words else "")
        around = _context(read.text, start, end)
        mistakes.append(Error("missed", f"{message}.", "", "", label, "", start, end, around, "secondary_labels"))
    for label in sorted(read.pred_others - read.gold_set):
        message = f"{_title(label, types)} is not among the secondary labels."
        mistakes.append(Error("spurious", message, "", "", "", label, field="secondary_labels"))
    return tuple(mistakes)


def _evidence(text: str, label: str, types: LabelList) -> tuple[int | None, int | None, str]:
    """Where the first word stands that speaks for a label, and such words as a clause."""
    signs = types.signs(text, label)
    words = list(dict.fromkeys(text[sign.start : sign.end] for sign in signs))[:SHOWN]
    if not words:
        return None, None, ""
    verb = "speaks" if len(words) == 1 else "speak"
    return signs[0].start, signs[0].end, ", ".join(f'"{word}"' for word in words) + f" {verb}"


def _title(code: str, types: LabelList) -> str:
    name = types.name(code)
    return code if name == code else f"{code} ({name})"


def _context(text: str, start: int | None, end: int | None) -> str:
    if start is None or end is None:
        return ""
    before, after = max(0, start - AROUND), min(len(text), end + AROUND)
    words = " ".join(text[before:after].split())
    return f"{'…' if before else ''}{words}{'…' if after < len(text) else ''}"

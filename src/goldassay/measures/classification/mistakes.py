"""Errors of classification in words: which label was taken for which, and what speaks for the right one."""

from __future__ import annotations

from goldassay.measure import Error
from goldassay.measures.classification.records import LabelList, Read, institutions
from goldassay.measures.classification.tally import NONE

AROUND = 30  # characters of the text shown on each side
SHOWN = 3  # words that are named as evidence


def errors(read: Read, labels: LabelList | None = None) -> tuple[tuple[Error, ...], tuple[str, ...]]:
    """The errors of one example, and what was right.

    >>> from goldassay.measures.classification.records import sides
    >>> found, _ = errors(sides({"label": "A", "text": "Het Stadsarchief van Delft"}, {"label": "M"}))
    >>> print(found[0].message)
    A (Archive) was taken for M (Museum): "Stadsarchief" speaks for A, in "Het Stadsarchief van Delft".
    """
    known = labels or institutions()
    if read.gold == read.pred:
        return _secondary(read, known), (f"label {_called(read.gold, known)}",)
    kind, says = _what(read, known)
    start, end, words = _signs(read, known)
    where = _context(read.text, start, end)
    if words:
        says += f": {words} for {read.gold}"
    misled = known.signs(read.text, read.pred) if read.pred != NONE else []
    if misled and not words:
        says += f': "{read.text[misled[0].start : misled[0].end]}" speaks for {read.pred}, but does not decide here'
    message = f'{says}, in "{where}".' if where else f"{says}."
    first = Error(kind, message, "", "", read.gold, "" if read.pred == NONE else read.pred, start, end, where, "label")
    return (first, *_secondary(read, known)), ()


def _what(read: Read, known: LabelList) -> tuple[str, str]:
    gold = _called(read.gold, known)
    if read.pred == NONE:
        return "no_label", f"{gold} was not answered: no label came back"
    if read.gold in known.codes and read.pred not in known.codes:
        return "unknown_label", f"{gold} was answered with {read.pred!r}, which is not in the list of labels"
    says = f"{gold} was taken for {_called(read.pred, known)}"
    if read.pred in read.gold_others:
        return "secondary_label", f"{says}, which is only a secondary label here"
    return "wrong_label", says


def _secondary(read: Read, known: LabelList) -> tuple[Error, ...]:
    """Secondary labels that are missing or too many; only where the program gives any."""
    if not read.pred_others:
        return ()
    found = []
    for label in sorted(read.gold_others - read.pred_set):
        start, end, words = _signs(read._replace(gold=label), known)
        says = f"the secondary label {_called(label, known)} was missed" + (f": {words} for it" if words else "")
        where = _context(read.text, start, end)
        found.append(Error("missed", f"{says}.", "", "", label, "", start, end, where, "secondary_labels"))
    for label in sorted(read.pred_others - read.gold_set):
        says = f"{_called(label, known)} is not among the secondary labels"
        found.append(Error("spurious", f"{says}.", "", "", "", label, field="secondary_labels"))
    return tuple(found)


def _signs(read: Read, known: LabelList) -> tuple[int | None, int | None, str]:
    """Where the first word stands that speaks for the right label, and such words as a clause."""
    signs = known.signs(read.text, read.gold)
    words = list(dict.fromkeys(read.text[sign.start : sign.end] for sign in signs))[:SHOWN]
    if not words:
        return None, None, ""
    verb = "speaks" if len(words) == 1 else "speak"
    return signs[0].start, signs[0].end, ", ".join(f'"{word}"' for word in words) + f" {verb}"


def _called(code: str, known: LabelList) -> str:
    name = known.name(code)
    return code if name == code else f"{code} ({name})"


def _context(text: str, start: int | None, end: int | None) -> str:
    if start is None or end is None:
        return ""
    before, after = max(0, start - AROUND), min(len(text), end + AROUND)
    shown = " ".join(text[before:after].split())
    return f"{'…' if before else ''}{shown}{'…' if after < len(text) else ''}"

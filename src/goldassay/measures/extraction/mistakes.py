"""Errors in words: missed, spurious, mistyped, misbounded, not in the text.

Gold and predictions are paired as for SemEval's strict schema (`columns`): what is correct stays correct, and each
error is explained by the span of the other side that it overlaps, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from goldassay.measure import Error, Review
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.columns import text_order
from goldassay.measures.extraction.records import Span

AROUND = 30  # characters of the text shown on each side
KINDS = ("missed", "spurious", "wrong_type", "wrong_boundary", "wrong_type_and_boundary", "not_in_text")


def errors(gold: Sequence[Span], pred: Sequence[Span], text: str = "") -> Review:
    """The errors of one document, in the order of the text, and what was right.

    >>> mistakes, right = errors([Span(4, 15, "MUS")], [Span(4, 15, "LIB")], "Het Rijksmuseum in Amsterdam")
    >>> mistakes[0].kind, mistakes[0].message
    ('wrong_type', '"Rijksmuseum" is MUS, not LIB, in "Het Rijksmuseum in Amsterdam".')
    """
    gold, pred = sorted(gold, key=text_order), sorted(pred, key=text_order)
    pairs = Batch([gold], [pred]).pairs
    chosen = pairs.aims["strict"]
    mistakes, right = [], []
    for i, j in zip(pairs.gold[chosen].tolist(), pairs.pred[chosen].tolist(), strict=True):
        if gold[i].place == pred[j].place and gold[i].type == pred[j].type:
            right.append(f'"{_words_or_place(gold[i], text)}" ({gold[i].type})')
        else:
            mistakes.append(_mismatch(gold[i], pred[j], text))
    explained, used = {*pairs.gold[chosen].tolist()}, {*pairs.pred[chosen].tolist()}
    mistakes += [_missed(span, text) for i, span in enumerate(gold) if i not in explained]
    extra = [span for j, span in enumerate(pred) if j not in used]
    mistakes += [_spurious(span, text, any(span.overlaps(other) for other in gold)) for span in extra]
    mistakes.sort(key=lambda error: (inf if error.start is None else error.start, error.kind, error.message))
    return tuple(mistakes), tuple(right)


def _mismatch(g: Span, p: Span, text: str) -> Error:
    gold, pred = _words_or_place(g, text), _words_or_place(p, text)
    if g.place == p.place:
        kind, message = "wrong_type", f'"{gold}" is {g.type}, not {p.type}'
    elif g.type == p.type:
        kind, message = "wrong_boundary", f'{g.type} is "{gold}", not "{pred}": {_boundary(g, p)}'
    else:
        kind, message = "wrong_type_and_boundary", f'"{gold}" is {g.type}, but "{pred}" was given as {p.type}'
    return _error(kind, message, g, text, pred=_words(p, text), pred_type=p.type)


def _boundary(g: Span, p: Span) -> str:
    """What the annotation asks where only the boundaries are wrong."""
    if p.start <= g.start and g.end <= p.end:
        return "give no word more than the name"
    if g.start <= p.start and p.end <= g.end:
        return "give the whole name"
    return "give the whole name and no word more"


def _missed(g: Span, text: str) -> Error:
    return _error("missed", f'"{_words_or_place(g, text)}" ({g.type}) was missed', g, text)


def _error(kind: str, message: str, g: Span, text: str, *, pred: str = "", pred_type: str = "") -> Error:
    """An error at a gold span."""
    around = _context(g, text)
    message = _in_context(message, around)
    return Error(kind, message, _words(g, text), pred, g.type, pred_type, g.start, g.end, around, "entities")


def _spurious(p: Span, text: str, taken: bool) -> Error:
    words, quote = _words(p, text), _words_or_place(p, text)
    if p.start < 0:
        message = f'"{quote}" ({p.type}) does not stand in the text: copy the words exactly.'
        return Error("not_in_text", message, "", words, "", p.type, field="entities")
    around = _context(p, text)
    why = "what is annotated there was given already" if taken else "nothing is annotated there"
    message = _in_context(f'"{quote}" was given as {p.type}, but {why}', around)
    return Error("spurious", message, "", words, "", p.type, p.start, p.end, around, "entities")


def _words(span: Span, text: str) -> str:
    return span.text or (text[span.start : span.end] if span.start >= 0 else "")


def _words_or_place(span: Span, text: str) -> str:
    """The words on one line; the place where there are no words."""
    return " ".join(_words(span, text).split()) or f"{span.start}–{span.end}"


def _context(span: Span, text: str) -> str:
    """The words around, whole ones."""
    if span.start >= len(text):
        return ""
    before, after = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
    if before and not text[before - 1].isspace():
        before = next((i for i in range(before, span.start) if text[i].isspace()), span.start)
    if after < len(text) and not text[after].isspace():
        after = next((i for i in range(after, span.end, -1) if text[i - 1].isspace()), span.end)
    words = " ".join(text[before:after].split())
    return f"{'…' if before else ''}{words}{'…' if after < len(text) else ''}" if words else ""


def _in_context(message: str, around: str) -> str:
    return f'{message}, in "{around}".' if around else f"{message}."

"""Errors in words: missed, spurious, mistyped, misbounded, not in the text.

Gold and predictions are paired as for SemEval's strict schema (`matching`): what is correct stays correct, and each
error is explained by the span of the other side that it overlaps, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from goldassay.measure import Error, Review
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.matching import matched, text_order
from goldassay.measures.extraction.records import Span
from goldassay.text.words import quote

KINDS = ("missed", "spurious", "wrong_type", "wrong_boundary", "wrong_type_and_boundary", "not_in_text")


def errors(gold: Sequence[Span], pred: Sequence[Span], text: str = "") -> Review:
    """The errors of one document, in the order of the text, and what was right.

    >>> mistakes, right = errors([Span(4, 15, "MUS")], [Span(4, 15, "LIB")], "Het Rijksmuseum in Amsterdam")
    >>> mistakes[0].kind, mistakes[0].message
    ('wrong_type', '"Rijksmuseum" is MUS, not LIB, in "Het Rijksmuseum in Amsterdam".')
    """
    gold, pred = sorted(gold, key=text_order), sorted(pred, key=text_order)
    rows, columns, correct = matched(Batch([gold], [pred]).pairs, "strict")
    mistakes, right = [], []
    for i, j, equal in zip(rows.tolist(), columns.tolist(), correct.tolist(), strict=True):
        if equal:
            right.append(f'"{_words_or_place(gold[i], text)}" ({gold[i].type})')
        else:
            mistakes.append(_mismatch(gold[i], pred[j], text))
    explained, used = {*rows.tolist()}, {*columns.tolist()}
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
    return _error(kind, message, g, text, p)


def _boundary(g: Span, p: Span) -> str:
    """What the annotation asks where only the boundaries are wrong."""
    if p.start <= g.start and g.end <= p.end:
        return "give no word more than the name"
    if g.start <= p.start and p.end <= g.end:
        return "give the whole name"
    return "give the whole name and no word more"


def _missed(g: Span, text: str) -> Error:
    return _error("missed", f'"{_words_or_place(g, text)}" ({g.type}) was missed', g, text)


def _spurious(p: Span, text: str, taken: bool) -> Error:
    words, quoted = _words(p, text), _words_or_place(p, text)
    if p.start < 0:
        message = f'"{quoted}" ({p.type}) does not stand in the text: copy the words exactly.'
        return Error("not_in_text", message, pred=words, pred_type=p.type, field="entities")
    why = "what is annotated there was given already" if taken else "nothing is annotated there"
    return _error("spurious", f'"{quoted}" was given as {p.type}, but {why}', None, text, p)


def _error(kind: str, message: str, g: Span | None, text: str, p: Span | None = None) -> Error:
    """An error at a gold span, or at a predicted one."""
    at: Any = g or p
    context = quote(text, at.start, at.end)
    message += f', in "{context}".' if context else "."
    (gold, gold_type), (pred, pred_type) = ((_words(each, text), each.type) if each else ("", "") for each in (g, p))
    return Error(kind, message, gold, pred, gold_type, pred_type, at.start, at.end, context, "entities")


def _words(span: Span, text: str) -> str:
    return span.text or (text[span.start : span.end] if span.start >= 0 else "")


def _words_or_place(span: Span, text: str) -> str:
    """The words on one line; the place where there are no words."""
    return " ".join(_words(span, text).split()) or f"{span.start}–{span.end}"

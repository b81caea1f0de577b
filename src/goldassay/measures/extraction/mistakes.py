"""Errors in words: missed, spurious, mistyped, misbounded, not in the text.

Gold and predictions are paired as for SemEval's strict schema (`matching`): what is correct stays correct, and each
error is explained by the span of the other side that it overlaps, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from goldassay.core.measure import Error, Review
from goldassay.measures.extraction.records import Span
from goldassay.text.words import quote


def review(gold: Sequence[Span], pred: Sequence[Span], text: str, pairs: Sequence[tuple[int, int, bool]]) -> Review:
    """The errors of one document, in the order of the text, and what was right.

    ``pairs`` are the places of a gold span and a prediction each, and whether they are equal.

    >>> text, pairs = "Het Rijksmuseum in Amsterdam", [(0, 0, False)]
    >>> mistakes, right = review([Span(4, 15, "MUS")], [Span(4, 15, "LIB")], text, pairs)
    >>> mistakes[0].kind, mistakes[0].message
    ('wrong_type', '"Rijksmuseum" is MUS, not LIB, in "Het Rijksmuseum in Amsterdam".')
    """
    nothing = Span(-1, -1, "")  # the other side of a missed or spurious span

    def words(span: Span) -> str:
        return span.text or text[max(0, span.start) : max(0, span.end)]

    def label(span: Span) -> str:
        """The words on one line; the place where there are no words."""
        return " ".join(words(span).split()) or f"{span.start}–{span.end}"

    def error(kind: str, message: str, g: Span, p: Span) -> Error:
        at = p if g is nothing else g
        context = quote(text, at.start, at.end)
        message += f', in "{context}".' if context else "."
        return Error(kind, message, words(g), words(p), g.type, p.type, at.start, at.end, context, "entities")

    mistakes: list[Error] = []
    for i, j, equal in pairs:
        if equal:
            continue
        g = gold[i]
        p = pred[j]
        if g.place == p.place:
            mistakes.append(error("wrong_type", f'"{label(g)}" is {g.type}, not {p.type}', g, p))
        elif g.type != p.type:
            message = f'"{label(g)}" is {g.type}, but "{label(p)}" was given as {p.type}'
            mistakes.append(error("wrong_type_and_boundary", message, g, p))
        else:
            advice = "give the whole name and no word more"
            if p.start <= g.start and g.end <= p.end:
                advice = "give no word more than the name"
            elif g.start <= p.start and p.end <= g.end:
                advice = "give the whole name"
            if words(g) == words(p):  # the same words, counted in another way
                message = f'{g.type} "{label(g)}" is at {g.start}–{g.end}, not {p.start}–{p.end}: an end is exclusive'
                mistakes.append(error("wrong_boundary", message, g, p))
                continue
            mistakes.append(error("wrong_boundary", f'{g.type} is "{label(g)}", not "{label(p)}": {advice}', g, p))
    for i in {*range(len(gold))} - {i for i, _, _ in pairs}:
        mistakes.append(error("missed", f'"{label(gold[i])}" ({gold[i].type}) was missed', gold[i], nothing))
    for p in [pred[j] for j in {*range(len(pred))} - {j for _, j, _ in pairs}]:
        if p.start < 0:
            message = f'"{label(p)}" ({p.type}) is not in the text: copy the words exactly.'
            mistakes.append(Error("not_in_text", message, pred=words(p), pred_type=p.type, field="entities"))
            continue
        taken = any(p.overlaps(other) for other in gold)
        why = "what is annotated there is already predicted" if taken else "nothing is annotated there"
        mistakes.append(error("spurious", f'"{label(p)}" was given as {p.type}, but {why}', nothing, p))
    mistakes.sort(key=lambda error: (inf if error.start is None else error.start, error.kind, error.message))
    right = [gold[i] for i, _, equal in pairs if equal]
    return tuple(mistakes), tuple(f'"{label(span)}" ({span.type})' for span in right)

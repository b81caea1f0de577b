"""What was got wrong, in words: missed, spurious, mistyped, misbounded, not in the text.

Gold and predictions are paired as for SemEval's strict schema (`matching`): what is right stays right, and each
mistake is explained by the span of the other side that it overlaps, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from goldassay.measure import Error
from goldassay.measures.extraction.matching import pairs
from goldassay.measures.extraction.records import Span

AROUND = 30  # characters of the text shown on each side
KINDS = ("missed", "spurious", "wrong_type", "wrong_boundary", "wrong_type_and_boundary", "not_in_text")


def errors(gold: Sequence[Span], pred: Sequence[Span], text: str = "") -> tuple[tuple[Error, ...], tuple[str, ...]]:
    """The errors of one document, in the order of the text, and what was right.

    >>> found, right = errors([Span(4, 15, "MUS")], [Span(4, 15, "LIB")], "Het Rijksmuseum in Amsterdam")
    >>> found[0].kind, found[0].message
    ('wrong_type', '"Rijksmuseum" is MUS, not LIB, in "Het Rijksmuseum in Amsterdam".')
    """
    paired = sorted(pairs(gold, pred, "strict"))
    right = [f'"{_shown(gold[p.gold], text)}" ({gold[p.gold].type})' for p in paired if p.exact and p.typed]
    found = [_mismatch(gold[p.gold], pred[p.pred], text) for p in paired if not (p.exact and p.typed)]
    seen_gold, seen_pred = {pair.gold for pair in paired}, {pair.pred for pair in paired}
    found += [_missed(span, text) for i, span in enumerate(gold) if i not in seen_gold]
    extra = [span for j, span in enumerate(pred) if j not in seen_pred]
    found += [_spurious(span, text, any(span.overlaps(other) for other in gold)) for span in extra]
    found.sort(key=lambda error: (inf if error.start is None else error.start, error.kind, error.message))
    return tuple(found), tuple(right)


def _mismatch(g: Span, p: Span, text: str) -> Error:
    gold, pred, where = _shown(g, text), _shown(p, text), _context(g, text)
    if g.place == p.place:
        kind, says = "wrong_type", f'"{gold}" is {g.type}, not {p.type}'
    elif g.type == p.type:
        kind, says = "wrong_boundary", f'{g.type} is "{gold}", not "{pred}": {_boundary(g, p)}'
    else:
        kind, says = "wrong_type_and_boundary", f'"{gold}" is {g.type}, but "{pred}" was given as {p.type}'
    return Error(
        kind,
        _sentence(says, where),
        _words(g, text),
        _words(p, text),
        g.type,
        p.type,
        g.start,
        g.end,
        where,
        "entities",
    )


def _boundary(g: Span, p: Span) -> str:
    """What the annotation asks where only the boundaries are wrong."""
    if p.start <= g.start and g.end <= p.end:
        return "give no word more than the name"
    if g.start <= p.start and p.end <= g.end:
        return "give the whole name"
    return "give the whole name and no word more"


def _missed(g: Span, text: str) -> Error:
    where = _context(g, text)
    says = f'"{_shown(g, text)}" ({g.type}) was missed'
    return Error("missed", _sentence(says, where), _words(g, text), "", g.type, "", g.start, g.end, where, "entities")


def _spurious(p: Span, text: str, taken: bool) -> Error:
    words, shown = _words(p, text), _shown(p, text)
    if p.start < 0:
        says = f'"{shown}" ({p.type}) does not stand in the text: copy the words exactly'
        return Error("not_in_text", f"{says}.", "", words, "", p.type, field="entities")
    where = _context(p, text)
    why = "what is annotated there was given already" if taken else "nothing is annotated there"
    says = f'"{shown}" was given as {p.type}, but {why}'
    return Error("spurious", _sentence(says, where), "", words, "", p.type, p.start, p.end, where, "entities")


def _words(span: Span, text: str) -> str:
    return span.text or (text[span.start : span.end] if span.start >= 0 else "")


def _shown(span: Span, text: str) -> str:
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
    shown = " ".join(text[before:after].split())
    return f"{'…' if before else ''}{shown}{'…' if after < len(text) else ''}" if shown else ""


def _sentence(says: str, where: str) -> str:
    return f'{says}, in "{where}".' if where else f"{says}."

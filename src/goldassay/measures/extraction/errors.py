"""What was got wrong, in words: missed, spurious, mistyped, misbounded."""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.measure import Error
from goldassay.measures.extraction.matching import overlapping
from goldassay.measures.extraction.spans import Span

AROUND = 30  # characters of the text shown on each side


def errors(gold: Sequence[Span], pred: Sequence[Span], text: str = "") -> tuple[tuple[Error, ...], tuple[str, ...]]:
    """The errors of one document, in the order of the text, and what was right.

    >>> found, right = errors([Span(4, 15, "MUS")], [Span(4, 15, "LIB")], "Het Rijksmuseum in Amsterdam")
    >>> found[0].kind, found[0].message
    ('wrong_type', '"Rijksmuseum" is MUS, not LIB, in "Het Rijksmuseum in Amsterdam".')
    """
    pairs = overlapping(gold, pred, same_type=False)
    found: list[Error] = []
    right: list[str] = []
    for i, j in pairs:
        g, p = gold[i], pred[j]
        if g.place == p.place and g.type == p.type:
            right.append(f'"{_words(g, text)}" ({g.type})')
        else:
            found.append(_mismatch(g, p, text))
    seen_gold, seen_pred = {i for i, _ in pairs}, {j for _, j in pairs}
    found += [_missed(span, text) for i, span in enumerate(gold) if i not in seen_gold]
    found += [_spurious(span, text) for j, span in enumerate(pred) if j not in seen_pred]
    found.sort(key=lambda error: (error.start if error.start is not None else len(text), error.kind))
    return tuple(found), tuple(right)


def _mismatch(g: Span, p: Span, text: str) -> Error:
    gold, pred, where = _words(g, text), _words(p, text), _context(g, text)
    if g.place == p.place:
        kind, says = "wrong_type", f'"{gold}" is {g.type}, not {p.type}'
    elif g.type == p.type:
        kind, says = "wrong_boundary", f'{g.type} is "{gold}", not "{pred}": give the whole name and nothing more'
    else:
        kind, says = "wrong_type_and_boundary", f'"{gold}" ({g.type}) was given as "{pred}" ({p.type})'
    return Error(kind, _sentence(says, where), gold, pred, g.type, p.type, g.start, g.end, where, "entities")


def _missed(g: Span, text: str) -> Error:
    where = _context(g, text)
    says = f'"{_words(g, text)}" ({g.type}) was missed'
    return Error("missed", _sentence(says, where), _words(g, text), "", g.type, "", g.start, g.end, where, "entities")


def _spurious(p: Span, text: str) -> Error:
    words = _words(p, text)
    if p.start < 0:
        says = f'"{words}" ({p.type}) does not stand in the text: copy the words exactly'
        return Error("not_in_text", f"{says}.", "", words, "", p.type, field="entities")
    where = _context(p, text)
    says = f'"{words}" was given as {p.type}, but nothing is annotated there'
    return Error("spurious", _sentence(says, where), "", words, "", p.type, p.start, p.end, where, "entities")


def _words(span: Span, text: str) -> str:
    return span.text or (text[span.start : span.end] if span.start >= 0 else "")


def _context(span: Span, text: str) -> str:
    before, after = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
    shown = " ".join(text[before:after].split())
    return f"{'…' if before else ''}{shown}{'…' if after < len(text) else ''}"


def _sentence(says: str, where: str) -> str:
    return f'{says}, in "{where}".' if where else f"{says}."

"""The errors of linking, in words: the rank of the right candidate, and what was ranked above it."""

from __future__ import annotations

from collections.abc import Mapping

from goldassay.core.measure import Error, Review
from goldassay.measures.linking.records import NIL, LinkPair, Mention, rank
from goldassay.text.words import quote


def errors(document: LinkPair, pairs: Mapping[int, int]) -> Review:
    """The errors of one document, in the order of the text, and what is right; ``pairs`` has the answer of a mention.

    >>> from goldassay.measures.linking.records import sides
    >>> gold = {"text": "Paris, Texas", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q830149"]}}]}
    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q90", "Q830149"]}]
    >>> rows, _ = errors(sides(gold, pred), {0: 0})
    >>> print(rows[0].message)
    "Paris" is Q830149, which is at rank 2 below Q90, in "Paris, Texas".
    """
    most = 3  # candidates that are named
    text = document.text
    rows: list[Error] = []
    right: list[str] = []
    for i, mention in enumerate(document.gold):
        answer = document.pred[pairs[i]] if i in pairs else None
        words = _words(mention, text)
        gold = NIL if mention.nil else " or ".join(mention.ids)
        first = rank(mention, answer) if answer else 0
        if answer is None:
            rows.append(_error("missed", f'"{words}" ({gold}) was not answered', mention, None, text))
            continue
        if first == 1 and mention[:2] == answer[:2]:
            right.append(f'"{words}" ({gold})')
            continue
        above = answer.ids[: first - 1] if first else answer.ids
        more = f" and {len(above) - most} more" if len(above) > most else ""
        where = f"is at rank {first} below" if first else "is not among the candidates"
        kind = "wrong_link"
        message = f'"{words}" is {gold}, which {where} {", ".join(above[:most])}{more}'
        if first == 1:
            kind = "wrong_boundary"
            message = f'{gold} is right, but the mention is "{words}", not "{_words(answer, text)}"'
        elif mention.type != answer.type:
            kind = "wrong_type"
            message = f'"{words}" is {mention.type or "without a type"}, not {answer.type or "without a type"}'
        elif mention.nil:
            kind = "nil_missed"
            message = f'"{words}" is in no knowledge base (NIL), but was linked to {answer.ids[0]}'
        elif answer.nil and not first:
            kind = "nil_spurious"
            message = f'"{words}" is {gold}, but was left without a link (NIL)'
        rows.append(_error(kind, message, mention, answer, text))
    for j, answer in enumerate(document.pred):
        if j not in pairs.values():
            words = _words(answer, text)
            id_ = NIL if answer.nil else answer.ids[0]
            kind = "spurious"
            message = f'"{words}" was linked to {id_}, but no mention is annotated there'
            if answer.start < 0:
                kind = "not_in_text"
                message = f'"{words}" ({id_}) is not in the text: copy the words exactly'
            rows.append(_error(kind, message, None, answer, text))
    rows.sort(key=lambda error: (len(text) if error.start is None else error.start, error.kind))
    return tuple(rows), tuple(right)


def _error(kind: str, message: str, mention: Mention | None, answer: Mention | None, text: str) -> Error:
    start, end = next((side[:2] for side in (mention, answer) if side), (-1, -1))
    context = quote(text, start, end) if start >= 0 else ""
    message += f', in "{context}".' if context else "."
    place: tuple[int | None, int | None] = (start, end) if start >= 0 else (None, None)
    words = _words(mention, text), _words(answer, text)
    return Error(kind, message, *words, _type(mention), _type(answer), *place, context, "links")


def _type(side: Mention | None) -> str:
    """``linked``, NIL or nothing: patterns of errors group by it, and an id would be too specific."""
    if side is None:
        return ""
    return NIL if side.nil else "linked"


def _words(side: Mention | None, text: str) -> str:
    if side is None or side.text or side.start < 0:
        return side.text if side else ""
    return text[side.start : side.end]

"""The errors of linking, in words: which candidate stood at which rank, and what was ranked above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldassay.measure import Error, Review
from goldassay.measures.linking.records import NIL, Document, Mention, rank
from goldassay.text.words import quote

SHOWN = 3  # candidates that are named


def errors(document: Document, pairs: Mapping[int, int]) -> Review:
    """The errors of one document, in the order of the text, and what is right; ``pairs`` has the answer of a mention.

    >>> from goldassay.measures.linking.records import sides
    >>> gold = {"text": "Paris, Texas", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q830149"]}}]}
    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q90", "Q830149"]}]
    >>> rows, _ = errors(sides(gold, pred), {0: 0})
    >>> print(rows[0].message)
    "Paris" is Q830149, which stood at rank 2 below Q90, in "Paris, Texas".
    """
    text = document.text
    rows: list[Error] = []
    right: list[str] = []
    for i, mention in enumerate(document.gold):
        answer = document.pred[pairs[i]] if i in pairs else None
        if answer and rank(mention, answer) == 1 and mention[:2] == answer[:2]:
            right.append(f'"{_words(mention, text)}" ({_ids(mention)})')
        else:
            rows.append(_error(*_missed(mention, answer, text), mention, answer, text))
    for j, answer in enumerate(document.pred):
        if j not in pairs.values():
            kind, message = "spurious", "was linked to {}, but no mention is annotated there"
            if answer.start < 0:
                kind, message = "not_in_text", "({}) does not stand in the text: copy the words exactly"
            message = f'"{_words(answer, text)}" {message.format(NIL if answer.nil else answer.ids[0])}'
            rows.append(_error(kind, message, None, answer, text))
    rows.sort(key=lambda error: (len(text) if error.start is None else error.start, error.kind))
    return tuple(rows), tuple(right)


def _missed(mention: Mention, answer: Mention | None, text: str) -> tuple[str, str]:
    """The kind of error and the message for a mention whose answer is wrong, or that has none."""
    words, gold = _words(mention, text), _ids(mention)
    if answer is None:
        return "missed", f'"{words}" ({gold}) was not answered'
    place = rank(mention, answer)
    if place == 1:
        return "wrong_boundary", f'{gold} is right, but the mention is "{words}", not "{_words(answer, text)}"'
    if mention.type != answer.type:
        return "wrong_type", f'"{words}" is {mention.type or "without a type"}, not {answer.type or "without a type"}'
    if mention.nil:
        return "nil_missed", f'"{words}" is in no knowledge base (NIL), but was linked to {answer.ids[0]}'
    if answer.nil and not place:
        return "nil_spurious", f'"{words}" is {gold}, but was left without a link (NIL)'
    listed = answer.ids[: place - 1] if place else answer.ids
    rest = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    where = f"stood at rank {place} below" if place else "is not among the candidates"
    return "wrong_link", f'"{words}" is {gold}, which {where} {", ".join(listed[:SHOWN])}{rest}'


def _error(kind: str, message: str, mention: Mention | None, answer: Mention | None, text: str) -> Error:
    place: Any = mention or answer
    start, end, context = None, None, ""
    if place.start >= 0:
        start, end, context = place.start, place.end, quote(text, place.start, place.end)
    message += f', in "{context}".' if context else "."
    # error patterns group by type; an id would be too specific
    (gold, gold_type), (pred, pred_type) = (
        (_words(side, text), NIL if side.nil else "linked") if side else ("", "") for side in (mention, answer)
    )
    return Error(kind, message, gold, pred, gold_type, pred_type, start, end, context, "links")


def _ids(mention: Mention) -> str:
    return NIL if mention.nil else " or ".join(mention.ids)


def _words(side: Mention, text: str) -> str:
    return side.text or (text[side.start : side.end] if side.start >= 0 else "")

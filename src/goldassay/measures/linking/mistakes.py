"""The errors of linking, in words: which candidate stood at which rank, and what was ranked above it."""

from __future__ import annotations

from typing import Any

from goldassay.measure import Error, Review
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.records import NIL, Answer, Mention, rank
from goldassay.text.words import quote

SHOWN = 3  # candidates that are named


def errors(matching: Matching) -> Review:
    """The errors of one document, in the order of the text, and what is right.

    >>> from goldassay.measures.linking.records import sides
    >>> gold = {"text": "Paris, Texas", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q830149"]}}]}
    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q90", "Q830149"]}]
    >>> rows, _ = errors(Matching(sides(gold, pred)))
    >>> print(rows[0].message)
    "Paris" is Q830149, which stood at rank 2 below Q90, in "Paris, Texas".
    """
    document, pairs = matching.document, matching.pairs
    text = document.text
    rows: list[Error] = []
    right: list[str] = []
    for i, j in pairs:
        mention, answer = document.gold[i], document.pred[j]
        if rank(mention, answer) == 1 and mention[:2] == answer[:2]:
            right.append(f'"{_words(mention, text)}" ({_ids(mention)})')
        else:
            rows.append(_error(*_wrong(mention, answer, text), mention, answer, text))
    answered, used = {i for i, _ in pairs}, {j for _, j in pairs}
    for i, mention in enumerate(document.gold):
        if i not in answered:
            message = f'"{_words(mention, text)}" ({_ids(mention)}) was not answered'
            rows.append(_error("missed", message, mention, None, text))
    rows += [_spurious(answer, text) for j, answer in enumerate(document.pred) if j not in used]
    rows.sort(key=lambda error: (len(text) if error.start is None else error.start, error.kind))
    return tuple(rows), tuple(right)


def _wrong(mention: Mention, answer: Answer, text: str) -> tuple[str, str]:
    """The kind of error and the message for a wrong answer to a mention."""
    words, gold, place = _words(mention, text), _ids(mention), rank(mention, answer)
    if place == 1:
        return "wrong_boundary", f'{gold} is right, but the mention is "{words}", not "{_words(answer, text)}"'
    if mention.type != answer.type:
        return "wrong_type", f'"{words}" is {mention.type or "without a type"}, not {answer.type or "without a type"}'
    if mention.nil:
        return "nil_missed", f'"{words}" is in no knowledge base (NIL), but was linked to {answer.candidates[0]}'
    if answer.nil and not place:
        return "nil_spurious", f'"{words}" is {gold}, but was left without a link (NIL)'
    if place:
        above = _listed(answer.candidates[: place - 1])
        return "wrong_link", f'"{words}" is {gold}, which stood at rank {place} below {above}'
    return "wrong_link", f'"{words}" is {gold}, which is not among the candidates {_listed(answer.candidates)}'


def _spurious(answer: Answer, text: str) -> Error:
    words, first = _words(answer, text), NIL if answer.nil else answer.candidates[0]
    if answer.start < 0:
        message = f'"{words}" ({first}) does not stand in the text: copy the words exactly.'
        return Error("not_in_text", message, pred=words, pred_type=NIL if answer.nil else "linked", field="links")
    return _error("spurious", f'"{words}" was linked to {first}, but no mention is annotated there', None, answer, text)


def _error(kind: str, message: str, mention: Mention | None, answer: Answer | None, text: str) -> Error:
    place: Any = mention or answer
    context = quote(text, place.start, place.end)
    message += f', in "{context}".' if context else "."
    # error patterns group by type; an id would be too specific
    (gold, gold_type), (pred, pred_type) = (
        (_words(side, text), NIL if side.nil else "linked") if side else ("", "") for side in (mention, answer)
    )
    return Error(kind, message, gold, pred, gold_type, pred_type, place.start, place.end, context, "links")


def _ids(mention: Mention) -> str:
    return " or ".join(sorted(mention.ids)) or NIL


def _listed(ids: tuple[str, ...]) -> str:
    rest = len(ids) - SHOWN
    return ", ".join(ids[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _words(side: Mention | Answer, text: str) -> str:
    return side.text or (text[side.start : side.end] if side.start >= 0 else "")

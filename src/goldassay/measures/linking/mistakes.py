"""The errors of linking, in words: the rank of the right candidate, and what was ranked above it."""

from __future__ import annotations

from collections.abc import Mapping

from goldassay.core.measure import Error, Review
from goldassay.measures.linking.records import NIL, LinkPair, Mention, rank
from goldassay.text.words import quote

Message = tuple[str, str]
"""The kind of an error, and its message."""


def errors(document: LinkPair, pairs: Mapping[int, int]) -> Review:
    """The errors of one document, in the order of the text, and what is right; ``pairs`` has the answer of a mention.

    >>> from goldassay.measures.linking.records import sides
    >>> gold = {"text": "Paris, Texas", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q830149"]}}]}
    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q90", "Q830149"]}]
    >>> rows, _ = errors(sides(gold, pred), {0: 0})
    >>> print(rows[0].message)
    "Paris" is Q830149, which is at rank 2 below Q90, in "Paris, Texas".
    """
    text = document.text
    rows: list[Error] = []
    right: list[str] = []
    for i, mention in enumerate(document.gold):
        answer = document.pred[pairs[i]] if i in pairs else None
        if answer and rank(mention, answer) == 1 and mention[:2] == answer[:2]:
            right.append(f'"{_words(mention, text)}" ({_ids(mention)})')
            continue
        missed = ("missed", f'"{_words(mention, text)}" ({_ids(mention)}) was not answered')
        rows.append(_error(_wrong(mention, answer, text) if answer else missed, mention, answer, text))
    for j, answer in enumerate(document.pred):
        if j not in pairs.values():
            rows.append(_error(_spurious(answer, text), None, answer, text))
    rows.sort(key=lambda error: (len(text) if error.start is None else error.start, error.kind))
    return tuple(rows), tuple(right)


def _spurious(answer: Mention, text: str) -> Message:
    words = _words(answer, text)
    id_ = NIL if answer.nil else answer.ids[0]
    if answer.start < 0:
        return "not_in_text", f'"{words}" ({id_}) is not in the text: copy the words exactly'
    return "spurious", f'"{words}" was linked to {id_}, but no mention is annotated there'


def _wrong(mention: Mention, answer: Mention, text: str) -> Message:
    most = 3  # candidates that are named
    words = _words(mention, text)
    gold = _ids(mention)
    first = rank(mention, answer)
    if first == 1:
        return "wrong_boundary", f'{gold} is right, but the mention is "{words}", not "{_words(answer, text)}"'
    if mention.type != answer.type:
        return "wrong_type", f'"{words}" is {mention.type or "without a type"}, not {answer.type or "without a type"}'
    if mention.nil:
        return "nil_missed", f'"{words}" is in no knowledge base (NIL), but was linked to {answer.ids[0]}'
    if answer.nil and not first:
        return "nil_spurious", f'"{words}" is {gold}, but was left without a link (NIL)'
    above = answer.ids[: first - 1] if first else answer.ids
    more = f" and {len(above) - most} more" if len(above) > most else ""
    where = f"is at rank {first} below" if first else "is not among the candidates"
    return "wrong_link", f'"{words}" is {gold}, which {where} {", ".join(above[:most])}{more}'


def _error(message: Message, mention: Mention | None, answer: Mention | None, text: str) -> Error:
    kind, sentence = message
    start, end = next((side[:2] for side in (mention, answer) if side), (-1, -1))
    context = quote(text, start, end) if start >= 0 else ""
    return Error(
        kind,
        f'{sentence}, in "{context}".' if context else f"{sentence}.",
        _words(mention, text),
        _words(answer, text),
        _type(mention),
        _type(answer),
        start if start >= 0 else None,
        end if start >= 0 else None,
        context,
        "links",
    )


def _type(side: Mention | None) -> str:
    """``linked``, NIL or nothing: patterns of errors group by it, and an id would be too specific."""
    if side is None:
        return ""
    return NIL if side.nil else "linked"


def _ids(mention: Mention) -> str:
    return NIL if mention.nil else " or ".join(mention.ids)


def _words(side: Mention | None, text: str) -> str:
    if side is None or side.text or side.start < 0:
        return side.text if side else ""
    return text[side.start : side.end]

"""What was got wrong in linking, in words: which candidate stood at which rank and what stood above it."""

from __future__ import annotations

from goldassay.measure import Error
from goldassay.measures.linking.matching import overlapping
from goldassay.measures.linking.records import NIL, Answer, Mention, Read, rank

AROUND = 30  # characters of the text shown on each side
SHOWN = 3  # candidates that are named


def errors(read: Read) -> tuple[tuple[Error, ...], tuple[str, ...]]:
    """The errors of one document, in the order of the text, and what was right.

    >>> from goldassay.measures.linking.records import sides
    >>> gold = {"text": "Paris, Texas", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q830149"]}}]}
    >>> found, _ = errors(sides(gold, [{"start": 0, "end": 5, "candidates": ["Q90", "Q830149"]}]))
    >>> print(found[0].message)
    "Paris" is Q830149, which stood at rank 2 below Q90, in "Paris, Texas".
    """
    found: list[Error] = []
    right: list[str] = []
    pairs = overlapping(read.gold, read.pred)
    for i, j in pairs:
        mention, answer = read.gold[i], read.pred[j]
        if rank(mention, answer) != 1:
            found.append(_link(mention, answer, read.text))
        elif (mention.start, mention.end) != (answer.start, answer.end):
            found.append(_boundary(mention, answer, read.text))
        else:
            right.append(f'"{_words(mention, read.text)}" ({_ids(mention)})')
    answered, used = {i for i, _ in pairs}, {j for _, j in pairs}
    found += [_missed(m, read.text) for i, m in enumerate(read.gold) if i not in answered]
    found += [_spurious(a, read.text) for j, a in enumerate(read.pred) if j not in used]
    found.sort(key=lambda error: (len(read.text) if error.start is None else error.start, error.kind))
    return tuple(found), tuple(right)


def _link(mention: Mention, answer: Answer, text: str) -> Error:
    words, gold, place = _words(mention, text), _ids(mention), rank(mention, answer)
    kind = "wrong_link"
    if mention.nil:
        kind, says = "nil_missed", f'"{words}" is in no knowledge base (NIL), but was linked to {answer.candidates[0]}'
    elif answer.nil and not place:
        kind, says = "nil_spurious", f'"{words}" is {gold}, but was left without a link (NIL)'
    elif place:
        says = f'"{words}" is {gold}, which stood at rank {place} below {_listed(answer.candidates[: place - 1])}'
    else:
        says = f'"{words}" is {gold}, which is not among the candidates {_listed(answer.candidates)}'
    return _error(kind, says, mention, answer, text)


def _boundary(mention: Mention, answer: Answer, text: str) -> Error:
    says = f'{_ids(mention)} is right, but the mention is "{_words(mention, text)}", not "{_words(answer, text)}"'
    return _error("wrong_boundary", says, mention, answer, text)


def _missed(mention: Mention, text: str) -> Error:
    return _error("missed", f'"{_words(mention, text)}" ({_ids(mention)}) was not answered', mention, None, text)


def _spurious(answer: Answer, text: str) -> Error:
    words, first = _words(answer, text), NIL if answer.nil else answer.candidates[0]
    if answer.start < 0:
        says = f'"{words}" ({first}) does not stand in the text: copy the words exactly.'
        return Error("not_in_text", says, "", words, "", _sort(answer), field="links")
    where = _context(answer, text)
    says = f'"{words}" was linked to {first}, but no mention is annotated there'
    return Error(
        "spurious", _sentence(says, where), "", words, "", _sort(answer), answer.start, answer.end, where, "links"
    )


def _error(kind: str, says: str, mention: Mention, answer: Answer | None, text: str) -> Error:
    where, gold = _context(mention, text), _words(mention, text)
    pred, sort = (_words(answer, text), _sort(answer)) if answer else ("", "")
    message = _sentence(says, where)
    return Error(kind, message, gold, pred, _sort(mention), sort, mention.start, mention.end, where, "links")


def _sort(side: Mention | Answer) -> str:
    """What patterns group by: an id is too special."""
    return NIL if side.nil else "linked"


def _ids(mention: Mention) -> str:
    return " or ".join(sorted(mention.ids)) or NIL


def _listed(ids: tuple[str, ...]) -> str:
    rest = len(ids) - SHOWN
    return ", ".join(ids[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _words(side: Mention | Answer, text: str) -> str:
    return side.text or (text[side.start : side.end] if side.start >= 0 else "")


def _context(side: Mention | Answer, text: str) -> str:
    before, after = max(0, side.start - AROUND), min(len(text), side.end + AROUND)
    shown = " ".join(text[before:after].split())
    return f"{'…' if before else ''}{shown}{'…' if after < len(text) else ''}" if shown else ""


def _sentence(says: str, where: str) -> str:
    return f'{says}, in "{where}".' if where else f"{says}."

"""Mentions with their ids and answers with their candidates, as the measures read them.

The key of a mention is (document, start, end), never its words. A key that gold repeats is one mention with all the
ids; a key that a prediction repeats is one answer with all the candidates. Candidates are ranked by score, highest
first; candidates with equal scores, or any without one, keep the given order. A repeated id counts at its first place.
No candidates, or ``NIL`` as the first, means "in no knowledge base"; ``NIL12`` means the same, and names the entity.

Redirects and other ids that mean the same come from a table that the caller gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import gold_field, pred_field
from goldassay.text.locate import widened

Ids = Mapping[str, Sequence[str]]
IdPairs = tuple[tuple[str, str], ...]

NIL = "NIL"
IRI = re.compile(
    r"^(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:)(?=Q\d+$)|^https?://(?:www\.)?viaf\.org/viaf/"
)


class Mention(NamedTuple):
    """A gold mention: no ids is NIL; ``bases`` are the ids by knowledge base, as given.

    An ``optional`` mention may be left out; ``parent`` is the span of the mention that this one is part of. ``name`` is
    that of an entity in no knowledge base; ``type`` is empty unless types are compared.
    """

    start: int
    end: int
    text: str
    ids: frozenset[str]
    bases: Ids
    optional: bool = False
    parent: tuple[int, int] | None = None
    name: str = ""
    type: str = ""

    @property
    def nil(self) -> bool:
        """Whether it is in no knowledge base."""
        return not self.ids

    @property
    def cluster(self) -> str:
        """The entity that it is a mention of; empty if it has no name."""
        return min(self.ids, default=self.name)


class Answer(NamedTuple):
    """A predicted mention: ids best first; ``start`` is -1 if its words do not occur in the text.

    ``form`` is how the system's file writes the words, where that differs from gold.
    """

    start: int
    end: int
    text: str
    candidates: tuple[str, ...]
    bases: Ids
    form: str = ""
    type: str = ""

    @property
    def nil(self) -> bool:
        """Whether the answer is "in no knowledge base"."""
        return not self.candidates or self.candidates[0].startswith(NIL)

    @property
    def cluster(self) -> str:
        """The entity that it is a mention of; empty if it has no name."""
        return next((id_ for id_ in self.candidates[:1] if id_ != NIL), "")


class Document(NamedTuple):
    """Both sides of one document, in the order of the text.

    ``repeated`` counts predictions merged into another; ``failed`` says that the program gave none, not even no links.
    """

    gold: tuple[Mention, ...]
    pred: tuple[Answer, ...]
    text: str
    repeated: int
    failed: bool = False


def sides(
    gold: object, pred: object, equivalent: IdPairs = (), bounds: str = "given", *, typed: bool = False
) -> Document:
    """The mentions and answers of a pair of records, or of two bare lists of links.

    Args:
        gold: The gold document, or its links.
        pred: The prediction, or its links.
        equivalent: Pairs of ids that mean the same.
        bounds: ``word`` first widens the spans of both sides to whole words of the text (`widened`).
        typed: Whether types of links are read: then no answer is right that has another type.

    >>> gold = [{"start": 0, "end": 4, "ids": {"wikidata": ["Q1"]}}]
    >>> document = sides(gold, [{"start": 0, "end": 4, "candidates": ["Q1"]}])
    >>> rank(document.gold[0], document.pred[0])
    1
    """
    same = canonical(equivalent) if equivalent else {}
    text = "" if isinstance(gold, (list, tuple)) else str(gold_field(gold, "text", "") or "")
    left = gold if isinstance(gold, (list, tuple)) else gold_field(gold, "links")
    right = pred if isinstance(pred, (list, tuple)) else pred_field(pred, "links")
    words = text if bounds == "word" else ""
    answers, repeated = _answers(right or (), same, words, typed)
    return Document(tuple(_mentions(left or (), same, words, typed)), tuple(answers), text, repeated, right is None)


def rank(mention: Mention, answer: Answer) -> int:
    """The place of the first right candidate, from 1; 0 if there is none. For a NIL mention, ``NIL`` is right."""
    if mention.type != answer.type:
        return 0
    if mention.nil:
        ids = answer.candidates or (NIL,)
        return next((place for place, id_ in enumerate(ids, start=1) if id_.startswith(NIL)), 0)
    return next((place for place, id_ in enumerate(answer.candidates, start=1) if id_ in mention.ids), 0)


def _get(link: object, name: str, default: object = None) -> Any:
    return link.get(name, default) if type(link) is dict else read(link, name, default)


def _type(link: object, typed: bool) -> str:
    return str(_get(link, "type") or "") if typed else ""


def _mentions(links: Iterable[Any], same: Mapping[str, str], words: str, typed: bool) -> list[Mention]:
    mentions: dict[tuple[int, int], Mention] = {}
    for number, link in enumerate(links):
        where = f"gold links[{number}]"
        span, form = _place(link, where, words)
        bases = _bases(_get(link, "ids"), where)
        listed = {same.get(id_, id_) for group in bases.values() for id_ in map(plain, group)} - {NIL}
        ids = frozenset(id_ for id_ in listed if not id_.startswith(NIL))
        name, type_ = min(listed - ids, default=""), _type(link, typed)
        if before := mentions.get(span):
            name = name or before.name
            ids, bases = ids | before.ids, {**{base: list(group) for base, group in before.bases.items()}, **bases}
        parent = _get(link, "parent") or None
        if parent:
            first, last = parent
            parent = widened(first, last, words) if words else (first, last)
        mentions[span] = Mention(*span, form, ids, bases, bool(_get(link, "optional")), parent, name, type_)
    return [mentions[span] for span in sorted(mentions)]


def _answers(links: Iterable[Any], same: Mapping[str, str], words: str, typed: bool) -> tuple[list[Answer], int]:
    """The answers, and how many links were merged into another one."""
    merged: dict[tuple[int, int, str], tuple[Answer, list[tuple[str, float | None]]]] = {}
    count = 0
    for count, link in enumerate(links, start=1):
        where = f"predicted links[{count - 1}]"
        span, form = _place(link, where, words, required=False)
        listed, bases = _get(link, "candidates"), _bases(_get(link, "ids"), where)
        if listed is None:
            listed = [id_ for group in bases.values() for id_ in group]
        key = (*span, form if span[0] < 0 else "")
        blank = Answer(*span, form, (), {}, str(_get(link, "form") or ""), _type(link, typed))
        answer, candidates = merged.get(key) or (blank, [])
        candidates += [_candidate(each, f"{where}.candidates[{place}]") for place, each in enumerate(listed)]
        merged[key] = answer._replace(bases={**answer.bases, **bases}), candidates
    answers = [answer._replace(candidates=_ranked(candidates, same)) for answer, candidates in merged.values()]
    return sorted(answers, key=lambda answer: (answer.start, answer.end)), count - len(answers)


def _ranked(candidates: Sequence[tuple[str, float | None]], same: Mapping[str, str]) -> tuple[str, ...]:
    if all(score is not None for _, score in candidates):
        candidates = sorted(candidates, key=lambda pair: -(pair[1] or 0.0))
    return tuple(dict.fromkeys(same.get(id_, id_) for id_, _ in candidates))


def _candidate(candidate: Any, where: str) -> tuple[str, float | None]:
    if candidate is None or isinstance(candidate, (str, int)):
        return plain(candidate), None
    id_, score = _get(candidate, "id", _get(candidate, "kb_id", ...)), _get(candidate, "score")
    if id_ is ...:
        raise DataError("a candidate is {'id', 'score'}; this one has no id", field=where)
    try:
        number = None if score is None else float(score)
    except (TypeError, ValueError):
        number = math.nan
    if number is not None and math.isnan(number):
        raise DataError(f"expected a number as the score, got {score!r}", field=where)
    return plain(id_), number


def _place(link: Any, where: str, words: str, *, required: bool = True) -> tuple[tuple[int, int], str]:
    """The span of a link and its own text; widened to whole words of ``words``, if given."""
    start, end, text = _get(link, "start"), _get(link, "end"), str(_get(link, "text") or "")
    if start is None and not required:
        return (-1, -1), text
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end:
        raise DataError(f"a mention begins before it ends, not {start}–{end}", field=where)
    return (widened(start, end, words), "") if words and end <= len(words) else ((start, end), text)


def _bases(ids: Any, where: str) -> dict[str, list[str]]:
    """Ids by knowledge base; a bare id or list has no named base."""
    if not ids:
        return {}
    if isinstance(ids, str):
        return {"": ids.split("|")}
    if isinstance(ids, Mapping):
        return {
            str(kb): [str(each)] if isinstance(each, (str, int)) else list(each) for kb, each in ids.items() if each
        }
    if isinstance(ids, (list, tuple, set, frozenset)):
        return {"": list(ids)}
    raise DataError(f"ids are lists by knowledge base, such as {{'wikidata': ['Q42']}}, not {ids!r}", field=where)


def plain(id_: object) -> str:
    """An id without the address of its knowledge base; ``NIL`` for none.

    >>> plain("http://www.wikidata.org/entity/Q42"), plain("wd:Q42"), plain(None)
    ('Q42', 'Q42', 'NIL')
    """
    text = "" if id_ is None else str(id_).strip()
    return IRI.sub("", text).rstrip("/") if text and text.upper() != NIL else NIL


def pairs(table: Mapping[str, str] | IdPairs | None) -> IdPairs:
    """A table as the tuple of pairs that a measure takes."""
    return tuple(sorted(table.items())) if isinstance(table, Mapping) else tuple(table or ())


@lru_cache(maxsize=64)
def canonical(table: IdPairs) -> dict[str, str]:
    """Each id of a table with the one that counts: the end of its chain, or the least id of a ring.

    >>> canonical((("Q1", "Q2"), ("Q2", "Q3"), ("Q8", "Q9"), ("Q9", "Q8")))
    {'Q1': 'Q3', 'Q2': 'Q3', 'Q8': 'Q8', 'Q9': 'Q8'}
    """
    steps = {plain(a): plain(b) for a, b in table}
    counted = {}
    for start in steps:
        chain = [start]
        while chain[-1] in steps and steps[chain[-1]] not in chain:
            chain.append(steps[chain[-1]])
        end = chain[-1]
        counted[start] = min(chain[chain.index(steps[end]) :]) if end in steps else end
    return counted

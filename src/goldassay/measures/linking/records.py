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
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import gold_field, pred_field
from goldassay.text.spans import widened

Ids = Mapping[str, Sequence[str]]
IdPairs = tuple[tuple[str, str], ...]
Scored = tuple[str, float | None]
L = TypeVar("L")

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


def is_over(side: Mention | Answer, over: str) -> bool:
    """Whether a mention or an answer counts among ``all``, those in the knowledge base (``inkb``), or ``nil``."""
    return over == "all" or side.nil == (over == "nil")


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
    same = canonical(equivalent)
    bare = isinstance(gold, (list, tuple))
    text = "" if bare else str(gold_field(gold, "text", "") or "")
    left: Any = gold if bare else gold_field(gold, "links")
    right: Any = pred if isinstance(pred, (list, tuple)) else pred_field(pred, "links")
    words = text if bounds == "word" else ""
    mentions: dict[tuple[int, int], Mention] = {}
    for mention in _read(left, "gold", lambda link: _mention(link, same, words, typed)):
        if before := mentions.get(mention[:2]):
            ids, bases = before.ids | mention.ids, {**before.bases, **mention.bases}
            mention = mention._replace(ids=ids, bases=bases, name=mention.name or before.name)
        mentions[mention[:2]] = mention
    answers: dict[tuple[int, int, str], tuple[Answer, list[Scored]]] = {}
    read_answers = _read(right, "predicted", lambda link: _answer(link, words, typed))
    for answer, candidates in read_answers:
        key = (answer.start, answer.end, answer.text if answer.start < 0 else "")
        first, listed = answers.get(key, (answer, []))
        answers[key] = first._replace(bases={**first.bases, **answer.bases}), [*listed, *candidates]
    ranked = [answer._replace(candidates=_ranked(listed, same)) for answer, listed in answers.values()]
    return Document(
        tuple(sorted(mentions.values(), key=lambda mention: mention[:2])),
        tuple(sorted(ranked, key=lambda answer: answer[:2])),
        text,
        len(read_answers) - len(ranked),
        right is None,
    )


def rank(mention: Mention, answer: Answer) -> int:
    """The place of the first right candidate, from 1; 0 if there is none. For a NIL mention, ``NIL`` is right."""
    if mention.type != answer.type:
        return 0
    if mention.nil:
        ids = answer.candidates or (NIL,)
        return next((place for place, id_ in enumerate(ids, start=1) if id_.startswith(NIL)), 0)
    return next((place for place, id_ in enumerate(answer.candidates, start=1) if id_ in mention.ids), 0)


def _read(links: Iterable[Any] | None, side: str, reader: Callable[[Any], L]) -> list[L]:
    """The links of a side; an error says which of them it is about."""
    rows = []
    for number, link in enumerate(links or ()):
        try:
            rows.append(reader(link))
        except DataError as error:
            raise error.at(field=f"{side} links[{number}]") from None
    return rows


def _mention(link: Any, same: Mapping[str, str], words: str, typed: bool) -> Mention:
    span, text = _place(link, words)
    bases = _bases(read(link, "ids", None))
    ids = {same.get(id_, id_) for group in bases.values() for id_ in map(plain, group)} - {NIL}
    names = {id_ for id_ in ids if id_.startswith(NIL)}
    parent = read(link, "parent", None) or None
    if parent:
        first, last = parent
        parent = widened(first, last, words) if words else (first, last)
    optional, name = bool(read(link, "optional", None)), min(names, default="")
    return Mention(*span, text, frozenset(ids - names), bases, optional, parent, name, _type(link, typed))


def _answer(link: Any, words: str, typed: bool) -> tuple[Answer, list[Scored]]:
    """An answer, and its candidates with their scores."""
    span, text = _place(link, words) if read(link, "start", None) is not None else ((-1, -1), _text(link, "text"))
    bases, listed = _bases(read(link, "ids", None)), read(link, "candidates", None)
    if listed is None:
        listed = [id_ for group in bases.values() for id_ in group]
    return Answer(*span, text, (), bases, _text(link, "form"), _type(link, typed)), list(map(_candidate, listed))


def _text(link: Any, name: str) -> str:
    return str(read(link, name, None) or "")


def _type(link: Any, typed: bool) -> str:
    return _text(link, "type") if typed else ""


def _ranked(candidates: Sequence[Scored], same: Mapping[str, str]) -> tuple[str, ...]:
    if all(score is not None for _, score in candidates):
        candidates = sorted(candidates, key=lambda pair: -(pair[1] or 0.0))
    return tuple(dict.fromkeys(same.get(id_, id_) for id_, _ in candidates))


def _candidate(candidate: Any) -> Scored:
    if candidate is None or isinstance(candidate, (str, int)):
        return plain(candidate), None
    id_, score = read(candidate, "id", read(candidate, "kb_id", ...)), read(candidate, "score", None)
    if id_ is ...:
        raise DataError("a candidate is {'id', 'score'}; this one has no id")
    try:
        number = None if score is None else float(score)
    except (TypeError, ValueError):
        number = math.nan
    if number is not None and math.isnan(number):
        raise DataError(f"expected a number as the score, got {score!r}")
    return plain(id_), number


def _place(link: Any, words: str) -> tuple[tuple[int, int], str]:
    """The span of a link and its own text; widened to whole words of ``words``, if given."""
    start, end = read(link, "start", None), read(link, "end", None)
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end:
        raise DataError(f"a mention begins before it ends, not {start}–{end}")
    return (widened(start, end, words), "") if words and end <= len(words) else ((start, end), _text(link, "text"))


def _bases(ids: Any) -> dict[str, list[str]]:
    """Ids by knowledge base; a bare id or list has no named base."""
    if isinstance(ids, str):
        ids = ids.split("|")
    by_base = {"": ids} if isinstance(ids, (list, tuple, set, frozenset)) else ids or {}
    if not isinstance(by_base, Mapping):
        raise DataError(f"ids are lists by knowledge base, such as {{'wikidata': ['Q42']}}, not {ids!r}")
    return {
        str(base): [str(each)] if isinstance(each, (str, int)) else list(each) for base, each in by_base.items() if each
    }


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

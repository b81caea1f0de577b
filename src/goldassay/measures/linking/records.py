"""Mentions with their ids, as the measures read them from gold and from a prediction.

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
from itertools import chain
from typing import NamedTuple

from goldassay._support.exceptions import DataError
from goldassay.core.fields import names, read, without_enums
from goldassay.core.measure import gold_field, pred_field
from goldassay.measures.extraction.records import items_of, refuse_missing_offsets, text_of
from goldassay.text.spans import widened

Ids = Mapping[str, Sequence[str]]
Links = Sequence[object] | None

IdPairs = tuple[tuple[str, str], ...]
Scored = tuple[str, float | None]

NIL = "NIL"
UNNAMED = "NIL?"  # neleval's mention without a candidate: it counts among all, and is neither linked nor NIL
IRI = re.compile(
    r"^(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:)(?=Q\d+$)|^https?://(?:www\.)?viaf\.org/viaf/"
)


class Mention(NamedTuple):
    """A mention of gold with the ids that are right, or of a prediction with its candidates, best first.

    ``start`` is -1 if its words do not occur in the text; ``bases`` are the ids by knowledge base, as given; ``type``
    is empty unless types are compared. In gold, an ``optional`` mention may be left out, and ``parent`` is the span of
    the mention that this one is part of; ``form`` is how a system's file writes the words, where that differs.
    ``chains`` has the entity of each link of a mention that its side repeats.
    """

    start: int
    end: int
    text: str
    ids: tuple[str, ...]
    bases: Ids
    type: str = ""
    optional: bool = False
    parent: tuple[int, int] | None = None
    form: str = ""
    chains: tuple[str, ...] = ()

    @property
    def nil(self) -> bool:
        """Whether it is in no knowledge base."""
        return not self.ids or self.ids[0].startswith(NIL)

    @property
    def cluster(self) -> str:
        """The entity that it is a mention of; empty if it has no name."""
        return next((id_ for id_ in self.ids[:1] if id_ != NIL), "")

    def is_over(self, over: str) -> bool:
        """Whether it counts among ``all``, those in the knowledge base (``inkb``), or ``nil``."""
        return over == "all" or (self.nil == (over == "nil") and self.cluster != UNNAMED)


class LinkPair(NamedTuple):
    """Both sides of one document, in the order of the text.

    ``repeated`` counts predictions merged into another; ``failed`` says that the program gave none, not even no links.
    """

    gold: tuple[Mention, ...]
    pred: tuple[Mention, ...]
    text: str
    repeated: int
    failed: bool = False


def sides(
    gold: object, pred: object, equivalent: IdPairs = (), bounds: str = "given", *, typed: bool = False
) -> LinkPair:
    """The mentions of a pair of records, or of two bare lists of links.

    Args:
        gold: The gold document, or its links.
        pred: The prediction, or its links.
        equivalent: Pairs of ids that mean the same.
        bounds: ``word`` first widens the spans of both sides to whole words of the text (`widened`).
        typed: Whether types of links are read: then no answer is right that has another type.

    Raises:
        DataError: A link has no valid offsets, ids or candidates.
        FieldError: A record has no ``links``.

    >>> gold = [{"start": 0, "end": 4, "ids": {"wikidata": ["Q1"]}}]
    >>> document = sides(gold, [{"start": 0, "end": 4, "candidates": ["Q1"]}])
    >>> rank(document.gold[0], document.pred[0])
    1
    """
    text = text_of(gold)
    left: Links = items_of(gold, gold_field, "links")
    right: Links = items_of(pred, pred_field, "links")
    same = canonical(equivalent)
    words = text if bounds == "word" else ""
    mentions = []
    for mention, links in _merged(left, "gold", words, typed):
        ids = sorted({same.get(id_, id_) for id_, _ in chain(*links)} - {NIL})
        in_base = [id_ for id_ in ids if not id_.startswith(NIL)]
        mentions.append(mention._replace(ids=tuple(in_base or ids[:1]), chains=_chains(links, same)))
    answers = []
    for answer, links in _merged(right, "predicted", words, typed):
        candidates = list(chain(*links))
        if all(score is not None for _, score in candidates):
            candidates.sort(key=lambda pair: -(pair[1] or 0.0))
        ids = list(dict.fromkeys(same.get(id_, id_) for id_, _ in candidates))
        answers.append(answer._replace(ids=tuple(ids), chains=_chains(links, same)))
    return LinkPair(tuple(mentions), tuple(answers), text, len(right or ()) - len(answers), right is None)


def rank(mention: Mention, answer: Mention) -> int:
    """The place of the first right candidate, from 1; 0 if there is none. For a NIL mention, ``NIL`` is right."""
    if mention.type != answer.type:
        return 0
    right = (id_.startswith(NIL) if mention.nil else id_ in mention.ids for id_ in answer.ids or (NIL,))
    return next((position for position, is_right in enumerate(right, start=1) if is_right), 0)


def _chains(links: Sequence[Sequence[Scored]], same: Mapping[str, str]) -> tuple[str, ...]:
    """The entity of each of several links with one key."""
    firsts = [next((id_ for id_, _ in listed), NIL) for listed in links] if len(links) > 1 else []
    return tuple(same.get(id_, id_) for id_ in firsts)


def _merged(links: Links, side: str, words: str, typed: bool) -> list[tuple[Mention, list[list[Scored]]]]:
    """The links of a side in the order of the text, those of one key together; an error says which of them is wrong."""
    merged: dict[tuple[object, ...], tuple[Mention, list[list[Scored]]]] = {}
    predicted = side == "predicted"
    if links and not isinstance(links, Iterable):
        raise DataError(f"expected a list of links, not {type(links).__name__}", field=f"{side} links")
    for number, link in enumerate(links or ()):
        try:
            mention, listed = _link(link, words, typed, predicted)
        except DataError as error:
            raise error.at(field=f"{side} links[{number}]") from None
        key = (*mention[:2], mention.text if mention.start < 0 else "")
        first, before = merged.get(key, (mention, []))
        counted = first if predicted else mention
        merged[key] = counted._replace(bases={**first.bases, **mention.bases}), [*before, listed]
    return sorted(merged.values(), key=lambda row: row[0][:2])


def _link(link: object, words: str, typed: bool, predicted: bool) -> tuple[Mention, list[Scored]]:
    """A link, and its ids with their scores; a predicted one may have no place in the text."""
    get = link.get if isinstance(link, dict) else lambda name: read(link, name, None)
    start, end, ids, parent, candidates = map(get, ("start", "end", "ids", "parent", "candidates"))
    text = str(get("text") or "")
    if predicted and start is None:
        refuse_missing_offsets(link)
        start = end = -1
    elif not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end:
        raise DataError(f"a mention begins before it ends, not {start}–{end}")
    elif words and end <= len(words):
        start, end = widened(start, end, words)
        text = ""
    if parent:
        first, last = parent
        parent = widened(first, last, words) if words else (first, last)
    if isinstance(ids, str):
        ids = ids.split("|")
    if isinstance(ids, (list, tuple, set, frozenset)):
        ids = {"": ids}
    if not isinstance(ids, (Mapping, type(None))):
        raise DataError(f"ids are lists by knowledge base, such as {{'wikidata': ['Q42']}}, not {ids!r}")
    bases: dict[str, list[str]] = {}
    for base, listed in (ids or {}).items():
        if listed:
            bases[str(base)] = [str(listed)] if isinstance(listed, (str, int)) else list(listed)
    if predicted and candidates is None and ids is None and read(link, "candidates", "") == "":
        raise DataError(f"a link needs candidates, of which none says NIL; it has {', '.join(names(link))}")
    if predicted and not isinstance(candidates, (list, tuple, set, frozenset, type(None))):
        raise DataError(f"candidates are a list, best first, not {candidates!r}")
    if candidates is None or not predicted:
        candidates = [id_ for group in bases.values() for id_ in group]
    kind = str(without_enums(get("type")) or "") if typed else ""
    mention = Mention(start, end, text, (), bases, kind, bool(get("optional")), parent, str(get("form") or ""))
    return mention, list(map(_candidate, candidates))


def _candidate(candidate: object) -> Scored:
    if candidate is None or isinstance(candidate, (str, int)):
        return bare_id(candidate), None
    id_ = read(candidate, "id", read(candidate, "kb_id", ...))
    score = read(candidate, "score", None)
    if id_ is ...:
        raise DataError("a candidate is {'id', 'score'}; this one has no id")
    if score is None:
        return bare_id(id_), None
    try:
        number = float(score)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise DataError(f"expected a number as the score, got {score!r}")
    return bare_id(id_), number


def bare_id(id_: str | int | None) -> str:
    """An id without the address of its knowledge base; ``NIL`` for none.

    >>> bare_id("http://www.wikidata.org/entity/Q42"), bare_id("wd:Q42"), bare_id(None)
    ('Q42', 'Q42', 'NIL')
    """
    text = "" if id_ is None else str(id_).strip()
    return IRI.sub("", text).rstrip("/") if text and text.upper() != NIL else NIL


@lru_cache(maxsize=64)
def canonical(table: IdPairs) -> dict[str, str]:
    """Each id of a table with the one that counts: the end of its chain, or the least id of a ring.

    >>> canonical((("Q1", "Q2"), ("Q2", "Q3"), ("Q8", "Q9"), ("Q9", "Q8")))
    {'Q1': 'Q3', 'Q2': 'Q3', 'Q8': 'Q8', 'Q9': 'Q8'}
    """
    steps = {bare_id(a): bare_id(b) for a, b in table}
    counted = {}
    for start in steps:
        chain = [start]
        while (end := steps.get(chain[-1])) and end not in chain:
            chain.append(end)
        counted[start] = min(chain[chain.index(end) :]) if end else chain[-1]
    return counted

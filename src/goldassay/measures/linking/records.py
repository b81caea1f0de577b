"""Mentions with their ids, and answers with their candidates, as measures read them.

A mention is keyed by (document, start, end), never by its words. A key that gold repeats is one mention with all the
ids; a key that a prediction repeats is one answer whose candidates are put together. Candidates go by score, highest
first; those with equal scores, and all of them where one has no score, stay in the order given. An id that comes again
counts where it came first. No candidates, or ``NIL`` as the first, is the answer "in no knowledge base".

Ids that mean the same: redirects and equivalences, from a table that the caller gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from goldassay.exceptions import DataError
from goldassay.fields import read as read_field
from goldassay.measure import gold_field, pred_field
from goldassay.text.locate import widened

Ids = Mapping[str, Sequence[str]]


class Mention(NamedTuple):
    """A mention of gold: no ids is NIL; ``bases`` are the ids by knowledge base, as given.

    An ``optional`` one may be left out; ``parent`` is the place of the mention that this one is a part of.
    """

    start: int
    end: int
    text: str
    ids: frozenset[str]
    bases: Ids
    optional: bool = False
    parent: tuple[int, int] | None = None

    @property
    def nil(self) -> bool:
        """Whether it is in no knowledge base."""
        return not self.ids


class Answer(NamedTuple):
    """A predicted mention: ids best first; ``start`` is -1 where its words were not found in the text.

    ``form`` is how the system's file writes the words, where that is not how gold does.
    """

    start: int
    end: int
    text: str
    candidates: tuple[str, ...]
    bases: Ids
    form: str = ""

    @property
    def nil(self) -> bool:
        """Whether the answer is "in no knowledge base"."""
        return not self.candidates or self.candidates[0] == NIL


class Read(NamedTuple):
    """Both sides of one document, in the order of the text; ``repeated`` predictions were put together."""

    gold: tuple[Mention, ...]
    pred: tuple[Answer, ...]
    text: str
    repeated: int


def sides(gold: object, pred: object, equivalent: IdPairs = (), bounds: str = "given") -> Read:
    """The mentions and answers of a pair of records, or of two bare lists of links.

    With ``bounds="word"`` both are widened to whole words of the text first (`widened`).

    >>> gold = [{"start": 0, "end": 4, "ids": {"wikidata": ["Q1"]}}]
    >>> found = sides(gold, [{"start": 0, "end": 4, "candidates": ["Q1"]}])
    >>> rank(found.gold[0], found.pred[0])
    1
    """
    same = canonical(equivalent) if equivalent else {}
    text = "" if isinstance(gold, (list, tuple)) else gold_field(gold, "text", "") or ""
    left = gold if isinstance(gold, (list, tuple)) else gold_field(gold, "links")
    right = pred if isinstance(pred, (list, tuple)) else pred_field(pred, "links")
    if bounds == "word" and text:
        left, right = ([_wide(item, str(text)) for item in items or ()] for items in (left, right))
    mentions = _mentions(left or (), same)
    answers, repeated = _answers(right or (), same)
    return Read(tuple(mentions), tuple(answers), str(text), repeated)


def _wide(item: Any, text: str) -> dict[str, Any]:
    """A link with its place, and that of its parent, widened."""
    known = ("start", "end", "text", "ids", "candidates", "type", "form", "optional", "parent")
    made = {name: value(item, name) for name in known if value(item, name) is not None}
    start, end = made.get("start"), made.get("end")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text):
        made["start"], made["end"] = widened(start, end, text)
        made.pop("text", None)
    if made.get("parent"):
        first, last = made["parent"]
        made["parent"] = widened(first, last, text)
    return made


def rank(mention: Mention, answer: Answer) -> int:
    """The place of the first right candidate, from 1; 0 where there is none. For NIL, ``NIL`` is the right one."""
    if mention.nil and not answer.candidates:
        return 1
    right = mention.ids or {NIL}
    return next((place for place, one in enumerate(answer.candidates, start=1) if one in right), 0)


def value(item: object, name: str, default: object = None) -> Any:
    """A field of a link; a plain dict, as most are, is asked without ceremony."""
    return item.get(name, default) if type(item) is dict else read_field(item, name, default)


def _mentions(items: Iterable[Any], same: Mapping[str, str]) -> list[Mention]:
    found: dict[tuple[int, int], Mention] = {}
    for number, item in enumerate(items):
        where = f"gold links[{number}]"
        start, end = _place(item, where)
        bases = _bases(value(item, "ids", None), where)
        ids = frozenset(same.get(one, one) for group in bases.values() for one in map(plain, group)) - {NIL}
        before = found.get((start, end))
        if before is not None:
            ids, bases = ids | before.ids, {**{kb: list(group) for kb, group in before.bases.items()}, **bases}
        parent = value(item, "parent", None)
        found[start, end] = Mention(
            start,
            end,
            str(value(item, "text", "") or ""),
            ids,
            bases,
            bool(value(item, "optional", None)),
            (parent[0], parent[1]) if parent else None,
        )
    return [found[key] for key in sorted(found)]


def _answers(items: Iterable[Any], same: Mapping[str, str]) -> tuple[list[Answer], int]:
    together: dict[tuple[int, int, str], list[Any]] = {}
    count = 0
    for number, item in enumerate(items):
        where = f"predicted links[{number}]"
        words = str(value(item, "text", "") or "")
        start, end = (-1, -1) if value(item, "start", None) is None else _place(item, where)
        listed = value(item, "candidates", None)
        scored = [_scored(one, f"{where}.candidates[{k}]") for k, one in enumerate(listed or ())]
        bases = _bases(value(item, "ids", None), where)
        if listed is None and bases:
            scored = [(plain(one), None) for group in bases.values() for one in group]
        key = (start, end, words if start < 0 else "")
        entry = together.setdefault(key, [words, [], {}, str(value(item, "form", "") or "")])
        entry[1] += scored
        entry[2] |= bases
        count += 1
    out = [
        Answer(*key[:2], words, _ordered(ids, same), bases, form) for key, (words, ids, bases, form) in together.items()
    ]
    return sorted(out, key=lambda answer: (answer.start, answer.end)), count - len(out)


def _ordered(scored: Sequence[tuple[str, float | None]], same: Mapping[str, str]) -> tuple[str, ...]:
    if all(score is not None for _, score in scored):
        scored = sorted(scored, key=lambda pair: -(pair[1] or 0.0))
    return tuple(dict.fromkeys(same.get(one, one) for one, _ in scored))


def _scored(item: Any, where: str) -> tuple[str, float | None]:
    if item is None or isinstance(item, (str, int)):
        return plain(item), None
    one = value(item, "id", value(item, "kb_id", ...))
    if one is ...:
        raise DataError("a candidate is {'id', 'score'}; this one has no id", field=where)
    score = value(item, "score", None)
    if score is None:
        return plain(one), None
    try:
        number = float(score)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise DataError(f"a score is a number, not {score!r}", field=where)
    return plain(one), number


def _place(item: Any, where: str) -> tuple[int, int]:
    start, end = value(item, "start", None), value(item, "end", None)
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end:
        raise DataError(f"a mention begins before it ends, not {start}–{end}", field=where)
    return start, end


def _bases(ids: Any, where: str) -> dict[str, list[str]]:
    """Ids by knowledge base; a list or one id belongs to none that is named."""
    if not ids:
        return {}
    if isinstance(ids, str):
        return {"": ids.split("|")}
    if isinstance(ids, Mapping):
        return {str(kb): [str(one)] if isinstance(one, (str, int)) else list(one) for kb, one in ids.items() if one}
    if isinstance(ids, (list, tuple, set, frozenset)):
        return {"": list(ids)}
    raise DataError(f"ids are lists by knowledge base, such as {{'wikidata': ['Q42']}}, not {ids!r}", field=where)


IdPairs = tuple[tuple[str, str], ...]

NIL = "NIL"
IRI = re.compile(
    r"^(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:)(?=Q\d+$)|^https?://(?:www\.)?viaf\.org/viaf/"
)


def plain(one: object) -> str:
    """An id without the address of its knowledge base; ``NIL`` for none.

    >>> plain("http://www.wikidata.org/entity/Q42"), plain("wd:Q42"), plain(None)
    ('Q42', 'Q42', 'NIL')
    """
    text = "" if one is None else str(one).strip()
    return IRI.sub("", text).rstrip("/") if text and text.upper() != NIL else NIL


def pairs(table: Mapping[str, str] | IdPairs | None) -> IdPairs:
    """A table as the tuple of pairs that a measure takes."""
    return tuple(sorted(table.items())) if isinstance(table, Mapping) else tuple(table or ())


@lru_cache(maxsize=64)
def canonical(table: IdPairs) -> dict[str, str]:
    """Each id of a table with the one that is counted: the end of its chain, the least id where a chain runs in a ring.

    >>> canonical((("Q1", "Q2"), ("Q2", "Q3"), ("Q8", "Q9"), ("Q9", "Q8")))
    {'Q1': 'Q3', 'Q2': 'Q3', 'Q8': 'Q8', 'Q9': 'Q8'}
    """
    steps = {plain(a): plain(b) for a, b in table}
    out = {}
    for start in steps:
        seen = [start]
        while seen[-1] in steps and steps[seen[-1]] not in seen:
            seen.append(steps[seen[-1]])
        end = seen[-1]
        out[start] = min(seen[seen.index(steps[end]) :]) if end in steps else end
    return out

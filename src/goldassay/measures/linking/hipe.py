"""Counting links as the official HIPE scorer does, where it differs from one-to-one matching with the most pairs.

Answers are taken in the order of the text. One on a gold span whose id is among its first ``k`` candidates is correct,
if the system's file writes the words as gold does. Otherwise the first gold mention decides that has the same span and
another id, or that overlaps (the same span in other words, too) and was not taken before. An answer
that no gold mention decides is spurious; a mention that none took is missed. Means by document leave out documents
without answers (P, F1) or without mentions (R, F1). Whether adjacent NIL mentions are one or several is a matter of
reading the file: ``adjacent="nil"`` (HIPE-2022) or ``adjacent="none"`` (HIPE-2020) of the format ``hipe``.

Source: https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.linking.records import NIL, Answer, Mention, rank
from goldassay.tally import Counts

SCHEMES = ("strict", "exact", "partial", "type")
Scheme = dict[str, SemEvalCounts]

RIGHT = dict.fromkeys(SCHEMES, "correct")
OTHER_ID = {"strict": "incorrect", "exact": "correct", "partial": "correct", "type": "incorrect"}
OVERLAP = {"strict": "incorrect", "exact": "incorrect", "partial": "partial", "type": "correct"}
OVERLAP_OTHER_ID = {**OVERLAP, "type": "incorrect"}


def hipe(gold: Sequence[Mention], pred: Sequence[Answer], k: int = 1) -> dict[str, Scheme]:
    """SemEval counts of one document by id (``ALL`` for all) and scheme, counted in the official order.

    >>> from goldassay.measures.linking.records import sides
    >>> read = sides([{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 0, "end": 4, "candidates": ["Q1"]}])
    >>> found = hipe(read.gold, read.pred)["ALL"]
    >>> found["type"].correct, found["strict"].incorrect
    (1, 1)
    """
    out: dict[str, Scheme] = {"ALL": _zero()}
    taken: set[int] = set()
    for answer in pred:
        index, how = _decided(answer, gold, taken, k)
        if index is None:
            _count(out, answer.candidates[0] if answer.candidates else NIL, dict.fromkeys(SCHEMES, "spurious"))
            continue
        taken.add(index)
        _count(out, _name(gold[index]), how)
    for index, mention in enumerate(gold):
        if index not in taken:
            _count(out, _name(mention), dict.fromkeys(SCHEMES, "missed"))
    return out


def _decided(answer: Answer, gold: Sequence[Mention], taken: set[int], k: int) -> tuple[int | None, dict[str, str]]:
    place = (answer.start, answer.end)
    for index, mention in enumerate(gold):
        if place == (mention.start, mention.end) and 0 < rank(mention, answer) <= k and not answer.form:
            return index, RIGHT
    for index, mention in enumerate(gold):
        if place == (mention.start, mention.end) and rank(mention, answer) != 1:
            return index, OTHER_ID
        if index not in taken and 0 <= answer.start < mention.end and mention.start < answer.end:
            return index, OVERLAP if 0 < rank(mention, answer) <= k else OVERLAP_OTHER_ID
    return None, {}


def as_counts(found: SemEvalCounts) -> Counts:
    """TP is what is correct, FP the rest of what was answered, FN the rest of gold."""
    return Counts(found.correct, found.actual - found.correct, found.possible - found.correct)


def _name(mention: Mention) -> str:
    return "|".join(sorted(mention.ids)) or NIL


def _zero() -> Scheme:
    return {scheme: SemEvalCounts(0, 0, 0, 0, 0) for scheme in SCHEMES}


def _count(out: dict[str, Scheme], name: str, how: dict[str, str]) -> None:
    for key in ("ALL", name):
        into = out.setdefault(key, _zero())
        for scheme, what in how.items():
            one = dict.fromkeys(("correct", "incorrect", "partial", "missed", "spurious"), 0) | {what: 1}
            into[scheme] += SemEvalCounts(**one)

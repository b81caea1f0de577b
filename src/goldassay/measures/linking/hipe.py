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

from collections import Counter
from collections.abc import Iterable, Sequence

from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.linking.records import NIL, Answer, Mention, rank
from goldassay.tally import Counts

SCHEMES = ("strict", "exact", "partial", "type")
Scheme = dict[str, SemEvalCounts]

KINDS = ("correct", "incorrect", "partial", "missed", "spurious")
FATES = {  # what an answer, or a mention that none took, counts as: strict, exact, partial, type
    "right": ("correct", "correct", "correct", "correct"),
    "other id": ("incorrect", "correct", "correct", "incorrect"),
    "overlap": ("incorrect", "incorrect", "partial", "correct"),
    "overlap, other id": ("incorrect", "incorrect", "partial", "incorrect"),
    "missed": ("missed", "missed", "missed", "missed"),
    "spurious": ("spurious", "spurious", "spurious", "spurious"),
}


def fates(gold: Sequence[Mention], pred: Sequence[Answer], k: int = 1) -> list[tuple[str, str]]:
    """What became of each answer, in the official order, and of each mention that none took: (id, a key of `FATES`).

    >>> from goldassay.measures.linking.records import sides
    >>> read = sides([{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 0, "end": 4, "candidates": ["Q1"]}])
    >>> fates(read.gold, read.pred)
    [('Q1', 'overlap')]
    """
    found: list[tuple[str, str]] = []
    taken: set[int] = set()
    for answer in pred:
        index, fate = _decided(answer, gold, taken, k)
        if index is None:
            found.append((answer.candidates[0] if answer.candidates else NIL, fate))
        else:
            taken.add(index)
            found.append((_name(gold[index]), fate))
    return found + [(_name(mention), "missed") for index, mention in enumerate(gold) if index not in taken]


def hipe(found: Iterable[tuple[str, str]]) -> dict[str, Scheme]:
    """SemEval counts by id (``ALL`` for all) and scheme.

    >>> counts = hipe([("Q1", "overlap")])["ALL"]
    >>> counts["type"].correct, counts["strict"].incorrect
    (1, 1)
    """
    by_id: dict[str, Counter[str]] = {"ALL": Counter()}
    for name, fate in found:
        by_id["ALL"][fate] += 1
        by_id.setdefault(name, Counter())[fate] += 1
    out: dict[str, Scheme] = {}
    for name, seen in by_id.items():
        for place, scheme in enumerate(SCHEMES):
            here: dict[str, int] = dict.fromkeys(KINDS, 0)
            for fate, n in seen.items():
                here[FATES[fate][place]] += n
            out.setdefault(name, {})[scheme] = SemEvalCounts(**here)
    return out


def counted(found: Sequence[tuple[str, str]], scheme: str) -> Counts:
    """TP is what is correct, FP the rest of what was answered, FN the rest of gold.

    >>> counted([("Q1", "overlap"), ("Q2", "missed")], "type")
    Counts(tp=1, fp=0, fn=1)
    """
    place = SCHEMES.index(scheme)
    tp = sum(FATES[fate][place] == "correct" for _, fate in found)
    made, wanted = sum(fate != "missed" for _, fate in found), sum(fate != "spurious" for _, fate in found)
    return Counts(tp, made - tp, wanted - tp)


def _decided(answer: Answer, gold: Sequence[Mention], taken: set[int], k: int) -> tuple[int | None, str]:
    place = (answer.start, answer.end)
    for index, mention in enumerate(gold):
        if place == (mention.start, mention.end) and 0 < rank(mention, answer) <= k and not answer.form:
            return index, "right"
    for index, mention in enumerate(gold):
        if place == (mention.start, mention.end) and rank(mention, answer) != 1:
            return index, "other id"
        if index not in taken and 0 <= answer.start < mention.end and mention.start < answer.end:
            return index, "overlap" if 0 < rank(mention, answer) <= k else "overlap, other id"
    return None, "spurious"


def _name(mention: Mention) -> str:
    return "|".join(sorted(mention.ids)) or NIL

"""Which answers fit which mentions: on the same span, one-to-one by overlap, or in the order of the HIPE scorer.

All measures of a document share one `Matching`. Each side is restricted to what is in the knowledge base (``inkb``) or
not (``nil``) by its own word.

The official HIPE scorer takes answers in the order of the text. An answer on a gold span with the id among its first
``k`` candidates is correct, if the system's file writes the words as gold does. Otherwise the first gold mention
decides that has the same span and another id, or that overlaps (the same span in other words, too) and is not taken
yet. An answer that no gold mention decides is spurious; a mention that no answer takes is missed. Whether adjacent NIL
mentions are one or several is a matter of reading the file: ``adjacent="nil"`` (HIPE-2022) or ``adjacent="none"``
(HIPE-2020).

Source: https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from goldassay.measure import Review
from goldassay.measures.assignment import assign
from goldassay.measures.extraction import hipe as scorer
from goldassay.measures.extraction.hipe import Fit, Outcome
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.linking.records import NIL, Answer, Document, Mention, rank
from goldassay.tally import Counts

OVER = ("all", "inkb", "nil")
MATCHINGS = ("one-to-one", "hipe")


class Edge(NamedTuple):
    """An answer that shares a character with a mention, and the place of its first right candidate (0 for none)."""

    mention: int
    answer: int
    rank: int
    same_span: bool


class Matching:
    """One document: its mentions and answers, and how they meet.

    >>> from goldassay.measures.linking.records import sides
    >>> gold, pred = [{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 2, "end": 9, "candidates": ["Q1"]}]
    >>> matching = Matching(sides(gold, pred))
    >>> matching.counts("overlap"), matching.counts("span"), matching.ranks
    (Counts(tp=1, fp=0, fn=0), Counts(tp=0, fp=1, fn=1), [0])
    """

    def __init__(self, document: Document) -> None:
        self.document, self.gold, self.pred = document, document.gold, document.pred
        self.review: Review | None = None  # its errors, once they are written
        self._counts: dict[tuple[str, int, str, str], Counts] = {}
        self._fates: dict[tuple[int, str], list[tuple[str, Outcome]]] = {}

    @cached_property
    def answered(self) -> dict[int, int]:
        """The answer on the same span, by mention."""
        place = {(mention.start, mention.end): i for i, mention in enumerate(self.gold)}
        spans = ((answer.start, answer.end) for answer in self.pred)
        return {place[span]: j for j, span in enumerate(spans) if span in place}

    @cached_property
    def ranks(self) -> list[int]:
        """For each mention the place of the right candidate; 0 if it is not listed, or nothing is answered."""
        answers = self.answered
        return [rank(mention, self.pred[answers[i]]) if i in answers else 0 for i, mention in enumerate(self.gold)]

    @cached_property
    def edges(self) -> list[Edge]:
        """Every mention and answer that share a character."""
        edges: list[Edge] = []
        first = 0
        for i, mention in enumerate(self.gold):
            # both sides are sorted by start; an answer that ended before this mention may still overlap the next one
            while first < len(self.pred) and self.pred[first].end <= mention.start:
                first += 1
            for j in range(first, len(self.pred)):
                answer = self.pred[j]
                if answer.start >= mention.end:
                    break
                if answer.start >= 0 and mention.start < answer.end:
                    same = (mention.start, mention.end) == (answer.start, answer.end)
                    edges.append(Edge(i, j, rank(mention, answer), same))
        return edges

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """One-to-one pairs that share a character, as many as possible; same spans first, then right ids."""
        return _pairs(sorted(self.edges, key=lambda edge: (not edge.same_span, edge.rank != 1, edge)))

    @cached_property
    def _parts(self) -> dict[tuple[int, int] | None, list[int]]:
        """The mentions that are part of another one, by its span."""
        parts: dict[tuple[int, int] | None, list[int]] = {}
        for i, mention in enumerate(self.gold):
            if mention.parent != (mention.start, mention.end):
                parts.setdefault(mention.parent, []).append(i)
        parts.pop(None, None)
        return parts

    @cached_property
    def _roots(self) -> list[int]:
        spans = {(mention.start, mention.end) for mention in self.gold}
        return [i for i, mention in enumerate(self.gold) if not mention.optional and mention.parent not in spans]

    def roots(self, over: str = "all") -> list[int]:
        """The mentions that must be found: neither optional nor part of another one; in the knowledge base or not."""
        return [i for i in self._roots if over == "all" or self.gold[i].nil == (over == "nil")]

    def counts(self, match: str, k: int = 1, over: str = "all", matching: str = "one-to-one") -> Counts:
        """A pair counts if the right id is among the first ``k`` candidates.

        ``match`` is ``overlap``, ``span`` (the same) or ``entity`` (`entities`); ``matching`` says how overlaps are
        paired: one-to-one with the most pairs, or in the order of the official HIPE scorer. An optional mention counts
        on no side if it is left out or right; one with parts is right if all parts are, and counts once (ELEVANT).
        """
        key = match, k, over, matching
        if key not in self._counts:
            self._counts[key] = self.entities(k) if match == "entity" else self._count(*key)
        return self._counts[key]

    def _count(self, match: str, k: int, over: str, matching: str) -> Counts:
        if matching == "hipe":
            return hipe_counts(self.fates(k, over), "type" if match == "overlap" else "strict")
        nil, everything = over == "nil", over == "all"
        pairs = _pairs(
            edge
            for edge in self.edges
            if 0 < edge.rank <= k
            and (edge.same_span or match == "overlap")
            and (everything or self.gold[edge.mention].nil == nil == self.pred[edge.answer].nil)
        )
        right, roots = {i for i, _ in pairs}, self.roots(over)
        hits = sum(self._complete(i, right) for i in roots)
        answers = sum(everything or answer.nil == nil for answer in self.pred)
        return Counts(hits, answers - len(pairs), len(roots) - hits)

    def entities(self, k: int = 1) -> Counts:
        """The ids of the document, each once, wherever it is mentioned; NIL is none (TAC's ``entity_match``)."""
        gold = {(one.type, one.ids) for one in self.gold if not one.nil}
        pred = {(one.type, frozenset(one.candidates[:k])) for one in self.pred if not one.nil}
        hits = {(right, answer) for right in gold for answer in pred if right[0] == answer[0] and right[1] & answer[1]}
        found, used = ({pair[side] for pair in hits} for side in (0, 1))
        return Counts(len(found), len(pred - used), len(gold - found))

    def _complete(self, index: int, right: set[int]) -> bool:
        """Whether a mention is right, or all its parts are."""
        if index in right:
            return True
        parts = self._parts.get((self.gold[index].start, self.gold[index].end), ())
        return bool(parts) and all(self._complete(i, right) for i in parts)

    def fates(self, k: int = 1, over: str = "all") -> list[tuple[str, Outcome]]:
        """`fates` of the mentions and answers that count."""
        nil, everything = over == "nil", over == "all"
        if (k, over) in self._fates:
            return self._fates[k, over]
        gold = [each for each in self.gold if everything or each.nil == nil]
        rows = fates(gold, [each for each in self.pred if everything or each.nil == nil], k)
        self._fates[k, over] = rows
        return rows


def _pairs(edges: Iterable[Edge]) -> list[tuple[int, int]]:
    candidates: dict[int, list[int]] = {}
    for edge in edges:
        candidates.setdefault(edge.mention, []).append(edge.answer)
    return sorted(assign(candidates).items())


def fates(gold: Sequence[Mention], pred: Sequence[Answer], k: int = 1) -> list[tuple[str, Outcome]]:
    """What became of each answer, in the official order, and of each mention without one: its id and outcomes.

    >>> from goldassay.measures.linking.records import sides
    >>> document = sides([{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 0, "end": 4, "candidates": ["Q1"]}])
    >>> fates(document.gold, document.pred) == [("Q1", scorer.OVERLAPS[True])]
    True
    """

    def fit(mention: Mention, answer: Answer) -> Fit:
        place, overlaps = rank(mention, answer), 0 <= answer.start < mention.end and mention.start < answer.end
        return mention[:2] == answer[:2], 0 < place <= k, place != 1, overlaps

    return scorer.decided(gold, pred, fit, _name)


def _name(side: Mention | Answer) -> str:
    return "|".join(sorted(side.ids)) or NIL if isinstance(side, Mention) else next(iter(side.candidates), NIL)


def hipe(rows: Iterable[tuple[str, Outcome]]) -> dict[str, dict[str, SemEvalCounts]]:
    """SemEval counts by id (``ALL`` for all) and scheme.

    >>> counts = hipe([("Q1", scorer.OVERLAPS[True])])["ALL"]
    >>> counts["type"].correct, counts["strict"].incorrect
    (1, 1)
    """
    by_id: dict[str, list[Outcome]] = {"ALL": []}
    for name, outcome in rows:
        by_id["ALL"].append(outcome)
        by_id.setdefault(name, []).append(outcome)
    return {
        name: {
            scheme: SemEvalCounts(*map([outcome[at] for outcome in outcomes].count, range(5)))
            for at, scheme in enumerate(SCHEMAS)
        }
        for name, outcomes in by_id.items()
    }


def hipe_counts(rows: Sequence[tuple[str, Outcome]], scheme: str) -> Counts:
    """TP is what is correct, FP the other answers, FN the rest of gold.

    >>> hipe_counts([("Q1", scorer.OVERLAPS[True]), ("Q2", scorer.MISSED_ALL)], "type")
    Counts(tp=1, fp=0, fn=1)
    """
    column = [outcome[SCHEMAS.index(scheme)] for _, outcome in rows]
    tp = column.count(scorer.CORRECT)
    return Counts(tp, len(rows) - column.count(scorer.MISSING) - tp, len(rows) - column.count(scorer.SPURIOUS) - tp)

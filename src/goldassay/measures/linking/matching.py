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

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from goldassay.core.measure import Review
from goldassay.core.tally import Counts
from goldassay.measures import cached
from goldassay.measures.assignment import assign
from goldassay.measures.extraction.matching import SCHEMAS, Fit, Outcome, SemEvalCounts, decided
from goldassay.measures.linking import mistakes
from goldassay.measures.linking.records import NIL, LinkPair, Mention, rank

OVER = ("all", "inkb", "nil")
LINK_MATCHINGS = ("one-to-one", "hipe")


class Edge(NamedTuple):
    """An answer that shares a character with a mention, and the place of its first right candidate (0 for none)."""

    mention: int
    answer: int
    rank: int
    same_span: bool
    same_type: bool


class Matching:
    """One document: its mentions and answers, and how they meet.

    >>> from goldassay.measures.linking.records import sides
    >>> gold, pred = [{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 2, "end": 9, "candidates": ["Q1"]}]
    >>> matching = Matching(sides(gold, pred))
    >>> matching.counts("overlap"), matching.counts("span"), matching.ranks
    (Counts(tp=1, fp=0, fn=0), Counts(tp=0, fp=1, fn=1), [0])
    """

    def __init__(self, document: LinkPair) -> None:
        self.document = document
        self.gold = document.gold
        self.pred = document.pred

    @cached_property
    def answered(self) -> dict[int, int]:
        """The answer on the same span, by mention."""
        index_of = {mention[:2]: i for i, mention in enumerate(self.gold)}
        return {index_of[answer[:2]]: j for j, answer in enumerate(self.pred) if answer[:2] in index_of}

    @cached_property
    def ranks(self) -> list[int]:
        """For each mention the place of the right candidate; 0 if it is not listed, or nothing is answered."""
        answers = self.answered
        return [rank(mention, self.pred[answers[i]]) if i in answers else 0 for i, mention in enumerate(self.gold)]

    @cached_property
    def edges(self) -> list[Edge]:
        """Every mention and answer that share a character; both sides are in the order of their starts."""
        edges = []
        first = 0
        for i, mention in enumerate(self.gold):
            # an answer that begins earlier may be a long one that reaches the next mentions, too
            while first < len(self.pred) and self.pred[first].end <= mention.start:
                first += 1
            for j, answer in enumerate(self.pred[first:], first):
                if answer.start >= mention.end:
                    break
                if mention.start < answer.end:
                    same_span = mention[:2] == answer[:2]
                    edges.append(Edge(i, j, rank(mention, answer), same_span, mention.type == answer.type))
        return edges

    @cached_property
    def review(self) -> Review:
        """The errors and what is right in one-to-one pairs that share a character, as many as possible.

        Same spans are paired first, then right ids.
        """
        edges = sorted(self.edges, key=lambda edge: (not edge.same_span, edge.rank != 1, edge))
        return mistakes.errors(self.document, _pairs(edges))

    def roots(self, over: str = "all") -> list[int]:
        """The mentions that must be found: neither optional nor part of another one; in the knowledge base or not."""
        spans = {mention[:2] for mention in self.gold}
        return [
            i
            for i, mention in enumerate(self.gold)
            if not mention.optional and mention.parent not in spans and mention.is_over(over)
        ]

    @cached
    def counts(self, match: str, k: int = 1, over: str = "all", matching: str = "one-to-one") -> Counts:
        """A pair counts if the right id is among the first ``k`` candidates.

        ``match`` is ``overlap``, ``span`` (the same), ``mention`` (the same, with any id) or ``entity`` (`entities`);
        ``matching`` says how overlaps are
        paired: one-to-one with the most pairs, or in the order of the official HIPE scorer. An optional mention counts
        on no side if it is left out or right; one with parts is right if all parts are, and counts once (ELEVANT).
        """
        if match == "entity":
            return self.entities(k)
        if matching == "hipe":
            outcomes = (outcome for _, outcome in self.outcomes(k, over))
            return hipe(outcomes, "type" if match == "overlap" else "strict").counts
        pairs = _pairs(
            edge
            for edge in self.edges
            if (0 < edge.rank <= k or (match == "mention" and edge.same_type))
            and (edge.same_span or match == "overlap")
            and self.gold[edge.mention].is_over(over)
            and self.pred[edge.answer].is_over(over)
        )
        roots = self.roots(over)
        hits = sum(self._complete(i, pairs) for i in roots)
        return Counts(hits, sum(answer.is_over(over) for answer in self.pred) - len(pairs), len(roots) - hits)

    def entities(self, k: int = 1) -> Counts:
        """The ids of the document, each once, wherever it is mentioned; NIL is none (TAC's ``entity_match``)."""
        gold = {(mention.type, mention.ids) for mention in self.gold if not mention.nil}
        pred = {(answer.type, frozenset(answer.ids[:k])) for answer in self.pred if not answer.nil}
        hits = {(g, p) for g in gold for p in pred if g[0] == p[0] and not p[1].isdisjoint(g[1])}
        right = {g for g, _ in hits}
        used = {p for _, p in hits}
        return Counts(len(right), len(pred - used), len(gold - right))

    @cached_property
    def _parts(self) -> dict[object, list[int]]:
        """The mentions that are part of another one, by its span."""
        parts: dict[object, list[int]] = defaultdict(list)
        for i, mention in enumerate(self.gold):
            parts[mention.parent].append(i)
        return parts

    def _complete(self, index: int, right: Mapping[int, int]) -> bool:
        """Whether a mention is right, or all its parts are."""
        parts = {*self._parts.get(self.gold[index][:2], ())} - {index}
        return index in right or (bool(parts) and all(self._complete(i, right) for i in parts))

    def outcomes(self, k: int = 1, over: str = "all") -> list[tuple[str, Outcome]]:
        """The id and the outcomes of each answer, in the official order, and of each mention without one.

        >>> from goldassay.measures.extraction.matching import OVERLAPS
        >>> from goldassay.measures.linking.records import sides
        >>> document = sides([{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 0, "end": 4, "candidates": ["Q1"]}])
        >>> Matching(document).outcomes() == [("Q1", OVERLAPS[True])]
        True
        """

        def fit(mention: Mention, answer: Mention) -> Fit:
            first = rank(mention, answer)
            right = 0 < first <= k
            placed = mention[:2] == answer[:2]
            overlaps = 0 <= answer.start < mention.end and mention.start < answer.end
            return placed and right and not answer.form, placed and first != 1, right, overlaps

        def name(side: Mention) -> str:
            if side.nil:
                return NIL
            return "|".join(side.ids) if side in gold else side.ids[0]

        gold = [mention for mention in self.gold if mention.is_over(over)]
        pred = [answer for answer in self.pred if answer.is_over(over)]
        return decided(gold, pred, fit, name)


def _pairs(edges: Iterable[Edge]) -> dict[int, int]:
    """One-to-one pairs, as many as possible; earlier edges come first."""
    candidates = defaultdict(list)
    for edge in edges:
        candidates[edge.mention].append(edge.answer)
    return assign(candidates)


def hipe(outcomes: Iterable[Outcome], schema: str) -> SemEvalCounts:
    """SemEval's counts in a schema.

    >>> from goldassay.measures.extraction.matching import MISSED_ALL, OVERLAPS
    >>> hipe([OVERLAPS[True], MISSED_ALL], "type")
    SemEvalCounts(correct=1, incorrect=0, partial=0, missed=1, spurious=0)
    """
    column = [outcome[SCHEMAS.index(schema)] for outcome in outcomes]
    return SemEvalCounts(*map(column.count, range(5)))

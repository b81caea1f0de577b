"""Which answers fit which mentions: on the same span, one-to-one by overlap with the most pairs, or in HIPE's order.

`Matching` is what all measures of a document share. Sides are restricted to what is in the knowledge base (``inkb``) or
not (``nil``) by each side's own word.

The official HIPE scorer takes answers in the order of the text. One on a gold span whose id is among its first ``k``
candidates is correct, if the system's file writes the words as gold does. Otherwise the first gold mention decides that
has the same span and another id, or that overlaps (the same span in other words, too) and was not taken before. An
answer that no gold mention decides is spurious; a mention that none took is missed. Means by document leave out
documents without answers (P, F1) or without mentions (R, F1). Whether adjacent NIL mentions are one or several is a
matter of reading the file: ``adjacent="nil"`` (HIPE-2022) or ``adjacent="none"`` (HIPE-2020) of the format ``hipe``.

Source: https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.linking.records import NIL, Answer, Mention, Read, rank
from goldassay.tally import Counts

OVER = ("all", "inkb", "nil")
MATCHINGS = ("one-to-one", "hipe")
Pair = tuple[int, int]


class Edge(NamedTuple):
    """An answer that shares a character with a mention, and the place of its first right candidate (0 for none)."""

    mention: int
    answer: int
    rank: int
    same: bool


class Matching:
    """One document: its mentions and answers, and how they meet, each found once.

    >>> from goldassay.measures.linking.records import sides
    >>> found = Matching(sides([{"start": 0, "end": 5, "ids": "Q1"}], [{"start": 2, "end": 9, "candidates": ["Q1"]}]))
    >>> found.counts("overlap"), found.counts("span"), found.ranks
    (Counts(tp=1, fp=0, fn=0), Counts(tp=0, fp=1, fn=1), [0])
    """

    def __init__(self, read: Read) -> None:
        self.read, self.gold, self.pred = read, read.gold, read.pred
        self._counts: dict[Any, Counts] = {}
        self._fates: dict[Any, list[tuple[str, str]]] = {}

    @cached_property
    def answered(self) -> dict[int, int]:
        """The answer on the same span, by mention; keys do not repeat, so there is no choice."""
        return dict(same_span(self.gold, self.pred))

    @cached_property
    def ranks(self) -> list[int]:
        """For each mention the place of the right candidate; 0 where it is not there, or nothing was answered."""
        there = self.answered
        return [rank(one, self.pred[there[i]]) if i in there else 0 for i, one in enumerate(self.gold)]

    @cached_property
    def edges(self) -> list[Edge]:
        """Every mention and answer that share a character."""
        found: list[Edge] = []
        first = 0
        for i, one in enumerate(self.gold):
            # both sides stand in the order of their starts; what ended before this mention may still overlap the next
            while first < len(self.pred) and self.pred[first].end <= one.start:
                first += 1
            for j in range(first, len(self.pred)):
                other = self.pred[j]
                if other.start >= one.end:
                    break
                if other.start >= 0 and one.start < other.end:
                    same = (one.start, one.end) == (other.start, other.end)
                    found.append(Edge(i, j, rank(one, other), same))
        return found

    @cached_property
    def clear(self) -> bool:
        """Whether nothing overlaps more than one other, so that there is nothing to choose."""
        edges = self.edges
        return len({one.mention for one in edges}) == len(edges) == len({one.answer for one in edges})

    def ranked(self, over: str = "all") -> list[int]:
        """`ranks` of the mentions that count."""
        return [self.ranks[i] for i in self.wanted(over)]

    def wanted(self, over: str = "all") -> list[int]:
        """The mentions that count: roots, in the knowledge base or not."""
        return [i for i in self.roots if over == "all" or self.gold[i].nil == (over == "nil")]

    def counts(self, match: str, k: int = 1, over: str = "all", matching: str = "one-to-one") -> Counts:
        """A pair counts when the right id is among the first ``k`` candidates.

        ``match`` is ``overlap`` or ``span`` (the same); ``matching`` says how overlaps are paired: one-to-one with the
        most pairs, or in the order of the official HIPE scorer. An optional mention counts on no side when it is left
        out or right; one with parts is right when all parts are, and counts once (ELEVANT).
        """
        key = match, k, over, matching
        if key not in self._counts:
            self._counts[key] = self._official(*key[:3]) if matching == "hipe" else self._paired(*key[:3])
        return self._counts[key]

    def _paired(self, match: str, k: int, over: str) -> Counts:
        gold, pred, nil = self.gold, self.pred, over == "nil"
        edges = [one for one in self.edges if 0 < one.rank <= k and (one.same or match == "overlap")]
        wanted, made = len(gold), len(pred)
        if over != "all":
            edges = [one for one in edges if gold[one.mention].nil == nil == pred[one.answer].nil]
            wanted, made = sum(one.nil == nil for one in gold), sum(one.nil == nil for one in pred)
        pairs = [(one.mention, one.answer) for one in edges]
        pairs = pairs if self.clear else paired(pairs)
        if self.plain:
            return Counts(len(pairs), made - len(pairs), wanted - len(pairs))
        right = {i for i, _ in pairs}
        roots = [i for i in self.roots if over == "all" or gold[i].nil == nil]
        hits = sum(self._whole(i, right) for i in roots)
        return Counts(hits, made - len(pairs), len(roots) - hits)

    @cached_property
    def plain(self) -> bool:
        """Whether no mention is optional or a part of another."""
        return not any(one.optional or one.parent for one in self.gold)

    @cached_property
    def roots(self) -> list[int]:
        """The mentions that must be found: not optional, and part of no other one."""
        places = {(one.start, one.end) for one in self.gold}
        return [i for i, one in enumerate(self.gold) if not one.optional and one.parent not in places]

    def _whole(self, index: int, right: set[int]) -> bool:
        """Whether a mention is right, or all its parts are."""
        if index in right:
            return True
        place = (self.gold[index].start, self.gold[index].end)
        parts = [i for i, one in enumerate(self.gold) if one.parent == place and i != index]
        return bool(parts) and all(self._whole(i, right) for i in parts)

    def _official(self, match: str, k: int, over: str) -> Counts:
        return counted(self.fates(k, over), "type" if match == "overlap" else "strict")

    def fates(self, k: int = 1, over: str = "all") -> list[tuple[str, str]]:
        """What became of each answer and mention in the order of the official HIPE scorer."""
        if (k, over) not in self._fates:
            nil = over == "nil"
            gold = [one for one in self.gold if over == "all" or one.nil == nil]
            pred = [one for one in self.pred if over == "all" or one.nil == nil]
            self._fates[k, over] = fates(gold, pred, k)
        return self._fates[k, over]


def same_span(gold: Sequence[Mention], pred: Sequence[Answer]) -> list[Pair]:
    """Pairs (index in gold, index in pred) on the same span; keys do not repeat, so there is no choice."""
    at = {(m.start, m.end): i for i, m in enumerate(gold)}
    return [(at[a.start, a.end], j) for j, a in enumerate(pred) if (a.start, a.end) in at]


def overlapping(
    gold: Sequence[Mention], pred: Sequence[Answer], fits: Callable[[Mention, Answer], bool] | None = None
) -> list[Pair]:
    """One-to-one pairs that share a character and fit, as many as can be; same spans first."""
    edges = Matching(Read(tuple(gold), tuple(pred), "", 0)).edges
    edges = [one for one in edges if fits is None or fits(gold[one.mention], pred[one.answer])]
    return paired([(one.mention, one.answer) for one in sorted(edges, key=lambda one: (not one.same, one))])


def paired(edges: Sequence[Pair]) -> list[Pair]:
    """One-to-one pairs of these, as many as can be (augmenting paths); earlier edges are tried first.

    >>> paired([(0, 0), (0, 1), (1, 0)])
    [(0, 1), (1, 0)]
    """
    if len({i for i, _ in edges}) == len(edges) == len({j for _, j in edges}):
        return sorted(edges)
    near: dict[int, list[int]] = {}
    for i, j in edges:
        near.setdefault(i, []).append(j)
    owner: dict[int, int] = {}

    def placed(i: int, tried: set[int]) -> bool:
        for j in near[i]:
            if j not in tried:
                tried.add(j)
                if j not in owner or placed(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    for i in near:
        placed(i, set())
    return sorted((i, j) for j, i in owner.items())


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

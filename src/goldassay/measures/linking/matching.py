"""Which answers fit which mentions: on the same span, or one-to-one by overlap with the most pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from goldassay.measures.linking.records import Answer, Mention, rank
from goldassay.tally import Counts

OVER = ("all", "inkb", "nil")
Pair = tuple[int, int]


def chosen(gold: Sequence[Mention], pred: Sequence[Answer], over: str) -> tuple[list[Mention], list[Answer]]:
    """Both sides as far as they are ``all``, in the knowledge base (``inkb``) or ``nil``, each by its own word."""
    if over == "all":
        return list(gold), list(pred)
    nil = over == "nil"
    return [m for m in gold if m.nil == nil], [a for a in pred if a.nil == nil]


def same_span(gold: Sequence[Mention], pred: Sequence[Answer]) -> list[Pair]:
    """Pairs (index in gold, index in pred) on the same span; keys do not repeat, so there is no choice."""
    at = {(m.start, m.end): i for i, m in enumerate(gold)}
    return [(at[a.start, a.end], j) for j, a in enumerate(pred) if (a.start, a.end) in at]


def overlapping(
    gold: Sequence[Mention], pred: Sequence[Answer], fits: Callable[[Mention, Answer], bool] | None = None
) -> list[Pair]:
    """One-to-one pairs that share a character and fit, as many as can be (augmenting paths); same spans first."""
    edges: list[list[int]] = []
    for m in gold:
        near = [j for j, a in enumerate(pred) if a.start >= 0 and a.start < m.end and m.start < a.end]
        near = [j for j in near if fits is None or fits(m, pred[j])]
        edges.append(sorted(near, key=lambda j: (pred[j].start, pred[j].end) != (m.start, m.end)))
    owner: dict[int, int] = {}

    def placed(i: int, tried: set[int]) -> bool:
        for j in edges[i]:
            if j not in tried:
                tried.add(j)
                if j not in owner or placed(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    order = sorted(range(len(gold)), key=lambda i: (not edges[i] or _loose(gold[i], pred[edges[i][0]]), i))
    for i in order:
        placed(i, set())
    return sorted((i, j) for j, i in owner.items())


def counts(gold: Sequence[Mention], pred: Sequence[Answer], match: str, k: int = 1, over: str = "all") -> Counts:
    """Counts of one document: a pair counts when the right id is among the first ``k`` candidates.

    ``match`` is ``overlap`` (one-to-one) or ``span`` (the same).
    """
    left, right = chosen(gold, pred, over)

    def fits(m: Mention, a: Answer) -> bool:
        return 0 < rank(m, a) <= k

    if match == "span":
        hits = sum(fits(left[i], right[j]) for i, j in same_span(left, right))
    else:
        hits = len(overlapping(left, right, fits))
    return Counts(hits, len(right) - hits, len(left) - hits)


def _loose(mention: Mention, answer: Answer) -> bool:
    return (mention.start, mention.end) != (answer.start, answer.end)

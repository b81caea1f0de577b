"""Answers are matched with as many mentions as any order can give."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.measures import linking as ln

Link = dict[str, Any]


def mention(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "ids": {"wikidata": list(ids)} if ids else {}}


def answer(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "candidates": [{"id": id_} for id_ in ids]}


spans = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from(["Q1", "Q2", ""])),
    max_size=4,
    unique_by=lambda x: x[:2],
)


@drawn(150)
@given(left=spans, right=spans, k=st.sampled_from([1, 2]))
def test_overlapping_links_are_as_many_as_any_order_can_give(
    left: list[tuple[int, int, str]], right: list[tuple[int, int, str]], k: int
) -> None:
    gold = [mention(a, a + n, *([id_] if id_ else [])) for a, n, id_ in left]
    pred = [answer(a, a + n, *([id_, "Q2"] if id_ else [])) for a, n, id_ in right]
    counts = ln.LinkF1(k)({"text": "", "links": gold}, {"links": pred}).tally
    both = ln.sides(gold, pred)

    def fit(g: Any, p: Any) -> bool:
        return bool(g.start < p.end and p.start < g.end and 0 < ln.rank(g, p) <= k)

    few, many, flip = both.gold, both.pred, False
    if len(few) > len(many):
        few, many, flip = both.pred, both.gold, True  # type: ignore[assignment]
    most = max(
        sum(fit(b, a) if flip else fit(a, b) for a, b in zip(few, order, strict=False))
        for order in permutations(many, len(few))
    )
    assert counts.tp == most
    assert (counts.tp + counts.fn, counts.tp + counts.fp) == (len(gold), len(pred))
    shuffled = ln.LinkF1(k)({"text": "", "links": gold[::-1]}, {"links": pred[::-1]}).tally
    assert shuffled == counts

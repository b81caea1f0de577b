"""Links as they are read: candidates in order, ids whatever their address, errors with their place."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay._support.exceptions import DataError
from goldassay.measures import linking as ln
from goldassay.measures.linking.records import bare_id

Link = dict[str, Any]


def mention(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "ids": {"wikidata": list(ids)} if ids else {}}


def answer(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "candidates": [{"id": id_} for id_ in ids]}


def value(measure: Any, gold: list[Link], pred: list[Link]) -> float:
    return float(measure({"text": "", "links": gold}, {"links": pred}).tally.value)


def test_candidates_go_by_score_and_stay_in_order_where_there_is_none() -> None:
    scored = [{"id": "Q1", "score": 0.2}, {"id": "Q2", "score": 0.9}, {"id": "Q3", "score": 0.9}]
    assert ln.sides([], [{"start": 0, "end": 1, "candidates": scored}]).pred[0].ids == ("Q2", "Q3", "Q1")
    mixed = [{"id": "Q1", "score": 0.2}, {"id": "Q2"}]
    assert ln.sides([], [{"start": 0, "end": 1, "candidates": mixed}]).pred[0].ids == ("Q1", "Q2")
    twice = ["Q1", "Q1", "Q2"]  # an id that comes again does not push the next one down
    assert value(ln.MRR(), [mention(0, 1, "Q2")], [{"start": 0, "end": 1, "candidates": twice}]) == 0.5


def test_ids_are_read_whatever_their_address() -> None:
    assert [bare_id(x) for x in ("https://www.wikidata.org/wiki/Q5", "https://viaf.org/viaf/123/", "nil", "")] == [
        "Q5", "123", "NIL", "NIL",
    ]  # fmt: skip
    assert value(ln.HitsAt(1), [mention(0, 1, "Q5")], [answer(0, 1, "http://www.wikidata.org/entity/Q5")]) == 1.0


@pytest.mark.parametrize(
    ("links", "says"),
    [
        ([{"start": 5, "end": 5, "candidates": []}], r"predicted links\[0\]: a mention begins before it ends, not 5–5"),
        ([{"start": "0", "end": 5, "candidates": []}], "a mention begins before it ends"),
        (
            [{"start": 0, "end": 5, "candidates": [{"score": 1}]}],
            r"predicted links\[0\]: a candidate is \{'id', 'score'\}",
        ),
        (
            [{"start": 0, "end": 5, "candidates": [{"id": "Q1", "score": float("nan")}]}],
            "expected a number as the score, got nan",
        ),
        (
            [{"start": 0, "end": 5, "candidates": [{"id": "Q1", "score": "high"}]}],
            "expected a number as the score, got 'high'",
        ),
        ([{"start": 0, "end": 5, "ids": 7}], "ids are lists by knowledge base"),
        (
            [{"start": 0, "end": 5, "id": "Q1"}],
            "a link needs candidates, of which none says NIL; it has start, end, id",
        ),
        ([{"text": "Delft", "candidates": ["Q690"]}], r"predicted links\[0\]: a span needs start and end: `goldassay"),
        ([{"start": 0, "end": 5, "candidates": "Q690"}], "candidates are a list, best first, not 'Q690'"),
        ([{"start": 0, "end": 5, "candidates": 5}], "candidates are a list, best first, not 5"),
        (["Q690"], "a span needs start and end"),
        ([(3, 8, "Q690")], "a span needs start and end"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(links: list[Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        ln.sides([], links)

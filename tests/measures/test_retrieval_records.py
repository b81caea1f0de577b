"""Rankings as the measures read them: ties, depths, scores, what is no ranking."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay import score
from goldassay._support.exceptions import DataError
from goldassay.measures import retrieval as r


def test_ties_are_broken_by_document_id_descending_in_32_bits() -> None:
    gold = {"relevant": ["a"]}
    close = {"results": [{"doc_id": "a", "score": 1.00000001}, {"doc_id": "b", "score": 1.0}]}  # one float32
    assert r.RR()(gold, close).tally.value == 0.5
    assert r.RR(ties="stable")(gold, close).tally.value == 1.0
    assert r.RR(ties="best")(gold, close).tally.value == 1.0
    assert r.band([gold], [close], ["RR", "P@1"]) == {"RR": (0.5, 1.0), "P@1": (0.0, 1.0)}


@pytest.mark.parametrize("relevant", [{1: 1}, {"1": 1}, [1]])
@pytest.mark.parametrize("results", [[{"doc_id": 1, "score": 0.5}], {1: 0.5}, ["1"]])
def test_ids_may_be_numbers_on_either_side(relevant: object, results: Any) -> None:
    # flawed: 1 and "1" were two documents where results had scores or gold had grades: 0 without a word
    assert r.RR()({"relevant": relevant}, {"results": results}).tally.value == 1
    gold = [{"id": "a", "query": "x", "relevant": relevant}]
    if isinstance(results, list):
        assert score("retrieval", gold, [{"id": "a", "results": results}])["RR"] == 1


def test_very_different_depths_are_handled_together() -> None:
    deep = {"results": [{"doc_id": f"d{i}", "score": -i} for i in range(3000)]}
    gold = [{"relevant": ["d2999"]}, {"relevant": ["d0"]}]
    card = r.scorecard(gold, [deep, {"results": ["x", "d0"]}], measures=["RR"])
    assert card.values["RR"] == pytest.approx((1 / 3000 + 1 / 2) / 2)


@pytest.mark.parametrize(
    ("gold", "pred", "words"),
    [
        ({"relevant": ["a", "a"]}, {"results": []}, "document a is judged twice"),
        ({"relevant": "a"}, {"results": []}, "a list of ids or a mapping"),
        ({"relevant": {"a": -1}}, {"results": []}, "grade -1 of a is negative; grades are 0 or more"),
        ({"relevant": {"a": "high"}}, {"results": []}, "the grade of a is a number, not 'high'"),
        ({"relevant": ["a"]}, {"results": ["b", "b"]}, "document b is twice in the results"),
        (
            {"relevant": ["a"]},
            {"results": [{"doc_id": "b", "score": 1}, {"doc_id": "b", "score": 0}]},
            "document b is twice",
        ),
        (
            {"relevant": ["a"]},
            {"results": [{"doc_id": "b", "score": float("nan")}]},
            "the score of b is a number, not nan",
        ),
        (
            {"relevant": ["a"]},
            {"results": [{"doc_id": "b", "score": 1}, {"doc_id": "c"}]},
            "document c has no score while",
        ),
        ({"relevant": ["a"]}, {"results": [{"score": 1}]}, "results[0]: a result needs a 'doc_id'"),
        ({"relevant": ["a"]}, {"results": "a"}, "results: expected a list of results, not str"),
    ],
)
def test_bad_input_is_one_line_with_the_query(gold: dict[str, Any], pred: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as error:
        r.scorecard([{"id": "q7", **gold}], [pred])
    assert words in str(error.value)
    assert "record q7" in str(error.value)


def test_huge_scores_overflow_to_a_tie_not_to_a_warning() -> None:
    pred = {"results": [{"doc_id": "a", "score": 1e300}, {"doc_id": "b", "score": 1e301}]}
    assert r.RR()({"relevant": ["a"]}, pred).tally.value == 0.5

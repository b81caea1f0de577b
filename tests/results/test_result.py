"""A result: what is computed from its columns of evidence, with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Batches
from goldassay.measures.retrieval import RR, scorecard
from goldassay.results.result import Result, Results, Sections, fold

GOLD: list[dict[str, Any]] = [
    {"id": "q1", "relevant": ["a"], "strata": {"period": "old"}},
    {"id": "q2", "relevant": ["b"], "strata": {"period": "new"}},
    {"id": "q3", "relevant": ["c"], "strata": {"period": "new"}},
]
PRED = [{"results": ["a"]}, {"results": ["x", "b"]}, {"results": ["x", "y", "z", "c"]}]


def reciprocal_ranks(**fields: Any) -> Result:
    return fold("retrieval", [RR()], Batches([{**record, **fields} for record in GOLD], PRED))


def test_values_and_counts_are_those_of_the_columns() -> None:
    result = reciprocal_ranks()
    assert result["RR"] == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert result.counts == {"RR": {"total": 1.75, "weight": 3.0}}
    low, high = result.intervals["RR"].ends
    assert 0 < low < 1.75 / 3 < high < 1
    assert result.ids == ["q1", "q2", "q3"]


def test_a_weight_counts_an_example_that_often() -> None:
    gold = [{**record, "times": times} for record, times in zip(GOLD, (1, 1, 6), strict=True)]
    result = fold("retrieval", [RR()], Batches(gold, PRED), weight="times")
    assert result["RR"] == pytest.approx((1 + 1 / 2 + 6 / 4) / 8)
    assert "weight=times" in result.conventions["RR"]


def test_documents_are_the_unit_where_examples_share_one() -> None:
    assert (reciprocal_ranks().unit, reciprocal_ranks().size) == ("3 examples", "3 examples")
    together = reciprocal_ranks(document="d1")
    assert (together.unit, together.size) == ("1 document", "3 examples in 1 document")


def test_strata_have_the_values_of_their_examples() -> None:
    result = reciprocal_ranks()
    result.facets = {"period": {"old": [0], "new": [1, 2]}}
    assert result.by_stratum == {
        "period": {"new": {"examples": 2, "RR": 0.375}, "old": {"examples": 1, "RR": 1.0}},
    }


def test_a_value_that_a_convention_sets_has_no_other() -> None:
    result = reciprocal_ranks()
    result.set_values = {"RR": 0.0}
    assert result.values == {"RR": 0.0}


def test_values_are_selected_with_their_columns_and_conventions() -> None:
    result = scorecard(GOLD, PRED, measures=["RR", "P@5"]).select(["P@5"])
    assert (list(result.values), list(result.columns), list(result.conventions)) == (["P@5"],) * 3


def test_the_difference_of_two_results_is_tested_once_for_both_directions() -> None:
    first = reciprocal_ranks()
    second = fold("retrieval", [RR()], Batches(GOLD, [{"results": ["a"]}, {"results": ["b"]}, {"results": ["c"]}]))
    gain = second.difference(first, "RR")
    assert gain.difference == pytest.approx(1 - 1.75 / 3)
    assert second.difference(first, "RR") is gain
    assert first.difference(second, "RR").difference == -gain.difference


def test_facts_are_warnings_where_they_occur() -> None:
    sections = Sections(
        lambda chunk, first: {"many": sum(answer != {"results": ["a"]} for answer in chunk.pred), "absent": 0},
        warnings={"many": "{n} of {examples} have many", "absent": "{n} are absent"},
    )
    assert fold("retrieval", [RR()], Batches(GOLD, PRED), sections=sections).notes == ["2 of 3 have many"]


def test_tables_for_papers_have_the_rows_that_are_named() -> None:
    results = Results(ours=scorecard(GOLD, PRED, measures=["RR", "P@5"]))
    results["theirs"] = scorecard(GOLD, PRED[::-1], measures=["RR", "P@5"])
    table = results.to_latex(["RR"], difference=True)
    assert "0.583" in table
    assert "theirs - ours" in table
    assert "P@5" not in table
    with pytest.raises(GoldassayError, match="no value 'nDCG'; there are RR, P@5"):
        results.to_latex(["nDCG"])
    assert list(results.to_pandas().index) == ["RR", "P@5"]


def test_its_json_has_values_intervals_counts_and_conventions() -> None:
    state = reciprocal_ranks().state()
    assert list(state) == [
        *("task", "examples", "unit", "values", "intervals", "interval_methods", "counts", "by", "conventions"),
        "warnings",
    ]
    assert "protocol" not in state

"""Results against the first of them: what may be compared, which p-values are adjusted together, and the ranks."""

from __future__ import annotations

import pytest

from goldassay._support.exceptions import ConventionError
from goldassay.core.tally import Evidence, Mean
from goldassay.measures import classification, retrieval
from goldassay.results.comparison import METRIC, ComparisonVerdict
from goldassay.results.comparisons import compare, formula, headline, metric_title
from goldassay.results.result import Result

GOLD = [{"id": str(number), "label": "M" if number % 2 else "L"} for number in range(40)]


def system(wrong: int, name: str) -> Result:
    """A system that gives the first examples the other label."""
    labels = [example["label"] for example in GOLD]
    labels[:wrong] = ["L" if label == "M" else "M" for label in labels[:wrong]]
    result = classification.scorecard(GOLD, [{"label": label} for label in labels])
    result.name = name
    return result


def test_the_difference_is_that_of_the_values() -> None:
    good, bad = system(4, "good"), system(24, "bad")
    accuracy = next(each for each in compare(bad, good) if each.measure == "accuracy")
    assert accuracy.difference == pytest.approx((36 - 16) / 40)
    assert accuracy.won == tuple(str(number) for number in range(4, 24))
    assert accuracy.lost == ()
    assert accuracy.verdict == ComparisonVerdict.BETTER
    assert accuracy.systems == ("bad", "good")


def test_every_other_result_is_held_against_the_first() -> None:
    compared = compare(system(4, "a"), system(8, "b"), system(24, "c"))
    assert [{each.systems for each in group} for group in compared.groups] == [{("a", "b")}, {("a", "c")}]
    # of 40 answers 36, 32 and 16 are right: 32 may still change places with 36, 16 with neither
    assert [str(rank) for rank in compared.ranks["accuracy"]] == ["1–2", "1–2", "3"]


def test_the_p_values_of_all_measures_and_systems_are_adjusted_together() -> None:
    compared = compare(system(4, "a"), system(8, "b"), system(24, "c"))
    claims = sorted(each.p for each in compared)
    smallest = min(compared, key=lambda each: each.p)
    assert smallest.adjusted_p == pytest.approx(min(1.0, smallest.p * len(claims)))
    assert all(each.adjusted_p is not None and each.adjusted_p >= each.p for each in compared)


def test_other_examples_are_not_compared() -> None:
    other = classification.scorecard(
        [{**example, "id": f"x{example['id']}"} for example in GOLD], [{"label": "M"}] * 40
    )
    with pytest.raises(ConventionError, match="other examples"):
        compare(system(4, "a"), other)


def test_results_without_a_common_measure_are_not_compared() -> None:
    other = retrieval.scorecard([{"id": each["id"], "relevant": ["a"]} for each in GOLD], [{"results": ["a"]}] * 40)
    with pytest.raises(ConventionError, match="no measure in common"):
        compare(system(4, "a"), other)


def test_other_conventions_are_named() -> None:
    first, second = system(4, "a"), system(8, "b")
    second.conventions["accuracy"] = "accuracy[empty=1]"
    with pytest.raises(ConventionError, match=r"accuracy\[empty=1\]"):
        compare(first, second)


@pytest.mark.parametrize(
    ("zero", "text", "value"),
    [
        (Evidence({"strict_f1": Mean()}), "strict F1", METRIC),
        (Evidence({"minutes": Mean()}, worst={"minutes": 60.0}), "1 - minutes / 60", "minutes"),
        (Evidence({"ece": Mean()}, worst={"ece": 1.0}), "1 - ECE", "ece"),
        (Evidence({"f1": Mean(), "mae": Mean()}, {"f1": 0.7, "mae": 0.3}), "metric (0.7 F1 + 0.3 MAE)", METRIC),
        (Evidence({"f1": Mean(), "mae": Mean()}, {"mae": 0.0}), "F1", METRIC),
    ],
)
def test_a_metric_is_named_by_its_measures(zero: Evidence, text: str, value: str) -> None:
    assert metric_title(zero) == text
    assert headline(zero)[0] == value


def test_the_weights_are_in_the_formula() -> None:
    both = Evidence({"f1": Mean(), "minutes": Mean()}, {"f1": 0.7, "minutes": 0.3}, {"minutes": 60.0})
    assert formula(both) == "0.7 f1 + 0.3 (1 - minutes / 60)"

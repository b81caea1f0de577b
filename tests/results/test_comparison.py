"""One comparison: every combination of evidence has one verdict, and the sentence says the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.results.comparison import Comparison, ComparisonVerdict
from goldassay.statistics import Interval, PairedTest

BETTER, WORSE, SAME, NO_LARGER, OPEN = ComparisonVerdict


def comparison(value: float, low: float, high: float, p: float, **fields: object) -> Comparison:
    """B less A with this interval and p, on 40 examples of which B wins one and loses one."""
    test = PairedTest(value, Interval(value, low, high), p, 40, 0.2, 0.1, "paired_t")
    about = {"won": ("x",), "lost": ("y",), "examples": 40, **fields}
    return Comparison(("A", "B"), "accuracy", test, **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("compared", "verdict"),
    [
        (comparison(0.2, 0.1, 0.3, 0.001), BETTER),
        (comparison(-0.2, -0.3, -0.1, 0.001), WORSE),
        (comparison(0.2, 0.1, 0.3, 0.001, lower_is_better=True), WORSE),
        (comparison(-0.2, -0.3, -0.1, 0.001, lower_is_better=True), BETTER),
        (comparison(0.1, -0.1, 0.3, 0.3), OPEN),
        (comparison(0.0, -0.1, 0.1, 1.0, won=(), lost=()), SAME),
        # with a margin the interval decides, whatever p is
        (comparison(0.01, -0.02, 0.04, 0.5, margin=0.05), NO_LARGER),
        (comparison(0.01, -0.02, 0.06, 0.5, margin=0.05), OPEN),
        (comparison(0.03, 0.01, 0.04, 0.01, margin=0.05), BETTER),
        (comparison(-0.03, -0.04, -0.01, 0.01, margin=0.05), WORSE),
        # what was bred on these examples looks better on them: only a loss counts
        (comparison(0.2, 0.1, 0.3, 0.001, margin=0.05, selection="bred"), OPEN),
        (comparison(-0.2, -0.3, -0.1, 0.001, margin=0.05, selection="bred"), WORSE),
        (comparison(0.2, 0.1, 0.3, 0.001, margin=0.05, selection="independent"), BETTER),
    ],
)
def test_the_verdict(compared: Comparison, verdict: ComparisonVerdict) -> None:
    assert compared.verdict == verdict
    assert compared.proven == (verdict in (BETTER, WORSE))


def test_without_a_test_it_is_open_or_the_same_system() -> None:
    unknown = Comparison(("A", "B"), "accuracy", None, margin=0.0)
    assert unknown.verdict == OPEN
    assert replace(unknown, systems=("A", "A")).verdict == SAME
    assert (unknown.difference, unknown.interval, unknown.p, unknown.n) == (None, None, 1.0, 0)
    with pytest.raises(GoldassayError, match="the same"):
        _ = unknown.gain


def test_a_gain_turns_where_lower_is_better() -> None:
    gain = comparison(-0.2, -0.3, -0.1, 0.001, lower_is_better=True).gain
    assert (gain.difference, gain.interval.ends) == (0.2, (0.1, 0.3))


@pytest.mark.parametrize(
    ("compared", "parts"),
    [
        (comparison(0.2, 0.1, 0.3, 0.001), ["B is better than A by +0.200 [+0.100, +0.300] accuracy on 40 examples."]),
        (comparison(0.1, -0.1, 0.3, 0.3), ["It is open whether B differs from A", "+0.100 [-0.100, +0.300]", "0.100"]),
        (comparison(0.0, -0.1, 0.1, 1.0, won=(), lost=()), ["same accuracy", "all 40 examples"]),
        (comparison(0.2, 0.1, 0.3, 0.001, title="kappa"), ["+0.200 [+0.100, +0.300] kappa on"]),
        (comparison(0.2, 0.1, 0.3, 0.001, lower_is_better=True), ["B is worse than A", "(lower is better)"]),
    ],
)
def test_the_sentence_has_verdict_difference_and_interval(compared: Comparison, parts: list[str]) -> None:
    assert [part for part in parts if part not in compared.sentence] == []


def test_documents_are_named_where_they_are_the_unit() -> None:
    compared = comparison(0.2, 0.1, 0.3, 0.001)
    assert compared.test is not None
    by_document = replace(compared, test=replace(compared.test, n=12, unit="documents"))
    assert "on 40 examples in 12 documents" in by_document.sentence


def test_a_cell_is_coloured_by_the_interval_and_not_by_p() -> None:
    assert comparison(0.2, 0.1, 0.3, 0.9).change == "better"
    assert comparison(0.2, 0.1, 0.3, 0.9, lower_is_better=True).change == "worse"
    assert comparison(0.1, -0.1, 0.3, 0.001).change == ""


def test_its_json_has_what_the_sentence_says() -> None:
    state: dict[str, Any] = comparison(0.2, 0.1, 0.3, 0.001, adjusted_p=0.002).state()
    assert state["difference"] == 0.2
    assert (state["interval"]["low"], state["interval"]["high"]) == (0.1, 0.3)
    assert (state["corrected_p"], state["won"], state["lost"]) == (0.002, ["x"], ["y"])
    with pytest.raises(GoldassayError, match="not compared by labels"):
        comparison(0.2, 0.1, 0.3, 0.001).label_state()

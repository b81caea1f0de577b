"""The algebra: evidence adds up, and rates are computed from it."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldassay import Bins, By, Confusion, Counts, Mean
from goldassay.core.evidence import row, stacked
from goldassay.core.tally import Evidence, Macro, PrecisionCounts, RecallCounts

small = st.integers(0, 9).map(float)
counts = st.builds(Counts, small, small, small)
tallies = st.one_of(
    st.lists(counts, min_size=3, max_size=3),
    st.lists(st.builds(PrecisionCounts, small, small, small), min_size=3, max_size=3),
    st.lists(st.builds(RecallCounts, small, small, small), min_size=3, max_size=3),
    st.lists(st.builds(Mean, small, small), min_size=3, max_size=3),
    st.lists(st.dictionaries(st.sampled_from("abc"), counts).map(lambda d: By(d)), min_size=3, max_size=3),
    st.lists(
        st.dictionaries(st.sampled_from("abc"), counts).map(lambda d: Macro(d, "recall", "seen")),
        min_size=3,
        max_size=3,
    ),
    st.lists(
        st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), small).map(lambda d: Confusion(d)),
        min_size=3,
        max_size=3,
    ),
    st.lists(
        st.dictionaries(st.integers(0, 3), st.tuples(small, small, small)).map(lambda d: Bins(d)),
        min_size=3,
        max_size=3,
    ),
)


@given(tallies)
def test_addition_is_associative_and_commutative_and_zero_is_neutral(three: list[Any]) -> None:
    a, b, c = three
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + type(a)() == a == type(a)() + a


@given(tallies)
def test_the_state_is_json_and_reads_back(three: list[Any]) -> None:
    tally = three[0]
    assert tally.from_state(json.loads(json.dumps(tally.state()))) == tally


@given(tallies)
def test_a_row_of_stacked_tallies_is_the_tally_that_went_in(three: list[Any]) -> None:
    zero = three[0].from_state({})
    for index, tally in enumerate(three):
        back = row(stacked(three, zero), index)
        assert type(back) is type(tally)
        assert (back.value, back.weight) == pytest.approx(
            (tally.value, tally.weight)
        )  # keys are added up in another order


def test_macro_keeps_its_rate_and_share() -> None:
    total = Macro({"a": Counts(1, 0, 1)}, "recall", "support") + Macro({"b": Counts(2, 3, 0)})
    assert (total.rate, total.share, total.value) == ("recall", "support", 0.75)  # (2 · 1/2 + 2 · 1) / 4
    assert total.from_state(total.state()).value == copy.deepcopy(total).value == 0.75


def test_one_formula_serves_numbers_and_arrays() -> None:
    arrays = Counts(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0]))
    # 2/(2+1), nothing at all, 0/2
    assert arrays.value == pytest.approx([2 / 3, 1.0, 0.0])
    assert PrecisionCounts(arrays.tp, arrays.fp, arrays.fn).value == pytest.approx([0.5, 1.0, 0.0])
    assert RecallCounts(arrays.tp, arrays.fp, arrays.fn).value == pytest.approx([1.0, 1.0, 0.0])
    assert Mean(np.array([1.0, 0.0]), np.array([4.0, 0.0])).value == pytest.approx([0.25, 1.0])
    assert Macro({"a": arrays, "b": arrays}, share="seen").value == pytest.approx([2 / 3, 1.0, 0.0])


def test_rates_without_evidence_are_zero_and_the_value_is_one() -> None:
    assert (Counts().precision, Counts().recall, Counts().f1, Counts().value, Counts().weight) == (0, 0, 0, 1, 0)
    assert PrecisionCounts(0, 0, 3).value == 0.0  # something to find, nothing predicted
    assert Mean().value == By().value == Confusion().value == Bins().value == 1.0


def test_macro_leaves_out_keys_without_evidence() -> None:
    by = By({"a": Counts(1, 0, 0), "b": Counts(0, 1, 1), "none": Counts()})
    assert Macro(by, share="seen").value == 0.5  # (1 + 0) / 2
    assert Macro(by, share="support").value == 0.5  # support 1 and 1
    assert by.value == pytest.approx(2 / 4)  # 2·1 / (2·1 + 1 + 1)


def test_evidence_weighs_measures_that_have_evidence() -> None:
    evidence = Evidence({"f1": Counts(1, 1, 0), "mrr": Mean()}, {"f1": 0.7, "mrr": 0.3})
    assert evidence.value == pytest.approx(2 / 3)  # mrr is not applicable
    both = evidence + Evidence({"mrr": Mean(0.5, 1)}, {"f1": 0.7, "mrr": 0.3})
    assert both.value == pytest.approx(0.7 * 2 / 3 + 0.3 * 0.5)


def test_different_tallies_do_not_add() -> None:
    with pytest.raises(TypeError):
        Counts() + Mean()  # type: ignore[operator]


def test_a_confidence_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Bins.of(1.2, correct=True)

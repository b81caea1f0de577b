"""The edges of statistics: one example, no variation but rounding, settings that make no sense."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.ext.compat import significance_test
from goldassay.statistics import cohens_dz, compare, holm, interval, wilson

ROUNDED = ([0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5])  # the same difference four times, but for rounding


def test_the_same_difference_everywhere_is_so_in_spite_of_rounding() -> None:
    result = significance_test(*ROUNDED)
    assert (result["statistic"], result["p_value"], result["effect_size"]) == (None, 0.0, None)
    assert cohens_dz(np.subtract(*ROUNDED)) == float("inf")
    assert compare(*ROUNDED).effect == float("inf")


def test_one_example_shows_nothing_by_any_test() -> None:
    for test in ("permutation", "bootstrap", "wilcoxon", "mcnemar"):
        assert compare([1.0], [0.0], test=test).p == 1.0
        assert not significance_test([1.0], [0.0], test)["significant"]


def test_pairs_that_do_not_vary_tell_no_smallest_difference() -> None:
    state = compare([1.0, 0.5], [1.0, 0.5]).state()
    assert state["smallest_detectable"] is None
    json.dumps(state, allow_nan=False)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: compare([1.0, 0.0], [0.0, 0.0], resamples=0), "a seed of 0 or more, not 0 and 0"),
        (lambda: compare([1.0, 0.0], [0.0, 0.0], level=1.5), "level of an interval is between 0 and 1, not 1.5"),
        (lambda: compare([1.0, 0.0], [0.0, 0.0], seed=-1), "a seed of 0 or more, not"),
        (lambda: interval([1.0, 0.0], resamples=-1), "resampling needs a resample"),
        (lambda: interval([1.0, 0.0], seed=-1), "resampling needs a resample"),
        (lambda: wilson(5, 3), "5 of 3 at level 0.95 is not a rate"),
        (lambda: wilson(-1, 3), "-1 of 3"),
        (lambda: wilson(1, 3, 2.0), "at level 2"),
        (lambda: holm([0.01, float("nan")]), "a p-value lies between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_one_line(wrong: Callable[[], Any], says: str) -> None:
    with pytest.raises(GoldassayError, match=says):
        wrong()

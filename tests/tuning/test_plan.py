"""The pre-flight: what can be shown, what it needs, when it is refused."""

from __future__ import annotations

import math
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.tuning import tune
from goldassay.tuning.plan import Plan, from_pilot, from_sizes

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


def test_what_is_shown_falls_with_the_root_of_n_and_what_is_needed_follows() -> None:
    plan = Plan("patches", 100, 25, 0, spread=0.5)
    # One-sided .04 and power .8: (1.7507 + 0.8416) · 0.5 / √100 = 0.1296; on 25 twice that.
    assert plan.shows(100) == pytest.approx(0.1296, abs=1e-4)
    assert plan.shows(25) == pytest.approx(2 * plan.shows(100))
    assert plan.needs(plan.shows(100)) in (100, 101)
    assert plan.shows(0) == math.inf


def test_what_could_never_be_accepted_is_refused_with_what_would_help(
    lm: Any, learner: Any, names_program: Any, names_gold: list[Any]
) -> None:
    few = {"train": names_gold[:2], "dev": names_gold[2:4], "test": names_gold[4:6]}
    assert "give at least 5" in from_sizes("patches", few).refusal
    with pytest.raises(GoldassayError, match=r"4 examples to choose on and 2 of test: 5 wins.*give at least 5"):
        tune(names_program, few, METRIC, "patches", lm=lm, progress=False)
    assert learner.calls == 0
    right = Plan("patches", 40, 20, 0, wrong=0.05)
    assert right.refusal.startswith("about 2 of 40 examples are wrong as it is")
    assert "give about 100 examples, or harder ones" in right.refusal
    assert Plan("patches", 40, 20, 0, wrong=0.0).refusal.endswith(
        "made no error in the pilot, so no gain can be shown: give harder examples"
    )
    assert not Plan("patches", 40, 20, 0, wrong=0.5).refusal


def test_a_pilot_measures_baseline_ceiling_and_spread(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    splits = {"train": names_gold[:20], "dev": names_gold[20:32], "test": names_gold[32:]}
    with dspy.context(lm=lm):
        plan = from_pilot(from_sizes("patches", splits), names_program, splits, METRIC)
    assert plan.measured == 12
    assert plan.ceiling == 1.0  # demonstrations teach the learner everything
    assert plan.baseline is not None
    assert 0.5 < plan.baseline < 0.7
    assert plan.pays
    assert plan.calls == 8 * 32 + 2 * 20
    assert "tuning can pay" in " ".join(plan.lines())


def test_patches_plan_with_what_they_measure_and_leave_a_third_of_train_for_the_race() -> None:
    plan = from_sizes("patches", {"train": range(160), "dev": range(34), "test": range(34)})
    assert (plan.n, plan.spare) == (146, 48)
    assert plan.calls == 8 * 146 + 88 + 2 * 68
    assert plan.lines()[0].startswith(
        "Candidates are chosen on 146 examples (few-shot sets on 48 more of train) and tested"
    )
    few = from_sizes("patches", {"train": range(30), "dev": range(30), "test": []})
    assert (few.n, few.spare) == (60, 0)
    assert from_sizes("knn", {"train": range(160), "dev": range(34), "test": range(34)}).n == 34
    splits = {"train": range(160), "dev": range(34), "test": []}
    for settings, sizes in (({"most": 80}, (80, 114)), ({"nearest": 0}, (194, 0))):
        plan = from_sizes("patches", splits, settings)
        assert (plan.n, plan.spare) == sizes

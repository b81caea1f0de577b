"""The pre-flight: what can be shown, what it needs, when it is refused."""

from __future__ import annotations

import math
import random
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError, LeakError
from goldassay.measures import extraction
from goldassay.models.lm import TerseAdapter
from goldassay.running.options import RunOptions
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


def test_a_pilot_measures_baseline_probes_and_spread(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    splits = {"train": names_gold[:20], "dev": names_gold[20:32], "test": names_gold[32:]}
    with dspy.context(lm=lm):
        plan = from_pilot(from_sizes("patches", splits), names_program, splits, METRIC)
    assert plan.measured == 12
    (probe,) = plan.probes  # this adapter has one form
    assert (probe.name, probe.value) == ("nearest examples", 1.0)  # demonstrations teach the learner everything
    assert plan.least == pytest.approx(0.876, abs=1e-3)  # t of .2 one-sided with 11 degrees of freedom
    assert plan.baseline is not None
    assert 0.5 < plan.baseline < 0.7
    assert plan.pays
    assert plan.calls == 8 * 32 + 2 * 20 + 2 * 8
    lines = " ".join(plan.lines())
    assert f"nearest examples 1.000 ({probe.gain:+.3f}, {probe.t:.1f} standard errors)" in lines
    assert f"Tuning can pay: nearest examples gains {probe.t:.1f} standard errors. 0.9 are enough" in lines
    assert "16 of them show labeled and knn on test" in plan.lines()[-1]


def test_a_plan_refuses_leaks_before_any_call(lm: Any, learner: Any, names_program: Any, names_gold: list[Any]) -> None:
    splits = {"train": names_gold[:20], "dev": names_gold[19:32], "test": names_gold[32:]}
    shows = names_program.deepcopy()
    shows.predictors()[0].demos = [names_gold[35]]
    clean = {**splits, "dev": names_gold[20:32]}
    with dspy.context(lm=lm):
        for program, parts in ((names_program, splits), (shows, clean)):
            with pytest.raises(LeakError):
                from_pilot(from_sizes("patches", parts), program, parts, METRIC)
    assert learner.calls == 0


def test_a_pilot_stops_after_the_first_failures_that_are_alike(names_gold: list[Any]) -> None:
    calls: list[str] = []

    class Broken(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            calls.append(text)
            raise ValueError("no key")

    splits = {"train": names_gold[:10], "dev": names_gold[10:30], "test": names_gold[30:]}
    with pytest.raises(GoldassayError, match="^the first 5 examples failed alike: ValueError: no key$"):
        from_pilot(from_sizes("patches", splits), Broken(), splits, METRIC)
    assert len(calls) == 5


class Guess(dspy.Module):  # type: ignore[misc]
    """Right by a chance of the example's own and of the prompt's: as it is, with demonstrations, answering in lines."""

    def __init__(self, answers: dict[str, tuple[bool, ...]]) -> None:
        super().__init__()
        self.predict, self.answers = dspy.Predict("text -> labels: list[str]"), answers

    def forward(self, text: str) -> Any:
        kind = 1 if self.predict.demos else 2 if dspy.settings.adapter.form == "lines" else 0
        return dspy.Prediction(labels=["x"] * self.answers[text][kind])


def pilot(seed: int, gain: float, base: float = 0.5) -> Plan:
    """The plan of a pilot in which nearest examples gain so much, and answers in lines nothing."""
    rng = random.Random(seed)
    texts = ["".join(rng.choices("abcdefghijklmnopqrst ", k=30)) for _ in range(20)]
    answers = {text: tuple(rng.random() < base + gain * (kind == 1) for kind in range(3)) for text in texts}
    examples = [dspy.Example(text=text, labels=["x"]).with_inputs("text") for text in texts]
    splits = {"train": examples[:4], "dev": examples[4:], "test": examples[4:5]}
    splits["test"] = [dspy.Example(text="another text", labels=["x"]).with_inputs("text")] * 100
    metric = Metric.of(lambda gold, pred: gold["labels"] == pred["labels"])
    return from_pilot(
        from_sizes("patches", splits), Guess(answers), splits, metric, options=RunOptions(adapter=TerseAdapter("json"))
    )


@pytest.mark.parametrize("draws", [5, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("gain", "low", "high"), [(0.0, 0.0, 0.3), (0.45, 0.85, 1.0)])
def test_a_pilot_says_go_where_something_helps_and_seldom_where_nothing_does(
    gain: float, low: float, high: float, draws: int
) -> None:
    plans = [pilot(seed, gain) for seed in range(draws)]  # benchmarks.claims has the rates
    assert {probe.name for probe in plans[0].probes} == {"nearest examples", "the other form of the answer"}
    assert low <= sum(bool(plan.pays) for plan in plans) / len(plans) <= high


def test_examples_of_a_document_count_as_one_in_a_plan() -> None:
    paged = [dspy.Example(text=str(n), document=n // 4).with_inputs("text") for n in range(80)]
    splits: dict[str, Any] = {"train": paged[:16], "dev": paged[16:48], "test": paged[48:]}
    plan = from_sizes("knn", splits)
    assert (plan.n, plan.per_document) == (32, 4.0)
    assert plan.shows(32) == Plan("knn", 8, 8, 0).shows(8)
    assert plan.needs(0.2) == 4 * Plan("knn", 8, 8, 0).needs(0.2)
    assert "32 examples of test, 4.0 of each document, which count as one" in plan.lines()[0]
    few = from_sizes("knn", {"train": paged[:4], "dev": paged[4:16], "test": paged[16:28]})
    assert few.refusal.startswith("12 examples to choose on and 12 of test, 4.0 of each document")
    assert from_sizes("knn", {"train": range(4), "dev": range(32), "test": range(32)}).per_document == 1.0


def test_patches_plan_with_what_they_measure_and_leave_a_third_of_train_for_the_race() -> None:
    plan = from_sizes("patches", {"train": range(160), "dev": range(34), "test": range(34)})
    assert (plan.n, plan.spare) == (146, 48)
    assert plan.calls == 8 * 146 + 88 + 2 * 68 + 2 * 34
    budgeted = from_sizes("patches", {"train": range(160), "dev": range(34), "test": range(34)}, budget="calls=800")
    assert budgeted.calls == 800 + 2 * 34 + 2 * 34
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

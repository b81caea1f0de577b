"""The law of direction: predictions that are better by a measure are never called worse by anything that reads it.

Every registered measure meets everything that says which of two numbers is better: scores and objective scores for
DSPy, targets, gates, floors, comparisons, ranks, tuning.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.perfect import perfect_for

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Batches, Measure
from goldassay.core.score import Score
from goldassay.ext.interop import exports
from goldassay.measures import answering
from goldassay.reporting import ranking
from goldassay.reporting.pages import report
from goldassay.results.result import fold
from goldassay.running import summary
from goldassay.running.comparing import compare, from_predictions
from goldassay.running.gates import gate
from goldassay.running.run import Run
from goldassay.running.scoring import below
from goldassay.statistics.sequential import sequential_test
from goldassay.tuning.measuring import Bench, effect
from goldassay.tuning.patterns import find
from goldassay.tuning.systems import MarkedTest

from .test_laws import records, registered

SIZE = 16


def first_of_their_kind() -> list[Any]:
    """The measures; those of which another has the same class, kind of tally and direction wait for the night."""
    kinds: set[Any] = set()
    params: list[Any] = []
    for param in registered():
        _, measure = values = param.values
        kind = (type(measure), type(measure.zero), measure.lower_is_better)
        marks = [*param.marks, *([pytest.mark.nightly] if kind in kinds else [])]
        if not param.marks:
            kinds.add(kind)
        params.append(pytest.param(*values, id=param.id, marks=marks))
    return params


each = pytest.mark.parametrize(("task", "measure"), first_of_their_kind())


@dataclass
class Two:
    """Worse and better predictions of the same gold, by one measure, as runs."""

    measure: Measure[Any]
    gold: list[Any]
    worse: Run
    better: Run

    @property
    def target(self) -> float:
        """A value between the two."""
        return (self.worse.values[self.measure.key] + self.better.values[self.measure.key]) / 2

    def runs(self) -> tuple[Run, Run]:
        return self.worse, self.better


@cache
def predictions(task: str, seed: int, right: float) -> list[Any]:
    """Perfect predictions, except that some are those of another example; all as sure of themselves."""
    rng, gold = random.Random(seed), records(task)[:SIZE]
    perfect = perfect_for(task)
    answers_of_run = [perfect(one if rng.random() < right else gold[index - 1]) for index, one in enumerate(gold)]
    if task == "triples":
        return [{"triples": [{**triple, "confidence": 0.9} for triple in one["triples"]]} for one in answers_of_run]
    return [{**dict(one), "confidence": 0.9} for one in answers_of_run] if task == "answering" else answers_of_run


def run_of(task: str, measure: Measure[Any], preds: list[Any], name: str) -> Run:
    return from_predictions(records(task)[:SIZE], preds, Metric(measure), name=name)


@cache
def two(task: str, measure: Measure[Any]) -> Two | None:
    """The worst and the best of some predictions; None if the measure finds them all alike."""
    gold = records(task)[:SIZE]
    values: dict[tuple[int, float], float] = {}
    for seed, right in enumerate((0.0, 0.3, 0.6, 1.0)):
        found = measure.tallies(measure.batch(gold, predictions(task, seed, right))).summed
        if found.weight:
            values[seed, right] = float(found.value)
    ranked = sorted(values, key=values.__getitem__, reverse=measure.lower_is_better)
    if not ranked or abs(values[ranked[0]] - values[ranked[-1]]) < 1e-9:
        return None
    runs = [run_of(task, measure, predictions(task, *each), f"{each[0]}") for each in (ranked[0], ranked[-1])]
    both = Two(measure, gold, *runs)
    for run in both.runs():
        run.head.measures[measure.key] = replace(run.head.measures[measure.key], target=both.target)
    return both


@pytest.mark.nightly
def test_nearly_all_measures_tell_better_from_worse() -> None:
    measures: list[Any] = [param.values for param in registered()]
    alike = [measure.key for task, measure in measures if two(task, measure) is None]
    # those that need a judge's verdicts, retrieved passages, an entity with two mentions (muc_f1, pairwise_f1),
    # or calls that failed
    assert len(alike) < 31, alike
    lower = {measure.key for task, measure in measures if measure.lower_is_better and two(task, measure)}
    assert lower >= {"brier", "ece", "aurc", "subject_hallucination", "object_hallucination"}


@each
def test_what_dspy_maximises(task: str, measure: Measure[Any]) -> None:
    both = two(task, measure)
    if both is None:  # `test_nearly_all_measures_tell_better_from_worse` holds how many they are
        pytest.skip(f"{measure.key} finds these predictions all alike")
    metric, key = Metric(measure, targets={measure.key: both.target}), measure.key
    assert (metric.met(both.better.values)[key], metric.met(both.worse.values)[key]) == (True, False)
    for row, other in zip(both.worse.evidence, both.better.evidence, strict=True):
        scores = [Score(float(side.value), evidence=side) for side in (row, other)]
        ahead = float(other[key].value) - float(row[key].value)
        if row[key].weight and other[key].weight and abs(ahead) > 1e-9:
            assert (scores[1].score > scores[0].score) == ((ahead > 0) != measure.lower_is_better)
            assert float(other.score(key)) == scores[1].score
    totals = [
        sum(Score(evidence=row) for row in run.evidence) / len(both.gold) for run in both.runs()
    ]  # as Evaluate does
    assert totals[0] < totals[1]
    assert [pytest.approx(total) for total in totals] == [run.value for run in both.runs()]


@each
def test_what_people_read(task: str, measure: Measure[Any]) -> None:
    both = two(task, measure)
    if both is None:  # `test_nearly_all_measures_tell_better_from_worse` holds how many they are
        pytest.skip(f"{measure.key} finds these predictions all alike")
    key = measure.key
    found = compare(both.worse, both.better)
    (result,) = found
    (back,) = compare(both.better, both.worse)
    assert (result.change, back.change) in {("better", "worse"), ("", "")}
    assert (result.won, result.lost) == (back.lost, back.won)
    if type(measure.zero).__name__ == "Mean":
        assert len(result.won) >= len(result.lost)
    rank = found.ranks[key]
    assert rank[1].low <= rank[0].low
    assert rank[1].high <= rank[0].high
    assert [system.run for system in ranking.rank([both.worse, both.better], {key: 1.0})] == [both.better, both.worse]
    for run, met in ((both.worse, False), (both.better, True)):
        (value,) = summary.values(run)
        assert value.met is met
        assert ("↓" in value.label) is measure.lower_is_better
        suite = ElementTree.fromstring(exports.to_junit(run))
        (case,) = (case for case in suite if case.get("classname") == "targets")
        assert bool(case.findall("failure")) is not met
        failure = MarkedTest("extraction", floors={key: both.target}).failure(run, key, both.target)
        assert bool(failure) is not met
        least, most = measure.limits
        if not math.isfinite(most):  # an error without bounds has no gate
            with pytest.raises(GoldassayError, match="bounds"):
                gate(run.tallies(key), run.zero[key], target=both.target, bounds=measure.limits)
            continue
        verdict = gate(
            run.tallies(key),
            run.zero[key],
            target=min(max(both.target, least + 1e-3), most - 1e-3),
            bounds=measure.limits,
            lower_is_better=measure.lower_is_better,
        ).verdict
        assert verdict != ("fail" if met else "pass")


@each
def test_what_tuning_accepts(task: str, measure: Measure[Any]) -> None:
    both = two(task, measure)
    if both is None:  # `test_nearly_all_measures_tell_better_from_worse` holds how many they are
        pytest.skip(f"{measure.key} finds these predictions all alike")
    before, after = both.worse.cases, both.better.cases
    gain = effect(after, before, both.gold, "dev", {}, zero=both.better.zero, resamples=200)
    assert gain.difference > 0
    assert gain.before is not None
    assert gain.after is not None
    assert gain.after > gain.before
    bench = Bench(both.gold, Metric(measure), {measure.key: 0.0}, resamples=200)
    assert bench.drops(after, before) == ""
    decision = sequential_test([case.evidence for case in after], [case.evidence for case in before], both.worse.zero)
    assert decision.decision != "reject"
    assert all(pattern.loss >= -1e-9 for pattern in find(before))


@each
def test_floors_of_the_command_line(task: str, measure: Measure[Any]) -> None:
    both = two(task, measure)
    if both is None:  # `test_nearly_all_measures_tell_better_from_worse` holds how many they are
        pytest.skip(f"{measure.key} finds these predictions all alike")
    for run, met in ((both.worse, False), (both.better, True)):
        card = fold(task, [measure], Batches([], []))
        card.values[measure.key] = run.values[measure.key]
        assert (below(card, {measure.key: both.target}) == []) is met


def brier_runs() -> tuple[Run, Run]:
    both = two("answering", answering.Calibration(statistic="brier"))
    assert both is not None
    return both.runs()


def test_a_page_calls_the_lower_error_better() -> None:
    worse, better = brier_runs()
    page = report([worse, better])
    against = page[page.index('id="against"') :]
    assert '<th scope="row">brier ↓</th><td class="num good">' in against
    assert " is better than " in page
    assert " is worse than " not in page
    assert ">1 - brier [95 %]</th>" in page  # the runs' own table has the metric, whose higher values are better
    assert "brier (lower is better)" in page
    assert "brier $\\downarrow$" in exports.to_latex([worse], ["worse"])


def test_the_metric_of_an_error_is_one_minus_it_and_its_interval_with_it() -> None:
    worse, _ = brier_runs()
    whole, (own,) = summary.overall(worse), summary.values(worse)
    assert whole.convention == "1 - brier"
    assert whole.value == pytest.approx(1 - own.value)
    assert whole.interval is not None
    assert own.interval is not None
    assert (whole.interval.low, whole.interval.high) == pytest.approx((1 - own.interval.high, 1 - own.interval.low))

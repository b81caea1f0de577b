"""Runs on gold that a design chose: weighed by it in every value, and refused where it tells nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import evaluate
from goldassay._support.exceptions import GoldassayError
from goldassay.core.metric import Metric
from goldassay.core.tally import Evidence, Mean
from goldassay.ext.interop.exports import to_latex
from goldassay.gold import load
from goldassay.measures.classification import Accuracy
from goldassay.reporting.pages import report
from goldassay.reporting.summary import RunSummary
from goldassay.results.comparisons import compare_metric
from goldassay.running import Run
from goldassay.running.comparing import compare
from goldassay.running.gates import gates
from goldassay.running.summary import run_sentence
from goldassay.tuning.measuring import effect
from goldassay.tuning.verdict import of_runs

SIZES = {"hard": 100, "easy": 900}


def records(question: str = "level") -> list[dict[str, Any]]:
    """Twenty of each stratum, all with the same label."""
    several = []
    for stratum, size in SIZES.items():
        for place in range(20):
            sampling = {"question": question, "stratum": stratum, "size": size, "population": 1000, "position": place}
            text = f"{stratum} {place}"
            strata = {"length": stratum}
            several.append({"id": text, "text": text, "label": "M", "strata": strata, "sampling": sampling})
    random.Random(1).shuffle(several)
    return several


def answers(hard: int) -> Any:
    def program(text: str) -> dspy.Prediction:
        stratum, place = text.split()
        right = int(place) < (hard if stratum == "hard" else 18)
        return dspy.Prediction(label="M" if right else "L")

    return program


def run_of(hard: int, folder: Path | None = None, question: str = "level") -> Run:
    examples = load(records(question), task="classification").classification.all
    return evaluate(answers(hard), examples, Metric([Accuracy()], targets={"accuracy": 0.8}), folder=folder)


def test_every_value_of_a_run_is_weighed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = run_of(4, folder)
    expected = 0.1 * 4 / 20 + 0.9 * 18 / 20
    for each in (run, Run.load(folder)):
        assert each.values["accuracy"] == pytest.approx(expected)
        assert each.value == pytest.approx(expected)
        assert each.interval is not None
        assert each.interval.method == "design, wilson"
        assert each.by_stratum["length"]["hard"] == {"examples": 20, "accuracy": pytest.approx(0.2)}
    stored = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert stored["values"]["accuracy"] == pytest.approx(expected)


def test_differences_are_weighed() -> None:
    first, second = run_of(4), run_of(12)
    (result,) = compare(first, second)
    assert result.difference == pytest.approx(0.1 * 8 / 20)
    assert compare_metric(first.result, second.result).difference == pytest.approx(0.04)
    assert of_runs([first, second]).gain == pytest.approx(0.04)
    assert result.p < 0.05


def test_a_gate_and_the_luck_of_many_candidates_need_a_random_sample(tmp_path: Path) -> None:
    runs = [run_of(4), run_of(8), run_of(12)]
    with pytest.raises(GoldassayError, match="a gate needs a random sample"):
        gates(runs[0], tmp_path)
    with pytest.raises(GoldassayError, match="how much of a gain is luck"):
        of_runs(runs)


@pytest.mark.parametrize("question", ["compare", "errors", "tuning"])
def test_other_questions_tell_no_value_of_a_run(question: str, tmp_path: Path) -> None:
    first, second = run_of(4, tmp_path / "run", question), run_of(12, question=question)
    for each in (first, Run.load(tmp_path / "run")):
        assert each.values == {}
        assert each.interval is None
        assert each.results["value"] is None
        assert each.why_no_estimate in each.warnings
        assert run_sentence(each, "ours") == f"ours has no value: {each.why_no_estimate}."
        assert ">nan" not in report([each])
        assert 'data-value="nan"' not in report([each])
        assert "nan" not in to_latex([each], ["ours"])
    with pytest.raises(GoldassayError):
        compare(first, second)
    with pytest.raises(GoldassayError):
        compare_metric(first.result, second.result)


def test_the_test_split_of_a_tuning_is_weighed_and_dev_is_not() -> None:
    examples = load(records(), task="classification").classification.all
    zero = Evidence({"accuracy": Mean()})
    cases = [run.cases for run in (run_of(4), run_of(12))]
    found = {split: effect(cases[1], cases[0], examples, split, {}, zero=zero) for split in ("dev", "test")}
    assert found["test"].difference == pytest.approx(0.04)
    assert found["test"].before == pytest.approx(0.83)
    assert found["dev"].difference == pytest.approx(8 / 40)


def test_the_parts_of_a_report_are_weighed_and_left_out_without_a_level(tmp_path: Path) -> None:
    by_label = RunSummary(run_of(4, tmp_path / "level")).by["label"]["M"]
    assert by_label["support"] == pytest.approx(1000, abs=1)
    assert by_label["recall"] == pytest.approx(0.83, abs=0.001)
    assert RunSummary(run_of(4, tmp_path / "compare", "compare")).by == {}

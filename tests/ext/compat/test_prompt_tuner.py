"""The founding document's report, with measured lift in place of estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.ext.compat import PromptTuner
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate
from goldassay.tuning.patches import apply


@pytest.fixture
def lm(learner: Any) -> Any:
    return dspy.LM("scripted/learner", engine=learner, cache=False)


METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


def test_the_report_has_patterns_and_patches_with_their_measured_lift(
    lm: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    train, dev = names_gold[:16], names_gold[16:]
    tuner = PromptTuner(names_program, train, most=5)
    with dspy.context(lm=lm):
        run = evaluate(names_program, train, METRIC, progress=False)
        report = tuner.analyse(run)
        measured = tuner.measure(report, dev, METRIC)
        best = max(measured.prompt_patches, key=lambda patch: patch.effects[0].difference)
        before = evaluate(names_program, dev, METRIC, progress=False).value
        after = evaluate(apply(names_program, best), dev, METRIC, progress=False).value
    # Without help the learner overlooks numbers (12 of 16 texts have one) and calls the other 4, museums, TOP.
    assert [(item.gold_type, item.count) for item in report.false_negative_patterns] == [("TMP", 12)]
    assert {(each_pattern.gold_type, each_pattern.pred_type) for each_pattern in report.false_positive_patterns} == {
        ("MUS", "TOP")
    }
    assert sum(pattern.count for pattern in report.false_positive_patterns) == 4
    parsed = json.loads(measured.save(tmp_path / "r" / "report.json").read_text(encoding="utf-8"))
    assert set(parsed) == {"false_positive_patterns", "false_negative_patterns", "prompt_patches"}
    assert len(parsed["prompt_patches"]) == 5
    lift = next(patch["measured_lift"] for patch in parsed["prompt_patches"] if patch["id"] == best.id)
    assert lift["difference"] == pytest.approx(after - before)
    assert lift["low"] <= lift["difference"] <= lift["high"]
    assert lift["p"] <= lift["corrected_p"] <= min(1.0, 5 * lift["p"] + 1e-12)
    assert lift["n"] == len(dev)
    assert all(patch["measured_lift"] is None for patch in report.state()["prompt_patches"])


def test_a_run_on_other_examples_is_refused(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    with dspy.context(lm=lm):
        run = evaluate(names_program, names_gold[20:22], METRIC, progress=False)
    with pytest.raises(GoldassayError, match=r"2 examples of the run are not in train \(such as n20\)"):
        PromptTuner(names_program, names_gold[:20]).analyse(run)

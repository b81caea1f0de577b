"""One tuning after another: what the first one made is where ``patches`` begin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.tuning import load_state, tune
from goldassay.tuning.optimizers import resolve

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
NUMBERS = json.dumps({"new_instruction": "Find names. A museum is MUS."})  # says nothing of years: patches must


@pytest.mark.parametrize(
    ("first", "options"),
    [
        pytest.param("gepa", {"max_metric_calls": 60}, marks=pytest.mark.nightly),
        ("knn", {"k": 1}),
        pytest.param("patches", {"rounds": 1}, marks=pytest.mark.nightly),
    ],
)
def test_patches_go_on_where_another_optimizer_ended(
    first: str, options: Any, lm: Any, reflector: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    gold = {"train": names_gold[:12], "dev": names_gold[12:32], "test": names_gold[32:]}
    common: dict[str, Any] = {"lm": lm, "progress": False}
    writer = reflector(NUMBERS) if resolve(first).writes else None
    folder = tmp_path / "one"
    tuned = tune(names_program, gold, METRIC, first, folder=folder, settings=options, reflection_lm=writer, **common)
    start = load_state(names_program, tmp_path / "one")
    two = tune(start, gold, METRIC, "patches", folder=tmp_path / "two", **common)
    assert two.dev.before.value == pytest.approx(tuned.dev.after.value)
    assert two.dev.after.value >= two.dev.before.value
    if first == "gepa":
        assert two.ledger.kept
        assert two.dev.after.value > two.dev.before.value
    again = load_state(names_program, tmp_path / "two")
    with dspy.context(lm=lm):
        for example in gold["test"]:
            assert again(text=example["text"]).entities == two.program(text=example["text"]).entities
    examples = [predictor.signature.instructions for predictor in again.predictors()]
    assert all(text.startswith(tuned.program.predictors()[0].signature.instructions) for text in examples)


def test_nearest_examples_are_not_shown_twice_over(lm: Any, names_program: Any, names_gold: list[Any]) -> None:
    gold = {"train": names_gold[:20], "dev": names_gold[20:32]}
    tuned = tune(names_program, gold, METRIC, "knn", lm=lm, progress=False)
    with pytest.raises(GoldassayError, match="shown its nearest examples already"):
        tune(tuned.program, gold, METRIC, "knn", lm=lm, progress=False)

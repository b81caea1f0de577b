"""Live conformance: every installed oracle is asked, a wrong number is seen, an absent one is named."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conformance import cases, live

from goldassay import workspace
from goldassay.measures import classification

RATES = ("precision", "recall", "f1", "support")
LEAST = {
    "seqeval": 250,
    "nervaluate": 300,
    "scikit-learn": 60,
    "krippendorff": 390,
    "statsmodels": 500,
    "pytrec_eval": 3000,
    "ir_measures": 1500,
    "rouge-score": 8000,
}
"""About as many numbers as there are; a set that lost its cases would have far fewer."""


@pytest.fixture(autouse=True)
def no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """statsmodels collects all garbage of the process each time that it corrects p-values: half a second."""
    monkeypatch.setattr("gc.collect", lambda *_: 0)


@pytest.mark.parametrize("name", live.ORACLES)
def test_every_number_is_that_of_the_oracle(name: str) -> None:
    (result,) = live.run([name])
    assert (result.missing, result.differences) == ("", [])
    assert result.reproduced == result.total >= LEAST[name]


@pytest.mark.parametrize(
    ("name", "module", "function", "damage"),
    [
        ("seqeval", live, "evaluate_tags", lambda report: {**report, "micro avg": dict.fromkeys(RATES, 0.5)}),
        ("scikit-learn", classification, "scorecard", lambda x: replace(x, set_values=dict.fromkeys(x.values, 0.5))),
        ("krippendorff", live, "alpha", lambda value: value + 1e-6),
        ("statsmodels", live, "wilson", lambda ends: (ends[0], ends[1] + 1e-6)),
        ("pytrec_eval", live, "by_query", lambda rows: {query: {**row, "AP": None} for query, row in rows.items()}),
        ("ir_measures", live, "by_query", lambda rows: {query: {**row, "RR": None} for query, row in rows.items()}),
        ("rouge-score", live, "rouge", lambda rouge: {**rouge, "L": np.asarray(rouge["L"]) + 1e-12}),
    ],
)  # fmt: skip
def test_a_wrong_number_is_seen(
    name: str, module: Any, function: str, damage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *arguments, **options: damage(right(*arguments, **options)))
    (result,) = live.run([name])
    assert result.total - result.reproduced > 0
    assert "official" in result.differences[0]


def test_an_oracle_that_is_absent_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(live, "find_spec", lambda name: None if name in ("seqeval", "krippendorff") else there(name))
    absent, other, nervaluate = live.run(["seqeval", "krippendorff", "nervaluate"])
    assert absent.missing == "not installed; pip install seqeval==1.2.2"
    assert other.missing == "not installed; pip install krippendorff==0.9.0"
    assert nervaluate.reproduced == nervaluate.total > 0


def test_the_same_numbers_on_every_machine_and_without_the_gold_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cases.judged() == cases.judged()
    assert cases.spans() == cases.spans()
    before = {name: live.run([name])[0].total for name in ("seqeval", "ir_measures")}
    monkeypatch.setattr(workspace, "root", lambda: tmp_path)
    assert cases.heritage("answering")  # that which comes with goldassay
    monkeypatch.setattr(workspace, "installed", lambda: tmp_path)
    assert cases.heritage("answering") == []
    for name, total in before.items():
        (result,) = live.run([name])
        assert 0 < result.reproduced == result.total < total

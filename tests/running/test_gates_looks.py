"""Looks at held-out data are counted, and the gate asks for more the more of them there were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import classification
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.running.gates import LOOKS, gates, look_number

METRIC = Metric(classification.Accuracy(), targets={"accuracy": 0.9})


def gold(n: int) -> list[Any]:
    return [dspy.Example(id=str(i), text=f"t{i}", label="M").with_inputs("text") for i in range(n)]


def right(text: str) -> Any:
    return dspy.Prediction(label="M")


def made(runs: Path, name: str, n: int = 60, metric: Any = METRIC, program: Any = right) -> Run:
    return evaluate(program, gold(n), metric, folder=runs / name, progress=False, name=name)


def test_the_first_look_passes_and_a_tenth_needs_more(tmp_path: Path) -> None:
    verdicts = [gates(made(tmp_path, f"run{k}"), tmp_path)["accuracy"] for k in range(10)]
    assert [verdict.look for verdict in verdicts] == list(range(1, 11))
    assert (verdicts[0].verdict, verdicts[9].verdict) == ("pass", "continue")
    assert verdicts[9].more
    assert (tmp_path / LOOKS).read_text().count("\n") == 10


def test_the_same_run_is_no_new_look_and_other_gold_has_its_own_count(tmp_path: Path) -> None:
    first, other = made(tmp_path, "a"), made(tmp_path, "b", n=40)
    assert [look_number(first, tmp_path), look_number(first, tmp_path)] == [1, 1]
    assert look_number(other, tmp_path) == 1
    assert look_number(made(tmp_path, "c"), tmp_path) == 2
    assert look_number(Run.load(tmp_path / "c"), tmp_path) == 2


def test_a_program_that_is_worse_fails(tmp_path: Path) -> None:
    bad = made(tmp_path, "bad", program=lambda text: dspy.Prediction(label="G"))
    assert gates(bad, tmp_path)["accuracy"].verdict == "fail"


def test_a_gate_without_a_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GoldassayError, match="a gate needs a target"):
        gates(made(tmp_path, "a", metric=Metric(classification.Accuracy())), tmp_path)

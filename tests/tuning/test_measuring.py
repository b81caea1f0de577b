"""A bench: the values that must not drop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Counts, Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.core.tally import Evidence
from goldassay.measures import extraction
from goldassay.running.run import Case
from goldassay.tuning.measuring import Bench

METRIC = Metric({extraction.SpanF1(): 1.0, extraction.SpanF1("partial"): 0.0})


def case(strict: Counts, partial: Counts) -> Case:
    return Case("x", Evidence({"strict_f1": strict, "partial_f1": partial}, METRIC.weights))


def test_a_measure_that_weighs_nothing_is_guarded_and_must_not_drop() -> None:
    assert Bench([], METRIC).tolerated == {"partial_f1": 0.0}
    assert Bench([], METRIC, {"strict_f1": 0.1}).tolerated == {"strict_f1": 0.1}
    assert Bench([], lambda gold, pred: 1.0).tolerated == {}
    with pytest.raises(GoldassayError, match="'bleu' cannot be guarded: the metric has strict_f1, partial_f1"):
        Bench([], METRIC, {"bleu": 0.0})
    # Partial F1 falls from 2·8/(2·8+2+2) = 0.8 to 2·6/(2·6+4+4) = 0.6 while strict F1 rises.
    before, after = [case(Counts(5, 5, 5), Counts(8, 2, 2))], [case(Counts(6, 4, 4), Counts(6, 4, 4))]
    bench = Bench([], METRIC, {"partial_f1": 0.0})
    assert bench.drops(after, before) == "partial_f1 by 0.2000"
    assert bench.drops(before, after) == ""
    assert Bench([], METRIC, {"partial_f1": 0.2}).drops(after, before) == ""


class Echo(dspy.Module):  # type: ignore[misc]
    def forward(self, text: str) -> Any:
        return dspy.Prediction(label=text)


def test_a_function_that_returns_a_dict_is_measured_and_read_back_from_a_journal(tmp_path: Path) -> None:
    """Its names are known after its first example: patches and explain failed on them."""

    def both(gold: Any, pred: Any) -> dict[str, float]:
        return {"score": float(gold.label == pred.label), "brief": float(len(pred.label) < 2)}

    gold = [dspy.Example(text=text, label="a").with_inputs("text") for text in ("a", "b", "aa")]
    for _ in range(2):  # the second bench has all of it from the journal
        bench = Bench(gold, both, journal=tmp_path / "measured.jsonl")
        run = bench.run(Echo(), range(3))
        assert run.available
        assert run.values == pytest.approx({"score": 1 / 3, "brief": 2 / 3})
        assert run.value == pytest.approx(1 / 3)

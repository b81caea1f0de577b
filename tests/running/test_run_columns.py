"""A run whose metric renames fields: its tables, and what it may be resumed and compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, compare, evaluate, score
from goldassay._support.exceptions import ConventionError
from goldassay.measures import extraction
from goldassay.reporting.ranking import rank
from goldassay.reporting.summary import RunSummary
from goldassay.running.comparing import from_predictions
from goldassay.running.run import Run

GOLD = [
    dspy.Example(id=str(i), text="Ada 1815", people=[(0, 3, "PER")], spans=[(0, 3, "PER"), (4, 8, "TMP")]).with_inputs(
        "text"
    )
    for i in range(3)
]


def names(text: str) -> Any:
    return dspy.Prediction(spans=[(0, 3, "PER")])


SPANS = {"entities": "spans"}
PEOPLE = {"gold.entities": "people", "pred.entities": "spans"}


def run(columns: dict[str, str], folder: Path | None = None) -> Run:
    return evaluate(names, GOLD, Metric(extraction.SpanF1(), columns=columns), folder=folder, progress=False)


def test_a_run_with_renamed_fields_has_values_by_type(tmp_path: Path) -> None:
    run(SPANS, tmp_path / "run")
    tables = RunSummary(Run.load(tmp_path / "run")).by
    assert tables["type"]["PER"]["strict_f1"] == 1.0
    assert tables["type"]["TMP"]["strict_recall"] == 0.0


def test_a_run_is_resumed_by_a_metric_that_reads_the_same_fields(tmp_path: Path) -> None:
    run(SPANS, tmp_path / "run")
    other = Metric(extraction.SpanF1(), columns=PEOPLE)
    with pytest.raises(ConventionError, match="a metric that reads other fields"):
        evaluate(names, GOLD, other, resume=tmp_path / "run", progress=False)


def test_runs_by_metrics_that_read_other_fields_are_not_compared() -> None:
    one, other = run(SPANS), run(PEOPLE)
    with pytest.raises(ConventionError, match=r"read other fields: columns=.*'spans'.* and columns=.*'people'"):
        compare(one, other)
    with pytest.raises(ConventionError, match="read other fields"):
        rank([one, other])
    assert compare(one, run(SPANS))


def test_results_are_compared_as_runs_are() -> None:
    """The same numbers from files of predictions, from a run, and from one of each."""
    gold = [{"id": str(i), "label": "AB"[i % 2]} for i in range(12)]
    first, second = [{"label": "A"}] * 12, [{"label": "AB"[i % 3 == 1]} for i in range(12)]
    results = [score("classification", gold, side, measures=["accuracy"]) for side in (first, second)]
    runs = [
        from_predictions(gold, side, results[0].measures, name=name) for name, side in (("a", first), ("b", second))
    ]
    by_run, by_result, mixed = (list(compare(*pair)) for pair in (runs, results, (runs[0], results[1])))
    tests = [[each.test for each in comparisons] for comparisons in (by_run, by_result, mixed)]
    assert tests[0] == tests[1] == tests[2]
    assert by_run[0].won == by_result[0].won == mixed[0].won != ()
    other = score("classification", [{**row, "id": f"x{row['id']}"} for row in gold], second)
    with pytest.raises(ConventionError, match="of other examples"):
        compare(results[0], other)

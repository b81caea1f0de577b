"""Parts of runs, and two runs part by part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.measures import extraction
from goldassay.reporting import runs as tables
from goldassay.reporting.verdicts import against
from goldassay.running import Run
from goldassay.running.comparing import compare
from goldassay.running.evaluate import evaluate

METRIC = Metric({extraction.SpanF1(): 1.0})
GOLD = [
    dspy.Example(
        id=str(i),
        text="Ada 1815",
        language="nl" if i < 2 else "de",
        strata={"tier": i % 2},
        entities=[(0, 3, "PER"), (4, 8, "TMP")],
    ).with_inputs("text", "language")
    for i in range(4)
]


def made(program: Any, folder: Path) -> Run:
    return evaluate(program, GOLD, METRIC, folder=folder, progress=False)


@pytest.fixture
def two(tmp_path: Path) -> list[Run]:
    """One finds every name and no year; the other finds the years of Dutch texts too."""

    def names(text: str, language: str) -> Any:
        return dspy.Prediction(entities=[(0, 3, "PER")])

    def both(text: str, language: str) -> Any:
        return dspy.Prediction(entities=[(0, 3, "PER"), *([(4, 8, "TMP")] if language == "nl" else [])])

    return [made(names, tmp_path / "names"), made(both, tmp_path / "both")]


def test_values_by_stratum_and_language_stand_beside_each_other(two: list[Run]) -> None:
    names, both = (run.by_stratum for run in two)
    # one of two found: F1 = 2·1 / (2·1 + 1)
    assert names["language"]["nl"] == {"examples": 2, "strict_f1": pytest.approx(2 / 3)}
    assert both["language"]["nl"]["strict_f1"] == 1.0
    assert [run["language"]["de"]["strict_f1"] for run in (names, both)] == [pytest.approx(2 / 3)] * 2
    assert set(names["tier"]) == {"0", "1"}
    assert both["tier"]["0"]["strict_f1"] == pytest.approx(6 / 7)  # tp 3, fn 1


def test_only_what_differs_is_shown_most_first(two: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    (verdict,) = against(two, compare(*two))
    tables.moved(verdict, (2, 1))
    lines = [line for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [line.split("│")[1].strip() for line in lines] == ["language nl", "tier 0", "tier 1", "missed TMP"]
    assert lines[-1].replace(" ", "") == "│missedTMP│4│2│"
    (same,) = against([two[0], two[0]], compare(two[0], replace(two[0])))
    tables.moved(same, (2, 1))
    assert capsys.readouterr().out == ""

"""Means of grades, corrected by people's: scales, rubrics, numbers of any kind."""

from __future__ import annotations

import json
import random
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError
from goldassay.cli import app
from goldassay.judges.agreement import estimate, mean_grade
from goldassay.judges.labels import JudgedItem, LabelFile, read_grades
from goldassay.judges.questions import count, question, rubric, scale
from goldassay.statistics.ppi import corrected


def test_against_the_formula_by_hand() -> None:
    """λ = cov / ((1 + n/N)·var of all verdicts); estimate = mean of labels + λ·(mean of other − of own verdicts)."""
    rng = random.Random(11)
    texts = [rng.choice((2.0, 3.0, 4.0, 4.5)) for _ in range(90)]
    people = [min(5.0, max(1.0, item - rng.choice((0.0, 0.5, 1.0)))) for item in texts]
    grade = mean_grade([*people[:30], *[None] * 60], [*texts], (1, 5)).corrected
    assert grade is not None
    y, f, g = people[:30], texts[:30], texts[30:]
    cov = sum((a - fmean(y)) * (b - fmean(f)) for a, b in zip(y, f, strict=True)) / 29
    trust = min(1.0, cov / ((1 + 30 / 60) * stdev(texts) ** 2))
    assert grade.trust == pytest.approx(trust)
    assert grade.corrected.value == pytest.approx(fmean(y) + trust * (fmean(g) - fmean(f)))
    left = stdev(a - trust * b for a, b in zip(y, f, strict=True))
    error = sqrt(trust**2 * stdev(texts) ** 2 / 60 + left**2 / 30)
    assert grade.corrected.high == pytest.approx(grade.corrected.value + stats.t.ppf(0.975, 29) * error)
    assert grade.naive.value == pytest.approx(fmean(texts))


def test_means_are_covered_and_lenient_verdicts_are_not() -> None:
    rng, held, naive = np.random.default_rng(5), 0, 0
    for _ in range(150):
        truth = rng.choice([1, 2, 3, 4, 5], 300, p=[0.1, 0.2, 0.4, 0.2, 0.1])
        judge = np.clip(truth + rng.choice([0, 0, 1], 300), 1, 5)
        estimate = corrected(truth[:60].tolist(), judge[:60].tolist(), judge[60:].tolist(), bounds=(1, 5))
        held += estimate.corrected.low <= 3 <= estimate.corrected.high
        naive += estimate.naive.low <= 3 <= estimate.naive.high
    assert 0.92 <= held / 150 <= 0.98
    assert naive / 150 < 0.05


def test_grades_that_are_all_alike_are_not_certain() -> None:
    grade = mean_grade([5.0] * 20 + [None] * 5, [5.0] * 25, (1, 5)).corrected
    assert grade is not None
    assert (grade.corrected.value, grade.corrected.high) == (5, 5)
    assert grade.corrected.low == pytest.approx(1 + 4 * 0.8389, abs=1e-3)


def test_annotators_and_panels_are_averaged() -> None:
    question = scale("5-1")
    items = [
        JudgedItem("a", labels={"x": "2", "y": "3"}),
        JudgedItem("b", labels={"x": "1"}),
        JudgedItem("c"),
        JudgedItem("d"),
    ]
    votes = [count(ballots, worth=question.worth) for ballots in (["2", "3"], ["1"], ["4"], [None])]
    rate = estimate(LabelFile(items, question), votes).mean
    assert rate is not None
    assert (rate.low, rate.high, rate.labels, rate.verdicts, rate.unknown) == (1, 5, 2, 3, 1)
    assert rate.naive is not None
    assert rate.naive.value == pytest.approx((2.5 + 1 + 4) / 3)
    assert rate.corrected is not None
    assert rate.corrected.people_only.value == pytest.approx((2.5 + 1) / 2)


def test_questions_with_and_without_grades() -> None:
    levels = rubric({"poor": "p", "fair": "f", "good": "g"})
    labels = LabelFile([JudgedItem("a"), JudgedItem("b")], levels)
    rate = estimate(labels, [count([label], worth=levels.worth) for label in ("fair", "good")]).mean
    assert rate is not None
    assert (rate.naive and rate.naive.value, rate.corrected) == (0.75, None)
    assert estimate(LabelFile([JudgedItem("a")], question("criterion")), [count(["yes"])]).mean is None


def test_what_can_be_wrong(tmp_path: Path) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("id,label,verdict\na,3,good\n", encoding="utf-8")
    assert read_grades(file, question("criterion")) is None
    file.write_text("id,label,verdict\na,good,0.3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"2: record a, label: expected a number, got 'good'"):
        read_grades(file, question("criterion"))
    file.write_text("id,label,verdict\na,7,3.5\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"label: 7 is not on the scale of 1 to 5"):
        read_grades(file, scale("1-5"), bounds=(1, 5))
    file.write_text("id,label\na,1\n", encoding="utf-8")
    assert read_grades(file, question("criterion")) is None
    file.write_text("id,label,verdict\na,1,0\n", encoding="utf-8")
    assert read_grades(file, question("criterion")) is None  # no and yes


def test_the_command(tmp_path: Path) -> None:
    rng, file = random.Random(2), tmp_path / "numbers.csv"
    texts = [round(rng.random(), 2) for _ in range(60)]
    rows = [f"{item},{max(0, item - 0.2):.2f}" if place < 20 else f"{item}," for place, item in enumerate(texts)]
    file.write_text("verdict,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    command = ["eval", str(file), "--judge", "0-1"]
    result = CliRunner().invoke(app, ["judge", *command, "--json"])
    state = json.loads(result.stdout)
    assert (state["labels"], state["verdicts"], state["high"]) == (20, 60, 1)
    assert state["corrected"]["corrected"]["value"] == pytest.approx(fmean(texts) - 0.19, abs=0.03)
    entry = CliRunner().invoke(app, ["judge", *command])
    assert "60 items with a verdict, 20 of them with a label" in entry.stdout
    assert "corrected (PPI++), λ" in entry.stdout
    assert max(map(len, entry.stdout.splitlines())) <= 80

"""Journey F: a metric in a script of one's own: dspy.Evaluate as it is, a function, a Metric, and two runs compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import dspy
import pytest
from tests.journeys.conftest import Fields, Shell, write

import goldassay
from goldassay import Metric, compare, evaluate
from goldassay._support.exceptions import GoldassayError
from goldassay.measures.classification import Accuracy
from goldassay.running import Run

SUBJECTS = ("about an invoice", "a question", "a parcel")
TEAMS = ("billing", "billing", "returns")


class Short(dspy.Module):  # type: ignore[misc]
    """Reads the subject alone."""

    def forward(self, subject: str, body: str) -> dspy.Prediction:
        return dspy.Prediction(team="billing" if "invoice" in subject else "returns", urgency=3 if "!" in body else 1)


class Long(dspy.Module):  # type: ignore[misc]
    def forward(self, subject: str, body: str) -> dspy.Prediction:
        team = "billing" if "invoice" in subject + body else "returns"
        return dspy.Prediction(team=team, urgency=3 if "!" in body else 1)


def rows() -> list[Fields]:
    return [
        {
            "id": f"t{n}",
            "subject": SUBJECTS[n % 3],
            "body": f"text {n}" + (" my invoice" if n % 3 == 1 else "") + ("!" if n % 4 == 0 else ""),
            "team": TEAMS[n % 3],
            "urgency": 3 if n % 4 == 0 else 2,
        }
        for n in range(60)
    ]


@pytest.fixture
def dev() -> list[dspy.Example]:
    return [dspy.Example(**row).with_inputs("subject", "body") for row in rows()]


def metric(gold: Any, pred: Any, trace: object = None) -> float:
    return float(0.5 * (gold.team == pred.team) + 0.5 * (gold.urgency == pred.urgency))


def fields(gold: Any, pred: Any) -> dict[str, bool]:
    return {"team": gold.team == pred.team, "urgency": gold.urgency == pred.urgency}


def scores_of(program: Callable[..., Any]) -> list[float]:
    """What the metric says of every row, in plain Python."""
    scores = []
    for row in rows():
        answer = program(subject=row["subject"], body=row["body"])
        scores.append(0.5 * (answer.team == row["team"]) + 0.5 * (answer.urgency == row["urgency"]))
    return scores


def test_a_function_gives_the_numbers_of_dspy(dev: list[dspy.Example]) -> None:
    plain = dspy.Evaluate(devset=dev, metric=metric)(Short()).score
    assert plain == round(100 * fmean(scores_of(Short())), 2)
    for measured in (metric, Metric.of(metric)):
        assert dspy.Evaluate(devset=dev, metric=measured)(Short()).score == plain
        run = evaluate(Short(), dev, measured)
        assert run.value == pytest.approx(fmean(scores_of(Short())))
        assert run.intervals["score"].low < run.value < run.intervals["score"].high
    assert evaluate(Short(), dev, fields).values == pytest.approx(
        {"team": 40 / 60, "urgency": 15 / 60, "score": 55 / 120}
    )


def test_two_runs_are_compared_under_the_names_of_their_programs(dev: list[dspy.Example]) -> None:
    short = evaluate(Short(), dev, metric)
    long = evaluate(Long(), dev, metric)
    gains = [b - a for a, b in zip(scores_of(Short()), scores_of(Long()), strict=True)]
    (result,) = compare(short, long)
    assert result.difference == pytest.approx(fmean(gains))
    assert result.won == tuple(row["id"] for row, gain in zip(rows(), gains, strict=True) if gain > 0)
    assert result.sentence.startswith(f"Long is better than Short by {fmean(gains):+.3f} [")
    with pytest.raises(GoldassayError, match=r"measured by different metrics: metric \(\w+\) and fields"):
        compare(short, evaluate(Long(), dev, fields))  # the same answers, two metrics: no difference is printed


def test_a_measure_reads_the_fields_of_the_script(dev: list[dspy.Example]) -> None:
    right = [Short()(row["subject"], row["body"]).team == row["team"] for row in rows()]
    run = evaluate(Short(), dev, Metric(Accuracy(), columns={"label": "team"}))
    assert run.values == {"accuracy": fmean(right)}
    with pytest.raises(GoldassayError, match="no field 'taem', which columns names for 'label'; did you mean 'team'"):
        evaluate(Short(), dev, Metric(Accuracy(), columns={"label": "taem"}))
    predictions = [{"id": row["id"], "label": "billing"} for row in rows()]
    gold = [{"id": row["id"], "label": row["team"]} for row in rows()]
    assert goldassay.score("classification", gold, predictions)["accuracy"] == 40 / 60


def test_the_script_is_a_metric_of_the_command_line(shell: Shell) -> None:
    write("short.py", Path(__file__).read_text(encoding="utf-8") + "\n\nprogram = Short()\n")
    write("gold.jsonl", rows())
    run = shell.json("goldassay eval short.py --gold gold.jsonl --metric short.py:fields")
    assert run["values"] == pytest.approx({"team": 40 / 60, "urgency": 15 / 60, "score": 55 / 120})
    assert Run.load(Path(run["folder"])).value == pytest.approx(run["values"]["score"])

"""The agent on a scripted model, its tools, the baseline, and the policy with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import evaluate, workspace
from goldassay.gold import load
from goldassay.gold.records import as_prediction
from goldassay.measures import trajectories
from goldassay.measures.trajectories.records import steps_of


@pytest.fixture(scope="module")
def gold(root: Path) -> Any:
    return load(root / "gold" / "heritage").trajectories


@pytest.fixture(scope="module")
def module(root: Path) -> Any:
    return workspace.load(root / "programs" / "trajectories.py")


@pytest.fixture(scope="module")
def metric(root: Path) -> Any:
    return workspace.metric("trajectories", str(root / "metrics" / "trajectories.py"))


def example(gold: Any, name: str) -> Any:
    """The example with this id."""
    (record,) = [record for record in (*gold.train, *gold.dev, *gold.test) if record["id"] == name]
    return record


def acting(*calls: tuple[str, dict[str, Any]], answer: str) -> DummyLM:
    """A model that makes these calls and then answers."""
    turns = [
        {"next_thought": "go on", "next_tool_name": name, "next_tool_args": args}
        for name, args in (*calls, ("finish", {}))
    ]
    return DummyLM([*turns, {"reasoning": "it is written there", "answer": answer}])


def test_the_agent_calls_its_tools_and_the_metric_reads_its_trajectory(module: Any, gold: Any, metric: Any) -> None:
    record = example(gold, "t001")
    lm = acting(("search", {"query": "Kunsthal"}), ("read", {"id": "nl-001"}), answer="Rem Koolhaas")
    with dspy.context(lm=lm):
        prediction = module.Agent()(question=record["question"])
    assert "Museumpark" in prediction.trajectory["observation_1"]
    assert 'alone, as in {"query": "Delft"}' in lm.history[0]["messages"][0]["content"].rpartition("(6) finish")[2]
    score = metric(record, prediction)
    assert (score.score, bool(score), score.errors) == (1.0, True, ())


def test_a_wrong_call_of_the_agent_names_its_step_and_predictor(module: Any, gold: Any, metric: Any) -> None:
    record = example(gold, "t001")
    lm = acting(("search", {"query": "Kunsthal"}), ("read", {"id": "nl-028"}), answer="Elias Bouman")
    with dspy.context(lm=lm):
        score = metric(record, module.Agent()(question=record["question"]))
    assert score.score == 0.25  # one of two calls, and nothing of the answer
    error = next(error for error in score.errors if error.kind == "wrong_argument")
    assert (error.step, error.predictor, error.field) == (1, "react", "read.id")


def test_an_error_of_a_tool_is_one_line_of_the_trajectory_and_a_failed_call(module: Any, gold: Any) -> None:
    record = example(gold, "t001")
    lm = acting(("read", {"id": {"type": "string"}}), ("read", {"id": "nowhere"}), answer="")
    with dspy.context(lm=lm):
        prediction = module.Agent()(question=record["question"])
    lines = [prediction.trajectory[f"observation_{step}"] for step in range(2)]
    assert lines[0].startswith("Execution error in read: ValueError: Arg id is invalid")
    assert lines[1] == "Execution error in read: KeyError: 'nowhere'"
    steps = steps_of(prediction)
    assert [bool(step.error) for step in steps if step.kind == "tool"][:2] == [True, True]


def test_a_tool_fails_once_where_gold_says_so_and_the_retry_is_right(module: Any, gold: Any, metric: Any) -> None:
    record = example(gold, "t004")
    assert record["meta"] == {"fails": "read"}
    read = ("read", {"id": "nl-017"})
    with dspy.context(lm=acting(("search", {"query": "Rijksmuseum"}), read, read, answer="Pierre Cuypers")):
        prediction = module.Agent()(question=record["question"])
    assert prediction.trajectory["observation_1"].startswith("Execution error")
    assert metric(record, prediction).score == 1.0
    with dspy.context(lm=acting(("search", {"query": "Rijksmuseum"}), read, answer="Pierre Cuypers")):
        without = metric(record, module.Agent()(question=record["question"]))
    assert without.score == pytest.approx(0.5 * 4 / 5 + 0.5)
    assert "ignored_error" in {error.kind for error in without.errors}


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("read", {"id": "nl-013"}, "De Hortus botanicus Leiden, aangelegd in 1590"),
        ("dates", {"id": "de-023"}, ["1945", "30. Oktober 2005"]),
        ("look_up", {"name": "cambridge"}, ["Q350", "Q49111"]),
        ("describe", {"id": "Q49111"}, "Cambridge, city in Massachusetts, United States"),
        ("search", {"query": "Hortus botanicus"}, "nl-013: De Hortus"),
    ],
)
def test_tools(module: Any, name: str, args: dict[str, str], expected: Any) -> None:
    output = getattr(module.Tools(), name)(**args)
    if name == "search":
        output = output[0]
    assert output == expected or output.startswith(expected)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_gold_is_attained_by_tools_that_exist(module: Any, gold: Any, metric: Any, split: str) -> None:
    """Gold's own calls, really made: each succeeds but the first of a tool that fails, and the metric has its best."""
    run = evaluate(module.Faulty(share=0.0), getattr(gold, split), metric, progress=False)
    assert set(run.values.values()) == {1.0}
    for row in run.rows:
        failed = [step["name"] for step in (row.prediction or {})["trajectory"] if step.get("error")]
        expected = ((example(gold, row.id).get("meta")) or {}).get("fails")
        assert failed == ([expected] if expected else [])


def test_the_faults_of_the_policy_are_in_the_table_of_steps(module: Any, gold: Any) -> None:
    records = [*gold.train, *gold.dev, *gold.test]
    policy, right = module.Faulty(step=2, share=0.4), module.Faulty(share=0.0)
    pred = [policy(question=record["question"]) for record in records]
    steps = trajectories.scorecard(records, pred, arguments="superset").by["step"]
    changed = [p.trajectory != right(question=r["question"]).trajectory for p, r in zip(pred, records, strict=True)]
    assert steps["1"]["wrong"] == 0
    assert steps["2"]["wrong"] == sum(changed) > 10
    assert steps["2"]["loss"] == 1.0


def test_the_baseline_reads_the_best_passage(module: Any, gold: Any, metric: Any) -> None:
    run = evaluate(module.baseline, gold.train, metric, progress=False)
    assert 0.6 < run.values["call_f1"] < 0.9
    assert run.values["trajectory_exact_match"] < 0.6
    kinds = {error.kind for case in run.cases for error in case.errors}
    assert {"missing_call", "ignored_error"} <= kinds


def test_gold_as_a_prediction_is_right(gold: Any, metric: Any) -> None:
    for record in gold.dev:
        assert metric(record, as_prediction(record, "trajectories")).score == 1.0

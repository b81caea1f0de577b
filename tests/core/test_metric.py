"""Functions as metrics: their names are those of the first example."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import dspy
import pytest
from pydantic import create_model

from goldassay import Metric, evaluate
from goldassay._support.exceptions import GoldassayError, MetricError
from goldassay.measures import classification
from goldassay.results.of_metric import fold_metric
from goldassay.running.comparing import remeasured
from goldassay.running.run import Run

GOLD = [
    dspy.Example(text=letter, year=place % 2, total=place).with_inputs("text") for place, letter in enumerate("abcdef")
]


def fields(gold: Any, pred: Any) -> dict[str, bool]:
    return {name: gold[name] == pred[name] for name in ("year", "total")}


def growing(gold: Any, pred: Any) -> dict[str, bool]:
    """One name more from the fourth example on."""
    return fields(gold, pred) | ({"late": True} if gold.total > 2 else {})


def program(text: str) -> Any:
    return dspy.Prediction(year=0, total=0)


def test_a_name_that_comes_later_is_an_error() -> None:
    metric = Metric.of(growing)
    for example in GOLD[:3]:
        metric(example, program("a"))
    with pytest.raises(MetricError, match=r"returned late, .* first example did not have \(score, year, total\)"):
        metric(GOLD[3], program("a"))


def test_a_dict_of_one_value_has_the_same_name_for_every_example() -> None:
    metric = Metric.of(lambda gold, pred: {"f1" if gold.total < 2 else "recall": 1.0})
    metric(GOLD[0], program("a"))
    with pytest.raises(MetricError, match=r"returned recall, .* first example did not have \(f1\)"):
        metric(GOLD[-1], program("a"))


def test_a_name_may_be_missing() -> None:
    metric = Metric.of(growing)
    metric(GOLD[3], program("a"))
    assert metric(GOLD[0], program("a")).objective_scores == {"score": 1.0, "year": 1.0, "total": 1.0}
    assert list(metric.measures) == ["score", "year", "total", "late"]


def test_the_first_of_many_threads_fixes_the_names() -> None:
    """The other threads check theirs against them, whichever is first."""
    start = threading.Barrier(8)
    metric = Metric.of(growing)
    outcomes = []

    def measure(example: Any) -> None:
        start.wait()
        try:
            outcomes.append(set(metric(example, program("a")).evidence))
        except MetricError:
            outcomes.append(set())

    threads = [threading.Thread(target=measure, args=[GOLD[place % 6]]) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8
    names = set(metric.measures)
    assert names in ({"score", "year", "total"}, {"score", "year", "total", "late"})
    assert all(outcome <= names for outcome in outcomes)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_run_stores_the_names(tmp_path: Path, threads: int) -> None:
    run = evaluate(program, GOLD, fields, folder=tmp_path / "run", threads=threads, progress=False)
    about = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert list(about["measures"]) == list(run.values) == ["score", "year", "total"]
    assert [each["weight"] for each in about["measures"].values()] == [1.0, 0.0, 0.0]
    assert (
        Run.load(tmp_path / "run").values == run.values == {"score": pytest.approx(1 / 3), "year": 0.5, "total": 1 / 6}
    )


@pytest.mark.parametrize("threads", [1, 4])
def test_a_run_with_another_name_stops_with_the_error(tmp_path: Path, threads: int) -> None:
    with pytest.raises(MetricError, match="returned late"):
        evaluate(program, GOLD, growing, folder=tmp_path / "run", threads=threads, progress=False)
    stored = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert list(stored["measures"]) == ["score", "year", "total"]


def test_a_run_is_resumed_under_its_names(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    class Program(dspy.Module):  # type: ignore[misc]
        broken = True

        def forward(self, text: str) -> Any:
            if Program.broken and text == "c":
                raise KeyboardInterrupt
            return program(text)

    with pytest.raises(KeyboardInterrupt):
        evaluate(Program(), GOLD, fields, folder=folder, threads=1, progress=False)
    Program.broken = False
    run = evaluate(Program(), GOLD, fields, resume=folder, threads=1, progress=False)
    assert run.values == {"score": pytest.approx(1 / 3), "year": 0.5, "total": 1 / 6}


def test_an_annotated_number_is_known_before_the_first_example() -> None:
    def share(gold: Any, pred: Any) -> float:
        return 0.5

    def any_mapping(gold: Any, pred: Any) -> Mapping[str, float]:
        return {}

    assert Metric.of(share).has_fixed_names
    assert not Metric.of(any_mapping).has_fixed_names


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("accuracy", r"not of 'accuracy'; did you mean classification\.Accuracy\(\) \(from goldassay\.measures import"),
        ("strict f1", r"did you mean extraction\.SpanF1\(\)"),
        (classification.Accuracy, r"Accuracy is a class of them: write Accuracy\(\)$"),
        ([classification.Accuracy], r"write Accuracy\(\)$"),
        (
            "classification",
            r"'classification' is a task; its metric is goldassay\.workspace\.metric\('classification'\)$",
        ),
        (len, r"len is a function: write Metric\.of\(len\)$"),
    ],
)
def test_what_is_no_measure_is_one_line_with_the_spelling(written: Any, message: str) -> None:
    with pytest.raises(GoldassayError, match=message):
        Metric(written)


def test_a_measure_or_column_that_does_not_exist_gets_its_spelling() -> None:
    with pytest.raises(ImportError, match=r"no measure 'MacroF1'; did you mean classification\.LabelF1\(\)"):
        from goldassay.measures.classification import MacroF1  # type: ignore[attr-defined]  # noqa: F401
    assert not hasattr(classification, "macro_f1")
    metric = Metric(classification.Accuracy(), columns={"lable": "team"})
    with pytest.raises(GoldassayError, match="columns names 'lable'; did you mean 'label'"):
        metric({"team": "a"}, {"team": "a"})


def test_a_function_reads_the_records_of_a_file_as_those_of_dspy() -> None:
    metric = Metric.of(lambda gold, pred: gold.team == pred.team)
    assert metric({"team": "a"}, {"team": "a"}).score == 1.0


def test_a_metric_that_misses_a_field_of_gold_is_told_which_there_are() -> None:
    def by_label(gold: Any, pred: Any) -> bool:
        return bool(gold.label == pred.team)

    def by_key(gold: Any, pred: Any) -> bool:
        return bool(gold["label"] == pred["team"])

    for function in (by_label, by_key):
        _, why = Metric.of(function).assess_or_fail({"id": "a", "team": "x"}, {"team": "x"})
        line = function.__code__.co_firstlineno + 1
        assert why.endswith(f".py:{line}); gold has id, team; found {{'team': 'x'}}")


@pytest.mark.parametrize("returned", ["good", "3", None, float("nan")])
def test_what_is_no_number_names_the_function_and_the_record(returned: Any) -> None:
    def metric(gold: Any, pred: Any) -> Any:
        return returned

    line = metric.__code__.co_firstlineno
    with pytest.raises(MetricError, match=rf"test_metric\.py:{line}, on record 7: the metric returned"):
        Metric.of(metric)({"id": 7}, {"team": "x"})


def test_a_metric_that_is_async_is_told_so() -> None:
    async def metric(gold: Any, pred: Any) -> bool:
        return True

    with pytest.warns(RuntimeWarning, match="never awaited"), pytest.raises(MetricError, match="since it is async"):
        Metric.of(metric)({"id": 7}, {"team": "x"})


def lenient(gold: Any, pred: Any) -> bool:
    return bool(gold.get("intent") == getattr(pred, "team", None))


def test_a_field_that_nothing_has_is_told_once(tmp_path: Path) -> None:
    notes = [
        "the metric asks for intent, which no gold example has; there are text, label",
        "the metric asks for team, which no prediction has; there are taem",
    ]
    gold = [dspy.Example(text=text, label="M").with_inputs("text") for text in "ab"]

    def program(text: str) -> dict[str, str]:
        return {"taem": text}

    run = evaluate(program, gold, lenient, folder=tmp_path / "run")
    assert (run.value, Run.load(tmp_path / "run").warnings[: len(notes)]) == (1.0, notes)
    assert fold_metric(Metric.of(lenient), gold, [{"taem": "a"}] * 2).notes == notes
    assert not fold_metric(Metric.of(lenient), [{"intent": "a"}], [{"team": "a"}]).notes


class Team(Enum):
    A = "a"


@pytest.mark.parametrize(
    ("gold", "pred"),
    [
        ("a", Team.A),
        # flawed: all were wrong, and nothing said why
        ("2024-03-01T10:30:00", datetime(2024, 3, 1, 10, 30)),
    ],
)
def test_an_object_in_place_of_what_files_have_is_an_error_of_form_alone(gold: object, pred: object) -> None:
    result = fold_metric(Metric.of(lambda gold, pred: gold.team == pred.team), [{"team": gold}], [{"team": pred}])
    assert result.notes[0].startswith("1 error is of form alone")


def test_a_stored_object_has_the_dicts_in_it_as_they_were() -> None:
    """Only attributes of a stored object could be read, of the dicts in it, too: every example counted as missed."""
    stored = {"calls": {"tool_calls": [{"name": "route", "args": {"team": "a", "items": 2}}]}}
    metric = Metric.of(lambda gold, pred: pred.calls.tool_calls[0].args["team"] == gold.team)
    assert metric({"team": "a"}, stored).score == 1.0
    assert Metric.of(lambda gold, pred: len(pred.calls.tool_calls[0].args.keys()))({}, stored).score == 2.0


Order = create_model("Order", items=(list[str], ...), paid=(bool, False))


def remove_items(gold: Any, pred: Any) -> float:
    missing = [gold.order["items"].remove(name) for name in pred.order.items]
    pred.order.items.clear()
    return float(not gold.order["items"] and bool(missing))


@pytest.mark.parametrize(
    "function",
    [
        lambda gold, pred: gold.order == pred.order,  # flawed: 0 by objects, 1 by what was stored of them
        lambda gold, pred: [gold.order] == [pred.order],
        lambda gold, pred: gold.order.paid == pred.order.paid and len(gold.order["items"]) == len(pred.order.items),
        lambda gold, pred: pred.order == Order(**gold.order),
        lambda gold, pred: pred.order.model_dump()["items"] == gold.order["items"],
        remove_items,  # flawed: it spoiled gold and answers for what came after it
    ],
)
def test_a_metric_gets_copies_in_which_what_was_stored_equals_objects(function: Any, tmp_path: Path) -> None:
    gold = [dspy.Example(id=str(n), n=n, order={"items": ["tea"] * n, "paid": False}).with_inputs("n") for n in (1, 2)]
    run = evaluate(
        lambda n: dspy.Prediction(order=Order(items=["tea"] * min(n, 1))), gold, function, folder=tmp_path / "run"
    )
    metric = Metric.of(function)
    stored = Run.load(tmp_path / "run")
    assert [run.value, stored.value, remeasured(stored, metric).value, remeasured(stored, metric).value] == [0.5] * 4
    assert [row.prediction for row in stored.rows] == [{"order": {"items": ["tea"], "paid": False}}] * 2


def test_a_metric_gets_what_cannot_be_copied_as_it_is() -> None:
    with open(__file__) as stream:
        assert Metric.of(lambda gold, pred: pred.file is stream)({}, {"file": stream}).score == 1.0


def test_a_class_in_place_of_a_metric_is_told_how_to_make_one() -> None:
    with pytest.raises(GoldassayError, match=r"; write metric = Team\(\)$"):
        Metric.of(Team)

"""`score` in Python reads as the command line does, and refuses an option that nothing would use."""

from __future__ import annotations

import ast
import json
import time
from enum import Enum
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest
from typer.testing import CliRunner

import goldassay
from goldassay import Metric, evaluate, workspace
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.core.measure import TASKS
from goldassay.gold.records import as_prediction
from goldassay.measures import answering, classification, extraction, trajectories
from goldassay.running.scoring import READING_OPTIONS, ScoreOptions

HOTPOT = [
    {
        "_id": "a",
        "question": "When?",
        "answer": "1784",
        "supporting_facts": [["Teylers", 0]],
        "context": [["Teylers", ["It opened in 1784."]]],
    }
]
HIPE = (
    "TOKEN\tNE-COARSE-LIT\tNEL-LIT\n# hipe2022:document_id = d\nBern\tB-loc\tQ70|Q11911\nund\tO\t_\nBasel\tB-loc\tQ78\n"
)


def printed(task: str, gold: Path, pred: Path, *words: str) -> Any:
    call = ["score", task, "--gold", str(gold), "--pred", str(pred), *words, "--no-intervals", "--json"]
    return json.loads(CliRunner().invoke(app, call, catch_exceptions=False).stdout)


def test_answers_by_id_are_told_from_systems_and_splits(tmp_path: Path) -> None:
    gold: Any = {"a": "museum", "b": "archive", "c": "museum"}
    answers: Any = {"c": "museum", "b": "museum", "a": "museum"}
    rows = [{"id": name, "label": label} for name, label in gold.items()]
    for left, right in ((gold, answers), (rows, answers), (gold, [{"id": n, "label": v} for n, v in answers.items()])):
        assert goldassay.score("classification", left, right)["accuracy"] == pytest.approx(2 / 3)
    file = tmp_path / "gold.jsonl"  # answers beside a file of gold were taken for files by the names of systems
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert goldassay.score("classification", file, answers)["accuracy"] == pytest.approx(2 / 3)
    assert goldassay.score("classification", file, {"ours": answers, "gold": file})["gold"]["accuracy"] == 1
    assert goldassay.score("classification", gold, {"ours": answers})["ours"]["accuracy"] == pytest.approx(2 / 3)
    records: Any = {"x": {"no": 1}, "y": {"no": 2}}
    changed: Any = {**records, "x": {"no": 3}}
    assert goldassay.score("records", records, changed)["field_f1"] == 0.5
    with pytest.raises(DataError, match="and records by id are dicts: training, test"):
        goldassay.score("classification", {"training": ["museum"], "test": ["archive"]}, ["museum", "museum"])


@pytest.mark.parametrize("names", ["abc", None])
def test_a_run_in_memory_is_scored_as_its_folder_is(names: str | None, tmp_path: Path) -> None:
    def program(text: str) -> dict[str, str]:
        if text == "c":
            raise ValueError(text)
        return {"label": "museum", "text": text}

    ids = [{"id": name} if names else {} for name in "abc"]
    gold = [dspy.Example(text=t, label="museum", **row).with_inputs("text") for t, row in zip("abc", ids, strict=True)]
    metric = Metric.of(lambda gold, pred: gold.label == pred.label)
    run = evaluate(program, gold, metric)
    stored = evaluate(program, gold, metric, folder=tmp_path / "run")
    cards = [goldassay.score("classification", gold, side) for side in (run, stored, tmp_path / "run")]
    assert [card["accuracy"] for card in cards] == [pytest.approx(2 / 3)] * 3
    assert goldassay.score("classification", gold, {"a": run})["a"].values == cards[0].values


def test_official_files_of_questions(tmp_path: Path) -> None:
    gold = tmp_path / "gold.json"
    pred = tmp_path / "pred.json"
    gold.write_text(json.dumps(HOTPOT))
    pred.write_text(json.dumps({"answer": {"a": "1784"}, "sp": {"a": [["Teylers", 1]]}}))
    card = goldassay.score("answering", gold, pred, protocol="HotpotQA", intervals=False)
    assert card.protocol == "hotpotqa"
    assert (card["em"], card["sp_em"]) == (1.0, 0.0)
    assert card.values == printed("answering", gold, pred, "--protocol", "hotpotqa")["values"]


@pytest.mark.parametrize("protocol", ["hipe", "hipe2020"])
def test_the_protocol_reads_and_counts(tmp_path: Path, protocol: str) -> None:
    gold = tmp_path / "gold.tsv"
    pred = tmp_path / "pred.tsv"
    gold.write_text(HIPE)
    pred.write_text(HIPE.replace("Q70|Q11911", "Q11911"))  # under a protocol gold's first id counts
    card = goldassay.score("linking", gold, pred, format="hipe", protocol=protocol, intervals=False)
    assert card["link_f1"] == 0.5
    assert card.values == printed("linking", gold, pred, "--format", "hipe", "--protocol", protocol)["values"]


def test_measures_are_chosen_of_a_protocol(tmp_path: Path) -> None:
    record = {"id": "a", "question": "When?", "answers": ["1784"]}
    card = goldassay.score(
        "answering", [record], [{"id": "a", "answer": "1784"}], protocol="nq_open", measures=["accuracy"]
    )
    assert card.values == {"accuracy": 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"malformed": "strict"}, "malformed says how a file is read, and both sides are records"),
        ({"bound": "word"}, "extraction has no option 'bound'; did you mean 'bounds'"),
        ({"protocol": "tac"}, "tac is for linking; extraction has hipe, hipe2020"),
    ],
)
def test_an_option_that_nothing_would_use_is_refused(options: dict[str, Any], message: str) -> None:
    record = {"id": "a", "text": "Bern", "entities": []}
    with pytest.raises(GoldassayError, match=message):
        goldassay.score("extraction", [record], [record], **options)


def test_the_types_name_every_option() -> None:
    names = {"intervals", "format", "protocol", "measures", *READING_OPTIONS}
    for task in TASKS:
        parameters = signature(import_module(f"goldassay.measures.{task}").scorecard).parameters
        names |= {name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert names == set(ScoreOptions.__annotations__)


@pytest.mark.parametrize("task", ["classification", "answering"])
def test_a_file_with_a_metric_measures_any_task(task: str, tmp_path: Path) -> None:
    """It did in tasks of one's own alone; in the others the file was an unknown measure."""
    file = tmp_path / "first.py"
    file.write_text("def letter(gold, pred):\n    return gold.answers[0][0] == pred.answer[0]\n", encoding="utf-8")
    if task == "classification":
        file.write_text("def letter(gold, pred):\n    return gold.label[0] == pred.label[0]\n", encoding="utf-8")
    gold = [{"id": n, "question": "q", "answers": ["ab"], "label": "ab"} for n in "12"]
    fields = ("id", "label") if task == "classification" else ("id", "question", "answers")
    gold = [{name: record[name] for name in fields} for record in gold]
    pred = [{"id": "1", "answer": "ax", "label": "ax"}, {"id": "2", "answer": "b", "label": "b"}]
    pred = [
        {name: record[name] for name in ("id", "label" if task == "classification" else "answer")} for record in pred
    ]
    options: dict[str, Any] = {"measures": [f"{file}:letter"]}
    assert goldassay.score(task, gold, pred, **options)["score"] == 0.5
    with pytest.raises(GoldassayError, match="the metric of .*first.py:letter has no option 'labels'"):
        goldassay.score("classification", [{"label": "a"}], [{"label": "a"}], labels=["a"], **options)


def test_measures_are_named_or_given() -> None:
    card = goldassay.score("classification", ["M", "L"], ["M", "M"], measures=["kappa", classification.Accuracy()])
    assert list(card.values) == ["accuracy", "kappa"]
    gold, pred = [{"text": "in Delft!", "entities": [(3, 8, "L")]}], [{"entities": [(3, 9, "L")]}]
    assert goldassay.score("extraction", gold, pred, measures=[extraction.SpanF1("partial")]).values == {
        "partial_f1": 1
    }


def test_a_measure_that_names_a_file_is_a_measure(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("def paid(gold, pred):\n    return pred['state'] == gold['state']\n")
    name = f'EndState("{tmp_path}/checks.py:paid")'
    sides = [[{"id": number, "question": "q", "calls": [], "state": state} for number, state in enumerate("aab")]]
    sides.append([{"id": number, "trajectory": [], "state": "a"} for number in range(3)])
    assert goldassay.score("trajectories", *sides, measures=[name]).values == {name: 2 / 3}


def test_of_two_measures_of_one_name_none_is_dropped() -> None:
    # flawed: the last one alone was computed, without a word
    records = [{"id": "1", "question": "?", "answers": ["1784", ""]}], [{"id": "1", "answer": ""}]
    measures = [answering.ExactMatch(empty="equal"), answering.ExactMatch()]
    with pytest.raises(GoldassayError, match=r"two measures have the name exact_match; as texts both count") as error:
        goldassay.score("answering", *records, measures=measures)
    texts = ast.literal_eval(str(error.value).partition("measures=")[2])
    assert list(goldassay.score("answering", *records, measures=texts).values.values()) == [1.0, 0.0]
    assert goldassay.score("answering", *records, measures=[measures[1], measures[1]]).values == {"exact_match": 0.0}


def test_a_run_of_typed_outputs_has_the_value_that_it_had(tmp_path: Path) -> None:
    # flawed: reading the run left out what is no field of the task, and nothing was called
    gold = [dspy.Example(id="1", question="?", calls=[{"name": "find", "args": {"n": 1}}]).with_inputs("question")]
    calls = dspy.ToolCalls.from_dict_list(gold[0].calls)
    history = dspy.History(messages=[{"question": "?", "tool_calls": calls.model_dump()}])
    for name, output in (("tool_calls", calls), ("history", history)):
        metric = Metric(trajectories.TrajectoryMatch())
        run = evaluate(
            lambda question, name=name, output=output: dspy.Prediction(**{name: output}),
            gold,
            metric,
            folder=tmp_path / name,
            progress=False,
        )
        assert run.value == goldassay.score("trajectories", gold, tmp_path / name).values["trajectory_exact_match"] == 1


def test_a_run_of_models_has_the_value_that_it_had(tmp_path: Path) -> None:
    # flawed: a computed field was stored and not compared, or compared where gold has none
    file = tmp_path / "invoices.py"
    file.write_text(
        "import datetime, dspy\nfrom pydantic import BaseModel, computed_field\n"
        "class Invoice(BaseModel):\n    net: float\n    day: datetime.date\n"
        "    @computed_field\n    @property\n    def total(self) -> float: return self.net * 2\n"
        "class Read(dspy.Predict):\n    def forward(self, text):\n"
        "        return dspy.Prediction(invoice=Invoice(net=float(text), day='2024-03-01'))\n"
        "program = Read('text -> invoice: Invoice', custom_types={'Invoice': Invoice})\n"
        "def metric(gold, pred): return gold.invoice == pred.invoice and pred.invoice.day.year == 2024\n",
        encoding="utf-8",
    )
    invoice = {"net": 1, "day": "2024-03-01"}
    gold = [dspy.Example(id=net, text=net, invoice=invoice).with_inputs("text") for net in "12"]
    target = workspace.target(str(file))
    run = evaluate(target.load(), gold, workspace.metric(target), folder=tmp_path / "run", progress=False)
    assert run.value == goldassay.score(str(file), gold, tmp_path / "run").values["score"] == 0.5
    summed = {**invoice, "total": 2}
    assert goldassay.score("records", [{"record": summed}], [target.load()(text="1").invoice])["record_accuracy"] == 1


SPANS: dict[str, Any] = {"text": "in Delft", "entities": [{"start": 3, "end": 8, "type": "LOC"}]}


@pytest.mark.parametrize(
    ("task", "gold", "output"),
    [
        ("extraction", SPANS, {"entities": None}),
        ("extraction", SPANS, {"entities": [{"start": 3, "end": 8, "type": "LOC", "text": None, "fragments": None}]}),
        ("extraction", SPANS, {"entities": [{"start": 3, "end": 8, "type": "LOC", "text": "Gouda"}]}),
        ("extraction", SPANS, {"entities": [(3, 80, "LOC")]}),
        ("extraction", SPANS, {"entities": [(3, 8, "LOC"), (3, 3, "LOC")]}),
        ("extraction", SPANS, {"entities": [(3, 8, "LOC"), {"type": "LOC", "text": "Delft"}]}),
        ("retrieval", {"query": "x", "relevant": ["a"]}, {"results": [{"doc_id": "a", "text": None}]}),
        ("answering", {"question": "?", "answers": []}, {"answer": None, "citations": None}),
        ("answering", {"question": "?", "answers": ["x"]}, {"answer": "x", "confidence": "high", "citations": "p. 3"}),
        ("classification", {"text": "x", "label": "a"}, {"label": "a", "confidence": "high", "document": ["d"]}),
        ("triples", {"triples": [{"subject": "a", "predicate": "b", "object": "c"}]}, {"triples": None}),
        ("trajectories", {"question": "?", "calls": [{"name": "find"}]}, {"trajectory": None, "answer": None}),
    ],
)
def test_a_run_has_the_values_that_it_had(
    task: str, gold: dict[str, Any], output: dict[str, Any], tmp_path: Path
) -> None:
    # flawed: one null, one span that is not where it says, or a confidence in words, kept a run from being scored
    # again; a failed row counted
    field = {"retrieval": "query", "answering": "question", "trajectories": "question"}.get(task, "text")
    right = {name: value for name, value in as_prediction({"id": "", **gold}, task).items() if name != "id"}
    examples = [dspy.Example(id=name, **gold).with_inputs(field) for name in ("a", "b")]
    outputs = iter([right, output])
    metric = Metric(list(goldassay.score(task, examples[:1], [{"id": "a", **right}]).measures.values())[:2])
    run = evaluate(lambda **_: next(outputs), examples, metric, folder=tmp_path, threads=1, progress=False)
    again = goldassay.score(task, examples, tmp_path)
    assert run.values == {name: again.values[name] for name in run.values}
    assert any("Gouda" in warning for warning in again.warnings) == ("Gouda" in str(output))


def test_a_run_over_gold_without_ids_is_matched_by_place(tmp_path: Path) -> None:
    # flawed: rows are in the order in which threads ended, and were paired with gold in that order
    gold = [{"text": text, "label": text} for text in "cbad"]

    def program(text: str) -> dict[str, str]:
        time.sleep(0.1 * "abcd".index(text))
        return {"label": 1 / 0 if text == "d" else text}  # type: ignore[dict-item]

    examples = [dspy.Example(record).with_inputs("text") for record in gold]
    metric = Metric(classification.Accuracy())
    run = evaluate(program, examples, metric, folder=tmp_path / "run", threads=4, progress=False)
    assert run.value == goldassay.score("classification", gold, tmp_path / "run")["accuracy"] == 3 / 4
    with pytest.raises(DataError, match="4 rows where gold has 5; without an id column both need the same"):
        goldassay.score("classification", [{"text": "x", "label": "y"}, *gold], tmp_path / "run")  # the last four of it
    (tmp_path / "gold.csv").write_text("text,label,split\nx,y,train\n" + "".join(f"{x},{x},dev\n" for x in "cbad"))
    dev = goldassay.load(tmp_path / "gold.csv", task="classification").classification.dev
    run = evaluate(program, dev, metric, folder=tmp_path / "dev", threads=4, progress=False)
    assert run.value == 3 / 4
    assert goldassay.score("classification", tmp_path / "gold.csv", tmp_path / "dev", split="dev")["accuracy"] == 3 / 4


def test_a_run_is_scored_against_gold_of_other_columns(tmp_path: Path) -> None:
    # flawed: a run was read as a table as soon as gold had a map
    gold = [{"id": name, "text": name, "tone": name} for name in "ab"]
    examples = [dspy.Example(record).with_inputs("text") for record in gold]
    metric = Metric(classification.Accuracy(), columns={"gold.label": "tone"})
    run = evaluate(lambda text: {"label": "a"}, examples, metric, folder=tmp_path, progress=False)
    assert run.value == goldassay.score("classification", gold, tmp_path, map={"label": "tone"})["accuracy"] == 0.5


@pytest.mark.parametrize(("gold", "label"), [(3, np.int64(3)), (np.int64(3), "3"), (True, True), (False, "False")])
def test_labels_are_numbers_of_numpy_and_truth_values(gold: object, label: object, tmp_path: Path) -> None:
    # flawed: numpy.int64 failed its row, and score refused gold of true and false that evaluate had measured
    examples = [dspy.Example(id="a", text="x", label=gold).with_inputs("text")]
    metric = Metric(classification.Accuracy())
    run = evaluate(lambda text: {"label": label}, examples, metric, folder=tmp_path, progress=False)
    assert run.value == goldassay.score("classification", examples, tmp_path)["accuracy"] == 1


def test_null_in_a_list_is_an_absent_field_or_an_empty_answer() -> None:
    gold = [{"id": "a", **SPANS}]
    assert goldassay.score("extraction", gold, [{"id": "a", "entities": None}])["strict_f1"] == 0
    span = {**SPANS["entities"][0], "text": None}
    assert goldassay.score("extraction", [{"id": "a", "text": "in Delft", "entities": [span]}], gold)["strict_f1"] == 1


def test_gold_may_hold_members_of_an_enum() -> None:
    color = Enum("color", {"RED": "red"})
    gold = [{"id": "a", "record": {"colors": [color.RED]}}]
    assert goldassay.score("records", gold, [{"id": "a", "record": {"colors": ["red"]}}])["record_accuracy"] == 1


def same(gold: Any, pred: Any) -> bool:
    return bool(gold.team == pred.team)


@pytest.mark.parametrize("measures", [same, [same], Metric.of(same), f"{__file__}:same"])
def test_a_function_is_a_metric(measures: Any) -> None:
    """It was a TypeError, and its file, as the advice wrote it, had the same advice for an answer."""
    assert (
        goldassay.score("own", [{"team": "a"}, {"team": "b"}], [{"team": "a"}] * 2, measures=measures)["score"] == 0.5
    )
    with pytest.raises(GoldassayError, match="one metric of your own at a time"):
        goldassay.score("own", [{"team": "a"}], [{"team": "a"}], measures=[same, Metric.of(same)])

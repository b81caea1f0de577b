"""Records with any fields, from the files that people have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

import goldassay
from goldassay import Metric, workspace
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.gold import convert, load, read
from goldassay.gold.anyfields import fields, mapping
from goldassay.gold.audit import audit
from goldassay.workspace import scaffold

ROWS = [
    {"body": {"content": "Het Rijksmuseum"}, "cat": "M", "n": 7},
    {"body": {"content": "Stadsarchief Gent"}, "cat": "A", "n": 8},
]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    file = tmp_path / "foreign.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


def test_a_mapping_reads_foreign_gold_for_one_of_the_six(foreign: Path) -> None:
    part = load(foreign, task="classification", map="text=body.content,label=cat").classification
    assert [(row["id"], row["text"], row["label"]) for row in part.records] == [
        ("1", "Het Rijksmuseum", "M"),
        ("2", "Stadsarchief Gent", "A"),
    ]
    assert part.all[0].inputs().toDict() == {"text": "Het Rijksmuseum"}


def test_a_mapped_record_is_checked_as_always(foreign: Path) -> None:
    with pytest.raises(DataError, match=r"foreign.jsonl:1: record 1, label"):
        load(foreign, task="classification", map="text=body.content,label=body").classification.records  # noqa: B018


def test_foreign_gold_converts_into_canonical_records(foreign: Path, tmp_path: Path) -> None:
    conversion = convert(foreign, tmp_path / "c.jsonl", task="classification", map="text=body.content,label=cat")
    assert not conversion.lost
    assert load(tmp_path / "c.jsonl", task="classification").classification.records[1]["label"] == "A"


def test_a_mapping_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"text": "body.content"}', encoding="utf-8")
    assert mapping(str(tmp_path / "m.json")) == {"text": "body.content"}
    with pytest.raises(GoldassayError, match="a mapping reads like text=body.content,label=category, not 'text'"):
        mapping("text")


def test_a_column_of_numbers_is_numbers_and_a_code_is_none(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("year,code,share,right\n1784,007,0.5,true\n1913,012,,false\n", encoding="utf-8")
    first, second = read(file, task="mine")
    assert first == {"id": "1", "year": 1784, "code": "007", "share": 0.5, "right": True}
    assert second["share"] is None
    assert fields([first, second]) == {"year": "int", "code": "str", "share": "float", "right": "bool"}


def test_few_words_that_repeat_are_a_closed_list() -> None:
    rows = [{"tone": word} for word in ("glad", "sad") * 3]
    assert fields(rows) == {"tone": "Literal['glad', 'sad']"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1\n", r"t.csv:2: 1 columns where the header has 2 \(a, b\)"),
        ("a,a\n1,2\n", "t.csv:1: a table begins with a header of names that differ"),
        ("a,b\n", "t.csv: there are no records"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read(tmp_path / "t.csv", task="mine")


def test_validate_finds_doubles_in_any_gold(tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    rows = [{"id": "a", "note": "In Delft"}, {"id": "b", "note": "in  Delft"}, {"id": "a", "note": "Brest"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    findings = [(finding.kind, finding.record, finding.field) for finding in audit(file, task="mood").findings]
    assert findings == [("id", "a", "id"), ("duplicate", "b", "note")]


def test_a_number_without_end_is_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"text,year,n\na,1784,nan\nb,1913,{'9' * 4400}\n", encoding="utf-8")
    assert [record["n"][:3] for record in read(tmp_path / "x.csv", task="mine")] == ["nan", "999"]


def test_a_mapping_keeps_the_other_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["Delft", "Gouda", "Breda", "Hoorn", "Venlo", "Assen", "Tiel", "Goes", "Weert", "Emmen"]
    rows = "".join(f"t-{n},{text * 3},mail,{'MA'[n % 2]}\n" for n, text in enumerate(texts))
    Path("tickets.csv").write_text("ticket_id,text,channel,intent\n" + rows, encoding="utf-8")
    first = load("tickets.csv", task="triage", map="label=intent").task("triage").records[0]
    assert first == {"id": "1", "ticket_id": "t-0", "text": "DelftDelftDelft", "channel": "mail", "label": "M"}
    known = load("tickets.csv", task="classification", map="label=intent").classification.records[0]
    assert (known["text"], known["label"]) == ("DelftDelftDelft", "M")
    for task in ("classification", "triage"):
        words = ["gold", "split", "tickets.csv", "--task", task, "--map", "label=intent", "--out", task]
        assert CliRunner().invoke(app, words).exit_code == 0
        written = load(f"{task}/{task}.jsonl", task=task).task(task).records
        assert {record["text"] for record in written} == {text * 3 for text in texts}


def test_ids_of_the_user_stay(tmp_path: Path) -> None:
    rows = "".join(f"t-{n},{place * 3},{'MA'[n % 2]}\n" for n, place in enumerate(["Delft", "Gouda", "Breda"] * 4))
    (tmp_path / "tickets.csv").write_text("ticket_id,body,intent\n" + rows, encoding="utf-8")
    scaffold.write(tmp_path / "new", "triage", ["body"], ["intent"], source=tmp_path / "tickets.csv")
    records = load(tmp_path / "new/gold/triage").task("triage").records
    assert [record["id"] for record in records] == [f"t-{n}" for n in range(12)]


@pytest.mark.parametrize("task", ["answering", "own"])
def test_a_trace_of_inputs_and_outputs_is_read_as_it_is(task: str, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    row = {"id": "a", "inputs": {"question": "When?", "text": "in"}, "outputs": {"answer": "1885", "text": "out"}}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (record,) = read(file, task, "pred")
    assert record["answer"] == "1885"
    assert record.get("text", "out") == "out"  # of a name that both sides have, a prediction has the outputs'
    (mapped,) = read(file, "own", "pred", map="reply=outputs.answer,question=inputs.question")
    assert (mapped["reply"], mapped["question"]) == ("1885", "When?")


@pytest.mark.parametrize(
    ("task", "gold", "pred", "message"),
    [
        ("triples", {"triples": []}, {"triples": [("a", "p")]}, "object with subject, predicate, object"),
        ("extraction", {"text": "Ur", "entities": []}, {"entities": [(0, 2)]}, "object with start, end, type"),
        ("classification", {"label": "a"}, ["a"], "label: input should be a valid string"),
        ("triples", {"triples": []}, {("a", "p")}, 'record 1: a record is .*, not set: {"triples": …}'),
    ],
)
def test_an_output_without_its_field_is_an_error_that_names_the_field(
    task: str, gold: Any, pred: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        goldassay.score(task, [gold], [pred])


@pytest.mark.parametrize(
    ("task", "gold", "answer", "value"),
    [
        ("extraction", {"text": "in Delft", "entities": [(3, 8, "TOP")]}, [(3, 8, "TOP")], "strict_f1"),
        ("retrieval", {"query": "?", "relevant": ["a"]}, ["a"], "RR"),
        ("answering", {"question": "?", "answers": ["7"]}, 7, "exact_match"),
        ("triples", {"text": "?", "triples": [("a", "p", "b")]}, [("a", "p", "b")], "f1"),
        ("records", {"text": "?", "record": {"a": 1}}, '{"a": 1}', "field_f1"),
        ("trajectories", {"question": "?", "calls": [{"name": "f"}]}, [{"name": "f"}], "call_f1"),
    ],
)
def test_a_prediction_may_be_the_answer_alone(task: str, gold: Any, answer: Any, value: str) -> None:
    assert goldassay.score(task, [gold], [answer], intervals=False).values[value] == 1
    example = dspy.Example(gold).with_inputs(next(iter(gold)))
    metric = Metric([m for m in workspace.metric(task).measures.values() if m.task == task])
    assert metric(example, answer).score == metric(example, {"output": answer}).score == 1
    run = goldassay.evaluate(lambda **inputs: answer, [example], metric, progress=False)
    assert run.values == dict.fromkeys(run.values, 1)


def test_pictures_and_histories_are_types_of_dspy() -> None:
    """A model got a picture as the text of its address."""
    rows = [{"picture": "data:image/png;base64,AAAA", "history": {"messages": [{"q": "a"}]}}]
    assert fields(rows) == {"picture": "dspy.Image", "history": "dspy.History"}

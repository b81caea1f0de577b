"""Own files without ceremony: spreadsheets' csv, JSON lists, splits, data frames; a wrong column is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type
from uuid import UUID

import dspy
import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

import goldassay
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import read
from goldassay.measures.answering import ExactMatch
from goldassay.measures.classification import Accuracy
from goldassay.results.result import Result, Results
from goldassay.statistics import compare

ROWS = [{"id": "1", "label": "a, b"}, {"id": "2", "label": "c"}]
RECORDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "classification": ({"label": "a"}, {"label": "a"}),
    "extraction": (
        {"text": "in 1800", "entities": [{"start": 3, "end": 7, "type": "T"}]},
        {"entities": [{"start": 3, "end": 7, "type": "T"}]},
    ),
    "linking": (
        {"text": "Delft", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q690"]}}]},
        {"links": [{"start": 0, "end": 5, "candidates": [{"id": "Q690"}]}]},
    ),
    "retrieval": ({"query": "x", "relevant": ["d"]}, {"results": [{"doc_id": "d", "score": 1}]}),
    "answering": ({"question": "x", "answers": ["y"]}, {"answer": "y"}),
    "triples": (
        {"text": "x", "triples": [{"subject": "a", "predicate": "b", "object": "c"}]},
        {"triples": [{"subject": "a", "predicate": "b", "object": "c"}]},
    ),
    "records": ({"record": {"a": 1}}, {"record": {"a": 1}}),
    "trajectories": (
        {"question": "x", "calls": [{"name": "search", "args": {"query": "y"}}]},
        {"trajectory": [{"name": "search", "args": {"query": "y"}}]},
    ),
}


@pytest.mark.parametrize(
    "content",
    [
        'id,label\n1,"a, b"\n2,c\n',
        "id;label;share\n1;a, b;0,5\n2;c;0,25\n",
        '"id";"label"\n"1";"a, b"\n"2";"c"\n',
        "id\tlabel\n1\ta, b\n2\tc\n",
        "id|label\n1|a, b\n2|c\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_any_spreadsheet_is_the_same_table(tmp_path: Path, content: str, encoding: str) -> None:
    file = tmp_path / "gold.csv"
    file.write_bytes(content.replace("\n", "\r\n").encode(encoding))
    assert [{key: row[key] for key in ("id", "label")} for row in read(file, task="classification")] == ROWS
    assert [{key: row[key] for key in ("id", "label")} for row in read(file, task="tone")] == ROWS


def test_one_column_is_one_column(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("label\na\nb; c\n", encoding="utf-8")
    assert [row["label"] for row in read(tmp_path / "gold.csv", task="classification")] == ["a", "b; c"]


@pytest.mark.parametrize("task", RECORDS)
@pytest.mark.parametrize("of_splits", [False, True])
def test_a_json_list_is_read_for_every_task(tmp_path: Path, task: str, of_splits: bool) -> None:
    gold, pred = ({"id": "1", **fields} for fields in RECORDS[task])
    files = tmp_path / "gold.json", tmp_path / "pred.json"
    files[0].write_text(json.dumps({"train": [], "test": [gold]} if of_splits else [gold]), encoding="utf-8")
    files[1].write_text(json.dumps([pred]), encoding="utf-8")
    in_file = goldassay.score(task, *files, split="test" if of_splits else None)
    assert in_file.values == goldassay.score(task, [gold], [pred]).values == goldassay.score(task, *files).values
    assert 1.0 in in_file.values.values()
    loaded = goldassay.load(files[0], task=task).task(task)
    assert (loaded.splits, len(loaded.all)) == (["test"] if of_splits else [], 1)


class Label(BaseModel):
    """A prediction as a pydantic model."""

    id: int
    label: str


def test_frames_models_and_examples_are_scored_alike() -> None:
    gold = pd.DataFrame({"no": [1, 2, 3, 4], "category": ["a", "b", "a", "b"]})
    answers = ["a", "b", "b", None]
    frame = pd.DataFrame({"no": [1, 2, 3, 4], "label": answers})
    systems = {
        "frame_1": frame,
        "dicts": [{"id": n, "label": label} for n, label in enumerate(answers, 1)],
        "models": [Label(id=n, label=label or "") for n, label in enumerate(answers, 1)],
        "examples": [dspy.Example(id=n, label=label) for n, label in enumerate(answers, 1)],
    }
    cards = goldassay.score("classification", gold, systems, map={"id": "no", "label": "category"})
    assert {name: card["accuracy"] for name, card in cards.items()} == dict.fromkeys(systems, 0.5)
    assert cards.to_pandas().loc["accuracy", "frame_1"] == 0.5
    low, high = cards["dicts"].intervals["accuracy"].ends
    assert cards["dicts"].to_pandas().loc["accuracy"].tolist() == [0.5, low, high]
    lines = cards.to_latex().splitlines()
    assert lines[2] == r" & frame\_1 & dicts & models & examples \\"
    assert lines[4].startswith(rf"accuracy & 0.500 {{\small [{low:.3f}, {high:.3f}]}} & ")


def test_a_table_for_a_paper_has_the_rows_and_the_differences_asked_for() -> None:
    gold = [{"id": n, "label": "ab"[n % 2]} for n in range(20)]
    wrong = [{**row, "label": "a"} for row in gold]
    cards = goldassay.score("classification", gold, {"ours": gold, "theirs": wrong})
    assert_type(cards, Results)
    head, _, accuracy, kappa, *rest = cards.to_latex(["accuracy", "kappa"], difference=True).splitlines()[2:]
    assert (head, len(rest)) == (r" & ours & theirs & theirs - ours \\", 2)
    gap = compare([1.0, 0.0] * 10, [1.0] * 20).interval
    assert accuracy.endswith(rf" & -0.500 {{\small [{gap.low:+.3f}, {gap.high:+.3f}]}} \\")
    assert kappa.startswith("kappa & 1.000")
    assert cards["ours"].to_latex(["accuracy"]).count(r"\\") == 2
    with pytest.raises(GoldassayError, match="no value 'f2'; there are accuracy"):
        cards.to_latex(["f2"])
    assert_type(goldassay.score("classification", gold, wrong, split=None), Result)


def test_another_column_is_named_with_those_there_are() -> None:
    with pytest.raises(
        DataError, match=r'gold: record 1: no column label.*there are id, category.*`map=."label": "COLUMN".`'
    ):
        goldassay.score("classification", pd.DataFrame({"id": [1], "category": ["a"]}), [])
    with pytest.raises(DataError, match=r"predictions: record 1: no column entities; there are id, names"):
        goldassay.score("extraction", [{"id": 1, "text": "x", "entities": []}], [{"id": 1, "names": []}])
    with pytest.raises(DataError, match="no gold of the split 'dev'; there are test"):
        goldassay.score("classification", {"test": ROWS}, ROWS, split="dev")


TEXT = "Het Rijksmuseum staat in Amsterdam ."
SPANS = [(4, 15, "ORG"), (25, 34, "LOC")]
LABELLED: dict[str, Any] = {  # the record above as tools of annotation and recognition have it
    "doccano": {"label": [[*span] for span in SPANS], "Comments": []},
    "doccano, with relations": {
        "entities": [{"id": 7, "label": kind, "start_offset": a, "end_offset": b} for a, b, kind in SPANS],
    },
    "Prodigy": {
        "spans": [{"start": a, "end": b, "token_start": 1, "token_end": 1, "label": kind} for a, b, kind in SPANS],
        "tokens": [{"text": "Het", "start": 0, "end": 3, "id": 0}],
    },
    "spaCy": {"ents": [{"start": a, "end": b, "label": kind} for a, b, kind in SPANS]},
    "Label Studio's short form": {
        "label": [{"start": a, "end": b, "text": TEXT[a:b], "labels": [kind]} for a, b, kind in SPANS],
        "annotator": 1,
    },
    "transformers": {
        "entities": [{"entity_group": kind, "score": 0.5, "word": "x", "start": a, "end": b} for a, b, kind in SPANS],
    },
    "tokens with tags": {"tokens": TEXT.split(), "ner_tags": ["O", "B-ORG", "O", "O", "B-LOC", "O"]},
}


@pytest.mark.parametrize("tool", LABELLED)
def test_spans_of_other_tools_are_read(tmp_path: Path, tool: str) -> None:
    own = {"id": "1", "text": TEXT, **LABELLED[tool]}
    (tmp_path / "gold.json").write_text(json.dumps([own]))
    gold = [{"id": "1", "text": TEXT, "entities": [(*SPANS[0][:2], "PER"), SPANS[1]]}]
    for prediction in ([own], tmp_path / "gold.json"):
        assert goldassay.score("extraction", gold, prediction).values["strict_f1"] == 0.5
    if tool != "transformers":
        assert goldassay.score("extraction", tmp_path / "gold.json", gold).values["strict_f1"] == 0.5


QUESTIONS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "ragas": lambda said, right: {
        "user_input": "?",
        "response": said,
        "retrieved_contexts": [],
        "reference": right,
    },
    "ragas 0.1": lambda said, right: {"question": "?", "answer": said, "contexts": [], "ground_truth": right},
    "ragas 0.0": lambda said, right: {"question": "?", "answer": said, "ground_truths": [right]},
    "deepeval": lambda said, right: {"input": "?", "actual_output": said, "expected_output": right},
    "a table": lambda said, right: {"question": "?", "answer": right, "prediction": said},
    "OpenAI": lambda said, right: {"input": "?", "output": said, "ideal": right},
    "Braintrust": lambda said, right: {"input": "?", "output": said, "expected": right},
    "LangSmith": lambda said, right: {
        "inputs": {"question": "?"},
        "outputs": {"answer": said},
        "reference_outputs": {"answer": right},
    },
    "MLflow": lambda said, right: {
        "inputs": {"question": "?"},
        "outputs": {"response": said},
        "expectations": {"expected_response": right},
    },
}


@pytest.mark.parametrize("tool", QUESTIONS)
def test_answers_are_held_to_the_references_beside_them(tmp_path: Path, tool: str) -> None:
    rows = [QUESTIONS[tool]("Delft", "Delft"), QUESTIONS[tool]("Gouda", "Leiden")]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    for both in (rows, tmp_path / "rows.json"):
        result = goldassay.score("answering", both, both)
        assert result.values["exact_match"] == 0.5
        assert not [note for note in result.warnings if "one column" in note]


def test_a_missing_prediction_is_no_gold(tmp_path: Path) -> None:
    """One of a hundred runs that failed made all records gold, their own predictions, and every value 1."""
    right, wrong = QUESTIONS["LangSmith"]("Delft", "Delft"), QUESTIONS["LangSmith"]("", "Leiden")
    file = tmp_path / "runs.jsonl"
    failures: list[dict[str, Any]] = [{"outputs": None}, {"outputs": {}}]
    for failed in failures:
        rows = [right | {"id": "1"}, wrong | {"id": "2"} | failed]
        assert goldassay.score("answering", rows, rows).values["exact_match"] == 0.5
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        with pytest.raises(DataError, match='name its column .`map={"gold.answers": "answer"}`'):
            goldassay.score("answering", file, file)
        result = goldassay.score("answering", file, file, map={"gold.answers": "answer"})
        assert result.values["exact_match"] == 0.5
    rows = [QUESTIONS["ragas 0.1"]("Delft", "Delft"), {"question": "?", "ground_truth": "Leiden"}]
    with pytest.raises(DataError, match="predictions: record 2: no column answer; there are question, ground_truth"):
        goldassay.score("answering", rows, rows)


@pytest.mark.parametrize(
    ("right", "said"), [("y_true", "y_pred"), ("gold_label", "label"), ("expected", "predicted"), ("label", "output")]
)
def test_labels_are_held_to_those_that_were_expected(right: str, said: str) -> None:
    rows = [{"text": "a", right: "A", said: "A"}, {"text": "b", right: "B", said: "A"}]
    assert goldassay.score("classification", rows, rows).values["accuracy"] == 0.5


def test_one_column_on_both_sides_is_said() -> None:
    rows = [{"question": "a", "answer": "Delft", "checked": "Gouda"}]
    result = goldassay.score("answering", rows, rows)
    assert "gold and predictions are one column, 'answer'; name both" in result.warnings[0]
    mapped = goldassay.score("answering", rows, rows, map={"gold.answers": "checked", "pred.answer": "answer"})
    assert (mapped.values["exact_match"], mapped.warnings) == (0, [])


@pytest.mark.parametrize(
    "names", [("head", "relation", "tail"), ("subject", "relation", "object"), ("head", "type", "tail")]
)
def test_statements_of_other_tools_are_read(names: tuple[str, str, str]) -> None:
    right, wrong = ("Rijksmuseum", "opened in", "1885"), ("Delft", "is in", "NL")
    rows = [{"id": "1", "text": "x", "relations": [dict(zip(names, right, strict=True))]}]
    assert goldassay.score("triples", rows, [{"id": "1", "triples": [right, wrong]}]).values["precision"] == 0.5
    assert goldassay.score("triples", [{"id": "1", "text": "x", "triples": [right]}], rows).values["f1"] == 1


@pytest.mark.parametrize(
    ("task", "gold", "pred", "name", "value"),
    [
        ("records", {"expected": {"a": 1, "b": 2}}, {"output": {"a": 1, "b": 3}}, "field_f1", 0.5),
        (
            "triples",
            {"triples": [["a", "b", "c"]]},
            {"predicted_triples": [["a", "b", "d"], ["a", "b", "c"]]},
            "precision",
            0.5,
        ),
        ("extraction", {"entities": [[0, 1, "A"]]}, {"pred_entities": [[0, 1, "B"]]}, "strict_f1", 0),
        ("retrieval", {"query": "?", "expected_ids": ["a"]}, {"retrieved_ids": ["x", "a"]}, "RR", 0.5),
        ("classification", {"labels": ["a", "b"]}, {"labels": ["a"]}, "set_micro_recall", 0.5),
        (
            "linking",
            {"text": "Delft, Gouda", "links": [[0, 5, "Q690"], {"start": 7, "end": 12, "qid": "Q13"}]},
            {"links": [(0, 5, "Q690"), {"start": 7, "end": 12, "qid": "NIL"}]},
            "hits@1",
            0.5,
        ),
    ],
)
def test_gold_and_predictions_of_one_table_are_told_apart(
    tmp_path: Path, task: str, gold: dict[str, Any], pred: dict[str, Any], name: str, value: float
) -> None:
    rows = [{"text": "x", **gold, **pred}] if gold.keys().isdisjoint(pred) else [gold]
    predictions = rows if gold.keys().isdisjoint(pred) else [pred]
    assert goldassay.score(task, rows, predictions).values[name] == value


def test_lists_of_documents_by_query_are_read() -> None:
    gold: Any = {"q1": {"a", "b"}, "q2": ["c"]}
    pred: Any = {"q1": ["a", "x"], "q2": ["x", "c"]}
    assert goldassay.score("retrieval", gold, pred).values["RR"] == 0.75


@pytest.mark.parametrize(
    "gold", [["Delft", "Leiden"], [["Delft"], ["Leiden", "Leyden"]], {"1": "Delft", "2": "Leiden"}]
)
def test_answers_alone_are_gold(gold: Any) -> None:
    said: Any = {"1": "Delft", "2": "Gouda"} if isinstance(gold, dict) else ["Delft", "Gouda"]
    assert goldassay.score("answering", gold, said).values["exact_match"] == 0.5


def test_results_of_several_systems_are_compared_together() -> None:
    gold = list("ABAB" * 5)
    results = goldassay.score("classification", gold, {"all": gold, "half": ["A"] * 20})
    assert goldassay.compare(results)[0].difference == -0.5
    with pytest.raises(GoldassayError, match=r"not list: compare\(before, after\)"):
        goldassay.compare([results["all"], results["half"]])  # type: ignore[arg-type]


def test_tags_that_are_numbers_are_refused() -> None:
    row = {"id": "1", "tokens": ["Delft", "is"], "ner_tags": [1, 0]}
    with pytest.raises(DataError, match="record 1, ner_tags: tags are names such as B-LOC, not numbers"):
        goldassay.score("extraction", [row], [row])


def test_tags_are_as_many_as_tokens_and_those_of_a_text_are_its_own() -> None:
    with pytest.raises(DataError, match="record 1, ner_tags: 1 tags for 2 tokens"):
        goldassay.score("extraction", [{"id": "1", "tokens": ["Delft", "is"], "ner_tags": ["O"]}], [])
    for topics in ([], None, ["a"], "a"):
        row = {"id": "1", "text": "Delft", "entities": [(0, 5, "LOC")], "tags": topics}
        assert goldassay.score("extraction", [row], [row]).values["strict_f1"] == 1


def test_the_column_of_spans_is_named_where_lines_have_another_one(tmp_path: Path) -> None:
    file = tmp_path / "doccano.jsonl"
    file.write_text(json.dumps({"id": 1, "text": "Delft", "label": [[0, 5, "LOC"]], "Comments": []}))
    with pytest.raises(DataError, match='this field is missing; name its column .`map=."entities": "label".`'):
        goldassay.score("extraction", file, file)
    rag = tmp_path / "ragas.jsonl"
    rag.write_text(json.dumps({"id": 1, "question": "?", "answer": "Delft", "ground_truth": "Gouda"}))
    with pytest.raises(DataError, match='name its column .`map=."answers": "ground_truth".`'):
        goldassay.score("answering", rag, rag)
    assert goldassay.score("extraction", file, file, map={"entities": "label"}).values["strict_f1"] == 1


def test_lines_of_another_tool_without_ids_are_read_by_the_mapping_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ragas.jsonl"
    rows = [QUESTIONS["ragas"]("Delft", "Delft"), QUESTIONS["ragas"]("Gouda", "Leiden")]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(DataError, match='number the records with `map={"question": "user_input"}`'):
        goldassay.score("answering", file, file)
    assert goldassay.score("answering", file, file, map={"question": "user_input"}).values["exact_match"] == 0.5


def test_load_takes_lists_by_split_and_data_frames() -> None:
    rows = [{"text": "a", "label": "M", "split": "train"}, {"text": "b", "label": "L", "split": "test"}]
    data: Any
    for data in (rows, pd.DataFrame(rows), {"train": rows[:1], "test": rows[1:]}):
        gold = goldassay.load(data, task="classification").task("classification")
        assert ([e.label for e in gold.train], [e.label for e in gold.test]) == (["M"], ["L"])
    own = goldassay.load(rows, task="tone").task("tone")
    assert (own.splits, own.records[0]["text"]) == (["train", "test"], "a")
    with pytest.raises(GoldassayError, match="need their task"):
        goldassay.load(rows)
    absent = goldassay.load([{"id": "a"}], task="classification").task("classification")
    with pytest.raises(GoldassayError, match="no column label"):
        len(absent.records)


def test_renamed_predictions_are_no_gold(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("id,text,genre\n1,a,good\n2,b,bad\n")
    (tmp_path / "pred.csv").write_text("id,genre\n1,good\n2,good\n")
    card = goldassay.score("classification", tmp_path / "gold.csv", tmp_path / "pred.csv", map="label=genre")
    assert (card.values["accuracy"], card.warnings) == (0.5, [])


@pytest.mark.parametrize("data", [[], {}, {"train": []}])
def test_gold_without_records_is_one_line(data: Any) -> None:
    with pytest.raises(GoldassayError, match="there are no records"):
        goldassay.score("classification", data, [{"id": "a", "label": "M"}])


@pytest.mark.parametrize("protocol", ["hotpotqa", "musique", "triviaqa", "nq_open", "drop", "quoref", "kilt"])
@pytest.mark.parametrize("content", ["{}", "[]", ""])
@pytest.mark.extensions
def test_an_empty_official_file_is_one_line(protocol: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    file.write_text(content)
    with pytest.raises(GoldassayError) as caught:
        goldassay.score("answering", file, file, protocol=protocol)
    assert "gold.json" in str(caught.value)


def test_what_are_no_records_is_one_line() -> None:
    nothing: Any = 5
    with pytest.raises(GoldassayError, match="a list, lists by split or a data frame, not 5"):
        goldassay.score("classification", [{"id": "a", "label": "M"}], nothing)


def test_a_cut_line_leaves_the_separator_of_the_header(tmp_path: Path) -> None:
    (tmp_path / "pred.csv").write_text("id;label\n1;good\n2")
    with pytest.raises(DataError, match="pred.csv:3: 1 columns where the header has 2"):
        goldassay.score("classification", [{"id": "1", "label": "good"}], tmp_path / "pred.csv")


def test_bare_values_are_labels_answers_or_records() -> None:
    labels = ["M", "A", "L"], ["M", "A", "A"]
    sides: list[Callable[[Any], Any]] = [list, tuple, np.array, pd.Series, iter]
    for side in sides:
        card: Result = goldassay.score("classification", side(labels[0]), side(labels[1]))
        assert card.values["accuracy"] == 2 / 3
    assert goldassay.score("classification", [1, 2], {"a": [1, 1], "b": [1, 2]})["b"]["accuracy"] == 1
    invoices = ['{"no": 1}', '{"no": 2}']
    assert goldassay.score("records", invoices, [{"no": 1}, {"no": 3}])["record_accuracy"] == 0.5
    with pytest.raises(GoldassayError, match="a record is an object with fields, not str"):
        goldassay.score("retrieval", ["a"], ["a"])


def test_a_frame_that_pandas_wrote_as_json_is_its_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"ticket": ["c", "a", "b"], "team": ["z", "x", "y"]})
    frame[frame["team"] != "z"].to_json(file := tmp_path / "gold.json")
    records = read(file, task="own")  # flawed: one record whose fields were columns
    assert [(record["ticket"], record["team"]) for record in records] == [("a", "x"), ("b", "y")]


def test_lists_and_objects_in_cells_are_values_and_other_brackets_are_text(tmp_path: Path) -> None:
    tags, orders, notes = [["a", "B"], []], [{"n": 1, "of": "X"}, None], ["[sic] a", "{b}"]
    frame = pd.DataFrame({"ticket": ["x", "y"], "tags": tags, "order": orders, "note": notes})
    frame.to_csv(python := tmp_path / "python.csv", index=False)
    frame.assign(tags=frame["tags"].map(json.dumps), order=['{"n": 1, "of": "X"}', ""]).to_csv(
        by_json := tmp_path / "json.csv", index=False
    )
    for file in (python, by_json):  # flawed: texts, so set(gold.tags) was a set of signs
        records = read(file, task="own")
        assert [[record[name] for record in records] for name in ("tags", "order", "note")] == [tags, orders, notes]


@pytest.mark.parametrize(
    ("gold", "answer"),
    [(np.True_, True), (np.float32(18), "18"), (18, "18"), ("18", 18), ("18", 18.0), (18.0, 18), (True, "true")],
)
def test_numbers_are_answers_and_labels_live_and_in_lists(gold: Any, answer: Any) -> None:
    records = [{"id": "a", "question": "How many?", "answers": gold}]
    run = goldassay.score("answering", records, [{"id": "a", "answer": answer}])
    assert run.values["exact_match"] == ExactMatch()(records[0], {"answer": answer}).tally.value == 1.0  # refused


def test_a_label_that_is_a_whole_float_is_the_integer() -> None:
    gold, prediction = {"id": "a", "text": "x", "label": 2}, {"id": "a", "label": 2.0}
    live = Accuracy()(gold, prediction).tally.value  # flawed: refused live, and another label in a list
    assert goldassay.score("classification", [gold], [prediction]).values["accuracy"] == live == 1.0


def test_a_question_whose_answers_are_null_has_none_live_and_in_lists() -> None:
    record = {"id": "a", "question": "Who?", "answers": None}
    live = ExactMatch()(record, {"answer": ""}).tally.value
    assert goldassay.score("answering", [record], [{"id": "a", "answer": ""}]).values["exact_match"] == live == 1.0


UNREADABLE = {"brackets": "[" * 200_000, "signs": f"['a', {'-' * 100_000}1]", "set of lists": "{[1]}", "nan": "[NaN]"}


@pytest.mark.parametrize("cell", UNREADABLE.values(), ids=UNREADABLE)
def test_a_cell_that_cannot_be_read_as_a_list_stays_a_text(cell: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    pd.DataFrame({"ticket": ["x"], "tags": [cell]}).to_csv(file, index=False)
    (record,) = read(file, task="own")
    assert record["tags"] == cell


def test_records_and_lists_that_a_model_wrote_in_fences_are_read_from_files(tmp_path: Path) -> None:
    span = {"start": 3, "end": 7, "type": "TMP"}
    rows: dict[str, tuple[Any, Any, str]] = {
        "records": ({"record": {"no": 7}}, {"record": 'It is:\n```json\n{"no": 7}\n```'}, "field_f1"),
        "extraction": (
            {"text": "in 1885", "entities": [span]},
            {"entities": f"```\n[{json.dumps(span)}]\n```"},
            "strict_f1",
        ),
        "classification": ({"label": "M"}, {"label": '```json\n{"label": "M"}\n```'}, "accuracy"),
    }
    for task, (gold, pred, name) in rows.items():
        for side, row in (("gold", gold), ("pred", pred)):
            (tmp_path / f"{side}.jsonl").write_text(json.dumps({"id": 1, **row}) + "\n")
        assert goldassay.score(task, tmp_path / "gold.jsonl", tmp_path / "pred.jsonl")[name] == 1, task


def test_a_column_of_predictions_alone_is_mapped_as_the_error_advises() -> None:
    gold = [{"id": 1, "question": "When?", "answers": ["1885"]}]
    pred = [{"id": 1, "messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "1885"}]}]
    with pytest.raises(DataError, match='`map={"answer": "messages.-1.content"}`'):
        goldassay.score("answering", gold, pred)
    assert goldassay.score("answering", gold, pred, map={"answer": "messages.-1.content"})["exact_match"] == 1
    labels = [{"id": 1, "label": "M"}]
    assert goldassay.score("classification", labels, [{"id": 1, "kind": "M"}], map={"label": "kind"})["accuracy"] == 1
    with pytest.raises(DataError, match="neither gold nor a prediction has the column 'knid' of the mapping"):
        goldassay.score("classification", labels, labels, map={"label": "knid"})


@pytest.mark.parametrize("task", ["classification", "answering", "mine"])
@pytest.mark.parametrize("orient", ["columns", "index", "split", "records", "list", "lines"])
def test_frames_in_json_are_read_however_they_are_written(orient: str, task: str, tmp_path: Path) -> None:
    fields = {"answering": ("question", "answers", "answer")}.get(task, ("text", "label", "label"))
    gold = pd.DataFrame({"id": ["a", "b", "c"], fields[0]: ["x", "y", "z"], fields[1]: ["M", "L", "L"]})
    pred = pd.DataFrame({"id": ["a", "b", "c"], fields[2]: ["M", "M", "L"]})
    if (orient, task) in (("index", "answering"), ("list", "answering")):
        pytest.skip("an object of SQuAD's shape")
    for name, frame in (("gold.json", gold), ("pred.json", pred)):
        way: Any = "records" if orient == "lines" else orient
        text = (
            json.dumps(frame.to_dict("list"))
            if orient == "list"
            else frame.to_json(orient=way, lines=orient == "lines")
        )
        (tmp_path / name).write_text(text)
    (tmp_path / "metric.py").write_text("def metric(gold, pred):\n    return gold.label == pred.label\n")
    options: Any = {"measures": [f"{tmp_path / 'metric.py'}"]} if task == "mine" else {}
    card = goldassay.score(task, tmp_path / "gold.json", tmp_path / "pred.json", **options)
    name = {"classification": "accuracy", "answering": "exact_match"}.get(task, "score")
    assert card[name] == pytest.approx(2 / 3)
    assert card.warnings == []


def test_a_ragged_column_lacks_its_cell_and_one_object_is_one_record_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text('{"id": {"0": "a", "1": "b"}, "note": {"1": "x"}}')
    assert read(file, "mine") == [{"id": "a"}, {"id": "b", "note": "x"}]
    file.write_text('{"id": "a", "note": "x"}')
    assert read(file, "mine").warnings == [
        f"{file} is one object and counts as one record; records are a list, [{{…}}, {{…}}]"
    ]


def test_frames_without_ids_are_matched_by_place_unless_their_indices_are_in_another_order() -> None:
    gold = pd.DataFrame({"label": ["a", "b"]}, index=[5, 6])
    assert goldassay.score("classification", gold, pd.DataFrame({"label": ["a", "a"]}))["accuracy"] == 0.5
    with pytest.raises(DataError, match="its rows are in another order than gold's; add an id column"):
        goldassay.score("classification", gold, pd.Series(["b", "a"], index=[6, 5]))


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    (tmp_path / "gold.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match="save the sheet as csv"):
        goldassay.score("classification", tmp_path / "gold.xlsx", ["a"])


def test_a_list_with_a_name_is_the_records(tmp_path: Path) -> None:
    """Its rows had one field, and the advice was to take that for the text."""
    file = tmp_path / "gold.json"
    file.write_text(json.dumps({"data": [{"id": "a", "label": "M"}]}))
    assert goldassay.score("classification", file, file)["accuracy"] == 1.0


@pytest.mark.parametrize(("gold", "pred"), [("1", "1.0"), ("caf\u00e9", "cafe\u0301")])
def test_ids_that_differ_in_form_alone_are_shown_apart(gold: str, pred: str) -> None:
    with pytest.raises(DataError) as error:
        goldassay.score("classification", [{"id": gold, "label": "M"}], [{"id": pred, "label": "M"}])
    assert f"gold has {gold!a}, and {pred!a} differs from it in form alone" in str(error.value)


def test_ids_may_be_uuids() -> None:
    name = UUID(int=7)
    gold = [{"id": name, "label": "M"}]
    assert goldassay.score("classification", gold, [{"id": str(name), "label": "M"}])["accuracy"] == 1.0

"""SQuAD: questions over paragraphs, predictions with no-answer probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import clusters
from goldassay.gold import pairs, read, write
from goldassay.gold.formats import answering

CONTEXT = "Teylers Museum opened in 1784."
QUESTIONS = [
    {"id": "a", "question": "When?", "answers": [{"text": "1784", "answer_start": 25}], "is_impossible": False},
    {"id": "b", "question": "Who?", "answers": [], "is_impossible": True, "plausible_answers": []},
]
DATA = {"version": "v2.0", "data": [{"title": "Teylers", "paragraphs": [{"context": CONTEXT, "qas": QUESTIONS}]}]}


def save(file: Path, content: Any) -> Path:
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_questions_with_and_without_answers(tmp_path: Path) -> None:
    records = read(save(tmp_path / "g.json", DATA), task="answering")
    assert [(record["id"], record["answers"]) for record in records] == [("a", ["1784"]), ("b", [])]
    assert records[0]["context"] == CONTEXT
    assert records[0]["documents"] == ["Teylers/0"]


def test_questions_on_one_article_belong_together(tmp_path: Path) -> None:
    questions = [{**QUESTIONS[0], "id": n} for n in range(6)]  # ids from 0
    paragraphs = [{"context": CONTEXT, "qas": questions[:1]}, {"context": CONTEXT, "qas": questions[1:3]}]
    again = [{"context": CONTEXT, "qas": questions[3:]}]
    two = [{"title": "A", "paragraphs": paragraphs}, {"title": "A", "paragraphs": again}]
    for task in ("answering", "retrieval"):
        records = read(save(tmp_path / "two.json", {"data": two}), task=task)
        assert clusters(records) == ["A", "A", "A", "A#2", "A#2", "A#2"]
    article = read(save(tmp_path / "one.json", {"data": two[:1]}), task="answering")
    assert clusters(article) == ["A/0", "A/1", "A/1"]  # of one article the paragraphs


def test_an_article_without_a_title_is_named_by_its_number(tmp_path: Path) -> None:
    untitled = [
        {"title": "", "paragraphs": [{"context": CONTEXT, "qas": [{**question, "id": f"{n}{question['id']}"}]}]}
        for n, question in enumerate(QUESTIONS)
    ]
    records = read(save(tmp_path / "g.json", {"data": untitled}), task="answering")
    assert [record["document"] for record in records] == ["0", "1"]


def test_second_version_is_written_as_it_was_read(tmp_path: Path) -> None:
    records = read(save(tmp_path / "g.json", DATA), task="answering")
    write(tmp_path / "out.json", records, format="squad", task="answering")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == DATA


def test_predictions_and_the_probability_of_no_answer(tmp_path: Path) -> None:
    gold, pred = save(tmp_path / "g.json", DATA), save(tmp_path / "p.json", {"a": "1784", "b": ""})
    absent = save(tmp_path / "na.json", {"a": 0.25, "b": 1})
    both = pairs("answering", gold, pred)
    assert both.pred == [{"id": "a", "answer": "1784"}, {"id": "b", "answer": ""}]
    predictions = read(pred, task="answering", side="pred", na_probs=absent)
    assert [record["confidence"] for record in predictions] == [0.75, 0]
    write(tmp_path / "again.json", predictions, format="squad", task="answering", side="pred")
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8")) == {"a": "1784", "b": ""}


def test_a_question_asks_for_its_own_paragraph(own: Path, real_data: Path) -> None:
    """XQuAD has 1,190 questions over 240 paragraphs, the own file two over one."""
    real = real_data / "xquad" / "xquad.en.json"
    for file, sizes in ((own / "squad.json", (2, 1)), *([(real, (1190, 240))] if real.is_file() else [])):
        records, passages = read(file, task="retrieval"), answering.passages(file)
        assert (len(records), len(passages)) == sizes
        assert {name for record in records for name in record["relevant"]} == {passage["id"] for passage in passages}


def test_a_prediction_for_an_unknown_question(tmp_path: Path) -> None:
    gold, pred = save(tmp_path / "g.json", DATA), save(tmp_path / "p.json", {"z": "x"})
    with pytest.raises(DataError, match=r"p.json: record z: prediction for a question that gold does not have"):
        pairs("answering", gold, pred)
    some = save(tmp_path / "some.json", {"z": "x", **{record["id"]: "x" for record in read(gold, task="answering")}})
    aligned = pairs("answering", gold, some)  # as SQuAD's script, which asks gold's questions
    assert [record["id"] for record in aligned.pred] == [record["id"] for record in aligned.gold]
    assert "1 of" in aligned.warnings[0]
    assert "have no gold record and are left out, as the official scorer does (z)" in aligned.warnings[0]


@pytest.mark.parametrize(
    ("content", "side", "expected"),
    [
        ([], "gold", "not SQuAD: an object with 'data' is needed"),
        ({"data": [{"title": "x"}]}, "gold", "data[0]: not as in the format squad: no 'paragraphs'"),
        ({"data": [{"paragraphs": [{}]}]}, "gold", "data[0].paragraphs[0]: not as in the format squad: no 'context'"),
        (
            {"data": [{"paragraphs": [{"context": "x", "qas": [{}]}]}]},
            "gold",
            "0/0: not as in the format squad: no 'id'",
        ),
        ({"data": []}, "pred", "predictions are one object {id: answer}"),
        ({"a": {}}, "pred", "record a, answer: input should be a valid string, found {}"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: Any, side: str, expected: str) -> None:
    file = save(tmp_path / "g.json", content)
    with pytest.raises(GoldassayError) as caught:
        read(file, format="squad", task="answering", side="gold" if side == "gold" else "pred")
    assert expected in str(caught.value)


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "g.json"
    file.write_text('{"data": [\n  {"title" "x"}\n]}', encoding="utf-8")
    with pytest.raises(DataError, match=r"g.json:2: not JSON: Expecting ':' delimiter \(column 12\)"):
        read(file, task="answering")


def test_nan_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"a": NaN}', encoding="utf-8")
    with pytest.raises(DataError, match="NaN is not JSON"):
        read(tmp_path / "p.json", format="squad", task="answering", side="pred")


def test_an_answer_that_is_not_in_its_context_cannot_be_written(tmp_path: Path) -> None:
    record = {"id": "a", "question": "When?", "answers": ["1800"], "context": CONTEXT}
    with pytest.raises(DataError, match="needs the context with every answer in it"):
        write(tmp_path / "x.json", [record], format="squad", task="answering")


def test_each_answer_has_its_own_start(tmp_path: Path) -> None:
    record = {
        "id": "a",
        "question": "?",
        "answers": [CONTEXT[:3], CONTEXT[4:6]],
        "context": CONTEXT,
        "answer_starts": [0],
    }
    with pytest.raises(DataError, match="record a: squad needs the context"):
        write(tmp_path / "x.json", [record], format="squad", task="answering")


def test_a_mapping_is_of_the_predictions_where_gold_is_squad(tmp_path: Path) -> None:
    gold = save(tmp_path / "gold.json", DATA)
    pred = save(tmp_path / "pred.json", [{"id": "a", "ours": "In 1784"}, {"id": "b", "ours": ""}])
    both = pairs("answering", gold, pred, map={"answer": "ours"})
    assert [record["answer"] for record in both.pred] == ["In 1784", ""]

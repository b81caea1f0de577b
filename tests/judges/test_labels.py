"""Files of human labels: shapes, several annotators, and what can be wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.judges.labels import LabelFile, read
from goldassay.judges.questions import question, rubric

SUPPORT = question("support")


def jsonl(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def row(id: str, label: Any = "supported", **more: Any) -> dict[str, Any]:
    return {"id": id, "inputs": {"text": "t", "claim": "c"}, "label": label, **more}


def test_jsonl_nested_and_flat(tmp_path: Path) -> None:
    flat = {"id": 2, "text": "t", "claim": "c", "labels": {"ann": "Not stated", "bob": "supported"}}
    listed = {"id": 3, "text": "t", "claim": "c", "labels": ["supported", "supported", "contradicted"]}
    loaded = read(jsonl(tmp_path, row("1"), flat, listed, row("4", None)), SUPPORT)
    assert [item.label for item in loaded.items] == ["supported", None, "supported", None]
    assert loaded.items[1].labels == {"ann": "not_stated", "bob": "supported"}
    assert loaded.annotators == ["ann", "annotator 1", "annotator 2", "annotator 3", "bob", "label"]
    assert loaded.items[0].inputs == {"text": "t", "claim": "c"}
    assert not loaded.judged


def test_csv_with_annotators_verdicts_and_splits(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(
        'id,text,claim,label_ann,label_bob,verdict,split\n1,"a, b",c,supported,,supported,dev\n'
        "2,t,c,not_stated,not_stated,,test\n",
        encoding="utf-8",
    )
    loaded = read(file, SUPPORT)
    assert loaded.items[0].labels == {"ann": "supported"}
    assert [(item.verdict, item.split) for item in loaded.items] == [("supported", "dev"), (None, "test")]
    assert loaded.judged


@pytest.mark.parametrize(
    "pair",
    [
        (True, False),
        (1, 0),
        ("true", "FALSE"),
        ("pass", "Fail"),
        ("correct", "incorrect"),
        ("supported", "not supported"),
    ],
)
def test_true_and_false_make_a_question_with_two_labels(tmp_path: Path, pair: tuple[Any, Any]) -> None:
    loaded = read(jsonl(tmp_path, row("1", pair[0]), row("2", pair[1], verdict="contradicted")), SUPPORT)
    assert loaded.question.labels == ("supported", "not supported")
    assert [item.label for item in loaded.items] == ["supported", "not supported"]
    assert loaded.items[1].verdict == "not supported"


def wrong(folder: Path, *rows: dict[str, Any]) -> str:
    with pytest.raises(DataError) as caught:
        read(jsonl(folder, *rows), SUPPORT)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_can_be_wrong(tmp_path: Path) -> None:
    assert "record a, label: 'suported' is not a label of support: supported, contradicted, not_stated" in wrong(
        tmp_path, row("a", "suported")
    )
    assert "no item has a label" in wrong(tmp_path, row("a", None))
    assert "record a: duplicate document id" in wrong(tmp_path, row("a"), row("a"))
    assert "no input 'claim'; support asks for text, claim" in wrong(
        tmp_path, {"id": "a", "text": "t", "label": "supported"}
    )
    assert "verdict: 'perhaps' is not a label" in wrong(tmp_path, row("a", verdict="perhaps"))
    assert "record a, inputs: expected an object, not bool" in wrong(tmp_path, {**row("a"), "inputs": True})


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    faults = {"": "the file is empty", "[1]\n": "1: a record is an object with fields", "{\n": "1: not JSON"}
    for content, message in faults.items():
        file.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            read(file, SUPPORT)
    table = tmp_path / "x.csv"
    table.write_text("id,text,claim,label\n1,t,c\n", encoding="utf-8")
    with pytest.raises(DataError, match="2: 3 columns where the header has 4"):
        read(table, SUPPORT)
    table.write_text("id,text,claim,label\n", encoding="utf-8")
    with pytest.raises(DataError, match="there are no records"):
        read(table, SUPPORT)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "absent.csv", SUPPORT)


def test_items_to_judge_need_no_label(tmp_path: Path) -> None:
    labels = read(jsonl(tmp_path, {"id": "b", "text": "t", "claim": "c"}), SUPPORT, labelled=False)
    assert isinstance(labels, LabelFile)
    assert labels.items[0].label is None


def test_levels_of_ones_own_may_be_numbers(tmp_path: Path) -> None:
    entry = rubric({"0": "wrong", "1": "thin", "2": "full"})
    rows = [{"id": str(n), "question": "q", "answer": "a", "label": n % 3} for n in range(6)]
    labels = read(jsonl(tmp_path, *rows), entry)
    assert [item.label for item in labels.items] == ["0", "1", "2", "0", "1", "2"]
    assert labels.question is entry
    with pytest.raises(GoldassayError, match="two or more levels"):
        rubric({"Good": "a", "good": "b"})

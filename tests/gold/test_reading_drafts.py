"""Drafts as gold: how records were chosen survives every format, and what nobody labelled yet is left out."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError
from goldassay.gold import convert, load, pairs, read, schema, write
from goldassay.gold.audit import audit

SAMPLING = {"question": "compare", "stratum": "disagree", "size": 9, "population": 40, "seed": 3, "position": 0}


def draft(name: str, label: str | None = None, place: int = 0) -> dict[str, Any]:
    record: dict[str, Any] = {"id": name, "text": f"text {name}", "suggestions": {"a": {"label": "M"}, "b": {}}}
    gold = {} if label is None else {"label": label}
    return {**record, **gold, "sampling": {**SAMPLING, "position": place}}


HALF = [draft("x", "M", 0), draft("y", None, 1), draft("z", "L", 2)]


def saved(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def test_what_is_not_labelled_is_left_out_and_counted_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = saved(tmp_path / "gold.jsonl", HALF)
    with caplog.at_level(logging.WARNING, "goldassay"):
        records = read(file, task="classification")
        examples = load(file, task="classification").classification.all
    assert records == [HALF[0], HALF[2]]
    assert [example.id for example in examples] == ["x", "z"]
    assert [entry.message for entry in caplog.records] == [
        f"1 of the 3 records of {file} are not labelled yet and are left out"
    ] * 2


def test_a_draft_without_a_label_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gold\.jsonl: none of its 2 records is labelled yet"):
        read(saved(tmp_path / "gold.jsonl", [draft("x"), draft("y")]), task="classification")


@pytest.mark.parametrize(
    ("task", "labels"),
    [
        ("extraction", {"entities": []}),
        ("linking", {"links": []}),
        ("answering", {"answers": []}),
        ("retrieval", {"relevant": []}),
        ("triples", {"triples": []}),
        ("records", {"record": {}}),
        ("own", {"year": 0}),
    ],
)
def test_an_empty_label_is_a_label(task: str, labels: dict[str, Any], tmp_path: Path) -> None:
    content = {"answering": "question", "retrieval": "query"}.get(task, "text")
    common = {content: "x", "sampling": SAMPLING, "suggestions": {"a": {"year": 1800}}}
    file = saved(tmp_path / "gold.jsonl", [{"id": "a", **common, **labels}, {"id": "b", **common}])
    assert [record["id"] for record in read(file, task=task)] == ["a"]


def test_a_broken_sampling_is_one_line_with_its_place_and_a_finding(tmp_path: Path) -> None:
    broken = draft("y", "L")
    broken["sampling"]["size"] = 0
    file = saved(tmp_path / "gold.jsonl", [draft("x", "M"), broken])
    with pytest.raises(DataError, match=r"gold\.jsonl:2: record y, sampling\.size: input should be greater than 0"):
        read(file, task="classification")
    assert [(finding.line, finding.kind) for finding in audit(file, task="classification").findings] == [(2, "schema")]
    assert audit(saved(file, HALF), task="classification").clean


@pytest.mark.parametrize("name", ["gold.csv", "gold.tsv", "gold.json"])
def test_a_table_and_label_studio_keep_how_records_were_chosen(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    form = "label-studio" if name.endswith("json") else None
    write(file, HALF, task="classification", format=form)
    assert read(file, task="classification", format=form) == [HALF[0], HALF[2]]


def test_an_empty_cell_of_a_draft_is_no_answer_yet_and_an_empty_list_is_unanswerable(tmp_path: Path) -> None:
    records = [{"id": name, "question": f"{name}?", "sampling": SAMPLING} for name in "abc"]
    records[0]["answers"] = ["1800"]
    file = tmp_path / "gold.csv"
    write(file, records, task="answering")
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([*lines[:2], lines[2].replace("?,,", "?,[],"), lines[3]]) + "\n", encoding="utf-8")
    assert [(record["id"], record["answers"]) for record in read(file, task="answering")] == [
        ("a", ["1800"]),
        ("b", []),
    ]


def test_converting_keeps_both_fields(tmp_path: Path) -> None:
    source = saved(tmp_path / "gold.jsonl", [HALF[0], HALF[2]])
    assert convert(source, tmp_path / "gold.csv", task="classification").lost == {}


def test_the_schema_has_both_fields() -> None:
    fields: Any = schema("records")["properties"]
    assert {"sampling", "suggestions"} <= fields.keys()


def test_predictions_of_what_was_not_drafted_are_the_population_and_no_fault(tmp_path: Path) -> None:
    gold = saved(tmp_path / "gold.jsonl", HALF)
    pred = saved(tmp_path / "pred.jsonl", [{"id": name, "label": "M"} for name in "wxyz"])
    both = pairs("classification", gold, pred)
    assert [record["id"] for record in both.pred] == ["x", "z"]
    assert [record["id"] for record in both.population] == ["w", "x", "y", "z"]
    assert both.design.drafted
    assert both.design.places == {"disagree": [0, 1]}
    unlabelled, skipped = both.warnings
    assert unlabelled == f"1 of the 3 records of {gold} are not labelled yet and are left out"
    assert skipped.startswith("1 records come before labelled ones of their stratum"), "y is between x and z"


def test_only_the_split_that_is_scored_needs_a_design(tmp_path: Path) -> None:
    train = {"id": "t", "text": "x", "label": "M", "split": "train"}
    gold = saved(tmp_path / "gold.jsonl", [train, *({**record, "split": "test"} for record in HALF)])
    pred = saved(tmp_path / "pred.jsonl", [{"id": name, "label": "M"} for name in "txz"])
    assert pairs("classification", gold, pred, split="train").design.drafted is False
    assert pairs("classification", gold, pred, split="test").design.drafted is True
    with pytest.raises(DataError, match="record t: has no sampling, and 2 others have"):
        pairs("classification", gold, pred)


def test_a_draft_that_does_not_say_how_it_was_chosen_is_warned_about(tmp_path: Path) -> None:
    old = {
        "id": "a",
        "text": "x",
        "label": "M",
        "meta": {"suggested_by": ["p"], "other_answers": {"q": {"label": "L"}}},
    }
    both = pairs("classification", saved(tmp_path / "gold.jsonl", [old]), [{"id": "a", "label": "M"}])
    (warning,) = both.warnings
    assert "1 of 1 gold records were drafted where systems disagree" in warning

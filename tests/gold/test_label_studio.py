"""Label Studio's export as gold: regions, choices, a browser's offsets, and what is wrong in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import read, write


def task(text: str, *regions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"id": "a", "text": text, "language": "nl"}, "annotations": [{"result": regions}], **more}


def labels(start: int, end: int, words: str | None, *names: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": list(names), **({} if words is None else {"text": words})}
    return {"type": "labels", "from_name": "entities", "to_name": "text", "value": value}


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def made(*tasks: Any) -> Path:
        place = tmp_path / "export.json"
        place.write_text(json.dumps(tasks), encoding="utf-8")
        return place

    return made


def test_regions_are_entities_and_the_rest_of_data_comes_back(file: Any) -> None:
    cancelled = {"was_cancelled": True, "result": [labels(0, 2, "in", "TMP")]}
    first = task("in 1800 te Delft", labels(11, 16, "Delft", "TOP"), labels(3, 7, None, "TMP"))
    first["annotations"].insert(0, cancelled)
    unseen = {"id": 8, "data": {"text": "x"}, "annotations": []}
    assert read(file(first, unseen), format="label-studio", task="extraction") == [
        {
            "id": "a",
            "text": "in 1800 te Delft",
            "language": "nl",
            "entities": [
                {"start": 3, "end": 7, "type": "TMP", "text": "1800"},
                {"start": 11, "end": 16, "type": "TOP", "text": "Delft"},
            ],
        }
    ]


def test_an_export_is_recognised_by_what_its_tasks_have(file: Any) -> None:
    export = file(task("in 1800", labels(3, 7, None, "TMP"), created_at="2026-12-01"))
    assert read(export, task="extraction")[0]["entities"] == [{"start": 3, "end": 7, "type": "TMP", "text": "1800"}]


def test_offsets_of_a_browser_count_an_emoji_twice(file: Any) -> None:
    text = "🏛 Delft 🏛 Gouda"
    records = read(
        file(task(text, labels(3, 8, "Delft", "TOP"), labels(12, 17, "Gouda", "TOP"))),
        format="label-studio",
        task="extraction",
    )
    assert [(span["start"], span["end"]) for span in records[0]["entities"]] == [(2, 7), (10, 15)]


def test_choices_are_labels(file: Any, tmp_path: Path) -> None:
    choice = {"type": "choices", "value": {"choices": ["M", "A"]}}
    (record,) = read(file(task("x", choice)), format="label-studio", task="classification")
    assert (record["label"], record["secondary_labels"]) == ("M", ["A"])
    write(tmp_path / "again.json", [record], format="label-studio", task="classification")
    assert read(tmp_path / "again.json", format="label-studio", task="classification") == [record]


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([{"id": 1}], "record 1: not as in the format label-studio: no 'data'"),
        ([{**task("x"), "data": {"text": 5}}], "text: input should be a valid string, found 5"),
        ([task("in Delft", labels(0, 2, "Delft", "TOP"))], "'Delft' is not at 0–2"),
        ([task("in Delft", labels(3, 99, None, "TOP"))], "is not at 3–99 of the text"),
        ([task("in Delft", {"type": "labels", "value": {"start": 0}})], "record a: .*no 'end'"),
        ([task("in Delft", labels(3, 8, None))], "the region at 3–8 has no label"),
        ([{"id": 1, "data": {"body": "in Delft"}, "annotations": []}], "its data has no text; there are body"),
    ],
)
def test_what_is_wrong_is_one_line(file: Any, tasks: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(file(*tasks), format="label-studio", task="extraction")


def test_a_file_of_something_else_is_refused(file: Any, tmp_path: Path) -> None:
    (tmp_path / "object.json").write_text("{}")
    with pytest.raises(DataError, match="a list of tasks is needed"):
        read(tmp_path / "object.json", format="label-studio", task="extraction")
    with pytest.raises(GoldassayError, match="holds extraction, classification, not linking"):
        read(file(), format="label-studio", task="linking")

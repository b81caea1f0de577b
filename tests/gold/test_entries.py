"""The founding example's shape."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from goldassay import score
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import read

TEXT = "Het Teylers Museum in Haarlem (NL-HlmTM) opende in 1784."
ENTRY: dict[str, Any] = {
    "id": "e1",
    "text": TEXT,
    "ner_annotations": [
        {"text": "Teylers Museum", "type": "GRP.HER.MUS", "start": 4, "end": 18},
        {"text": "Haarlem", "type": "TOP", "start": 22, "end": 29},
        {"text": "NL-HlmTM", "type": "IDENTIFIER", "start": 31, "end": 39},
        {"text": "1784", "type": "TMP", "start": 51, "end": 55},
    ],
    "type_classification": {"primary_type": "M", "secondary_types": ["R"], "rationale": "A museum with a cabinet"},
    "entity_linking": {
        "Teylers Museum": {"wikidata_id": "Q474563", "viaf_id": None, "isil_code": "NL-HlmTM", "ghcid": "X"},
        "Haarlem": {"wikidata_id": None},
    },
    "qa_pairs": [
        {
            "question": "Wanneer opende het museum?",
            "answer": "In 1784.",
            "answer_type": "factual",
            "supporting_facts": ["opende in 1784"],
        }
    ],
}


def save(folder: Path, content: Any) -> Path:
    file = folder / "entries.json"
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return file


def test_entities_and_types(tmp_path: Path) -> None:
    file = save(tmp_path, ENTRY)
    assert read(file, task="extraction")[0]["entities"] == ENTRY["ner_annotations"]
    record = read(file, task="classification")[0]
    assert (record["label"], record["secondary_labels"], record["rationale"]) == ("M", ["R"], "A museum with a cabinet")


def test_links_stand_at_the_annotated_places(tmp_path: Path) -> None:
    links = read(save(tmp_path, [ENTRY]), task="linking")[0]["links"]
    assert links == [
        {
            "start": 4,
            "end": 18,
            "text": "Teylers Museum",
            "type": "GRP.HER.MUS",
            "ids": {"wikidata": ["Q474563"], "isil": ["NL-HlmTM"], "ghcid": ["X"]},
        },
        {"start": 22, "end": 29, "text": "Haarlem", "type": "TOP", "ids": {}},
    ]


def test_a_mention_without_annotation_is_a_link_wherever_it_stands(tmp_path: Path) -> None:
    entry = {"id": "e", "text": "Leiden, Leiden", "entity_linking": {"Leiden": {"wikidata_id": "Q43631"}}}
    links = read(save(tmp_path, entry), task="linking")[0]["links"]
    assert [(link["start"], link["end"]) for link in links] == [(0, 6), (8, 14)]


def test_questions_are_named_after_their_document(tmp_path: Path) -> None:
    record = read(save(tmp_path, ENTRY), format="json", task="answering")[0]
    assert record["id"] == "e1-q1"
    assert record["answers"] == ["In 1784."]
    assert record["documents"] == ["e1"]


def test_entries_can_be_predictions(tmp_path: Path) -> None:
    file = save(tmp_path, ENTRY)
    assert read(file, task="linking", side="pred")[0]["links"][0]["candidates"][0] == {
        "id": "Q474563",
        "kb": "wikidata",
    }
    assert read(file, task="classification", side="pred")[0]["label"] == "M"
    assert read(file, format="json", task="answering", side="pred") == [{"id": "e1-q1", "answer": "In 1784."}]


def test_wrong_offsets_are_named_with_the_right_place(tmp_path: Path) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["ner_annotations"][1] |= {"start": 20, "end": 27}
    with pytest.raises(DataError) as caught:
        read(save(tmp_path, entry), task="extraction")
    expected = "record e1, entities[1]: text[20:27] is 'n Haarl', not 'Haarlem', which is at 22:29"
    assert str(caught.value).endswith(expected)


@pytest.mark.parametrize(
    ("change", "task", "expected"),
    [
        (
            {"entity_linking": {"Gouda": {}}},
            "linking",
            "record e1, entity_linking: mention 'Gouda' is not in the text",
        ),
        ({"entity_linking": ["Gouda"]}, "linking", "record e1, entity_linking: not as in the format"),
        (
            {"type_classification": {}},
            "classification",
            "record e1, type_classification: not as in the format json: no 'primary_type'",
        ),
        ({"ner_annotations": [{"start": 0}]}, "extraction", "record e1"),
        ({"text": None}, "extraction", "[0]: the text of an entry is None"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: dict[str, Any], task: str, expected: str) -> None:
    with pytest.raises(GoldassayError) as caught:
        read(save(tmp_path, {**ENTRY, **change}), task=task)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_the_part(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="or entries with qa_pairs"):
        read(save(tmp_path, {"id": "a", "text": "x"}), format="json", task="answering")


@pytest.mark.parametrize("content", ["[0]", "0", "null", '[{"id": "a"}, 1]'])
def test_a_file_without_objects_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "gold.json").write_text(content)
    with pytest.raises(GoldassayError):
        score("answering", tmp_path / "gold.json", tmp_path / "gold.json", protocol="squad2")


@pytest.mark.parametrize("name", ["data", "examples", "records", "rows"])
def test_a_list_beside_other_fields_is_the_records(name: str, tmp_path: Path) -> None:
    """It was one record of a task of your own, no entry of classification, and not SQuAD."""
    file = tmp_path / "gold.json"
    file.write_text(
        json.dumps({"version": "1.0", "about": {"by": "us"}, name: [{"text": t, "label": t} for t in "ab"]})
    )
    assert [record["label"] for record in read(file, "classification")] == ["a", "b"]
    assert len(read(file, "urgency")) == 2
    file.write_text(json.dumps({"version": "1.0", name: [{"question": "q", "answers": ["a"]}]}))
    assert read(file, "answering")[0]["answers"] == ["a"]
    file.write_text(
        json.dumps({"version": 2, "train": [{"text": "a", "label": "b"}], "dev": [{"text": "c", "label": "d"}]})
    )
    assert read(file, "classification").splits == ["train", "dev"]
    file.write_text(json.dumps({name: "x"}))
    with pytest.raises(DataError, match=f"records are a list, .*; the fields of this file are {name}"):
        read(file, "classification")

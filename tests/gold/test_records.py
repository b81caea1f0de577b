"""Records know their ids, documents and splits; those of a file with other line ends are the same records."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from goldassay import Metric, evaluate, score
from goldassay._support.exceptions import DataError
from goldassay.gold import load, read
from goldassay.measures import classification
from goldassay.running.hashing import gold_hash


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = random.Random(2)
    lines = []
    for number in range(300):
        record: dict[str, Any] = {
            "id": number if number == 7 else f"d{number}",
            "text": "é" * rng.randrange(9),
            "label": "M",
        }
        if number % 3:
            record["split"] = "dev" if number % 2 else "test"
        lines.append(json.dumps(record, ensure_ascii=bool(number % 2)) + rng.choice(["\n", "\r\n", "\n \n"]))
    place = tmp_path / "classification.jsonl"
    place.write_bytes(b"\xef\xbb\xbf" + "".join(lines).rstrip().encode())
    return place


def test_gold_in_a_file_is_the_same_gold_in_memory(file: Path) -> None:
    there = load(file).classification
    text = file.read_text(encoding="utf-8-sig")
    in_memory = load([json.loads(line) for line in text.split("\n") if line.strip()], task="classification")
    expected = in_memory.classification
    assert list(there.records) == [{**record, "id": str(record["id"])} for record in expected.records]
    assert there.records.ids[7] == "7"
    assert there.records.splits == [record.get("split") for record in expected.records]
    assert there.splits == expected.splits == ["dev", "test"]
    assert there.all == expected.all
    for split in there.splits:
        assert there.split(split) == expected.split(split)
        assert there.records.of_split(split) == [record for record in there.records if record.get("split") == split]
    assert there.records.select({"7", "d9"}).ids == ["7", "d9"]
    assert gold_hash(there.all) == gold_hash(expected.all)
    with pytest.raises(DataError, match="no split 'valid'"):
        there.split("valid")
    with pytest.raises(DataError, match="no gold of the split 'valid'; there are dev, test"):
        there.records.of_split("valid")


def test_records_know_their_documents_and_their_design() -> None:
    gold = [{"id": "a", "text": "x", "label": "M", "document": "d"}, {"id": "b", "text": "y", "label": "L"}]
    records = read(gold, "classification")
    assert records.documents == ["d", None]
    assert not records.design.drafted
    assert records.file is None
    assert records == gold


def test_a_run_over_gold_of_a_file(file: Path, tmp_path: Path) -> None:
    gold = load(file).classification.all
    run = evaluate(
        lambda text: {"label": "M"}, gold, Metric(classification.Accuracy()), folder=tmp_path / "run", threads=4
    )
    assert run.value == 1
    assert run.rows[299].id == "d299"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "d3", "label": "M"}', "record d3: duplicate document id"),
        ('{"id": "x", "id": "y", "label": "M"}', "301: 'id' is repeated"),
        ('{"id": "x"}', "301: record x, label: this field is missing"),
    ],
)
def test_what_is_wrong_is_said_as_of_any_file(file: Path, line: str, said: str) -> None:
    raw = file.read_bytes().replace(b"\n \n", b"\n")
    file.write_bytes(raw + b"\n" + line.encode())
    with pytest.raises(DataError, match=said):
        _ = load(file).classification.all


@pytest.mark.parametrize(
    ("task", "gold", "pred"),
    [
        ("extraction", {"text": "in Delft", "entities": [(3, 8, "LOC")]}, {"entities": [[3, 8, "LOC"]]}),
        ("triples", {"text": "x", "triples": [("a", "b", 1)]}, {"triples": [["a", "b", 1]]}),
        ("retrieval", {"query": "x", "relevant": {"d": 1}}, {"results": ["d", "e"]}),
        (
            "linking",
            {"text": "in Delft", "links": [{"start": 3, "end": 8, "ids": {"wikidata": ["Q690"]}}]},
            {"links": [{"start": 3, "end": 8, "candidates": ["Q690"]}]},
        ),
        ("answering", {"question": "?", "answers": {"text": ["Delft"], "answer_start": [3]}}, {"answer": "Delft"}),
    ],
)
def test_short_forms_are_records_in_lists_and_in_files(
    task: str, gold: dict[str, Any], pred: dict[str, Any], tmp_path: Path
) -> None:
    sides = {"gold": {"id": "a", **gold}, "pred": {"id": "a", **pred}}
    for name, record in sides.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record))
    of_lists = score(task, *([record] for record in sides.values())).values
    of_files = score(task, tmp_path / "gold.jsonl", tmp_path / "pred.jsonl").values
    assert of_lists == of_files
    assert next(iter(of_lists.values())) == 1


@pytest.mark.parametrize("texts", [None, {"a": 1}])
def test_squads_answers_that_are_no_list_are_one_line(texts: object) -> None:
    with pytest.raises(DataError, match="record a, answers: input should be a valid list"):
        score("answering", [{"id": "a", "question": "?", "answers": {"text": texts}}], [{"id": "a", "answer": "Delft"}])


def test_squads_answers_that_are_one_text_are_one_answer() -> None:
    gold = [{"id": "a", "question": "?", "answers": {"text": "Delft"}}]
    assert score("answering", gold, [{"id": "a", "answer": "Delft"}]).values["exact_match"] == 1


def test_records_without_ids_are_told_how_to_number_them(tmp_path: Path) -> None:
    file = tmp_path / "qa.jsonl"
    file.write_text(json.dumps({"question": "When?", "answer": "1784"}) + "\n")
    with pytest.raises(DataError, match=r'number the records with `map=\{"question": "question"\}`'):
        read(file, "answering")
    for advised in ("question=question", "answers=answer"):
        assert [(row["id"], row["answers"]) for row in read(file, "answering", map=advised)] == [("1", ["1784"])]
    file.write_text(json.dumps({"id": "1", "question": "When?", "answer": "1784"}) + "\n")
    with pytest.raises(DataError, match=r'name its column \(`map=\{"gold.answers": "answer"\}`\)'):
        read(file, "answering")

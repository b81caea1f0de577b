"""Gold that stays in its file is the gold that is read whole."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from goldassay import Metric, evaluate
from goldassay.exceptions import DataError
from goldassay.gold import load, reading
from goldassay.measures import classification
from goldassay.running.hashing import gold_hash


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reading, "LARGE", 100)
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


def test_gold_in_its_file_is_the_same_gold(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = load(file).classification
    assert isinstance(there.all, reading.RecordFile)
    monkeypatch.setattr(reading, "LARGE", 10**9)
    in_file = load(file).classification
    assert isinstance(in_file.all, list)
    assert list(there.records) == in_file.records
    assert there.records[7]["id"] == "7"
    assert there.splits == in_file.splits == ["dev", "test"]
    assert list(there.all) == in_file.all
    for split in there.splits:
        assert list(there.split(split)) == in_file.split(split)
    assert list(there.dev[5:20:3]) == in_file.dev[5:20:3]
    assert there.dev[-1] == in_file.dev[-1]
    assert gold_hash(there.all) == gold_hash(in_file.all)
    with pytest.raises(DataError, match="no split 'valid'"):
        there.split("valid")


def test_a_run_over_gold_in_its_file(file: Path, tmp_path: Path) -> None:
    gold = load(file).classification.all
    run = evaluate(
        lambda text: {"label": "M"}, gold, Metric(classification.Accuracy()), folder=tmp_path / "run", threads=4
    )
    assert run.value == 1
    assert run.rows[299]["id"] == "d299"


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

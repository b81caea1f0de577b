"""Parquet and Hugging Face data sets as gold, through the libraries that write them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay import score
from goldassay._support.exceptions import DataError
from goldassay.cli import app
from goldassay.gold import load, read
from goldassay.gold.anyfields import fields

datasets = pytest.importorskip("datasets", reason="data sets need the extra datasets", exc_type=ImportError)
pyarrow = pytest.importorskip("pyarrow", reason="parquet and arrow files need the extra datasets")


def written(path: Path, **columns: list[Any]) -> Path:
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_parquet_is_read_with_what_json_can_hold(tmp_path: Path) -> None:
    day = datetime.date(1784, 1, 1)
    file = written(tmp_path / "a.parquet", text=["a", "b"], opened=[day, None], parts=[[{"n": 1}], []], share=[0.5, 1])
    first, second = read(file, task="mine")
    assert first == {"id": "1", "text": "a", "opened": "1784-01-01", "parts": [{"n": 1}], "share": 0.5}
    assert second["opened"] is None
    assert json.dumps(first)
    assert fields([first, second])["share"] == "float"


def test_a_mapping_leaves_pictures_behind(tmp_path: Path) -> None:
    file = written(tmp_path / "a.parquet", body=["a", "b"], picture=[b"\xff", b"\xfe"])
    with pytest.raises(DataError, match=r"picture holds bytes, which no record can hold; name the fields you want"):
        read(file, task="mine")
    assert read(file, task="mine", map={"text": "body"}) == [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]


def test_what_is_no_parquet_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("id,text\n")
    with pytest.raises(DataError, match=r"a\.parquet: no Parquet that can be read \(.*\)"):
        read(tmp_path / "a.parquet", task="mine")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    kinds = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["A", "M"])})
    data = {
        side: datasets.Dataset.from_dict({"text": [f"{side} text"], "label": [at]}, features=kinds)
        for at, side in enumerate(("train", "validation"))
    }
    datasets.DatasetDict(data).save_to_disk(str(tmp_path / "saved"))
    return tmp_path / "saved"


def test_a_saved_data_set_keeps_its_splits_and_the_names_of_its_labels(saved: Path) -> None:
    assert read(saved, task="mine") == [
        {"id": "1", "text": "train text", "label": "A", "split": "train"},
        {"id": "2", "text": "validation text", "label": "M", "split": "dev"},
    ]
    assert read(saved / "train", task="mine")[0]["label"] == "A"
    in_memory = load(datasets.load_from_disk(str(saved)), task="mine")
    assert [example.label for example in in_memory.mine.train + in_memory.mine.dev] == ["A", "M"]
    one = datasets.load_from_disk(str(saved / "validation"))
    assert score("classification", one, ["M"])["accuracy"] == 1.0


def test_tags_of_a_data_set_have_their_names() -> None:
    tags = datasets.Sequence(datasets.ClassLabel(names=["O", "B-LOC", "I-LOC"]))
    kinds = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": tags})
    tokens = ["in", "New", "York", "or", "Delft"]
    gold = datasets.Dataset.from_dict({"tokens": [tokens], "ner_tags": [[0, 1, 2, 0, 1]]}, features=kinds)
    record = {"text": "in New York or Delft", "entities": [(3, 11, "LOC"), (15, 20, "LOC")]}
    assert score("extraction", [record], gold)["strict_f1"] == 1.0
    assert score("extraction", gold, [{"entities": [(3, 11, "LOC")]}])["strict_recall"] == 0.5


def test_a_data_set_is_gold_for_one_of_the_six_and_a_workspace(saved: Path, tmp_path: Path) -> None:
    assert [record["label"] for record in load(saved, task="classification").classification.dev] == ["M"]
    arguments = ["init", str(tmp_path / "mine"), "--task", "kinds", "--from", str(saved), "--outputs", "label"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (tmp_path / "mine" / "gold" / "kinds" / "kinds.jsonl").read_text().count("\n") == 2


def test_a_data_set_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="no data set that can be read"):
        read(f"hf:{tmp_path / 'none'}", task="mine")


def test_a_table_of_arrow_is_records() -> None:
    table = pyarrow.table({"id": ["a"], "label": ["M"]})
    assert score("classification", table, table, measures="accuracy")["accuracy"] == 1.0

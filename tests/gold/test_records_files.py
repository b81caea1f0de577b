"""Files of structured records: dotted columns, Parquet, JSON text, gold as its own prediction, and agreement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError
from goldassay.gold import load, pairs, read
from goldassay.gold.agreement import agree
from goldassay.measures import records

ROWS: list[dict[str, Any]] = [
    {"id": "1", "text": "a", "record": {"no": "007", "total": {"amount": 12.5}, "lines": [{"n": 2}, {"n": 1}]}},
    {"id": "2", "text": "b", "record": {"no": "8a", "total": {"amount": 3}, "lines": [{"n": 4}]}},
]
TABLE = "id,text,no,total.amount,lines[0].n,lines[1].n\n1,a,007,12.5,2,1\n2,b,8a,3,4,\n"


def test_a_table_nests_its_dotted_columns(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "tabs.tsv").write_text(TABLE.replace(",", "\t"), encoding="utf-8")
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    assert read(tmp_path / "gold.csv", task="records") == read(tmp_path / "tabs.tsv", task="records") == ROWS
    both = pairs("records", tmp_path / "gold.jsonl", tmp_path / "gold.csv")
    assert records.scorecard(both.gold, both.pred).values["record_accuracy"] == 1.0


def test_columns_of_the_record_may_be_named_as_such(tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text("id,note,record.a.b,record.c\n1,x,5,\n", encoding="utf-8")
    assert read(file, task="records")[0]["meta"] == {"note": "x"}
    file.write_text("id,record.a.b,record.c\n1,5,\n", encoding="utf-8")
    assert read(file, task="records") == [{"id": "1", "record": {"a": {"b": 5}}}]
    file.write_text("id,a,a.b\n1,5,6\n", encoding="utf-8")
    with pytest.raises(DataError, match="inside of one that has a value"):
        read(file, task="records")


def test_parquet_and_a_json_list(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="parquet is written by pyarrow (extra datasets)")
    from pyarrow.parquet import write_table

    write_table(
        arrow.Table.from_pylist([{**row, "record": json.dumps(row["record"])} for row in ROWS]), tmp_path / "g.parquet"
    )
    (tmp_path / "g.json").write_text(json.dumps(ROWS), encoding="utf-8")
    both = pairs("records", tmp_path / "g.json", tmp_path / "g.parquet")
    assert records.scorecard(both.gold, both.pred).values["field_f1"] == 1.0


def test_a_prediction_may_be_text_that_does_not_parse_and_gold_may_not(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    (tmp_path / "pred.jsonl").write_text('{"id": "1", "record": "{"}\n', encoding="utf-8")
    both = pairs("records", tmp_path / "gold.jsonl", tmp_path / "pred.jsonl")
    card = records.scorecard(both.gold, both.pred)
    assert card.counts["field"] == {"tp": 0, "fp": 0, "fn": 7}
    (tmp_path / "gold.jsonl").write_text('{"id": "1", "record": "{"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="record 1, record: not JSON"):
        records.scorecard(*[pairs("records", tmp_path / "gold.jsonl", tmp_path / "pred.jsonl").gold] * 2)


def test_annotators_agree_on_fields() -> None:
    other = [ROWS[0], {**ROWS[1], "record": {**ROWS[1]["record"], "no": "8b"}}]
    result = agree({"a": ROWS, "b": other}, "records")
    # 4 leaves of the first and 3 of the second; one differs: 2 · 6 / (2 · 6 + 1 + 1)
    assert result.figure("field_f1").value == pytest.approx(12 / 14)
    assert [row.values for row in result.disagreements]


def test_the_demo_set_is_what_its_card_says(root: Path) -> None:
    gold = load(root / "gold" / "records", task="records").records
    assert [len(gold.split(name)) for name in ("train", "dev", "test")] == [24, 12, 24]
    assert gold.dev[0].inputs().keys() == ["text"]

"""Records with any fields, from the files that people have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import convert, load, read
from goldassay.gold.anyfields import fields, mapping
from goldassay.gold.audit import audit

ROWS = [
    {"body": {"content": "Het Rijksmuseum"}, "cat": "M", "n": 7},
    {"body": {"content": "Stadsarchief Gent"}, "cat": "A", "n": 8},
]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    file = tmp_path / "foreign.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


def test_a_mapping_reads_foreign_gold_for_one_of_the_six(foreign: Path) -> None:
    part = load(foreign, task="classification", map="text=body.content,label=cat").classification
    assert [(row["id"], row["text"], row["label"]) for row in part.records] == [
        ("1", "Het Rijksmuseum", "M"),
        ("2", "Stadsarchief Gent", "A"),
    ]
    assert part.all[0].inputs().toDict() == {"text": "Het Rijksmuseum"}


def test_a_mapped_record_is_checked_as_always(foreign: Path) -> None:
    with pytest.raises(DataError, match=r"foreign.jsonl:1: record 1, label"):
        load(foreign, task="classification", map="text=body.content,label=body").classification.records  # noqa: B018


def test_foreign_gold_converts_into_canonical_records(foreign: Path, tmp_path: Path) -> None:
    conversion = convert(foreign, tmp_path / "c.jsonl", task="classification", map="text=body.content,label=cat")
    assert not conversion.lost
    assert load(tmp_path / "c.jsonl", task="classification").classification.records[1]["label"] == "A"


def test_a_mapping_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"text": "body.content"}', encoding="utf-8")
    assert mapping(str(tmp_path / "m.json")) == {"text": "body.content"}
    with pytest.raises(GoldassayError, match="a mapping reads like text=body.content,label=category, not 'text'"):
        mapping("text")


def test_a_column_of_numbers_is_numbers_and_a_code_is_none(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("year,code,share,right\n1784,007,0.5,true\n1913,012,,false\n", encoding="utf-8")
    first, second = read(file, task="mine")
    assert first == {"id": "1", "year": 1784, "code": "007", "share": 0.5, "right": True}
    assert second["share"] is None
    assert fields([first, second]) == {"year": "int", "code": "str", "share": "float", "right": "bool"}


def test_few_words_that_repeat_are_a_closed_list() -> None:
    rows = [{"tone": word} for word in ("glad", "sad") * 3]
    assert fields(rows) == {"tone": "Literal['glad', 'sad']"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1\n", r"t.csv:2: 1 columns where the header has 2 \(a, b\)"),
        ("a,a\n1,2\n", "t.csv:1: a table begins with a header of names that differ"),
        ("a,b\n", "t.csv: there are no records"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read(tmp_path / "t.csv", task="mine")


def test_validate_finds_doubles_in_any_gold(tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    rows = [{"id": "a", "note": "In Delft"}, {"id": "b", "note": "in  Delft"}, {"id": "a", "note": "Brest"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    findings = [(finding.kind, finding.record, finding.field) for finding in audit(file, task="mood").findings]
    assert findings == [("id", "a", "id"), ("duplicate", "b", "note")]


def test_a_number_without_end_is_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"text,year,n\na,1784,nan\nb,1913,{'9' * 4400}\n", encoding="utf-8")
    assert [record["n"][:3] for record in read(tmp_path / "x.csv", task="mine")] == ["nan", "999"]

"""tsv and csv: classification under a header."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import clusters
from goldassay.gold import pairs, read
from goldassay.gold.formats import tables


def write(file: Path, *rows: str) -> Path:
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_the_founding_columns(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.tsv", "text\tgold_type\tsecondary_types", 'Het "Huis"\tM\tE|R', "Het archief\tA\t")
    assert read(file, task="classification") == [
        {"id": "1", "text": 'Het "Huis"', "label": "M", "secondary_labels": ["E", "R"]},
        {"id": "2", "text": "Het archief", "label": "A", "secondary_labels": []},
    ]


def test_csv_has_quoted_cells_and_lists(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.csv", "id,text,label,secondary_labels", 'a,"x, y",museum,"library, archive"')
    assert read(file, task="classification") == [
        {"id": "a", "text": "x, y", "label": "museum", "secondary_labels": ["library", "archive"]}
    ]


def test_predictions_without_ids_are_aligned_line_by_line(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", "text\tgold_type", "een\tM", "twee\tA")
    pred = write(tmp_path / "pred.tsv", "text\tpredicted_type\tconfidence", "een\tM\t0.5", "twee\t\t")
    assert pairs("classification", gold, pred).pred == [
        {"id": "1", "text": "een", "label": "M", "confidence": 0.5},
        {"id": "2", "text": "twee", "label": None},
    ]


def test_predictions_with_ids_may_be_fewer(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", "id\ttext\tgold_type", "a\teen\tM", "b\ttwee\tA")
    pred = write(tmp_path / "pred.tsv", "id\tlabel", "b\tA")
    both = pairs("classification", gold, pred)
    assert [record["label"] for record in both.pred] == [None, "A"]
    assert both.warnings


def complaint(call: Any) -> str:
    with pytest.raises(GoldassayError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["text\tkind", "x\tM"], "gold.tsv:2: no column label; there are text, kind; rename"),
        (["text\tgold_type", "x"], "gold.tsv:2: 1 columns where the header has 2 (text, gold_type)"),
        (["text\tgold_type"], "gold.tsv: there are no records"),
        (["text\tgold_type", "x\t"], "gold.tsv:2: record 1, label: input should be a valid string"),
        (["id\ttext\tlabel", "a\tx\tM", "a\ty\tM"], "gold.tsv: record a: duplicate document id"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, rows: list[str], expected: str) -> None:
    file = write(tmp_path / "gold.tsv", *rows)
    message = complaint(lambda: read(file, task="classification"))
    assert message.replace(str(tmp_path) + "/", "").startswith(expected)


def test_rows_that_do_not_belong_together(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", "text\tgold_type", "een\tM", "twee\tA")
    fewer = write(tmp_path / "fewer.tsv", "label", "M")
    assert "1 rows where gold has 2" in complaint(lambda: pairs("classification", gold, fewer))
    other = write(tmp_path / "other.tsv", "text\tlabel", "een\tM", "drie\tA")
    assert "row 2 has another text than gold's" in complaint(lambda: pairs("classification", gold, other))


def test_a_confidence_that_is_no_number(tmp_path: Path) -> None:
    file = write(tmp_path / "pred.tsv", "label\tconfidence", "M\tnan")
    message = complaint(lambda: read(file, task="classification", side="pred"))
    assert message.endswith("pred.tsv:2: confidence: not a number: 'nan'")


def test_a_tab_cannot_be_written_to_tsv(tmp_path: Path) -> None:
    record = {"id": "a", "text": "x\ty", "label": "M"}
    assert "write csv or jsonl" in complaint(
        lambda: tables.write(tmp_path / "x.tsv", [record], "classification", "gold")
    )


@pytest.mark.parametrize(
    ("task", "header", "row"),
    [
        ("classification", "id,text,label,document", "{i},a text,M,{d}"),
        ("classification", "id,text,label,doc_id", "{i},a text,M,{d}"),
        ("classification", "text,gold_type,Document", "a text,M,{d}"),
        ("answering", "id,question,answers,document", "{i},Who?,Ada,{d}"),
    ],
)
def test_a_column_names_the_document(tmp_path: Path, task: str, header: str, row: str) -> None:
    file = write(tmp_path / "gold.csv", header, *(row.format(i=i, d=i // 2) for i in range(4)))
    records = read(file, task=task)
    assert clusters(records) == ["0", "0", "1", "1"]
    tables.write(tmp_path / "again.csv", records, task, "gold")
    assert clusters(read(tmp_path / "again.csv", task=task)) == ["0", "0", "1", "1"]


def test_a_document_column_may_be_the_text(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.csv", "id,document,label", "0,a text,M", "1,a text,M")
    assert [record["text"] for record in read(file, task="classification")] == ["a text", "a text"]


def test_a_column_that_stands_twice(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.tsv", "text\tlabel\tLabel", "x\tM\tL")
    assert complaint(lambda: read(file, task="classification")).endswith(
        "1: a table begins with a header of names that differ"
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_no_cell_is_a_formula_and_all_are_read_back(tmp_path: Path, suffix: str) -> None:
    labels = [
        "=1+1",
        "+31 15",
        "-5",
        "@home",
        "'=quoted",
        "'plain",
        "-x",
        ".",
        *(["a\rb"] if suffix == "csv" else []),
    ]
    records = [{"id": f"={i}", "label": label} for i, label in enumerate(labels)]
    file = tmp_path / f"gold.{suffix}"
    tables.write(file, records, "classification", "gold")
    if suffix == "csv":
        cells = [cell for row in csv.reader(io.StringIO(file.read_text(), newline="")) for cell in row]
        assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == ["-5"]
    assert [(row["id"], row["label"]) for row in read(file, task="classification")] == [
        (row["id"], row["label"]) for row in records
    ]

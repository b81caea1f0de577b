"""The audit of formats other than the canonical one: every fault of a file is told, and its offsets are mended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError
from goldassay.core.measure import TASKS
from goldassay.gold import load, read
from goldassay.gold.audit import audit, repaired

TSV = "text\tgold_type\tsecondary_types\nA hall\tM\tA\nA hall\tL\t\nfoo\tZ\t\nbar\tM\tM\nbaz\t\t\nqux\tM\n"
QRELS = "q1 0 d1 1\nq1 0 d1 2\nq2 0 d1 0\nq3 0 d2 x\nq4 0 d2 -1\nq5 0 d2\nq6 0 d2 3\n"
CONLL = "Het\tO\nMauritshuis\tB-MUS\nQ\n\nA\tB-LOC\nB\tX-LOC\nC\tB-\n"
HIPE = "TOKEN\tNE-COARSE-LIT\tMISC\n# document_id = a\nDelft\tB-loc\t_\n# document_id = a\nBrest\tQ-loc\t_\nx\n"
KG = (
    '{"id": "a", "sent": "x is y", "triples": [{"sub": "x", "rel": "is", "obj": "y"}]}\n'
    '{"id": "a", "sent": "x is z", "triples": []}\n{"id": "b", "triples": []}\nnot json\n'
    '{"id": "c", "sent": "q", "triples": [{"sub": "x", "rel": "is", "obj": [3]}]}\n'
)


@pytest.mark.parametrize(
    ("name", "task", "content", "expected"),
    [
        ("x.tsv", "classification", TSV, ["conflict", "conflict", "schema", "schema"]),
        ("x.qrels", "retrieval", QRELS, ["promise", "repeated", "schema", "schema", "unreadable"]),
        ("x.conll", "extraction", CONLL, ["label", "label", "unreadable"]),
        ("x.tsv", "extraction", HIPE, ["label", "unreadable"]),
        ("x.jsonl", "triples", KG, ["id", "schema", "schema", "unreadable"]),
    ],
)
@pytest.mark.extensions
def test_one_fault_does_not_hide_the_next(
    tmp_path: Path, name: str, task: str, content: str, expected: list[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    findings = audit(tmp_path / name, task=task).findings
    assert sorted(finding.kind for finding in findings) == expected
    assert all(finding.line for finding in findings if finding.kind in ("unreadable", "schema"))
    with pytest.raises(DataError):  # a reader still stops at the first
        read(tmp_path / name, task=task)


def standoff(folder: Path) -> Path:
    """A folder of brat with four wrong offsets, a broken line, and two names that are not there."""
    folder.mkdir()
    (folder / "a.txt").write_text("Het Mauritshuis in Den\nHaag.\n", encoding="utf-8")
    (folder / "a.ann").write_text(
        "T1\tMUS 3 14\tMauritshuis\nT2\tTOP 19 27\tDen Haag\nT3\tTOP 18 26\tDen Haag\n"
        "#1\tnote\nR1\tIn Arg1:T1 Arg2:T9\n",
        encoding="utf-8",
    )
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("Rotterdam, Brest \n", encoding="utf-8")
    (folder / "sub" / "b.ann").write_text(
        "T2\tTOP 11 17\tBrest \nT1\tTOP 1 9\tRotterdam\nT4 broken\nT5\tTOP 50 55\tBrest\n"
        "N1\tReference T1 Wikidata:Q34370\tx\n"
        "N2\tReference T7 Wikidata:Q1\tx\n",
        encoding="utf-8",
    )
    return folder


def test_a_folder_of_brat_is_audited(tmp_path: Path) -> None:
    folder = standoff(tmp_path / "brat")
    report = audit(folder)
    assert [(finding.kind, finding.file, finding.fix) for finding in report.findings] == [
        ("unreadable", "sub/b.ann", None),
        ("offset", "a.ann", {"start": 4, "end": 15}),
        ("offset", "a.ann", None),
        ("edge", "sub/b.ann", {"start": 11, "end": 16, "text": "Brest"}),
        ("offset", "sub/b.ann", {"start": 0, "end": 9}),
        ("offset", "sub/b.ann", {"start": 11, "end": 16}),
    ]


def test_links_and_relations_of_brat_are_audited_too(tmp_path: Path) -> None:
    folder = standoff(tmp_path / "brat")
    linked = audit(folder, task="linking")
    assert [finding.fix for finding in linked.findings if finding.fix] == [{"start": 0, "end": 9}]
    assert [finding.kind for finding in audit(folder, task="triples").findings] == ["reference", "unreadable"]


def test_a_folder_of_brat_is_loaded_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Delft", encoding="utf-8")
    (tmp_path / "a.ann").write_text("T1\tTOP 0 5\tDelft\n", encoding="utf-8")
    assert load(tmp_path).extraction.all[0].entities[0]["text"] == "Delft"
    assert audit(tmp_path).clean


def test_the_starts_of_answers_are_told(tmp_path: Path) -> None:
    qas = [
        {"id": "1", "question": "When?", "answers": [{"text": "1800", "answer_start": 2}]},
        {"id": "1", "question": "When did it close?", "answers": [{"text": "1901", "answer_start": 30}]},
        {"question": "No id?", "answers": []},
        {"id": "3", "question": "Since when?", "answers": [{"text": {}}]},
    ]
    paragraphs = [{"context": "In 1800 it opened. It closed in 1900.", "qas": qas}, {"qas": []}]
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}, {}]}), encoding="utf-8")
    report = audit(file, task="answering")
    assert sorted(finding.kind for finding in report.findings) == [
        "id",
        "offset",
        "offset",
        "schema",
        "schema",
        "schema",
        "schema",
    ]
    assert [finding.fix for finding in report.findings if finding.kind == "offset"] == [{"start": 3, "end": 7}, None]


def test_the_starts_of_canonical_answers_are_mended(tmp_path: Path) -> None:
    record = {"id": "a", "question": "?", "answers": ["b", "c"], "context": "abc", "answer_starts": [0]}
    file = tmp_path / "answering.jsonl"
    file.write_text(json.dumps(record), encoding="utf-8")
    report = audit(file)
    assert [(finding.kind, finding.field) for finding in report.findings] == [
        ("offset", "answers[0]"),
        ("schema", "answer_starts"),
    ]
    assert repaired(file, tmp_path / "new.jsonl", report.findings) == 1
    assert read(tmp_path / "new.jsonl", task="answering")[0]["answer_starts"] == [1]


def test_a_collection_with_an_id_twice(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "Delft has kilns", "label": "M"}, {"id": "b", "text": "Bremen", "label": "A"}]
    for name, lines in (("classification", rows), ("passages", [*rows, rows[0]])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    findings = audit(tmp_path).findings
    assert [(finding.kind, finding.file, finding.record) for finding in findings] == [
        ("unreadable", "passages.jsonl", "a")
    ]


def test_a_file_that_the_card_tells_of_and_is_not_there(tmp_path: Path) -> None:
    row = {"id": "a", "text": "Delft", "label": "M"}
    (tmp_path / "classification.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "card.yaml").write_text(
        "tasks: {classification: {records: 1}, triples: {records: 3}}", encoding="utf-8"
    )
    assert [(finding.kind, finding.field) for finding in audit(tmp_path).findings] == [("reference", "tasks.triples")]


def test_a_verdict_is_one_of_four_and_a_flag_is_true_or_false(tmp_path: Path) -> None:
    triple = {"subject": "a", "predicate": "b", "object": "c"}
    rows = [
        {"id": "1", "triples": [{**triple, "verdict": "maybe"}]},
        {"id": "2", "triples": [{**triple, "supported": "no"}]},
    ]
    (tmp_path / "triples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [(finding.kind, finding.field) for finding in audit(tmp_path / "triples.jsonl").findings] == [
        ("schema", "triples[0].verdict"),
        ("schema", "triples[0].supported"),
    ]


@pytest.mark.parametrize("task", TASKS)
def test_one_task_of_a_clean_set_is_clean(root: Path, task: str) -> None:
    report = audit(root / "gold" / ("records" if task == "records" else "heritage"), task=task)
    assert report.clean, report.findings
    assert list(report.records) == [task]


def test_one_task_of_a_set_has_its_own_findings_alone(tmp_path: Path) -> None:
    row = {"id": "a", "text": "Delft", "label": "M", "language": "Dutch"}
    (tmp_path / "classification.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "triples.jsonl").write_text(json.dumps({"id": "a", "text": " ", "triples": []}), encoding="utf-8")
    card = "tasks: {classification: {records: 2}, triples: {triples: 3}}"
    (tmp_path / "card.yaml").write_text(card, encoding="utf-8")
    assert [finding.kind for finding in audit(tmp_path, task="classification").findings] == ["count"]
    assert sorted(finding.kind for finding in audit(tmp_path, task="triples").findings) == ["count", "text"]
    with pytest.raises(DataError, match="no gold in this folder"):
        audit(tmp_path, task="linking")


def test_what_every_record_lacks_is_one_finding_with_their_number(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("id,text\n" + "".join(f"r{number},text {number}\n" for number in range(60)), encoding="utf-8")
    (finding,) = audit(file, task="classification").findings
    assert (finding.records, finding.kind, finding.line) == (60, "schema", 2)
    assert "in 60 records" in finding.message


def test_a_finding_quotes_no_megabytes(tmp_path: Path) -> None:
    label = "x" * 3_000_000
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps({"id": "a", "text": "b", "label": label, "secondary_labels": [label]}), encoding="utf-8")
    (finding,) = audit(file, task="classification").findings
    assert len(finding.message) < 3000
    assert finding.message.endswith("is both label and secondary label")
    error = DataError(f"expected a number, found {label}; use digits", record=label)
    assert max(map(len, (str(error), error.what, str(error.at(file="x"))))) < 3000
    assert str(error).endswith("; use digits")


def test_an_audit_asks_the_file_system_as_often_for_many_records_as_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    stat = os.stat

    def counted(*arguments: Any, **options: Any) -> os.stat_result:
        nonlocal asked
        asked += 1
        return stat(*arguments, **options)

    monkeypatch.setattr("os.stat", counted)
    counts = []
    for size in (2, 200):
        rows = ({"id": f"r{number}", "text": f"text {number}", "label": "M"} for number in range(size))
        file = tmp_path / f"{size}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        before = asked
        audit(file, task="classification")
        counts.append(asked - before)
    assert max(counts) < 100

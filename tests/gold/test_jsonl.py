"""Canonical records: what a line may be, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError
from goldassay.gold import read, write
from goldassay.gold.audit import audit
from goldassay.gold.shapes import SHAPES, Side

SAMPLES: dict[tuple[Side, str], dict[str, Any]] = {
    ("gold", "extraction"): {
        "id": "a",
        "text": "In Delft",
        "entities": [{"start": 3, "end": 8, "type": "TOP", "fragments": [[3, 4], [5, 8]], "confidence": 1}],
        "tokens": [[0, 2]],
        "strata": {"tier": 1, "share": 0.5, "country": None, "open": True},
        "meta": {"a": [1, {"b": 2.5}], "big": 10**30},
    },
    ("gold", "classification"): {"id": "a", "label": "M", "secondary_labels": ["L"], "rationale": None},
    ("gold", "linking"): {"id": "a", "text": "Delft", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q690"]}}]},
    ("gold", "retrieval"): {"id": "a", "query": "x", "relevant": {"d": 2, "e": 0.5}},
    ("gold", "answering"): {"id": "a", "question": "x", "answers": [], "answer_starts": [0]},
    ("gold", "triples"): {"id": "a", "triples": [{"subject": {"id": 1}, "predicate": "p", "object": 1.0}]},
    ("pred", "extraction"): {"id": "a", "entities": [{"start": None, "end": None, "type": "TOP", "text": "x"}]},
    ("pred", "classification"): {"id": "a", "label": None, "confidence": 0, "latency_ms": 3},
    ("pred", "linking"): {"id": "a", "links": [{"start": 0, "end": 5, "candidates": [{"id": "Q1", "score": 1}]}]},
    ("pred", "retrieval"): {"id": "a", "results": [{"doc_id": "d", "score": -0.0}]},
    ("pred", "answering"): {"id": "a", "answer": "", "citations": ["a", {"b": None}]},
    ("pred", "triples"): {"id": "a", "triples": [{"subject": "s", "predicate": "p", "object": True}]},
}


ROW = b'{"id": "a", "label": "M", "meta": {"k": [{"n": 1}, {"n": 2}]}}'


def of_line(line: str | bytes, task: str, side: Side = "gold") -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.jsonl")
        file.write_bytes(line if isinstance(line, bytes) else line.encode())
        return read(file, task=task, side=side)


@pytest.mark.parametrize(("side", "task"), list(SAMPLES))
def test_a_good_record_is_read_as_it_is_written(side: Side, task: str) -> None:
    """Offsets become tuples, grades and scores floats."""
    sample = SAMPLES[side, task]
    [record] = of_line(json.dumps(sample), task, side)
    assert json.loads(json.dumps(record)) == sample


@pytest.mark.parametrize("task", ["extraction", "classification", "linking", "retrieval", "answering", "triples"])
def test_any_id_and_a_document_in_every_task(task: str) -> None:
    for side in ("gold", "pred"):
        sample = SAMPLES[side, task]  # type: ignore[index]
        for name in (0, 7, 1.5, "0", "a b"):
            [record] = of_line(json.dumps({**sample, "id": name, "document": name}), task, side)  # type: ignore[arg-type]
            assert (record["id"], record["document"]) == (str(name), str(name))
        assert of_line(json.dumps({**sample, "document": None}), task, side)[0]["document"] is None  # type: ignore[arg-type]
        with pytest.raises(DataError, match="document: input should be a valid string"):
            of_line(json.dumps({**sample, "document": ["a"]}), task, side)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "block",
    [
        ROW + ROW,
        ROW + b" " + ROW + b"\n",
        ROW.replace(b', "label"', b',\n"label"'),
        ROW.replace(b"[{", b"[\n{") + b"\n",
        ROW.replace(b"}, {", b"},\n{"),
        ROW + b"," + ROW,
        b"[" + ROW + b"]",
        ROW + b"\x00",
    ],
)
def test_a_record_is_a_line(block: bytes) -> None:
    with pytest.raises(DataError, match=r"x\.jsonl:1: (not JSON|input should be)"):
        of_line(block, "classification")


def test_empty_lines_and_both_line_ends_are_passed_over() -> None:
    other = ROW.replace(b'"a"', b'"b"')
    assert [row["id"] for row in of_line(b"\n" + ROW + b"\r\n\n \t\n" + other + b"\n\r\n", "classification")] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "a", "id": "b", "label": "M"}',
        b'{"id": "a", "label": "M", "meta": {"k": [[{"n": 1, "n": 2}]]}}',
        b'{"id": "a", "label": "M", "strata": {"tier" : 1, "tier"\t: 2}}',
        b'{"id": "a", "label": "M", "other": 1}',
        b'{"id": "a", "label": "M", "meta": {"n": 1' + b"0" * 5000 + b"}}",
    ],
)
def test_what_could_be_lost_is_refused(line: bytes) -> None:
    """A key that stands twice, a field of another name, a number without end."""
    with pytest.raises(DataError):
        of_line(line, "classification")


def test_a_repeated_key_names_file_record_and_key(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    for inner in ('"label": "M", "label": "L"', '"label": "M", "meta": {"label": 1, "label": 2}'):
        file.write_text(f'{{"id": "a", "label": "A"}}\n{{"id": 0, {inner}}}\n')
        with pytest.raises(DataError, match=r"gold.jsonl:2: 'label' is repeated in one object; keep one"):
            read(file, task="classification")
        findings = audit(file, task="classification").findings
        assert [(f.kind, f.file, f.line) for f in findings] == [("unreadable", "gold.jsonl", 2)]


def test_a_repeated_key_of_a_card_is_refused(tmp_path: Path) -> None:
    (tmp_path / "classification.jsonl").write_text('{"id": "a", "label": "A"}\n')
    (tmp_path / "card.yaml").write_text("name: x\ntasks:\n  classification: {records: 1, records: 2}\n")
    with pytest.raises(DataError, match=r"card.yaml:3: 'records' is repeated in one mapping; keep one"):
        audit(tmp_path)


def test_nan_of_a_log_is_null(tmp_path: Path) -> None:
    record = {"id": "a", "label": "A", "meta": {"score": float("nan"), "name": "é"}}
    write(tmp_path / "gold.jsonl", [record], task="classification", format="jsonl")
    assert json.loads((tmp_path / "gold.jsonl").read_text("utf-8"))["meta"] == {"score": None, "name": "é"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@drawn(60)
@given(st.sampled_from(list(SAMPLES)), st.data())
def test_a_key_that_stands_twice_is_never_taken(case: tuple[Side, str], data: st.DataObject) -> None:
    side, task = case
    record = {**SAMPLES[case], "meta": {"k": data.draw(values), "::": ":"}}
    line = json.dumps(record, ensure_ascii=data.draw(st.booleans()))
    assert "meta" in SHAPES[side][task].__annotations__
    string = re.compile(r'"(?:[^"\\]|\\.)*"')
    keys = [match for match in string.finditer(line) if line[match.end() : match.end() + 1] == ":"]
    key = data.draw(st.sampled_from(keys))
    twice = (
        line[: key.start()] + key[0] + data.draw(st.sampled_from([":", " :", "\t: "])) + "null, " + line[key.start() :]
    )
    with pytest.raises(DataError):
        of_line(twice.encode("utf-8", "surrogatepass"), task, side)

"""The table of labels: what it finds is what rapidfuzz's own search finds, and what is wrong in a file is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz, process

from goldassay.exceptions import DataError
from goldassay.wikidata import programs as module
from goldassay.wikidata.programs import LabelTable, fold

names = st.text("abcé ", min_size=1, max_size=9).map(fold).filter(bool)


@settings(max_examples=150, deadline=None)
@given(
    known=st.lists(names, min_size=1, max_size=40, unique=True), asked=st.lists(names, max_size=5), k=st.integers(1, 6)
)
def test_the_best_are_those_of_process_extract(known: list[str], asked: list[str], k: int) -> None:
    table = LabelTable.of({str(n): [name] for n, name in enumerate(known)})
    found = [[(match.name, match.score, int(match.id)) for match in row] for row in table.best(asked, k)]
    assert found == [process.extract(one, known, scorer=fuzz.ratio, limit=k) for one in asked]


def test_blocks_of_a_large_table_and_long_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 7)
    known = [fold(f"museum {n} {'x' * (n % 7)}") for n in range(500)] + ["y" * 400, "y" * 399 + "z"]
    asked = ["museum 12", "musem 399 xx", "y" * 400, "zzz", "museum 1"] * 30
    table = LabelTable.of({str(n): [name] for n, name in enumerate(known)})
    for k in (1, 3, 10, 600):
        found = [[(match.score, int(match.id)) for match in row] for row in table.best(asked, k)]
        want = [[(s, i) for _, s, i in process.extract(one, known, scorer=fuzz.ratio, limit=k)] for one in asked]
        assert found == want


def test_an_entry_counts_with_its_nearest_name_and_once() -> None:
    table = LabelTable.of({"Q1": ["Louvre", "Musée du Louvre", "Musee du Louvre"], "Q2": ["Musée d'Orsay"]})
    (found,) = table.best(["musée du louvre"], 2)
    assert [(match.id, match.name) for match in found] == [("Q1", "musée du louvre"), ("Q2", "musée d'orsay")]
    assert table.exact("LOUVRE ") == ["Q1"]
    assert table.exact("nothing") == []
    assert ("Q2" in table, table["Q2"].label, len(table), table.longest) == (True, "Musée d'Orsay", 2, 3)


def test_an_empty_table_finds_nothing() -> None:
    assert LabelTable(()).best(["x"], 3) == [[]]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"id": "Q1", "label": "x"}\n{"id"', r"labels\.jsonl:2: not JSON"),
        ('{"id": "Q1"}', r"labels\.jsonl: line 1\.label: Field required"),
        ('{"id": "Q1", "label": "x", "aliases": "y"}', "Input should be a valid tuple, got 'y'"),
        (
            '{"id": "Q1", "label": "x"}\n\n{"id": "Q1", "label": "y"}',
            r":3: record Q1: this id appears twice",
        ),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        LabelTable.load(file)
    file.write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8 at byte 0"):
        LabelTable.load(file)
    with pytest.raises(DataError, match="no such file"):
        LabelTable.load(tmp_path / "absent.jsonl")


def test_the_table_of_the_gold_set(root: Path) -> None:
    table = LabelTable.load(root / "gold" / "heritage" / "labels.jsonl")
    assert len(table) == 289
    assert table.best(["Britsh Library"])[0][0].id in table.exact("British Library")

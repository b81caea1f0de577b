"""Tables of labels find what rapidfuzz's own search finds; passages, their tokens and their indexes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz, process
from tests.nightly import drawn

from goldassay import workspace
from goldassay._support.exceptions import DataError, FieldError, ModelError
from goldassay.workspace import search
from goldassay.workspace.search import BM25Index, DenseIndex, LabelTable, Passage, fold, passages, tokens

retrieval = workspace.load(workspace.installed() / "programs" / "retrieval.py")
labels = st.text("abcé ", min_size=1, max_size=9).map(fold).filter(bool)


@drawn(150)
@given(
    names=st.lists(labels, min_size=1, max_size=40, unique=True),
    mentions=st.lists(labels, max_size=5),
    k=st.integers(1, 6),
)
def test_the_best_are_those_of_process_extract(names: list[str], mentions: list[str], k: int) -> None:
    table = LabelTable.of({str(n): [name] for n, name in enumerate(names)})
    best = [[(match.name, match.score, int(match.id)) for match in row] for row in table.best(mentions, k)]
    assert best == [process.extract(mention, names, scorer=fuzz.ratio, limit=k) for mention in mentions]


def test_blocks_of_a_large_table_and_long_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MENTIONS_AT_ONCE", 7)
    names = [fold(f"museum {n} {'x' * (n % 7)}") for n in range(500)] + ["y" * 400, "y" * 399 + "z"]
    mentions = ["museum 12", "musem 399 xx", "y" * 400, "zzz", "museum 1"] * 30
    table = LabelTable.of({str(n): [name] for n, name in enumerate(names)})
    for k in (1, 3, 10, 600):
        best = [[(match.score, int(match.id)) for match in row] for row in table.best(mentions, k)]
        extracted = [process.extract(mention, names, scorer=fuzz.ratio, limit=k) for mention in mentions]
        assert best == [[(score, index) for _, score, index in row] for row in extracted]


def test_an_entry_counts_with_its_nearest_name_and_once() -> None:
    table = LabelTable.of({"Q1": ["Louvre", "Musée du Louvre", "Musee du Louvre"], "Q2": ["Musée d'Orsay"]})
    (matches,) = table.best(["musée du louvre"], 2)
    assert [(match.id, match.name) for match in matches] == [("Q1", "musée du louvre"), ("Q2", "musée d'orsay")]
    assert table.exact("LOUVRE ") == ["Q1"]
    assert table.exact("nothing") == []
    assert ("Q2" in table, table["Q2"].label, len(table), table.longest) == (True, "Musée d'Orsay", 2, 3)


def test_an_empty_table_finds_nothing() -> None:
    assert LabelTable(()).best(["x"], 3) == [[]]


@pytest.mark.parametrize(
    ("content", "message"),
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
def test_a_faulty_table_is_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße", ("strasse",)),
        ("ФИЛИАЛ Эрмитажа", ("филиал", "эрмитажа")),
        ("हिन्दी पुस्तकालय", ("हिन्दी", "पुस्तकालय")),
        ("東京国立博物館2024", ("東京", "京国", "国立", "立博", "博物", "物館", "2024")),
        ("Cafe\u0301", ("café",)),
        ("字", ("字",)),
        (" —!? ", ()),
    ],
)
def test_tokens_in_any_script(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected


def test_passages_from_records_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "passages.jsonl"
    file.write_text(json.dumps({"id": "a", "text": "één", "language": "nl"}) + "\n", encoding="utf-8")
    assert passages(file) == [Passage("a", "één")]
    assert passages([{"doc_id": 7, "text": "x"}, Passage("b", "y")]) == [Passage("7", "x"), Passage("b", "y")]


def test_faulty_passages_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="record a: two passages have this id"):
        passages([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    with pytest.raises(FieldError, match="text"):
        passages([{"id": "a"}])
    file = tmp_path / "passages.jsonl"
    file.write_text('{"id": "a", "text": "x"}\n{"id"\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"passages\.jsonl:2: not JSON"):
        passages(file)


def test_bm25_ranks_rarer_words_higher_and_knows_when_nothing_fits() -> None:
    index = BM25Index(
        [{"id": "a", "text": "museum museum"}, {"id": "b", "text": "museum archive"}, {"id": "c", "text": "zoo"}]
    )
    assert [name for name, _ in index.search("archive museum")] == ["b", "a"]
    assert index.search("archive museum", 1)[0][0] == "b"
    assert index.search("cathedral") == []
    assert index.search("") == []
    assert BM25Index([]).search("x") == []
    assert BM25Index([{"id": "a", "text": "?!"}]).search("x") == []


def test_equal_scores_are_ordered_as_they_are_measured() -> None:
    index = BM25Index([{"id": name, "text": "museum"} for name in "acb"])
    assert [name for name, _ in index.search("museum")] == ["c", "b", "a"]


def test_vectors_without_a_model() -> None:
    texts = {"a": "stadsarchief", "b": "museum", "c": "dierentuin"}
    lsa = retrieval.CharacterLSA(list(texts.values()))
    index = DenseIndex([{"id": name, "text": text} for name, text in texts.items()], lsa)
    assert index.search("archief")[0][0] == "a"
    assert index.search(" ") == []
    assert DenseIndex([], lsa).search("x") == []
    assert retrieval.CharacterLSA(["one"])(["one", "two"]).shape[0] == 2


def test_an_embedder_must_give_a_row_a_text() -> None:
    with pytest.raises(ModelError, match=r"an array of shape \(1, 1\) for 2 texts"):
        DenseIndex([{"id": "a", "text": "x"}, {"id": "b", "text": "y"}], lambda texts: [[1.0]])

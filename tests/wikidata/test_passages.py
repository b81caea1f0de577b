"""Passages, their tokens and their indexes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldassay import workspace
from goldassay.exceptions import DataError, FieldError, ModelError
from goldassay.wikidata.programs import BM25Index, DenseIndex, Passage, passages, tokens

retrieval = workspace.load(workspace.installed() / "programs" / "retrieval.py")


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


def test_what_is_wrong_with_passages_is_one_line(tmp_path: Path) -> None:
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


def test_equal_scores_stand_in_the_order_in_which_they_are_measured() -> None:
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


def test_fusion_adds_reciprocal_ranks() -> None:
    found = retrieval.fused({"x": [("a", 1.0), ("b", 0.5)], "y": [("b", 9.0), ("c", 8.0)]}, k=2)
    # b: 1/62 + 1/61; a: 1/61; c: 1/62
    assert [(name, source) for name, _, source in found] == [("b", "x+y"), ("a", "x")]
    assert found[0][1] == pytest.approx(1 / 62 + 1 / 61)

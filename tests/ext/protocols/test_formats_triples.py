"""Text2KGBench: ground truth and outputs, with the real ones' oddities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError
from goldassay.ext.protocols.formats import triples
from goldassay.gold import pairs, read


def write(file: Path, *rows: object) -> Path:
    file.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return file


def test_both_sides(tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", {"id": "a", "sent": "x", "triples": [{"sub": "s", "rel": "r", "obj": "o"}]})
    pred = write(tmp_path / "p.jsonl", {"id": "a", "response": "r(s,p)", "triples": [["s", "r", "p"]]})
    both = pairs("triples", gold, pred)
    assert both.gold == [{"id": "a", "text": "x", "triples": [{"subject": "s", "predicate": "r", "object": "o"}]}]
    assert both.pred == [{"id": "a", "triples": [{"subject": "s", "predicate": "r", "object": "p"}]}]


def test_the_last_of_repeated_outputs_counts(tmp_path: Path, real_data: Path) -> None:
    """So it is in Alpaca's book outputs, which hold each of the 550 ids twice."""
    gold = write(tmp_path / "g.jsonl", {"id": "a", "sent": "x", "triples": []}, {"id": "b", "sent": "y", "triples": []})
    outputs = [{"id": "a", "triples": [["s", "r", "first"]]}, {"id": "b", "triples": []}]
    outputs += [{"id": "a", "triples": [["s", "r", "last"]]}, {"id": "b", "triples": [["t", "r", "o"]]}]
    both = pairs("triples", gold, write(tmp_path / "p.jsonl", *outputs))
    assert both.warnings == ["2 outputs repeat an id; the last line of each counts"]
    assert [[triple["object"] for triple in record["triples"]] for record in both.pred] == [["last"], ["o"]]
    folder, system = real_data / "text2kgbench", "baselines__Alpaca-LoRA-13B__"
    if folder.is_dir():
        pred = folder / f"{system}llm_responses__ont_4_book_lora-13b_responses_v2.jsonl"
        both = pairs("triples", folder / "ground_truth__ont_4_book_ground_truth.jsonl", pred)
        assert both.warnings == ["550 outputs repeat an id; the last line of each counts"]
        official = folder / f"{system}eval_metrics__ont_4_book_llm_stats.jsonl"
        rows = {row["id"]: row for row in map(json.loads, official.read_text(encoding="utf-8").splitlines())}
        for record in both.pred:
            triples = [[t["subject"], t["predicate"], t["object"]] for t in record["triples"]]
            assert triples == rows[record["id"]]["llm_triples"]


def test_outputs_of_other_sentences_are_left_out_as_in_the_benchmarks_script(tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", {"id": "a", "sent": "x", "triples": []})
    pred = write(tmp_path / "p.jsonl", {"id": "b", "triples": []}, {"id": "a", "triples": [["s", "r", "o"]]})
    both = pairs("triples", gold, pred, format="text2kgbench")
    assert [len(record["triples"]) for record in both.pred] == [1]
    assert "1 of 2 outputs of" in both.warnings[0]


RESPONSES = [
    ("author(Inkspell, Cornelia Funke)", [["Inkspell", "author", " Cornelia Funke"]]),
    ("located\\_in(House, Rome)\nyear(House,1931)", [["House", "located_in", " Rome"], ["House", "year", "1931"]]),
    ("country of origin(Film,Italy)", [["Film", "origin", "Italy"]]),  # one word stands before the bracket
    ("genre(Inkspell,) and (a,b)", []),
    ("title(Emma (novel),Jane Austen)", [["Emma (novel)", "title", "Jane Austen"]]),
    ("publisher(A\nB,C, D)", [["A\nB", "publisher", "C, D"]]),
    ("I cannot say.", []),
]


def test_responses_are_parsed_as_the_benchmark_parsed_them(real_data: Path) -> None:
    rows: list[dict[str, Any]] = [{"response": response, "triples": triples} for response, triples in RESPONSES]
    for file in sorted((real_data / "text2kgbench").glob("*llm_responses__ont_*")):
        rows += map(json.loads, file.read_text(encoding="utf-8").splitlines())
    for row in rows:
        parsed = triples.parse(row["response"])
        assert [[t["subject"], t["predicate"], t["object"]] for t in parsed] == row["triples"]


@pytest.mark.parametrize(
    ("row", "side", "expected"),
    [
        ('{"id": "a", "sent": "x', "gold", "g.jsonl:1: not JSON: Unterminated string starting at (column 21)"),
        ({"sent": "x"}, "gold", "g.jsonl:1: not as in the format text2kgbench: no 'id'"),
        ({"id": "a", "triples": []}, "gold", "g.jsonl:1: record a: not as in the format text2kgbench: no 'sent'"),
        ({"id": "a"}, "pred", "g.jsonl:1: record a: not as in the format text2kgbench: no 'response'"),
        (
            {"id": "a", "triples": [["s", "r"]]},
            "pred",
            "g.jsonl:1: record a, triples[0]: a triple is a subject, a relation",
        ),
        ({"id": "a", "sent": "x", "triples": "s"}, "gold", "g.jsonl:1: record a, triples[0]: a triple is a subject"),
        ({"id": "a", "sent": "x", "triples": 3}, "pred", "g.jsonl:1: record a: not as in the format"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, row: object, side: str, expected: str) -> None:
    file = write(tmp_path / "g.jsonl", row)
    with pytest.raises(DataError) as caught:
        read(file, format="text2kgbench", task="triples", side="gold" if side == "gold" else "pred")
    assert str(caught.value).replace(str(tmp_path) + "/", "").startswith(expected)


def test_repeated_gold_is_an_error(tmp_path: Path) -> None:
    row = {"id": "a", "sent": "x", "triples": []}
    with pytest.raises(DataError, match=r"g.jsonl:2: record a: duplicate document id"):
        read(write(tmp_path / "g.jsonl", row, row), format="text2kgbench", task="triples")


TRAINING = {
    "id": "own_train_1", "sub_label": "Café Müller", "rel_label": "country of origin", "obj_label": "Italy",
    "sent": "Caf\u00e9 M\u00fcller was made in Italy.", "sub": "Q900001", "rel": "P495", "obj": "Q38",
}  # fmt: skip


def test_training_sentences_have_ids(real_data: Path, tmp_path: Path) -> None:
    own = write(tmp_path / "own.jsonl", TRAINING, {**TRAINING, "id": "own_train_2", "sent": "Two."})
    for source in [
        own,
        *sorted((real_data / "text2kgbench").glob("*__ont_*_train.jsonl"))[:2],
        *sorted((real_data / "text2kgbench").glob("*__ont_*_validation.jsonl"))[:2],
    ]:
        sentences = read(source, task="triples", format="text2kgbench")
        assert len(sentences) == source.read_bytes().count(b"\n")
        assert all(record["triples"][0]["subject_id"].startswith("Q") for record in sentences)

"""SQuAD 2.0's probabilities of no answer, from a file of their own, and the best threshold of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import goldassay
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli.settings import settings
from goldassay.measures.answering import scorecard


def saved(file: Path, content: Any) -> Path:
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("GOLDASSAY_EMBEDDER", "none")
    questions = [
        {"id": "a", "question": "When?", "answers": [{"text": "1784", "answer_start": 10}]},
        {"id": "b", "question": "Who?", "answers": [], "is_impossible": True},
    ]
    text = {"title": "T", "paragraphs": [{"context": "Opened in 1784.", "qas": questions}]}
    return saved(tmp_path / "g.json", {"data": [text]}), saved(tmp_path / "p.json", {"a": "1784", "b": "Teyler"})


def test_the_probabilities_come_from_a_file(both: tuple[Path, Path], tmp_path: Path) -> None:
    card = goldassay.score(
        "answering", *both, na_probs=saved(tmp_path / "na.json", {"a": 0.125, "b": 0.75}), intervals=False
    )
    assert card.values["exact_match"] == 0.5
    assert card.values["brier"] == pytest.approx((0.125**2 + 0.25**2) / 2)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({}, "na.json: record a: a probability of no answer lies between 0 and 1, not None"),
        ({"a": 0.5}, "na.json: record b: a probability of no answer lies between 0 and 1, not None"),
        ({"a": True, "b": 0}, "record a: a probability of no answer lies between 0 and 1, not True"),
        ({"a": 1.5, "b": 0}, "record a: a probability of no answer lies between 0 and 1, not 1.5"),
    ],
)
def test_what_is_wrong_with_them_is_one_line(
    both: tuple[Path, Path], tmp_path: Path, content: Any, complaint: str
) -> None:
    with pytest.raises(DataError) as caught:
        goldassay.score("answering", *both, na_probs=saved(tmp_path / "na.json", content))
    assert complaint in str(caught.value)


def test_the_best_threshold_is_that_of_the_script(tmp_path: Path) -> None:
    golds = {"a": "1800", "b": "red car", "c": "", "d": "", "e": "May", "f": ""}
    probabilities = {"a": 0.1, "b": 0.15, "c": 0.2, "d": 0.9, "e": 0.5}
    predictions = {"a": "1800", "b": "red", "c": "x", "d": "", "e": "June"}
    questions = [
        {"id": name, "question": "?", "answers": [{"text": gold, "answer_start": 0}] if gold else []}
        for name, gold in golds.items()
    ]
    data = {"data": [{"title": "T", "paragraphs": [{"context": "1800", "qas": questions}]}]}
    files = saved(tmp_path / "g.json", data), saved(tmp_path / "p.json", predictions)
    options: dict[str, Any] = {"protocol": "squad2", "intervals": False}
    card = goldassay.score("answering", *files, na_probs=saved(tmp_path / "na.json", probabilities), **options)
    # a and d are right; f, which has no prediction, is left out; F1 of b is 2/3
    assert card["exact"] == pytest.approx(2 / 5)
    assert card["f1"] == pytest.approx((2 + 2 / 3) / 5)
    # c, d and f have no answer: 3 if nothing is answered, 4 with a, 4 or 4 2/3 with a and b, one fewer with c
    assert card["best_exact"] == pytest.approx(4 / 5)
    assert card["best_f1"] == pytest.approx((4 + 2 / 3) / 5)
    assert "chosen on the same questions: an upper bound" in card.conventions["best_f1"]
    assert card.by["answerable"]["unanswerable"] == {"exact": 1 / 2, "f1": 1 / 2, "support": 3}
    assert "best_exact" not in goldassay.score("answering", *files, **options).values  # no probability is known


def test_they_are_for_squad_alone(both: tuple[Path, Path], tmp_path: Path) -> None:
    other = saved(tmp_path / "p.jsonl", {"id": "a", "answer": "1784"})
    with pytest.raises(GoldassayError, match="na_probs is for files of the format squad"):
        goldassay.score("answering", both[0], other, na_probs=saved(tmp_path / "na.json", {}))
    with pytest.raises(GoldassayError, match="--option na_probs is for answering"):
        settings(["na_probs=na.json"], "retrieval")


def test_a_program_that_failed_has_no_threshold_unless_another_has_one() -> None:
    gold = [{"id": "a", "question": "?", "answers": ["1800"]}, {"id": "b", "question": "?", "answers": []}]
    failure = {"id": "a", "answer": "", "goldassay_failure": "timeout"}
    unplaced = {"id": "b", "answer": "x"}
    assert "best_exact" not in scorecard(gold, [failure, unplaced], protocol="squad2").values
    placed = scorecard(gold, [failure, {**unplaced, "confidence": 0.5}], protocol="squad2")
    assert placed["best_exact"] == 0.5  # b is right if nothing is answered; a, which failed, is wrong

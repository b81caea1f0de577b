"""SQuAD 2.0's probabilities of no answer, from a file of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import goldassay
from goldassay.cli.settings import settings
from goldassay.exceptions import DataError, GoldassayError


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


def test_they_are_for_squad_alone(both: tuple[Path, Path], tmp_path: Path) -> None:
    other = saved(tmp_path / "p.jsonl", {"id": "a", "answer": "1784"})
    with pytest.raises(GoldassayError, match="na_probs is for files of the format squad"):
        goldassay.score("answering", both[0], other, na_probs=saved(tmp_path / "na.json", {}))
    with pytest.raises(GoldassayError, match="--option na_probs is for answering"):
        settings(["na_probs=na.json"], "retrieval")

"""SQuAD 2.0's best thresholds, against a plain walk over the sorted probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldassay.cli.score import scored
from goldassay.cli.settings import settings
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measures.answering import scorecard
from goldassay.measures.answering.ranking import Best, Threshold


def best_threshold(scores: list[float], unsure: list[float], answerable: list[bool]) -> tuple[float, float]:
    rows = [(1.0, score, float(not there)) for score, there in zip(scores, answerable, strict=True)]
    return float(Best.of(unsure, rows).value), float(Threshold.of(unsure, rows).value)


ROW = st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans(), st.booleans())


@given(st.lists(ROW, min_size=1, max_size=12), st.permutations(range(12)))
def test_a_walk_over_the_sorted_probabilities(rows: list[tuple[float, bool, bool]], order: list[int]) -> None:
    """Start with nothing answered; let one answer after the other count, the surest first."""
    unsure = [(1 + place) / 20 for place in order[: len(rows)]]
    scores = [score if answerable else float(empty) for score, answerable, empty in rows]
    now = best = float(sum(not answerable for _, answerable, _ in rows))
    threshold = 0.0
    for place in sorted(range(len(rows)), key=unsure.__getitem__):
        now += scores[place] - (not rows[place][1])
        if now > best:
            best, threshold = now, unsure[place]
    found = best_threshold(scores, unsure, [answerable for _, answerable, _ in rows])
    assert found == pytest.approx((best / len(rows), threshold))


def test_questions_of_one_probability_stand_or_fall_together() -> None:
    # apart: 1 right, then 1 wrong; no threshold parts them: (1 + 0) / 2 as good as nothing, (0 + 1) / 2
    assert best_threshold([1.0, 0.0], [0.3, 0.3], [True, False]) == (0.5, 0.0)


def test_the_scorecard_has_them_where_questions_have_no_answer() -> None:
    gold: list[Any] = [{"answers": ["1800"]}, {"answers": []}]
    pred = [{"answer": "1800", "confidence": 0.75}, {"answer": "x", "confidence": 0.5}]
    values = scorecard(gold, pred, embedder=None, tokens=None).values
    assert {name: values[name] for name in values if name.startswith("best_")} == {
        "best_exact": 1.0,
        "best_exact_thresh": 0.25,
        "best_f1": 1.0,
        "best_f1_thresh": 0.25,
    }
    for unasked in ((gold[:1], pred[:1]), (gold, [pred[0], {"answer": ""}])):
        assert "best_f1" not in scorecard(*unasked, embedder=None, tokens=None).values


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
    card = scored("answering", *both, na_probs=saved(tmp_path / "na.json", {"a": 0.125, "b": 0.75}), intervals=False)
    assert (card.values["exact_match"], card.values["best_exact"], card.values["best_exact_thresh"]) == (
        0.5,
        1.0,
        0.125,
    )
    assert card.values["brier"] == pytest.approx((0.125**2 + 0.25**2) / 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "na.json: record a: a probability of no answer lies between 0 and 1, not None"),
        ({"a": 0.5}, "na.json: record b: a probability of no answer lies between 0 and 1, not None"),
        ({"a": True, "b": 0}, "record a: a probability of no answer lies between 0 and 1, not True"),
        ({"a": 1.5, "b": 0}, "record a: a probability of no answer lies between 0 and 1, not 1.5"),
    ],
)
def test_what_is_wrong_with_them_is_one_line(both: tuple[Path, Path], tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        scored("answering", *both, na_probs=saved(tmp_path / "na.json", content))
    assert said in str(caught.value)


def test_they_are_for_squad_alone(both: tuple[Path, Path], tmp_path: Path) -> None:
    other = saved(tmp_path / "p.jsonl", {"id": "a", "answer": "1784"})
    with pytest.raises(GoldassayError, match="--option na_probs is for format squad"):
        scored("answering", both[0], other, na_probs=saved(tmp_path / "na.json", {}))
    with pytest.raises(GoldassayError, match="--option na_probs is for answering"):
        settings(["na_probs=na.json"], "retrieval")

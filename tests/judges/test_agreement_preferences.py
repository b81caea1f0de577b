"""Human preferences: the real file's shape and counts, and scripted judges beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.simulations.preferences import compare_preferences, prefer
from tests.simulations.preferences import read_preferences as read

from goldassay._support.exceptions import DataError
from goldassay.judges.judge import Judge
from goldassay.judges.labels import JudgedItem, LabelFile
from goldassay.judges.questions import JUDGE_QUESTIONS


class Scripted(Judge):
    """Prefers by a rule."""

    def __init__(self, rule: Any) -> None:
        super().__init__(object())
        self.rule = rule

    def ask(self, signature: Any, accept: Any = None, /, **inputs: str) -> Any:
        self.calls += 1
        message = self.rule(inputs["first"], inputs["second"])
        return message and {"verdict": message, "reason": ""}


def longer(first: str, second: str) -> str:
    return "first" if len(first) > len(second) else "second" if len(second) > len(first) else "tie"


def preferences(file: Path, pairs: int = 60) -> Path:
    """A file as RAGChecker's: each pair once for each of two annotators, who agree on two of three pairs.

    Both prefer the first of every six, both the second of the next, and both see no difference in the next.
    """
    rows: list[dict[str, Any]] = []
    for number in range(pairs):
        both = [(-1, -2), (1, 1), (0, 0), (-1, 0), (2, -1), (1, 2)][number % 6]
        first, other = "x" * (1 + number % 5), "y" * (1 + number % 3)
        for label in both:
            answers = {"model1": {"response": f"{first} {number}"}, "model2": {"response": f"{other} {number}"}}
            labels = {"overall_label": label, "correctness_label": label, "completeness_label": 0}
            rows.append({"dataset": "own", "query": f"question {number}", **answers, **labels})
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return preferences(tmp_path / "preferences.json")


def test_a_pair_with_two_annotators_is_one_item(file: Path) -> None:
    loaded = read(file)
    assert len(loaded.items) == len({item.id for item in loaded.items}) == 60
    assert loaded.annotators == ["annotator 1", "annotator 2"]
    assert all(len(item.labels) == 2 for item in loaded.items)
    texts = [label for item in loaded.items for label in item.labels.values()]
    # of every twelve labels four are below 0, three are 0 and five are above
    assert {label: texts.count(label) for label in set(texts)} == {"first": 40, "tie": 30, "second": 50}
    assert {label for item in read(file, "completeness", limit=20).items for label in item.labels.values()} == {"tie"}
    assert len(read(file, "completeness", limit=20).items) == 20
    assert read(file, limit=20).items == read(file, limit=20).items


def test_the_real_file_has_280_pairs_with_two_annotators(shared_data: Path) -> None:
    loaded = read(shared_data / "ragchecker" / "human_labeled_data.json")
    assert len({item.id for item in loaded.items}) == len(loaded.items) == 280
    texts = [label for item in loaded.items for label in item.labels.values()]
    # 52 and 153 labels below 0, 170 of 0, 139 and 46 above (counted with a one-liner over the file)
    assert {label: texts.count(label) for label in set(texts)} == {"first": 205, "tie": 170, "second": 185}
    judged = prefer(Scripted(longer), loaded)
    assert (judged.pairs, judged.unknown) == (280, 0)
    assert judged.people is not None
    assert 0.2 < judged.people.value < 0.8


def test_a_judge_that_takes_the_longer_answer_beside_people(file: Path) -> None:
    labels = read(file)
    judge = Scripted(longer)
    result = prefer(judge, labels)
    assert (result.pairs, result.unknown, judge.calls) == (60, 0, 120)
    assert result.consistent is not None
    assert result.consistent.value == 1.0
    agreed = [i.label == longer(i.inputs["first"], i.inputs["second"]) for i in labels.items if i.label is not None]
    assert result.three_way is not None
    assert result.three_way.value == sum(agreed) / len(agreed)
    assert result.three_way.low < result.three_way.value < result.three_way.high
    assert result.people is not None
    assert 0.2 < result.people.value < 0.8
    assert result.no_majority == 60 - len(agreed) == 20  # two of every six pairs


def test_a_judge_that_always_takes_the_first_agrees_with_no_decided_pair(file: Path) -> None:
    result = prefer(Scripted(lambda first, second: "first"), read(file, limit=50))
    assert result.consistent is not None
    assert result.decided is not None
    assert result.first is not None
    assert (result.consistent.value, result.decided.value, result.first.value) == (0.0, 0.0, 1.0)


def test_a_hand_table() -> None:
    """Of five pairs one has no verdict, one no majority: of the other three, two agree; one of two decided does."""
    items = [
        JudgedItem("a", {}, {"x": "first", "y": "first"}),
        JudgedItem("b", {}, {"x": "second", "y": "second"}),
        JudgedItem("c", {}, {"x": "tie", "y": "tie"}),
        JudgedItem("d", {}, {"x": "first", "y": "second"}),
        JudgedItem("e", {}, {"x": "first", "y": "first"}),
    ]
    orders = [("first", "first"), ("first", "second"), ("first", "second"), ("tie", "tie"), (None, "first")]
    result = compare_preferences("j", items, orders)
    assert (result.pairs, result.unknown, result.no_majority) == (5, 1, 1)
    assert result.three_way is not None
    assert result.three_way.value == 2 / 3
    assert result.decided is not None
    assert result.decided.value == 0.5
    assert result.chance == pytest.approx(1 / 3)
    assert result.consistent is not None
    assert result.consistent.value == 0.5  # a and d of a, b, c, d
    # first in the first place: a yes, b yes, c yes; swapped calls: a "second", b "first", c "first"; d are ties
    assert result.first is not None
    assert result.first.value == pytest.approx(5 / 6)


def test_without_any_verdict_nothing_is_claimed() -> None:
    pair = JudgedItem("a", {"question": "q", "first": "1", "second": "2"}, {"x": "first"})
    result = prefer(Scripted(lambda first, second: None), LabelFile([pair], JUDGE_QUESTIONS["preference"]))
    assert (result.unknown, result.three_way, result.consistent, result.chance) == (1, None, None, 0.0)


def test_bad_files(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    row = {"dataset": "d", "query": "q", "model1": {"response": "1"}, "model2": {"response": "2"}, "overall_label": 1}
    for content, message in (
        ([], "not a list of preferences"),
        ([{**row, "model1": {}}], "record 0: a preference needs query"),
        ([row, {**row, "overall_label": 3}], "record 1, overall_label: a label is a whole number from -2 to 2, not 3"),
    ):
        file.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(DataError, match=message):
            read(file)
    with pytest.raises(DataError, match="no aspect 'beauty'"):
        read(file, "beauty")

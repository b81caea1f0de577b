"""The intervals of scorecards: the same that a run of the same examples has, and none where conventions differ."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from tests.perfect import perfect_for

from goldassay.core.measure import TASKS
from goldassay.gold import load
from goldassay.measures import extraction
from goldassay.statistics import interval


def halved(task: str) -> tuple[list[Any], list[Any]]:
    """Test examples of gold/heritage; every second prediction is right, the others belong to the example before."""
    gold = list(getattr(load("records" if task == "records" else "heritage"), task).test)
    if task == "answering":
        gold = [example.copy(id=str(index)) for index, example in enumerate(gold)]
    perfect = perfect_for(task)
    return gold, [perfect(gold[index - index % 2]) for index in range(len(gold))]


@pytest.mark.parametrize("task", TASKS)
def test_the_headline_values_of_every_task_stand_in_their_intervals(task: str) -> None:
    gold, pred = halved(task)
    room = importlib.import_module(f"goldassay.measures.{task}")
    card = room.scorecard(gold, pred)
    headline = {
        "extraction": "strict_f1", "classification": "accuracy", "linking": "mrr", "retrieval": "nDCG@10",
        "answering": "f1", "triples": "f1", "records": "field_f1", "trajectories": "call_f1",
    }[task]  # fmt: skip
    low, high = card.intervals[headline].ends
    assert low < card.values[headline] < high


def test_they_are_those_of_the_measure_by_itself() -> None:
    gold, pred = halved("extraction")
    card = extraction.scorecard(gold, pred)
    tallies = [extraction.SpanF1()(*pair).tally for pair in zip(gold, pred, strict=True)]
    result = interval(tallies, extraction.SpanF1().zero)
    assert card.intervals["strict_f1"] == result


def test_documents_count_whole() -> None:
    # Two documents of 40 sentences each, one all right and one all wrong: they say hardly anything.
    gold = [{"text": "Ada", "entities": [(0, 3, "P")], "document": str(i // 40)} for i in range(80)]
    pred = [{"entities": [(0, 3, "P")] if i < 40 else []} for i in range(80)]
    card = extraction.scorecard(gold, pred)
    assert card.values["strict_recall"] == 0.5
    assert card.intervals["strict_recall"].ends == pytest.approx((0.0, 1.0), abs=0.002)
    assert card.intervals["strict_recall"].method == "effective"
    loose = extraction.scorecard([{**g, "document": None} for g in gold], pred)
    low, high = loose.intervals["strict_recall"].ends
    assert 0.3 < low < 0.5 < high < 0.7

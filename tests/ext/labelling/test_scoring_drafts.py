"""Scores on gold that was chosen: weighed by its design, left out where it tells none, and unchanged without one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from goldassay import score
from goldassay.core.metric import Metric
from goldassay.ext.labelling.drafts import Pool, draft
from goldassay.results.of_metric import fold_metric
from goldassay.results.result import Result

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def world() -> tuple[Records, Records]:
    """Gold and answers with a confidence, which is low where they are wrong."""
    rng = random.Random(3)
    gold, answers = [], []
    for number in range(900):
        truth = rng.choice("MAL")
        right = rng.random() < 0.75
        label = truth if right else "G"
        confidence = rng.choice([0.9, 0.8] if right else [0.3, 0.8])
        gold.append({"id": str(number), "text": f"letter {number}", "label": truth})
        answers.append({"id": str(number), "label": label, "confidence": confidence})
    return gold, answers


def labelled(world: tuple[Records, Records], question: str, n: int, **options: Any) -> Records:
    gold, answers = world
    truth = {record["id"]: record["label"] for record in gold}
    inputs = [{name: record[name] for name in ("id", "text")} for record in gold]
    records = draft(Pool.of("classification", inputs, {"ours": answers}), question, n=n, **options).records
    return [{**record, "label": truth[record["id"]]} for record in records]


def card_of(gold: Records, answers: Records, **options: Any) -> Result:
    card = score("classification", gold, answers, **options)
    assert isinstance(card, Result)
    return card


def test_strata_weigh_what_they_stand_for(world: tuple[Records, Records]) -> None:
    gold, answers = world
    truth = card_of(gold, answers)["accuracy"]
    records = labelled(world, "level", 90, strata="confidence")
    plain = [{name: value for name, value in record.items() if name != "sampling"} for record in records]
    card = card_of(records, answers)
    low, high = card.intervals["accuracy"].ends
    assert truth is not None
    assert low < truth < high
    again = card_of(plain, [answers[int(record["id"])] for record in plain])
    assert high - low < again.intervals["accuracy"].high - again.intervals["accuracy"].low
    assert card.intervals["accuracy"].method == "design, wilson"
    assert card.counts["label"]["all"] == pytest.approx(900)
    support = sum(row["support"] for row in card.by["label"].values())
    assert support == pytest.approx(900, abs=3)  # whole numbers


def test_all_labelled_is_the_value_of_all(world: tuple[Records, Records]) -> None:
    gold, answers = world
    whole = card_of(gold, answers)
    card = card_of(labelled(world, "level", 900, strata="confidence"), answers)
    assert card.values == pytest.approx(whole.values)


@pytest.mark.parametrize("question", ["errors", "tuning"])
def test_other_questions_tell_no_value(question: str, world: tuple[Records, Records]) -> None:
    card = card_of(labelled(world, question, 60), world[1])
    assert {*card.values.values()} == {None}
    assert (card.intervals, card.counts) == ({}, {})
    assert "draft records for the question level" in card.warnings[-1]


def test_errors_tell_the_share_of_each_kind_of_all_inputs(world: tuple[Records, Records]) -> None:
    kinds = card_of(labelled(world, "errors", 120), world[1]).by["kind"]
    truth = sum(g["label"] != a["label"] for g, a in zip(*world, strict=True)) / 900
    assert list(kinds) == ["wrong_label"]
    assert kinds["wrong_label"]["low"] < truth < kinds["wrong_label"]["high"]


def test_a_stratum_without_a_label_is_said_and_not_left_out_of_the_mean(world: tuple[Records, Records]) -> None:
    records = labelled(world, "level", 90, strata="confidence")
    first = [record for record in records if record["sampling"]["stratum"] == records[0]["sampling"]["stratum"]]
    card = card_of(first, world[1])
    assert card["accuracy"] is None
    assert "has no label yet" in card.warnings[-1]


def test_a_metric_of_ones_own_is_weighed_too(world: tuple[Records, Records]) -> None:
    records = labelled(world, "level", 90, strata="confidence")
    metric = Metric.of(lambda gold, pred: gold["label"] == pred["label"])
    card = fold_metric(metric, records, [world[1][int(record["id"])] for record in records])
    assert card["score"] == pytest.approx(card_of(records, world[1])["accuracy"])


def test_without_a_design_nothing_changes(world: tuple[Records, Records]) -> None:
    gold, answers = world
    more = [{**record, "suggestions": {"ours": {"label": "M"}}} for record in gold]
    assert card_of(more, answers).state() == card_of(gold, answers).state()

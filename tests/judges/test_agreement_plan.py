"""Which items to label next."""

from __future__ import annotations

import random

import numpy as np
import pytest

from goldassay._support.exceptions import DataError
from goldassay.judges.agreement import estimate, plan
from goldassay.judges.labels import JudgedItem, LabelFile
from goldassay.judges.questions import Vote, count, question

YES = question("criterion")


def world(seed: int, n: int = 600) -> tuple[list[JudgedItem], list[Vote], list[bool]]:
    """One item in ten is positive, and the judge finds 9 of 10 of them and little else."""
    rng = random.Random(seed)
    truths = [rng.random() < 0.1 for _ in range(n)]
    votes = [count(["yes" if rng.random() < (0.9 if truth else 0.05) else "no"]) for truth in truths]
    return [JudgedItem(str(at)) for at in range(n)], votes, truths


def labelled(items: list[JudgedItem], truths: list[bool], chosen: set[str]) -> LabelFile:
    named = [
        JudgedItem(item.id, labels={"ann": "yes" if truth else "no"}) if item.id in chosen else item
        for item, truth in zip(items, truths, strict=True)
    ]
    return LabelFile(named, YES)


def test_the_planned_labels_give_a_narrower_interval_that_holds() -> None:
    widths: dict[str, list[float]] = {"plan": [], "random": [], "expected": []}
    held = 0
    for seed in range(16):
        items, votes, truths = world(seed)
        pilot = set(random.Random(seed).sample([item.id for item in items], 30))
        chosen = plan(labelled(items, truths, pilot), votes, 60, seed=seed)
        assert not pilot & set(chosen.items)
        assert sum(chosen.verdicts.values()) == len(set(chosen.items)) == 60
        rate = estimate(labelled(items, truths, pilot | set(chosen.items)), votes, origin="verdict").corrected
        more = set(random.Random(seed + 99).sample(sorted({item.id for item in items} - pilot), 60))
        other = estimate(labelled(items, truths, pilot | more), votes, origin="random").corrected
        assert rate is not None
        assert rate.chosen is not None
        assert other is not None
        widths["plan"].append(rate.chosen.high - rate.chosen.low)
        widths["random"].append(other.corrected.high - other.corrected.low)
        widths["expected"].append(chosen.width)
        held += rate.chosen.low <= 0.1 <= rate.chosen.high
    assert held >= 14
    assert np.mean(widths["plan"]) < 0.93 * np.mean(widths["random"])
    assert np.mean(widths["plan"]) == pytest.approx(np.mean(widths["expected"]), rel=0.35)


def test_a_plan_takes_what_there_is() -> None:
    items, votes, truths = world(1, 40)
    everything = plan(LabelFile(items, YES), votes, 100)
    assert sorted(map(int, everything.items)) == list(range(40))
    assert plan(LabelFile(items, YES), votes, 10, seed=3) == plan(LabelFile(items, YES), votes, 10, seed=3)
    with pytest.raises(DataError, match="label already"):
        plan(labelled(items, truths, {item.id for item in items}), votes, 5)

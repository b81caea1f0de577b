"""The proof of a patch: what labels and judges say of its failures, and the sentences that people read."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldassay.ext.labelling.labelled import PREFERRED, verdict
from goldassay.ext.labelling.proof import NO_MODE_NAMED, Proof, corrected, judged_change, mode_changes
from goldassay.statistics import Interval

DRAFT = Path("draft.jsonl")
SYSTEMS = ["before", "after"]


def records(n: int, right: list[str]) -> list[dict[str, Any]]:
    sampling = {"question": "compare", "stratum": "disagree", "size": 60, "population": 300, "systems": SYSTEMS}
    return [
        {
            "id": str(at),
            "text": "x",
            "sampling": {**sampling, "position": at},
            "suggestions": {"before": {"label": "L"}, "after": {"label": "M"}},
            PREFERRED: right,
        }
        for at in range(n)
    ]


def test_the_change_of_a_mode_is_tested_on_the_answers_that_have_it() -> None:
    rows = records(40, ["before"])
    failures = {str(at): {"before": (), "after": ("cut" if at < 30 else "long",)} for at in range(40)}
    (rose, other) = mode_changes("classification", rows, failures)
    assert (rose.mode, rose.rose) == ("cut", True)
    assert rose.change.value == pytest.approx(30 / 40 * 60 / 300)
    assert rose.change.low > 0
    assert other.mode == "long"
    assert other.change.low < other.change.value == pytest.approx(10 / 40 * 60 / 300)
    both = mode_changes("classification", rows, {str(at): dict.fromkeys(SYSTEMS, ("cut",)) for at in range(40)})
    assert [(each.change.value, each.rose) for each in both] == [(0.0, False)]
    assert mode_changes("classification", rows, {}) == []


def test_the_sentences_say_which_mode_rose_or_how_to_tell() -> None:
    rows = records(40, ["before"])
    result = verdict("classification", rows, SYSTEMS)
    assert Proof(DRAFT, 300, result).lines[1] == NO_MODE_NAMED
    failures = {str(at): {"before": (), "after": ("cut" if at else "long",)} for at in range(40)}
    changes = mode_changes("classification", rows, failures)
    assert (
        Proof(DRAFT, 300, result, changes)
        .lines[1]
        .startswith("More frequent than before: cut. Change of each mode's share")
    )
    assert (
        Proof(DRAFT, 300, result, changes[1:])
        .lines[1]
        .startswith("No failure mode is shown to have become more frequent.")
    )


def test_the_interval_of_a_judged_change_holds_the_judges_error() -> None:
    moved = [(True, False)] * 60 + [(False, True)] * 20 + [(False, False)] * 20
    sure = judged_change("cut", moved, 400, Interval(0.8, 0.799, 0.801))
    unsure = judged_change("cut", moved, 400, Interval(0.8, 0.5, 0.95))
    assert sure
    assert unsure
    assert sure.change.value == unsure.change.value == pytest.approx(-40 / 400 / 0.8)
    assert unsure.change.low < sure.change.low < sure.change.high < unsure.change.high < 0
    assert judged_change("cut", moved, 400, Interval(0.2, -0.1, 0.5)) is None
    still = judged_change("cut", [(False, False)] * 50, 400, Interval(0.8, 0.7, 0.9))
    assert still
    assert still.change.low < 0 < still.change.high
    adjusted = corrected([sure, unsure])
    assert [each.p for each in adjusted] == [2 * sure.p, 2 * sure.p]


@pytest.mark.parametrize(("before", "after"), [(0.3, 0.3), (0.3, 0.15)])
def test_intervals_of_judged_changes_hold_the_truth(before: float, after: float) -> None:
    sensitivity, specificity = 0.8, 0.9
    rng = np.random.default_rng(0)
    draws = random.Random(0)

    def judged(mode: bool) -> bool:
        return draws.random() < (sensitivity if mode else 1 - specificity)

    held = []
    for _ in range(300):
        hits, alarms = rng.binomial(40, sensitivity), rng.binomial(80, 1 - specificity)
        j = hits / 40 - alarms / 80
        half = 1.96 * float(np.sqrt(hits * (40 - hits) / 40**3 + alarms * (80 - alarms) / 80**3 + 1e-9))
        changed = draws.choices([True, False], [0.4, 0.6], k=400)
        pairs = []
        for moved in changed:
            if moved:  # only answers that differ are judged
                first = draws.random() < before / 0.4 * 0.5
                second = draws.random() < after / 0.4 * 0.5
                pairs.append((judged(first), judged(second)))
        change = judged_change("cut", pairs, 400, Interval(j, j - half, j + half))
        assert change
        held.append(change.change.low <= (after - before) / 2 <= change.change.high)
    assert 0.92 <= np.mean(held) <= 0.99

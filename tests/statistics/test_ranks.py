"""Ranks with their doubt."""

from __future__ import annotations

import numpy as np
import pytest

from goldassay import Counts
from goldassay.exceptions import GoldassayError
from goldassay.statistics.ranks import ranks


def test_systems_that_cannot_be_told_apart_share_their_ranks() -> None:
    rng = np.random.default_rng(0)
    equal = {name: (rng.random(60) < 0.5).astype(float) for name in "abcd"}
    assert {str(rank) for rank in ranks(equal, resamples=1000).values()} == {"1–4"}


def test_far_apart_each_has_its_rank_and_the_order_may_be_turned() -> None:
    shares = {"worst": 0.2, "best": 0.95, "middle": 0.6}
    rows = {
        name: [Counts(1.0, 0, 0)] * int(200 * s) + [Counts(0, 1.0, 1.0)] * (200 - int(200 * s))
        for name, s in shares.items()
    }
    found = ranks(rows, Counts(), resamples=1000)
    assert {name: str(rank) for name, rank in found.items()} == {"worst": "3", "best": "1", "middle": "2"}
    assert found["best"].value == pytest.approx(0.95)
    turned = ranks(rows, Counts(), resamples=1000, lower_is_better=True)
    assert {name: str(rank) for name, rank in turned.items()} == {"worst": "1", "best": "3", "middle": "2"}


def test_the_sets_hold_the_true_ranks() -> None:
    """Of 100 draws of three systems, two of them equal, all sets hold their ranks in 95 or more but for chance."""
    rng, missed = np.random.default_rng(1), 0
    for _ in range(100):
        a, b = ((rng.random(80) < 0.6).astype(float) for _ in range(2))
        c = (rng.random(80) < 0.3).astype(float)
        found = ranks({"a": a, "b": b, "c": c}, resamples=300)
        missed += not (found["a"].low == 1 and found["b"].low == 1 and found["c"].high == 3 and found["a"].high >= 2)
    assert missed <= 11


def test_clusters_widen_the_sets() -> None:
    rows = {"a": [1.0] * 40, "b": [1.0] * 20 + [0.0] * 20}
    assert str(ranks(rows, resamples=1000)["a"]) == "1"
    assert str(ranks(rows, clusters=[i // 20 for i in range(40)], resamples=1000)["a"]) == "1–2"


def test_what_cannot_be_ranked_is_said() -> None:
    with pytest.raises(GoldassayError, match="no systems"):
        ranks({})
    with pytest.raises(GoldassayError, match="alpha lies"):
        ranks({"a": [1.0]}, alpha=2)

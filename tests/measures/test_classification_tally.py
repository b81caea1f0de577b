"""Tallies of labels add up, serve a bootstrap and are sent to workers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from goldassay.measures import classification as c
from goldassay.measures.classification.tally import AgreementCounts, Gap, Labelled


def test_the_gap_adds_up_and_is_zero_without_evidence() -> None:
    measure = c.HierarchyGap()
    tallies = [measure({"label": g}, {"label": p}).tally for g, p in ("MM", "MG", "ML", "MH")]
    # 3 of 4 in the group, 1 of 4 exactly
    assert sum(tallies, measure.zero).value == pytest.approx(0.5)
    assert measure.zero.value == 0.0
    assert measure.zero.from_state(tallies[1].state()) == tallies[1] == Gap(1.0, 0.0, 1.0)


def test_tallies_serve_a_bootstrap_and_travel() -> None:
    pairs = [("M", "M"), ("M", "L"), ("L", "L"), ("A", "M")]
    zeros = (*(Labelled(average=average) for average in ("all", "supported", "weighted")), AgreementCounts())
    for zero in zeros:
        rows: list[Any] = [zero.with_items({pair: 1.0}) for pair in pairs]
        drawn = np.array([[2.0, 1.0, 0.0, 1.0], [0.0, 0.0, 4.0, 0.0]])
        resampled = zero.with_items({pair: drawn[:, i] for i, pair in enumerate(pairs)})
        by_hand = [
            float(sum((rows[i] for i, n in enumerate(counts) for _ in range(int(n))), zero).value) for counts in drawn
        ]
        assert np.allclose(resampled.value, by_hand), zero
    sent = pickle.dumps(Labelled({("a", "b"): 1.0}, ("a", "b", "c")))
    travelled = pickle.loads(sent)  # noqa: S301  our own, as a worker process sends it
    assert travelled.listed == ("a", "b", "c")
    assert (travelled + Labelled({("a", "a"): 1.0})).counted == ("a", "b", "c")

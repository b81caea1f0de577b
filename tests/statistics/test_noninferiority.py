"""Non-inferiority: at most .05 wrong claims at the margin, also where systems rarely differ."""

from __future__ import annotations

import numpy as np
import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.results.view import p_value
from goldassay.running.matrix import Recommendation
from goldassay.statistics.noninferiority import cheapest_not_worse, not_worse


@pytest.mark.parametrize(("n", "margin", "wins"), [(30, 0.1, 0.0), (200, 0.05, 0.0), (200, 0.02, 0.05)])
def test_at_the_margin_few_claims_are_wrong(n: int, margin: float, wins: float) -> None:
    rng = np.random.default_rng(0)
    draws = rng.choice([-1.0, 1.0, 0.0], (300, n), p=[margin + wins, wins, 1 - margin - 2 * wins])
    assert np.mean([not_worse(gains, margin).p <= 0.05 for gains in draws]) <= 0.07


def test_the_cheapest_that_passes_is_named_and_what_would_settle_the_others() -> None:
    same = np.zeros(400)
    worse = np.repeat([-1.0, 0.0], [80, 320])
    gains = [[same, worse, worse], [-worse, same, same], [-worse, same, same]]
    cheapest, tests = cheapest_not_worse(gains, [1.0, 2.0, 3.0], 0.02)
    assert cheapest == 1
    assert tests[0].needed is None  # a loss of .2 is more than the margin, whatever the number of examples
    assert cheapest_not_worse([[row[:50] for row in each] for each in gains], [1, 2, 3], 0.02)[0] is None
    needed = not_worse(same[:50], 0.02).needed
    assert needed is not None
    assert not_worse(np.zeros(needed), 0.02).p <= 0.05 < not_worse(np.zeros(needed - 1), 0.02).p
    with pytest.raises(GoldassayError, match="a margin above 0"):
        not_worse(same, 0.0)


def test_the_sentence_prints_the_corrected_p() -> None:
    tests = tuple(not_worse(np.zeros(n), 0.02) for n in (290, 300, 310))
    advice = Recommendation(tuple("abc"), 0, 1, 0.02, "usd", (3.0, 1.0, 2.0), ({}, {}, {}), tests)
    assert f"p {p_value(2 * tests[1].p)}, corrected for 3 systems" in advice.sentences[1]

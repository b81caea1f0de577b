"""The corrected estimate covers the truth; the naive one does not."""

from __future__ import annotations

import numpy as np
import pytest

from goldassay.exceptions import GoldassayError
from goldassay.statistics import corrected


def test_coverage() -> None:
    """Sensitivity 0.85, specificity 0.80, a true rate of 0.6: verdicts alone tend to 0.6·0.85 + 0.4·0.2 = 0.59."""
    for truth in (0.3, 0.6):
        rng, held, naive, widths = np.random.default_rng(7), 0, 0, []
        for _ in range(2000):
            people = rng.random(300) < truth
            judge = np.where(people, rng.random(300) < 0.85, rng.random(300) < 0.20)
            found = corrected(people[:100].tolist(), judge[:100].tolist(), judge[100:].tolist())
            held += found.corrected.low <= truth <= found.corrected.high
            naive += found.naive.low <= truth <= found.naive.high
            widths.append(
                (found.corrected.high - found.corrected.low) / (found.people_only.high - found.people_only.low)
            )
        assert 0.93 <= held / 2000 <= 0.97
        assert np.mean(widths) < 0.9
        if truth == 0.3:  # verdicts tend to 0.3·0.85 + 0.7·0.2 = 0.395
            assert naive / 2000 < 0.2


def test_a_judge_that_knows_nothing_is_left_aside() -> None:
    found = corrected([0, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1])
    assert (found.trust, found.corrected.value, found.naive.value) == (0.0, 0.5, 1.0)


def test_refusals() -> None:
    with pytest.raises(GoldassayError, match="3 labels but 2 verdicts"):
        corrected([1, 0, 1], [1, 0], [1])
    with pytest.raises(GoldassayError, match="needs 2 labels"):
        corrected([1], [1], [1])
    with pytest.raises(GoldassayError, match="not a number"):
        corrected([1, 0], [1, float("nan")], [1])

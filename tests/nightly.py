"""Simulations: each day few draws with a fixed seed, whose figures are known; at night all of them, which show the law.

Laws of many cases: each day those of which each shows something of its own, at night the others. Of the cases that
Hypothesis draws, a quarter is tried each day, all of them at night.

`make nightly` runs those of the night, which the daily suite leaves out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def simulation(daily: int, golden: object, nightly: int) -> pytest.MarkDecorator:
    """A test with the arguments ``draws`` and ``golden``: the figures of the daily draws; at night None.

    Args:
        daily: The number of draws in the daily suite.
        golden: The figures that these have.
        nightly: The number of draws at night.
    """
    night = pytest.param(nightly, None, marks=pytest.mark.nightly, id=f"{nightly} draws")
    return pytest.mark.parametrize(("draws", "golden"), [pytest.param(daily, golden, id=f"{daily} draws"), night])


def by_day(cases: Iterable[str], *daily: str) -> list[object]:
    """The cases of a law, for ``parametrize``: the daily suite tries these, `make nightly` the others."""
    return [case if case in daily else pytest.param(case, marks=pytest.mark.nightly) for case in cases]


def drawn(nightly: int, **options: Any) -> settings:
    """Settings of Hypothesis: how many cases of a law it draws at night; each day a quarter, but 10 at least."""
    return settings(max_examples=nightly if NIGHT else min(nightly, max(10, nightly // 4)), **options)

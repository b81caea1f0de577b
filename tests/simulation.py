"""Simulations: each day few draws with a fixed seed, whose figures are known; at night all of them, which show the law.

Laws of many cases: each day those of which each shows something of its own, at night the others.

`make nightly` runs those of the night, which the daily suite leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest


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

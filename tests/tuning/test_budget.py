"""Budgets of runs and tunings: when they are spent."""

from __future__ import annotations

import pytest

from goldassay.exceptions import GoldassayError
from goldassay.running.budget import BudgetSpent, Meter


@pytest.mark.parametrize("text", ["calls", "calls=x", "calls=0", "minutes=-1", "hours=2", "calls=nan"])
def test_a_budget_that_cannot_be_read_says_how_it_reads(text: str) -> None:
    with pytest.raises(GoldassayError, match="budget"):
        Meter(text)


def test_a_meter_stops_before_the_call_that_is_too_many() -> None:
    meter = Meter("calls=2")
    meter.take()
    meter.take()
    with pytest.raises(BudgetSpent, match="2 calls is spent"):
        meter.take()
    assert meter.state()["calls"] == 2


def test_spent_is_not_an_exception_that_an_optimizer_swallows() -> None:
    assert not issubclass(BudgetSpent, Exception)


def test_tokens_and_money_add_up_also_for_the_meter_around() -> None:
    outer = Meter("tokens=10")
    meter = Meter("tokens=8", outer)
    meter.add(tokens=7, usd=0.5)
    meter.check()
    meter.add(tokens=3, usd=0.25)
    assert [(each.used["tokens"], each.used["usd"]) for each in (meter, outer)] == [(10, 0.75), (10, 0.75)]
    for one, limit in ((meter, "8 tokens"), (outer, "10 tokens")):
        with pytest.raises(BudgetSpent, match=limit):
            one.check()


def test_a_model_without_a_price_cannot_be_kept_to_a_budget_in_money() -> None:
    for limit, stops in (("usd=0.1", True), ("calls=9", False)):
        meter = Meter(limit)
        meter.add(tokens=7, unpriced="own/model")
        if stops:
            with pytest.raises(BudgetSpent, match="own/model has no known price"):
                meter.check()
        else:
            meter.check()

"""Budgets: how they are read, counted and spent, and that an inner one counts for the outer one."""

from __future__ import annotations

import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.running.budget import BudgetSpent, Meter


@pytest.mark.parametrize("budget", ["calls", "calls=many", "calls=0", "calls=-1", "hours=1", "=5", "calls=nan"])
def test_a_budget_that_cannot_be_read_is_refused(budget: str) -> None:
    with pytest.raises(GoldassayError, match="a budget (reads like|has positive)"):
        Meter(budget)


def test_a_budget_allows_as_many_calls_as_it_names() -> None:
    meter = Meter("calls = 2, tokens=1e6")
    meter.take()
    meter.take()
    with pytest.raises(BudgetSpent, match="the budget of 2 calls is spent"):
        meter.take()
    meter.add(calls=-1, cached=1)  # the cache answered: its place is free again
    meter.take()
    assert meter.used["calls"] == 2


def test_calls_of_an_inner_budget_are_calls_of_the_outer_one() -> None:
    outer = Meter("calls=1")
    inner = Meter(outer=outer)
    inner.take()
    with pytest.raises(BudgetSpent):
        inner.take()
    inner.add(tokens=5, usd=0.25)
    assert (outer.used["tokens"], outer.state()["usd"]) == (5, 0.25)


def test_a_call_that_an_inner_budget_refuses_is_no_call_of_the_outer_one() -> None:
    outer = Meter("calls=9")
    inner = Meter("calls=1", outer)
    inner.take()
    for _ in range(5):
        with pytest.raises(BudgetSpent, match="budget of 1 calls"):
            inner.take()
    assert outer.used["calls"] == 1


def test_a_model_without_a_price_cannot_be_held_to_money() -> None:
    meter = Meter("usd=2")
    meter.add(unpriced="openai/ours")
    with pytest.raises(BudgetSpent, match="openai/ours has no known price"):
        meter.take()


def test_a_model_without_a_price_may_use_a_budget_of_calls() -> None:
    meter = Meter("calls=9")
    meter.add(tokens=7, unpriced="own/model")
    meter.check()
    assert meter.used["tokens"] == 7


def test_a_spent_budget_is_not_an_exception_that_an_optimizer_swallows() -> None:
    assert not issubclass(BudgetSpent, Exception)


def test_tokens_of_an_inner_budget_spend_both() -> None:
    outer = Meter("tokens=10")
    inner = Meter("tokens=8", outer)
    inner.add(tokens=7, usd=0.5)
    inner.check()
    inner.add(tokens=3, usd=0.25)
    assert [(meter.used["tokens"], meter.used["usd"]) for meter in (inner, outer)] == [(10, 0.75), (10, 0.75)]
    for meter, limit in ((inner, "8 tokens"), (outer, "10 tokens")):
        with pytest.raises(BudgetSpent, match=limit):
            meter.check()

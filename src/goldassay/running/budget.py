"""A budget in calls, tokens, money or minutes, and the meter that holds a run to it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from goldassay.exceptions import GoldassayError

UNITS = ("calls", "tokens", "usd", "minutes")


class BudgetSpent(BaseException):
    """The budget is spent. Not an ``Exception``: optimizers swallow those and continue with a score of 0."""


@dataclass(frozen=True)
class Budget:
    """Limits; ``None`` is no limit.

    >>> Budget.parse("calls=200,minutes=5")
    Budget(calls=200.0, tokens=None, usd=None, minutes=5.0)
    """

    calls: float | None = None
    tokens: float | None = None
    usd: float | None = None
    minutes: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``calls=…,tokens=…,usd=…,minutes=…``, any of them."""
        limits: dict[str, float] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            unit, _, amount = (piece.strip() for piece in part.partition("="))
            if unit in limits:
                raise GoldassayError(f"the budget {text!r} names {unit} twice")
            try:
                limits[unit] = float(amount)
            except ValueError:
                raise GoldassayError(f"a budget reads like calls=200,minutes=5, not {part!r}") from None
            if unit not in UNITS or not limits[unit] > 0:
                raise GoldassayError(f"a budget has positive {', '.join(UNITS)}, not {part!r}")
        return cls(**limits)


class Meter:
    """Counts what language models cost, and raises `BudgetSpent` before a call that the budget does not allow.

    A model without a price cannot be held to a budget in money: the run stops after its first answer; ``unpriced``
    names it. What is used also counts for ``outer``, such as the meter of the tuning that evaluates.
    """

    def __init__(self, budget: Budget | str | None = None, outer: Meter | None = None) -> None:
        self.budget = (Budget.parse(budget) if isinstance(budget, str) else budget) or Budget()
        self.outer, self.unpriced, self._lock = outer, "", threading.Lock()
        self.calls, self.cached, self.tokens, self.usd, self.started = 0, 0, 0, 0.0, time.monotonic()

    @property
    def minutes(self) -> float:
        """Minutes since the meter was made."""
        return (time.monotonic() - self.started) / 60

    def check(self) -> None:
        """Raise if nothing is left, or if that cannot be known."""
        if self.unpriced and self.budget.usd is not None:
            raise BudgetSpent(
                f"{self.unpriced} has no known price, so a budget in usd cannot stop it; use calls, tokens or minutes"
            )
        for unit in UNITS:
            limit = getattr(self.budget, unit)
            if limit is not None and getattr(self, unit) >= limit:
                raise BudgetSpent(f"the budget of {limit:g} {unit} is spent")

    def take(self) -> None:
        """Reserve one call, if the budget allows it."""
        if self.outer is not None:
            self.outer.take()
        with self._lock:
            self.check()
            self.calls += 1

    def add(self, calls: int = 0, cached: int = 0, tokens: int = 0, usd: float = 0.0, unpriced: str = "") -> None:
        """Add what calls used.

        Args:
            calls: How many; a reserved call that the cache answered gives ``calls=-1, cached=1``.
            cached: How many answers came from the cache.
            tokens: Prompt and completion tokens.
            usd: Their price.
            unpriced: A model whose price is not known.
        """
        if self.outer is not None:
            self.outer.add(calls, cached, tokens, usd, unpriced)
        with self._lock:
            self.calls, self.cached = self.calls + calls, self.cached + cached
            self.tokens, self.usd = self.tokens + tokens, self.usd + usd
            self.unpriced = self.unpriced or unpriced

    def state(self) -> dict[str, float]:
        """What was used, as JSON."""
        used = {"calls": self.calls, "cached": self.cached, "tokens": self.tokens, "usd": round(self.usd, 6)}
        return {**used, "seconds": round(self.minutes * 60, 3)}

"""A budget that really stops: in calls, tokens, money or minutes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from goldassay.exceptions import GoldassayError

UNITS = ("calls", "tokens", "usd", "minutes")


class BudgetSpent(BaseException):
    """The budget is spent. Not an ``Exception``, since optimizers swallow those and go on with a score of 0."""


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
            name, _, amount = part.partition("=")
            unit = name.strip()
            if unit in limits:
                raise GoldassayError(f"the budget {text!r} says {unit} twice")
            try:
                limits[unit] = float(amount)
            except ValueError:
                raise GoldassayError(f"a budget reads like calls=200,minutes=5, not {part!r}") from None
            if unit not in UNITS or not limits[unit] > 0:
                raise GoldassayError(f"a budget has positive {', '.join(UNITS)}, not {part!r}")
        return cls(**limits)


class Meter:
    """Counts what language models cost, and raises `BudgetSpent` before a call that the budget does not allow.

    `goldassay.running.calls` tells it of every call of the models that are watched, in whichever thread. A model that
    states no price cannot be kept to a budget in money: it stops after its first answer; ``unpriced`` names it. What
    is used also counts for ``outer``, such as the meter of a tuning that evaluates.
    """

    def __init__(self, budget: Budget | str | None = None, outer: Meter | None = None) -> None:
        self.outer = outer
        self.budget = (Budget.parse(budget) if isinstance(budget, str) else budget) or Budget()
        self.calls, self.cached, self.tokens, self.usd, self.started = 0, 0, 0, 0.0, time.monotonic()
        self.unpriced = ""
        self._lock = threading.Lock()

    @property
    def minutes(self) -> float:
        """Minutes since the meter was made."""
        return (time.monotonic() - self.started) / 60

    def check(self) -> None:
        """Raise if nothing is left, or if that cannot be known."""
        if self.unpriced and self.budget.usd is not None:
            raise BudgetSpent(
                f"{self.unpriced} states no price, so a budget in usd cannot stop it; use calls, tokens or minutes"
            )
        for unit in UNITS:
            limit = getattr(self.budget, unit)
            if limit is not None and getattr(self, unit) >= limit:
                raise BudgetSpent(f"the budget of {limit:g} {unit} is spent")

    def take(self) -> None:
        """One more call, if the budget allows it."""
        if self.outer is not None:
            self.outer.take()
        with self._lock:
            self.check()
            self.calls += 1

    def from_cache(self) -> None:
        """One answer more that DSPy's cache had, which costs nothing."""
        if self.outer is not None:
            self.outer.from_cache()
        with self._lock:
            self.cached += 1

    def spent(self, model: str, tokens: int, usd: float | None) -> None:
        """What a call has cost, in so far as its model says it."""
        if self.outer is not None:
            self.outer.spent(model, tokens, usd)
        with self._lock:
            self.tokens += tokens
            self.usd += float(usd or 0.0)
            if tokens and usd is None:
                self.unpriced = model

    def set(self, parts: Iterable[Mapping[str, float]]) -> None:
        """What several processes have used, each by its own meter's `state`."""
        with self._lock:
            for part in (several := list(parts)):
                self.unpriced = self.unpriced or str(part.get("unpriced") or "")
            self.calls = int(sum(part["calls"] for part in several))
            self.tokens = int(sum(part["tokens"] for part in several))
            self.usd = sum(part["usd"] for part in several)

    def state(self) -> dict[str, float]:
        """What was used."""
        return {
            "calls": self.calls,
            "cached": self.cached,
            "tokens": self.tokens,
            "usd": round(self.usd, 6),
            "seconds": round(self.minutes * 60, 3),
        }

"""A budget that really stops: in calls, tokens, money or minutes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.insides import BaseCallback

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


class Meter(BaseCallback):  # type: ignore[misc]
    """Counts what language models cost, and raises `BudgetSpent` before a call that the budget does not allow.

    A DSPy callback: ``with dspy.context(callbacks=[*dspy.settings.callbacks, meter])`` puts it around everything
    inside, whichever model is called and in whichever thread. A model that states no price cannot be kept to a budget
    in money: it stops after its first answer, and ``unpriced`` names it.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.calls, self.tokens, self.usd, self.started = 0, 0, 0.0, time.monotonic()
        self.unpriced = ""
        self._models: dict[str, Any] = {}
        self._counted: set[str] = set()
        self._lock = threading.Lock()

    @property
    def minutes(self) -> float:
        """Minutes since the meter was made."""
        return (time.monotonic() - self.started) / 60

    def check(self) -> None:
        """Raise if nothing is left, or if that cannot be known."""
        if self.unpriced:
            raise BudgetSpent(f"{self.unpriced} states no price, so a budget in usd cannot stop it")
        for unit in UNITS:
            limit = getattr(self.budget, unit)
            if limit is not None and getattr(self, unit) >= limit:
                raise BudgetSpent(f"the budget of {limit:g} {unit} is spent")

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Stop here if the budget is spent; count the call."""
        with self._lock:
            self.check()
            self.calls += 1
            self._models[call_id] = instance

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Count the tokens and the money of the calls that the model's history shows."""
        with self._lock:
            model = self._models.pop(call_id, None)
            for entry in reversed(getattr(model, "history", ())):
                key = str(entry.get("uuid") or id(entry))
                if key in self._counted:
                    break
                self._counted.add(key)
                usage = entry.get("usage") or {}
                parts = (usage.get("prompt_tokens") or 0) + (usage.get("completion_tokens") or 0)
                tokens = int(usage.get("total_tokens") or parts)
                self.tokens += tokens
                self.usd += float(entry.get("cost") or 0.0)
                if tokens and entry.get("cost") is None and self.budget.usd is not None:
                    self.unpriced = str(getattr(model, "model", type(model).__name__))

    def state(self) -> dict[str, float]:
        """What was used."""
        return {
            "calls": self.calls,
            "tokens": self.tokens,
            "usd": round(self.usd, 6),
            "seconds": round(self.minutes * 60, 3),
        }

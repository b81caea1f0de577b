"""Budgets: calls, tokens, money and minutes that a run or a tuning may use, as long as its models answer."""

from __future__ import annotations

import threading
import time

from goldassay._support.exceptions import GoldassayError

UNITS = ("calls", "tokens", "usd", "minutes")
SILENT = 10  # calls of one model in a row without an answer after which it is dead
UNANSWERED_CALLS = 2  # so many at the end of a run mean that it is not finished


class BudgetSpent(BaseException):
    """The budget is spent. Not an ``Exception``: optimizers swallow those and continue with a score of 0."""


class EndpointDown(BudgetSpent):
    """The endpoint of a model stopped answering: every other call would be wasted."""


class Meter:
    """Counts what language models cost, and raises `BudgetSpent` before a call that the budget does not allow.

    It raises `EndpointDown` before any call after `SILENT` calls of one model in a row without an answer, or one that
    it refuses for good: answers of another one, as of the program whose judge is dead, do not make up for them.

    A budget is like ``calls=200,tokens=1e6,usd=2,minutes=5``, with any of these. A model without a price cannot be held
    to a budget in money: the run stops after its first answer; ``unpriced`` names it. What is used also counts for
    ``outer``, such as the meter of the tuning that evaluates.

    Raises:
        GoldassayError: The budget cannot be read.

    >>> Meter("calls=200,minutes=5").limits
    {'calls': 200.0, 'minutes': 5.0}
    """

    def __init__(self, budget: str | None = None, outer: Meter | None = None) -> None:
        self.limits: dict[str, float] = {}
        for limit in filter(None, (budget or "").replace(" ", "").split(",")):
            unit, _, amount = limit.partition("=")
            try:
                self.limits[unit] = float(amount)
            except ValueError:
                raise GoldassayError(f"a budget reads like calls=200,minutes=5, not {limit!r}") from None
            if unit not in UNITS or not self.limits[unit] > 0:
                raise GoldassayError(f"a budget has positive {', '.join(UNITS)}, not {limit!r}")
        self.outer = outer
        self.unpriced = ""
        self.used: dict[str, float] = {"calls": 0, "cached": 0, "tokens": 0, "usd": 0.0}
        self.started = time.monotonic()
        self.answered: set[str] = set()
        self.silent: dict[str, list[str]] = {}  # by model the errors of its calls since its last answer
        self._lock = threading.Lock()

    def check_endpoints(self, most: int = SILENT) -> None:
        """Check that each model answered one of its last ``most`` calls.

        Raises:
            EndpointDown: None of them had an answer.
        """
        errors = max(list(self.silent.values()), key=len, default=[])
        if len(errors) >= most:
            raise EndpointDown(f"a model gives no answer: {errors[-1]}")

    def add_outcome(self, model: str, *errors: str) -> None:
        """Count an answer of a model, or the errors of calls without one."""
        if self.outer is not None:
            self.outer.add_outcome(model, *errors)
        if not errors and model in self.answered and model not in self.silent:
            return  # nothing changes, so that no thread waits for the lock
        with self._lock:
            if errors:
                self.silent[model] = [*self.silent.get(model, ()), *errors]
            else:
                self.answered.add(model)
                self.silent.pop(model, None)

    def check(self) -> None:
        """Check that something is left, and that the models answer.

        Raises:
            BudgetSpent: Nothing is left, or that cannot be known.
            EndpointDown: An endpoint stopped answering.
        """
        self.check_endpoints()
        if not self.limits:
            return
        if self.unpriced and "usd" in self.limits:
            raise BudgetSpent(
                f"{self.unpriced} has no known price, so a budget in usd cannot stop it; use calls, tokens or minutes"
            )
        used = {**self.used, "minutes": (time.monotonic() - self.started) / 60}
        for unit, limit in self.limits.items():
            if used[unit] >= limit:
                raise BudgetSpent(f"the budget of {limit:g} {unit} is spent")

    def take(self) -> None:
        """Reserve one call, if the budget allows it.

        Raises:
            BudgetSpent: It does not.
        """
        with self._lock:
            self.check()  # before the outer one: a call that is refused here is not a call there
            if self.outer is not None:
                self.outer.take()
            self.used["calls"] += 1

    def add(self, unpriced: str = "", **used: float) -> None:
        """Add what calls used, and the name of a model whose price is not known.

        A reserved call that the cache answered gives ``calls=-1, cached=1``.
        """
        if self.outer is not None:
            self.outer.add(unpriced, **used)
        with self._lock:
            self.unpriced = self.unpriced or unpriced
            for name, amount in used.items():
                self.used[name] += amount

    def state(self) -> dict[str, float]:
        """Calls, tokens, money and seconds that were used, as JSON."""
        seconds = round(time.monotonic() - self.started, 3)
        return {**self.used, "usd": round(self.used["usd"], 6), "seconds": seconds}

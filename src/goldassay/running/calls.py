"""The model calls of an example: counted, recorded and held to a budget in calls, tokens, money or minutes.

An `Account` is a callback in DSPy's settings, so it hears every call of any model in its context, also in threads of
``dspy.Parallel``. Tokens, prices and prompts come from the entry that DSPy appends to the model's ``history``. Threads
that a program starts itself, without DSPy's context, are not counted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy

from goldassay._dspy_compat import BaseCallback, history_entry, was_cut
from goldassay.exceptions import GoldassayError
from goldassay.progress import WAITING

TOKENS = ("prompt_tokens", "completion_tokens")
HISTORY = 1000  # the least length of a model's history, among whose last entries a call's own stands
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
        self.used: dict[str, float] = dict.fromkeys(("calls", "cached", "tokens", "usd"), 0.0)
        self.started = time.monotonic()

    def check(self) -> None:
        """Raise if nothing is left, or if that cannot be known."""
        if self.unpriced and self.budget.usd is not None:
            raise BudgetSpent(
                f"{self.unpriced} has no known price, so a budget in usd cannot stop it; use calls, tokens or minutes"
            )
        used = {**self.used, "minutes": (time.monotonic() - self.started) / 60}
        for unit, limit in vars(self.budget).items():
            if limit is not None and used[unit] >= limit:
                raise BudgetSpent(f"the budget of {limit:g} {unit} is spent")

    def take(self) -> None:
        """Reserve one call, if the budget allows it."""
        if self.outer is not None:
            self.outer.take()
        with self._lock:
            self.check()
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
        """What was used, as JSON."""
        whole = {name: int(self.used[name]) for name in ("calls", "cached", "tokens")}
        return {**whole, "usd": round(self.used["usd"], 6), "seconds": round(time.monotonic() - self.started, 3)}


class Account(BaseCallback):  # type: ignore[misc]
    """Calls, cached answers and tokens in ``counts``; with ``record``, prompts and raw answers in ``recorded``.

    Each example has an account of its own. What a thread still asks after its example has ended counts for ``run``.
    """

    def __init__(self, meter: Meter | None = None, record: bool = False, run: Account | None = None) -> None:
        self.meter, self.record, self.run, self.ended = meter or Meter(), record, run, False
        self.counts: Counter[str] = Counter()
        self.cut: int | None = None  # tokens after which an answer was cut off
        self.recorded: list[dict[str, Any]] = []
        self._open: dict[str, tuple[Any, Mapping[str, Any], float]] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A call begins, if the budget allows it."""
        self.meter.take()
        self._open[call_id] = instance, inputs, time.perf_counter()
        WAITING[call_id] = time.monotonic()

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """A call has ended: count and record it."""
        lm, inputs, started = self._open.pop(call_id)
        WAITING.pop(call_id, None)
        entry = history_entry(lm, outputs)
        usage = entry.get("usage") or {}
        if was_cut(entry) and not self.ended:
            self.cut = _count(usage.get("completion_tokens"))
        cached = exception is None and not usage and bool((inputs.get("kwargs") or {}).get("cache", lm.cache))
        tokens = {name: _count(usage.get(name)) for name in TOKENS}
        if cached:
            self.meter.add(calls=-1, cached=1)
        elif exception is None:
            total, usd = _count(usage.get("total_tokens")) or sum(tokens.values()), entry.get("cost")
            self.meter.add(tokens=total, usd=usd or 0.0, unpriced=str(lm.model) if total and usd is None else "")
        account = self.run if self.ended and self.run is not None else self
        account.add({"calls": int(not cached), "cached": int(cached), **tokens})
        if self.record and not self.ended:
            answers = "\n\n".join(map(text, outputs or ()))
            outcome = {"answer": answers} if exception is None else {"error": str(exception)[:2000]}
            seconds = round(time.perf_counter() - started, 6)
            prompt = messages(entry or inputs)
            self.recorded.append({"lm": str(lm.model), "prompt": prompt, "seconds": seconds, **outcome})

    def add(self, counts: Mapping[str, int]) -> None:
        """Count calls, cached answers and tokens."""
        with self._lock:
            self.counts.update(counts)

    @property
    def usage(self) -> dict[str, int]:
        """Calls, tokens and cached answers; empty if no model was called."""
        counts = self.counts
        if not any(counts.values()):
            return {}
        cached = {"cached": counts["cached"]} if counts["cached"] else {}
        return {name: counts[name] for name in ("calls", *TOKENS)} | cached

    @contextmanager
    def open(self) -> Iterator[Account]:
        """Count the calls of this context here, and nowhere else."""
        others = [callback for callback in dspy.settings.get("callbacks") or [] if not isinstance(callback, Account)]
        history = max(dspy.settings.get("max_history_size") or 0, HISTORY)
        with dspy.context(callbacks=[*others, self], disable_history=False, max_history_size=history):
            yield self


def _count(number: object) -> int:
    return int(number) if isinstance(number, (int, float)) else 0


def messages(call: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages of a call, as role and text.

    >>> messages({"messages": None, "prompt": "Where is Delft?"})
    [{'role': 'user', 'content': 'Where is Delft?'}]
    """
    parts = call.get("messages") or [{"role": "user", "content": call.get("prompt") or ""}]
    return [{"role": str(part["role"]), "content": text(part.get("content"))} for part in parts]


def text(content: object) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(map(text, content))
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return str(content)


def current() -> Account | None:
    """The account of this context, if any."""
    callbacks = dspy.settings.get("callbacks") or []
    return next((callback for callback in callbacks if isinstance(callback, Account)), None)


@contextmanager
def aside() -> Iterator[Account]:
    """An account beside the current one, on the same budget: for a judge, whose calls are not the program's."""
    around = current()
    account = Account(around.meter if around is not None else None)
    with dspy.context(usage_tracker=None), account.open():  # the program's tokens are not the judge's
        yield account

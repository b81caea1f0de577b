"""Rate limits of endpoints: so many requests and tokens a minute, spread evenly, whoever asks.

There is one limit for each endpoint (model and address) in a process: all threads of a run, its judge and a reflection
model share it. It is a callback of the model (``dspy.utils.callback``) around token buckets of `pyrate_limiter`. Calls
that DSPy's cache answers give their place back. Retries are DSPy's own (``num_retries``). Each process has limits of
its own: the workers of a Ray run call `share_among`, which gives each an equal part.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import dspy
from pyrate_limiter import Duration, Limiter, Rate, SingleBucketFactory, StateBucket, TokenBucket

from goldassay._support.dspy_compat import BaseCallback, history_entry
from goldassay._support.exceptions import GoldassayError

_limits: dict[tuple[str, str], EndpointLimit] = {}
_lock = threading.Lock()
_processes = 1


@dataclass
class CallNotes:
    """How many seconds calls have waited for a limit since `watch`."""

    waited: float = 0.0


_notes: ContextVar[CallNotes | None] = ContextVar("notes", default=None)


def watch() -> CallNotes:
    """Start to count in this context; replaces what was counted before."""
    notes = CallNotes()
    _notes.set(notes)
    return notes


class EndpointLimit:
    """The rate limits of one endpoint: calls `enter`, and `leave` with the tokens that they used.

    How many tokens an answer takes is known only afterwards, so a call reserves its prompt (four characters a token)
    and the running mean of what answers took beside it.
    """

    def __init__(self, rpm: float | None, tpm: float | None) -> None:
        self.burst = max(1, int((tpm or 0) / 4))  # tokens that may start at once
        self.requests = _bucket(rpm, 1)
        self.tokens = _bucket(tpm, self.burst)
        self.mean = 0.0
        self.spare = 0  # places of calls that the cache answered
        self.lock = threading.Lock()

    def enter(self, prompt: float) -> None:
        """Wait until a call with about so many tokens in its prompt may start."""
        tokens = round(prompt + self.mean)
        free = self._wait(self.requests, 1)
        while free and tokens > 0:
            free = self._wait(self.tokens, min(tokens, self.burst))
            tokens -= self.burst

    def _wait(self, bucket: Limiter | None, weight: int) -> bool:
        """Wait for a bucket; False if a spare place came first."""
        poll = 0.02  # seconds after which a waiting call asks again
        while bucket and not bucket.try_acquire("call", weight, blocking=False):
            with self.lock:
                if self.spare:
                    self.spare -= 1
                    return False
            time.sleep(poll)
        return True

    def leave(self, prompt: float, used: float | None) -> None:
        """The call has ended: with so many tokens, or (None) from the cache."""
        with self.lock:
            if used is None:
                self.spare += 1
            else:
                self.mean += (max(used - prompt, 0.0) - self.mean) / 8


def _bucket(per_minute: float | None, burst: int) -> Limiter | None:
    if not per_minute:
        return None
    thousandths = max(1, round(1000 * per_minute / _processes))  # so that half a request a minute is a rate too
    rate = Rate(thousandths, 1000 * Duration.MINUTE, burst=burst)
    return Limiter(SingleBucketFactory(StateBucket([rate], algorithm=TokenBucket()), schedule_leak=False))


class RateLimit(BaseCallback):  # type: ignore[misc]
    """The callback that makes a model keep to its limits.

    Raises:
        GoldassayError: A limit is no number above 0.

    >>> RateLimit(rpm=60)
    RateLimit(rpm=60, tpm=None)
    """

    def __init__(self, rpm: float | None = None, tpm: float | None = None) -> None:
        for name, value in (("rpm", rpm), ("tpm", tpm)):
            if value is not None and (isinstance(value, bool | str) or not value > 0):
                raise GoldassayError(f"{name}: expected a number above 0 (a minute), got {value!r}")
        self.rpm = rpm
        self.tpm = tpm
        self.calls: dict[str, tuple[dspy.BaseLM, float]] = {}

    def __repr__(self) -> str:
        return f"RateLimit(rpm={self.rpm}, tpm={self.tpm})"

    def endpoint(self, lm: dspy.BaseLM) -> EndpointLimit:
        """The limit of the model's endpoint in this process."""
        with _lock:
            return _limits.setdefault(_address(lm), EndpointLimit(self.rpm, self.tpm))

    def on_lm_start(self, call_id: str, instance: dspy.BaseLM, inputs: dict[str, Any]) -> None:
        """Wait for a place. In asynchronous code this holds up the event loop."""
        prompt = len(str(inputs.get("messages") or inputs.get("prompt") or "")) / 4
        self.calls[call_id] = instance, prompt
        began = time.monotonic()
        self.endpoint(instance).enter(prompt)
        if notes := _notes.get():
            notes.waited += time.monotonic() - began

    def on_lm_end(self, call_id: str, outputs: Sequence[Any] | None, exception: BaseException | None = None) -> None:
        """Count the tokens, or give the place back."""
        lm, prompt = self.calls.pop(call_id)
        entry = history_entry(lm, outputs)
        usage = entry.get("usage") or {}
        cached = bool(entry) and not usage
        self.endpoint(lm).leave(prompt, None if cached else float(usage.get("total_tokens") or prompt))


def _address(lm: dspy.BaseLM) -> tuple[str, str]:
    return str(lm.model), str(lm.kwargs.get("api_base") or lm.kwargs.get("base_url") or "")


def limited(lm: dspy.BaseLM, rpm: float | None = None, tpm: float | None = None) -> dspy.BaseLM:
    """The same model, which from now on is called no more often than this.

    Raises:
        GoldassayError: A limit is no number above 0.

    >>> limited(dspy.LM("openai/gpt-4o-mini"), rpm=500).callbacks
    [RateLimit(rpm=500, tpm=None)]
    """
    limit = RateLimit(rpm, tpm)
    with _lock:
        _limits.pop(_address(lm), None)
    lm.callbacks.append(limit)
    return lm


def share_among(processes: int) -> None:
    """Give this process an equal part of every limit: it is one of several that ask the same endpoints."""
    global _processes
    _processes = processes

"""How fast an endpoint is asked: calls in flight that adapt, and limits of requests and tokens a minute.

The number of calls in flight begins small and doubles while all goes well (slow start). A refusal (429) takes 20 % off,
once for all calls that were in flight together, and from then on it grows by one a round. A server that fails (5xx, no
answer) stops the growth for a while. What a server says in ``Retry-After`` holds for everybody who asks it.

Requests and tokens a minute are spread evenly, so that no way of counting a minute finds too many. There is one
`Limiter` for each endpoint (model and address) in a process, whoever asks: threads, a judge, a reflection model.
Several processes or actors of a run divide the requests and tokens a minute among them (`divide`); how many calls may
be in flight each finds out for itself, from the refusals that it gets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import GoldassayError

START, LEAST, CUT = 8.0, 1.0, 0.8
PAUSE = 5.0  # seconds without growth after a server failed
SLICE = 0.5  # seconds that anybody sleeps in one go, so that a stop is heard


@dataclass(frozen=True)
class Limits:
    """Requests (``rpm``) and tokens (``tpm``) a minute; ``None`` is no limit.

    >>> Limits(rpm=60).divided(4)
    Limits(rpm=15.0, tpm=None)
    """

    rpm: float | None = None
    tpm: float | None = None

    def __post_init__(self) -> None:
        for name in ("rpm", "tpm"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
                raise GoldassayError(f"{name} is a number above 0 (a minute), not {value!r}")

    def divided(self, parts: int) -> Limits:
        """The share of one of several processes."""
        return Limits(*(None if one is None else one / parts for one in (self.rpm, self.tpm)))


class Pace:
    """So many a minute, evenly: ``free`` is when the next may start.

    >>> pace = Pace(60)
    >>> pace.take(0.0, 2), pace.free
    (None, 2.0)
    """

    def __init__(self, per_minute: float | None) -> None:
        self.per_minute, self.free = per_minute, 0.0

    def take(self, now: float, amount: float) -> None:
        """Use some of it; a negative amount gives back what was reserved for nothing."""
        if self.per_minute is not None:
            self.free = max(now, self.free) + amount * 60 / self.per_minute


class Limiter:
    """Lets calls of one endpoint start: not too many at once, not too many a minute.

    ``ask`` gives 0 where a call may start, which must be told with ``answered``, ``refused`` or ``failed``; else the
    seconds after which to ask again.
    """

    def __init__(self, limits: Limits = Limits(), clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.width, self.busy, self.doubling = START, 0, True
        self.pressed = False  # whether more would be in flight if they were let
        self.not_before = self.grow_after = self.cut_at = 0.0
        self.requests, self.tokens = Pace(limits.rpm), Pace(limits.tpm)
        self.mean = 0.0  # tokens of an answer
        self.changed = threading.Condition()

    def ask(self, tokens: float = 0.0) -> float:
        """May a call of about so many tokens in its prompt start?"""
        with self.changed:
            now = self.clock()
            wait = max(self.not_before, self.requests.free, self.tokens.free) - now
            if wait > 0:
                return min(wait, SLICE)
            if self.busy >= int(self.width):
                self.pressed = True
                return SLICE
            self.pressed = self.pressed and 2 * self.busy >= self.width
            self.busy += 1
            self.requests.take(now, 1)
            self.tokens.take(now, tokens + self.mean)
            return 0.0

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until a call has ended."""
        with self.changed:
            self.changed.wait(seconds)

    def answered(self, expected: float, used: float) -> None:
        """A call came back: ``used`` tokens, where its prompt let expect some."""
        with self.changed:
            now = self.clock()
            self.tokens.take(now, used - expected - self.mean)
            self.mean += (max(used - expected, 0.0) - self.mean) / 8
            if now >= self.grow_after and self.pressed:
                self.width += 1 if self.doubling else 1 / int(self.width)
            self._left()

    def refused(self, started: float, retry_after: float | None = None) -> None:
        """A call that ``started`` then was refused for coming too fast."""
        with self.changed:
            now = self.clock()
            if started >= self.cut_at:
                self.width, self.cut_at, self.doubling = max(LEAST, self.width * CUT), now, False
            self.not_before = max(self.not_before, now + (retry_after or 0.0))
            self._left()

    def failed(self, server: bool) -> None:
        """A call failed, by a ``server`` that is in trouble or otherwise."""
        with self.changed:
            if server:
                self.grow_after, self.doubling = self.clock() + PAUSE, False
            self._left()

    def _left(self) -> None:
        self.busy -= 1
        self.changed.notify()


_limiters: dict[tuple[str, str], Limiter] = {}
_lock = threading.Lock()
_parts = 1


def divide(parts: int) -> None:
    """This process is one of several that ask the same endpoints: it takes its share of what is allowed a minute."""
    global _parts
    _parts = parts


def limited(lm: Any, rpm: float | None = None, tpm: float | None = None) -> Any:
    """The model itself, which runs of goldassay ask no faster than this."""
    lm.goldassay_limits = Limits(rpm, tpm)
    return lm


def limiter(lm: Any) -> Limiter | None:
    """The limiter of a model's endpoint; none for a model that is no endpoint (it runs in this process)."""
    said = getattr(lm, "goldassay_limits", None)
    if said is None and not isinstance(getattr(lm, "engine", None), str):
        return None
    settings = getattr(lm, "kwargs", None) or {}
    key = str(getattr(lm, "model", lm)), str(settings.get("api_base") or settings.get("base_url") or "")
    with _lock:
        found = _limiters.get(key)
        if found is None:
            found = _limiters[key] = Limiter()
        if said is not None:
            mine = said.divided(_parts)
            found.requests.per_minute, found.tokens.per_minute = mine.rpm, mine.tpm
        return found

"""How fast an endpoint is asked: calls in flight that adapt, and limits of requests and tokens a minute.

The number of calls in flight begins small and doubles while all goes well (slow start). A refusal (429) takes 20 % off,
once for all calls that were in flight together, and from then on it grows by one a round. A server that fails (5xx, no
answer) stops the growth for a while. What a server says in ``Retry-After`` holds for everybody who asks it.

Requests and tokens a minute are spread evenly, so that no way of counting a minute finds too many. There is one
`Limiter` for each endpoint (model and address) in a process, whoever asks: threads, a judge, a reflection model.
The processes or actors of a run have none of their own: a `RemoteLimiter` asks the run's (`LimiterServer`) before every
call, so that all of them together keep to its limits, and what one of them is refused slows down all.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import GoldassayError

if TYPE_CHECKING:
    import dspy

START, LEAST, CUT = 8.0, 1.0, 0.8
PAUSE = 5.0  # seconds without growth after a server failed
SLICE = 0.5  # seconds that anybody sleeps in one go, so that a stop is heard
POLL = 0.1  # seconds after which a worker asks again whether others have left it room
ModelAt = tuple[str, str]  # model and address


@dataclass(frozen=True)
class Limits:
    """Requests (``rpm``) and tokens (``tpm``) a minute; ``None`` is no limit.

    >>> Limits(rpm=60)
    Limits(rpm=60, tpm=None)
    """

    rpm: float | None = None
    tpm: float | None = None

    def __post_init__(self) -> None:
        for name in ("rpm", "tpm"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
                raise GoldassayError(f"{name} is a number above 0 (a minute), not {value!r}")


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

    def limit(self, limits: Limits) -> None:
        """So many a minute from now on."""
        self.requests.per_minute, self.tokens.per_minute = limits.rpm, limits.tpm

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


class LimiterServer:
    """The limiters of a run, asked by its workers; knows what each has in flight, which ends with it.

    >>> server, lm = LimiterServer(), ("openai/doc", "")
    >>> [server.tell(worker, lm, None, "ask", (0.0,))[0] for worker in "aabbaabba"]   # eight to begin with, in all
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]
    >>> server.gone("a"), server.tell("b", lm, None, "ask", (0.0,))[0]
    (None, 0.0)
    """

    def __init__(self) -> None:
        self.held: dict[Hashable, Counter[ModelAt]] = {}
        self.lock = threading.Lock()

    def tell(
        self, worker: Hashable, endpoint: ModelAt, limits: Limits | None, what: str, said: tuple[object, ...]
    ) -> tuple[Any, float]:
        """What the limiter of an endpoint answers to a method of `Limiter`, and what its clock says.

        Args:
            worker: Who tells it, so that what it holds is free when it is gone.
            endpoint: The endpoint that it asks.
            limits: The limits of that endpoint; ``None`` for none.
            what: The name of the method.
            said: The arguments of the method.
        """
        one = _limiter(endpoint, limits)
        answer: Any = getattr(one, what)(*said)
        with self.lock:
            if what != "ask" or answer == 0.0:
                self.held.setdefault(worker, Counter())[endpoint] += 1 if what == "ask" else -1
        return answer, one.clock()

    def gone(self, worker: Hashable) -> None:
        """A worker is no more, and neither are its calls."""
        with self.lock:
            held = self.held.pop(worker, Counter())
        for endpoint, calls in held.items():
            for _ in range(calls):
                _limiter(endpoint, None).failed(server=False)


class RemoteLimiter:
    """Stands in a worker for the limiter of its run, which ``tell`` asks: endpoint, limits, method and arguments.

    What the limiter has said to wait for, no other thread of the worker asks again meanwhile.
    """

    def __init__(self, tell: Callable[..., tuple[Any, float]], endpoint: ModelAt) -> None:
        self.tell, self.endpoint = tell, endpoint
        self.limits: Limits | None = None
        self.ahead = self.until = 0.0
        self.changed = threading.Condition()

    def limit(self, limits: Limits) -> None:
        """So many a minute from now on."""
        self.limits = limits

    def clock(self) -> float:
        """The limiter's clock, which may be that of another machine."""
        return time.monotonic() + self.ahead

    def ask(self, tokens: float = 0.0) -> float:
        """May a call of about so many tokens in its prompt start?"""
        with self.changed:
            if (left := self.until - time.monotonic()) > 0:
                return left
            wait = min(float(self._told("ask", tokens)), POLL)
            self.until = time.monotonic() + wait
            return wait

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until a call of this worker has ended."""
        with self.changed:
            self.changed.wait(seconds)

    def answered(self, expected: float, used: float) -> None:
        """A call came back: ``used`` tokens, where its prompt let expect some."""
        self._left("answered", expected, used)

    def refused(self, started: float, retry_after: float | None = None) -> None:
        """A call that ``started`` then was refused for coming too fast."""
        self._left("refused", started, retry_after)

    def failed(self, server: bool) -> None:
        """A call failed, by a ``server`` that is in trouble or otherwise."""
        self._left("failed", server)

    def _left(self, what: str, *said: Any) -> None:
        with self.changed:
            self._told(what, *said)
            self.until = 0.0
            self.changed.notify(2)  # where one call has ended there may be room for one more than before

    def _told(self, what: str, *said: Any) -> Any:
        answer, now = self.tell(self.endpoint, self.limits, what, said)
        self.ahead = now - time.monotonic()
        return answer


AnyLimiter = Limiter | RemoteLimiter
_limiters: dict[ModelAt, AnyLimiter] = {}
_lock = threading.Lock()
_tell: Callable[..., tuple[Any, float]] | None = None


def ask_elsewhere(tell: Callable[..., tuple[Any, float]]) -> None:
    """This process is a worker of a run: the run's limiters are asked, not its own (`LimiterServer.tell`)."""
    global _tell
    _tell = tell


def limited(lm: dspy.BaseLM, rpm: float | None = None, tpm: float | None = None) -> dspy.BaseLM:
    """The model itself, which runs of goldassay ask no faster than this."""
    vars(lm)["goldassay_limits"] = Limits(rpm, tpm)
    return lm


def limiter(lm: dspy.BaseLM) -> AnyLimiter | None:
    """The limiter of a model's endpoint; none for a model that is no endpoint (it runs in this process)."""
    said = getattr(lm, "goldassay_limits", None)
    if said is None and not isinstance(getattr(lm, "engine", None), str):
        return None
    settings = getattr(lm, "kwargs", None) or {}
    return _limiter(
        (str(getattr(lm, "model", lm)), str(settings.get("api_base") or settings.get("base_url") or "")), said
    )


def _limiter(endpoint: ModelAt, limits: Limits | None) -> AnyLimiter:
    with _lock:
        found = _limiters.get(endpoint)
        if found is None:
            found = _limiters[endpoint] = Limiter() if _tell is None else RemoteLimiter(_tell, endpoint)
    if limits is not None:
        found.limit(limits)
    return found

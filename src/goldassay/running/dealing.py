"""Dealing out the examples of a run to workers elsewhere (`goldassay.running.engines` makes them).

Each worker works on its share of what is in flight with a `Loop` of its own, and one thread here deals with it:
`Elsewhere.deal` hands it examples and takes the rows that are done, several in one message. A worker has a little more
in hand than it works on, so that it need not wait for the next.

What a worker had in hand as it died is halved and tried again, until the example that kills is alone: that one failed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from goldassay.exceptions import GoldassayError, said
from goldassay.metric import failed_with
from goldassay.running.budget import UNITS, BudgetSpent, Meter
from goldassay.running.example import Measuring
from goldassay.running.loop import Loop
from goldassay.running.worker import ELSE, Given, Reply

AHEAD = 0.04  # seconds of work that a worker has in hand beside what it works on
SILENCE = 10.0  # seconds without a sign, beyond the timeout of an example, after which a worker counts as dead


class Died(Exception):
    """The process or actor that worked on examples is gone, or says nothing any more."""


class Remote(Protocol):
    """A worker somewhere else."""

    def exchange(self, body: bytes, patience: float | None) -> bytes:
        """Hand it examples and take what is done (`goldassay.running.worker.Worker.exchange`).

        Raises `Died` where it is gone, or says nothing for ``patience`` seconds.
        """
        ...

    def ready(self) -> None:
        """Wait until it is built; what stands in the way is raised."""

    def close(self) -> None:
        """End it."""


@dataclass
class Hand:
    """What one worker was given and has not done; ``width`` is how many examples it works on at once.

    ``suspect``: a worker died with these examples before. ``rate``: examples a second, of late.
    """

    width: int
    indices: dict[int, None] = field(default_factory=dict)
    suspect: bool = False
    rate: float = 0.0


class Elsewhere:
    """Measures examples in several remote workers, which ``start`` makes; ``widths`` has a number for each.

    ``here`` makes the rows of examples that no worker came back with, ``meter`` says what the budget leaves, and
    ``timeout`` is how many seconds one example may take.
    """

    def __init__(
        self,
        here: Measuring,
        start: Callable[[int], Remote],
        widths: Sequence[int],
        meter: Meter,
        timeout: float | None = None,
    ) -> None:
        self.here, self.start, self.widths, self.meter = here, start, widths, meter
        self.patience = None if timeout is None else timeout + SILENCE
        self.bounded = any(getattr(meter.budget, unit) is not None for unit in UNITS)
        self.suspects: deque[list[int]] = deque()
        self.used: dict[Remote, dict[str, Any]] = {}
        self.hopeless, self.closed, self.lock = "", False, threading.Lock()
        self.workers: list[Remote] = [start(width) for width in widths]
        self.places = iter(range(len(widths)))
        try:
            for worker in self.workers:
                worker.ready()
        except BaseException:
            self.close()
            raise

    def deal(self, loop: Loop) -> None:
        """Deal with one of the workers until nothing is left to do; to be called in a thread for each."""
        with self.lock:
            place = next(self.places)
        hand = Hand(self.widths[place])
        while True:
            new = self._next(loop, hand)
            hand.indices.update(dict.fromkeys(new))
            if not hand.indices:
                return
            began, worker = time.perf_counter(), self.workers[place]
            try:
                given = [(index, self.here.gold[index]) for index in new]
                reply = unpacked(worker.exchange(packed(given, loop.stop.is_set()), self.patience))
            except Died:
                if loop.stop.is_set():
                    return
                self._died(loop, hand, time.perf_counter() - began)
                self._again(place)
                continue
            hand.rate = (hand.rate + len(reply.rows) / (time.perf_counter() - began)) / 2
            with self.lock:
                self.hopeless, self.used[worker] = self.hopeless or reply.hopeless, reply.used
                self.meter.set(self.used.values())
            for index in (*(row["index"] for row in reply.rows), *reply.given_back):
                hand.indices.pop(index, None)
            for row in reply.rows:
                loop.settle(row)
            if reply.error is not None:
                loop.broke(reply.error)

    def _next(self, loop: Loop, hand: Hand) -> list[int]:
        """What a worker is given now: suspects alone, else as many as it can work on at once and some ahead."""
        if loop.stop.is_set():
            return []
        try:
            self.meter.check()
        except BudgetSpent as spent:
            loop.broke(spent)
            return []
        if not hand.indices:
            hand.suspect = False
            with suppress(IndexError):
                group = self.suspects.popleft()
                hand.suspect = True
                return group
        elif hand.suspect or self.suspects:
            return []
        left = len(loop.todo)
        ahead = 0 if self.bounded else min(int(hand.rate * AHEAD), left // (2 * len(self.widths)))
        new: list[int] = []
        with suppress(IndexError):
            while len(hand.indices) + len(new) < hand.width + ahead:
                new.append(loop.todo.popleft())
        return new

    def _died(self, loop: Loop, hand: Hand, seconds: float) -> None:
        """Halve what a worker had in hand, to be tried again; a suspect that was alone has failed."""
        several = list(hand.indices)
        if hand.suspect and len(several) == 1:
            why = "WorkerDied: the process that worked on this example died or fell silent, also when it was alone"
            loop.settle(self.here.row(several[0], failed_with(why), seconds)[1])
        else:
            half = len(several) // 2
            self.suspects.extend(group for group in (several[:half], several[half:]) if group)
        hand.indices.clear()

    def _again(self, place: int) -> None:
        self.workers[place].close()
        with self.lock:
            if self.closed:
                return
            self.workers[place] = self.start(self.widths[place])
        self.workers[place].ready()

    @property
    def loose(self) -> Iterable[dict[str, int]]:
        """What each worker could charge no example with."""
        return [one["loose"] for one in self.used.values()]

    def close(self) -> None:
        """End all workers."""
        with self.lock:
            self.closed = True
        for worker in self.workers:
            worker.close()


def packed(given: Given, stop: bool) -> bytes:
    """Examples and whether to stop, to be sent."""
    import cloudpickle

    try:
        made: bytes = cloudpickle.dumps((given, stop))
    except Exception as error:
        raise GoldassayError(f"gold cannot travel to another process ({said(error)}); {ELSE}") from error
    return made


def unpacked(answer: bytes) -> Reply:
    """A worker's reply; where it is an error, that is raised."""
    import cloudpickle

    found: Reply | BaseException = cloudpickle.loads(answer)
    if isinstance(found, BaseException):
        raise found
    return found

"""The loop: threads that take the next thing until none is left. Linear: nothing is summed twice.

What is done with each thing is a function from its index to its evidence and its row, so that examples and articles are
worked through by the same loop. It stops early where going on makes no sense (`Failures`), and leaves behind what does
not come back in time.
"""

from __future__ import annotations

import contextvars
import ctypes
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue

import dspy

from goldassay.progress import Bar
from goldassay.running.calls import ACCOUNT, Account
from goldassay.running.rows import Row
from goldassay.score import Evidence

Made = tuple[Evidence, Row]
PATIENCE = 2.0  # seconds for what is in flight when a run stops; a call that hangs is left behind
ALIKE, ENOUGH = 5, 20  # equal failures at the start; how many are seen before a share of failures says anything


@dataclass
class Failures:
    """Whether a run still makes sense, as its rows come in.

    It does not where a model refuses for good (a wrong key), where the first `ALIKE` things all fail alike, or where
    more than ``most`` (a share) of at least `ENOUGH` fail. ``most=1`` lets everything fail.

    >>> watch = Failures(0.5)
    >>> [watch.see(f"nl-{i}", "ValueError: no") for i in range(5)][-1]
    'the first 5 examples failed alike: ValueError: no'
    """

    most: float = 0.5
    what: str = "examples"
    worked: int = 0
    """How many went well before, in an earlier part of the run."""
    seen: int = 0
    failed: int = 0
    first: tuple[str, str] = ("", "")
    alike: bool = True

    def see(self, name: str, error: str, hopeless: str = "") -> str:
        """One more row, with its error if it failed; why the run should stop, or nothing."""
        self.seen += 1
        if error:
            self.first = (name, error) if not self.failed else self.first
            self.failed += 1
            self.alike = self.alike and error == self.first[1]
        if self.most >= 1 or not error:
            return ""
        if hopeless and self.failed == self.seen:
            return hopeless
        if self.seen == self.failed == ALIKE and self.alike and not self.worked:
            return f"the first {ALIKE} {self.what} failed alike: {error}"
        if self.seen >= ENOUGH and self.failed > self.most * self.seen:
            share = f"{self.failed} of {self.seen} {self.what} failed, more than --max-failures {self.most:g}"
            return f"{share}; the last, {name}: {error}"
        return ""

    @property
    def all(self) -> str:
        """That everything failed, where that is an error; nothing otherwise."""
        if self.most >= 1 or self.worked or not self.seen or self.failed < self.seen:
            return ""
        name, error = self.first
        if self.seen == 1:
            return f"the one {self.what.removesuffix('s')} failed: {name}: {error}"
        return f"all {self.seen} {self.what} failed; the first, {name}: {error}"


class Abandoned(BaseException):
    """Raised in a thread whose example took too long, in case it is Python code that never ends."""


class _Worker:
    """A thread, and what it is busy with."""

    def __init__(self, target: Callable[[_Worker], None]) -> None:
        self.index: int | None = None
        self.since = 0.0
        self.left_behind = False
        self.account: Account | None = None
        self.thread = threading.Thread(target=contextvars.copy_context().run, args=(target, self), daemon=True)
        self.thread.start()


class Feed:
    """Indices that come as they come: what asks for the next waits for it.

    >>> feed = Feed()
    >>> feed.put(3), feed.put(4), feed.popleft(), feed.drained()
    (None, None, 3, [4])
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[int] = SimpleQueue()
        self.put, self.popleft = self._queue.put, self._queue.get

    def drained(self) -> list[int]:
        """All that nobody has begun."""
        out: list[int] = []
        with suppress(Empty):
            while True:
                out.append(self._queue.get_nowait())
        return out

    def __len__(self) -> int:
        return self._queue.qsize()


class Loop:
    """Makes what is missing: ``todo`` are indices, ``make`` gives their evidence and row, ``keep`` takes each row.

    Each worker runs in a copy of the caller's context, so dspy's settings, its call id and every other context
    variable are what they are outside; what a worker sets stays in it. ``make`` is given the example's account, which
    hears of every call of a model (`goldassay.running.calls`); ``account`` makes one. ``keep`` is called by one worker
    at a time; ``timeout`` (seconds) with ``late``, which makes the row of what did not come back. ``total`` is the
    evidence that the bar starts from, ``done`` the number; ``name`` is the field of a row that it is called by.
    ``watch`` says when going on makes no sense, ``hopeless`` why it makes none whatever comes.
    """

    def __init__(
        self,
        todo: Iterable[int] | Feed,
        make: Callable[[int, Account], Made],
        keep: Callable[[int, Row], object],
        *,
        bar: Bar,
        total: Evidence,
        done: int = 0,
        watch: Failures | None = None,
        hopeless: Callable[[], str] = str,
        name: str = "id",
        timeout: float | None = None,
        late: Callable[[int, float], Made] | None = None,
        account: Callable[[], Account] = Account,
    ) -> None:
        self.name, self.account, self.process = name, account, os.getpid()
        self.make, self.keep, self.bar, self.total, self.done = make, keep, bar, total, done
        self.watch, self.hopeless, self.timeout, self.late = watch or Failures(1.0), hopeless, timeout, late
        self.todo: deque[int] | Feed = todo if isinstance(todo, Feed) else deque(todo)
        self.lock, self.stop, self.closed = threading.Lock(), threading.Event(), False
        self.broken: BaseException | None = None
        self.why = ""

    def work(self, threads: int, deal: Callable[[Loop], None] | None = None) -> str:
        """Run until done, or until it makes no sense to go on: then why.

        What is not an Exception in a worker (a spent budget) stops all and is raised here. ``deal`` is called in each
        thread instead, where things are made elsewhere: it takes from ``todo`` and settles rows until nothing is left.
        """
        run = partial(self._run, self._take if deal is None else lambda _: deal(self))
        with self.bar:
            workers: list[_Worker] = []
            until = 0.0
            try:
                workers += (_Worker(run) for _ in range(threads))
                while busy := [one for one in workers if one.thread.is_alive() and not one.left_behind]:
                    busy[0].thread.join(0.1 if self.timeout is None else min(0.1, self.timeout / 4))
                    self.bar.show(self.done, self.total)
                    if self.timeout is not None:
                        workers += (_Worker(run) for one in busy if self._overdue(one) and not self.stop.is_set())
            except KeyboardInterrupt:
                self.stop.set()
                until = time.monotonic() + PATIENCE
                for one in workers:
                    one.thread.join(max(0.0, until - time.monotonic()))
                raise
            finally:
                with self.lock:
                    self.closed = True
            self.bar.show(self.done, self.total)
        if self.broken is not None:
            raise self.broken
        return self.why

    def _run(self, take: Callable[[_Worker], None], me: _Worker) -> None:
        try:
            take(me)
        except Abandoned:
            return
        except BaseException as error:  # noqa: BLE001  what stops a worker must stop the run, and be seen
            if not me.left_behind:
                self.broke(error)

    def _take(self, me: _Worker) -> None:
        while not self.stop.is_set() and not me.left_behind:
            try:
                index = self.todo.popleft()  # safe between threads; a lock here would make them queue for it
            except IndexError:
                return
            account = me.account = self.account()
            me.since = time.monotonic()
            me.index = index
            with dspy.context(**{ACCOUNT: account, "usage_tracker": account}):
                evidence, row = self.make(index, account)
            if os.getpid() != self.process:
                os._exit(0)  # a copy that the program forked off and let come back: the row is the original's to keep
            me.index = None
            self._settle(me, index, row, evidence)

    def broke(self, error: BaseException) -> None:
        """Begin nothing more; `work` raises this."""
        self.broken = self.broken or error
        self.stop.set()

    def settle(self, row: Row) -> None:
        """Keep a row that was made elsewhere."""
        evidence = self.total.from_state(row["tallies"]) if self.bar.shown else self.total
        self._settle(None, row["index"], row, evidence)

    def _settle(self, me: _Worker | None, index: int, row: Row, evidence: Evidence) -> None:
        """Keep a row, add to what the bar shows, and see whether it makes sense to go on."""
        with self.lock:
            if self.closed or (me is not None and me.left_behind):
                return
            self.keep(index, row)
            self.done += 1
            why = self.watch.see(str(row.get(self.name)), str(row.get("error") or ""), self.hopeless())
            if self.bar.shown:
                self.total = self.total + evidence
        if why and not self.why:
            self.why = why
            self.stop.set()

    @staticmethod
    def _waited(one: _Worker) -> float:
        """Seconds for which a limit or a server kept an example waiting, which are not its own."""
        return one.account.waited if one.account is not None else 0.0

    def _overdue(self, one: _Worker) -> bool:
        """Leave a worker behind whose example took too long; its row says so."""
        index, seconds = one.index, float(self.timeout or 0.0)
        if index is None or self.late is None or time.monotonic() - one.since < seconds + self._waited(one):
            return False
        with self.lock:
            if one.index != index:
                return False
            one.left_behind = True
        thread = one.thread.ident
        if thread is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Abandoned))
        evidence, row = self.late(index, seconds)
        self._settle(None, index, row, evidence)
        return True

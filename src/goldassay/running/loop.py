"""The loop: threads that take the next example until none is left, or until it makes no sense to continue."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 2.0  # seconds for examples in flight when a run is interrupted; a call that hangs is left behind
FIRST, ENOUGH = 5, 20  # equal failures at the start; how many rows before a share of failures means anything


@dataclass
class Failures:
    """Whether a run still makes sense, as its rows come in.

    It does not if a model refuses for good (a wrong key), if the first `FIRST` examples fail with the same error, or if
    more than ``most`` (a share) of at least `ENOUGH` fail. With ``most=1`` everything may fail.

    >>> failures = Failures(0.5)
    >>> [failures.add(f"nl-{i}", "ValueError: no") for i in range(5)][-1]
    'the first 5 examples failed alike: ValueError: no'
    """

    most: float = 0.5
    worked: int = 0
    """How many went well in an earlier part of the run."""
    rows: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, error: str, hopeless: bool = False) -> str:
        """Count a row, with its error if it failed; the reason to stop the run, or nothing."""
        self.rows += 1
        self.errors += [(name, error)] if error else []
        failed = len(self.errors)
        if self.most >= 1 or not error:
            return ""
        if hopeless and failed == self.rows:
            return error
        if self.rows == failed == FIRST and not self.worked and len({each for _, each in self.errors}) == 1:
            return f"the first {FIRST} examples failed alike: {error}"
        if self.rows >= ENOUGH and failed > self.most * self.rows:
            share = f"{failed} of {self.rows} examples failed, more than `max_failures={self.most:g}`"
            return f"{share}; the last, {name}: {error}"
        return ""

    @property
    def all(self) -> str:
        """That everything failed, if that is an error; else nothing."""
        if self.most >= 1 or self.worked or not self.rows or len(self.errors) < self.rows:
            return ""
        what = "the one example failed:" if self.rows == 1 else f"all {self.rows} examples failed; the first,"
        return f"{what} {': '.join(self.errors[0])}"


def work_through(
    todo: Iterable[int],
    make: Callable[[int], T],
    keep: Callable[[T], str],
    *,
    threads: int,
    show: Callable[[], object] = lambda: None,
) -> str:
    """Make and keep a row for each index of ``todo``; the reason why the loop stopped early, or nothing.

    ``make`` runs in ``threads`` threads, each in a copy of the caller's context, so DSPy's settings are what they are
    outside. ``keep`` runs in one thread at a time and returns a reason to stop, or nothing. ``show`` is called every
    tenth of a second. Whatever ``make`` or ``keep`` raises stops the loop and is raised here, after the rows in flight
    are kept; after Ctrl-C they have `PATIENCE` seconds.
    """
    queue, stop, lock, closed = deque(todo), threading.Event(), threading.Lock(), threading.Event()

    def work() -> str:
        try:
            while not stop.is_set():
                try:
                    index = queue.popleft()
                except IndexError:
                    break
                row = make(index)
                with lock:
                    if closed.is_set():
                        break
                    if reason := keep(row):
                        stop.set()
                        return reason
        except BaseException:
            stop.set()
            raise
        return ""

    workers = [start(work)[1] for _ in range(threads)]
    try:
        while wait(workers, 0.1).not_done:
            show()
    except KeyboardInterrupt:
        stop.set()
        wait(workers, PATIENCE)
        raise
    finally:
        with lock:
            closed.set()
    show()
    return next(filter(None, [worker.result() for worker in workers]), "")


def start(function: Callable[[], T]) -> tuple[threading.Thread, Future[T]]:
    """A running daemon thread in a copy of this context, and what the function will return or raise in it."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  raised where the result is asked for
            future.set_exception(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    return thread, future


def asynchronous(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The form of a function for asynchronous code, with the same arguments; it does not block the event loop."""

    @functools.wraps(function)
    async def in_thread(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(function, *args, **options)

    in_thread.__name__ = f"a{function.__name__}"
    return in_thread


class _Abandoned(BaseException):
    """Raised in the thread of an example that took too long, in case it is Python code that never ends."""


def within(seconds: float | None, function: Callable[[], T], waited: Callable[[], float] = float) -> T:
    """What a function returns within so many seconds, not counting those that it ``waited``.

    A call that takes longer is left behind in its thread.

    Raises:
        TimeoutError: It took too long.

    >>> within(1.0, lambda: "in time")
    'in time'
    """
    if seconds is None:
        return function()
    started, (thread, future) = time.monotonic(), start(function)
    while not future.done() and (left := started + seconds + waited() - time.monotonic()) > 0:
        wait([future], left)
    if future.done():
        return future.result()
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned))
    raise TimeoutError(f"no answer within {seconds:g} s")

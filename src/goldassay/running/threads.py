"""Threads that an evaluation starts: each in a copy of its starter's context, with a time limit where one is set."""

from __future__ import annotations

import contextvars
import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


def start(function: Callable[[], T]) -> tuple[threading.Thread, Future[T]]:
    """Start a daemon thread in a copy of this context; the future holds what the function returns or raises."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  raised where the result is asked for
            future.set_exception(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    return thread, future


class Cancelled(KeyboardInterrupt):
    """Whoever awaits the asynchronous form of a function has cancelled it: the function ends as after Ctrl-C."""


CANCELS: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("cancels", default=None)


class _Abandoned(BaseException):
    """Raised in the thread of an example that took too long, in case it is Python code that never ends."""


def within(seconds: float | None, function: Callable[[], T], waited: Callable[[], float] = float) -> T:
    """The result of a function that may take so many seconds, not counting those that it ``waited``.

    A call that takes longer is left behind in its thread.

    Raises:
        TimeoutError: It took too long.

    >>> within(1.0, lambda: "in time")
    'in time'
    """
    if seconds is None:
        return function()
    started = time.monotonic()
    thread, future = start(function)
    while not future.done() and (left := started + seconds + waited() - time.monotonic()) > 0:
        wait([future], left)
    if future.done():
        return future.result()
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned))
    raise TimeoutError(f"no answer within {seconds:g} s")

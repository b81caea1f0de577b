"""Running programs over gold: evaluate, the run and its folder.

What reads runs needs no DSPy; what runs programs does, so it is imported from its own module
(`goldassay.running.evaluate`).
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from goldassay.running.folder import new_folder
from goldassay.running.run import Run
from goldassay.running.threads import CANCELS, Cancelled

P = ParamSpec("P")
T = TypeVar("T")


def asynchronous(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The form of a function for asynchronous code, with the same arguments; it does not block the event loop.

    Cancelled, it ends as after Ctrl-C: no example begins any more, those in flight are kept, and its folder is free.
    """

    @functools.wraps(function)
    async def in_thread(*args: P.args, **options: P.kwargs) -> T:
        cancel = threading.Event()
        results: list[T] = []

        def call() -> None:
            CANCELS.set(cancel)
            with suppress(Cancelled):
                results.append(function(*args, **options))

        work = asyncio.ensure_future(asyncio.to_thread(call))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            cancel.set()
            await asyncio.wait([work])
            work.exception()  # nobody asks for it any more
            raise
        return results[0]

    in_thread.__name__ = f"a{function.__name__}"
    return in_thread


__all__ = ["Run", "new_folder"]

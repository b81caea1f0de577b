"""Running programs over gold: evaluate, the run and its folder.

What reads runs needs no DSPy; what runs programs does, so it is imported from its own module
(`goldassay.running.evaluate`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from goldassay.running.folder import new_folder
from goldassay.running.run import Run

P = ParamSpec("P")
T = TypeVar("T")


def asynchronous(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The form of a function for asynchronous code, with the same arguments; it does not block the event loop."""

    @functools.wraps(function)
    async def in_thread(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(function, *args, **options)

    in_thread.__name__ = f"a{function.__name__}"
    return in_thread


__all__ = ["Run", "new_folder"]

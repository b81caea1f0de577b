"""The seven tasks, a package each, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Examples = Sequence[object]
"""Gold examples or predictions, aligned."""


def cached(method: Callable[..., T]) -> Callable[..., T]:
    """A method of a batch that counts once for all measures that share the batch; its arguments stand in their order.

    The numbers stay with the batch: `functools.cache` would keep all examples alive.
    """

    def call(batch: Any, *arguments: object) -> T:
        cache, key = vars(batch).setdefault("cache", {}), (method, *arguments)
        if key not in cache:
            cache[key] = method(batch, *arguments)
        counts: T = cache[key]
        return counts

    return call

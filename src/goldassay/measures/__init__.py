"""The seven tasks, a package each, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

B = TypeVar("B")
T = TypeVar("T")
P = ParamSpec("P")
Examples = Sequence[object]
"""Gold examples or predictions, aligned."""
JSON = str | int | float | Mapping[str, Any] | Sequence[Any] | None
"""A value as JSON has it."""


def cached(method: Callable[Concatenate[B, P], T]) -> Callable[Concatenate[B, P], T]:
    """A method of a batch that counts once for all measures that share the batch.

    The numbers stay with the batch: `functools.cache` would keep all examples alive.
    """

    def call(batch: B, /, *arguments: P.args, **options: P.kwargs) -> T:
        cache: dict[Hashable, T] = vars(batch).setdefault("cache", {})
        key = (method, *arguments, *options.items())
        if key not in cache:
            cache[key] = method(batch, *arguments, **options)
        return cache[key]

    return call

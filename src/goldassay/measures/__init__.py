"""The eight tasks, a package each, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

from goldassay.core.measure import B, Measure, spelled
from goldassay.core.tally import Mean, T

BatchT = TypeVar("BatchT")
Counted = TypeVar("Counted")
Options = ParamSpec("Options")
Examples = Sequence[object]
"""Gold examples or predictions, aligned."""


@dataclass(frozen=True)
class TaskMeasure(Measure[T, B]):
    """A measure of a task; its evidence is a mean unless it says something else."""

    @property
    def zero(self) -> Any:
        """No evidence of a mean."""
        return Mean()


def misspelled(name: str) -> NoReturn:
    """The ``__getattr__`` of the packages of measures: what a measure that they lack is called.

    Raises:
        AttributeError: The name is not that of a class.
        ImportError: There is no measure of this name.
    """
    if not name[:1].isupper():
        raise AttributeError(name)
    raise ImportError(f"no measure {name!r}; did you mean {spelled(name)}?")


def cached(method: Callable[Concatenate[BatchT, Options], Counted]) -> Callable[Concatenate[BatchT, Options], Counted]:
    """A method of a batch that counts once for all measures that share the batch.

    The numbers stay with the batch: `functools.cache` would keep all examples alive.
    """

    def call(batch: BatchT, /, *arguments: Options.args, **options: Options.kwargs) -> Counted:
        cache: dict[Hashable, Counted] = vars(batch).setdefault("cache", {})
        key = (method, *arguments, *options.items())
        if key not in cache:
            cache[key] = method(batch, *arguments, **options)
        return cache[key]

    return call

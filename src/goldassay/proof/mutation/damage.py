"""What a damage is: a prediction that was right, made wrong in one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]
Apply = Callable[[Record, Record, Record], Record | None]
"""A gold example, its right prediction and another gold example of the task, to a damaged prediction, or ``None`` where
this example cannot be damaged so."""


@dataclass(frozen=True)
class Damage:
    """One way of being wrong. What is ``harmless`` changes no meaning: no measure may notice it."""

    task: str
    name: str
    about: str
    apply: Apply
    harmless: bool = False


def listed(field: str, change: Callable[[Sequence[Any], Record, Record], Sequence[Any] | None]) -> Apply:
    """A damage of a list in the prediction: ``change`` gets the list, the gold example and another one."""

    def apply(gold: Record, pred: Record, other: Record) -> Record | None:
        made = change(pred[field], gold, other)
        return None if made is None else {**pred, field: list(made)}

    return apply


def each(field: str, change: Callable[[Mapping[str, Any], Record, Record], Mapping[str, Any] | None]) -> Apply:
    """A damage of every item of a list that can be damaged so."""

    def made(items: Sequence[Any], gold: Record, other: Record) -> Sequence[Any] | None:
        out = [change(item, gold, other) for item in items]
        if all(item is None for item in out):
            return None
        return [item if found is None else found for item, found in zip(items, out, strict=True)]

    return listed(field, made)

"""Which answers were cut short while an example was worked on."""

from __future__ import annotations

from contextvars import ContextVar

_CUT: ContextVar[list[str] | None] = ContextVar("cut", default=None)


def watch() -> list[str]:
    """A list that the engines called from here on add to, one entry per answer that was cut short."""
    found: list[str] = []
    _CUT.set(found)
    return found


def note(model: str) -> None:
    """An answer of this model was cut short."""
    found = _CUT.get()
    if found is not None:
        found.append(model)

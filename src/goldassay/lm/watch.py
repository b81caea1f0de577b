"""What happened to the model calls of one example: answers cut short, and seconds spent waiting for a rate limit."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class CallNotes:
    """Counts over the calls made since `watch`."""

    truncated: int = 0
    waited: float = 0.0


_notes: ContextVar[CallNotes | None] = ContextVar("notes", default=None)


def watch() -> CallNotes:
    """Start to count in this context; replaces what was counted before."""
    notes = CallNotes()
    _notes.set(notes)
    return notes


def note(truncated: int = 0, waited: float = 0.0) -> None:
    """Add to the counts of the current context, if anybody watches."""
    notes = _notes.get()
    if notes is not None:
        notes.truncated += truncated
        notes.waited += waited

"""What a replay of official results gives: how many numbers came out the same, and the first that did not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SHOWN = 10


@dataclass
class SuiteResult:
    """One suite: ``reproduced`` of ``total`` official numbers; ``differences`` are the first ones, in words.

    >>> result = SuiteResult("demo")
    >>> result.add("P@5 of query 1", official="0.4000", ours="0.4000")
    >>> result.add("RR of query 1", official="0.5000", ours="1.0000")
    >>> result.reproduced, result.total, result.differences
    (1, 2, ['RR of query 1: official 0.5000, ours 1.0000'])
    """

    name: str
    reproduced: int = 0
    total: int = 0
    differences: list[str] = field(default_factory=list)
    missing: str = ""
    """Why nothing was compared, and what to do about it."""

    def add(self, what: str, official: object, ours: object) -> None:
        """Count one official number."""
        self.total += 1
        if official == ours:
            self.reproduced += 1
        elif len(self.differences) < SHOWN:
            self.differences.append(f"{what}: official {official}, ours {ours}")

    def near(self, what: str, official: float, ours: float | None, within: float = 1e-9) -> None:
        """Count one official number that is given in full."""
        same = ours is not None and abs(official - ours) <= within
        self.add(what, official, official if same else ours)

    def maybe(self, what: str, official: float | None, ours: float | None, within: float = 1e-9) -> None:
        """Count one official number that may be undefined."""
        if official is None or ours is None:
            self.add(what, official, ours)
        else:
            self.near(what, official, ours, within)

    def note(self, text: str) -> None:
        """Say what was not replayed; it is not counted."""
        if len(self.differences) < SHOWN:
            self.differences.append(text)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "reproduced": self.reproduced,
            "total": self.total,
            "differences": self.differences,
            "missing": self.missing,
        }

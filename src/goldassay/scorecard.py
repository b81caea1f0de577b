"""What scoring a set of predictions gives: values, counts, breakdowns, conventions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Scorecard:
    """Values by name, the counts they come from, the same by facet, and the convention behind each value.

    ``values`` hold ``None`` where there is no evidence. ``by`` maps a facet (``type``, ``label``, ``property`` …) to
    its keys and their values. ``explain`` maps a value's name to its definition and source, ``intervals`` to the low
    and the high end of its 95 % interval (see `goldassay.statistics.scorecards`).
    """

    task: str
    examples: int
    values: dict[str, float | None] = field(default_factory=dict)
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    by: dict[str, dict[str, dict[str, float | None]]] = field(default_factory=dict)
    conventions: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    explain: dict[str, str] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """As one JSON object (``goldassay score --json``)."""
        return {
            "task": self.task,
            "examples": self.examples,
            "values": self.values,
            "intervals": self.intervals,
            "counts": self.counts,
            "by": self.by,
            "conventions": self.conventions,
            "warnings": self.warnings,
        }


def rates(counts: Mapping[str, float], prefix: str = "") -> dict[str, float | None]:
    """Precision, recall and F1 of tp, fp, fn; ``None`` for all three where there is no evidence.

    >>> rates({"tp": 1, "fp": 1, "fn": 0}, "strict_")
    {'strict_precision': 0.5, 'strict_recall': 1.0, 'strict_f1': 0.6666666666666666}
    """
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    if tp + fp + fn == 0:
        return {f"{prefix}{name}": None for name in ("precision", "recall", "f1")}
    return {
        f"{prefix}precision": tp / (tp + fp) if tp + fp else 0.0,
        f"{prefix}recall": tp / (tp + fn) if tp + fn else 0.0,
        f"{prefix}f1": 2 * tp / (2 * tp + fp + fn),
    }

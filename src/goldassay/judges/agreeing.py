"""How far labels agree, with intervals: Cohen's κ, and Krippendorff's α, which is ordinal for the steps of a scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from goldassay.gold.agreement.coefficient import Coefficient, defined
from goldassay.gold.agreement.krippendorff import Alpha, ScaledAlpha, evidence
from goldassay.judges.labels import Item
from goldassay.judges.questions import Question
from goldassay.judges.votes import Vote
from goldassay.statistics.intervals import Interval, interval

UNKNOWN = "unknown"


def agreement(units: Sequence[Sequence[str | None]], asked: Question, level: float, seed: int) -> Interval | None:
    """Krippendorff's α of units: ordinal where the question's labels are steps of a scale."""
    if not asked.ordered:
        return coefficient([Alpha.of([unit]) for unit in units], Alpha(), level, seed)
    steps = [[None if one is None else asked.worth[one] for one in unit] for unit in units]
    return coefficient([evidence([unit], "ordinal") for unit in steps], ScaledAlpha({}, "ordinal"), level, seed)


def coefficient(tallies: Sequence[Coefficient], zero: Coefficient, level: float, seed: int) -> Interval | None:
    """A coefficient with its bootstrap interval; ``None`` where nothing varies or nothing can be compared."""
    kept = [tally for tally in tallies if tally.weight]
    if not kept or defined(sum(kept, zero)) is None:
        return None
    return interval(kept, zero, level=level, seed=seed, resamples=1000)


def confusion(names: Sequence[str], rows: Sequence[tuple[Item, Vote]]) -> dict[str, dict[str, int]]:
    """For each label of people, how often the judge gave which verdict."""
    seen = Counter((item.label, vote.label or UNKNOWN) for item, vote in rows if item.label is not None)
    columns = [*names, UNKNOWN]
    return {row: {column: seen[row, column] for column in columns} for row in names}

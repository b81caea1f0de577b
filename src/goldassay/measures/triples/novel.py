"""The novel discovery rate, from verdicts that people gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from goldassay.exceptions import DataError
from goldassay.measures.triples.evidence import VERDICTS
from goldassay.statistics.intervals import wilson


def novel_discovery_rate(verdicts: Iterable[str], level: float = 0.95) -> dict[str, float | None]:
    """NDR = correct / (correct + incorrect), with its Wilson interval and the counts of all four verdicts.

    >>> found = novel_discovery_rate(["correct", "correct", "correct", "incorrect", "uncertain", "in_wikidata"])
    >>> found["novel_discovery_rate"], found["uncertain"]
    (0.75, 1.0)
    """
    counts = Counter(verdicts)
    wrong = next((verdict for verdict in counts if verdict not in VERDICTS), None)
    if wrong is not None:
        raise DataError(f"a verdict is one of {', '.join(VERDICTS)}, not {wrong!r}")
    judged = counts["correct"] + counts["incorrect"]
    low, high = wilson(counts["correct"], judged, level) if judged else (None, None)
    return {
        "novel_discovery_rate": counts["correct"] / judged if judged else None,
        "low": low,
        "high": high,
        **{verdict: float(counts[verdict]) for verdict in VERDICTS},
    }

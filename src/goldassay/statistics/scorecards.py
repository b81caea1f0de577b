"""Intervals for a scorecard: each measure's evidence of each example, resampled.

A scorecard is made in one pass over the whole corpus; an interval needs the evidence example by example. So each
measure of the task assesses the examples once more, and only where its corpus value is the scorecard's own does its
interval stand beside it: a value that was made under other conventions (an official protocol) has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.fields import read
from goldassay.measure import Measure
from goldassay.scorecard import Scorecard
from goldassay.statistics.intervals import Interval, interval


def intervals(
    card: Scorecard,
    gold: Sequence[Any],
    pred: Sequence[Any],
    measures: Mapping[str, Measure[Any]],
) -> dict[str, Interval]:
    """The 95 % interval of each value that a measure of its name gives.

    Examples are independent, or whole documents are where examples name the ``document`` that they stand in.

    >>> from goldassay.measures import retrieval
    >>> gold, pred = [{"relevant": ["a"]}, {"relevant": ["b"]}], [{"results": ["a"]}, {"results": ["a", "b"]}]
    >>> found = intervals(retrieval.scorecard(gold, pred), gold, pred, {"RR": retrieval.RR()})["RR"]
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (0.365, 0.75, 0.94)
    """
    named = [read(one, "document", None) for one in gold]
    clusters = [index if name is None else name for index, name in enumerate(named)] if any(named) else None
    out: dict[str, Interval] = {}
    for name, measure in measures.items():
        value = card.values.get(name)
        if value is None:
            continue
        tallies = [measure(*pair).tally for pair in zip(gold, pred, strict=True)]
        found = interval(tallies, measure.zero, clusters=clusters, bounds=measure.bounds)
        if abs(found.value - value) <= 1e-9:
            out[name] = found
    return out

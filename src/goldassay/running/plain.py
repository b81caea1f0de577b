"""A plain function as a metric: the mean of what it returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from goldassay.exceptions import MetricError
from goldassay.measure import Assessment, failed
from goldassay.running.run import PLAIN
from goldassay.score import Evidence
from goldassay.tally import Mean


class Plain:
    """What a run needs of a metric, for any function of (gold, prediction) that returns a number; a failure is 0.

    >>> metric = Plain(lambda gold, pred: gold["label"] == pred["label"])
    >>> metric.assess({"label": "M"}, {"label": "M"})["score"].tally
    Mean(total=1.0, weight=1.0)
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function
        self.weights = {PLAIN: 1.0}
        self.zero = Evidence({PLAIN: Mean()}, self.weights)
        self.measures: dict[str, Any] = {}
        self.targets: dict[str, float] = {}

    def assess(self, gold: Any, pred: Any) -> dict[str, Assessment[Any]]:
        """The number of one pair, as evidence."""
        if failed(pred):
            return {PLAIN: Assessment(Mean(0.0, 1.0))}
        found = self.function(gold, pred)
        try:
            value = float(found)
            if not math.isfinite(value):
                raise ValueError
        except (TypeError, ValueError):
            raise MetricError(f"the metric returned {found!r}; a metric returns a number or a Score") from None
        return {PLAIN: Assessment(Mean(value, 1.0))}

"""Evidence of several measures: what one or many examples add to each, and the one number of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from goldassay.tally import By, Number, Tally, mean
from goldassay.tally.sums import positive


class Evidence(By[str, Tally]):
    """The tallies of one or many examples by measure name, with the weights that make one number of them.

    Args:
        tallies: The tallies.
        weights: What each measure weighs; 1 if it is not named.
        worst: The worst value of each measure whose lower values are better (`goldassay.measure.Measure.worst`).

    >>> from goldassay.tally import Mean
    >>> both = Evidence({"accuracy": Mean.of(0.5), "brier": Mean.of(0.25)}, worst={"brier": 1.0})
    >>> both.score("accuracy"), both.score("brier"), both.value
    (0.5, 0.75, 0.625)
    """

    def __init__(
        self,
        tallies: Mapping[str, Tally] = {},
        weights: Mapping[str, float] = {},
        worst: Mapping[str, float] = {},
    ) -> None:
        super().__init__(tallies)
        self.weights, self.worst = dict(weights), dict(worst)

    @classmethod
    def empty(cls, measures: Mapping[str, Any], weights: Mapping[str, float] = {}) -> Self:
        """No evidence yet for these measures."""
        return cls({key: measure.zero for key, measure in measures.items()}, weights, worst_values(measures))

    def with_items(self, items: Mapping[str, Tally]) -> Self:
        settings: Any = self if self.weights or self.worst else items
        return type(self)(items, getattr(settings, "weights", {}), getattr(settings, "worst", {}))

    def __add__(self, other: Mapping[str, Tally], /) -> Self:
        return super().__add__(other) if self else self.with_items(other)

    @property
    def value(self) -> Number:
        """The weighted mean of the measures' scores, over the measures that have evidence: higher is better."""
        if len(self) == 1:
            return self.score(next(iter(self)))
        return mean(
            (self.score(key), self.weights.get(key, 1.0) * positive(tally.weight)) for key, tally in self.items()
        )

    @property
    def is_mean(self) -> bool:
        """Whether the value is the mean of the examples' own values (up to what they weigh)."""
        return all({"total", "weight"} <= tally.state().keys() for tally in self.values())

    def score(self, key: str) -> Number:
        """A measure's value as DSPy maximises it: 1 - value / worst where lower is better; 1 without evidence."""
        tally, worst = self[key], self.worst.get(key)
        return tally.value if worst is None else 1.0 - positive(tally.weight) * tally.value / worst


def worst_values(measures: Mapping[str, Any]) -> dict[str, float]:
    """The worst value of each measure whose lower values are better."""
    return {key: worst for key, measure in measures.items() if (worst := measure.worst) is not None}

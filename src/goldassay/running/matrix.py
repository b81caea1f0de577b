"""Programs with models on the same gold: the best one, and the cheapest that is not worse by more than a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldassay.core.evidence import contributions
from goldassay.core.fields import JsonObject
from goldassay.results.view import p_value
from goldassay.running.run import Run
from goldassay.statistics.noninferiority import NotWorse, cheapest_not_worse


@dataclass(frozen=True)
class Recommendation:
    """The best of several runs by the metric, and the cheapest that is not worse than the best by the margin.

    ``costs`` are in ``unit`` an example, ``usages`` in every unit (money for a thousand examples; None without a price,
    and of a run whose answers were all in the cache); ``tests`` has the test of each run against the one
    that is hardest to match.
    """

    names: tuple[str, ...]
    best: int
    cheapest: int | None
    margin: float
    unit: str
    costs: tuple[float, ...]
    usages: tuple[dict[str, float | None], ...]
    tests: tuple[NotWorse, ...]

    @property
    def sentences(self) -> list[str]:
        """Which is the best, and which cheaper one is not worse; else how many examples would settle it."""
        best = self.names[self.best]
        cached = [name for name, used in zip(self.names, self.usages, strict=True) if used.get("seconds", 0) is None]
        if cached:
            why = f"all answers of {', '.join(cached)} came from the cache (cache=false asks anew)"
            return [f"The best by the metric is {best}.", f"The cheapest cannot be named: {why}."]
        lines = [f"The best by the metric is {best} ({self.costs[self.best]:.4g} {self.unit} an example)."]
        cheaper = [i for i, cost in enumerate(self.costs) if cost < self.costs[self.best]]
        if self.cheapest in cheaper:
            cost = f"{self.costs[self.cheapest]:.4g} {self.unit} an example"
            p = min(1.0, self.tests[self.cheapest].p * (len(self.names) - 1))  # Bonferroni, as it was chosen
            return [
                *lines,
                f"The cheapest that is not worse than the best by more than {self.margin:g} is "
                f"{self.names[self.cheapest]} ({cost}, p {p_value(p)}, corrected for {len(self.names)} systems).",
            ]
        if not cheaper:
            return [*lines, "None is cheaper."]
        line = f"No cheaper one is shown to be within {self.margin:g} of it"
        if undecided := [i for i in cheaper if self.tests[i].needed]:
            first = min(undecided, key=lambda i: self.costs[i])
            line += f": about {self.tests[first].needed} examples would settle it for {self.names[first]}"
        return [*lines, f"{line}."]

    def state(self) -> JsonObject:
        """As JSON."""
        return {
            "best": self.names[self.best],
            "cheapest": None if self.cheapest is None else self.names[self.cheapest],
            "margin": self.margin,
            "unit": self.unit,
            "costs": dict(zip(self.names, self.costs, strict=True)),
            "usages": dict(zip(self.names, self.usages, strict=True)),
            "tests": {name: test.state() for name, test in zip(self.names, self.tests, strict=True)},
            "sentences": self.sentences,
        }


def recommend(runs: Sequence[Run], margin: float) -> Recommendation:
    """The best run, and the cheapest that is not worse by more than a margin.

    The cost is money where every run has a price, else tokens, else seconds: the same unit for all.

    Args:
        runs: Two runs or more on the same gold, by the same metric.
        margin: The loss that is tolerated, of the metric's score.

    Raises:
        GoldassayError: The margin is not above 0.
    """
    gains = []
    for run in runs:
        row = []
        for other in runs:
            parts = contributions(run.evidence, other.evidence, other.zero, clusters=other.clusters)
            row.append(len(parts) * parts)
        gains.append(row)
    usages: list[dict[str, float | None]] = []
    for run in runs:
        n = len(run.rows)
        usd = run.cost.get("usd")  # 0 if the model has no price
        used = {
            "usd_per_1000": run.uncached(1000 * usd / n) if usd else None,
            "tokens": run.uncached((run.cost.get("prompt_tokens", 0) + run.cost.get("completion_tokens", 0)) / n),
            "seconds": run.uncached(run.cost.get("seconds", 0.0) / n),
        }
        usages.append(used)
    unit = next((name for name in usages[0] if all(used[name] for used in usages)), "seconds")
    costs = [(used[unit] or 0.0) / (1000 if unit == "usd_per_1000" else 1) for used in usages]
    unit = unit.partition("_")[0]
    cheapest, tests = cheapest_not_worse(gains, costs, margin)
    if any(used["seconds"] is None for used in usages):
        cheapest = None
    best = max(range(len(runs)), key=lambda i: min(float(gain.mean()) for j, gain in enumerate(gains[i]) if j != i))
    if cheapest is not None and costs[cheapest] == costs[best]:
        cheapest = best  # of those that cost the same
    names = tuple(run.name for run in runs)
    return Recommendation(
        names, best, cheapest, margin, unit, tuple(costs), tuple(usages), tuple(tests[i] for i in range(len(runs)))
    )

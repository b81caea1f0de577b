"""A ranking of systems on the same gold: runs, or files of predictions, under any weights.

``value`` is the weighted mean of the measures' scores (1 - value / worst where lower is better), by default under the
metric's own weights. ``ranks`` is the set of ranks that a system may have, ``first`` how often it would lead under
other weights, and ``on_front`` says whether no other system is better at both value and cost, and at both value and
seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldassay._support import files
from goldassay._support.display import Displayed
from goldassay._support.exceptions import ConventionError, GoldassayError
from goldassay.core.fields import JsonObject
from goldassay.core.tally import Evidence
from goldassay.results.view import Sentence, Table, TableRow, View, number, with_interval
from goldassay.running.comparing import STORED, check_comparable
from goldassay.running.run import Run
from goldassay.running.summary import labels, tokens, under_protocol
from goldassay.statistics import Interval, interval
from goldassay.statistics.paired import Rank, ranks


@dataclass
class RankedRun:
    """One system of a ranking. The cost is money if the runs know prices, else tokens; ``unit`` says which."""

    name: str
    run: Run
    value: Interval
    ranks: Rank
    first: float
    unit: str
    place: int = 1
    front: dict[str, bool] = field(default_factory=dict)

    def _spent(self, amount: float | None) -> float | None:
        """Whether time and cost are known: those of existing predictions and of cached answers are not."""
        return None if STORED in self.run.head.settings else self.run.uncached(float(amount or 0.0))

    @property
    def seconds(self) -> float | None:
        """How long the run took; None if that is not known."""
        return self._spent(self.run.cost.get("seconds"))

    @property
    def cost(self) -> float | None:
        """The cost of the run; None if that is not known."""
        return self._spent(self.run.cost.get("usd") if self.unit == "money" else tokens(self.run.cost))

    def state(self) -> JsonObject:
        """As JSON."""
        return {
            **{name: getattr(self, name) for name in ("name", "place", "seconds", "cost", "front")},
            "ranks": [self.ranks.low, self.ranks.high],
            "value": self.value.value,
            "interval": [self.value.low, self.value.high],
            "values": self.run.values,
            "first_under_any_weights": self.first,
            "unit_of_cost": self.unit,
            "folder": str(self.run.folder) if self.run.folder else None,
        }


class Ranking(list[RankedRun], Displayed):
    """Systems, the best first."""

    def view(self) -> View:
        """Who leads, and each system with the ranks that it may have."""
        first, *notes = leader(self)
        rows: list[TableRow] = [
            [
                str(system.ranks),
                system.name,
                system.value,
                f"{100 * system.first:.0f} %",
                number(system.seconds, 1),
                "–" if system.cost is None else f"{system.cost:g}",
            ]
            for system in self
        ]
        title = f"{len(self)} systems on {self[0].run.size}{under_protocol([system.run for system in self])}"
        columns = ["ranks", "system", "value [95 %]", "leads", "seconds", self[0].unit]
        legend = "ranks: the places that paired tests leave open; leads: how often it would lead under other weights"
        table = Table(title, columns, rows, left=2)
        return [Sentence(first, "open"), table, Sentence(legend, unbroken=True), *map(Sentence, notes)]

    def __repr__(self) -> str:
        return summary(self)


def rank(runs: Sequence[Run], weights: Mapping[str, float] | None = None, *, seed: int = 0) -> Ranking:
    """Ranks runs on the same gold, the best first; one that failed on every example has no value (`unranked`).

    Args:
        runs: Two or more, on the same examples under the same conventions.
        weights: Of the measures by name; by default those of the runs' metric.
        seed: Of the resampling.

    Raises:
        ConventionError: The runs have other gold, other conventions, or lack a weighted measure.
        GoldassayError: There are fewer than two runs, or all failed on every example.
    """
    if len(runs) < 2:
        raise GoldassayError("a ranking needs two systems or more")
    usable = [run for run in runs if run.available]
    if not usable:
        raise GoldassayError(f"there is nothing to rank: {'; '.join(unranked(runs))}")
    first = usable[0]
    for run in usable[1:]:
        check_comparable(first, run)
    is_metric = not weights  # whose interval every run knows
    weights = {name: weight for name, weight in (weights or first.zero.weights).items() if weight > 0}
    for name in weights:
        if any(name not in run.zero for run in usable):
            shared = [name for name in first.zero if all(name in run.zero for run in usable)]
            raise ConventionError(f"not every run has {name!r}; all have {', '.join(shared)}")
    zero = Evidence({name: first.zero[name] for name in weights}, weights, first.zero.worst)
    evidence: list[Any] = [zero.with_items({name: run.result.columns[name] for name in weights}) for run in usable]
    values = [
        (run.interval if is_metric else None) or interval(rows, zero, clusters=first.clusters, seed=seed)
        for run, rows in zip(usable, evidence, strict=True)
    ]
    points = [value.value for value in values]
    scores = [{name: float(run.total.score(name)) if name in run.values else 0.0 for name in weights} for run in usable]
    unit = "money" if any(run.cost.get("usd") for run in usable) else "tokens"
    places = ranks(evidence, zero, clusters=first.clusters, seed=seed)
    rows = zip(labels(usable), usable, values, places, firsts(scores, seed=seed), strict=True)
    systems = [RankedRun(*row, unit) for row in rows]
    for name in ("cost", "seconds"):
        on_front = front([getattr(system, name) for system in systems], points)
        for system, on in zip(systems, on_front, strict=True):
            system.front[name] = on
            system.place = 1 + sum(other > system.value.value + 1e-12 for other in points)
    return Ranking(sorted(systems, key=lambda system: (system.place, system.name)))


def unranked(runs: Sequence[Run]) -> list[str]:
    """A sentence for each run that has no rank, with the reason."""
    return [
        f"{name} is not ranked: it failed on all {len(run.rows)} examples; the first: {run.rows[0].error}"
        for name, run in zip(labels(runs), runs, strict=True)
        if not run.available and run.rows
    ]


def firsts(values: Sequence[Mapping[str, float]], *, draws: int = 10_000, seed: int = 0) -> list[float]:
    """How often each system would lead if the weights were drawn uniformly from the simplex; ties share a first place.

    >>> firsts([{"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.5}])
    [1.0, 0.0]
    """
    matrix = np.array([list(row.values()) for row in values], dtype=float)
    totals = np.random.default_rng(seed).dirichlet(np.ones(matrix.shape[1]), size=draws) @ matrix.T
    best = totals >= totals.max(axis=1, keepdims=True) - 1e-12
    shares: list[float] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return shares


def front(costs: Sequence[float | None], values: Sequence[float]) -> list[bool]:
    """The Pareto front: whether no other system has at most the cost and at least the value. Unknown costs are off it.

    >>> front([1.0, 2.0, 3.0, None], [0.5, 0.9, 0.8, 1.0])
    [True, True, False, False]
    """
    points = [(cost, value) for cost, value in zip(costs, values, strict=True) if cost is not None]
    return [
        cost is not None and not any((c, v) != (cost, value) and c <= cost and v >= value for c, v in points)
        for cost, value in zip(costs, values, strict=True)
    ]


def leader(systems: Sequence[RankedRun]) -> list[str]:
    """The winner, and who may be as good."""
    best, *followers = systems
    value = with_interval(best.value)
    if best.ranks.high == 1:
        return [f"Winner: {best.name}, {value}"]
    rivals = ", ".join(system.name for system in followers if system.ranks.low == 1)
    return [f"No clear winner: {best.name} leads with {value}", f"{rivals} may be as good on {best.run.size}."]


def summary(systems: Sequence[RankedRun], notes: Sequence[str] = ()) -> str:
    """The ranking as text; ``notes`` name the runs that are not in it."""
    lines = [*leader(systems), "", "Place  Ranks  Value   System"]
    lines += [f"{row.place:<6} {row.ranks!s:<6} {row.value.value:.4f}  {row.name}" for row in systems]
    lines += ["", "How often each leads under any other weights:"]
    lines += [f"{100 * row.first:5.1f} %  {row.name}" for row in systems]
    lines += ["", *notes] if notes else []
    return "\n".join(lines) + "\n"


def texts(systems: Sequence[RankedRun], notes: Sequence[str] = ()) -> dict[str, str]:
    """``model_rankings.csv`` (a row a system), ``model_responses.csv`` (a row for each system and example) and
    ``evaluation_summary.txt``."""
    table = [
        {
            "Rank": system.place,
            "Ranks": str(system.ranks),
            "Model": system.name,
            **{name.capitalize() if name.islower() else name: value for name, value in system.run.values.items()},
            "Final_Score": system.value.value,
            "Low": system.value.low,
            "High": system.value.high,
            "Seconds": system.seconds,
            "Cost": system.cost,
        }
        for system in systems
    ]
    responses: list[JsonObject] = []
    for system, row in ((ranked, row) for ranked in systems for row in ranked.run.rows):
        prediction = row.prediction or {}
        inputs = row.inputs or {}
        responses.append(
            {
                "Model": system.name,
                "Id": row.id,
                **{str(key): value for key, value in inputs.items() if isinstance(value, (str, int, float))},
                "Answer": prediction.get("answer", prediction.get("label", prediction)),
                "Score": row.score,
                "Seconds": row.latency_s,
                "Error": row.error,
            }
        )
    return {
        "model_rankings.csv": files.csv_of_records(table),
        "model_responses.csv": files.csv_of_records(responses),
        "evaluation_summary.txt": summary(systems, notes),
    }

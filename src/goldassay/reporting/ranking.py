"""A ranking of systems on the same gold: runs, or files of predictions, under any weights.

``value`` is the weighted mean of the measures' scores (1 - value / worst where lower is better), by default under the
metric's own weights. ``ranks`` is the set of ranks
that a system may have, ``first`` how often it would lead under other weights, and ``on_front`` says whether no other
system is better at both value and cost, and at both value and seconds.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goldassay.exceptions import ConventionError, GoldassayError
from goldassay.notebook import Displayed
from goldassay.reporting.summary import labels, tokens
from goldassay.reporting.terminal import bounds, number
from goldassay.running.comparing import check_comparable
from goldassay.running.run import Run
from goldassay.statistics import Interval, interval
from goldassay.statistics.paired import Rank, ranks
from goldassay.tally.evidence import Evidence

STORED = "predictions"  # the setting of a run of existing predictions: it took no time and cost nothing


@dataclass(frozen=True)
class RankedRun:
    """One system of a ranking.

    ``seconds`` and ``cost`` are None for existing predictions. The cost is money if the runs know prices, else tokens;
    ``unit`` says which.
    """

    name: str
    run: Run
    value: Interval
    ranks: Rank
    place: int
    first: float
    seconds: float | None
    cost: float | None
    unit: str
    on_front: tuple[bool, bool]

    @property
    def cached(self) -> int:
        """How many answers came from a cache and cost neither time nor tokens."""
        return int(self.run.cost.get("cached") or 0)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "name": self.name,
            "place": self.place,
            "ranks": [self.ranks.low, self.ranks.high],
            "value": self.value.value,
            "interval": [self.value.low, self.value.high],
            "values": self.run.values,
            "first_under_any_weights": self.first,
            "seconds": self.seconds,
            "cost": self.cost,
            "unit_of_cost": self.unit,
            "cached": self.cached,
            "front": {"cost": self.on_front[0], "seconds": self.on_front[1]},
            "folder": str(self.run.folder) if self.run.folder else None,
        }


class Ranking(list[RankedRun], Displayed):
    """Systems, the best first."""

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
    if not any(run.available for run in runs):
        raise GoldassayError(f"there is nothing to rank: {'; '.join(unranked(runs))}")
    runs = [run for run in runs if run.available]
    for run in runs[1:]:
        check_comparable(runs[0], run)
    weights = _checked(runs, weights or runs[0].zero.weights)
    zero = Evidence({name: runs[0].zero[name] for name in weights}, weights, runs[0].zero.worst)
    evidence = [[zero.with_items({name: row[name] for name in weights}) for row in run.evidence] for run in runs]
    units = runs[0].clusters
    values = [interval(rows, zero, clusters=units, seed=seed) for rows in evidence]
    possible = ranks(evidence, zero, clusters=units, seed=seed)
    scores = [{name: float(run.total.score(name)) if name in run.values else 0.0 for name in weights} for run in runs]
    leads = firsts(scores, seed=seed)
    money = any(run.cost.get("usd") for run in runs)
    seconds = [_spent(run, float(run.cost.get("seconds") or 0.0)) for run in runs]
    costs = [_spent(run, float(run.cost.get("usd") or 0.0) if money else float(tokens(run.cost))) for run in runs]
    points = [value.value for value in values]
    fronts = list(zip(_front(costs, points), _front(seconds, points), strict=True))
    unit = "money" if money else "tokens"
    places = [1 + sum(other > point + 1e-12 for other in points) for point in points]
    kinds = [unit] * len(runs)
    rows = zip(labels(runs), runs, values, possible, places, leads, seconds, costs, kinds, fronts, strict=True)
    systems = [RankedRun(*row) for row in rows]
    return Ranking(sorted(systems, key=lambda system: (system.place, system.name)))


def unranked(runs: Sequence[Run]) -> list[str]:
    """A sentence for each run that has no rank, with the reason."""
    return [
        f"{name} is not ranked: it failed on all {len(run.rows)} examples; the first: {run.rows[0]['error']}"
        for name, run in zip(labels(runs), runs, strict=True)
        if not run.available and run.rows
    ]


def _checked(runs: Sequence[Run], weights: Mapping[str, float]) -> dict[str, float]:
    """The positive weights; refuses a measure that a run lacks."""
    for name in weights:
        if any(name not in run.zero for run in runs):
            shared = [name for name in runs[0].zero if all(name in run.zero for run in runs)]
            raise ConventionError(f"not every run has {name!r}; all have {', '.join(shared)}")
    positive = {name: weight for name, weight in weights.items() if weight > 0}
    if not positive:
        raise GoldassayError("a ranking needs a weight above 0")
    return positive


def _spent(run: Run, amount: float) -> float | None:
    """Existing predictions took no time and cost nothing that is known."""
    return None if STORED in run.about.get("settings", {}) else amount


def firsts(values: Sequence[Mapping[str, float]], *, draws: int = 10_000, seed: int = 0) -> list[float]:
    """How often each system would lead if the weights were drawn uniformly from the simplex; ties share a first place.

    >>> firsts([{"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.5}])
    [1.0, 0.0]
    """
    names = list(values[0]) if values else []
    if any(set(row) != set(names) for row in values):
        raise GoldassayError(f"the systems have other values: {', '.join(sorted({k for row in values for k in row}))}")
    matrix = np.array([[row[name] for name in names] for row in values], dtype=float)
    totals = np.random.default_rng(seed).dirichlet(np.ones(len(names)), size=draws) @ matrix.T
    best = totals >= totals.max(axis=1, keepdims=True) - 1e-12
    shares: list[float] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return shares


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """The Pareto front of (cost, value): whether no other point has at most the cost and at least the value.

    >>> front([(1.0, 0.5), (2.0, 0.9), (3.0, 0.8)])
    [True, True, False]
    """
    return [
        not any(other != point and other[0] <= point[0] and other[1] >= point[1] for other in points)
        for point in points
    ]


def _front(spent: Sequence[float | None], values: Sequence[float]) -> list[bool]:
    """The front of the systems whose cost is known."""
    points = {place: (cost, values[place]) for place, cost in enumerate(spent) if cost is not None}
    best = dict(zip(points, front(list(points.values())), strict=True))
    return [best.get(place, False) for place in range(len(spent))]


def table(systems: Sequence[RankedRun]) -> list[dict[str, object]]:
    """A row a system: place, ranks, each measure, value with its interval, seconds, cost."""
    return [
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


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as csv; the columns are those of all rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def responses(systems: Sequence[RankedRun]) -> list[dict[str, object]]:
    """A row for each system and example: the inputs, the answer, the score, the seconds."""
    rows = []
    for system in systems:
        for row in system.run.rows:
            prediction, inputs = row.get("prediction") or {}, row.get("inputs") or {}
            rows.append(
                {
                    "Model": system.name,
                    "Id": row["id"],
                    **{str(key): value for key, value in inputs.items() if isinstance(value, (str, int, float))},
                    "Answer": prediction.get("answer", prediction.get("label", prediction)),
                    "Score": row["score"],
                    "Seconds": row.get("latency_s"),
                    "Error": row.get("error", ""),
                }
            )
    return rows


def leader(systems: Sequence[RankedRun]) -> list[str]:
    """The winner, and who may be as good."""
    best, *others = systems
    value = f"{number(best.value.value)}{bounds(best.value)}"
    if best.ranks.high == 1:
        return [f"Winner: {best.name}, {value}"]
    rivals = [system.name for system in others if system.ranks.low == 1]
    rest = f"{', '.join(rivals)} may be as good on {best.run.size}."
    return [f"No clear winner: {best.name} leads with {value}", rest]


def summary(systems: Sequence[RankedRun], notes: Sequence[str] = ()) -> str:
    """The ranking as text; ``notes`` say what is not in it."""
    lines = [*leader(systems), "", "Place  Ranks  Value   System"]
    lines += [f"{row.place:<6} {row.ranks!s:<6} {row.value.value:.4f}  {row.name}" for row in systems]
    lines += ["", "How often each leads under any other weights:"]
    lines += [f"{100 * row.first:5.1f} %  {row.name}" for row in systems]
    lines += ["", *notes] if notes else []
    return "\n".join(lines) + "\n"


def write(systems: Sequence[RankedRun], folder: Path, notes: Sequence[str] = ()) -> list[Path]:
    """Writes ``model_rankings.csv``, ``model_responses.csv`` and ``evaluation_summary.txt``."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "model_rankings.csv": to_csv(table(systems)),
        "model_responses.csv": to_csv(responses(systems)),
        "evaluation_summary.txt": summary(systems, notes),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace", newline="")
    return [folder / name for name in texts]

"""A ranking of systems on the same gold: runs, or files of predictions; any weights; ranks with their doubt.

``value`` is the weighted mean of the measures under the weights asked for (by default those of the metric), from the
runs' own evidence. ``ranks`` is the set of ranks that each may have, ``first`` how often it would lead under any other
weights, and the two fronts say whether something is better at both value and cost, or value and seconds.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goldassay.exceptions import ConventionError, DataError, GoldassayError
from goldassay.fields import clusters
from goldassay.reporting.pages.data import labels
from goldassay.running.comparing import check_comparable
from goldassay.running.run import Run
from goldassay.score import Evidence
from goldassay.statistics import Interval, interval
from goldassay.statistics.paired import Rank, ranks

STORED = "predictions"  # the setting of a run of predictions that existed: it took no time and cost nothing


@dataclass(frozen=True)
class RankedRun:
    """One system of a ranking."""

    name: str
    run: Run
    value: Interval
    ranks: Rank
    place: int
    first: float
    """How often it would be first if the weights were any others."""
    seconds: float | None
    """``None`` of predictions that existed."""
    cost: float | None
    """Money where the runs name a price, else tokens; ``None`` of predictions that existed."""
    unit: str
    """Of the cost: ``money`` or ``tokens``."""
    on_front: tuple[bool, bool]
    """Whether nothing is better at both value and cost, and at both value and seconds."""

    @property
    def cached(self) -> int:
        """How many answers came from a cache, and cost neither time nor tokens."""
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


def rank(runs: Sequence[Run], weights: Mapping[str, float] | None = None, *, seed: int = 0) -> list[RankedRun]:
    """Rank runs on the same gold, the best first.

    Args:
        runs: two or more, on the same examples under the same conventions.
        weights: of the measures by name; those of the runs' metric where none are given.
        seed: of the resampling.

    Raises a ConventionError for other gold or other conventions, and an error for a run that failed everywhere.
    """
    if len(runs) < 2:
        raise GoldassayError("a ranking needs two systems or more")
    for run in runs[1:]:
        check_comparable(runs[0], run)
    for run in runs:
        if not run.available:
            raise GoldassayError(f"{run.folder or run.name} failed on every example: it has no rank")
    given = dict(weights or runs[0].zero.weights)
    unknown = [name for name in given if any(name not in run.zero for run in runs)]
    if unknown:
        shared = [name for name in runs[0].zero if all(name in run.zero for run in runs)]
        raise ConventionError(f"not every run has {unknown[0]!r}; all have {', '.join(shared)}")
    given = {name: weight for name, weight in given.items() if weight > 0}
    if not given:
        raise GoldassayError("a ranking needs a weight above 0")
    zero = Evidence({name: runs[0].zero[name] for name in given}, given)
    evidence = [[Evidence({name: one[name] for name in given}, given) for one in run.evidence] for run in runs]
    drawn = clusters(runs[0].rows)
    values = [interval(one, zero, clusters=drawn, seed=seed) for one in evidence]
    sets = ranks(evidence, zero, clusters=drawn, seed=seed)
    leads = firsts([{name: run.values.get(name, 0.0) for name in given} for run in runs], seed=seed)
    ran = [STORED not in run.about.get("settings", {}) for run in runs]
    seconds = [float(run.cost.get("seconds") or 0.0) if made else None for run, made in zip(runs, ran, strict=True)]
    priced = any(run.cost.get("usd") for run in runs)
    costs = [
        None if not made else float(run.cost.get("usd") or 0.0) if priced else float(_tokens(run))
        for run, made in zip(runs, ran, strict=True)
    ]
    fronts = [_front(spent, [one.value for one in values]) for spent in (costs, seconds)]
    names = labels(runs)
    out = [
        RankedRun(
            names[i],
            run,
            values[i],
            sets[i],
            1 + sum(other.value > values[i].value + 1e-12 for other in values),
            leads[i],
            seconds[i],
            costs[i],
            "money" if priced else "tokens",
            (fronts[0][i], fronts[1][i]),
        )
        for i, run in enumerate(runs)
    ]
    return sorted(out, key=lambda one: (one.place, one.name))


def firsts(values: Sequence[Mapping[str, float]], *, draws: int = 10_000, seed: int = 0) -> list[float]:
    """How often each system would be first if the weights were any others, all as likely (uniform on the simplex).

    Ties share a first place.

    >>> firsts([{"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.5}])
    [1.0, 0.0]
    """
    names = list(values[0]) if values else []
    if any(set(one) != set(names) for one in values):
        raise GoldassayError(f"the systems have other values: {', '.join(sorted({k for one in values for k in one}))}")
    matrix = np.array([[one[name] for name in names] for one in values], dtype=float)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(names)), size=draws)
    totals = weights @ matrix.T
    best = totals >= totals.max(axis=1, keepdims=True) - 1e-12
    shares: list[float] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return shares


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether nothing is better at both: points are (cost, value), where less cost and more value are better.

    >>> front([(1.0, 0.5), (2.0, 0.9), (3.0, 0.8)])
    [True, True, False]
    """
    return [
        not any(
            other != one and other[0] <= one[0] and other[1] >= one[1] and (other[0] < one[0] or other[1] > one[1])
            for other in points
        )
        for one in points
    ]


def _front(spent: Sequence[float | None], values: Sequence[float]) -> list[bool]:
    """The front of those whose cost is known."""
    known = [place for place, cost in enumerate(spent) if cost is not None]
    best = front([(float(spent[place] or 0.0), values[place]) for place in known])
    on = {place for place, first in zip(known, best, strict=True) if first}
    return [place in on for place in range(len(spent))]


class Stored:
    """A file's predictions as a program: asked with an example's id, it says what the file says."""

    def __init__(self, file: Path, records: Mapping[str, Mapping[str, Any]]) -> None:
        self.file, self.records = file, records

    def __call__(self, id: object, **_: Any) -> Any:
        import dspy

        if str(id) not in self.records:
            raise DataError("no prediction", file=self.file, record=id)
        return dspy.Prediction(**{name: value for name, value in self.records[str(id)].items() if name != "id"})


def _tokens(run: Run) -> int:
    return int(run.cost.get("prompt_tokens", 0)) + int(run.cost.get("completion_tokens", 0))


def table(found: Sequence[RankedRun]) -> list[dict[str, object]]:
    """A row a system, for a file: place, ranks, value with its interval, each measure, seconds, cost."""
    return [
        {
            "Rank": one.place,
            "Ranks": str(one.ranks),
            "Model": one.name,
            **{name.capitalize() if name.islower() else name: value for name, value in one.run.values.items()},
            "Final_Score": one.value.value,
            "Low": one.value.low,
            "High": one.value.high,
            "Seconds": one.seconds,
            "Cost": one.cost,
        }
        for one in found
    ]


def written(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as csv; the columns are those of all rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def responses(found: Sequence[RankedRun]) -> list[dict[str, object]]:
    """A row for each system and example: what was asked and said, the score, the seconds."""
    out = []
    for one in found:
        for row in one.run.rows:
            said = row.get("prediction") or {}
            inputs = row.get("inputs") or {}
            out.append(
                {
                    "Model": one.name,
                    "Id": row["id"],
                    **{str(key): value for key, value in inputs.items() if isinstance(value, (str, int, float))},
                    "Answer": said.get("answer", said.get("label", said)),
                    "Score": row["score"],
                    "Seconds": row.get("latency_s"),
                    "Error": row.get("error", ""),
                }
            )
    return out


def summary(found: Sequence[RankedRun]) -> str:
    """The ranking in words, for a text file."""
    best = found[0]
    lines = [f"Winner: {best.name}, {best.value.value:.4f} [{best.value.low:.3f}, {best.value.high:.3f}]"]
    if best.ranks.high > 1:
        rivals = [one.name for one in found[1:] if one.ranks.low == 1]
        lines.append(f"Not sure: {', '.join(rivals)} may be as good on {best.value.n} examples.")
    lines += ["", "Place  Ranks  Value   System"]
    lines += [f"{one.place:<6} {one.ranks!s:<6} {one.value.value:.4f}  {one.name}" for one in found]
    lines += ["", "How often each leads under any other weights:"]
    lines += [f"{100 * one.first:5.1f} %  {one.name}" for one in found]
    return "\n".join(lines) + "\n"


def write(found: Sequence[RankedRun], out: Path) -> list[Path]:
    """Write ``model_rankings.csv``, ``model_responses.csv`` and ``evaluation_summary.txt``."""
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        "model_rankings.csv": written(table(found)),
        "model_responses.csv": written(responses(found)),
        "evaluation_summary.txt": summary(found),
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8", errors="replace", newline="")
    return [out / name for name in texts]

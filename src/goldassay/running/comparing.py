"""Runs on the same gold side by side: paired tests corrected for their number, what was won and lost.

Existing predictions become runs with `from_predictions`, so that files are compared as runs are, without a program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import ConventionError
from goldassay.fields import check_unique, shared_text
from goldassay.measure import Measure
from goldassay.notebook import Displayed
from goldassay.running import logs
from goldassay.running.identity import described_measures, gold_hash
from goldassay.running.rows import measured_row
from goldassay.running.run import Run
from goldassay.statistics import Comparison, holm
from goldassay.statistics import compare as paired
from goldassay.statistics.paired import Rank, ranks
from goldassay.tally.evidence import Evidence

if TYPE_CHECKING:
    from goldassay.metric import Metric

SHOWN = 2  # examples won and lost that come with their errors


@dataclass(frozen=True, repr=False)
class RunComparison:
    """One run against the first one, by one measure.

    ``comparison`` has the difference of the measure's own values; an example is ``won`` if its value is better, which
    is lower for a measure that says so. ``corrected`` is the p-value after Holm; None for a measure that the metric
    gives no weight, which is no claim and takes no part in the correction.
    """

    run: Run
    measure: str
    comparison: Comparison
    corrected: float | None
    won: tuple[str, ...]
    lost: tuple[str, ...]
    examples: Mapping[str, str]
    """An error of some of the examples that were won and lost."""
    lower_is_better: bool = False

    @property
    def change(self) -> str:
        """What the interval of the difference says: ``better``, ``worse``, or nothing."""
        ends = self.comparison.interval
        if ends.low <= 0 <= ends.high:
            return ""
        return "better" if (ends.low > 0) != self.lower_is_better else "worse"

    def __repr__(self) -> str:
        test = self.comparison
        ends = f"[{test.interval.low:+.3f}, {test.interval.high:+.3f}]"
        return f"RunComparison({self.run.name!r}, {self.measure} {test.difference:+.3f} {ends}, p {test.p:.3f})"

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "run": str(self.run.folder),
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            **self.comparison.state(),
            "corrected_p": self.corrected,
            "won": list(self.won),
            "lost": list(self.lost),
            "shown": dict(self.examples),
        }


class RunComparisons(list[RunComparison], Displayed):
    """Runs against a ``baseline``, by every measure."""

    def __init__(self, baseline: Run, comparisons: Sequence[RunComparison]) -> None:
        super().__init__(comparisons)
        self.baseline = baseline


def compare(*runs: Run | Path | str, test: str = "permutation", seed: int = 0) -> RunComparisons:
    """Runs, their folders or other tools' logs, against the first of them, by every measure, corrected for the number.

    Raises:
        ConventionError: The runs are on other gold, or were measured under other conventions.

    >>> import dspy
    >>> from goldassay.running.evaluate import evaluate
    >>> gold = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c", "d")]
    >>> exact = lambda gold, pred: gold["label"] == pred["label"]
    >>> good, bad = (evaluate(lambda text, end=end: dspy.Prediction(label=text.upper() + end), gold, exact)
    ...              for end in ("", "!"))
    >>> (result,) = compare(bad, good)
    >>> result.measure, result.comparison.difference, result.won
    ('score', 1.0, ('0', '1', '2', '3'))
    """
    first, *others = (run for place in runs for run in ([place] if isinstance(place, Run) else logs.runs_at(place)))
    for other in others:
        check_comparable(first, other)
    pairs = [(other, name) for other in others for name in first.values if name in other.values]
    comparisons = [
        paired(
            other.tallies(name),
            first.tallies(name),
            first.zero[name],
            clusters=first.clusters,
            test=test,
            bounds=first.bounds(name),
            seed=seed,
        )
        for other, name in pairs
    ]
    weighted = [place for place, (_, name) in enumerate(pairs) if first.zero.weights.get(name, 1.0)]
    corrected = dict(zip(weighted, holm([comparisons[place].p for place in weighted]), strict=True))
    results = []
    for place, ((other, name), comparison) in enumerate(zip(pairs, comparisons, strict=True)):
        lower = name in first.zero.worst
        values = zip(first.rows, first.evidence, other.evidence, strict=True)
        gaps = [(str(row["id"]), float(after.score(name)) - float(before.score(name))) for row, before, after in values]
        won = tuple(key for key, gap in sorted(gaps, key=lambda pair: -pair[1]) if gap > 1e-12)
        lost = tuple(key for key, gap in sorted(gaps, key=lambda pair: pair[1]) if gap < -1e-12)
        examples = _new_errors("won", won[:SHOWN], first, other) | _new_errors("lost", lost[:SHOWN], other, first)
        results.append(RunComparison(other, name, comparison, corrected.get(place), won, lost, examples, lower))
    return RunComparisons(first, results)


async def acompare(*runs: Run | Path | str, test: str = "permutation", seed: int = 0) -> RunComparisons:
    """`compare` for asynchronous code, with the same arguments; it does not block the event loop."""
    return await asyncio.to_thread(compare, *runs, test=test, seed=seed)


def ranked(runs: Sequence[Run], *, seed: int = 0) -> dict[str, list[Rank]]:
    """By each measure that all runs have, the ranks that each run may have, in the order of the runs."""
    first, *others = runs
    for other in others:
        check_comparable(first, other)
    return {
        name: ranks(
            [run.tallies(name) for run in runs],
            first.zero[name],
            clusters=first.clusters,
            lower_is_better=name in first.zero.worst,
            seed=seed,
        )
        for name in first.values
        if all(name in other.values for other in others)
    }


def _new_errors(how: str, ids: Sequence[str], run: Run, other: Run) -> dict[str, str]:
    """An error of one run that another does not have, for each of these examples."""
    errors = {str(row["id"]): [error["message"] for error in row.get("errors", ())] for row in other.rows}
    messages: dict[str, str] = {}
    for row in run.rows if ids else ():
        key = str(row["id"])
        new = [error["message"] for error in row.get("errors", ()) if error["message"] not in errors.get(key, ())]
        if key in ids and (new or row.get("error")):
            messages[f"{how} {key}"] = str(row.get("error") or new[0])
    return messages


def by_stratum(runs: Sequence[Run | None]) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Each measure's value of each run, by stratum and key; None if a run has no evidence or is not available."""
    parts: list[Mapping[str, Any]] = [run.by_stratum if run else {} for run in runs]
    return {
        stratum: {
            key: {name: [part.get(stratum, {}).get(key, {}).get(name) for part in parts] for name in values}
            for key, values in keys.items()
        }
        for stratum, keys in next(filter(None, parts), {}).items()
    }


def errors_by_type(runs: Sequence[Run | None]) -> dict[str, list[float | None]]:
    """How many errors each run has, by type, on average of its repeats; None for a run that is not available."""
    types = sorted({kind for run in runs if run for kind in run.errors_by_type})

    def count(run: Run, kind: str) -> float:
        errors = run.errors_by_type.get(kind, 0)
        return errors if run.repeats == 1 else round(errors / run.repeats, 1)

    return {kind: [count(run, kind) if run else None for run in runs] for kind in types}


def check_comparable(a: Run, b: Run) -> None:
    """Refuse to compare runs on other examples or under other conventions."""
    places = f"{a.folder or a.name} and {b.folder or b.name}"
    if a.about["gold"] != b.about["gold"]:
        raise ConventionError(
            f"{places} are on different gold ({len(a.rows)} and {len(b.rows)} examples); "
            "evaluate both on the same split"
        )
    if len(a.rows) != len(b.rows):
        less, more = sorted((a, b), key=lambda run: len(run.rows))
        raise ConventionError(
            f"{less.folder or less.name} has {len(less.rows)} of {len(more.rows)} rows; resume it first"
        )
    if [row["id"] for row in a.rows] != [row["id"] for row in b.rows]:
        raise ConventionError(f"{places} stopped at different examples; resume both first")
    if not set(a.about["measures"]) & set(b.about["measures"]):
        names = " and ".join(", ".join(run.about["measures"]) for run in (a, b))
        raise ConventionError(f"{places} have no measure in common: {names}")
    for name, about in a.about["measures"].items():
        other = b.about["measures"].get(name)
        if other and other["conventions"] != about["conventions"]:
            raise ConventionError(f"{name} has other conventions: {about['conventions']} and {other['conventions']}")


def from_predictions(
    gold: Sequence[object],
    predictions: Sequence[object],
    measures: Mapping[str, Measure[Any]] | Metric,
    *,
    name: str,
    file: Path | None = None,
    protocol: str | None = None,
) -> Run:
    """A run of aligned gold and predictions, in memory: a row an example, with tallies and errors.

    Args:
        gold: The gold records.
        predictions: Their predictions, in the same order.
        measures: Measures by the names of their values, or a metric.
        name: The name of the run.
        file: The file that the predictions come from.
        protocol: The official protocol under which they were read.

    >>> from goldassay.measures import classification
    >>> accuracy = {"accuracy": classification.Accuracy()}
    >>> run = from_predictions([{"id": "a", "label": "M"}], [{"label": "M"}], accuracy, name="ours")
    >>> run.values, run.rows[0]["id"]
    ({'accuracy': 1.0}, 'a')
    """
    check_unique(gold)
    rows = []
    for index, (example, prediction) in enumerate(zip(gold, predictions, strict=True)):
        if isinstance(measures, Mapping):
            assessed = {key: measure(example, prediction) for key, measure in measures.items()}
        else:
            assessed, _ = measures.assess_or_fail(example, prediction)
        rows.append(measured_row(index, example, assessed))
    named, weights = (measures, {}) if isinstance(measures, Mapping) else (measures.measures, measures.weights)
    about = {
        "name": name,
        "status": "given",
        "gold": {"examples": len(gold), "sha256": gold_hash(gold)},
        "settings": {"protocol": protocol} if protocol else {},
        "measures": described_measures(named, weights),
        **({"warnings": [warning]} if (warning := shared_text(gold)) else {}),
    }
    return Run(about, rows, Evidence.empty(named, weights), file)

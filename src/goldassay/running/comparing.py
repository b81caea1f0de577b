"""Runs on the same gold side by side: paired tests corrected for their number, what was won and lost.

Existing predictions become runs with `from_predictions`, so that files are compared as runs are, without a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import workspace
from goldassay.display import Displayed
from goldassay.exceptions import ConventionError, DataError, GoldassayError
from goldassay.fields import check_unique, shared_text
from goldassay.gold import formats, pairs
from goldassay.measure import TASKS, Measure, parse
from goldassay.running import asynchronous, logs
from goldassay.running.about import described_measures
from goldassay.running.drafted import verdict_of, weighed
from goldassay.running.hashing import gold_hash
from goldassay.running.labelled import LabelVerdict, corrected
from goldassay.running.rows import measured_row
from goldassay.running.run import Run
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.scoring import card_of, set_options
from goldassay.statistics import Comparison, holm
from goldassay.statistics import compare as paired
from goldassay.statistics.paired import Rank, places, ranks
from goldassay.tally import Evidence

if TYPE_CHECKING:
    from goldassay.metric import Metric

STORED = "predictions"
"""The setting of a run of existing predictions, which took no time and cost nothing."""


@dataclass(frozen=True, repr=False)
class RunComparison:
    """One run against the first one, by one measure.

    ``comparison`` has the difference of the measure's own values; an example is ``won`` if its value is better, which
    is lower for a measure that says so. ``corrected`` is the p-value after Holm; None for a measure that the metric
    gives no weight, which is no claim and takes no part in the correction. On gold that a design chose, ``verdict`` has
    what the labels tell.
    """

    run: Run
    measure: str
    comparison: Comparison
    corrected: float | None
    won: tuple[str, ...]
    lost: tuple[str, ...]
    lower_is_better: bool = False
    verdict: LabelVerdict | None = None

    @property
    def change(self) -> str:
        """``better`` or ``worse`` if the interval of the difference shows it, else nothing."""
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
            **({"labels": self.verdict.state()} if self.verdict else {}),
        }


class RunComparisons(list[RunComparison], Displayed):
    """Runs against a ``baseline``, by every measure; ``notes`` say which measures the gold does not tell, and why.

    On gold that a design chose, ``pairs`` are the verdicts on all pairs of runs, tested together.
    """

    def __init__(
        self,
        baseline: Run,
        comparisons: Sequence[RunComparison],
        notes: Sequence[str] = (),
        pairs: Sequence[LabelVerdict] = (),
    ) -> None:
        super().__init__(comparisons)
        self.baseline = baseline
        self.notes = list(dict.fromkeys(notes))
        self.pairs = list(pairs)


def compare(*runs: Run | Path | str, test: str = "permutation", seed: int = 0) -> RunComparisons:
    """Runs, their folders or other tools' logs, against the first of them, by every measure, corrected for the number.

    Raises:
        ConventionError: The runs are on other gold, or were measured under other conventions.

    >>> import dspy
    >>> from goldassay.running.evaluate import evaluate
    >>> gold = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c", "d")]
    >>> exact = lambda gold, pred: gold["label"] == pred["label"]
    >>> good = evaluate(lambda text: dspy.Prediction(label=text.upper()), gold, exact)
    >>> bad = evaluate(lambda text: dspy.Prediction(label=text), gold, exact)
    >>> (result,) = compare(bad, good)
    >>> result.measure, result.comparison.difference, result.won
    ('score', 1.0, ('0', '1', '2', '3'))
    """
    first, *others = [run for place in runs for run in ([place] if isinstance(place, Run) else logs.runs_at(place))]
    for other in others:
        check_comparable(first, other)
    if first.design:
        return _compare_by_design([first, *others])
    results = []
    for other in others:
        for name in [name for name in first.values if name in other.values]:
            ours = other.tallies(name)
            theirs = first.tallies(name)
            how: dict[str, Any] = {"clusters": first.clusters, "bounds": first.bounds(name), "test": test, "seed": seed}
            results.append(_side_by_side(first, other, name, paired(ours, theirs, first.zero[name], **how)))
    weighted = [place for place, each in enumerate(results) if first.zero.weights.get(each.measure, 1.0)]
    for place, p in zip(weighted, holm([results[place].comparison.p for place in weighted]), strict=True):
        results[place] = replace(results[place], corrected=p)
    return RunComparisons(first, results)


def _side_by_side(
    first: Run,
    other: Run,
    name: str,
    comparison: Comparison,
    p: float | None = None,
    verdict: LabelVerdict | None = None,
) -> RunComparison:
    """A comparison with its corrected p-value and the examples that were won and lost."""
    sides = zip(first.rows, first.evidence, other.evidence, strict=True)
    gaps = [(float(after.score(name)) - float(before.score(name)), str(row["id"])) for row, before, after in sides]
    won = tuple(key for gap, key in sorted(gaps, key=lambda pair: -pair[0]) if gap > 1e-12)
    lost = tuple(key for gap, key in sorted(gaps, key=itemgetter(0)) if gap < -1e-12)
    return RunComparison(other, name, comparison, p, won, lost, name in first.zero.worst, verdict)


def _compare_by_design(runs: Sequence[Run]) -> RunComparisons:
    """Runs on gold that a design chose, by every measure that its labels tell; all pairs are tested together.

    Raises:
        GoldassayError: The labels tell nothing of these runs, by no measure.
    """
    by_name, notes = _verdicts(runs)
    if notes and not by_name:
        raise GoldassayError(notes[0])
    first = runs[0]
    claims = {
        (name, pair): verdict.comparison(_is_complete(first)).p
        for name, verdicts in by_name.items()
        for pair, verdict in verdicts.items()
        if first.zero.weights.get(name, 1.0)
    }
    p_values = dict(zip(claims, holm([*claims.values()]), strict=True))
    results: list[RunComparison] = []
    together: list[LabelVerdict] = []
    for name, verdicts in by_name.items():
        for pair, verdict in zip(verdicts, corrected([*verdicts.values()]), strict=True):
            together.append(verdict)
            if pair[0] == 0:
                comparison = verdict.comparison(_is_complete(first))
                p = p_values.get((name, pair))
                results.append(_side_by_side(first, runs[pair[1]], name, comparison, p, verdict))
    return RunComparisons(first, results, notes, together)


def _is_complete(run: Run) -> bool:
    """Whether all that was drafted is labelled, so that the number of labels was fixed beforehand."""
    return run.drafted is not None and not run.drafted.pairs.unlabelled


def _verdicts(runs: Sequence[Run]) -> tuple[dict[str, dict[tuple[int, int], LabelVerdict]], list[str]]:
    """By measure, the verdict on each pair of runs that labels tell, by their numbers; and why they tell no others."""
    by_name: dict[str, dict[tuple[int, int], LabelVerdict]] = {}
    notes: list[str] = []
    names = [name for name in runs[0].zero if all(name in run.zero for run in runs)]
    for name, (a, b) in product(names, combinations(range(len(runs)), 2)):
        try:
            verdict = verdict_of(runs[a], runs[b], name)
        except DataError:
            raise
        except GoldassayError as error:
            notes.append(str(error))
        else:
            by_name.setdefault(name, {})[a, b] = verdict
    return by_name, notes


def compare_metric(first: Run, other: Run, clusters: Sequence[object] | None = None, seed: int = 0) -> Comparison:
    """The metric's value of the second run less that of the first, on the same examples.

    Args:
        first: One run.
        other: The other one.
        clusters: The unit that each row belongs to; by default its document.
        seed: Of the permutation test.

    Raises:
        GoldassayError: The examples were chosen for a question that tells no level.
    """
    documents = clusters or first.clusters
    if first.design:
        return weighed(first.evidence, other.evidence, other.zero, first.design, documents)
    return paired(other.evidence, first.evidence, other.zero, clusters=documents, seed=seed)


acompare = asynchronous(compare)
"""`compare` for asynchronous code."""


def ranked(runs: Sequence[Run], *, seed: int = 0) -> dict[str, list[Rank]]:
    """By each measure that all runs have, the ranks that each run may have, in the order of the runs."""
    first, *others = runs
    for other in others:
        check_comparable(first, other)
    if first.design:
        return _ranked_by_design(runs)
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


def _ranked_by_design(runs: Sequence[Run]) -> dict[str, list[Rank]]:
    """The ranks by each measure that labels tell of all pairs."""
    by_name: dict[str, list[Rank]] = {}
    for name, verdicts in _verdicts(runs)[0].items():  # `compare` says why there are no others
        if len(verdicts) == comb(len(runs), 2):
            results = [verdict.comparison(_is_complete(runs[0])) for verdict in verdicts.values()]  # B less A
            lowest_first = name not in runs[0].zero.worst
            by_name[name] = places(results, [*verdicts], len(runs), lower_is_better=lowest_first)
    return by_name


def check_comparable(a: Run, b: Run) -> None:
    """Check that two runs are on the same examples and under the same conventions.

    Raises:
        ConventionError: They are not.
    """
    places = f"{a.folder or a.name} and {b.folder or b.name}"
    if a.about["gold"] != b.about["gold"]:
        raise ConventionError(f"{places} are on different gold; evaluate both on the same split")
    if [row["index"] for row in a.rows] != [row["index"] for row in b.rows]:
        raise ConventionError(f"{places} stopped at different examples; resume them first")
    both = [(name, about, b.about["measures"].get(name)) for name, about in a.about["measures"].items()]
    if not any(other for _, _, other in both):
        names = " and ".join(", ".join(run.about["measures"]) for run in (a, b))
        raise ConventionError(f"{places} have no measure in common: {names}")
    for name, about, other in both:
        if other and other["conventions"] != about["conventions"]:
            raise ConventionError(f"{name} has other conventions: {about['conventions']} and {other['conventions']}")


def from_predictions(
    gold: Sequence[object],
    predictions: Sequence[object],
    measures: Mapping[str, Measure] | Metric,
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
    sides = list(zip(gold, predictions, strict=True))
    if isinstance(measures, Mapping):
        named = measures
        weights: Mapping[str, float] = {}
        assessed = [{key: measure(*pair) for key, measure in named.items()} for pair in sides]
    else:
        named = measures.measures
        weights = measures.weights
        assessed = [measures.assess_or_fail(*pair)[0] for pair in sides]
    settings = {"protocol": protocol} if protocol else {}
    if file is not None:
        settings[STORED] = str(file)
    rows = [measured_row(at, *each) for at, each in enumerate(zip(gold, assessed, strict=True))]
    about = {
        "name": name,
        "status": "given",
        "gold": {"examples": len(gold), "sha256": gold_hash(gold)},
        "settings": settings,
        "measures": described_measures(named, weights),
        **({"warnings": [warning]} if (warning := shared_text(gold)) else {}),
    }
    return Run(about, rows, Evidence.empty(named, weights), file)


def rescore(task: str, gold: Path, pred: Path, measures: Sequence[str] = (), *, format: str | None = None) -> Scorecard:
    """The scorecard of stored predictions: with other measures, other gold, or a changed metric.

    Predictions without a gold example are left out with a warning, and so are gold examples that a run did not have.

    Args:
        task: The task.
        gold: The file of gold, or a run.
        pred: The file of predictions, or a run.
        measures: Measures such as ``LinkF1(k=3)``, by default all that the task has; of a task of your own the place of
            its metric.
        format: The format of files; guessed if not given.

    Raises:
        GoldassayError: A measure is of another task.
        DataError: A file is damaged.
    """
    gold_is_run = formats.is_run(gold)
    pred_is_run = formats.is_run(pred)
    pred_format = format
    if pred_is_run:
        pred_format = "run"
    elif format is None and gold_is_run:
        pred_format = formats.guess(pred, task)
    both = pairs(
        task,
        gold,
        pred,
        format="run" if gold_is_run else format,
        pred_format=pred_format,
        overlap=gold_is_run or pred_is_run,
    )
    if not measures:
        return card_of(task, both, set_options(task, gold), intervals=False)
    if task in TASKS:
        chosen = [parse(name if "." in name.partition("(")[0] else f"{task}.{name}") for name in measures]
        if other := next((measure for measure in chosen if measure.task != task), None):
            raise GoldassayError(f"{other!r} is a measure of {other.task}, not of {task}")
        card = fold(task, chosen, Batches(both.gold, both.pred))
    else:
        card = workspace.metric(task, measures[0]).scorecard(both.gold, both.pred, task)
    card.warnings = [*both.warnings, *card.warnings]
    card.withhold_level()
    return card

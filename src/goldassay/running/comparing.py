"""Runs that are compared (`goldassay.results.comparisons`): loaded, checked, measured again, made of predictions.

Existing predictions become runs with `from_predictions`, so that files are compared as runs are, without a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay import workspace
from goldassay._support.exceptions import ConventionError, GoldassayError
from goldassay.core import fields
from goldassay.core.fields import Fields, JsonObject, check_unique, identity, shared_text
from goldassay.core.measure import TASKS, Batches, Measure, parse, raised_notes
from goldassay.core.tally import Evidence
from goldassay.gold import Pairs, formats, pairs
from goldassay.gold.anyfields import DRAFTED
from goldassay.gold.records import INPUT_FIELDS, TABLE
from goldassay.results import comparisons
from goldassay.results.comparisons import Comparisons
from goldassay.results.result import Result, Results, fold
from goldassay.running import asynchronous
from goldassay.running.hashing import gold_hash
from goldassay.running.head import MetricFunction, RunGold, RunHead, described_columns, described_measures
from goldassay.running.rows import Row, measured_row, without_secrets
from goldassay.running.run import Run, open_runs
from goldassay.running.scoring import INTERVALS_UP_TO, card_of, set_options
from goldassay.running.summary import labels

if TYPE_CHECKING:
    from goldassay.core.metric import Metric

STORED = "predictions"
"""The setting of a run of existing predictions, which took no time and cost nothing."""


def compare(*runs: Run | Result | Results | Path | str, test: str = "permutation", seed: int = 0) -> Comparisons:
    """Runs or results against the first of them, by every measure, corrected for the number of measures.

    A path is a run folder, or a log of another tool; `score` gives the results of several systems together.

    Raises:
        ConventionError: The runs are on other gold, or were measured under other conventions.
        GoldassayError: One is neither a run nor a result.

    >>> import dspy
    >>> from goldassay.running.evaluate import evaluate
    >>> gold = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c", "d")]
    >>> exact = lambda gold, pred: gold["label"] == pred["label"]
    >>> good = evaluate(lambda text: dspy.Prediction(label=text.upper()), gold, exact)
    >>> bad = evaluate(lambda text: dspy.Prediction(label=text), gold, exact)
    >>> (result,) = compare(bad, good)
    >>> result.measure, result.difference, result.won
    ('score', 1.0, ('0', '1', '2', '3'))
    """
    if others := [type(run).__name__ for run in runs if not isinstance(run, (Run, Result, Results, Path, str))]:
        message = f"compare takes runs, results of `goldassay.score` or paths, not {others[0]}: compare(before, after)"
        raise GoldassayError(message)
    systems: list[Run | Result] = []
    names: Sequence[str] = ()
    for run in runs:
        if isinstance(run, Results):
            systems += run.values()
            names = [*names, *run]
        else:
            systems += [run] if isinstance(run, (Run, Result)) else open_runs(run)
    loaded = [system for system in systems if isinstance(system, Run)]
    for other in loaded[1:]:
        check_comparable(loaded[0], other)
    results = [system.result if isinstance(system, Run) else system for system in systems]
    if len(names) != len(systems):
        names = labels(loaded) if len(loaded) == len(systems) else ()
    return comparisons.compare(*results, names=names, test=test, seed=seed)


acompare = asynchronous(compare)
"""`compare` for asynchronous code."""


def check_comparable(a: Run, b: Run) -> None:
    """Check that two runs are on the same examples, by the same metric and under the same conventions.

    Raises:
        ConventionError: They are not.
    """
    places = f"{a.folder or a.name} and {b.folder or b.name}"
    if a.head.gold != b.head.gold:
        raise ConventionError(f"{places} are on different gold; evaluate both on the same split")
    if [row.index for row in a.rows] != [row.index for row in b.rows]:
        raise ConventionError(f"{places} stopped at different examples; resume them first")
    first = a.head.function
    second = b.head.function
    if first and second and first.differs(second):
        raise ConventionError(
            f"{places} were measured by different metrics: {first} and {second}; measure both by one of them: "
            f"`metric=FILE.py:{first.name}`"
        )
    if a.head.columns != b.head.columns:
        raise ConventionError(
            f"{places} were measured by metrics that read other fields: columns={a.head.columns} and "
            f"columns={b.head.columns}; measure both by one of them: `metric=FILE.py:NAME`"
        )
    comparisons.check_comparable(a.result, b.result)


def remeasured(run: Run, metric: Metric) -> Run:
    """The same answers, measured by another metric.

    Raises:
        GoldassayError: The run has no trace, so that its gold is not known.

    >>> from goldassay.core.metric import Metric
    >>> lenient = Metric.of(lambda gold, pred: gold["label"].lower() == pred["label"].lower())
    >>> row = Row(0, "a", {"score": {"total": 0.0, "weight": 1.0}}, 0.0, gold={"label": "A"}, prediction={"label": "a"})
    >>> run = Run(RunHead(), [row], lenient.zero)
    >>> run.value, remeasured(run, lenient).value
    (0.0, 1.0)
    """
    from goldassay.core.metric import failed_with  # loads DSPy

    rows: list[Row] = []
    failures: list[tuple[str, str]] = []
    for row in run.answers:
        if row.gold is None:
            raise GoldassayError(f"{run.folder or run.name} has no trace, so it cannot be measured again")
        gold = {"id": row.id, **(row.inputs or {}), **row.gold}
        pred = failed_with(row.error) if row.error else row.prediction or {}
        assessed, why = metric.assess_or_fail(gold, pred)
        failures.append((row.id, why))
        measured = measured_row(row.index, gold, assessed, metric.evidence(assessed))
        rows.append(replace(row, tallies=measured.tallies, errors=measured.errors, score=measured.score))
    notes = raised_notes(failures, f"{len(rows)} examples")
    function = MetricFunction.of(metric)
    changed = sum(new.score != old.score for new, old in zip(rows, run.answers, strict=True))
    if changed and function and run.head.function and not function.differs(run.head.function):
        kept = "answers are stored as JSON, without sets, enums and models; evaluate again by this metric"
        notes.append(f"{changed} of {len(rows)} examples had another score by it when the program ran: {kept}")
    head = replace(
        run.head,
        function=function,
        metric=None,
        measures=described_measures(metric.measures, metric.weights, metric.targets),
        columns=described_columns(metric),
        pass_mark=metric.pass_mark,
        judge_labels={},
        notes=notes,
    )
    return Run(head, rows, metric.zero, run.folder)


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
    >>> run.values, run.rows[0].id
    ({'accuracy': 1.0}, 'a')
    """
    check_unique(gold)
    notes: list[str] = []
    if isinstance(measures, Mapping):
        named = measures
        weights: Mapping[str, float] = {}
        assessed = list(Batches(gold, predictions).assessed(named))
    else:
        named = measures.measures
        weights = measures.weights
        outcomes = [measures.assess_or_fail(*pair) for pair in zip(gold, predictions, strict=True)]
        assessed = [assessments for assessments, _ in outcomes]
        failures = [
            (identity(example, n), why) for n, (example, (_, why)) in enumerate(zip(gold, outcomes, strict=True))
        ]
        notes = raised_notes(failures, f"{len(gold)} examples")
    settings: Fields = {"protocol": protocol} if protocol else {}
    if file is not None:
        settings[STORED] = str(file)
    zero = Evidence.empty(named, weights)
    rows = [
        measured_row(
            index,
            example,
            by_name,
            zero.with_items({name: assessment.tally for name, assessment in by_name.items()}),
        )
        for index, (example, by_name) in enumerate(zip(gold, assessed, strict=True))
    ]
    warning = shared_text(gold)
    head = RunHead(
        name=name,
        status="given",
        gold=RunGold(len(gold), gold_hash(gold)),
        settings=settings,
        measures=described_measures(named, weights),
        columns={} if isinstance(measures, Mapping) else described_columns(measures),
        warnings=[warning] if warning else [],
        notes=notes,
    )
    return Run(head, rows, zero, file)


def rescore(task: str, gold: Path, pred: Path, measures: Sequence[str] = (), *, format: str | None = None) -> Result:
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
    guessed = formats.guess(pred, task) if gold_is_run and format is None and not pred_is_run else format
    aligned = pairs(
        task,
        gold,
        pred,
        format="run" if gold_is_run else format,
        pred_format="run" if pred_is_run else guessed,
        overlap=gold_is_run or pred_is_run,
    )
    if not measures:
        return card_of(task, aligned, set_options(task, gold))
    if task in TASKS:
        chosen = [parse(name if "." in name.partition("(")[0] else f"{task}.{name}") for name in measures]
        if other := next((measure for measure in chosen if measure.task != task), None):
            raise GoldassayError(f"{other!r} is a measure of {other.task}, not of {task}")
        card = fold(task, chosen, Batches(aligned.gold, aligned.pred))
    else:
        from goldassay.results.of_metric import fold_metric  # loads DSPy

        card = fold_metric(workspace.metric(task, measures[0]), aligned.gold, aligned.pred, task)
    card.notes = [*aligned.warnings, *card.notes]
    if card.examples > INTERVALS_UP_TO:
        card.level = None
    return card


def measured_by(
    task: str, aligned: Pairs, chosen: JsonObject, measures: Sequence[str] = ()
) -> Mapping[str, Measure] | Metric:
    """The measures that predictions are compared by, by the names of their values; of a task of your own its metric.

    Args:
        task: The task.
        aligned: Gold and predictions.
        chosen: The options of the scorecard.
        measures: The names of values; by default the usual ones of the task, or those of a protocol.

    Raises:
        GoldassayError: The task has no value of a name.
    """
    if task not in TASKS:
        return workspace.metric(task, next((name for name in measures if ".py" in name), None))
    if task == "retrieval" and measures:
        chosen = {**chosen, "measures": measures}
    available = card_of(task, aligned, chosen).measures
    usual = [name for name in TABLE[task]["compared"] if name in available]
    names = measures or usual or list(available)  # a protocol has its own
    if unknown := next((name for name in names if name not in available), None):
        raise GoldassayError(f"{task} has no value {unknown!r} here; there are {', '.join(available)}")
    return {name: available[name] for name in names}


def of_pairs(
    task: str,
    aligned: Pairs,
    measures: Mapping[str, Measure] | Metric,
    file: Path,
    protocol: str | None = None,
    *,
    measured: Pairs | None = None,
) -> Run:
    """The run of aligned gold and predictions; its rows show both, without secrets.

    Args:
        task: The task.
        aligned: Gold and predictions, and what a reader should know of them.
        measures: The measures by the names of their values, or a metric.
        file: The file of predictions.
        protocol: The official protocol under which they were read.
        measured: What is measured, if that is not what the rows show.
    """
    shared = measured or aligned
    run = from_predictions(shared.gold, shared.pred, measures, name=file.name, file=file, protocol=protocol)
    run.head.warnings = [*aligned.warnings, *run.head.warnings]
    for row, record, prediction in zip(run.rows, aligned.gold, aligned.pred, strict=True):
        gold_fields = {name: fields.read(record, name) for name in fields.names(record)}
        row.inputs = {name: gold_fields.pop(name) for name in (INPUT_FIELDS.get(task),) if name in gold_fields}
        row.gold = {key: value for key, value in gold_fields.items() if key not in DRAFTED}
        row.prediction = {name: fields.read(prediction, name) for name in fields.names(prediction)}
    return replace(run, rows=[without_secrets(row)[0] for row in run.rows])

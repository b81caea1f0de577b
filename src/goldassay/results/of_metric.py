"""The result of a metric over predictions that exist: ``score`` for a task of your own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from goldassay.core.evidence import stacked
from goldassay.core.fields import Columns, Fields, JsonObject, identity, sides
from goldassay.core.measure import OWN_TASK, RAISED, Batches, Measure, failed, raised_notes
from goldassay.core.metric import AnyMetric, Assessments, FunctionMetric, as_metric
from goldassay.core.tally import Counts
from goldassay.results.result import Result, breakdowns, by_key, form_alone, form_notes, form_warning, from_columns


def fold_metric(metric: AnyMetric, gold: Sequence[object], pred: Sequence[object], task: str = OWN_TASK) -> Result:
    """The values of a metric over aligned gold and predictions.

    What a measure counts by key, and the `Counts` that a function returns by name, are in ``by`` with precision,
    recall, F1. A prediction that cannot be measured counts as failed, and a note says so.

    Args:
        metric: The metric, or any function of gold and prediction.
        gold: The gold records.
        pred: Their predictions.
        task: What the result calls the task.

    >>> right = lambda gold, pred: {name: gold[name] == pred[name] for name in ("no", "total")}
    >>> result = fold_metric(right, [{"no": 1, "total": 2}], [{"no": 1, "total": 3}])
    >>> result.values, result.by
    ({'score': 0.5, 'no': 1.0, 'total': 0.0}, {})
    """
    metric = as_metric(metric)
    reasons: list[tuple[str, str]] = []
    assessed: list[Assessments] = [{}] * len(gold)
    # A function shows the names of its values when it is called first, so predictions of a program that failed, for
    # which it is not called, come last.
    for index in sorted(range(len(gold)), key=lambda index: bool(failed(pred[index]))):
        assessed[index], why = metric.assess_or_fail(gold[index], pred[index])
        reasons += [(str(identity(gold[index], index)), why)] if why else []
    columns = {
        key: stacked(
            [assessments[key].tally if key in assessments else measure.zero for assessments in assessed], measure.zero
        )
        for key, measure in metric.measures.items()
    }
    result = from_columns(task, metric.measures, columns, Batches(gold, pred))
    tables: dict[str, Callable[[Result], JsonObject | None]] = {}
    for measure in metric.measures.values():
        tables |= {facet: partial(_by_key, metric.columns, by) for facet, by in measure.breakdown.items()}
    if isinstance(metric, FunctionMetric):
        tables = {"field": partial(_by_name, metric.main)}
    result.notes += metric.record_notes(gold, [answer for answer in pred if not failed(answer)])
    result.by = breakdowns(result, tables)
    result.notes += form_notes(result.by)
    errors = (error for assessments in assessed for assessment in assessments.values() for error in assessment.errors)
    if forms := Counter(form_alone(errors)):
        result.notes.append(form_warning(forms))
    if unmeasured := [reason for reason in reasons if not reason[1].startswith(RAISED)]:
        which = f"{len(unmeasured)} of {len(gold)} predictions cannot be measured, so their gold counts as missed"
        result.notes.append(f"{which}; the first: record {': '.join(unmeasured[0])}")
    result.notes += raised_notes(reasons, f"{len(gold)} examples")
    return result


def _by_key(columns: Columns, measure: Measure, result: Result) -> Fields:
    """The counts of a measure by key."""
    pairs = zip(result.records, result.batches.pred if result.batches else (), strict=True)
    renamed = [sides(columns, gold, pred) for gold, pred in pairs]
    batches = Batches([gold for gold, _ in renamed], [pred for _, pred in renamed])
    return by_key(result.design.weighted(measure.tallies(batches.of(measure))).summed)


def _by_name(main: str, result: Result) -> Fields | None:
    """The `Counts` of a dict as fields; its numbers are means, which the values say already."""
    counts = {name: total for name, total in result.totals.items() if name != main and isinstance(total, Counts)}
    return by_key(counts) or None

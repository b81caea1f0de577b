"""People's labels on the answers of a run: ``goldassay eval … --judge-labels FILE``.

::

    {"id": "q1", "label": "partial"}                                           of the answer of this run
    {"id": "q2", "measure": "faithfulness", "label": 0.5}                      one of several judged values
    {"id": "x7", "question": "When?", "answer": "In May.", "label": "full"}    of an answer that people saw elsewhere
    {"id": "c1", "text": "It opened in 1885.", "claim": "It is red.", "label": "not_stated"}      of a claim

A label is a level of the measure (``full``, ``partial`` … for relevance, the levels of a rubric, ``yes`` and ``no``) or
a number from 0 to 1; those of several annotators (``labels``, ``label_NAME``) are averaged. A row with an ``answer`` is
judged too, so that label and verdict are of the same words; without one the verdict is that of the run's example with
this id. A row with a ``claim`` tells how often the judge errs on claims: it corrects a value that is a share of
supported claims (faithfulness if that is judged), as far as the labelled claims are like those of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import identity
from goldassay.judges.labels import LabelRow, at_row, labelled_rows, labels_of, number
from goldassay.measures.answering.claims import RELEVANCE, Relevance
from goldassay.measures.judged import JudgedMeasure
from goldassay.metric import Metric

YES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SUPPORT = {"supported": 1.0, "contradicted": 0.0, "not_stated": 0.0, "not_supported": 0.0, **YES}
SHARES = ("faithfulness", "claim_precision", "claim_recall", "retrieved_claim_recall")  # of claims that are supported
RunLabels = dict[str, dict[str, float | list[float]]]


def read(path: Path, metric: Metric, columns: Mapping[str, str] | None = None) -> RunLabels:
    """The labels by the name of a value and the id of an example, as `goldassay.evaluate` takes them.

    Raises:
        DataError: a row has no id, no label that its measure knows, or a measure that no judge gives.
        GoldassayError: the metric has no judged value.
    """
    measures = metric.measures.items()
    judged = {name: each for name, each in measures if isinstance(each, JudgedMeasure) and each.judge is not None}
    if not judged:
        raise GoldassayError("no value of this metric is given by a judge, so labels correct nothing; name a judge")
    labels: RunLabels = {}
    for line, row in labelled_rows(path, columns):
        if not labels_of(row):
            continue
        with at_row(path, line, row):
            name, value = _label(row, judged)
            example = identity(row, line)
            if example in labels.get(name, ()):
                raise DataError(f"two labels for {name} of one example; keep one")
            if value is not None:
                labels.setdefault(name, {})[example] = value
    if not labels:
        raise DataError("no row has a label; write id and label", file=path)
    return labels


def _label(row: LabelRow, judged: Mapping[str, JudgedMeasure]) -> tuple[str, float | list[float] | None]:
    """The measure of a row, and its label; with the judge's verdict where the row brings the text that was judged.

    None if that verdict is unknown.
    """
    inputs = row["inputs"] if isinstance(row.get("inputs"), Mapping) else row
    about_claim = inputs.get("claim") is not None
    worths = {name: SUPPORT if about_claim else _worth(measure) for name, measure in judged.items()}
    answers = labels_of(row).values()
    if about_claim:
        names = [name for name in SHARES if name in judged]
    else:  # the one whose levels the labels are, or the only one
        names = [name for name in judged if len(judged) == 1 or all(str(answer) in worths[name] for answer in answers)]
    name = str(row.get("measure") or (names[0] if names and (about_claim or len(names) == 1) else ""))
    if name not in (names if about_claim else judged):
        what = f"labels of claims correct {', '.join(SHARES)}" if about_claim else f"no judge gives {name!r} here"
        raise DataError(f"{what}; say which in a column measure: judged are {', '.join(judged)}", field="measure")
    label = fmean(_value(answer, worths[name], name) for answer in answers)
    if about_claim:
        texts = {"text": str(inputs.get("text") or ""), "claim": str(inputs["claim"])}
        verdict = judged[name].bound.verdict("support", **texts).label
        return name, None if verdict is None else [label, float(verdict == "supported")]
    if inputs.get("answer") is None:
        return name, label
    tally = judged[name](inputs, inputs).tally
    return name, [label, float(tally.value)] if tally.weight and not tally.unknown else None


def _worth(measure: JudgedMeasure) -> Mapping[str, float]:
    worth: Mapping[str, float] = RELEVANCE if isinstance(measure, Relevance) else getattr(measure, "worth", YES)
    return YES if "yes" in worth else worth


def _value(label: Any, worth: Mapping[str, float], name: str) -> float:
    text = str(label).strip().casefold().replace(" ", "_")
    levels = {level.casefold(): value for level, value in worth.items()}
    if text in levels:
        return levels[text]
    try:
        return number(text, "label", (0.0, 1.0))
    except DataError:
        message = f"{str(label)[:60]!r} is no label of {name}: {', '.join(levels)}, or a number from 0 to 1"
        raise DataError(message, field="label") from None

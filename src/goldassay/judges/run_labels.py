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
from goldassay.judges.labels import LabelRow, labelled_rows, labels_of, number
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
    judged = {
        name: measure
        for name, measure in metric.measures.items()
        if isinstance(measure, JudgedMeasure) and measure.judge is not None
    }
    if not judged:
        raise GoldassayError("no value of this metric is given by a judge, so labels correct nothing; name a judge")
    labels: RunLabels = {}
    for line, row in labelled_rows(path, columns):
        if not labels_of(row):
            continue
        try:
            name, value = _label(row, judged)
            example = identity(row, line)
            if example in labels.get(name, ()):
                raise DataError(f"two labels for {name} of one example; keep one")
        except DataError as error:
            raise error.at(file=path, line=line, record=row.get("id")) from None
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
    name = _share(row, judged) if about_claim else _measure(row, judged)
    worth = SUPPORT if about_claim else _worth(judged[name])
    label = fmean(_value(value, worth, name) for value in labels_of(row).values())
    if about_claim:
        texts = {"text": str(inputs.get("text") or ""), "claim": str(inputs["claim"])}
        verdict = judged[name].bound.verdict("support", **texts).label
        return name, None if verdict is None else [label, float(verdict == "supported")]
    if inputs.get("answer") is None:
        return name, label
    tally = judged[name](inputs, inputs).tally
    return name, [label, float(tally.value)] if tally.weight and not tally.unknown else None


def _share(row: LabelRow, judged: Mapping[str, JudgedMeasure]) -> str:
    """The value that labels of claims are about."""
    shares = [name for name in judged if name in SHARES]
    name = str(row.get("measure") or ("faithfulness" if "faithfulness" in shares or not shares else shares[0]))
    if name not in shares:
        message = f"labels of claims correct {', '.join(SHARES)}; judged here are {', '.join(judged)}"
        raise DataError(message, field="measure")
    return name


def _measure(row: LabelRow, judged: Mapping[str, JudgedMeasure]) -> str:
    """The value that a label of an answer is about: the named one, or the only one whose levels the labels are."""
    labels = [str(label) for label in labels_of(row).values()]
    fitting = [name for name, measure in judged.items() if all(label in _worth(measure) for label in labels)]
    name = row.get("measure") or next(iter(judged if len(judged) == 1 else fitting), None)
    if not row.get("measure") and len(judged) > 1 and len(fitting) != 1:
        raise DataError(f"several values are judged; say which in a column measure: {', '.join(judged)}")
    if name not in judged:
        raise DataError(f"no judge gives {name!r} here; {', '.join(judged)} are", field="measure")
    return str(name)


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

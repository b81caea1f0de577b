"""People's labels on the answers of a run: ``goldassay eval … --judge-labels FILE``.

::

    {"id": "q1", "label": "partial"}                                           of the answer of this run
    {"id": "q2", "measure": "faithfulness", "label": 0.5}                      one of several judged values
    {"id": "x7", "question": "When?", "answer": "In May.", "label": "full"}    of an answer that people saw elsewhere
    {"id": "c1", "text": "It opened in 1885.", "claim": "It is red.", "label": "not_stated"}      of a claim

A label is a level of the measure (``full``, ``partial`` … for relevance, the levels of a rubric, ``yes`` and ``no``) or
a number from 0 to 1; several annotators' (``labels``, ``label_NAME``) are averaged. A row with an ``answer`` is judged
too, so that label and verdict are of the same words; without one the verdict is that of the run's example with this id.
A row with a ``claim`` says how often the judge errs on claims, as `judge align` reads it: it corrects a value that is a
share of supported claims (faithfulness where that is judged), as far as the labelled claims are like those of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.people.labels import labelled_rows, labels_of
from goldassay.measures.answering.claims import RELEVANCE, Relevance
from goldassay.measures.judged import JudgedMeasure
from goldassay.metric import Metric

YES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SUPPORT = {"supported": 1.0, "contradicted": 0.0, "not_stated": 0.0, "not_supported": 0.0, **YES}
SHARES = ("faithfulness", "claim_precision", "claim_recall", "retrieved_claim_recall")  # of claims that are supported


def read(
    path: Path, metric: Metric, columns: Mapping[str, str] | None = None
) -> dict[str, dict[str, float | list[float]]]:
    """The labels by the name of a value and the id of an example, as `goldassay.evaluate` takes them.

    Raises:
        DataError: a row has no id, no label that its measure knows, or a measure that no judge gives.
        GoldassayError: the metric has no judged value.
    """
    judged = {
        name: one for name, one in metric.measures.items() if isinstance(one, JudgedMeasure) and one.judge is not None
    }
    if not judged:
        raise GoldassayError("no value of this metric is given by a judge, so labels correct nothing; add --judge-lm")
    out: dict[str, dict[str, float | list[float]]] = {}
    for line, row in labelled_rows(path, columns):
        place: dict[str, Any] = {"file": path, "line": line, "record": row.get("id")}
        said = labels_of(row)
        if not said:
            continue
        given = row["inputs"] if isinstance(row.get("inputs"), Mapping) else row
        if given.get("claim") is not None:
            name = _of_claims(row, judged, place)
            label = fmean(_worth(one, SUPPORT, name, place) for one in said.values())
            verdict = judged[name].bound.support(str(given.get("text") or ""), str(given["claim"])).label
            if verdict is not None:
                out.setdefault(name, {})[str(row["id"])] = [label, float(verdict == "supported")]
            continue
        name = str(row.get("measure") or (next(iter(judged)) if len(judged) == 1 else _meant(said, judged, place)))
        if name not in judged:
            raise DataError(f"no judge gives {name!r} here; {', '.join(judged)} are", field="measure", **place)
        label = fmean(_worth(one, _levels(judged[name]), name, place) for one in said.values())
        if given.get("answer") is None:
            out.setdefault(name, {})[str(row["id"])] = label
            continue
        tally = judged[name](given, given).tally
        if tally.weight and not tally.unknown:
            out.setdefault(name, {})[str(row["id"])] = [label, float(tally.value)]
    if not out:
        raise DataError("no row has a label; write id and label", file=path)
    return out


def _meant(said: Mapping[str, Any], judged: Mapping[str, JudgedMeasure], place: Mapping[str, Any]) -> str:
    """The one measure whose levels the labels are."""
    fits = [name for name, one in judged.items() if all(str(label) in _levels(one) for label in said.values())]
    if len(fits) == 1:
        return fits[0]
    raise DataError(f"several values are judged; say which in a column measure: {', '.join(judged)}", **place)


def _levels(measure: JudgedMeasure) -> Mapping[str, float]:
    if isinstance(measure, Relevance):
        return RELEVANCE
    levels = [name for name, _ in getattr(measure, "levels", ())]
    if levels:
        return {name: index / (len(levels) - 1) for index, name in enumerate(levels)}
    return {"first": 1.0, "tie": 0.5, "second": 0.0} if measure.key == "preference" else YES


def _of_claims(row: Mapping[str, Any], judged: Mapping[str, JudgedMeasure], place: Mapping[str, Any]) -> str:
    """The value that labels of claims are about."""
    shares = [name for name in judged if name in SHARES]
    name = str(row.get("measure") or ("faithfulness" if "faithfulness" in shares or not shares else shares[0]))
    if name not in shares:
        raise DataError(
            f"labels of claims correct {', '.join(SHARES)}; judged here are {', '.join(judged)}",
            field="measure",
            **place,
        )
    return name


def _worth(label: Any, known: Mapping[str, float], name: str, place: Mapping[str, Any]) -> float:
    levels = {level.casefold(): worth for level, worth in known.items()}
    text = str(label).strip().casefold().replace(" ", "_")
    if text in levels:
        return levels[text]
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        what = f"{str(label)[:60]!r} is no label of {name}: {', '.join(levels)}, or a number from 0 to 1"
        raise DataError(what, field="label", **place)
    return number

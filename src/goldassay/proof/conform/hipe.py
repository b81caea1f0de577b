"""The figures of the HIPE scorer, from our counts by document: its names and its averages.

Source: https://github.com/hipe-eval/HIPE-scorer
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from goldassay.measures.extraction.hipe import as_counts
from goldassay.measures.extraction.tally import SemEvalCounts

SCHEMES = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious", "possible", "actual")
Figures = dict[str, float | None]
Documents = Sequence[Mapping[str, Mapping[str, SemEvalCounts]]]


def figures(documents: Documents) -> dict[str, dict[str, Figures]]:
    """By label (``ALL`` for all) and scheme, every figure that the scorer prints.

    ``documents`` hold the counts of each by label and scheme. Averages by document leave out documents in which nothing
    was predicted (P), nothing was to find (R), or either (F1); without any they are None.
    """
    labels = dict.fromkeys(label for document in documents for label in document)
    out: dict[str, dict[str, Figures]] = {}
    for label in labels:
        here = out.setdefault(label.upper(), {})
        for theirs, ours in SCHEMES.items():
            here[theirs] = _one([document[label][ours] for document in documents if label in document])
    for theirs in SCHEMES:
        out.setdefault("ALL", {}).setdefault(theirs, _one([]))
        types = [schemes[theirs] for label, schemes in out.items() if label != "ALL"]
        out["ALL"][theirs] |= _by_type(types)
    return out


def _one(each: Sequence[SemEvalCounts]) -> Figures:
    total = sum(each, SemEvalCounts(0, 0, 0, 0, 0))
    counts = as_counts(total)
    found: Figures = {name: getattr(total, name) for name in COUNTS}
    found |= {"TP": counts.tp, "FP": counts.fp, "FN": counts.fn}
    found |= {"P_micro": total.precision, "R_micro": total.recall, "F1_micro": total.value if total.weight else 0.0}
    lists = {
        "P": [one.precision for one in each if one.actual],
        "R": [one.recall for one in each if one.possible],
        "F1": [one.value for one in each if one.actual and one.possible],
    }
    for rate, values in lists.items():
        found[f"{rate}_macro_doc"] = float(np.mean(values)) if values else None
        found[f"{rate}_macro_doc_std"] = float(np.std(values)) if values else None
    return found


def _by_type(types: Sequence[Figures]) -> Figures:
    """The averages over labels."""
    found: Figures = {}
    for rate in ("P", "R", "F1"):
        found[f"{rate}_macro"] = sum(one[f"{rate}_micro"] or 0.0 for one in types) / len(types) if types else None
    precision, recall = found["P_macro"] or 0.0, found["R_macro"] or 0.0
    harmonic = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {**found, "F1_macro (recomputed from P & R)": harmonic}


def number(raw: Any) -> float | None:
    """An official cell or value; None where there is none."""
    if raw in (None, ""):
        return None
    value = float(raw)
    return None if math.isnan(value) else value

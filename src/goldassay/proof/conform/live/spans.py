"""Extraction beside seqeval (tag sequences, both readings, five schemes) and nervaluate (SemEval's four schemas)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from goldassay.measures.extraction import evaluate_spans, evaluate_spans_by_type, evaluate_tags
from goldassay.proof.conform.live.cases import SEED, Tags, random_tags, spans, tagged
from goldassay.proof.conform.suite import SuiteResult

LETTERS = {"IOB1": "IB", "IOB2": "IB", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU"}
"""The schemes that seqeval has finished (of IOE1 its source says that it is not)."""
SCHEMAS = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious")
RATES = {"precision": "precision", "recall": "recall", "f1": "value"}


def seqeval(result: SuiteResult) -> None:
    """Every number of seqeval's report: by type and the three averages, read as conlleval does and strictly."""
    from seqeval import scheme as schemes
    from seqeval.metrics import classification_report

    def report(gold: Tags, pred: Tags, **options: Any) -> Mapping[str, Mapping[str, float]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: Any = classification_report(gold, pred, **{**options, "output_dict": True, "zero_division": 0})
        return dict(found)

    sets = {"heritage": ("IOB2", *tagged())}
    for scheme, letters in LETTERS.items():
        gold, pred = random_tags(letters, SEED)
        if scheme == "IOB1":  # seqeval drops an entity there before a B- of another type
            kept = [both for both in zip(gold, pred, strict=True) if not any(map(_breaks, both))]
            gold, pred = [one for one, _ in kept], [other for _, other in kept]
        sets[f"generated {scheme}"] = (scheme, gold, pred)
    for name, (scheme, gold, pred) in sets.items():
        if not gold:
            continue
        readings: dict[str, dict[str, Any]] = {"strict": {"mode": "strict", "scheme": getattr(schemes, scheme)}}
        if scheme != "BILOU":  # the lenient reading does not know L and U
            readings["conlleval"] = {}
        for mode, options in readings.items():
            ours = evaluate_tags(gold, pred, scheme=scheme, mode=mode)
            for kind, row in report(gold, pred, **options).items():
                for rate, theirs in row.items():
                    mine = ours[kind]["f1" if rate == "f1-score" else rate]
                    result.near(f"{name}, {mode}, {kind} {rate}", float(theirs), mine)


def _breaks(tags: list[str]) -> bool:
    """Whether a B- stands right behind a B- of another type."""
    return any(a[:1] == b[:1] == "B" and a != b for a, b in pairwise(tags))


def nervaluate(result: SuiteResult) -> None:
    """The five counts and three rates of the four schemas, over all and by type."""
    from nervaluate import Evaluator

    gold, pred = spans()
    kinds = sorted({one["type"] for side in (gold, pred) for row in side for one in row})
    inclusive = [
        [[{"start": s["start"], "end": s["end"] - 1, "label": s["type"]} for s in row] for row in side]
        for side in (gold, pred)
    ]
    found: Any = Evaluator(*inclusive, tags=kinds, loader="dict").evaluate()
    ours, by_type = evaluate_spans(gold, pred), evaluate_spans_by_type(gold, pred)
    for theirs, schema in SCHEMAS.items():
        _counted(result, f"{schema}, all types", found["overall"][theirs], ours[schema])
        for kind in kinds:
            _counted(result, f"{schema}, {kind}", found["entities"][kind][theirs], by_type[kind][schema])


def _counted(result: SuiteResult, what: str, theirs: Any, ours: Any) -> None:
    for name in COUNTS:
        result.add(f"{what} {name}", getattr(theirs, name), int(getattr(ours, name)))
    for name, mine in RATES.items():
        result.near(f"{what} {name}", float(getattr(theirs, name)), float(getattr(ours, mine)))

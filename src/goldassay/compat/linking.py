"""The functions of the founding documents, with their names, arguments and result keys, computed rightly.

A mention is keyed by (document, start, end) if its dict has them (``document``, ``doc_id`` or ``document_id``,
``start``, ``end``); else by its words, the nth time that they occur in gold with the nth time that they are predicted,
so that two mentions of the same words stay two, and a prediction that is given again counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.linking.measures import MRR, Coverage, HitsAt
from goldassay.scorecard import Batches, fold
from goldassay.tally import Counts

LinkRows = Sequence[Mapping[str, Any]]
DOCUMENT = ("document", "doc_id", "document_id", "doc")


def linking_accuracy(
    predictions: LinkRows,
    gold: LinkRows,
    k_values: Sequence[int] = (1, 5, 10),
) -> dict[str, float]:
    """Hits@k over every gold mention, and ``coverage``, the share of them that is predicted at all.

    ``predictions``: ``{mention, candidates: [{kb_id, score}]}``; ``gold``: ``{mention, gold_kb_id}``; no id is NIL.

    >>> gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Paris", "gold_kb_id": "Q830149"}]
    >>> linking_accuracy([{"mention": "Paris", "candidates": [{"kb_id": "Q90", "score": 0.9}]}] * 2, gold, [1])
    {'hits@1': 0.5, 'coverage': 1.0}
    """
    hits = {f"hits@{k}": HitsAt(k) for k in k_values}
    return _ranked(predictions, gold, {**hits, "coverage": Coverage()})


def mean_reciprocal_rank(predictions: LinkRows, gold: LinkRows) -> float:
    """The mean over every gold mention of 1 / rank; a mention that was not predicted counts 0.

    >>> gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Lyon", "gold_kb_id": "Q456"}]
    >>> mean_reciprocal_rank([{"mention": "Paris", "candidates": [{"kb_id": "Q90"}]}], gold)   # not 1.0
    0.5
    """
    return _ranked(predictions, gold, {"mrr": MRR()})["mrr"]


def nil_detection_metrics(predictions: LinkRows, gold: LinkRows) -> dict[str, float]:
    """Precision, recall and F1 of finding NIL; predictions are found by their key, not by their place in the list.

    A gold mention without a prediction was not answered NIL.

    >>> gold = [{"mention": "a", "is_nil_gold": True}, {"mention": "b", "is_nil_gold": False}]
    >>> pred = [{"mention": "b", "is_nil_pred": True}, {"mention": "a", "is_nil_pred": True}]
    >>> found = nil_detection_metrics(pred, gold)
    >>> found["nil_precision"], found["nil_recall"]
    (0.5, 1.0)
    """
    nil_gold = {key: bool(_field(row, "is_nil_gold")) for key, row in _keyed(gold)}
    nil_pred = {key: bool(_field(row, "is_nil_pred")) for key, row in reversed(_keyed(predictions))}
    # a repetition of words that gold does not repeat is the same prediction again
    answered = {key for key, nil in nil_pred.items() if nil and (key in nil_gold or len(key) == 3 or key[3] == 1)}
    nil = {key for key, is_nil in nil_gold.items() if is_nil}
    counts = Counts(len(nil & answered), len(answered - nil), len(nil - answered))
    return {
        "nil_precision": float(counts.precision),
        "nil_recall": float(counts.recall),
        "nil_f1": float(counts.f1),
        "true_positives": int(counts.tp),
        "false_positives": int(counts.fp),
        "false_negatives": int(counts.fn),
        "true_negatives": len(nil_gold.keys() - nil - answered),
    }


def _ranked(predictions: LinkRows, gold: LinkRows, measures: Mapping[str, Any]) -> dict[str, float]:
    """These measures over every gold mention, each at a place of its own: keys match them here, not offsets."""
    predicted = dict(reversed(_keyed(predictions)))  # the first prediction of a mention counts
    links, answers = [], []
    for number, (key, row) in enumerate(_keyed(gold)):
        place = {"start": 2 * number, "end": 2 * number + 1}
        links.append({**place, "ids": _field(row, "gold_kb_id")})
        if key in predicted:
            answers.append({**place, "candidates": predicted[key].get("candidates") or []})
    values = fold("linking", measures, Batches([links], [answers])).values
    return {name: value or 0.0 for name, value in values.items()}


def _keyed(rows: LinkRows) -> list[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Rows with the keys of their mentions."""
    repeated: Counter[Any] = Counter()
    keyed = []
    for row in rows:
        document = next((row[name] for name in DOCUMENT if name in row), None)
        if "start" in row and "end" in row:
            key: tuple[Any, ...] = (document, row["start"], row["end"])
        else:
            words = (document, _field(row, "mention"))
            repeated[words] += 1
            key = (*words, "nth", repeated[words])
        keyed.append((key, row))
    return keyed


def _field(row: Mapping[str, object], name: str) -> Any:
    if name not in row:
        raise GoldassayError(f"a row has no {name!r}; it has {', '.join(map(str, row)) or 'nothing'}")
    return row[name]

"""The functions of the founding documents, with their names, arguments and result keys, computed rightly.

A mention is keyed by (document, start, end) where its dict has them (``document``, ``doc_id`` or ``document_id``,
``start``, ``end``); else by its words, the nth time that they stand in gold with the nth time that they are predicted,
so that two mentions of the same words stay two, and a prediction that is given again counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.linking.records import Pairs, pairs, rank, sides

Rows = Sequence[Mapping[str, Any]]
DOCUMENT = ("document", "doc_id", "document_id", "doc")


def linking_accuracy(
    predictions: Rows,
    gold: Rows,
    k_values: Sequence[int] = (1, 5, 10),
    *,
    equivalent: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Hits@k over every gold mention, and ``coverage``, the share of them that is predicted at all.

    ``predictions``: ``{mention, candidates: [{kb_id, score}]}``; ``gold``: ``{mention, gold_kb_id}``; no id is NIL.

    >>> gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Paris", "gold_kb_id": "Q830149"}]
    >>> linking_accuracy([{"mention": "Paris", "candidates": [{"kb_id": "Q90", "score": 0.9}]}] * 2, gold, [1])
    {'hits@1': 0.5, 'coverage': 1.0}
    """
    found = _ranks(predictions, gold, pairs(equivalent))
    for k in k_values:
        if k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")
    n = len(found) or 1
    out = {f"hits@{k}": sum(place is not None and 0 < place <= k for place in found) / n for k in k_values}
    return {**out, "coverage": sum(place is not None for place in found) / n}


def mean_reciprocal_rank(predictions: Rows, gold: Rows, *, equivalent: Mapping[str, str] | None = None) -> float:
    """The mean over every gold mention of 1 / rank; a mention that was not predicted counts 0.

    >>> gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Lyon", "gold_kb_id": "Q456"}]
    >>> mean_reciprocal_rank([{"mention": "Paris", "candidates": [{"kb_id": "Q90"}]}], gold)   # not 1.0
    0.5
    """
    found = _ranks(predictions, gold, pairs(equivalent))
    return sum(1 / place for place in found if place) / len(found) if found else 0.0


def nil_detection_metrics(predictions: Rows, gold: Rows) -> dict[str, float]:
    """Precision, recall and F1 of finding NIL; predictions are found by their key, not by their place in the list.

    A gold mention without a prediction was not answered NIL.

    >>> gold = [{"mention": "a", "is_nil_gold": True}, {"mention": "b", "is_nil_gold": False}]
    >>> pred = [{"mention": "b", "is_nil_pred": True}, {"mention": "a", "is_nil_pred": True}]
    >>> found = nil_detection_metrics(pred, gold)
    >>> found["nil_precision"], found["nil_recall"]
    (0.5, 1.0)
    """
    wanted = {key: bool(_read(row, "is_nil_gold")) for key, row in _keyed(gold)}
    given: dict[Any, bool] = {}
    for key, row in _keyed(predictions):
        given.setdefault(key, bool(_read(row, "is_nil_pred")))
    tp = sum(nil and given.get(key, False) for key, nil in wanted.items())
    fp = sum(nil and not wanted.get(key, False) for key, nil in given.items() if key in wanted or _placed(key))
    fn = sum(wanted.values()) - tp
    tn = sum(not nil and not given.get(key, False) for key, nil in wanted.items())
    return {
        "nil_precision": tp / (tp + fp) if tp + fp else 0.0,
        "nil_recall": tp / (tp + fn) if tp + fn else 0.0,
        "nil_f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0,
        "true_positives": tp,
        "false_positives": fp,
        "false_negatives": fn,
        "true_negatives": tn,
    }


def _ranks(predictions: Rows, gold: Rows, equivalent: Pairs) -> list[int | None]:
    """The rank for each gold mention, ``None`` where it was not predicted."""
    given: dict[Any, Any] = {}
    for key, row in _keyed(predictions):
        given.setdefault(key, row)
    out: list[int | None] = []
    for key, row in _keyed(gold):
        if key not in given:
            out.append(None)
            continue
        place = {"start": 0, "end": 1}
        left = [{**place, "ids": _read(row, "gold_kb_id")}]
        read = sides(left, [{**place, "candidates": given[key].get("candidates") or []}], equivalent)
        out.append(rank(read.gold[0], read.pred[0]))
    return out


def _keyed(rows: Rows) -> list[tuple[Any, Mapping[str, Any]]]:
    seen: Counter[Any] = Counter()
    out: list[tuple[Any, Mapping[str, Any]]] = []
    for row in rows:
        document = next((row[name] for name in DOCUMENT if name in row), None)
        if "start" in row and "end" in row:
            out.append(((document, row["start"], row["end"]), row))
            continue
        words = (document, _read(row, "mention"))
        seen[words] += 1
        out.append(((document, words[1], "nth", seen[words]), row))
    return out


def _placed(key: tuple[Any, ...]) -> bool:
    """Whether a key is a span; a repetition of words that gold does not repeat is the same prediction again."""
    return len(key) == 3 or key[3] == 1


def _read(row: Mapping[str, Any], name: str) -> Any:
    if name not in row:
        raise GoldassayError(f"a row has no {name!r}; it has {', '.join(map(str, row)) or 'nothing'}")
    return row[name]

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
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, LinkMeasure
from goldassay.measures.linking.records import pairs
from goldassay.scorecard import Batches, fold

LinkRows = Sequence[Mapping[str, Any]]
DOCUMENT = ("document", "doc_id", "document_id", "doc")


def linking_accuracy(
    predictions: LinkRows,
    gold: LinkRows,
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
    for k in k_values:
        if k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")
    same = pairs(equivalent)
    hits = {f"hits@{k}": HitsAt(k, equivalent=same) for k in k_values}
    return _ranked(predictions, gold, {**hits, "coverage": Coverage(equivalent=same)})


def mean_reciprocal_rank(
    predictions: LinkRows, gold: LinkRows, *, equivalent: Mapping[str, str] | None = None
) -> float:
    """The mean over every gold mention of 1 / rank; a mention that was not predicted counts 0.

    >>> gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Lyon", "gold_kb_id": "Q456"}]
    >>> mean_reciprocal_rank([{"mention": "Paris", "candidates": [{"kb_id": "Q90"}]}], gold)   # not 1.0
    0.5
    """
    return _ranked(predictions, gold, {"mrr": MRR(equivalent=pairs(equivalent))})["mrr"]


def nil_detection_metrics(predictions: LinkRows, gold: LinkRows) -> dict[str, float]:
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
    extra = [key for key in given if key not in wanted and _placed(key)]
    links = [{**_place(at), "ids": [] if nil else ["KB"]} for at, nil in enumerate(wanted.values())]
    answers = [
        {**_place(at), "candidates": [] if given[key] else ["KB"]}
        for at, key in enumerate([*wanted, *extra])
        if key in given
    ]
    card = fold("linking", [NILF1()], Batches([links], [answers]))
    counts = card.totals["nil_f1"]
    return {
        "nil_precision": float(counts.precision),
        "nil_recall": float(counts.recall),
        "nil_f1": float(counts.f1),
        "true_positives": int(counts.tp),
        "false_positives": int(counts.fp),
        "false_negatives": int(counts.fn),
        "true_negatives": sum(not nil and not given.get(key, False) for key, nil in wanted.items()),
    }


def _ranked(predictions: LinkRows, gold: LinkRows, measures: Mapping[str, LinkMeasure[Any]]) -> dict[str, float]:
    """These measures over every gold mention; 0 where there is none."""
    given: dict[Any, Mapping[str, Any]] = {}
    for key, row in _keyed(predictions):
        given.setdefault(key, row)
    keyed = _keyed(gold)
    links = [{**_place(at), "ids": _read(row, "gold_kb_id")} for at, (_, row) in enumerate(keyed)]
    answers = [
        {**_place(at), "candidates": given[key].get("candidates") or []}
        for at, (key, _) in enumerate(keyed)
        if key in given
    ]
    card = fold("linking", measures, Batches([links], [answers]))
    return {name: value or 0.0 for name, value in card.values.items()}


def _place(at: int) -> dict[str, int]:
    """A place for each mention, apart from all others: mentions are matched by their keys here, not by offsets."""
    return {"start": 2 * at, "end": 2 * at + 1}


def _keyed(rows: LinkRows) -> list[tuple[Any, Mapping[str, Any]]]:
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


def _read(row: Mapping[str, object], name: str) -> Any:
    if name not in row:
        raise GoldassayError(f"a row has no {name!r}; it has {', '.join(map(str, row)) or 'nothing'}")
    return row[name]

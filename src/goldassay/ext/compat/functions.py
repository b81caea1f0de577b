"""The first specification's functions of extraction, classification, linking and retrieval, with their names, arguments
and result keys, and with known errors fixed.

What differs from the specification: a mention is keyed by (document, start, end) if its dict has them (``document``,
``doc_id`` or ``document_id``, ``start``, ``end``); else by its words, the nth time that they occur in gold with the nth
time that they are predicted, so that two mentions of the same words stay two, and a prediction that is given again
counts once. The gain of nDCG is linear, its ideal is made of all judged documents, grades are not flattened, results
are put in order by their scores, a document may occur once, recall of a query without relevant documents is 0
instead of 1, and shares of sources are over the results that exist.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import JsonObject, Record, read
from goldassay.core.measure import Batches, check_choice
from goldassay.core.tally import Counts
from goldassay.measures import classification, retrieval
from goldassay.measures.classification.records import institutions, sides
from goldassay.measures.classification.scorecard import matrix
from goldassay.measures.extraction import SpanBatch, evaluate_tags, spans
from goldassay.measures.linking.measures import MRR, Coverage, HitsAt
from goldassay.results.result import RATE_NAMES, Values, fold
from goldassay.text import spans as tagging

LinkRows = Sequence[Mapping[str, Any]]
DOCUMENT = ("document", "doc_id", "document_id", "doc")


def token_level_metrics(
    pred_spans: Sequence[tuple[int, int, str]], gold_spans: Sequence[tuple[int, int, str]], text: str
) -> dict[str, dict[str, float]]:
    r"""Precision, recall, F1 and support of tokens by type, and ``macro_avg`` over all types seen.

    >>> token_level_metrics([(6, 11, "TOP")], [(6, 11, "TOP")], "in\n\n  Delft")["TOP"]["f1"]
    1.0
    """
    batch = SpanBatch([{"text": text, "entities": gold_spans}], [{"entities": pred_spans}])
    by_type = {kind: counts.summed for kind, counts in batch.by_type("token").items()}
    metrics = {kind: {**_rates(counts), "support": int(counts.tp + counts.fn)} for kind, counts in by_type.items()}
    macro = {rate: sum(row[rate] for row in metrics.values()) / (len(metrics) or 1) for rate in RATE_NAMES}
    return {**metrics, "macro_avg": macro}


def entity_level_metrics(
    pred_entities: Sequence[object], gold_entities: Sequence[object], match_type: str = "strict"
) -> JsonObject:
    """Precision, recall, F1 and counts of entities, strict (span and type) or partial (overlap and type).

    The entities are those of one document, or a list of lists, one a document: offsets of two documents never match.

    Raises:
        GoldassayError: ``match_type`` is another one, or the lists are not aligned.

    >>> pred, gold = {"start": 0, "end": 4, "type": "A"}, {"start": 0, "end": 5, "type": "A"}
    >>> entity_level_metrics([pred], [gold], "partial")["f1"]
    1.0
    >>> entity_level_metrics([[(0, 4, "A")], []], [[], [(0, 4, "A")]])["true_positives"]
    0
    """
    check_choice("match_type", match_type, ("strict", "partial"))
    entities = (*pred_entities, *gold_entities)
    if not entities or not all(isinstance(item, list) and not (item and isinstance(item[0], int)) for item in entities):
        pred_entities = [pred_entities]
        gold_entities = [gold_entities]
    if len(pred_entities) != len(gold_entities):
        lengths = f"{len(gold_entities)} gold documents against {len(pred_entities)} predicted ones"
        raise GoldassayError(f"{lengths}; they must be aligned")
    total = SpanBatch(gold_entities, pred_entities).counts(match_type).summed
    return {**_rates(total), **_counted(total), "match_type": match_type}


def _rates(counts: Counts) -> dict[str, float]:
    return {rate: float(getattr(counts, rate)) for rate in RATE_NAMES}


def _counted(counts: Counts) -> dict[str, int]:
    names = {"true_positives": counts.tp, "false_positives": counts.fp, "false_negatives": counts.fn}
    return {name: int(count) for name, count in names.items()}


def type_distribution_analysis(pred_entities: Sequence[object], gold_entities: Sequence[object]) -> dict[str, Values]:
    """How often each type is predicted and is in gold; ``ratio`` is ``None`` without gold.

    >>> type_distribution_analysis([(0, 1, "A")], [])["A"]
    {'predicted': 1, 'gold': 0, 'over_prediction': 1, 'ratio': None}
    """
    pred = Counter(span.type for span in spans(pred_entities))
    gold = Counter(span.type for span in spans(gold_entities))
    return {
        kind: {
            "predicted": pred[kind],
            "gold": gold[kind],
            "over_prediction": pred[kind] - gold[kind],
            "ratio": pred[kind] / gold[kind] if gold[kind] else None,
        }
        for kind in sorted({*pred, *gold})
    }


@dataclass(frozen=True)
class Entity:
    """Tokens ``start`` to ``end`` (exclusive) of a tag sequence, with a type."""

    entity_type: str
    start: int
    end: int


def extract_entities(tags: Sequence[str]) -> set[Entity]:
    """The entities of a tag sequence in any scheme; an orphan I- is nothing (`evaluate_tags` has the other reading).

    >>> extract_entities(["B-PER", "I-PER", "O", "I-LOC"])
    {Entity(entity_type='PER', start=0, end=2)}
    """
    entities = tagging.spans(tags, tagging.named(None, tags), "strict")
    return {Entity(kind, start, end) for start, end, kind in entities}


def compute_ner_metrics(
    pred_tags: Sequence[Sequence[str]], gold_tags: Sequence[Sequence[str]], average: str = "micro"
) -> dict[str, float]:
    """Strict precision, recall and F1 of tag sequences, ``micro``, ``macro`` (over all types seen) or ``weighted``.

    Args:
        pred_tags: The predicted tags, a list a sentence.
        gold_tags: The right tags, aligned with them.
        average: ``micro``, ``macro`` or ``weighted``.

    >>> compute_ner_metrics([["B-PER", "O"]], [["B-PER", "B-LOC"]])["recall"]
    0.5
    """
    check_choice("average", average, ("micro", "macro", "weighted"))
    report = evaluate_tags(gold_tags, pred_tags, mode="strict")[f"{average} avg"]
    return {rate: report[rate] for rate in RATE_NAMES}


def type_classification_metrics(
    y_true: Sequence[str], y_pred: Sequence[str | None], labels: Sequence[str] | None = None
) -> JsonObject:
    """Accuracy, averages, values per class and the confusion matrix over ``labels`` (default: the 19 types).

    Labels outside the list, and missing predictions, are counted under OTHER, the last row and column of the
    matrix, which is there only when it is needed; accuracy is over all examples. ``weighted_f1`` is 0, with a warning,
    where no label of the list has support.

    >>> found = type_classification_metrics(["M", "M", "L"], ["M", "G", "Z"])
    >>> found["accuracy"], found["per_class"]["M"]["f1"], found["labels"][-1]
    (0.3333333333333333, 0.6666666666666666, 'OTHER')
    """
    names = list(labels) if labels is not None else list(institutions())
    card = classification.scorecard(*_labels(y_true, y_pred), labels=names)
    per_class = card.by["label"]
    rows = matrix(card.totals["macro_f1"], names)
    if not any(row["support"] for row in per_class.values()):
        warnings.warn("no label of the list occurs in gold; weighted_f1 is 0", stacklevel=2)
    value = {name: card.values[name] or 0.0 for name in ("accuracy", "macro_f1", "weighted_f1", "macro_f1_supported")}
    for rate in ("precision", "recall"):
        value[f"macro_{rate}"] = sum(row[rate] or 0.0 for row in per_class.values()) / (len(per_class) or 1)
    confusion = [[rows[gold][pred] for pred in rows] for gold in rows]
    return {**value, "per_class": per_class, "confusion_matrix": confusion, "labels": list(rows)}


def type_confusion_analysis(y_true: Sequence[str], y_pred: Sequence[str | None], top_k: int = 10) -> JsonObject:
    """The commonest confusions, ties in the order of the labels.

    >>> type_confusion_analysis(["M", "M", "L"], ["G", "G", "L"])["top_confusions"]
    [{'true_type': 'M', 'predicted_type': 'G', 'count': 2}]
    """
    labels = (sides(*pair) for pair in zip(*_labels(y_true, y_pred), strict=True))
    pairs = Counter((side.gold, side.pred) for side in labels if side.gold != side.pred)
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[: max(0, top_k)]
    return {
        "top_confusions": [{"true_type": g, "predicted_type": p, "count": n} for (g, p), n in ordered],
        "total_errors": pairs.total(),
        "unique_confusion_pairs": len(pairs),
    }


def hierarchical_type_metrics(
    y_true: Sequence[str], y_pred: Sequence[str | None], hierarchy: Mapping[str, Sequence[str]] | None = None
) -> dict[str, float]:
    """Exact and category accuracy, and the gap between them.

    ``hierarchy`` maps a group to its labels (default: the institution types'). An unknown prediction is in no group, so
    it never agrees with a gold U.

    >>> hierarchical_type_metrics(["M", "U"], ["G", "?"])
    {'exact_accuracy': 0.0, 'category_accuracy': 0.5, 'hierarchy_gap': 0.5}
    """
    values = classification.scorecard(*_labels(y_true, y_pred), hierarchy=hierarchy or "institutions").values
    gaps = {name: values[name] or 0.0 for name in ("category_accuracy", "hierarchy_gap")}
    return {"exact_accuracy": values["accuracy"] or 0.0, **gaps}


def _labels(y_true: Sequence[str], y_pred: Sequence[str | None]) -> tuple[list[object], list[object]]:
    """Two lists of labels as records, which the measures read; their lengths must agree."""
    if len(y_true) != len(y_pred):
        raise GoldassayError(f"{len(y_true)} gold labels against {len(y_pred)} predictions; they must be aligned")
    return [{"label": label} for label in y_true], [{"label": label} for label in y_pred]


def linking_accuracy(predictions: LinkRows, gold: LinkRows, k_values: Sequence[int] = (1, 5, 10)) -> dict[str, float]:
    """Hits@k over every gold mention, and ``coverage``, the share of them that is predicted at all.

    ``predictions``: ``{mention, candidates: [{kb_id, score}]}``; ``gold``: ``{mention, gold_kb_id}``; no id is NIL.

    >>> gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Paris", "gold_kb_id": "Q830149"}]
    >>> linking_accuracy([{"mention": "Paris", "candidates": [{"kb_id": "Q90", "score": 0.9}]}] * 2, gold, [1])
    {'hits@1': 0.5, 'coverage': 1.0}
    """
    return _ranked(predictions, gold, {**{f"hits@{k}": HitsAt(k) for k in k_values}, "coverage": Coverage()})


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
    nil = {key for key in nil_gold if nil_gold[key]}
    counts = Counts(len(nil & answered), len(answered - nil), len(nil - answered))
    rates = {f"nil_{rate}": value for rate, value in _rates(counts).items()}
    return {**rates, **_counted(counts), "true_negatives": len(nil_gold.keys() - nil - answered)}


def _ranked(predictions: LinkRows, gold: LinkRows, measures: Record) -> dict[str, float]:
    """These measures over every gold mention, each at a place of its own: keys match them here, not offsets."""
    predicted = dict(reversed(_keyed(predictions)))  # the first prediction of a mention counts
    links = []
    answers = []
    for number, (key, row) in enumerate(_keyed(gold)):
        span = {"start": 2 * number, "end": 2 * number + 1}
        links.append({**span, "ids": _field(row, "gold_kb_id")})
        if key in predicted:
            answers.append({**span, "candidates": predicted[key].get("candidates") or []})
    values = fold("linking", measures, Batches([links], [answers])).values
    return {name: value or 0.0 for name, value in values.items()}


def _keyed(rows: LinkRows) -> list[tuple[tuple[object, ...], Mapping[str, object]]]:
    """Rows with the keys of their mentions."""
    repeated: Counter[object] = Counter()
    keyed = list[tuple[tuple[Any, ...], Record]]()
    for row in rows:
        document = next((row[name] for name in DOCUMENT if name in row), None)
        if "start" in row and "end" in row:
            keyed.append(((document, row["start"], row["end"]), row))
        else:
            words = (document, _field(row, "mention"))
            repeated[words] += 1
            keyed.append(((*words, "nth", repeated[words]), row))
    return keyed


def _field(row: Mapping[str, object], name: str) -> object:
    if name not in row:
        raise GoldassayError(f"a row has no {name!r}; it has {', '.join(map(str, row)) or 'nothing'}")
    return row[name]


def ndcg_at_k(relevance_scores: Sequence[float], k: int = 10, *, judged: Sequence[float] | None = None) -> float:
    """nDCG of one ranking, from the grades of its documents in order.

    ``judged`` are the grades of all judged documents, retrieved or not: the ideal is made of them. Without it the ideal
    is made of the grades given, which is right only if every relevant document was retrieved.

    >>> round(ndcg_at_k([0, 2, 1], k=3, judged=[3, 2, 1]), 4), round(ndcg_at_k([0, 2, 1], k=3), 4)
    (0.37, 0.6697)
    """
    best = sorted(relevance_scores if judged is None else judged, reverse=True)
    gain, ideal = [
        sum(grade / log2(index) for index, grade in enumerate(grades[:k], 2)) for grades in (relevance_scores, best)
    ]
    return gain / ideal if ideal > 0 else 0.0


def compute_retrieval_metrics(queries: Sequence[Mapping[str, object]], k_values: Sequence[int] = (5, 10, 20)) -> Values:
    """``ndcg@k``, ``precision@k`` and ``recall@k`` for each k, and ``mrr``: means over the queries.

    A query has ``results`` and ``gold_relevant``, which is a list of ids or a mapping from ids to grades.

    >>> compute_retrieval_metrics([{"results": [{"doc_id": "a", "score": 1.0}], "gold_relevant": ["a", "b"]}], [1])
    {'ndcg@1': 1.0, 'precision@1': 1.0, 'recall@1': 0.5, 'mrr': 1.0}
    """
    measures = {"ndcg": "nDCG", "precision": "P", "recall": "R"}
    names = {f"{ours}@{k}": f"{name}@{k}" for ours, name in measures.items() for k in k_values} | {"mrr": "RR"}
    gold = [{"relevant": query["gold_relevant"], "id": query.get("query")} for query in queries]
    values = retrieval.scorecard(gold, queries, measures=list(names.values())).values
    return {ours: values[name] for ours, name in names.items()}


def retrieval_source_analysis(query_results: Sequence[object], depth: int = 10) -> dict[str, dict[str, float]]:
    """How much each source contributes: its share of the first ``depth`` results, of the first, of the first five.

    All three are over the results that exist: five queries with one result each have five results among their first
    five, not twenty-five. ``source_counts`` are the counts behind ``source_distribution``.

    >>> found = retrieval_source_analysis([{"results": [{"doc_id": "a", "score": 2, "source": "bm25"}]}])
    >>> found["source_distribution"], found["top5_by_source"]
    ({'bm25': 1.0}, {'bm25': 1.0})
    """
    depths = {"source_distribution": depth, "top1_by_source": 1, "top5_by_source": 5}
    seen: dict[str, Counter[str]] = {name: Counter() for name in depths}
    for query in query_results:
        results = list(read(query, "results"))
        if all(read(result, name, None) is not None for result in results for name in ("doc_id", "score")):
            results.sort(key=lambda item: (np.float32(read(item, "score")), str(read(item, "doc_id"))), reverse=True)
        for name, k in depths.items():
            seen[name].update(str(read(result, "source", None) or "unknown") for result in results[:k])
    shares = {
        name: {source: count / counter.total() for source, count in counter.most_common()}
        for name, counter in seen.items()
    }
    counts = {source: float(count) for source, count in seen["source_distribution"].most_common()}
    return {**shares, "source_counts": counts}

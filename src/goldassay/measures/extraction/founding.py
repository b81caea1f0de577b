"""The functions of the founding documents, with their names, arguments and result keys, computed rightly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.gold.tagging import scheme_of
from goldassay.gold.tagging import spans as spans_of_tags
from goldassay.measures.extraction.measures import counts
from goldassay.measures.extraction.spans import spans
from goldassay.measures.extraction.tokens import token_counts
from goldassay.tally import Counts


def token_level_metrics(
    pred_spans: Sequence[tuple[int, int, str]], gold_spans: Sequence[tuple[int, int, str]], text: str
) -> dict[str, dict[str, float]]:
    r"""Precision, recall, F1 and support of tokens by type, and ``macro_avg`` over all types seen.

    >>> token_level_metrics([(6, 11, "TOP")], [(6, 11, "TOP")], "in\n\n  Delft")["TOP"]["f1"]
    1.0
    """
    found = token_counts(spans(gold_spans), spans(pred_spans), text)
    metrics: dict[str, dict[str, float]] = {
        kind: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": int(c.tp + c.fn)}
        for kind, c in found.items()
    }
    n = len(found) or 1
    metrics["macro_avg"] = {
        rate: sum(metrics[kind][rate] for kind in found) / n for rate in ("precision", "recall", "f1")
    }
    return metrics


def entity_level_metrics(
    pred_entities: Sequence[Any], gold_entities: Sequence[Any], match_type: str = "strict"
) -> dict[str, Any]:
    """Precision, recall, F1 and counts of one document's entities, strict (span and type) or partial (overlap and type).

    >>> entity_level_metrics([{"start": 0, "end": 4, "type": "A"}], [{"start": 0, "end": 5, "type": "A"}], "partial")["f1"]
    1.0
    """
    if match_type not in ("strict", "partial"):
        raise GoldassayError(f"match_type is strict or partial, not {match_type!r}")
    found = counts(spans(gold_entities), spans(pred_entities), match_type)
    return {
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "true_positives": int(found.tp),
        "false_positives": int(found.fp),
        "false_negatives": int(found.fn),
        "match_type": match_type,
    }


def type_distribution_analysis(
    pred_entities: Sequence[Any], gold_entities: Sequence[Any]
) -> dict[str, dict[str, float | None]]:
    """How often each type is predicted and stands in gold; ``ratio`` is ``None`` without gold.

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


def extract_entities(tags: Sequence[str], scheme: str | None = None, mode: str = "conlleval") -> set[Entity]:
    """The entities of a tag sequence, in the reading ``conlleval`` or ``strict``; the scheme is guessed without one.

    >>> sorted(e.entity_type for e in extract_entities(["B-PER", "I-PER", "O", "I-LOC"]))
    ['LOC', 'PER']
    >>> len(extract_entities(["B-PER", "I-PER", "O", "I-LOC"], mode="strict"))
    1
    """
    return {Entity(kind, start, end) for start, end, kind in spans_of_tags(tags, scheme or scheme_of(tags), mode)}


def compute_ner_metrics(
    pred_tags: Sequence[Sequence[str]],
    gold_tags: Sequence[Sequence[str]],
    average: str = "micro",
    scheme: str | None = None,
    mode: str = "conlleval",
) -> dict[str, float]:
    """Strict precision, recall and F1 of tag sequences, ``micro``, ``macro`` (over all types seen) or ``weighted``.

    >>> compute_ner_metrics([["B-PER", "O"]], [["B-PER", "B-LOC"]])["recall"]
    0.5
    """
    if len(pred_tags) != len(gold_tags) or any(len(p) != len(g) for p, g in zip(pred_tags, gold_tags, strict=True)):
        raise GoldassayError("predicted and gold tags must have the same lengths, sentence by sentence")
    if average not in ("micro", "macro", "weighted"):
        raise GoldassayError(f"average is micro, macro or weighted, not {average!r}")
    name = scheme or scheme_of(tag for sentence in (*gold_tags, *pred_tags) for tag in sentence)
    types: defaultdict[str, Counts] = defaultdict(lambda: Counts(0, 0, 0))
    for pred, gold in zip(pred_tags, gold_tags, strict=True):
        found, wanted = extract_entities(pred, name, mode), extract_entities(gold, name, mode)
        for entity in found | wanted:
            both = entity in found and entity in wanted
            types[entity.entity_type] += Counts(both, entity not in wanted, entity not in found)
    if average == "micro":
        total = sum(types.values(), Counts(0, 0, 0))
        return {"precision": float(total.precision), "recall": float(total.recall), "f1": float(total.f1)}
    weight = {kind: (c.tp + c.fn if average == "weighted" else 1) for kind, c in types.items()}
    whole = sum(weight.values()) or 1
    return {
        rate: float(sum(getattr(c, rate) * weight[kind] for kind, c in types.items()) / whole)
        for rate in ("precision", "recall", "f1")
    }

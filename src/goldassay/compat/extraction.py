"""The functions of the founding documents, with their names, arguments and result keys, computed rightly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measure import check_choice
from goldassay.measures.extraction import Batch, evaluate_tags, spans
from goldassay.measures.extraction.scorecard import RATES
from goldassay.statistics.evidence import summed
from goldassay.tally import Counts
from goldassay.text.tagging import named
from goldassay.text.tagging import spans as spans_of_tags


def token_level_metrics(
    pred_spans: Sequence[tuple[int, int, str]], gold_spans: Sequence[tuple[int, int, str]], text: str
) -> dict[str, dict[str, float]]:
    r"""Precision, recall, F1 and support of tokens by type, and ``macro_avg`` over all types seen.

    >>> token_level_metrics([(6, 11, "TOP")], [(6, 11, "TOP")], "in\n\n  Delft")["TOP"]["f1"]
    1.0
    """
    batch = Batch([{"text": text, "entities": gold_spans}], [{"entities": pred_spans}])
    by_type = {kind: summed(counts) for kind, counts in batch.by_type("token").items()}
    metrics = {kind: {**_rates(counts), "support": int(counts.tp + counts.fn)} for kind, counts in by_type.items()}
    rates = list(map(_rates, by_type.values()))
    return {**metrics, "macro_avg": {rate: sum(row[rate] for row in rates) / (len(rates) or 1) for rate in RATES}}


def entity_level_metrics(
    pred_entities: Sequence[object], gold_entities: Sequence[object], match_type: str = "strict"
) -> dict[str, Any]:
    """Precision, recall, F1 and counts of entities, strict (span and type) or partial (overlap and type).

    The entities are those of one document, or a list of lists, one a document: offsets of two documents never match.

    >>> pred, gold = {"start": 0, "end": 4, "type": "A"}, {"start": 0, "end": 5, "type": "A"}
    >>> entity_level_metrics([pred], [gold], "partial")["f1"]
    1.0
    >>> entity_level_metrics([[(0, 4, "A")], []], [[], [(0, 4, "A")]])["true_positives"]
    0
    """
    check_choice("match_type", match_type, ("strict", "partial"))
    documents = _documents(pred_entities, gold_entities)
    total = summed(Batch([gold for _, gold in documents], [pred for pred, _ in documents]).counts(match_type))
    names = ("true_positives", "false_positives", "false_negatives")
    counts = map(int, (total.tp, total.fp, total.fn))
    return {**_rates(total), **dict(zip(names, counts, strict=True)), "match_type": match_type}


def _rates(counts: Counts) -> dict[str, float]:
    return {rate: float(getattr(counts, rate)) for rate in RATES}


def _documents(pred: Sequence[Any], gold: Sequence[Any]) -> list[tuple[Any, Any]]:
    """One pair of lists a document; a flat list of entities is one document."""
    nested = all(isinstance(item, list) and not (item and isinstance(item[0], int)) for item in (*pred, *gold))
    if not (pred or gold) or not nested:
        return [(pred, gold)]
    if len(pred) != len(gold):
        raise GoldassayError(f"{len(gold)} gold documents against {len(pred)} predicted ones; they must be aligned")
    return list(zip(pred, gold, strict=True))


def type_distribution_analysis(
    pred_entities: Sequence[object], gold_entities: Sequence[object]
) -> dict[str, dict[str, float | None]]:
    """How often each type is predicted and stands in gold; ``ratio`` is ``None`` without gold.

    >>> type_distribution_analysis([(0, 1, "A")], [])["A"]
    {'predicted': 1, 'gold': 0, 'over_prediction': 1, 'ratio': None}
    """
    pred, gold = (Counter(span.type for span in spans(side)) for side in (pred_entities, gold_entities))
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
    return {Entity(kind, start, end) for start, end, kind in spans_of_tags(tags, named(None, tags), "strict")}


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
    return {rate: report[rate] for rate in RATES}

"""Gold and predictions as spans, and the prediction that gets everything right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import gold_field, pred_field
from goldassay.measures.extraction.spans import Span, spans

GOLD, PRED = "gold entities", "predicted entities"


def sides(gold: Any, pred: Any) -> tuple[list[Span], list[Span], str]:
    """Gold spans, predicted spans and the text of one pair of records (or bare lists of spans)."""
    (left,), (right,), (text,) = fields([gold], [pred])
    try:
        return spans(left, GOLD, placed=True), spans(right, PRED), text
    except DataError as error:
        raise error.at(record=name(gold)) from None


def fields(gold: Sequence[Any], pred: Sequence[Any]) -> tuple[list[Any], list[Any], list[str]]:
    """The entities of both sides and the texts of aligned records, as they stand there."""
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    left = [one if isinstance(one, list) else gold_field(one, "entities") for one in gold]
    right = [one if isinstance(one, list) else pred_field(one, "entities") for one in pred]
    texts = ["" if isinstance(one, list) else str(gold_field(one, "text", "") or "") for one in gold]
    return left, right, texts


def name(gold: Any) -> Any:
    """The id of a record, for an error; ``None`` where it has none."""
    return None if isinstance(gold, list) else read(gold, "id", None)


def perfect(gold: Any) -> dict[str, Any]:
    """The prediction that gets everything right.

    >>> perfect({"text": "in Delft", "entities": [(3, 8, "TOP")]})["entities"][0].type
    'TOP'
    """
    return {"entities": sides(gold, [])[0]}

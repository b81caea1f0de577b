"""Errors in words: fields and items that are missing or invented, values that are wrong or wrongly written."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

from goldassay._support.jsonl import JSON
from goldassay.core.measure import INVALID, Error, Review
from goldassay.measures.records.matching import ROOT, FieldItem, Match
from goldassay.measures.records.records import Read
from goldassay.text.words import json_text

PLACES = {"wrong_value": "wrong_value", "missing_item": "spurious_item", "spurious_item": "missing_item"}
"""Errors of which two are one if each has what the other lacks."""
TYPE_NAMES = {bool: "true or false", int: "number", float: "number", str: "text"}


def review(read: Read, leaves: Match) -> Review:
    """The errors of a pair of records, in the order of the gold record, and the fields that are right.

    >>> from goldassay.measures.records.matching import RecordComparison, match
    >>> read = Read({"total": 12.5, "tags": ["a", "b"]}, {"total": "12.50", "tags": ["a"]})
    >>> mistakes, right = review(read, match(read, RecordComparison()))
    >>> [error.message for error in mistakes], right
    (['total is 12.5, not "12.50": write it as a number.', 'An item was left out, tags[1]: "b".'], ('tags',))
    """
    wrong = [leaf for leaf in leaves if leaf.kind]
    if read.reason:
        return (Error(INVALID, f"the record does not count: {read.reason}", size=max(1, len(wrong))),), ()
    misread = {leaf.field for leaf in wrong if not leaf.subtree}
    right = dict.fromkeys(leaf.field for leaf in leaves if not leaf.kind and leaf.field not in misread)
    mistakes = [_error(leaf.kind, leaf.gold, leaf.pred) for leaf in wrong if leaf.gold and leaf.pred]
    one_sided = [leaf for leaf in wrong if leaf.subtree]
    for (kind, spurious, subtree), group in groupby(one_sided, lambda x: (x.kind, x.gold is None, x.subtree)):
        mistakes.append(_error(kind, None if spurious else subtree, subtree if spurious else None, len(list(group))))
    errors: list[Error] = []
    waiting: dict[tuple[str, ...], int] = {}
    for error in mistakes:  # values or whole items that are in each other's place are one error
        partner = waiting.pop((PLACES.get(error.kind, ""), error.field, error.pred, error.gold), None)
        if partner is not None:
            places = f"{errors[partner].context.strip(' |')} and {error.context.strip(' |')}"
            message = f"{places} were swapped, or are in the wrong place."
            size = 2 if error.kind == "wrong_value" else error.size
            errors[partner] = replace(errors[partner], kind="swapped_items", message=message, size=size)
            continue
        if error.kind in PLACES and "[" in error.context:
            waiting[error.kind, error.field, error.gold, error.pred] = len(errors)
        errors.append(error)
    return tuple(errors), tuple(right)


def _error(kind: str, gold: FieldItem | None, pred: FieldItem | None, size: int = 1) -> Error:
    """The error of a value that both sides have, or of a part that one side lacks or has as something else."""
    templates = {
        "wrong_value": "{place} is {gold}, not {pred}.",
        "wrong_type": "{place} is {gold}, not {pred}: write it as a {type}.",
        "wrong_format": "{place} is written {gold}, not {pred}.",
        "wrong_unit": "{place} is {gold}, not {pred}: the unit differs.",
    }
    templates_of_one_side = {
        "missing_field": "{place} was left out: it is {part}.",
        "missing_item": "An item was left out, {place}: {part}.",
        "invented_field": "{place} was given as {part}, but there is none.",
        "spurious_item": "{place} is an item too many: {part}.",
        "wrong_type": "{place} is {part} on one side, and of another type on the other.",
    }
    item: Any = gold or pred
    name = item.field or ROOT
    expected = gold.value if gold else ""
    predicted = pred.value if pred else ""
    message = (templates if gold and pred else templates_of_one_side)[kind].format(
        place=item.path or ROOT,
        part=json_text(item.value),
        gold=json_text(expected),
        pred=json_text(predicted),
        type=TYPE_NAMES.get(type(item.value), "value"),
    )
    gold_place = (gold.path or ROOT) if gold else ""
    pred_place = (pred.path or ROOT) if pred else ""
    context = gold_place if gold_place == pred_place else f"{gold_place} | {pred_place}"
    return Error(kind, message, _text(expected), _text(predicted), name, context=context, field=name, size=size)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json_text(value)

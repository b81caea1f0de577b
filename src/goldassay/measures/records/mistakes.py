"""Errors in words: fields and items that are missing or invented, values that are wrong or wrongly written."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import Any

from goldassay.measure import INVALID, Error, Review
from goldassay.measures.records.matching import ROOT, Leaf, Match
from goldassay.measures.records.records import Read

PARTS = {
    "missing_field": "{place} was left out: it is {part}.",
    "missing_item": "An item was left out, {place}: {part}.",
    "invented_field": "{place} was given as {part}, but there is none.",
    "spurious_item": "{place} is an item too many: {part}.",
    "wrong_type": "{place} is {part} on one side, and of another type on the other.",
}
VALUES = {
    "wrong_value": "{place} is {gold}, not {pred}.",
    "wrong_type": "{place} is {gold}, not {pred}: write it as a {type}.",
    "wrong_format": "{place} is written {gold}, not {pred}.",
    "wrong_unit": "{place} is {gold}, not {pred}: the unit differs.",
}
SHOWN = 120  # characters of a value
TYPE_NAMES = {bool: "true or false", int: "number", float: "number", str: "text"}


def errors(read: Read, leaves: Match) -> Review:
    """The errors of a pair of records, in the order of the gold record, and the fields that are right.

    >>> from goldassay.measures.records.matching import Comparing, match
    >>> read = Read({"total": 12.5, "tags": ["a", "b"]}, {"total": "12.50", "tags": ["a"]})
    >>> mistakes, right = errors(read, match(read, Comparing()))
    >>> [error.message for error in mistakes], right
    (['total is 12.5, not "12.50": write it as a number.', 'An item was left out, tags[1]: "b".'], ('tags',))
    """
    wrong = [leaf for leaf in leaves if leaf.kind]
    right = dict.fromkeys(leaf.field for leaf in leaves if not leaf.kind)
    for leaf in wrong:
        right.pop(leaf.field, None) if not leaf.part else None
    if read.reason:
        shown = Error(INVALID, f"the record does not count: {read.reason}", size=max(1, len(wrong)))
        return (shown,), ()
    parts = groupby(
        (leaf for leaf in wrong if leaf.part), key=lambda leaf: (leaf.kind, bool(leaf.gold_path), leaf.part)
    )
    mistakes = [_value(leaf) for leaf in wrong if not leaf.part]
    mistakes += [_part(*key, len(list(group)), read) for key, group in parts]
    return tuple(_with_swaps(mistakes)), tuple(right)


def _value(leaf: Leaf) -> Error:
    """The error of a value that both sides have."""
    words = {"place": leaf.gold_path, "gold": _shown(leaf.gold), "pred": _shown(leaf.pred)}
    words["type"] = TYPE_NAMES.get(type(leaf.gold), "value")
    message = VALUES[leaf.kind].format(**words)
    place = _places(leaf.gold_path, leaf.pred_path)
    return Error(leaf.kind, message, _text(leaf.gold), _text(leaf.pred), leaf.field, context=place, field=leaf.field)


def _part(kind: str, in_gold: bool, place: str, size: int, read: Read) -> Error:
    """The error of a part that one side lacks, or has as something else."""
    part, name = _at(read.gold if in_gold else read.pred, place), _field(place)
    message = PARTS[kind].format(place=place, part=_shown(part))
    gold, pred = (_text(part), "") if in_gold else ("", _text(part))
    context = _places(place, "") if in_gold else _places("", place)
    return Error(kind, message, gold, pred, name, context=context, field=name, size=size)


PLACES = {"wrong_value": "wrong_value", "missing_item": "spurious_item", "spurious_item": "missing_item"}
"""Errors of which two are one if each has what the other lacks."""


def _with_swaps(mistakes: list[Error]) -> list[Error]:
    """The errors; values or whole items that stand in each other's place are one error."""
    errors: list[Error] = []
    waiting: dict[tuple[str, ...], int] = {}
    for error in mistakes:
        partner = waiting.pop((PLACES.get(error.kind, ""), error.field, error.pred, error.gold), None)
        if partner is not None:
            other = errors[partner]
            here, there = (each.context.strip(" |") for each in (other, error))
            message = f"{here} and {there} were swapped, or stand in the wrong place."
            size = 2 if error.kind == "wrong_value" else error.size
            errors[partner] = replace(other, kind="swapped_items", message=message, size=size)
            continue
        if error.kind in PLACES and "[" in error.context:
            waiting[error.kind, error.field, error.gold, error.pred] = len(errors)
        errors.append(error)
    return errors


def _at(record: Any, place: str) -> Any:
    """The value at a place such as ``lines[1].qty``; keys may hold dots."""
    if place == ROOT or not place:
        return record
    if isinstance(record, list):
        index, _, rest = place.removeprefix("[").partition("]")
        return _at(record[int(index)], rest.removeprefix("."))
    key = max((key for key in record if place == key or place.startswith((f"{key}.", f"{key}["))), key=len)
    return _at(record[key], place[len(key) :].removeprefix("."))


def _field(place: str) -> str:
    """The field of a place: without indices."""
    return "".join(part.partition("]")[2] if "]" in part else part for part in place.split("[")).lstrip(".") or ROOT


def _places(gold: str, pred: str) -> str:
    """Where an error stands, for the report: its place in gold and, if that differs, in the prediction."""
    return gold if gold == pred else f"{gold} | {pred}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _shown(value)

"""What is read from a pair: two records of any shape, as plain JSON values, and why a prediction is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel, RootModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from goldassay import jsonl
from goldassay.exceptions import DataError
from goldassay.fields import is_example, names, read
from goldassay.measure import failed, gold_field, pred_field
from goldassay.measures.records import schemas


class Read(NamedTuple):
    """A gold record and a predicted one; None if the program failed, or for the ``reason`` that makes it no record."""

    gold: Any
    pred: Any
    reason: str = ""


def sides(gold: object, pred: object, schema: str = "") -> Read:
    """The records of a pair.

    They stand in the field ``record``; without one, they are the fields that the schema names. A prediction that does
    not parse, or that the schema does not allow, is None with the reason.

    >>> sides({"record": {"total": 1}}, {"record": '{"total": }'}).reason
    'line 1: not JSON: Expecting value (column 11)'
    """
    name = None if isinstance(gold, list) else read(gold, "id", None)
    try:
        left = record_of(_value(gold, schema, gold_field))
        schemas.check(left, schema, name)
    except DataError as error:
        raise error.at(record=name, field="record") from None
    if failed(pred):
        return Read(left, None)
    try:
        right = record_of(_value(pred, schema, pred_field))
    except DataError as error:
        return Read(left, None, str(error))
    reason = schemas.problem(right, schema)
    return Read(left, None, f"does not fit the schema: {reason}") if reason else Read(left, right)


def _value(side: Any, schema: str, field: Any) -> Any:
    there = names(side)
    if schema and "record" not in there:
        spread = {name: read(side, name) for name in schemas.fields(schema) if name in there}
        if spread:
            return spread
    return field(side, "record")


def record_of(value: object) -> Any:
    """A record as plain JSON values; a text is read as JSON.

    >>> from dataclasses import make_dataclass
    >>> record_of(make_dataclass("Line", ["qty", "days"])(Decimal("2.5"), {3}))
    {'qty': 2.5, 'days': [3]}
    """
    record = plain(jsonl.value(value) if isinstance(value, str) else value)
    if not isinstance(record, (dict, list)):
        raise DataError(f"a record is an object or a list, found {jsonl.dumps(record)[:60]}")
    return record


DEEPEST = 60  # levels of a record; an object that holds itself has more


def plain(value: Any, depth: int = 0) -> Any:
    """A value of a record as JSON has it: models and dataclasses are objects, dates texts, sets and tuples lists."""
    if depth > DEEPEST:
        raise DataError(f"a record has at most {DEEPEST} levels")
    if isinstance(value, (Enum, RootModel)):
        return plain(value.value if isinstance(value, Enum) else value.root, depth)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, Decimal)):
        if not math.isfinite(value):
            raise DataError(f"{value} is not a number that JSON has")
        return float(value)
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item, depth + 1) for item in value), key=repr)
    if hasattr(value, "_asdict"):  # a named tuple
        value = value._asdict()
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclass_fields(value)}
    if isinstance(value, (Mapping, BaseModel)) or is_example(value):
        fields: Any = value
        return {str(key): plain(inner, depth + 1) for key, inner in dict(fields).items()}
    try:
        return to_jsonable_python(value)  # a date, an address, a UUID and other scalars
    except PydanticSerializationError:
        raise DataError(f"a record holds no {type(value).__name__}") from None


def perfect(gold: object) -> dict[str, Any]:
    """The prediction that gets everything right."""
    return {"record": record_of(gold_field(gold, "record"))}

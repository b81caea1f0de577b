"""What is read from a pair: two records of any shape, as plain JSON values, and why a prediction is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from pydantic import RootModel

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import is_example, names, read
from goldassay.measure import failed, gold_field, pred_field
from goldassay.measures.records import schemas


class Read(NamedTuple):
    """A gold record and a predicted one; None if the program failed, or for the ``reason`` that makes it no record."""

    gold: Any
    pred: Any
    reason: str = ""


def sides(gold: object, pred: object, schema: str = "", invalid: str = "missed") -> Read:
    """The records of a pair.

    They stand in the field ``record``; without one, they are the fields that the schema names. A prediction that does
    not parse, or that the schema does not allow, is None with the reason; ``invalid="counted"`` counts what stands in
    one that parses.

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
    if reason and invalid == "missed":
        return Read(left, None, f"does not fit the schema: {reason}")
    return Read(left, right)


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
    >>> record_of(make_dataclass("Line", ["qty", "day"])(Decimal("2.5"), date(2024, 3, 1)))
    {'qty': 2.5, 'day': '2024-03-01'}
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
    if isinstance(value, Enum):
        return plain(value.value, depth)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if not math.isfinite(number):
            raise DataError(f"{value} is not a number that JSON has")
        return number
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item, depth + 1) for item in value), key=repr)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, RootModel):
        return plain(value.root, depth)
    if (own := _fields(value)) is not None:
        return {str(key): plain(inner, depth + 1) for key, inner in own.items()}
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)  # an address, a UUID and other scalars
    except PydanticSerializationError:
        raise DataError(f"a record holds no {type(value).__name__}") from None


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """The fields of an object of any kind; None if it has none."""
    if isinstance(value, Mapping):
        return value
    if is_example(value):
        return dict(value.items())
    if hasattr(type(value), "model_fields"):
        return {name: getattr(value, name) for name in [*type(value).model_fields, *(value.model_extra or ())]}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclass_fields(value)}
    as_dict = getattr(value, "_asdict", None)  # a named tuple
    return dict(as_dict()) if as_dict else None


def perfect(gold: object) -> dict[str, Any]:
    """The prediction that gets everything right."""
    record = gold_field(gold, "record")
    if record is None:
        raise GoldassayError("a gold record is an object, not None")
    return {"record": record_of(record)}

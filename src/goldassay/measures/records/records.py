"""The contents of a pair: two records of any shape, as plain JSON values, and why a prediction is none.

The schema of a record is a JSON Schema: from a pydantic model, a DSPy signature, or the gold records themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic_core import to_jsonable_python

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, FieldError, GoldassayError
from goldassay._support.jsonl import JSON
from goldassay.core.fields import Fields, JsonObject, Record, is_example, names, read
from goldassay.core.measure import failed, gold_field, pred_field
from goldassay.measures.records.comparators import by_value, json_type

Schema = type[Any] | Mapping[str, Any] | str
"""A pydantic model, a dataclass, a DSPy signature, or a JSON Schema as an object or text."""
UNIONS = ("anyOf", "oneOf", "allOf")


class Read(NamedTuple):
    """A gold record and a predicted one; None if the program failed, or for the ``reason`` that makes it no record."""

    gold: Any
    pred: Any
    reason: str = ""


def sides(gold: object, pred: object, schema: str = "") -> Read:
    """The records of a pair.

    They are the field ``record``; without one, they are the fields that the schema names. A prediction that does
    not parse, or that the schema does not allow, is None with the reason.

    Raises:
        DataError: the gold record cannot be read, or its schema does not allow it.

    >>> sides({"record": {"total": 1}}, {"record": '{"total": }'}).reason
    'line 1: not JSON: Expecting value (column 11)'
    """
    name = None if isinstance(gold, list) else read(gold, "id", None)
    try:
        left = check(record_of(_value(gold, schema, gold_field)), schema, name)
    except DataError as error:
        raise error.at(record=name, field="record") from None
    if failed(pred):
        return Read(left, None)
    try:
        right = record_of(_value(pred, schema, pred_field))
    except DataError as error:
        return Read(left, None, str(error))
    reason = problem(right, schema)
    return Read(left, None, f"does not fit the schema: {reason}") if reason else Read(left, right)


def _value(side: object, schema: str, field: Callable[[object, str], object]) -> object:
    fields = names(side)
    named = [] if "record" in fields else [name for name in expanded(schema).get("properties", {}) if name in fields]
    if named:
        return {name: read(side, name) for name in named}
    try:
        return field(side, "record")
    except FieldError as error:
        raise FieldError(f"{error}; of fields that are the record: schema=SIGNATURE") from None


def record_of(value: object) -> JSON:
    """A record as plain JSON values; a text is read as JSON, also in a Markdown fence, and NaN of a table is null.

    Raises:
        DataError: it has no form in JSON, or is neither an object nor a list.

    >>> from dataclasses import make_dataclass
    >>> record_of(make_dataclass("Line", ["qty", "days"])(Decimal("2.5"), {3}))
    {'qty': 2.5, 'days': [3]}
    """
    record = jsonl.value(jsonl.without_fence(value)) if isinstance(value, str) else value
    try:
        record = json.loads(json.dumps(record, default=_plain), parse_constant={"NaN": None}.__getitem__)
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise DataError(f"a record is JSON values: {error}") from None
    if not isinstance(record, (dict, list)):
        raise DataError(f"a record is an object or a list, found {jsonl.dumps(record)[:60]}")
    return record


def _plain(value: Any) -> object:
    """Values that JSON has no form for: models and dataclasses become objects, dates texts, sets and arrays lists."""
    kinds = (Enum, Decimal, set, frozenset, BaseModel, Mapping)
    is_stored = hasattr(value, "tolist") or is_dataclass(value) or is_example(value) or isinstance(value, kinds)
    return jsonl.jsonable(value) if is_stored else to_jsonable_python(value)  # a UUID and other scalars


def schema_text(source: Schema) -> str:
    """A JSON Schema as one line of JSON.

    Args:
        source: A pydantic model, dataclass or TypedDict; a DSPy signature, of which the output fields are the record;
            a JSON Schema as an object or text; an empty text is not a schema.

    Raises:
        GoldassayError: it is none of these.

    >>> from pydantic import create_model
    >>> schema_text(create_model("Invoice", total=(float, ...)))[:60]
    '{"properties": {"total": {"title": "Total", "type": "number"'
    """
    if isinstance(source, Mapping):
        schema = dict(source)
    elif isinstance(source, str):
        schema = jsonl.value(source) if source else {}
    else:
        outputs = getattr(source, "output_fields", None)
        if outputs is not None:
            annotations: Any = {name: (field.annotation, ...) for name, field in outputs.items() if name != "reasoning"}
            source = create_model(getattr(source, "__name__", "Record"), **annotations)
        try:
            model: Any = source
            schema = TypeAdapter(model).json_schema(by_alias=False)
        except (PydanticUserError, TypeError, AttributeError):
            raise GoldassayError(
                f"a schema is a pydantic model, a DSPy signature or a JSON Schema, not {source!r}"
            ) from None
    if not isinstance(schema, dict):
        raise GoldassayError(f"a JSON Schema is an object, not {schema!r}")
    return json.dumps(schema, ensure_ascii=False) if schema else ""


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from referencing import Registry

    nothing = Registry()  # no reference is fetched
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(json.loads(schema), registry=nothing, format_checker=checker)


def problem(record: JSON, schema: str) -> str:
    """The reason why a record does not fit a schema, in one line; empty if it does.

    >>> problem({"total": "12"}, '{"properties": {"total": {"type": "number"}}}')
    "total: '12' is not of type 'number'"
    """
    error = next(_validator(schema).iter_errors(record), None) if schema else None
    if error is None:
        return ""
    path = error.json_path.removeprefix("$").removeprefix(".")
    message = " ".join(error.message.split())[:200]
    return f"{path}: {message}" if path else message


def check(record: JSON, schema: str, name: str | int | None) -> JSON:
    """A gold record as a model of pydantic reads it: a text may write a number, or true and false.

    Raises:
        DataError: The schema does not allow it.

    >>> check({"total": "33.90"}, '{"properties": {"total": {"type": "number"}}}', "1")
    {'total': 33.9}
    """
    parsed = _parsed(record, expanded(schema)) if schema else record
    if why := problem(parsed, schema):
        raise DataError(f"gold does not fit the schema: {why}", record=name, field="record")
    return parsed


SCALARS: dict[str, TypeAdapter[object]] = {
    "number": TypeAdapter(float),
    "integer": TypeAdapter(int),
    "boolean": TypeAdapter(bool),
}


def _parsed(value: JSON, node: Record) -> Any:
    """A value, where a text is what the schema's type makes of it; where a text is allowed, it is one."""
    nodes = [node, *(option for key in UNIONS for option in node.get(key, ()))]
    if isinstance(value, dict):
        fields: Fields = {}
        for schema in nodes:
            fields |= schema.get("properties", {})
        return {name: _parsed(inner, fields.get(name, {})) for name, inner in value.items()}
    if isinstance(value, list):
        items: JsonObject = next((schema["items"] for schema in nodes if isinstance(schema.get("items"), dict)), {})
        return [_parsed(item, items) for item in value]
    kinds: set[str] = set()
    for schema in nodes:
        types = schema.get("type", ())
        kinds |= {types} if isinstance(types, str) else {*types}
    if isinstance(value, str) and "string" not in kinds:
        for kind in SCALARS.keys() & kinds:
            with suppress(ValidationError):
                return SCALARS[kind].validate_python(value)
    return value


@lru_cache(maxsize=64)
def expanded(schema: str) -> Fields:
    """The schema of a text with every reference replaced by its definition; a model inside itself is null."""
    root = json.loads(schema or "{}")
    definitions = {**root.get("definitions", {}), **root.get("$defs", {})}

    def expand(node: JSON, above: tuple[str, ...] = ()) -> Any:
        if isinstance(node, list):
            return [expand(child, above) for child in node]
        if not isinstance(node, dict):
            return node
        if isinstance(reference := node.get("$ref"), str):
            target = {"type": "null"} if reference in above else definitions.get(reference.rpartition("/")[2], {})
            return expand(target, (*above, reference))
        return {key: expand(child, above) for key, child in node.items() if key != "$defs"}

    content: JsonObject = expand(root)
    return content


def by_schema(schema: str) -> dict[str, str]:
    """The comparator of each leaf field of a schema, by its type.

    >>> by_schema('{"properties": {"day": {"type": "string", "format": "date"}, "n": {"type": "integer"}}}')
    {'day': 'date', 'n': 'number'}
    """
    return dict(_leaves(expanded(schema), ""))


def _leaves(node: Record, path: str) -> Iterator[tuple[str, str]]:
    formats = ("date", "date-time", "time", "date or time")
    parts = [option for key in UNIONS for option in node.get(key, ()) if option.get("type") != "null"]
    for name, inner in node.get("properties", {}).items():
        yield from _leaves(inner, f"{path}.{name}" if path else name)
    if isinstance(node.get("items"), dict):
        yield from _leaves(node["items"], path)
    if "properties" in node or "items" in node:
        return
    kinds = node.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else {*kinds} - {"null"}
    if {option.get("type") for option in parts} == {"number", "string"}:
        yield path, "decimal"  # what pydantic allows for a Decimal: a number, or its text
    elif parts:
        yield from reversed([leaf for option in parts for leaf in _leaves(option, path)])
    elif "enum" in node or "const" in node:
        yield path, "enum"
    elif kinds and kinds <= {"number", "integer"}:
        yield path, "number"
    elif kinds & {"string", "boolean", "number", "integer"}:
        yield path, "date" if node.get("format") in formats else "exact"


def example(schema: str, number: int = 1) -> Any:
    """A record with every field of a schema, to be replaced by a real one.

    >>> example('{"properties": {"no": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}')
    {'no': 'no 1', 'tags': ['tags 1']}
    """
    day = f"2024-01-{number:02}"
    values: JsonObject = {
        **{"integer": number, "number": float(number), "boolean": bool(number % 2), "null": None, "object": {}},
        **{"date": day, "date-time": f"{day}T10:00:00", "time": "10:00:00", "duration": f"PT{number}M"},
        **{"email": f"{number}@example.org", "uri": f"https://example.org/{number}"},
        "uuid": f"00000000-0000-4000-8000-{number:012}",
    }

    def filled(node: Record, name: str) -> object:
        if parts := [option for key in UNIONS for option in node.get(key, ())]:
            return filled(parts[0], name)
        if choices := node.get("enum") or [node[key] for key in ("const",) if key in node]:
            return choices[number % len(choices)]
        if "properties" in node:
            return {key: filled(inner, key) for key, inner in node["properties"].items()}
        if node.get("type") == "array":
            parts = node.get("prefixItems") or [node.get("items", {})] * max(1, node.get("minItems", 1))
            items = [filled(option, name) for option in parts]
            return [] if items == [None] else items
        return values.get(node.get("format", ""), values.get(node.get("type", ""), f"{name or 'value'} {number}"))

    return filled(expanded(schema), "")


def from_records(records: Iterable[JSON]) -> JsonObject:
    """The JSON Schema that all these records fit: the types that occur, and the fields that every object has.

    >>> from_records([{"a": 1}, {"a": None, "b": ["x"]}])["required"]
    ['a']
    """
    values = list(records)
    schema: JsonObject = {"type": sorted({json_type(value) for value in values})}
    if {by_value(value) for value in values if value is not None} == {"date"}:
        schema["format"] = "date or time"  # a note for comparators; JSON Schema has no such format
    if objects := [value for value in values if isinstance(value, dict)]:
        fields = dict.fromkeys(name for value in objects for name in value)
        inner = {name: from_records(value[name] for value in objects if name in value) for name in fields}
        required = [name for name in fields if all(name in value for value in objects)]
        schema |= {"properties": inner, "required": required, "additionalProperties": False}
    items = [item for value in values if isinstance(value, list) for item in value]
    return schema | ({"items": from_records(items)} if items else {})

"""The schema of a record, as JSON Schema: from a pydantic model, a DSPy signature, or the gold records themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measures.records.comparators import by_value, json_type

UNIONS = ("anyOf", "oneOf", "allOf")
FORMATS = ("date", "date-time", "time", "date or time")


def schema_text(source: Any) -> str:
    """A JSON Schema as one line of JSON.

    Args:
        source: A pydantic model, dataclass or TypedDict; a DSPy signature, of which the output fields are the record;
            a JSON Schema as an object or text; an empty text is no schema.

    >>> from pydantic import create_model
    >>> schema_text(create_model("Invoice", total=(float, ...)))[:60]
    '{"properties": {"total": {"title": "Total", "type": "number"'
    """
    from pydantic import PydanticUserError, TypeAdapter, create_model

    if isinstance(source, str):
        schema = jsonl.value(source) if source else {}
    elif isinstance(source, Mapping):
        schema = dict(source)
    else:
        outputs = getattr(source, "output_fields", None)
        if outputs is not None:
            annotations: Any = {name: (field.annotation, ...) for name, field in outputs.items() if name != "reasoning"}
            source = create_model(getattr(source, "__name__", "Record"), **annotations)
        try:
            schema = TypeAdapter[Any](source).json_schema(by_alias=False)
        except (PydanticUserError, TypeError, AttributeError):
            raise GoldassayError(
                f"a schema is a pydantic model, a DSPy signature or a JSON Schema, not {source!r}"
            ) from None
    if not isinstance(schema, dict):
        raise GoldassayError(f"a JSON Schema is an object, not {schema!r}")
    return json.dumps(schema, ensure_ascii=False) if schema else ""


@lru_cache(maxsize=64)
def parsed(schema: str) -> dict[str, Any]:
    """The schema of a text."""
    content: dict[str, Any] = jsonl.value(schema) if schema else {}
    return content


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from referencing import Registry

    nothing: Registry[Any] = Registry()  # no reference is fetched
    return Draft202012Validator(parsed(schema), registry=nothing, format_checker=Draft202012Validator.FORMAT_CHECKER)


def problem(record: object, schema: str) -> str:
    """What a schema says against a record, in one line; empty if the record is valid.

    >>> problem({"total": "12"}, '{"properties": {"total": {"type": "number"}}}')
    "total: '12' is not of type 'number'"
    """
    error = next(_validator(schema).iter_errors(record), None) if schema else None
    if error is None:
        return ""
    place = error.json_path.removeprefix("$").removeprefix(".")
    message = " ".join(error.message.split())
    return f"{place}: {message[:200]}" if place else message[:200]


@lru_cache(maxsize=64)
def expanded(schema: str) -> dict[str, Any]:
    """The schema of a text with every reference replaced by its definition; a model inside itself is null."""
    whole = parsed(schema)
    content: dict[str, Any] = _expanded(whole, {**whole.get("definitions", {}), **whole.get("$defs", {})}, ())
    return content


def _expanded(node: Any, definitions: Mapping[str, Any], above: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_expanded(part, definitions, above) for part in node]
    if not isinstance(node, dict):
        return node
    if isinstance(reference := node.get("$ref"), str):
        target = {"type": "null"} if reference in above else definitions.get(reference.rpartition("/")[2], {})
        return _expanded(target, definitions, (*above, reference))
    return {key: _expanded(part, definitions, above) for key, part in node.items() if key != "$defs"}


def fields(schema: str) -> list[str]:
    """The names of the fields of a record at its top; empty without a schema."""
    return list(expanded(schema).get("properties", {}))


def by_schema(schema: str) -> dict[str, str]:
    """The comparator of each leaf field of a schema, by its type.

    >>> by_schema('{"properties": {"day": {"type": "string", "format": "date"}, "n": {"type": "integer"}}}')
    {'day': 'date', 'n': 'number'}
    """
    return dict(_leaves(expanded(schema), ""))


def _leaves(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    parts = [part for key in UNIONS for part in node.get(key, ()) if part.get("type") != "null"]
    for name, inner in node.get("properties", {}).items():
        yield from _leaves(inner, f"{path}.{name}" if path else name)
    if isinstance(node.get("items"), dict):
        yield from _leaves(node["items"], path)
    if "properties" in node or "items" in node:
        return
    kinds = node.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else {*kinds} - {"null"}
    if {part.get("type") for part in parts} == {"number", "string"}:
        yield path, "decimal"  # what pydantic allows for a Decimal: a number, or its text
    elif parts:
        yield from reversed([leaf for part in parts for leaf in _leaves(part, path)])
    elif "enum" in node or "const" in node:
        yield path, "enum"
    elif kinds and kinds <= {"number", "integer"}:
        yield path, "number"
    elif kinds & {"string", "boolean", "number", "integer"}:
        yield path, "date" if node.get("format") in FORMATS else "exact"


def example(schema: str, number: int = 1) -> Any:
    """A record with every field of a schema, to be replaced by a real one.

    >>> example('{"properties": {"no": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}')
    {'no': 'no 1', 'tags': ['tags 1']}
    """
    return _example(expanded(schema), "", number)


def _example(node: Mapping[str, Any], name: str, number: int) -> Any:
    parts = [part for key in UNIONS for part in node.get(key, ())]
    if parts:
        return _example(parts[0], name, number)
    if "enum" in node or "const" in node:
        choices = node.get("enum") or [node["const"]]
        return choices[number % len(choices)]
    if "properties" in node:
        return {key: _example(inner, key, number) for key, inner in node["properties"].items()}
    if node.get("type") == "array":
        parts = node.get("prefixItems") or [node.get("items", {})] * max(1, node.get("minItems", 1))
        items = [_example(part, name, number) for part in parts]
        return [] if items == [None] else items
    day = f"2024-01-{number:02}"
    values: dict[Any, Any] = {
        "integer": number,
        "number": float(number),
        "boolean": bool(number % 2),
        "null": None,
        "object": {},
        "date": day,
        "date-time": f"{day}T10:00:00",
        "time": "10:00:00",
        "duration": f"PT{number}M",
        "email": f"{number}@example.org",
        "uri": f"https://example.org/{number}",
        "uuid": f"00000000-0000-4000-8000-{number:012}",
    }
    return values.get(node.get("format"), values.get(node.get("type"), f"{name or 'value'} {number}"))


def from_records(records: Iterable[object]) -> dict[str, Any]:
    """The JSON Schema that all these records fit: the types that occur, and the fields that every object has.

    >>> from_records([{"a": 1}, {"a": None, "b": ["x"]}])["required"]
    ['a']
    """
    values = list(records)
    schema: dict[str, Any] = {"type": sorted({json_type(value) for value in values})}
    if {by_value(value) for value in values if value is not None} == {"date"}:
        schema["format"] = "date or time"  # a note for comparators; JSON Schema has no such format
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        names = dict.fromkeys(name for value in objects for name in value)
        inner = {name: from_records(value[name] for value in objects if name in value) for name in names}
        required = [name for name in names if all(name in value for value in objects)]
        schema |= {"properties": inner, "required": required, "additionalProperties": False}
    items = [item for value in values if isinstance(value, list) for item in value]
    return schema | ({"items": from_records(items)} if items else {})


def check(record: object, schema: str, name: object) -> None:
    """Raise a `DataError` for a gold record that its schema does not allow."""
    if why := problem(record, schema):
        raise DataError(f"gold does not fit the schema: {why}", record=name, field="record")

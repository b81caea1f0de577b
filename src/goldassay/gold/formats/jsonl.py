"""``jsonl``: the canonical records, one JSON object a line.

The quick way through a file (`rows`) lets msgspec decode and check many lines at once. It is a filter: what it takes is
what `records.adapter` takes, with the same result, and what it does not take goes to that validator line by line, which
either takes it all the same (an id that is a number, say) or says what is wrong. Records are decoded into plain dicts
at once. A field of another name, and a key that stands twice, are passed over by msgspec in silence: that more colons
went in than came out tells of both.

>>> rows(b'{"id": "a", "query": "x", "relevant": {"d1": 2}}\\n', "retrieval")
[{'id': 'a', 'query': 'x', 'relevant': {'d1': 2.0}}]
>>> rows(b'{"id": 7, "query": "x", "relevant": {"d1": 2}}', "retrieval") is None
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from annotated_types import Ge, MinLen
from pydantic import ValidationError
from typing_extensions import TypedDict, is_typeddict

from goldassay import files
from goldassay import jsonl as strict
from goldassay.exceptions import DataError
from goldassay.files import Wrong, stop
from goldassay.gold.records import GOLD, PRED, SPANS, Side, adapter, plain, prove
from goldassay.measure import TASKS as TASKS

LAST = ("strata", "meta")


def read(path: str | Path, task: str, side: Side = "gold", *, wrong: Wrong = stop) -> list[dict[str, object]]:
    """The records of a file, validated; spans are proved against the text."""
    records: list[dict[str, Any]] = []
    with files.uncollected():
        for number, place, block in files.blocks(path):
            found = rows(block, task, side)
            if found is None:
                found = list(by_line(block, path, number, place, task, side, wrong))
            records += found
    if not records:
        raise DataError("the file is empty", file=path)
    return records


def by_line(
    block: bytes, path: str | Path, number: int, place: int, task: str, side: Side, wrong: Wrong = stop
) -> Iterator[dict[str, object]]:
    """The records of a block, one at a time: what is wrong is told with its line.

    Args:
        block: Whole lines.
        path: The file that errors name.
        number: The number of its first line.
        place: How many bytes stand before it.
        task: The task.
        side: ``gold`` or ``pred``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    for line in files.decoded(block, path, number, place).split("\n"):
        if line and not line.isspace():
            try:
                yield _record(line, task, side)
            except DataError as error:
                wrong(error.at(file=path, line=number))
        number += 1


def _record(line: str, task: str, side: Side) -> dict[str, Any]:
    """The record of a line; its spans are proved against its text."""
    try:
        checked = adapter(task, side).validate_json(line)
    except ValidationError as error:
        raise plain(error, record=_id(line)) from None
    record: dict[str, Any] = _as_written(checked, strict.value(line))
    field = SPANS.get(task)
    if field and "text" in record:
        prove(record["text"], record[field], field, record["id"])
    return record


def _as_written(checked: Any, written: Any) -> Any:
    """A checked value whose fields stand in the order in which they are written, as on the quick way."""
    if isinstance(checked, dict):
        return {key: _as_written(checked[key], value) for key, value in written.items()}
    if isinstance(checked, (list, tuple)):
        return type(checked)(map(_as_written, checked, written))
    return checked


def dumps(records: Iterable[Mapping[str, object]]) -> str:
    """Records as JSON Lines: what is about a record stands after what it says, and a whole grade is a whole number.

    >>> dumps([{"id": "q", "strata": {"tier": 1}, "query": "x", "relevant": {"d": 2.0}}])
    '{"id": "q", "query": "x", "relevant": {"d": 2}, "strata": {"tier": 1}}\\n'
    """
    return "".join(json.dumps(_laid_out(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def _laid_out(record: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in record.items() if key not in LAST}
    if isinstance(made.get("relevant"), Mapping):
        made["relevant"] = {
            key: int(grade) if isinstance(grade, float) and grade.is_integer() else grade
            for key, grade in made["relevant"].items()
        }
    return made | {key: record[key] for key in LAST if key in record}


def write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side = "gold") -> None:
    """Write records, one a line."""
    files.save(path, dumps(records))


def _id(line: str) -> str | None:
    try:
        found = json.loads(line)  # whatever else is wrong with it
    except (ValueError, RecursionError):
        return None
    return str(found["id"]) if isinstance(found, dict) and "id" in found else None


LONG = re.compile(rb"\d{300}")  # a number that is longer is none; msgspec takes some of them
STEP = 32  # of so long a number, nine of the bytes that are this far apart are digits
ALL_DIGITS = b"0" * (300 // STEP)
DIGITS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
# Values of free fields: what is nested deeper goes the other way, which has a bound for depth.
SCALAR = str | int | float | bool | None
FLAT = SCALAR | list[SCALAR] | dict[str, SCALAR]
FREE = SCALAR | list[FLAT] | dict[str, FLAT]


def rows(block: bytes, task: str, side: Side = "gold") -> list[dict[str, object]] | None:
    """The records of lines of JSON, or None if any of them is not plainly right: shape or place of a span.

    Empty lines are passed over. The fields of a record keep the order in which they are written.
    """
    shape = (GOLD if side == "gold" else PRED)[task]
    decode = decoder(shape).decode
    try:
        found = list(map(decode, filter(bytes.strip, block.split(b"\n"))))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    field = SPANS.get(task)  # of spans
    if _long(block) or _lost(block, found, shape) or (field and not _stand(found, field)):
        return None
    return found


def _long(raw: bytes) -> bool:
    """Whether a number is too long."""
    return ALL_DIGITS in raw[::STEP].translate(DIGITS) and LONG.search(raw) is not None


def _lost(raw: bytes, records: list[dict[str, Any]], shape: Any) -> bool:
    """Whether a key was passed over: it had a colon, which is not among those of the keys that are left and of texts.

    The colons of the records' own texts are counted first; those of all others are found by writing the records again.
    """
    colons = raw.count(b":")
    others = colons - _keys(records, shape)
    if not others:
        return False
    if b"\\u003" in raw:  # a colon of a text may be written as a number
        return True
    own = "".join([value for record in records for value in record.values() if type(value) is str]).count(":")
    return others != own and colons > msgspec.json.encode(records).count(b":")


def _keys(values: Sequence[Any], hint: Any) -> int:
    """How many keys there are in values of a type, column by column where the type says what is inside."""
    if not _holds_keys(hint):
        return 0
    if is_typeddict(hint):
        own = sum(map(len, values))
        return own + sum(_keys([one[key] for one in values if key in one], kind) for key, kind in _types(hint).items())
    if get_origin(hint) is list:
        return _keys(list(chain.from_iterable(values)), get_args(hint)[0])
    if get_origin(hint) is dict:
        inside = get_args(hint)[1]
        found = [one for value in values for one in value.values()] if _holds_keys(inside) else []
        return sum(map(len, values)) + _keys(found, inside)
    return sum(map(_deep, values))


def _deep(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_deep, value.values()))
    return sum(map(_deep, value)) if isinstance(value, (list, tuple)) else 0


@cache
def _holds_keys(hint: Any) -> bool:
    return hint is Any or is_typeddict(hint) or get_origin(hint) is dict or any(map(_holds_keys, get_args(hint)))


@cache
def _types(shape: Any) -> dict[str, Any]:
    """The fields of a shape whose values may have keys, with their types."""
    return {name: hint for name, hint in get_type_hints(shape).items() if _holds_keys(hint)}


def _stand(records: list[dict[str, Any]], field: str) -> bool:
    """Whether all spans stand where they say; plain ones are looked at here, which is all of them as a rule."""
    for record in records:
        text = record.get("text")
        if text is None:
            continue
        length = len(text)
        for span in record[field]:
            words, end = span.get("text"), span["end"]
            if not words or text[span["start"] : end] != words or end is None or end > length:
                try:
                    prove(text, record[field], field)
                except DataError:
                    return False
                break
    return True


@cache
def decoder(shape: object) -> msgspec.json.Decoder[Any]:
    """The decoder of a task's records."""
    return msgspec.json.Decoder(_type(shape))


@cache
def _shape(shape: Any) -> Any:
    """A shape with the types of its fields as msgspec writes them."""
    fields = {}
    for name, hint in get_type_hints(shape, include_extras=True).items():
        needed = get_origin(hint) is not NotRequired
        fields[name] = _type(hint) if needed else NotRequired[_type(get_args(hint)[0])]
    return cast("Any", TypedDict)(shape.__name__, fields)


def _type(hint: Any) -> Any:
    """A type of a shape as msgspec writes it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return FREE
    if is_typeddict(hint):
        return _shape(hint)
    if origin is Annotated:
        return Annotated[inner[0], _bounds(hint.__metadata__)]
    if origin in (Union, UnionType):
        return reduce(or_, (None if one is NoneType else _type(one) for one in inner))
    if origin is not None:
        return origin[tuple(_type(one) for one in inner)]
    return hint


def _bounds(metadata: Any) -> msgspec.Meta:
    """The limits that pydantic's fields set."""
    limits = {type(limit): limit for field in metadata for limit in field.metadata}
    if MinLen in limits:
        return msgspec.Meta(min_length=limits[MinLen].min_length)
    return msgspec.Meta(ge=limits[Ge].ge) if Ge in limits else msgspec.Meta()

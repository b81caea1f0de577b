"""The quick way through a file of records: msgspec decodes and checks many lines at once.

It is a filter: what it takes is what `records.adapter` takes, with the same result, and what it does not take goes to
that validator line by line, which either takes it all the same (an id that is a number, say) or says what is wrong.
Each shape becomes a struct that forbids other fields; structs are checked while they are decoded, and become plain
dicts block by block, which is what a bulk load costs in the end.

>>> rows(b'{"id": "a", "query": "x", "relevant": {"d1": 2}}\\n', "retrieval")
[{'id': 'a', 'query': 'x', 'relevant': {'d1': 2.0}}]
>>> rows(b'{"id": 7, "query": "x", "relevant": {"d1": 2}}', "retrieval") is None
True
"""

from __future__ import annotations

import re
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from annotated_types import Ge, MinLen
from typing_extensions import is_typeddict

from goldassay.exceptions import DataError
from goldassay.gold import offsets
from goldassay.gold.records import GOLD, PRED, Side

LINE_FEED, OPENS, CLOSES, ZERO, NINE = b"\n{}09"
COLON = b":"
LARGE = 2**20  # bytes from which numpy is worth its import
LONG = re.compile(rb"\d{300}")  # a number that is longer is none; msgspec takes some of them
# Values of free fields: what is nested deeper goes the other way, which has a bound for depth.
SCALAR = str | int | float | bool | None
FLAT = SCALAR | list[SCALAR] | dict[str, SCALAR]
FREE = SCALAR | list[FLAT] | dict[str, FLAT]


def rows(block: bytes, task: str, side: Side = "gold") -> list[dict[str, Any]] | None:
    """The records of lines of JSON, or None if any of them is not plainly right: shape or place of a span.

    Empty lines are passed over.
    """
    try:
        found = _decoded(block, decoder(task, side))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if _long(block) or _colons(block) > _colons(msgspec.json.encode(found)):
        return None  # a key stands twice: the last one was taken in silence
    field = offsets.FIELDS.get(task)
    if field and not _stand(found, field):
        return None
    return cast("list[dict[str, Any]]", msgspec.to_builtins(found))


def _long(raw: bytes) -> bool:
    """Whether a number is too long; of so many digits three of those looked at, each 100 bytes on, are digits."""
    if len(raw) < LARGE:
        return LONG.search(raw) is not None
    import numpy as np

    letters = np.frombuffer(raw, np.uint8)[::100]
    digits = (letters >= ZERO) & (letters <= NINE)
    return bool((digits[:-2] & digits[1:-1] & digits[2:]).any()) and LONG.search(raw) is not None


def _colons(raw: bytes) -> int:
    """How many colons there are: one a key, and those inside of texts."""
    return raw.count(COLON)


def _decoded(block: bytes, decode: msgspec.json.Decoder[Any]) -> list[Any]:
    """One struct a line.

    ``decode_lines`` takes values wherever the lines end. Where every line opens with ``{`` and ends with ``}`` no value
    goes over a line's end (an object that is not closed cannot go on with ``{``), so as many values as lines are one a
    line. Other lines are decoded one by one.
    """
    if len(block) < LARGE:
        return [decode.decode(line) for line in block.split(b"\n") if line and not line.isspace()]
    import numpy as np

    letters = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(letters == LINE_FEED)
    if (
        len(ends)
        and ends[-1] == len(letters) - 1
        and letters[0] == OPENS
        and (letters[ends - 1] == CLOSES).all()
        and (letters[ends[:-1] + 1] == OPENS).all()
    ):
        found = decode.decode_lines(block)
        if len(found) == len(ends):
            return found
    return [decode.decode(line) for line in block.split(b"\n") if line and not line.isspace()]


def _stand(records: list[Any], field: str) -> bool:
    """Whether all spans stand where they say; plain ones are looked at here, which is all of them as a rule."""
    for record in records:
        text = record.text
        if text is msgspec.UNSET:
            continue
        for span in getattr(record, field):
            start, end, words = span.start, span.end, span.text
            if not words or text[start:end] != words or start is None or end is None or end > len(text):
                try:
                    offsets.prove(text, msgspec.to_builtins(getattr(record, field)), field)
                except DataError:
                    return False
                break
    return True


@cache
def decoder(task: str, side: Side) -> msgspec.json.Decoder[Any]:
    """The decoder of a task's records."""
    return msgspec.json.Decoder(struct((GOLD if side == "gold" else PRED)[task]))


@cache
def struct(shape: Any) -> Any:
    """A shape as a struct; what is not required is left out of the dict where it is absent."""
    fields: list[Any] = []
    for name, hint in get_type_hints(shape, include_extras=True).items():
        if get_origin(hint) is NotRequired:
            fields.append((name, _type(get_args(hint)[0]) | msgspec.UnsetType, msgspec.UNSET))
        else:
            fields.append((name, _type(hint)))
    return msgspec.defstruct(shape.__name__, fields, kw_only=True, forbid_unknown_fields=True, gc=False)


def _type(hint: Any) -> Any:
    """A type of a shape as msgspec writes it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return FREE
    if is_typeddict(hint):
        return struct(hint)
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

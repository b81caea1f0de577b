"""Spans as measures read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from goldassay.exceptions import DataError
from goldassay.fields import read


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) of a document, with a type.

    ``start`` is -1 where a program named words that do not stand in the text; such a span matches nothing.
    ``fragments`` are the parts of a discontinuous span.
    """

    start: int
    end: int
    type: str
    text: str = ""
    fragments: tuple[tuple[int, int], ...] = ()

    @property
    def place(self) -> tuple[int, int] | tuple[tuple[int, int], ...]:
        """What must be equal for the boundaries to be equal."""
        return self.fragments or (self.start, self.end)

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a character."""
        if self.start >= other.end or other.start >= self.end:
            return False
        if not self.fragments and not other.fragments:
            return True
        mine, theirs = self.fragments or ((self.start, self.end),), other.fragments or ((other.start, other.end),)
        return any(a < d and c < b for a, b in mine for c, d in theirs)


def spans(items: Iterable[Any] | None, side: str = "entities") -> list[Span]:
    """Spans from dicts, tuples ``(start, end, type)`` or objects.

    >>> spans([{"start": 4, "end": 15, "type": "MUS"}, (20, 24, "TMP")])[1].place
    (20, 24)
    """
    out = []
    for number, item in enumerate(items or ()):
        if isinstance(item, Span):
            out.append(item)
            continue
        if isinstance(item, dict):
            start, end, kind, text = item.get("start"), item.get("end"), item.get("type"), item.get("text") or ""
            parts = item.get("fragments")
        elif isinstance(item, tuple) and len(item) >= 3:
            (start, end, kind), text, parts = item[:3], "", None
        else:
            start, end, kind = (read(item, name, None) for name in ("start", "end", "type"))
            text, parts = read(item, "text", "") or "", read(item, "fragments", None)
        if kind is None:
            raise DataError("a span needs a type", field=f"{side}[{number}]")
        if start is None or end is None:
            out.append(Span(-1, -1, str(kind), str(text)))
            continue
        fragments = tuple((int(a), int(b)) for a, b in parts) if parts and len(parts) > 1 else ()
        if not 0 <= start < end:
            raise DataError(f"a span must begin before it ends, not {start}–{end}", field=f"{side}[{number}]")
        out.append(Span(int(start), int(end), str(kind), str(text), fragments))
    return out

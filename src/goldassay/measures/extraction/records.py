"""Gold and predictions as spans, and the prediction that gets everything right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any, NamedTuple, SupportsIndex

from goldassay._support.exceptions import DataError
from goldassay.core.fields import names, read, without_enums
from goldassay.core.measure import gold_field, pred_field
from goldassay.text.spans import widened

PRED = "predicted entities"
Entities = Iterable[object] | None
Place = tuple[int, int]
Fragments = tuple[Place, ...]


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) of a document, with a type.

    ``start`` is -1 if a program named words that do not occur in the text; such a span matches nothing. ``fragments``
    are the parts of a discontinuous span; ``form`` is how a tokenised system file writes the words, if gold differs.
    An ``optional`` gold span may be left out; ``parent`` is the place of the span that this one is a part of.
    """

    start: int
    end: int
    type: str
    text: str = ""
    fragments: Fragments = ()
    form: str = ""
    optional: bool = False
    parent: Place | None = None

    @property
    def parts(self) -> Fragments:
        """The fragments; of a span without any, itself."""
        return self.fragments or ((self.start, self.end),)

    @property
    def place(self) -> Place | Fragments:
        """The boundaries: two spans with equal places have the same boundaries."""
        return self.fragments or (self.start, self.end)

    @property
    def key(self) -> tuple[Place | Fragments, str]:
        """The boundaries and the type."""
        return self.place, self.type

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a character."""
        return any(a < d and c < b for a, b in self.parts for c, d in other.parts)


def spans(items: Entities, side: str = "entities", *, placed: bool = False) -> list[Span]:
    """Spans from dicts, sequences ``(start, end, type)`` or objects; a ``label`` is a type.

    ``None`` for start and end means "not in the text", which only a prediction may say (``placed`` forbids it).

    Raises:
        DataError: A span has no type or no valid offsets.

    >>> both = spans([{"start": 4, "end": 15, "label": "MUS"}, (20, 24, "TMP")])
    >>> both[0].type, both[1].place
    ('MUS', (20, 24))
    >>> spans([{"start": 9, "end": 4, "type": "MUS"}])
    Traceback (most recent call last):
    goldassay._support.exceptions.DataError: entities[0]: a span must begin before it ends, not 9–4
    """
    if isinstance(items, (str, Mapping)) or (items and not isinstance(items, Iterable)):
        raise DataError(f"expected a list of spans, not {type(items).__name__}", field=side)
    read_spans = []
    for number, item in enumerate(items or ()):
        try:
            span = item if type(item) is Span else _span(item)
            if placed and span.start < 0:
                raise DataError("a gold span needs start and end")
        except DataError as error:
            raise error.at(field=f"{side}[{number}]") from None
        read_spans.append(span)
    return read_spans


def _span(item: object) -> Span:
    if isinstance(item, (tuple, list)) and len(item) >= 3:
        item = dict(zip(Span._fields, item[:3], strict=False))
    get = item.get if isinstance(item, Mapping) else lambda name: read(item, name, None)
    start, end, kind, text, parts, form, optional, parent = map(get, Span._fields)
    kind = without_enums(get("label") if kind is None else kind)
    if not isinstance(kind, str):
        has = f"; it has {', '.join(names(item)) or repr(item)}"
        raise DataError(f"a span needs a type{has}" if kind is None else f"the type must be text, not {kind!r}")
    if start is None and not parts:
        refuse_missing_offsets(item)
    fragments = tuple(sorted((_offset(a), _offset(b)) for a, b in parts or ()))
    extent = (fragments[0][0], max(b for _, b in fragments)) if fragments else (-1, -1)
    start, end = extent if start is None or end is None else (_offset(start), _offset(end))
    if (start, end) != (-1, -1) and not 0 <= start < end:
        raise DataError(f"a span must begin before it ends, not {start}–{end}")
    if fragments and (extent != (start, end) or any(a >= b for a, b in fragments)):
        raise DataError(f"the fragments {list(map(list, fragments))} do not make up {start}–{end}")
    fragments = () if len(fragments) < 2 else fragments  # a single one is the span itself
    above = (parent[0], parent[1]) if parent else None
    return Span(start, end, kind, text or "", fragments, form or "", bool(optional), above)


def refuse_missing_offsets(item: object) -> None:
    """Raise for a span without offsets, unless it says that it is not in the text (``"start": None``)."""
    if read(item, "start", "") == "":
        advice = "`goldassay.text.spans.locate(text, quotes)` finds them; null says that it is not in the text"
        raise DataError(f"a span needs start and end: {advice}")


def _offset(value: SupportsIndex) -> int:
    try:
        return index(value)
    except TypeError:
        raise DataError(f"an offset is a whole number, not {value!r}") from None


def items_of(record: object, field: Callable[[object, str], object], name: str = "entities") -> Any:
    """The list of a record, read by ``gold_field`` or ``pred_field``, or the list itself."""
    return record if isinstance(record, (list, tuple)) else field(record, name)


def text_of(gold: object) -> str:
    """The text of a gold record; empty if there is none."""
    return "" if isinstance(gold, (list, tuple)) else str(gold_field(gold, "text", "") or "")


def sides(gold: object, pred: object, bounds: str = "given") -> tuple[list[Span], list[Span], str]:
    """Gold spans, predicted spans and the text of one pair of records, or of bare lists of spans.

    ``bounds="word"`` widens both sides to whole words of the text (`widened`).

    Raises:
        DataError: A span has no type or no valid offsets.
        FieldError: A record has no ``entities``.
    """
    name = "gold entities"
    text = text_of(gold)
    try:
        left = spans(items_of(gold, gold_field), name, placed=True)
        right = spans(items_of(pred, pred_field), PRED)
    except DataError as error:
        raise error.at(record=None if isinstance(gold, (list, tuple)) else read(gold, "id", None)) from None
    if bounds == "word" and text:
        left = [_widened(span, text) for span in left]
        right = [_widened(span, text) for span in right]
    return *settled(left, right), text


def settled(gold: list[Span], pred: list[Span]) -> tuple[list[Span], list[Span]]:
    """The spans of both sides of a document that count.

    A gold span that is ``optional`` counts on no side, predicted or not. A span with parts (spans whose ``parent`` is
    its place) is correct if it is predicted or all its parts are; a part counts on no side by itself. Predicted means
    the same place and type (ELEVANT).

    >>> whole = Span(0, 22, "LOC")
    >>> gold = [whole, *(Span(*place, "LOC", parent=(0, 22)) for place in ((0, 9), (11, 22)))]
    >>> settled(gold, [Span(0, 9, "LOC"), Span(11, 22, "LOC")]) == ([whole], [whole])
    True
    """
    if not any(span.optional or span.parent for span in gold):
        return gold, pred
    predicted = {span.key for span in pred}
    places = {span[:2] for span in gold}

    def correct(span: Span, above: tuple[Span, ...] = ()) -> bool:
        parts = [child for child in gold if child.parent == span[:2] and child not in (span, *above)]
        return span.key in predicted or (bool(parts) and all(correct(child, (*above, span)) for child in parts))

    counted = [span for span in gold if not span.optional and span.parent not in places]
    ignored = {span.key for span in gold} - {span.key for span in counted}
    by_parts = [span for span in counted if span.key not in predicted and correct(span)]
    return counted, [span for span in pred if span.key not in ignored] + by_parts


def _widened(span: Span, text: str) -> Span:
    """A span widened to whole words, with its fragments and its parent."""
    if not 0 <= span.start < span.end <= len(text):
        return span
    start, end = widened(span.start, span.end, text)
    parts = tuple(widened(*fragment, text) for fragment in span.fragments)
    parent = span.parent and widened(*span.parent, text)
    return span._replace(start=start, end=end, text=text[start:end], fragments=parts, parent=parent)

"""Gold and predictions as spans, and the prediction that gets everything right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import gold_field, pred_field
from goldassay.text.locate import widened

GOLD, PRED = "gold entities", "predicted entities"
Entities = Iterable[object] | None
Fragments = tuple[tuple[int, int], ...]


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) of a document, with a type.

    ``start`` is -1 if a program named words that do not occur in the text; such a span matches nothing. ``fragments``
    are the parts of a discontinuous span; ``form`` is how a tokenised system file writes the words, if gold differs.
    """

    start: int
    end: int
    type: str
    text: str = ""
    fragments: Fragments = ()
    form: str = ""

    @property
    def place(self) -> tuple[int, int] | Fragments:
        """The boundaries: two spans with equal places have the same boundaries."""
        return self.fragments or (self.start, self.end)

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a character."""
        mine, theirs = self.fragments or ((self.start, self.end),), other.fragments or ((other.start, other.end),)
        return any(a < d and c < b for a, b in mine for c, d in theirs)


def spans(items: Entities, side: str = "entities", *, placed: bool = False) -> list[Span]:
    """Spans from dicts, sequences ``(start, end, type)`` or objects.

    ``None`` for start and end means "not in the text", which only a prediction may say (``placed`` forbids it).

    >>> spans([{"start": 4, "end": 15, "type": "MUS"}, (20, 24, "TMP")])[1].place
    (20, 24)
    >>> spans([{"start": 9, "end": 4, "type": "MUS"}])
    Traceback (most recent call last):
    goldassay.exceptions.DataError: entities[0]: a span must begin before it ends, not 9–4
    """
    if isinstance(items, (str, Mapping)):
        raise DataError(f"expected a list of spans, not {type(items).__name__}", field=side)
    read_spans = []
    for number, item in enumerate(items or ()):
        span = item if type(item) is Span else _span(item, f"{side}[{number}]")
        if placed and span.start < 0:
            raise DataError("a gold span needs start and end", field=f"{side}[{number}]")
        read_spans.append(span)
    return read_spans


def _span(item: Any, where: str) -> Span:
    get: Any = item.get if isinstance(item, Mapping) else lambda name: read(item, name, None)
    if isinstance(item, (tuple, list)) and len(item) >= 3:
        get = dict(zip(Span._fields, item[:3], strict=False)).get
    start, end, kind, text, parts, form = map(get, Span._fields)
    if not isinstance(kind, str):
        raise DataError("a span needs a type" if kind is None else f"the type must be text, not {kind!r}", field=where)
    if parts and (start is None or end is None):
        start, end = min(part[0] for part in parts), max(part[1] for part in parts)
    if start is None or end is None:
        return Span(-1, -1, kind, text or "")
    first, last = _offset(start, where), _offset(end, where)
    if not 0 <= first < last:
        raise DataError(f"a span must begin before it ends, not {first}–{last}", field=where)
    return Span(first, last, kind, text or "", _fragments(parts, first, last, where), form or "")


def _offset(value: Any, where: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise DataError(f"an offset is a whole number, not {value!r}", field=where) from None


def _fragments(parts: Any, start: int, end: int, where: str) -> Fragments:
    """The parts in order; a single part is the span itself."""
    ordered = tuple(sorted((_offset(a, where), _offset(b, where)) for a, b in parts or ()))
    if not ordered:
        return ()
    if ordered[0][0] != start or max(b for _, b in ordered) != end or any(a >= b for a, b in ordered):
        raise DataError(f"the fragments {list(map(list, ordered))} do not make up {start}–{end}", field=where)
    return ordered if len(ordered) > 1 else ()


def fields(gold: Sequence[object], pred: Sequence[object]) -> tuple[list[Entities], list[Entities], list[str]]:
    """The entities of both sides and the texts of aligned records (or bare lists of spans)."""
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    texts = ["" if isinstance(record, list) else str(gold_field(record, "text", "") or "") for record in gold]
    return [_entities(record, gold_field) for record in gold], [_entities(record, pred_field) for record in pred], texts


def _entities(record: object, field: Callable[[Any, str], Any]) -> Entities:
    entities: Entities = record if isinstance(record, list) else field(record, "entities")
    return entities


def name(gold: object) -> object:
    """The id of a record, for an error; ``None`` if it has none."""
    return None if isinstance(gold, list) else read(gold, "id", None)


def sides(gold: object, pred: object, bounds: str = "given") -> tuple[list[Span], list[Span], str]:
    """Gold spans, predicted spans and the text of one pair of records (or bare lists of spans)."""
    (left,), (right,), (text,) = fields([gold], [pred])
    try:
        return *settled(left, right, text, bounds), text
    except DataError as error:
        raise error.at(record=name(gold)) from None


def perfect(gold: object) -> dict[str, list[Span]]:
    """The prediction that gets everything right.

    >>> perfect({"text": "in Delft", "entities": [(3, 8, "TOP")]})["entities"][0].type
    'TOP'
    """
    return {"entities": sides(gold, [])[0]}


def settled(gold: Entities, pred: Entities, text: str, bounds: str = "given") -> tuple[list[Span], list[Span]]:
    """The spans of both sides of a document that count.

    ``bounds="word"`` widens both sides to whole words of the text (`widened`). A gold span that is ``optional`` counts
    on no side, predicted or not. A span with parts (spans whose ``parent`` is its place) is correct if it is predicted
    or all its parts are; a part counts on no side by itself. Predicted means the same place and type (ELEVANT).

    >>> whole, parts = (0, 22, "LOC"), [{"start": a, "end": b, "type": "LOC", "parent": (0, 22)} for a, b in
    ...                                 ((0, 9), (11, 22))]
    >>> gold, pred = settled([whole, *parts], [(0, 9, "LOC"), (11, 22, "LOC")], "")
    >>> [span.place for span in gold], [span.place for span in pred]
    ([(0, 22)], [(0, 22)])
    """
    left, right = spans(gold, GOLD, placed=True), spans(pred, PRED)
    marks = [_marks(item) for item in gold or ()]
    if bounds == "word" and text:
        left, right = ([_widened(span, text) for span in side] for side in (left, right))
        marks = [(optional, parent and widened(*parent, text)) for optional, parent in marks]
    if not any(optional or parent for optional, parent in marks):
        return left, right
    predicted = {(span.place, span.type) for span in right}
    children: dict[tuple[int, int], list[int]] = {(span.start, span.end): [] for span in left}
    for at, (_, parent) in enumerate(marks):
        if parent in children:
            children[parent].append(at)

    def correct(at: int, above: tuple[int, ...] = ()) -> bool:
        span = left[at]
        parts = [part for part in children[span.start, span.end] if part != at and part not in above]
        whole = (span.place, span.type) in predicted
        return whole or (bool(parts) and all(correct(part, (*above, at)) for part in parts))

    roots = [at for at, (optional, parent) in enumerate(marks) if not optional and parent not in children]
    counted = [left[at] for at in roots]
    ignored = {(span.place, span.type) for span in left} - {(span.place, span.type) for span in counted}
    by_parts = [left[at] for at in roots if (left[at].place, left[at].type) not in predicted and correct(at)]
    return counted, [span for span in right if (span.place, span.type) not in ignored] + by_parts


def marked(items: Entities) -> bool:
    """Whether any gold span is optional or a part."""
    return any(
        ("optional" in item or "parent" in item) if type(item) is dict else any(_marks(item)) for item in items or ()
    )


def _marks(item: object) -> tuple[bool, tuple[int, int] | None]:
    """Whether a span is optional, and the place of the span that it is a part of."""
    if isinstance(item, (tuple, list)):
        return False, None
    parent = read(item, "parent", None)
    return bool(read(item, "optional", None)), (parent[0], parent[1]) if parent else None


def _widened(span: Span, text: str) -> Span:
    """A span widened to whole words; if it has fragments, each of them."""
    if not 0 <= span.start < span.end <= len(text):
        return span
    start, end = widened(span.start, span.end, text)
    parts = tuple(widened(*part, text) for part in span.fragments)
    return span._replace(start=start, end=end, text=text[start:end], fragments=parts)

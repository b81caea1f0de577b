"""How entities and links go wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.mutation.damages import Apply, Damage, each, listed

from goldassay.core.fields import Record
from goldassay.judges.audit import changed_digit

OTHER_TYPE = {
    "GRP.HER.MUS": "GRP.HER.ARC",
    "GRP.HER.ARC": "GRP.HER.LIB",
    "GRP.HER.LIB": "GRP.HER.MUS",
    "TOP": "TMP",
    "TMP": "TOP",
}
UNRELATED = 5  # characters of a span that holds no name


def fields(item: object) -> dict[str, Any]:
    """A span as a mapping."""
    if isinstance(item, Mapping):
        return dict(item)
    return {name: getattr(item, name) for name in ("start", "end", "type", "text") if hasattr(item, name)}


def moved(start: int, end: int) -> Apply:
    """Both ends of every span moved by so many characters."""

    def change(item: Record, gold: Record, _other: Record) -> Record:
        changed = fields(item)
        changed["start"], changed["end"] = changed["start"] + start, changed["end"] + end
        return changed | {"text": gold["text"][changed["start"] : changed["end"]]}

    return change


def of_another(field: str) -> Apply:
    """The items of another document."""
    return listed(field, lambda _items, _gold, other: [_predicted(item) for item in other[field]])


def _predicted(item: Record) -> dict[str, Any]:
    prediction = dict(item)
    if "ids" in prediction:
        prediction["candidates"] = [{"id": qid} for values in prediction["ids"].values() for qid in values]
    return prediction


def retyped(item: Record, _gold: Record, _other: Record) -> Record:
    """Another type at the same place."""
    changed = fields(item)
    return changed | {"type": OTHER_TYPE[changed["type"]]}


def added(items: Sequence[Record], gold: Record, _other: Record) -> Sequence[Record]:
    """A span at the end of the text, where there is no name."""
    end = len(gold["text"]) - 1
    span = {"start": end - UNRELATED, "end": end, "type": "TOP", "text": gold["text"][end - UNRELATED : end]}
    return [*items, span]


def elsewhere(items: Sequence[Record], gold: Record, _other: Record) -> Sequence[Record]:
    """Every span, with its type, at a place where there is no name: the end of the text, from behind."""
    out, end = [], len(gold["text"]) - 1
    for item in items:
        out.append(fields(item) | {"start": end - 3, "end": end, "text": gold["text"][end - 3 : end]})
        end -= 4
    return out


def linked(items: Sequence[Record], gold: Record, other: Record) -> Sequence[Record]:
    """A link at the end of the text, where there is no mention."""
    *others, span = added(items, gold, other)
    return [*others, {**span, "candidates": [{"id": "Q1"}]}]


def identified(change: Callable[[Record, Record, Record], object]) -> Apply:
    """A damage of the candidates of every mention that has some."""

    def made(item: Record, gold: Record, other: Record) -> Record | None:
        changed = change(item, gold, other) if item["candidates"] else None
        return None if changed is None else {**item, "candidates": changed, "ids": {}}

    return made


def other_id(_item: Record, _gold: Record, other: Record) -> list[dict[str, str]]:
    """The id of another document's mention."""
    return [{"id": qid} for link in other["links"] for qid in link["ids"].get("wikidata", [])][:1]


def from_nil(item: Record, _gold: Record, _other: Record) -> Record | None:
    """An id for a mention that has none."""
    return None if item["candidates"] else {**item, "candidates": [{"id": "Q1"}]}


def _once_more(items: Sequence[Any], _gold: Record, _other: Record) -> Sequence[Record]:
    return [*items, *items]


def _none(_items: Sequence[Any], _gold: Record, _other: Record) -> Sequence[Record]:
    return []


def _backwards(items: Sequence[Any], _gold: Record, _other: Record) -> Sequence[Record]:
    return list(reversed(items))


EXTRACTION = (
    Damage("extraction", "boundary +1", "every span one character longer", each("entities", moved(0, 1))),
    Damage("extraction", "boundary -1", "every span one character shorter", each("entities", moved(0, -1))),
    Damage("extraction", "type swap", "every span with another type", each("entities", retyped)),
    Damage("extraction", "entity swap", "every span elsewhere in the text", listed("entities", elsewhere)),
    Damage("extraction", "swap across documents", "another document's spans", of_another("entities")),
    Damage("extraction", "duplicate", "every span twice", listed("entities", _once_more)),
    Damage("extraction", "empty", "no spans", listed("entities", _none)),
    Damage("extraction", "unsupported span added", "a span where nothing is", listed("entities", added)),
    Damage("extraction", "reordered", "the spans in another order", listed("entities", _backwards), harmless=True),
)
LINKING = (
    Damage("linking", "boundary +1", "every mention one character longer", each("links", moved(0, 1))),
    Damage("linking", "boundary -1", "every mention one character shorter", each("links", moved(0, -1))),
    Damage(
        "linking",
        "digit change",
        "a digit of every id changes",
        each(
            "links", identified(lambda item, _gold, _other: [{"id": changed_digit(item["candidates"][0]["id"]) or ""}])
        ),
    ),
    Damage("linking", "entity swap", "every id is another mention's", each("links", identified(other_id))),
    Damage(
        "linking",
        "wrong candidate first",
        "the right id second",
        each("links", identified(lambda item, gold, other: [*other_id(item, gold, other), *item["candidates"]])),
    ),
    Damage("linking", "all NIL", "no mention has an id", each("links", identified(lambda _item, _gold, _other: []))),
    Damage("linking", "NIL linked", "a mention without an id gets one", each("links", from_nil)),
    Damage("linking", "swap across documents", "another document's mentions", of_another("links")),
    Damage("linking", "empty", "no mentions", listed("links", _none)),
    Damage("linking", "unsupported link added", "a link where nothing is", listed("links", linked)),
    Damage("linking", "reordered", "the mentions in another order", listed("links", _backwards), harmless=True),
)

"""Proof of offsets: ``text[start:end] == span["text"]``, or where the text really stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError

FIELDS = {"extraction": "entities", "linking": "links"}


def prove(text: str, spans: Sequence[Mapping[str, Any]], field: str, record: object = None) -> None:
    """Raise for the first span that does not stand where it says.

    A predicted span without offsets (``null``) is one that its system did not find in the text; it needs its words.

    >>> prove("ISIL: NL-AmRM)", [{"start": 6, "end": 13, "text": "NL-AmRM"}], "entities")
    >>> prove("(ISIL: NL-AmRM)", [{"start": 6, "end": 13, "text": "NL-AmRM"}], "entities", "e1")
    Traceback (most recent call last):
    goldassay.exceptions.DataError: record e1, entities[0]: text[6:13] is ' NL-AmR', not 'NL-AmRM', which stands at 7:14
    """
    for index, span in enumerate(spans):
        start, end = span["start"], span["end"]
        if start is None or end is None:
            unplaced(span, f"{field}[{index}]", record)
            continue
        if start < end <= len(text) and text[start:end] == span.get("text"):
            continue
        what = fault(text, span)
        if what:
            raise DataError(what, record=record, field=f"{field}[{index}]")


def unplaced(span: Mapping[str, object], field: str, record: object = None) -> None:
    """Raise if a span without offsets is not whole: both are ``null``, and the words that were given are there."""
    if span["start"] is not None or span["end"] is not None:
        raise DataError("start and end are both numbers or both null", record=record, field=field)
    if not span.get("text") or span.get("fragments"):
        raise DataError(
            "a span without offsets has its words under 'text', and no fragments", record=record, field=field
        )


def fault(text: str, span: Mapping[str, Any]) -> str | None:
    """What is wrong with a span, in words; None where it stands where it says."""
    start, end, expected = span["start"], span["end"], span.get("text")
    if end <= start:
        return f"the end ({end}) is not after the start ({start})"
    if end > len(text):
        return f"{start}:{end} reaches beyond the text, which has {len(text)} characters" + _hint(
            text, expected, start
        ).replace(", which", "; it", 1)
    stands = covered(text, span)
    if expected is None or expected == stands:
        return None
    return f"text[{start}:{end}] is {_short(stands)}, not {_short(expected)}" + _hint(text, expected, start)


def covered(text: str, span: Mapping[str, Any]) -> str:
    """The text under a span; the pieces of a discontinuous one are joined by a space, as in brat."""
    fragments = span.get("fragments")
    if fragments:
        return " ".join(text[start:end] for start, end in fragments)
    return text[span["start"] : span["end"]]


def nearest(text: str, wanted: str, start: int) -> int | None:
    """Where ``wanted`` stands closest to ``start``; None if it does not occur."""
    if not wanted:
        return None
    before, after = text.rfind(wanted, 0, start + len(wanted)), text.find(wanted, start)
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start)) if found else None


def _hint(text: str, expected: str | None, start: int) -> str:
    place = nearest(text, expected, start) if expected else None
    if expected is None:
        return ""
    return ", which does not occur in it" if place is None else f", which stands at {place}:{place + len(expected)}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")

"""Spans: whether they stand where they say, cross, repeat each other, or take spaces along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import SPANS, Row
from goldassay.gold.offsets import covered, fault, nearest

Place = tuple[int, int]


def audit(row: Row) -> Iterator[Finding]:
    """What is wrong with the spans of a record."""
    if row.task not in SPANS:
        return
    name, text = SPANS[row.task], row.record["text"]
    end = 0
    for index, (first, last) in enumerate(row.record.get("tokens") or []):
        if not end <= first < last <= len(text):
            said = f"{first}:{last} is no token of the text behind the one before, which ends at {end}"
            yield row.finding("offset", said, f"tokens[{index}]")
            break
        end = last
    sound: list[tuple[int, Mapping[str, Any]]] = []
    for index, span in enumerate(row.record[name]):
        where = f"{name}[{index}]"
        wrong = fault(text, span)
        if wrong:
            yield row.finding("offset", wrong, where, mended(text, span))
            continue
        sound.append((index, span))
        words = covered(text, span)
        trimmed = words.strip()
        if words != trimmed and "fragments" not in span:
            start = span["start"] + len(words) - len(words.lstrip())
            fix = {"start": start, "end": start + len(trimmed), "text": trimmed} if trimmed else None
            yield row.finding("edge", f"{words!r} begins or ends with a space", where, fix)
    yield from _pairs(row, name, sound)


def mended(text: str, span: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where the text of a span really stands, closest to where it should be."""
    wanted = span.get("text")
    place = nearest(text, wanted, min(span["start"], len(text))) if wanted else None
    if place is None or not wanted or span.get("fragments"):
        return None
    return {"start": place, "end": place + len(wanted)}


def _pairs(row: Row, name: str, spans: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Finding]:
    """Crossing and repeated spans; sorted by start, so that only neighbours that can overlap are compared."""
    ordered = sorted(spans, key=lambda item: (item[1]["start"], -item[1]["end"]))
    open_: list[tuple[int, Mapping[str, Any]]] = []
    for index, span in ordered:
        open_ = [other for other in open_ if other[1]["end"] > span["start"]]
        for number, other in open_:
            (a, b), (c, d) = _place(other), _place(span)
            where = f"{name}[{index}]"
            if (a, b) == (c, d):
                if span.get("fragments") == other.get("fragments") and span.get("type") == other.get("type"):
                    yield row.finding("repeated", f"the same span as {name}[{number}]", where)
            elif a < c < b < d and not (span.get("fragments") or other.get("fragments")):
                yield row.finding(
                    "crossing", f"{c}:{d} crosses {name}[{number}], {a}:{b}; nest them, or end one earlier", where
                )
        open_.append((index, span))


def _place(span: Mapping[str, Any]) -> Place:
    return span["start"], span["end"]

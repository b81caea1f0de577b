"""Fifty texts of the heritage gold, corrected from weak suggestions: on the page and as JSON, in keys.

A person is played by a script that knows the gold. On the page it presses real keys in a real browser; a Shift or
Control that is held counts each time. The other text box is the one of JSON that `gold from-traces` used to write,
edited with as few keys as a text box needs; its Shift counts once, new spans are typed without spaces, and counting
characters for the offsets is free.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.desk import Desk

Span = dict[str, Any]
TYPES = ("TOP", "TMP", "IDENTIFIER", "GRP.HER.SOC", "GRP.HER.MUS", "GRP.HER.ARC", "GRP.HER.LIB")
WORDS = """(text) => [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)]
  .filter((word) => word.isWordLike).map((word) => [word.index, word.index + word.segment.length])"""


def weak(text: str) -> list[Span]:
    """What a simple pattern finds: capitalised words inside a sentence are places, numbers are times."""
    matches = re.finditer(r"(?<=[a-z,;] )[A-Z]\w+(?: [A-Z]\w+)*|\b\d{3,4}\b", text)
    return [
        {"start": m.start(), "end": m.end(), "type": "TMP" if m[0].isdigit() else "TOP", "text": m[0]} for m in matches
    ]


def edges(span: Span) -> tuple[int, int]:
    return span["start"], span["end"]


def pairs(suggested: Sequence[Span], gold: Sequence[Span]) -> list[tuple[Span | None, Span | None]]:
    """Each suggestion with the gold that it overlaps; what has no partner is deleted or added."""
    rest = list(suggested)
    result: list[tuple[Span | None, Span | None]] = []
    for span in sorted(gold, key=lambda span: span not in rest):
        partner = next((s for s in rest if s == span), None) or next(
            (s for s in rest if s["start"] < span["end"] and s["end"] > span["start"]), None
        )
        if partner:
            rest.remove(partner)
        result.append((partner, span))
    result += [(span, None) for span in rest]
    return sorted(result, key=lambda pair: edges(pair[0] or pair[1] or {}))


class Reviewer:
    """Who presses the keys of one record, knowing what each of them does."""

    def __init__(self, text: str, suggested: Sequence[Span], words: Sequence[tuple[int, int]]) -> None:
        self.text = text
        self.spans = sorted(suggested, key=edges)
        self.starts = [start for start, _ in words]
        self.ends = [end for _, end in words]
        self.selection: tuple[int, int] | None = None
        self.active: Span | None = None
        self.keys: list[str] = []

    def go_to(self, span: Span) -> None:
        while self.active != span:
            self.keys.append("ArrowDown")
            if self.active in self.spans:
                place = self.spans.index(self.active) + 1
            else:
                start = self.selection[0] if self.selection else -1
                place = next((at for at, other in enumerate(self.spans) if other["start"] >= start), -1)
            self.active = self.spans[place % len(self.spans)]
            self.selection = edges(self.active)

    def delete(self, span: Span) -> None:
        self.go_to(span)
        self.keys.append("Backspace")
        place = self.spans.index(span)
        self.spans.remove(span)
        self.active = self.spans[place] if place < len(self.spans) else None
        self.selection = edges(self.active or span)

    def stretch(self, at: int, goal: int, places: Sequence[int]) -> list[str]:
        """Move an end by words, and by characters for the rest of the way."""
        keys = []
        while at != goal:
            onward = goal > at
            after = [place for place in places if place > at]
            before = [place for place in places if place < at]
            nearest = (after[0] if after else goal) if onward else (before[-1] if before else goal)
            if goal in places or (nearest <= goal if onward else nearest >= goal):
                keys.append("Shift+ArrowRight" if onward else "Shift+ArrowLeft")
                at = nearest
            else:
                keys.append("Control+ArrowRight" if onward else "Control+ArrowLeft")
                at += 1 if onward else -1
        return keys

    def change(self, span: Span, gold: Span) -> None:
        self.go_to(span)
        if span["type"] != gold["type"]:
            self.keys.append(str(TYPES.index(gold["type"]) + 1))
        ends = self.stretch(span["end"], gold["end"], self.ends)
        starts = self.stretch(span["start"], gold["start"], self.starts)
        self.keys += [*ends, *(["e", *starts] if starts else [])]
        self.spans[self.spans.index(span)] = gold
        self.spans.sort(key=edges)
        self.active = gold
        self.selection = edges(gold)

    def add(self, gold: Span) -> None:
        ways = [way for way in (self.by_words(gold), self.by_typing(gold)) if way]
        self.keys += [*min(ways, key=cost), str(TYPES.index(gold["type"]) + 1)]
        self.spans = sorted([*self.spans, gold], key=edges)
        self.active = gold
        self.selection = edges(gold)

    def by_words(self, gold: Span) -> list[str]:
        if gold["start"] not in self.starts:
            return []
        start, end = self.selection or (0, 0)
        goal = self.starts.index(gold["start"])
        ahead = sum(end <= place <= gold["start"] for place in self.starts)
        behind = sum(gold["start"] <= self.starts[at] and place <= start for at, place in enumerate(self.ends))
        steps = ["ArrowRight"] * ahead if gold["start"] >= end else ["ArrowLeft"] * behind
        return [*steps, *self.stretch(self.ends[goal], gold["end"], self.ends)]

    def by_typing(self, gold: Span) -> list[str]:
        after = self.selection[0] + 1 if self.selection else 0
        folded = self.text.lower()
        for length in range(1, len(gold["text"]) + 1):
            query = gold["text"][:length]
            hit = folded.find(query.lower(), after)
            hit = hit if hit >= 0 else folded.find(query.lower())
            if hit == gold["start"] and query == query.strip():
                last = max(at for at, start in enumerate(self.starts) if start < hit + length)
                end = max(hit + length, self.ends[last])
                return ["/", *query, "Enter", *self.stretch(end, gold["end"], self.ends)]
        return []


def cost(keys: Sequence[str]) -> int:
    """How many keys are pressed; each held Shift or Control is one more."""
    return sum(1 + key.startswith(("Shift+", "Control+")) for key in keys)


def plan(text: str, suggested: Sequence[Span], gold: Sequence[Span], words: Sequence[tuple[int, int]]) -> list[str]:
    reviewer = Reviewer(text, suggested, words)
    for before, after in pairs(suggested, gold):
        if before and after and before != after:
            reviewer.change(before, after)
        elif before and not after:
            reviewer.delete(before)
        elif after and not before:
            reviewer.add(after)
    return [*reviewer.keys, "Enter"]


def common(a: str, b: str) -> int:
    """How many characters two texts begin with in common."""
    return next((at for at in range(min(len(a), len(b))) if a[at] != b[at]), min(len(a), len(b)))


class Editor:
    """A text box: what it holds, where its cursor is, and how many keys were pressed."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.lines = json.dumps(spans, indent=1, ensure_ascii=False).split("\n")
        self.row = 0
        self.keys = 0
        self.heights = [6] * len(spans)

    def line(self, place: int) -> int:
        """The line on which a span begins."""
        return 1 + sum(self.heights[:place])

    def end_of(self, row: int) -> None:
        self.keys += abs(row - self.row) + 1
        self.row = row

    def delete(self, place: int) -> None:
        self.end_of(self.line(place))
        self.keys += self.heights[place] + 2  # Shift, the arrows, Delete; `end_of` counts Home
        del self.lines[self.row : self.row + self.heights.pop(place)]

    def add(self, place: int, span: Span) -> None:
        """Write a span before another one, without spaces."""
        text = json.dumps(span, separators=(",", ":"), ensure_ascii=False)
        if self.lines == ["[]"]:
            self.lines = ["[", "]"]
        else:
            self.end_of(self.line(place) - 1)
        if place and place == len(self.heights):
            self.lines[self.row] += ","
        text += "," if place < len(self.heights) else ""
        self.keys += len(text) + 1
        self.row = self.line(place)
        self.lines.insert(self.row, text)
        self.heights.insert(place, 1)

    def change(self, place: int, gold: Span) -> None:
        for number, (name, value) in enumerate(gold.items(), 1):
            row = self.line(place) + number
            old = self.lines[row]
            new = f'  "{name}": {json.dumps(value, ensure_ascii=False)}' + "," * (number < len(gold))
            if old == new:
                continue
            self.end_of(row)
            front = common(old, new)
            back = common(old[front:][::-1], new[front:][::-1])
            self.keys += back + len(old) - front - back + len(new) - front - back
            self.lines[row] = new

    def close(self) -> list[Span]:
        """Take away a comma that is left over, and read the JSON."""
        if len(self.lines) > 2 and self.lines[-2].endswith(","):
            self.end_of(len(self.lines) - 2)
            self.keys += 1
            self.lines[-2] = self.lines[-2].removesuffix(",")
        return list(json.loads("\n".join(self.lines)))


def json_keys(suggested: Sequence[Span], gold: Sequence[Span]) -> int:
    """The keys that make the JSON of the gold of the suggestions', with `e` and Escape around them, and `a` after."""
    editor = Editor(suggested)
    place = 0
    for before, after in pairs(suggested, gold):
        if before and not after:
            editor.delete(place)
            continue
        if after and not before:
            editor.add(place, after)
        elif before and after:
            editor.change(place, after)
        place += 1
    assert editor.close() == sorted(gold, key=edges)
    return editor.keys + 1 + (2 if editor.keys else 0)


@pytest.mark.parametrize("texts", [5, pytest.param(50, marks=pytest.mark.nightly)])
def test_the_page_needs_a_fifth_of_the_keys_of_json(show: Any, root: Path, texts: int) -> None:
    lines = (root / "gold" / "heritage" / "extraction.jsonl").read_text(encoding="utf-8").splitlines()
    gold = [json.loads(line) for line in lines[::4][:texts]]
    suggested = [weak(record["text"]) for record in gold]
    records = [
        {"id": record["id"], "text": record["text"], "suggestions": {"pattern": {"entities": spans}}}
        for record, spans in zip(gold, suggested, strict=True)
    ]
    screen = show(Desk("extraction", records, ["entities"], types=list(TYPES)))
    pressed = 0
    for record, spans in zip(gold, suggested, strict=True):
        assert screen.at() == record["id"]
        keys = plan(record["text"], spans, record["entities"], screen.page.evaluate(WORDS, record["text"]))
        for key in keys:
            screen.page.keyboard.press(key)
        pressed += cost(keys)
        screen.page.wait_for_selector(f"html:not([data-item='{gold.index(record)}'])", state="attached")
        screen.settle()
    screen.decided(texts)
    for record, value in zip(gold, screen.desk.gold(), strict=True):
        assert [(*edges(span), span["type"]) for span in value["entities"]] == [
            (*edges(span), span["type"]) for span in record["entities"]
        ]
    by_json = sum(json_keys(spans, record["entities"]) for record, spans in zip(gold, suggested, strict=True))
    print(f"keys: page {pressed}, JSON {by_json}, {pressed / by_json:.3f}")
    assert pressed <= by_json / 5

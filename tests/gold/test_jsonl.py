"""The quick way gives what the validator gives, or gives way to it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold import read
from goldassay.gold.formats import jsonl
from goldassay.gold.formats.jsonl import by_line
from goldassay.gold.records import GOLD, PRED, Side

HERITAGE = ("extraction", "classification", "linking", "retrieval", "answering", "triples")
SAMPLES: dict[tuple[Side, str], dict[str, Any]] = {
    ("gold", "extraction"): {
        "id": "a",
        "text": "In Delft",
        "entities": [{"start": 3, "end": 8, "type": "TOP", "fragments": [[3, 4], [5, 8]], "confidence": 1}],
        "tokens": [[0, 2]],
        "strata": {"tier": 1, "share": 0.5, "country": None, "open": True},
        "meta": {"a": [1, {"b": 2.5}], "big": 10**30},
    },
    ("gold", "classification"): {"id": "a", "label": "M", "secondary_labels": ["L"], "rationale": None},
    ("gold", "linking"): {"id": "a", "text": "Delft", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q690"]}}]},
    ("gold", "retrieval"): {"id": "a", "query": "x", "relevant": {"d": 2, "e": 0.5}},
    ("gold", "answering"): {"id": "a", "question": "x", "answers": [], "answer_starts": [0]},
    ("gold", "triples"): {"id": "a", "triples": [{"subject": {"id": 1}, "predicate": "p", "object": 1.0}]},
    ("pred", "extraction"): {"id": "a", "entities": [{"start": None, "end": None, "type": "TOP", "text": "x"}]},
    ("pred", "classification"): {"id": "a", "label": None, "confidence": 0, "latency_ms": 3},
    ("pred", "linking"): {"id": "a", "links": [{"start": 0, "end": 5, "candidates": [{"id": "Q1", "score": 1}]}]},
    ("pred", "retrieval"): {"id": "a", "results": [{"doc_id": "d", "score": -0.0}]},
    ("pred", "answering"): {"id": "a", "answer": "", "citations": ["a", {"b": None}]},
    ("pred", "triples"): {"id": "a", "triples": [{"subject": "s", "predicate": "p", "object": True}]},
}


def exact(value: Any) -> str:
    """A value with its types and the order of its keys: 1, 1.0 and True are three things here."""
    return repr(value)


def careful(line: bytes, side: Side, task: str) -> list[dict[str, Any]]:
    """The record of a line as the validator gives it."""
    return list(by_line(line, "x.jsonl", 1, 0, task, side))


@pytest.mark.parametrize(("side", "task"), list(SAMPLES))
def test_a_good_record_goes_the_quick_way(side: Side, task: str) -> None:
    line = json.dumps(SAMPLES[side, task]).encode()
    found = jsonl.rows(line + b"\r\n\n" + line, task, side)
    assert found is not None
    assert exact(found) == exact(careful(line, side, task) * 2)


ROW = b'{"id": "a", "label": "M", "meta": {"k": [{"n": 1}, {"n": 2}]}}'


@pytest.mark.parametrize(
    "block",
    [
        ROW + ROW,
        ROW + b" " + ROW + b"\n",
        ROW.replace(b', "label"', b',\n"label"'),
        ROW.replace(b"[{", b"[\n{") + b"\n",
        ROW.replace(b"}, {", b"},\n{"),
        ROW + ROW + b"\n" + ROW.replace(b', "label"', b',\n"label"'),  # as many records as lines
        ROW + b"," + ROW,
        b"[" + ROW + b"]",
        ROW + b"\x00",
    ],
)
def test_a_record_is_a_line(tmp_path: Path, block: bytes) -> None:
    assert jsonl.rows(block, "classification") is None
    file = tmp_path / "classification.jsonl"
    file.write_bytes(block)
    with pytest.raises(DataError, match=r"classification\.jsonl:1: (not JSON|input should be an object|a NUL at byte)"):
        read(file, task="classification")


def test_empty_lines_and_both_line_ends_are_passed_over() -> None:
    found = jsonl.rows(b"\n" + ROW + b"\r\n\n \t\n" + ROW + b"\n\r\n", "classification")
    assert found == [json.loads(ROW)] * 2
    assert jsonl.rows(b"\n\r\n", "classification") == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["", "1", 10**25]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value can be put in place of another, at any depth."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    made = dict(value) if isinstance(value, dict) else list(value)
    made[path[0]] = put(value[path[0]], path[1:], new)
    return made


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(list(SAMPLES)), st.data())
def test_what_it_takes_is_what_the_validator_takes(case: tuple[Side, str], data: st.DataObject) -> None:
    """A good record with anything put anywhere, or with a field of any shape added."""
    side, task = case
    record = SAMPLES[case]
    if data.draw(st.booleans()):
        shape = (GOLD if side == "gold" else PRED)[task]
        record = {**record, data.draw(st.sampled_from([*shape.__annotations__, "other"])): data.draw(values)}
    else:
        record = put(record, data.draw(st.sampled_from(places(record))), data.draw(values))
    line = json.dumps(record).encode()
    found = jsonl.rows(line, task, side)
    if found is not None:
        assert exact(found) == exact(careful(line, side, task))


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "a", "id": "b", "label": "M"}',
        b'{"id": "a", "label": "M", "meta": {"k": [[{"n": 1, "n": 2}]]}}',
        b'{"id": "a", "label": "M", "strata": {"tier" : 1, "tier"\t: 2}}',
        b'{"id": "a:b", "id": "a:c", "label": "M:"}',
        b'{"id": "a", "id": "b", "label": "\\u003a"}',  # a colon that is written as a number hides one that was lost
        b'{"id": "a", "label": "M", "meta": {"\\u003A": 1, "x": 1, "x": 1}}',
        b'{"id": "a", "label": "M", "other": 1}',
        b'{"id": "a", "label": "M", "meta": {"n": 1' + b"0" * 309 + b"}}",
        b'{"id": "a", "label": "M", "meta": {"n": [1.5, -1' + b"0" * 400 + b"]}}",
    ],
)
@pytest.mark.parametrize("before", [b"", b'{"id": "c", "label": "a : b", "text": "::"}\n' * 50])
def test_what_is_passed_over_is_found(line: bytes, before: bytes) -> None:
    """A key that stands twice, a field of another name, a number without end: also among records that are right."""
    assert jsonl.rows(before + line, "classification") is None
    if before:
        assert jsonl.rows(before, "classification") is not None
    with pytest.raises(DataError):
        careful(before + line, "gold", "classification")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(SAMPLES)), st.data())
def test_a_key_that_stands_twice_is_never_taken(case: tuple[Side, str], data: st.DataObject) -> None:
    """Any key, at any depth, in records with colons anywhere."""
    side, task = case
    record = SAMPLES[case]
    if "meta" in (GOLD if side == "gold" else PRED)[task].__annotations__:
        record = {**record, "meta": {"k": data.draw(values), "::": ":"}}
    line = json.dumps(record, ensure_ascii=data.draw(st.booleans()))
    assume(jsonl.rows(line.encode("utf-8", "replace"), task, side) is not None)
    keys = [place.start() for place in re.finditer(r'"(?:[^"\\]|\\.)*"(?=:)', line)]
    at = data.draw(st.sampled_from(keys))
    key = re.compile(r'"(?:[^"\\]|\\.)*"').match(line, at)
    assert key is not None
    twice = line[:at] + key[0] + data.draw(st.sampled_from([":", " :", "\t: "])) + "null, " + line[at:]
    assert jsonl.rows(twice.encode(), task, side) is None


@pytest.mark.parametrize("task", HERITAGE)
def test_our_own_gold_goes_the_quick_way(root: Path, task: str) -> None:
    assert jsonl.rows((root / "gold" / "heritage" / f"{task}.jsonl").read_bytes(), task) is not None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=9), min_size=1), st.sampled_from(["\n", "\r\n", "\n\n"]), st.integers(1, 400))
def test_where_blocks_are_cut_is_nothing(texts: list[str], end: str, size: int) -> None:
    import tempfile

    rows = [{"id": f"d{number}", "text": text, "entities": []} for number, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / "x.jsonl"
        content = end.join(json.dumps(row, ensure_ascii=False) for row in rows)
        file.write_bytes(b"\xef\xbb\xbf" + content.encode())
        patch.setattr(files, "BLOCK", size)
        assert read(file, task="extraction") == rows
        parts = list(files.blocks(file))
        assert b"".join(part for *_, part in parts).decode() == content
        number, place = 1, 3
        for first, start, part in parts:
            assert (first, start) == (number, place)
            number, place = number + part.count(b"\n"), place + len(part)

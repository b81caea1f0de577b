"""Round trips of the canonical records, made from the shapes themselves, and of the formats that hold less."""

from __future__ import annotations

from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tests.nightly import drawn
from typing_extensions import is_typeddict

from goldassay.gold import read, write
from goldassay.gold.shapes import SHAPES, Side

TASKS = ("extraction", "classification", "linking", "retrieval", "answering", "triples")
QUICK = drawn(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12)
NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True), min_size=1, max_size=3, unique=True)
FREE = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
SAMPLING = {"question": "level", "stratum": "all", "size": 9, "population": 9, "position": 0}
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(0, 2**40),
    float: st.floats(0, allow_infinity=False, allow_nan=False),
    bool: st.booleans(),
    NoneType: st.none(),
    Any: FREE,
    object: FREE,
}


def anything(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type of the shapes."""
    origin, inner = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return shape(hint)
    if origin is Annotated:
        return TEXT.filter(bool) if inner[0] is str else anything(inner[0])
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, UnionType):
        return st.one_of(*map(anything, inner))
    if origin is list:
        return st.lists(anything(inner[0]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(anything, inner))
    if origin is dict:
        return st.dictionaries(TEXT, anything(inner[1]), max_size=2)
    return SIMPLE[hint]


def shape(hint: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Records of a shape, with and without what is not required."""
    required = TypeAdapter(hint).json_schema().get("required", [])
    fields: dict[str, Any] = {}
    for name, kind in get_type_hints(hint, include_extras=True).items():
        fields[name] = anything(get_args(kind)[0] if get_origin(kind) in (Required, NotRequired) else kind)
    needed = {name: fields.pop(name) for name in required}
    return st.fixed_dictionaries(needed, optional=fields)


def placed(record: dict[str, Any], side: Side) -> dict[str, Any]:
    """The record with its spans where they say: offsets are proved, so any will not do."""
    text = "🏛 in Delft"
    for name in ("entities", "links"):
        for span in record.get(name, []):
            span |= {"start": 5, "end": 10}
            span.pop("fragments", None)
            if "text" in span:
                span["text"] = text[5:10]
            if side == "pred" and len(record[name]) > 1:
                span |= {"start": None, "end": None, "text": "Gouda"}
    if "entities" in record or "links" in record:
        record["text"] = text
    return record


@pytest.mark.parametrize("side", ["gold", "pred"])
@pytest.mark.parametrize("task", TASKS)
@QUICK
@given(data=st.data())
def test_jsonl_keeps_every_field_of_every_shape(tmp_path: Path, task: str, side: Side, data: st.DataObject) -> None:
    kind = SHAPES[side][task]
    if task == "answering":
        names = data.draw(NAMES)  # of ids that are checked against each other, only unlike ones
        records = [{**data.draw(shape(kind)), "id": name} for name in names]
    else:
        records = [{**placed(data.draw(shape(kind)), side), "id": name} for name in data.draw(NAMES)]
    for record in records:  # how a record was chosen is checked too
        record |= {"sampling": SAMPLING} if "sampling" in record else {}
    if task == "classification":  # one of label, labels and score is needed
        records = [record if record.keys() & {"label", "labels"} else {**record, "score": 1.0} for record in records]
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(first, records, task=task, side=side)
    read_back = read(first, task=task, side=side, format="jsonl")
    assert read_back == records
    write(second, read_back, task=task, side=side)
    again = read(second, task=task, side=side, format="jsonl")
    assert again == records
    write(first, again, task=task, side=side)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("task", TASKS)
def test_our_own_gold_byte_for_byte(root: Path, tmp_path: Path, task: str) -> None:
    source = root / "gold" / "heritage" / f"{task}.jsonl"
    write(tmp_path / "x.jsonl", read(source, task=task), task=task)
    assert (tmp_path / "x.jsonl").read_bytes() == source.read_bytes()


@QUICK
@given(st.lists(st.tuples(LINE, st.lists(st.tuples(LINE, LINE), max_size=2)), min_size=1, max_size=4))
def test_squad_keeps_paragraphs_questions_and_starts(
    tmp_path: Path, rows: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    records: list[dict[str, Any]] = []
    for number, (context, answers) in enumerate(rows):
        whole, starts = context, list[int]()
        for before, answer in answers:
            starts.append(len(whole) + len(before))
            whole += before + answer
        record: dict[str, Any] = {
            "id": f"q{number}",
            "question": context,
            "answers": [answer for _, answer in answers],
            "context": whole,
            "documents": [f"T/{number}"],
            "meta": {"title": "T"},
        }
        records.append(record | ({"answer_starts": starts} if starts else {}))
    write(tmp_path / "x.json", records, format="squad", task="answering")
    assert read(tmp_path / "x.json", format="squad", task="answering") == records
    pred = [{"id": record["id"], "answer": (record["answers"] or [""])[0]} for record in records]
    write(tmp_path / "p.json", pred, format="squad", task="answering", side="pred")
    assert read(tmp_path / "p.json", format="squad", task="answering", side="pred") == pred

"""Answers as lines: every schema that lines can show comes back as it went in, and copied fields cannot be invented."""

from __future__ import annotations

import re
from typing import Any, Literal

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model
from tests.nightly import drawn

from goldassay.models.lm import DEFAULT_MODEL, Asked, Copied, LocalLM, TerseAdapter
from goldassay.models.lm.grammar import Lines, bound, json_grammar
from goldassay.models.lm.local import Server

WORDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
TEXT = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


class Mention(BaseModel):
    text: str
    type: Literal["GRP.HER.MUS", "TOP"]


class Triple(BaseModel):
    subject: str
    predicate: str
    object: str


FIELDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "label": (Literal["museum", "archive"], st.sampled_from(["museum", "archive"])),
    "names": (list[str], st.lists(TEXT, max_size=3)),
    "mentions": (
        list[Mention],
        st.lists(st.fixed_dictionaries({"text": TEXT, "type": st.sampled_from(["GRP.HER.MUS", "TOP"])}), max_size=3),
    ),
    "triples": (
        list[Triple],
        st.lists(st.fixed_dictionaries({"subject": TEXT, "predicate": TEXT, "object": TEXT}), max_size=3),
    ),
    "answer": (str, TEXT),
    "sure": (bool, st.booleans()),
    "count": (int, st.integers(-99, 99)),
    "year": (int | None, st.none() | st.integers(1, 2000)),
}


@drawn(150)
@given(st.data())
def test_what_is_written_is_read_back(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    form = Lines.of(create_model("Outputs", **{name: (FIELDS[name][0], ...)}).model_json_schema())  # type: ignore[call-overload]
    assert form is not None
    values = {name: data.draw(FIELDS[name][1])}
    assert form.read(form.render(values)) == values


@pytest.mark.parametrize("kind", [dict[str, int], list[list[str]], list[dict[str, str]], str | int])
def test_what_has_more_depth_stays_json(kind: Any) -> None:
    assert Lines.of(create_model("Outputs", deep=(kind, ...)).model_json_schema()) is None


def test_a_cut_or_broken_line_is_left_out() -> None:
    form = Lines.of(create_model("Outputs", mentions=(list[Mention], ...)).model_json_schema())
    assert form is not None
    assert form.read("TOP: Delft\nGRP") == {"mentions": [{"type": "TOP", "text": "Delft"}]}
    assert form.read("-") == form.read("") == {"mentions": []}


def test_several_outputs_stay_json() -> None:
    assert Lines.of(create_model("Outputs", label=(str, ...), year=(int, ...)).model_json_schema()) is None


class Names(dspy.Signature):
    """List the names."""

    text: str = dspy.InputField()
    mentions: list[Mention] = dspy.OutputField()


class Place(dspy.Signature):
    """Where was it?"""

    text: str = dspy.InputField()
    place: Copied = dspy.OutputField()


def test_the_adapter_shows_and_reads_lines() -> None:
    used = TerseAdapter("lines")
    demo = {"text": "Gouda", "mentions": [Mention(text="Gouda", type="TOP")]}
    contents = [message["content"] for message in used.format(Names, [demo], {"text": "Delft"})]
    assert contents == ["List the names.", "text: Gouda", "TOP: Gouda\n-", "text: Delft"]
    assert used.parse(Names, "TOP: Delft\n-") == {"mentions": [Mention(text="Delft", type="TOP")]}
    assert used.parse(Names, '{"mentions": []}') == {"mentions": []}


@pytest.fixture
def grammar(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The grammar of an adapter for a signature and inputs."""
    monkeypatch.setattr(LocalLM, "server", Server(None, "", "", (2,)))
    return lambda adapter, signature, **inputs: adapter.grammar(LocalLM(DEFAULT_MODEL), signature, inputs)


def test_names_are_copied_unless_that_is_switched_off(grammar: Any) -> None:
    for form, copied in (("lines", '"substring_words": "in Delft"'), ("json", '["in","in Delft","Delft"]')):
        assert copied in grammar(TerseAdapter(form), Names, text="in Delft")
        assert "in Delft" not in grammar(TerseAdapter(form, copied=False), Names, text="in Delft")


def test_an_output_may_be_marked_as_copied(grammar: Any) -> None:
    assert "substring_words" in grammar(TerseAdapter("lines"), Place, text="in Delft")


def test_runs_are_bounded_and_stand_on_one_line() -> None:
    schema = {"properties": {"place": {"type": "string", "copied": True}}}
    assert '"b"' in json_grammar(schema, "a b\nc")
    assert "b c" not in json_grammar(schema, "a b\nc")
    assert "a b c" in json_grammar(schema, "a b c d", characters=24)
    assert "a b c d" not in json_grammar(schema, "a b c d", characters=24)
    assert "enum" not in bound(schema)["properties"]["place"]


def test_what_is_copied_does_not_begin_like_the_mark_that_ends_a_list() -> None:
    """Else a model that wants to end goes on with the hyphen of a word such as Sint-Janskathedraal."""
    form = Lines.of({"properties": {"names": {"type": "array", "items": {"type": "string", "copied": True}}}})
    assert form is not None
    (pattern,) = re.findall(r"\) & /(.*)/", form.grammar("Sint-Jan in 's-Hertogenbosch (1380)", 4, 40))
    words = re.compile(pattern.replace(r"\p{L}\p{N}", "A-Za-z0-9"))
    assert all(words.fullmatch(text) for text in ("Sint-Jan", "'s-Hertogenbosch", "(1380)", "in 's"))
    assert not any(words.fullmatch(text) for text in ("-", "-Jan", "(", "' in"))


@pytest.mark.parametrize(
    ("kind", "named"),
    [(str, True), (float, True), (Literal["A", "B"], False), (bool, False), (list[str], False), (Triple, True)],
)
def test_what_may_always_go_on_is_ended_by_the_tokens_that_end_the_models_turn(kind: Any, named: bool) -> None:
    form = Lines.of(create_model("Outputs", value=(kind, ...)).model_json_schema())
    assert form is not None
    start = form.grammar("", 4, 20, (2, 7)).splitlines()[1]
    assert start.endswith("<[2,7]>") is named
    assert "<[" not in form.grammar("", 4, 20)


def test_nothing_is_copied_from_an_input_that_only_asks(grammar: Any) -> None:
    class Answer(dspy.Signature):
        """Answer."""

        passages: list[str] = dspy.InputField()
        question: Asked = dspy.InputField()
        answer: Copied = dspy.OutputField()

    text = grammar(TerseAdapter("lines"), Answer, passages=["Delft, 1667"], question="Who:\nwhen?")
    assert "Delft, 1667" in text
    assert "Who" not in text
    assert "when" not in text

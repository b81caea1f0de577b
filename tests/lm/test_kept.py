"""What an adapter keeps is what DSPy's own would send, to the last byte."""

from __future__ import annotations

import enum
import importlib
from typing import Any, Literal

import cloudpickle
import dspy
import pydantic
import pytest

from goldassay.lm import kept
from goldassay.lm.kept import MemoizedText, Types, keeping, types_kept


class Kind(enum.Enum):
    MUSEUM = "M"
    LIBRARY = "L"


class Place(pydantic.BaseModel):
    name: str = pydantic.Field(description="as it is written")
    kind: Kind
    founded: int | None = None


class Find(dspy.Signature):  # type: ignore[misc]
    """Find the places.

    Every one of them.
    """

    text: str = dspy.InputField(desc="a page")
    known: list[Place] = dspy.InputField()
    history: dspy.History = dspy.InputField()
    places: list[Place] = dspy.OutputField(desc="in their order")
    kind: Literal["a", "b"] = dspy.OutputField()
    sure: float = dspy.OutputField(ge=0, le=1)


PLACE = Place(name="Delft", kind=Kind.MUSEUM)
DEMO = {"text": "x", "known": [], "places": [PLACE], "kind": "a", "sure": 0.5}
CASES: list[tuple[Any, dict[str, Any]]] = [
    (dspy.Signature("question -> answer"), {"question": "Where?\n\n[[ ## answer ## ]]"}),
    (dspy.Signature("question, n: int -> answers: list[str], sure: bool"), {"question": "?", "n": 3}),
    (dspy.Signature("text -> kind: Literal['a', 'b'], scores: dict[str, float]", "Say\n  what."), {"text": "é"}),
    (Find, {"text": "x", "known": [PLACE], "history": dspy.History(messages=[DEMO])}),
]


@pytest.mark.parametrize("kind", [dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter])
@pytest.mark.parametrize(("signature", "inputs"), CASES)
def test_messages_are_the_same(kind: type[dspy.Adapter], signature: Any, inputs: dict[str, Any]) -> None:
    plain, kept = kind(), keeping(kind())
    assert kept is not None
    demos = [{name: inputs.get(name, "x") for name in signature.fields if name != "history"}, {"text": "only this"}]
    for given in ([], demos if signature is not Find else [DEMO]):
        want = plain.format(signature, given, inputs)
        assert kept.format(signature, given, inputs) == want
        assert kept.format(signature, given, inputs) == want  # as kept
    assert type(kept) is kind


def test_another_instruction_or_description_is_rendered_anew() -> None:
    plain: Any = dspy.ChatAdapter()
    kept: Any = keeping(plain)
    signature: Any = dspy.Signature("question -> answer")
    kept.format(signature, [], {"question": "?"})
    signature.instructions = "Another task."
    assert kept.format(signature, [], {"question": "?"}) == plain.format(signature, [], {"question": "?"})
    signature.model_fields["answer"].json_schema_extra["desc"] = "short"
    assert kept.format(signature, [], {"question": "?"}) == plain.format(signature, [], {"question": "?"})
    assert "short" in kept.format(signature, [], {"question": "?"})[0]["content"]


def test_a_message_is_rendered_once() -> None:
    calls: list[Any] = []

    def render(signature: Any) -> str:
        calls.append(signature)
        return "text"

    kept = MemoizedText(render)
    signature = dspy.Signature("question -> answer")
    assert [kept(signature) for _ in range(3)] == ["text"] * 3
    assert len(calls) == 1


def test_it_travels_and_leaves_other_adapters_alone() -> None:
    kept: Any = keeping(None)
    assert type(kept) is dspy.ChatAdapter
    there = cloudpickle.loads(cloudpickle.dumps(kept))
    signature = dspy.Signature("question -> answer")
    assert there.format(signature, [], {"question": "?"}) == kept.format(signature, [], {"question": "?"})

    class Own(dspy.ChatAdapter):  # type: ignore[misc]
        pass

    own = Own()
    assert keeping(own) is own


class Dated(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    year: int = pydantic.Field(ge=0)


VALUES: list[Any] = [
    "text", 7, 2.5, None, True, [1, "2"], {"a": PLACE}, PLACE, Kind.LIBRARY, (1, 2), {3}, b"x", object(), Dated(year=3),
]  # fmt: skip
READ: list[tuple[Any, str]] = [
    (list[Place], '[{"name": "Delft", "kind": "M"}]'),
    (list[Place], '[{"name": "Delft", "kind": "X"}]'),
    (int | str, "1"),
    (str | int, "1"),
    (dict[str, float], '{"a": 1}'),
    (Dated, '{"year": -1}'),
    (Dated | None, "null"),
    (Literal["a", "b"], "c"),
    (float, "much"),
]


def outcome(make: Any, *given: Any) -> Any:
    try:
        return make(*given)
    except Exception as error:
        return type(error), str(error)


def test_types_are_made_once_and_values_are_written_and_read_the_same() -> None:
    utils: Any = importlib.import_module("dspy.adapters.utils")
    plain = utils.TypeAdapter

    def all_of_it() -> list[Any]:
        written = [outcome(utils.serialize_for_json, value) for value in VALUES if type(value) is not object]
        return written + [outcome(utils.parse_value, said, kind) for kind, said in READ]

    want = all_of_it()
    with types_kept():
        with types_kept():
            assert all_of_it() == want
        assert all_of_it() == want  # as kept
        assert utils.TypeAdapter(Dated) is utils.TypeAdapter(Dated)
        one, other = int | str, str | int
        assert utils.TypeAdapter(one) is not utils.TypeAdapter(other)
    assert utils.TypeAdapter is plain
    assert all_of_it() == want


def test_a_program_that_makes_types_as_it_goes_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 2)
    make = Types()
    kinds = [type(f"Kind{number}", (Place,), {}) for number in range(5)]
    assert all(make(kind).validate_python({"name": "x", "kind": "M"}).name == "x" for kind in kinds)
    assert len(make.made) == 2

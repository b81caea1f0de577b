"""What an adapter keeps is what DSPy's own would send, to the last byte."""

from __future__ import annotations

import enum
from typing import Any, Literal

import cloudpickle
import dspy
import pydantic
import pytest

from goldassay.lm.kept import Kept, keeping


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

    kept = Kept(render)
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

"""One call a type, through a scripted model that answers for the type it is asked for."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import dspy
import pytest
from pydantic import BaseModel

from goldassay.lm import TerseAdapter
from goldassay.lm.lines import Lines
from goldassay.lm.terse import CallPerType


class Name(BaseModel):
    text: str
    type: Literal["TOP", "TMP"]


class Names(dspy.Signature):
    """List the names."""

    text: str = dspy.InputField()
    names: list[Name] = dspy.OutputField()


DEMO = {"text": "Gouda, 1272", "names": [Name(text="Gouda", type="TOP"), {"text": "1272", "type": "TMP"}]}


class Engine:
    """Knows one name of each type, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.asked.append(request)
        said = [TextPart("Delft\n-" if "type TOP" in str(request.system) else "1667\n-")]
        return Response(
            id=None, model=request.model, message=Message.assistant(said), finish_reason="stop", usage=Usage()
        )


class Later:
    """The engine, asynchronously."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def complete(self, request: Any) -> Any:
        return self.engine.complete(request)


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def asking(engine: Engine) -> Any:
    lm = dspy.LM("scripted/engine", engine=engine, async_engine=Later(engine), cache=False)
    with dspy.context(lm=lm, adapter=TerseAdapter("types")):
        predict = dspy.Predict(Names)
        predict.demos = [DEMO]
        yield predict


WANTED = [Name(text="Delft", type="TOP"), Name(text="1667", type="TMP")]


def test_each_type_is_asked_for_and_the_answers_stand_together(asking: Any, engine: Engine) -> None:
    assert asking(text="Delft in 1667").names == WANTED
    assert len(engine.asked) == 2


def test_asynchronously_it_is_the_same(asking: Any) -> None:
    assert asyncio.run(asking.acall(text="Delft in 1667")).names == WANTED


def test_a_demonstration_shows_the_names_of_the_type_that_is_asked_for(asking: Any, engine: Engine) -> None:
    asking(text="Delft in 1667")
    shown = ["".join(part.text for part in one.messages[1].parts) for one in engine.asked]
    assert shown == ["Gouda\n-", "1272\n-"]


def test_copied_names_are_still_copied() -> None:
    parted = CallPerType.of(Names)
    assert parted is not None
    schema = parted.signature_of("TOP").output_fields["names"].annotation.__args__[0].model_json_schema()
    assert Lines.of({"properties": {"names": {"type": "array", "items": schema}}}) is not None
    assert schema["properties"]["text"]["copied"] is True


class Plain(dspy.Signature):
    """What kind of deed is it?"""

    text: str = dspy.InputField()
    kind: Literal["deed", "letter"] = dspy.OutputField()


class Reasoned(Names):
    """With a second output."""

    reason: str = dspy.OutputField()


@pytest.mark.parametrize("signature", [Plain, Reasoned, dspy.Signature("text -> names: list[str]")])
def test_what_is_no_list_of_labelled_objects_is_asked_for_at_once(signature: Any) -> None:
    assert CallPerType.of(signature) is None

"""Classification's program on a scripted model, its demonstrations, and the baselines without a model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay import workspace
from goldassay.gold import load
from goldassay.measures import classification
from goldassay.tuning.wrappers import NearestDemos


class Engine:
    """Gives one answer and keeps what it was asked."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer, self.asked = answer, ""

    def complete(self, request: Any) -> Response:
        self.asked = f"{request.system}\n{request.messages}"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant([TextPart(json.dumps(self.answer))])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


class AsyncEngine(Engine):
    async def complete(self, request: Any) -> Response:
        return super().complete(request)


@pytest.fixture(scope="module")
def programs(root: Path) -> ModuleType:
    return workspace.load(root / "programs" / "classification.py")


@pytest.fixture(scope="module")
def heritage(root: Path) -> Any:
    return load(root / "gold" / "heritage", task="classification").classification


def asked(program: Any, text: str, name: str) -> tuple[Any, str]:
    engine = Engine({"type": name})
    lm = dspy.LM("scripted/model", engine=engine, async_engine=AsyncEngine({"type": name}), cache=False)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        return program(text=text), engine.asked


def test_a_name_becomes_its_code(programs: ModuleType) -> None:
    for label in classification.institutions().values():
        assert asked(programs.program, "text", label.name)[0].label == label.code
    predictions, prompt = asked(programs.program, "Het Stadsarchief", "Archive")
    assert classification.Accuracy()({"label": "A"}, predictions).tally.value == 1.0
    assert "Botanical garden or zoo" in prompt


def test_asynchronously(programs: ModuleType) -> None:
    lm = dspy.LM("scripted/model", engine=Engine({}), async_engine=AsyncEngine({"type": "Library"}), cache=False)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        assert asyncio.run(programs.program.acall(text="x")).label == "L"


def test_gold_examples_serve_as_demonstrations(programs: ModuleType, heritage: Any) -> None:
    example = heritage.train[0]
    assert programs.program.to_demo(example) == {"type": classification.institutions()[example.label].name}
    tuned = NearestDemos(k=2).compile(programs.program, trainset=heritage.train)
    _, prompt = asked(tuned, example.text, "Gallery")
    assert example.text.split(".")[0] in prompt


def test_keywords_beat_chance_on_texts_they_were_not_chosen_from(programs: ModuleType, heritage: Any) -> None:
    for split in (heritage.dev, heritage.test):
        predictions = [programs.baselines["keywords"](text=example.text) for example in split]
        assert classification.scorecard(split, predictions).values["accuracy"] > 0.5  # type: ignore[operator]  # chance: 1/19
    assert programs.baselines["keywords"](text="zzz").label == "U"


def test_the_nearest_documents(programs: ModuleType, heritage: Any) -> None:
    fitted = programs.baseline.fit(heritage.train)
    assert [fitted(text=example.text).label for example in heritage.train] != ["U"] * len(heritage.train)
    nearest = programs.NearestDocuments(k=1).fit(heritage.train)
    assert all(
        nearest(text=example.text).label == example.label for example in heritage.train
    )  # each is nearest to itself
    assert programs.baseline(text="x").label == "U"  # fitting gives a new one
    predictions = [fitted(text=example.text) for example in heritage.test]
    assert classification.scorecard(heritage.test, predictions).values["accuracy"] > 0.2  # type: ignore[operator]

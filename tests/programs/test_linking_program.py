"""Linking's program on a scripted model, its demonstrations, the finding of mentions, and the baselines."""

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
from goldassay.measures import linking
from goldassay.tuning.wrappers import NearestDemos
from goldassay.workspace.search import LabelTable

TABLE = LabelTable.of(
    {"Q90": ["Paris"], "Q830149": ["Paris, Texas", "Paris"], "Q19675": ["Louvre", "Musée du Louvre"], "Q1": ["Parish"]}
)
TEXT = "In Paris lies the Louvre, far from the Town Hall of Nowhere."


class Engine:
    """Answers with a number and counts how often it was asked."""

    def __init__(self, choice: int) -> None:
        self.choice, self.asked = choice, []  # type: ignore[var-annotated]

    def complete(self, request: Any) -> Response:
        self.asked.append(str(request.messages))
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant([TextPart(json.dumps({"choice": self.choice}))])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


class AsyncEngine(Engine):
    async def complete(self, request: Any) -> Response:
        return super().complete(request)


@pytest.fixture(scope="module")
def programs(root: Path) -> ModuleType:
    return workspace.load(root / "programs" / "linking.py")


@pytest.fixture(scope="module")
def heritage(root: Path) -> Any:
    return load(root / "gold" / "heritage", task="linking").linking


def linked(program: Any, choice: int, mentions: Any = None) -> tuple[list[dict[str, Any]], list[str]]:
    engine = Engine(choice)
    with dspy.context(lm=dspy.LM("scripted/model", engine=engine, cache=False), adapter=dspy.JSONAdapter()):
        return program(text=TEXT, mentions=mentions).links, engine.asked


def ids(links: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(link["text"], [example["id"] for example in link["candidates"]]) for link in links]


def test_the_chosen_entry_comes_first_and_the_others_after_it(programs: ModuleType) -> None:
    mentions = [{"start": 3, "end": 8, "text": "Paris"}]
    links, prompts = linked(programs.Linking(TABLE), 2, mentions)
    assert ids(links) == [("Paris", ["Q830149", "Q90", "Q1"])]
    assert "1. Paris" in prompts[0]
    assert ids(linked(programs.Linking(TABLE), 0, mentions)[0]) == [("Paris", [])]
    assert ids(linked(programs.Linking(TABLE), 5, mentions)[0]) == [("Paris", [])]  # a number that stands for nothing


def test_mentions_are_found_where_none_are_given(programs: ModuleType) -> None:
    links, prompts = linked(programs.Linking(TABLE), 1)
    assert [text for text, _ in ids(links)] == ["Paris", "Louvre", "Town Hall of Nowhere"]
    assert ids(links)[2] == ("Town Hall of Nowhere", [])
    assert len(prompts) == 2  # what is far from every name is NIL without asking
    assert all(TEXT[link["start"] : link["end"]] == link["text"] for link in links)
    assert programs.find_mentions("paris", TABLE) == []  # a name begins with a capital


def test_asynchronously(programs: ModuleType) -> None:
    lm = dspy.LM("scripted/model", engine=Engine(0), async_engine=AsyncEngine(1), cache=False)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        predictions = asyncio.run(programs.Linking(TABLE).acall(text=TEXT))
    assert [text for text, _ in ids(predictions.links)] == ["Paris", "Louvre", "Town Hall of Nowhere"]


def test_gold_examples_serve_as_demonstrations(programs: ModuleType, heritage: Any) -> None:
    program = programs.program
    baseline = [program.to_demo(each) for each in heritage.train]
    for demo, example in zip(baseline, heritage.train, strict=True):
        if demo and demo["choice"]:
            right = {
                each
                for link in example.links
                if link["text"] == demo["mention"]
                for g in link["ids"].values()
                for each in g
            }
            label = demo["candidates"][demo["choice"] - 1].split(". ", 1)[1].split(":")[0]
            assert label in {programs.labels()[each].label for each in right if each in programs.labels()}
    assert sum(bool(demo) for demo in baseline) > 100
    tuned = NearestDemos(k=2).compile(program, trainset=heritage.train)
    _, prompts = linked(tuned, 1, [{"start": 3, "end": 8, "text": "Paris"}])
    assert prompts[0].count("choice") >= 2


def test_baselines(programs: ModuleType) -> None:
    mentions = [{"start": 3, "end": 8, "text": "Paris"}, {"start": 18, "end": 24, "text": "Louvres"}]
    assert ids(programs.ExactLinker(TABLE)(text=TEXT, mentions=mentions).links) == [
        ("Paris", ["Q90", "Q830149"]),
        ("Louvres", []),
    ]
    near = ids(programs.FuzzyLinker(TABLE)(text=TEXT, mentions=mentions).links)
    assert [predictions[0] for _, predictions in near] == ["Q90", "Q19675"]
    assert ids(programs.FuzzyLinker(TABLE, threshold=99)(text=TEXT, mentions=mentions).links)[1] == ("Louvres", [])


def test_baselines_on_the_gold_set(programs: ModuleType, heritage: Any) -> None:
    for name, baseline in programs.baselines.items():
        with_mentions = [baseline(text=example.text, mentions=example.links) for example in heritage.test]
        predictions = [baseline(text=example.text) for example in heritage.test]
        # with the mentions given the table decides; without, finding them is the harder half
        assert linking.scorecard(heritage.test, with_mentions).values["hits@1"] > 0.9, name  # type: ignore[operator]
        assert 0.5 < linking.scorecard(heritage.test, predictions).values["link_recall"] <= 1.0, name  # type: ignore[operator]

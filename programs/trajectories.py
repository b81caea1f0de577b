"""Trajectories: an agent that answers with tools, by a language model, and policies that need none.

The tools work on the heritage set, offline: `search` finds passages, `read` gives the text of one and `dates` only the
dates in it, `look_up` finds the Wikidata ids of a name and `describe` says what an id is. Where the gold of a question
names a tool that fails (``meta.fails``), the first call of that tool raises, as a service that is down for a moment.

``program`` is `dspy.ReAct` with these tools. ``baseline`` searches with the question, reads the best passage and
answers by overlap. ``faulty`` follows gold and goes wrong at one step in a share of the questions: it shows in
tests and in the tutorial what the measures see.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

import dspy

from goldassay.gold import load
from goldassay.gold.records import as_prediction
from goldassay.gold.sets import find
from goldassay.models.lm import Asked, Copied
from goldassay.text.words import sentences
from goldassay.workspace.search import BM25Index, LabelTable, tokens

DEPTH = 5  # passages that a search shows
BEGINNING = 60  # characters of a passage that a search shows
FAILING: ContextVar[set[str] | None] = ContextVar("tools that fail at their next call", default=None)


class Answer(dspy.Signature):  # type: ignore[misc]
    """Answer the question with the help of the tools, as short as possible: a name, a date, a number or a Wikidata id.
    Leave the answer empty if the passages do not say it. Call a tool again if it fails."""

    question: Asked = dspy.InputField()
    answer: Copied = dspy.OutputField()


class Tools:
    """The tools, over the heritage set; it is read when a tool is first called."""

    @cached_property
    def _gold(self) -> Any:
        return load("heritage")

    @cached_property
    def _index(self) -> BM25Index:
        return BM25Index(self._gold.retrieval.passages)

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {passage.id: passage.text for passage in self._index.passages}

    @cached_property
    def _labels(self) -> LabelTable:
        return LabelTable.load(find("heritage") / "labels.jsonl")

    @cached_property
    def _dates(self) -> dict[str, list[str]]:
        records = self._gold.extraction.records
        return {r["id"]: [span["text"] for span in r["entities"] if span["type"] == "TMP"] for r in records}

    @cached_property
    def tasks(self) -> dict[str, Any]:
        """The gold examples by their question."""
        return {record["question"]: record for record in self._gold.trajectories.records}

    def ids(self, tool: str) -> list[str]:
        """The ids that a tool takes, in the order of its table."""
        return list(self._labels if tool == "describe" else self._texts)

    @contextmanager
    def asked(self, question: str) -> Iterator[None]:
        """While this question is answered, the tool that its gold names fails once."""
        fails = ((self.tasks.get(question) or {}).get("meta") or {}).get("fails")
        token = FAILING.set({fails} if fails else set())
        try:
            yield
        finally:
            FAILING.reset(token)

    def all(self) -> list[Callable[..., Any]]:
        """The five tools."""
        return [self.search, self.read, self.dates, self.look_up, self.describe]

    def search(self, query: str) -> list[str]:
        """Find passages about a query. Gives the id and the beginning of each, the best first."""
        _may_fail("search")
        return [f"{name}: {self._texts[name][:BEGINNING]}…" for name, _ in self._index.search(query, DEPTH)]

    def read(self, id: str) -> str:
        """Read the whole passage with this id."""
        _may_fail("read")
        return self._texts[id]

    def dates(self, id: str) -> list[str]:
        """List the dates in the passage with this id, without its text."""
        _may_fail("dates")
        return self._dates[id]

    def look_up(self, name: str) -> list[str]:
        """Find the Wikidata ids of a place or an institution by its name."""
        _may_fail("look_up")
        return self._labels.exact(name)

    def describe(self, id: str) -> str:
        """Say what a Wikidata id is."""
        _may_fail("describe")
        entry = self._labels[id]
        return f"{entry.label}, {entry.description}"


def _may_fail(tool: str) -> None:
    """Raise at the first call of a tool that fails for this question."""
    failing = FAILING.get()
    if failing and tool in failing:
        failing.remove(tool)
        raise ConnectionError(f"{tool} is not available, try again")


class BriefTool(dspy.Tool):  # type: ignore[misc]
    """A tool whose errors are a line of the trajectory, as long tracebacks make each later prompt longer."""

    def __call__(self, **args: Any) -> Any:
        """The tool's output, or its error in the words that `dspy.ReAct` begins with."""
        try:
            return super().__call__(**args)
        except Exception as error:  # noqa: BLE001  an agent goes on, whatever a tool raises
            return f"Execution error in {self.name}: {type(error).__name__}: {error}"


class Agent(dspy.Module):  # type: ignore[misc]
    """A language model that calls tools until it can answer; at most ``steps`` times."""

    def __init__(self, steps: int = 8) -> None:
        super().__init__()
        self.tools = Tools()
        self.react = dspy.ReAct(Answer, tools=[BriefTool(func=tool) for tool in self.tools.all()], max_iters=steps)
        # the instruction ends with the list of tools and the schemas of their arguments, which small models copy
        plain = 'In `next_tool_args` write the values alone, as in {"query": "Delft"}.'
        signature: Any = self.react.react.signature
        self.react.react.signature = signature.with_instructions(f"{signature.instructions} {plain}")

    def forward(self, question: str) -> dspy.Prediction:
        """The answer, and the trajectory that led to it."""
        with self.tools.asked(question):
            prediction = self.react(question=question)
        return dspy.Prediction(answer=str(prediction.answer or ""), trajectory=prediction.trajectory)


class Policy(dspy.Module):  # type: ignore[misc]
    """A policy without a model: what is common to those below."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = Tools()

    def call(self, steps: list[dict[str, Any]], tool: str, /, **args: Any) -> Any:
        """Call a tool and note the step; a tool that raises gives None, and its error is in the step."""
        step: dict[str, Any] = {"kind": "tool", "name": tool, "args": args}
        steps.append(step)
        try:
            step["output"] = getattr(self.tools, tool)(**args)
        except Exception as error:  # noqa: BLE001  a tool may raise anything, and the policy goes on
            step["error"] = f"Execution error in {tool}: {error}"
            return None
        return step["output"]


class Overlap(Policy):
    """Search with the question, read the best passage, answer with what its nearest sentence has."""

    def forward(self, question: str) -> dspy.Prediction:
        """The answer by overlap."""
        steps: list[dict[str, Any]] = []
        with self.tools.asked(question):
            hits = self.call(steps, "search", query=question)
            text = self.call(steps, "read", id=hits[0].partition(":")[0]) if hits else None
        return dspy.Prediction(answer=picked(question, text or ""), trajectory=steps)


def picked(question: str, text: str) -> str:
    """What the question asks for, from the sentence that shares most words with it: a year, a number or a name."""
    asked = set(tokens(question))
    sentence = max(sentences(text), key=lambda s: len(asked & set(tokens(s))), default="")
    years = re.findall(r"\b1\d\d\d\b|\b20\d\d\b", sentence)
    if years and re.search(r"\b(when|year|wanneer|jaar|wann|jahr|quand|année)\b", question.lower()):
        return str(years[0])
    names = re.findall(r"[A-ZÀ-Ý][\w’'-]+(?: [A-ZÀ-Ý][\w’'-]+)+", sentence)
    return next((name for name in names if not asked & set(tokens(name))), years[0] if years else "")


class Faulty(Policy):
    """Gold's first acceptable way, but the call at ``step`` (from 1) goes wrong in a ``share`` of the questions.

    Then it reads or describes the next id of its table, or looks the whole question up as a name. Which questions
    these are depends on ``seed`` and the question alone.
    """

    def __init__(self, step: int = 2, share: float = 0.3, seed: int = 0) -> None:
        super().__init__()
        self.step, self.share, self.seed = step, share, seed

    def forward(self, question: str) -> dspy.Prediction:
        """Gold's calls and answer; after the wrong step the answer is lost."""
        gold = self.tools.tasks[question]
        ideal = as_prediction(gold, "trajectories")
        wrong = random.Random(f"{self.seed} {question}").random() < self.share
        steps: list[dict[str, Any]] = []
        with self.tools.asked(question):
            for number, call in enumerate(ideal["trajectory"], start=1):
                name, args = call["name"], dict(call["args"])
                if name == "search":
                    args = {"query": question}
                if wrong and number == self.step:
                    name, args = self.instead(name, args, question)
                self.call(steps, name, **args)
        lost = wrong and len(steps) >= self.step
        return dspy.Prediction(answer="" if lost else ideal["answer"] or "", trajectory=steps)

    def instead(self, name: str, args: dict[str, Any], question: str) -> tuple[str, dict[str, Any]]:
        """The wrong call in the place of a right one."""
        if "id" not in args:
            return "look_up", {"name": question}
        ids = self.tools.ids(name)
        return name, {"id": ids[(ids.index(args["id"]) + 1) % len(ids)]}


program = Agent()
baseline = Overlap()
faulty = Faulty()

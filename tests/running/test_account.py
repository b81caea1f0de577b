"""Steps behind a prediction are recorded in the rows of a run: as a tree, in threads, async and on Ray."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM
from dspy.utils.callback import BaseCallback, with_callbacks

from goldassay import Metric, aevaluate, evaluate, workspace
from goldassay.core.measure import failed
from goldassay.core.steps import STEP_CHARACTERS, Step, bounded
from goldassay.measures import trajectories
from goldassay.running import Run
from goldassay.running.account import Account
from goldassay.running.guard import PARSER_FAULT, attempt
from goldassay.tuning import NearestDemos

METRIC = Metric(trajectories.CallF1(), columns={"pred.calls": lambda pred: pred.get("calls", [])})
AGENT = """
import json
import dspy

class Engine:
    "Searches, reads a page that is not there, reads one that is, and finishes."
    turns = [("search", {"query": "Delft"}), ("read", {"page": 0}), ("read", {"page": 1}), ("finish", {})]

    def complete(self, request):
        from dspy.lm15 import Message, Response, TextPart, Usage
        prompt = request.messages[-1].parts[-1].text
        if "[[ ## next_tool_name ## ]]" in prompt:
            name, args = self.turns[prompt.count("[[ ## observation_")]
            fields = {"next_thought": "go on", "next_tool_name": name, "next_tool_args": json.dumps(args)}
        else:
            fields = {"reasoning": "it says so", "answer": "Delft"}
        text = "".join(f"[[ ## {name} ## ]]\\n{value}\\n\\n" for name, value in fields.items())
        usage = Usage(input_tokens=10, output_tokens=5, total_tokens=15)
        message = Message.assistant([TextPart(text + "[[ ## completed ## ]]")])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

class Async(Engine):
    async def complete(self, request):
        return super().complete(request)

def search(query: str) -> list[str]:
    return [f"1: {query}", "2: sk-abcdef123456"]

def read(page: int) -> str:
    if page == 0:
        raise KeyError("no such page")
    return "x" * 200_000

class Shelf(dspy.Retrieve):
    def forward(self, query):
        return dspy.Prediction(passages=[f"about {query}"])

class Agent(dspy.Module):
    def __init__(self):
        super().__init__()
        self.shelf = Shelf()
        self.react = dspy.ReAct("question -> answer", tools=[search, read])

    def forward(self, question):
        self.shelf(question)
        return dspy.Prediction(answer=self.react(question=question).answer)

class Awaited(Agent):
    async def forward(self, question):
        self.shelf(question)
        return dspy.Prediction(answer=(await self.react.acall(question=question)).answer)

program = Agent()
lm = dspy.LM("scripted/agent", engine=Engine(), async_engine=Async(), cache=False)
"""
GOLD = [
    dspy.Example(id=str(i), question=f"where {i}", calls=[{"name": "search"}]).with_inputs("question") for i in range(6)
]


@pytest.fixture
def agent(tmp_path: Path) -> Any:
    file = tmp_path / "agent.py"
    file.write_text(AGENT, encoding="utf-8")
    return workspace.load(file)


def tree(steps: tuple[Step, ...]) -> list[tuple[int, str, str, str]]:
    """Depth, kind, name and predictor of each step."""
    depths: list[int] = []
    for step in steps:
        depths.append(0 if step.parent is None else depths[step.parent] + 1)
    return [(depth, step.kind, step.name, step.predictor) for depth, step in zip(depths, steps, strict=True)]


REACT = (2, "module", "react.react", "react.react")
MODEL = (3, "model", "scripted/agent", "react.react")
EXPECTED = [
    (0, "module", "Agent", ""),
    (1, "retriever", "Shelf", ""),
    (1, "module", "ReAct", ""),
    *(REACT, MODEL, (2, "tool", "search", "react.react")),
    *(REACT, MODEL, (2, "tool", "read", "react.react")),
    *(REACT, MODEL, (2, "tool", "read", "react.react")),
    *(REACT, MODEL, (2, "module", "finish", "react.react")),
    (2, "module", "ChainOfThought", ""),
    (3, "module", "react.extract.predict", "react.extract.predict"),
    (4, "model", "scripted/agent", "react.extract.predict"),
]


def test_rows_hold_the_tree_of_steps_and_give_it_back(agent: Any, tmp_path: Path) -> None:
    run = evaluate(agent.program, GOLD, METRIC, lm=agent.lm, threads=3, folder=tmp_path / "run", progress=False)
    read = Run.load(tmp_path / "run", METRIC)
    assert [row.steps for row in read.rows] == [row.steps for row in run.rows]
    for row in read.rows:
        question = (row.inputs or {})["question"]
        assert tree(row.steps) == EXPECTED
        shelf, search, missing, found = (row.steps[index] for index in (1, 5, 8, 11))
        assert (shelf.args, shelf.output) == ({"args": [question]}, {"passages": [f"about {question}"]})
        assert (search.args, search.output) == ({"query": "Delft"}, ["1: Delft", "2: [hidden]"])
        assert (missing.error, missing.output) == ("KeyError: 'no such page'", None)
        assert found.output == "x" * STEP_CHARACTERS + "… (cut, 200,000 characters in all)"
        assert all(step.seconds is not None and step.seconds >= 0 for step in row.steps)
        models = [step for step in row.steps if step.kind == "model"]
        assert len(models) == len(row.calls) == 5
        assert {step.tokens for step in models} == {15}
        assert "reasoning" in row.calls[-1]["answer"]
        assert not row.steps[0].args  # the row has them
        thought: Any = row.steps[3].output
        assert thought["next_tool_name"] == "search"
    assert "sk-abcdef" not in (tmp_path / "run" / "rows.jsonl").read_text(encoding="utf-8")


def test_a_fault_of_the_parser_under_threads_runs_the_program_again(agent: Any, tmp_path: Path) -> None:
    class Unlucky(agent.Agent):  # type: ignore[misc]
        def __init__(self, faults: int) -> None:
            super().__init__()
            self.faults = faults

        def forward(self, question: str) -> Any:
            answer = super().forward(question)
            self.faults -= 1
            if self.faults >= 0:
                raise SystemError(f"{PARSER_FAULT} (before=63, after=66)")
            return answer

    run = evaluate(Unlucky(2), GOLD[:1], METRIC, lm=agent.lm, folder=tmp_path / "run", progress=False)
    (row,) = run.rows
    assert not row.error
    assert [depth for depth, *_ in tree(row.steps)] == [depth for depth, *_ in EXPECTED]
    assert (row.usage.calls, len(row.calls)) == (15, 5)  # all calls were paid
    with dspy.context(lm=agent.lm):
        assert PARSER_FAULT in failed(attempt(Unlucky(99), {"question": "where"}))


def test_steps_are_recorded_async_and_not_without_a_trace(agent: Any, tmp_path: Path) -> None:
    run = asyncio.run(
        aevaluate(agent.Awaited(), GOLD, METRIC, lm=agent.lm, threads=2, folder=tmp_path / "run", progress=False)
    )
    assert [tree(row.steps)[1:] for row in run.rows] == [EXPECTED[1:]] * len(GOLD)
    bare: dict[str, Any] = {"folder": tmp_path / "bare", "trace": False}
    for more in ({}, bare):
        run = evaluate(agent.program, GOLD[:2], METRIC, lm=agent.lm, progress=False, **more)
        assert [row.steps for row in run.rows] == [(), ()]


@pytest.mark.nightly
def test_steps_come_back_from_actors(agent: Any, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    options: dict[str, Any] = {"engine": "ray", "workers": 1, "threads": 2, "progress": False}
    run = evaluate(agent.program, GOLD, METRIC, lm=agent.lm, folder=tmp_path / "run", **options)
    assert [tree(row.steps) for row in run.rows] == [EXPECTED] * len(GOLD)


def test_threads_of_the_program_and_an_example_that_is_cut_off(agent: Any, tmp_path: Path) -> None:
    search = dspy.Tool(agent.search)

    class Parallel(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        def forward(self, question: str) -> Any:
            together = dspy.Parallel(num_threads=3, disable_progress_bar=True)
            together([(self.ask, dspy.Example(question=f"{question} {n}").with_inputs("question")) for n in range(3)])
            search(query=question)
            time.sleep(60 if question == "where 1" else 0)
            return dspy.Prediction(calls=[])

    run = evaluate(Parallel(), GOLD[:2], METRIC, lm=agent.lm, timeout=2, folder=tmp_path / "run", progress=False)
    for row in run.rows:
        steps = row.steps
        assert sorted(tree(steps)[1:]) == sorted(
            [(1, "module", "ask", "ask"), (2, "model", "scripted/agent", "ask")] * 3 + [(1, "tool", "search", "ask")]
        )
    assert run.rows[1].error.startswith("TimeoutError")
    assert run.rows[1].steps[0].seconds is None  # it did not end


def test_a_tool_is_called_by_the_predictor_in_the_module_that_ended_last(agent: Any, tmp_path: Path) -> None:
    search = dspy.Tool(agent.search)

    class Planned(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rewrite = dspy.Predict("question -> answer")
            self.plan = dspy.ChainOfThought("question -> answer")

        def forward(self, question: str) -> Any:
            self.rewrite(question=question)
            search(query=self.plan(question=question).answer)
            return dspy.Prediction(calls=[{"name": "search", "args": {"query": "Gouda"}}])

    run = evaluate(Planned(), GOLD[:1], METRIC, lm=agent.lm, folder=tmp_path / "run", progress=False)
    assert tree(run.rows[0].steps)[-1] == (1, "tool", "search", "plan.predict")
    assert [error.predictor for error in run.rows[0].errors] == ["plan.predict"]  # which the prediction does not name


def test_code_that_a_model_wrote_is_a_step(agent: Any, tmp_path: Path) -> None:
    if not hasattr(dspy, "CodeInterpreter"):
        pytest.skip("this DSPy has no callbacks for interpreters")

    class Interpreter:
        tools: dict[str, Any] = {}

        def start(self) -> None: ...

        def shutdown(self) -> None: ...

        @with_callbacks  # type: ignore[untyped-decorator]
        def execute(self, code: str, variables: Any = None) -> Any:
            if "7" not in code:
                raise dspy.CodeExecutionError("answer is not defined")
            return "42"

    program = dspy.CodeAct("question -> answer", tools=[], interpreter_factory=Interpreter)
    turns = [
        {"generated_code": f"```python\nprint({code})\n```", "finished": code == "6 * 7"}
        for code in ("answer", "6 * 7")
    ]
    lm = DummyLM([*turns, {"reasoning": "it printed it", "answer": "42"}])
    run = evaluate(program, GOLD[:1], METRIC, lm=lm, folder=tmp_path / "run", progress=False, max_failures=1)
    steps = [step for step in run.rows[0].steps if step.kind == "tool"]
    assert [(step.name, step.args, step.output, step.error, step.predictor) for step in steps] == [
        ("python", {"code": "print(answer)"}, None, "CodeExecutionError: answer is not defined", "codeact"),
        ("python", {"code": "print(6 * 7)"}, "42", "", "codeact"),
    ]


class Asks(dspy.Module):  # type: ignore[misc]
    """A program that asks a model of its own, which nobody sees from outside, and notes who hears its parts."""

    def __init__(self, engine: Any) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer")
        self.engine = engine
        self.looks = 0
        self.hearers: list[list[str]] = []

    def named_predictors(self) -> Any:
        self.looks += threading.current_thread() is not threading.main_thread()
        return super().named_predictors()

    def forward(self, question: str) -> Any:
        hidden = dspy.LM("scripted/hidden", engine=self.engine, cache=False)
        for part in (self, self.ask, dspy.settings.adapter, hidden):
            self.hearers.append([type(hearer).__name__ for hearer in dspy.settings.callbacks + part.callbacks])
        with dspy.context(lm=hidden):
            self.ask(question=question)
        return self.ask(question=question)


@pytest.mark.parametrize("trace", [False, True])
def test_an_account_hears_every_model_and_no_part_without_need(agent: Any, tmp_path: Path, trace: bool) -> None:
    class Own(BaseCallback):  # type: ignore[misc]
        starts: list[str] = []

        def on_module_start(self, call_id: str, instance: Any, inputs: Any) -> None:
            self.starts.append(type(instance).__name__)

    program = Asks(agent.Engine())
    with dspy.context(callbacks=[Own()]):
        run = evaluate(
            program, GOLD, METRIC, lm=agent.lm, threads=2, folder=tmp_path / "run", trace=trace, progress=False
        )
    assert [row.usage.calls for row in run.rows] == [2] * len(GOLD)
    parts = [["Own", "Account"]] * 2 if trace else [["Own"]] * 2
    assert program.hearers == [*parts, ["Own"], ["Own", "Account"]] * len(GOLD)
    assert sorted(Own.starts) == ["Asks"] * len(GOLD) + ["Predict"] * 2 * len(GOLD)
    # once for its models and once for its names: DSPy looks for predictors in the program's history, too
    assert program.looks == 1 + trace


def test_a_step_costs_little() -> None:
    account = Account(record=True)
    tool = dspy.Tool(lambda query: query, name="search")
    output = json.dumps([{"title": "Delft", "text": "x" * 200}] * 10)
    started = time.process_time()
    for number in range(2000):
        account.on_tool_start(str(number), tool, {"kwargs": {"query": "Delft", "n": 10}})
        account.on_tool_end(str(number), output)
    assert (time.process_time() - started) / 2000 < 0.0004
    assert len(account.recorded()[1]) == 2000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, (2.5, None)], 3: {True}}, {"a": [1, [2.5, None]], "3": [True]}),
        (dspy.Prediction(answer="Delft"), {"answer": "Delft"}),
        (["ab"] * 100, ["ab"] * 20 + ["… (cut, 80 more)"]),
        (
            dict.fromkeys(map(str, range(50)), "abcd"),
            {**dict.fromkeys(map(str, range(10)), "abcd"), "…": "cut, 40 more"},
        ),
        ("x" * 35 + " sk-abcdef1234567890", "x" * 35 + " [hid… (cut, 55 characters in all)"),
    ],
)
def test_values_are_bounded(value: object, expected: object) -> None:
    assert bounded(value, 40) == expected


def test_a_value_that_cannot_be_read_is_named() -> None:
    class Broken:
        def items(self) -> Any:
            raise RuntimeError("no")

    loop: list[Any] = []
    loop.append(loop)
    assert bounded([Broken()]) == ["<Broken>"]
    assert "…" in json.dumps(bounded(loop), ensure_ascii=False)


class TwoSteps(dspy.Module):  # type: ignore[misc]
    """Plans, then answers."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = dspy.Predict("question -> query")
        self.answer = dspy.ChainOfThought("question -> answer")

    def forward(self, question: str) -> Any:
        self.plan(question=question)
        return self.answer(question=question)


def test_predictors_of_a_copy_have_the_names_that_they_have_in_the_program(tmp_path: Path) -> None:
    example = dspy.Example(question="2 * 2?", answer="4").with_inputs("question")
    best = dspy.BestOfN(TwoSteps(), N=2, reward_fn=lambda args, pred: 0.0, threshold=1.0)
    shown = NearestDemos(1).compile(TwoSteps(), trainset=[example])
    for program, prefix, times in ((TwoSteps(), "", 1), (best, "module.", 2), (shown, "program.", 1)):
        with dspy.context(lm=DummyLM([{"query": "q"}, {"reasoning": "r", "answer": "4"}] * 2)):
            run = evaluate(program, [example], lambda gold, pred: 1.0, folder=tmp_path / prefix, check_leaks=False)
        named = [step.predictor for step in run.rows[0].steps if step.kind == "model"]
        assert named == [f"{prefix}plan", f"{prefix}answer.predict"] * times

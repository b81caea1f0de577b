"""Errors of a step reach the predictor that made it: in feedback, patterns and patches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import Metric, evaluate
from goldassay.core.measure import Error
from goldassay.measures import answering, trajectories
from goldassay.reporting.pages.report_page import shown_steps
from goldassay.tuning import NearestDemos, patterns
from goldassay.tuning.edits import Diagnosis, predictor_for, propose_patches
from goldassay.tuning.instructions import rules, tool_descriptions
from goldassay.tuning.patches import apply

OPTIONS: Any = {"arguments": "superset"}
METRIC = Metric({trajectories.CallF1(**OPTIONS): 0.5, answering.ExactMatch(): 0.5})


class Engine:
    """Searches and looks up a name; where its instruction has ``cure`` it reads the first passage instead."""

    def __init__(self, cure: str = "Call read, not look_up") -> None:
        self.cure = cure

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        prompt = request.messages[-1].parts[-1].text
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        fields = self.fields(prompt, system)
        text = "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items())
        message = Message.assistant([TextPart(text + "[[ ## completed ## ]]")])
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    def fields(self, prompt: str, system: str) -> dict[str, str]:
        """The answer to a prompt."""
        if "[[ ## next_tool_name ## ]]" not in prompt:
            return {"reasoning": "it says so", "answer": "1246" if "read" in prompt else "nobody knows"}
        second = ("read", {"id": "1"}) if self.cure in system else ("look_up", {"name": "Delft"})
        calls: list[Any] = [("search", {"query": "Delft"}), second, ("finish", {})]
        name, args = calls[prompt.count("[[ ## observation_")]
        return {"next_thought": "go on", "next_tool_name": name, "next_tool_args": json.dumps(args)}


def search(query: str) -> list[str]:
    """Find passages."""
    return [f"1: {query}"]


def read(id: str) -> str:
    """Read a passage."""
    return "It became a city in 1246."


def look_up(name: str) -> str:
    """Find the id of a name."""
    return "Q690"


class Agent(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.agent = dspy.ReAct("question -> answer", tools=[search, read, look_up])

    def forward(self, question: str) -> Any:
        return self.agent(question=question)


GOLD = [
    dspy.Example(
        id=str(number),
        question=f"When did Delft become a city? ({number})",
        calls=[{"name": "search"}, {"name": "read", "args": {"id": "1"}}],
        answers=["1246"],
    ).with_inputs("question")
    for number in range(12)
]


@pytest.fixture
def lm() -> Any:
    return dspy.LM("scripted/agent", engine=Engine(), cache=False)


def feedback_of_gepa(program: Any, measure: Any, lm: Any) -> dict[str, str]:
    """What GEPA tells each predictor."""
    seen: dict[str, str] = {}

    def propose(candidate: Any, reflective_dataset: Any, components_to_update: Any) -> dict[str, str]:
        for name in components_to_update:
            seen[name] = "\n".join(row["Feedback"] for row in reflective_dataset[name])
        return {name: candidate[name] for name in components_to_update}

    options: dict[str, Any] = {"num_threads": 1, "max_metric_calls": 60, "component_selector": "all"}
    metric = measure if isinstance(measure, Metric) else Metric(measure)
    with dspy.context(lm=lm):
        dspy.GEPA(metric=metric, instruction_proposer=propose, **options).compile(
            program, trainset=GOLD[:6], valset=GOLD[6:]
        )
    return seen


def test_gepa_gets_the_errors_of_a_step_for_the_predictor_that_made_it(lm: Any) -> None:
    seen = feedback_of_gepa(Agent(), METRIC, lm)
    assert "- Step 2: read was to be called, not look_up." in seen["agent.react"]
    assert "Step 2" not in seen["agent.extract.predict"]
    assert "1 more are of 'react', not of 'agent.extract.predict'." in seen["agent.extract.predict"]


class Agents(dspy.Module):  # type: ignore[misc]
    """Two agents, whose trajectories are returned one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.ReAct("question -> facts", tools=[search])
        self.check = dspy.ReAct("question, facts -> answer", tools=[read])

    def forward(self, question: str) -> Any:
        found = self.find(question=question)
        checked = self.check(question=question, facts=found.facts)
        ends = {"_0": "_2", "_1": "_3"}
        later = {f"{name[:-2]}{ends[name[-2:]]}": value for name, value in checked.trajectory.items()}
        return dspy.Prediction(answer=checked.answer, trajectory=found.trajectory | later)


class EngineOfAgents(Engine):
    """Each agent makes one call with the same thought and ends; the second agent's is ``second``."""

    def __init__(self, second: tuple[str, dict[str, str]]) -> None:
        self.second = second

    def fields(self, prompt: str, system: str) -> dict[str, str]:
        if "[[ ## next_tool_name ## ]]" not in prompt:
            return {"reasoning": "so", "answer" if "[[ ## facts ## ]]\nfacts" in prompt else "facts": "facts"}
        call = self.second if "[[ ## facts ## ]]\nfacts" in prompt else ("search", {"query": "Delft"})
        name, args = ("finish", {}) if "[[ ## observation_" in prompt else call
        return {"next_thought": "go on", "next_tool_name": name, "next_tool_args": json.dumps(args)}


@pytest.mark.parametrize(
    ("second", "line"),
    [
        (("read", {"id": "2"}), '- Step 2: read: id is "1", not "2".'),
        (("finish", {}), '- Step 2: read(id="1") was not called.'),
    ],
)
def test_of_two_agents_the_one_that_went_wrong_hears_of_it(second: Any, line: str) -> None:
    """Both trajectories are of a predictor ``react``: each agent was told of the other's wrong calls."""
    lm = dspy.LM("scripted/agents", engine=EngineOfAgents(second), cache=False)
    seen = feedback_of_gepa(Agents(), trajectories.CallF1(**OPTIONS), lm)
    assert line in seen["check.react"]
    assert "Step 2" not in seen["find.react"]
    assert "1 more are of calls that 'find.react' did not make." in seen["find.react"]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_of_two_agents_in_a_run_each_error_is_patched_where_the_call_was_made(
    tmp_path: Path, is_recorded: bool
) -> None:
    """Both were of ``react``, so that rules for a tool of the first went into the prompt of the second."""
    lm = dspy.LM("scripted/agents", engine=EngineOfAgents(("read", {"id": "2"})), cache=False)
    calls = [{"name": "search", "args": {"query": "Gouda"}}, {"name": "read", "args": {"id": "1"}}]
    gold = [dspy.Example(id="a", question="When?", calls=calls).with_inputs("question")]
    program = Agents()
    folder = tmp_path if is_recorded else None
    run = evaluate(program, gold, Metric(trajectories.CallF1()), folder=folder, lm=lm, progress=False)
    if is_recorded:
        (row,) = run.rows
        assert [error.predictor for error in row.errors] == ["find.react", "check.react"]
        assert shown_steps(row) == (list(row.steps), 4)  # the tree with its times, of which step 4 is the search
        last = replace(row, prediction={"calls": [{"name": "read", "args": {"id": "2"}}]}, errors=row.errors[:1])
        assert row.steps[shown_steps(last)[1] or 0].name == "read"  # of the last agent's calls alone, too
    patched = {pattern.errors[0].field: predictor_for(pattern, program)[0] for pattern in patterns.find(run.cases)}
    assert patched == {"search.query": "find.react", "read.id": "check.react"}


class SecondAgents(dspy.Module):  # type: ignore[misc]
    """Two agents of DSPy's ReActV2; the calls of the second are returned."""

    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.ReActV2("question -> facts", tools=[search])
        self.check = dspy.ReActV2("question, facts -> answer", tools=[read])

    def forward(self, question: str) -> Any:
        return self.check(question=question, facts=self.find(question=question).facts)


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ([("read", {"id": "2"})], '- Step 1: read: id is "1", not "2".'),
        ([], '- Step 1: read(id="1") was not called.'),
    ],
)
def test_of_two_agents_of_the_second_react_the_one_that_went_wrong_hears_of_it(calls: Any, line: str) -> None:
    """Every call of both is of a predictor ``react``: the first was told of the wrong calls of the second."""
    if not hasattr(dspy, "ReActV2"):
        pytest.skip("this DSPy has no ReActV2")
    first = [("search", {"query": "Delft"}), ("submit", {"facts": "a city"})]
    turns = [
        {"next_thought": "on", "tool_calls": json.dumps({"tool_calls": [{"name": name, "args": args}]})}
        for name, args in [*first, *calls, ("submit", {"answer": "1246"})]
    ]
    gold = dspy.Example(question="When?", calls=[{"name": "read", "args": {"id": "1"}}]).with_inputs("question")
    program = SecondAgents()
    with dspy.context(lm=DummyLM(turns), trace=[]):
        pred = program(question="When?")
        trace = list(dspy.settings.trace)
    told = {}
    for name, predictor in program.named_predictors():
        own_calls = [step for step in trace if step[0] is predictor]
        told[name] = Metric(trajectories.CallF1())(gold, pred, trace, name, own_calls[:1]).feedback
    assert line in told["check.react"]
    assert "Step 1" not in told["find.react"]


def test_patterns_are_of_a_step_and_patches_of_its_predictor_and_of_the_tool(lm: Any) -> None:
    program = Agent()
    run = evaluate(program, GOLD, METRIC, lm=lm, progress=False)
    found = patterns.find(run.cases)
    pattern = next(pattern for pattern in found if pattern.kind == "wrong_tool")
    assert (pattern.title, pattern.count, pattern.step) == ("wrong_tool read→look_up at step 2", 12, 1)
    assert pattern.loss > 0.2
    rule, tool = propose_patches(Diagnosis([pattern], program, GOLD), [rules, tool_descriptions])
    assert (rule.predictor, rule.text) == ("agent.react", "Call read, not look_up, at step 2.")
    assert (tool.predictor, tool.action) == ("agent.react", "replace_instruction")
    described = apply(program, tool).agent.react.signature.instructions
    assert "<desc>Read a passage. Use it at step 2, not look_up.</desc>" in described
    assert "<desc>Find passages.</desc>" in described
    better = evaluate(apply(program, rule), GOLD, METRIC, lm=lm, progress=False)
    assert (run.value, better.value) == (0.25, 1.0)


@pytest.mark.parametrize(
    ("steps", "kind", "predictor"),
    [
        ([{"name": "search", "predictor": "choose"}], "missing_call", "choose"),
        ([{"name": "search", "predictor": "choose"}, {"name": "read", "predictor": "open"}], "wrong_argument", "open"),
    ],
)
def test_a_call_that_is_missing_is_due_to_the_predictor_of_the_call_before(
    steps: Any, kind: str, predictor: str
) -> None:
    errors = trajectories.CallF1(**OPTIONS)(GOLD[0], {"trajectory": steps}).errors
    assert [(error.kind, error.predictor) for error in errors] == [(kind, predictor)]


def test_errors_go_to_the_predictor_that_made_them_or_wrote_the_field_last() -> None:
    class Draft(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.draft = dspy.Predict("question -> answer")
            self.end = dspy.Predict("question, answer -> topic")

    class Revised(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = Draft()
            self.end = dspy.Predict("question, draft -> answer")
            self.rate = dspy.Predict("answer -> rating")

    def predictor(program: Any, **fields: Any) -> str:
        error = Error("wrong_value", "answer: expected 'a', got 'b'.", **fields)
        pattern = patterns.Pattern("wrong_value", "", "", (), (error,), (), 0.0)
        return predictor_for(pattern, program)[0]

    train = [dspy.Example(question="q", answer="a").with_inputs("question")]
    for program in (Revised(), NearestDemos(1).compile(Revised(), trainset=train)):
        assert predictor(program, field="answer") == "end"  # of inner.draft and end, which writes the answer last
        assert predictor(program, predictor="end") == "end"  # not inner.end
        assert predictor(program, predictor="inner.end") == "inner.end"
        assert predictor(program) == "rate"
    assert predictor(program, predictor="program.inner.draft") == "inner.draft"  # as the steps of this program have it

    assert predictor(Agents(), predictor="react") == "check.react"  # whose trajectory the program returns


def test_a_rule_is_for_every_predictor_that_writes_the_field() -> None:
    class Ways(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.plan = dspy.Predict("text -> way")
            for name in ("short", "long", "other"):
                setattr(self, name, dspy.Predict("text -> label"))

    gold = [
        dspy.Example(text=f"the {word} of {n}", label=word).with_inputs("text") for n in "abcd" for word in ("x", "y")
    ]
    texts = [f"{'parcel' if row.label == 'x' else 'letter'} {row.text}" for row in gold]
    train = [
        dspy.Example(text=text, label=row.label).with_inputs("text") for text, row in zip(texts, gold, strict=True)
    ]
    errors = tuple(Error("wrong_value", "", gold="x", pred="y", field="label") for _ in range(4))
    pattern = patterns.Pattern("wrong_value", "x", "y", ("x",), errors, ("1",), 0.5)
    (slot,) = rules(Diagnosis([pattern], Ways(), train)).values()
    assert sorted(patch.predictor for patch in slot) == ["long", "other", "short"]
    assert {patch.text for patch in slot} == {'A text with "parcel" is x, not y.'}


def test_calls_that_nobody_claims_are_of_the_predictor_that_writes_calls() -> None:
    class Caller(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.plan = dspy.Predict("question, tools: list[dspy.Tool] -> outputs: dspy.ToolCalls")
            self.reply = dspy.ChainOfThought("question, results -> answer")

    errors = (Error("missing_call", "", field="trajectory", step=0),)
    pattern = patterns.Pattern("missing_call", "read", "", (), errors, (), 0.0)
    assert predictor_for(pattern, Caller())[0] == "plan"

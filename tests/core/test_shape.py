"""What a program reads and answers with, as every command sees it."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, Literal

import dspy
import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.core.shape import ProgramShape, choices_of, input_text, shape_of
from goldassay.running.guard import guard, guarded
from goldassay.tuning.wrappers import NearestDemos


class Team(Enum):
    BILLING = "billing"
    RETURNS = "returns"


class Triage(dspy.Signature):
    """Say who answers a ticket."""

    subject: str = dspy.InputField()
    body: str = dspy.InputField()
    team: Team = dspy.OutputField()
    urgent: bool = dspy.OutputField()


class Any_(dspy.Module):
    """A module that takes whatever it is given."""

    def __init__(self, *parts: dspy.Module) -> None:
        super().__init__()
        for number, part in enumerate(parts):
            setattr(self, f"part{number}", part)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return dspy.Prediction(**inputs)


class Named(Any_):
    def forward(self, body: str, most: int = 3) -> dspy.Prediction:  # type: ignore[override]
        return dspy.Prediction(team=body[:most])


def tool(word: str) -> str:
    return word


@pytest.mark.parametrize(
    "program",
    [
        dspy.Predict(Triage),
        dspy.ChainOfThought(Triage),
        dspy.ReAct(Triage, tools=[tool]),
        dspy.BestOfN(dspy.ChainOfThought(Triage), 2, lambda inputs, prediction: 1.0, 0.5),
        Any_(dspy.ChainOfThought(Triage)),
        guard(dspy.ChainOfThought(Triage)),
        guarded(dspy.ChainOfThought(Triage)),
    ],
    ids=lambda program: type(program).__name__,
)
def test_what_a_signature_says_is_the_shape_of_every_module(program: dspy.Module) -> None:
    shape = shape_of(program)
    assert shape.inputs == ("subject", "body")
    assert shape.outputs == ("team", "urgent")
    assert shape.choices == {"team": ("billing", "returns"), "urgent": (True, False)}
    assert not {*shape.notes} & {*shape.outputs}


def test_working_notes_are_what_the_modules_add() -> None:
    assert shape_of(dspy.Predict(Triage)).notes == ()
    assert shape_of(dspy.ChainOfThought(Triage)).notes == ("reasoning",)
    assert {"reasoning", "trajectory", "next_thought"} <= {*shape_of(dspy.ReAct(Triage, tools=[tool])).notes}
    answer = ["reasoning", "team", "urgent"]
    assert shape_of(dspy.ChainOfThought(Triage)).scored(answer) == ["team", "urgent"]
    assert replace(shape_of(dspy.ChainOfThought(Triage)), measured=("team",)).scored(answer) == ["team"]
    assert ProgramShape().scored(["reasoning"]) == ["reasoning"]


@pytest.mark.parametrize("wrap", [lambda program: program, guard, guarded])
def test_the_parameters_of_forward_are_inputs_and_a_default_is_optional(wrap: Any) -> None:
    program = wrap(Named(dspy.ChainOfThought(Triage)))
    shape = shape_of(program)
    assert (shape.inputs, shape.optional) == (("body", "most"), ("most",))
    assert shape.inputs_among(["body", "team"], "triage.py") == ["body"]


def test_a_program_with_near_examples_takes_what_it_took() -> None:
    train = [dspy.Example(subject="a", body="b", team="billing", urgent=True).with_inputs("subject", "body")]
    assert shape_of(NearestDemos().compile(dspy.Predict(Triage), trainset=train)).inputs == ("subject", "body")


def test_several_candidates_are_one_question_with_its_answer() -> None:
    first, second = dspy.Predict("body -> summary"), dspy.Predict("summary, language -> team")
    shape = shape_of(Any_(first, second))
    assert shape.inputs is None
    assert shape.candidates == ("body", "language")
    assert shape.inputs_among(["body", "team"], "triage.py") == ["body"]
    with pytest.raises(GoldassayError, match=r'as a line: inputs = \["body", "language"\]$'):
        shape.inputs_among(["body", "language", "team"], "triage.py")
    assert shape_of(Any_(first, second), ["body"]).inputs == ("body",)


def test_an_echo_never_gets_gold() -> None:
    with pytest.raises(GoldassayError, match="which of body, team are its inputs"):
        shape_of(lambda **row: row).inputs_among(["body", "team"], "echo.py")
    shape = replace(shape_of(lambda **row: row), measured=("team",))
    for fields in (["team", "body", "summary"], ["body", "team", "summary"]):
        with pytest.raises(GoldassayError, match=r'which of body, summary are .* as a line: inputs = \["body"\]$'):
            shape.inputs_among(fields, "echo.py")


def test_an_optional_input_that_is_the_answer_is_not_given() -> None:
    shape = replace(shape_of(lambda body, team=None: team), measured=("team",))
    assert shape.inputs_among(["body", "team"], "echo.py") == ["body"]
    assert shape.inputs_among(["body", "team"], "echo.py", ["body", "team"]) == ["body", "team"]


def test_a_card_answers_and_is_held_to() -> None:
    fields = ["body", "team"]
    assert shape_of(lambda **row: row).inputs_among(fields, "echo.py", ["body"]) == ["body"]
    with pytest.raises(GoldassayError, match=r"takes team, which the card .* \(inputs: \[body\]\)"):
        shape_of(lambda body, team: team).inputs_among(fields, "echo.py", ["body"])
    assert shape_of(lambda body, team="": team).inputs_among(fields, "echo.py", ["body"]) == ["body"]


class Hops(dspy.Module):
    """The query of each hop is read by the code, and no part of the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.hops = [dspy.ChainOfThought("context, question -> query") for _ in range(2)]
        self.answer = dspy.ChainOfThought("context, question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        context = [hop(context=[], question=question).query for hop in self.hops]
        return dspy.Prediction(context=context, answer=self.answer(context=context, question=question).answer)


class Handed(Hops):
    def forward(self, question: str) -> dspy.Prediction:
        return super().forward(question=question)


def test_what_forward_does_not_return_is_no_answer() -> None:
    assert shape_of(Hops()).outputs == ("answer",)
    assert shape_of(Handed()).outputs == ("query", "answer")  # its source does not say


def test_choices_are_found_in_every_form() -> None:
    assert choices_of(list[Literal["a", "b"]] | None) == ("a", "b")
    assert choices_of(Team) == ("billing", "returns")
    assert choices_of(str) == ()


def test_the_text_of_an_example_is_all_inputs() -> None:
    assert input_text({"title": "Ur", "body": None, "team": "x"}, ["title", "body"]) == "Ur"


def test_what_a_module_returns_beside_its_declared_answer_is_no_answer() -> None:
    """A RAG returns the passages that it read, too: the same answer from other passages is the same answer."""
    rag = shape_of(Any_(dspy.ChainOfThought("context, question -> answer")))
    returned = ["answer", "reasoning", "context", "found"]
    assert rag.scored(returned) == ["answer"]
    assert replace(rag, measured=("answer", "found")).scored(returned) == ["answer", "found"]
    assert rag.scored(["entities", "reasoning"]) == ["entities"]  # under another name than the predictor's


def test_a_module_that_takes_what_another_returns_is_no_program() -> None:
    # its completions were advised to be mapped to a column of gold
    with pytest.raises(GoldassayError, match=r"^MultiChainComparison takes completions of another module: "):
        shape_of(dspy.MultiChainComparison("question -> answer"))
    assert shape_of(Named()).required == ["body"]

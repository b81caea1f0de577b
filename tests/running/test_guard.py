"""Guards: whatever a program raises or returns is a prediction, except Ctrl-C and a spent budget."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import make_dataclass
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM
from pydantic import create_model

from goldassay.core.shape import shape_of
from goldassay.running.budget import BudgetSpent
from goldassay.running.evaluate import evaluate
from goldassay.running.guard import as_prediction, attempt, guard, guarded, unguarded


class Failing(dspy.Module):  # type: ignore[misc]
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
        self.find = dspy.Predict("text -> label")

    def forward(self, text: str) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), asyncio.CancelledError("gone")])
def test_an_error_is_a_prediction_that_names_it(error: BaseException) -> None:
    program = Failing(error)
    for safe in (guard(program), guarded(program)):
        assert str(safe(text="x").goldassay_failure).startswith(type(error).__name__)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BudgetSpent("spent")])
def test_an_interrupt_and_a_spent_budget_propagate(error: BaseException) -> None:
    with pytest.raises(type(error)):
        guard(Failing(error))(text="x")


def test_a_guarded_copy_has_the_same_predictors_and_its_own_signatures() -> None:
    program = Failing(ValueError("no"))
    copy = guarded(program)
    assert [name for name, _ in copy.named_predictors()] == ["find"]
    assert copy.find.signature is not program.find.signature
    assert type(unguarded(copy)) is Failing
    with pytest.raises(ValueError, match="no"):
        copy(text="x")


def test_optimizers_find_the_code_of_a_guarded_copy() -> None:
    class Local(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> object:
            return text

    for program in (Local(), dspy.Predict("text -> label")):
        assert inspect.getsource(type(guarded(program))) == inspect.getsource(type(program))


def test_a_copy_without_demonstrations_keeps_the_models_that_predictors_are_bound_to() -> None:
    # flawed: bootstrap and labeled tuned such a program, and measured the tuned one, on the model of the context
    program = dspy.ChainOfThought("text -> label")
    program.set_lm(DummyLM([{"reasoning": "", "label": "M"}]))
    program.predictors()[0].demos = [dspy.Example(text="x", label="M")]
    (predictor,) = guarded(program).reset_copy().predictors()
    assert isinstance(predictor.lm, DummyLM)
    assert not predictor.demos


@pytest.mark.parametrize(
    ("output", "fields"),
    [
        ({"label": "M"}, {"label": "M"}),
        ("M", {"output": "M"}),
        ({}, {"output": {}}),
        ({1: 2}, {"output": {1: 2}}),
        # flawed: the metric read these in dspy.Evaluate, and evaluate hid them in the field output
        (dspy.Example(label="M"), {"label": "M"}),
        (create_model("Typed", label=str)(label="M"), {"label": "M"}),
        (make_dataclass("Slots", ["label"], slots=True)("M"), {"label": "M"}),
    ],
)
def test_any_output_is_a_prediction(output: Any, fields: dict[str, Any]) -> None:
    assert dict(as_prediction(output).items()) == fields


def test_a_program_that_makes_another_one_is_told_so() -> None:
    failed = attempt(lambda k=3: dspy.Predict("text -> label"), {})
    assert failed.goldassay_failure.startswith("the program returned a module, Predict")


def test_a_note_goes_before_the_error() -> None:
    prediction = attempt(lambda text: 1 / 0, {"text": "x"}, lambda error: "while dividing: ")
    assert prediction.goldassay_failure == "while dividing: ZeroDivisionError: division by zero"


class Asynchronous(dspy.Module):  # type: ignore[misc]
    """Has no ``forward``, as programs of servers."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")

    async def aforward(self, question: str) -> Any:
        await asyncio.sleep(0)
        return await self.answer.acall(question=question)


def test_a_module_that_is_only_asynchronous_is_awaited() -> None:
    program = Asynchronous()
    assert shape_of(program).inputs == ("question",)
    with dspy.context(lm=DummyLM([{"answer": "Delft"}] * 2)):
        assert attempt(program, {"question": "Where?"}).answer == "Delft"
        copy = guarded(program)
        assert copy(question="Where?").answer == "Delft"
    assert [name for name, _ in copy.named_predictors()] == ["answer"]
    gold = [dspy.Example(id=str(n), question="Where?", answer="Delft") for n in range(4)]
    run = evaluate(program, gold, lambda gold, pred: gold.answer == pred.answer, lm=DummyLM([{"answer": "Delft"}] * 4))
    assert (run.value, run.failed) == (1.0, 0)


@pytest.mark.parametrize("async_streaming", [True, False])
def test_a_stream_is_a_failure_that_names_the_module(async_streaming: bool) -> None:
    stream = dspy.streamify(dspy.Predict("question -> answer"), async_streaming=async_streaming)
    message = "the program returned a stream: measure the module itself, which dspy.streamify got"
    assert attempt(stream, {"question": "Where?"}).goldassay_failure == message


def test_a_module_that_states_call_alone_is_called() -> None:
    class Called(dspy.Module):  # type: ignore[misc]
        def __call__(self, text: str) -> Any:
            return dspy.Prediction(label=text)

    assert attempt(Called(), {"text": "M"}).label == "M"  # flawed: 'Called' object has no attribute 'aforward'


def test_a_program_runs_without_a_warning_of_dspy(capfd: pytest.CaptureFixture[str]) -> None:
    class Fixed(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            return dspy.Prediction(label="M")

    for call in (guard(Fixed()), lambda text: attempt(Fixed(), {"text": text})):
        assert call(text="x").label == "M"
    assert "discouraged" not in capfd.readouterr().err

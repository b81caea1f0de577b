"""The embedded model itself, on one thread: every constrained answer parses, whatever it is worth.

This fetches the model's file (98 MB) where it is not in the user's cache yet.
"""

from __future__ import annotations

from typing import Any, Literal

import dspy
import pytest
from pydantic import BaseModel
from tests.nightly import by_day

from goldassay._support.dspy_compat import was_cut
from goldassay._support.exceptions import ModelError
from goldassay.models.lm import DEFAULT_MODEL, Copied, TerseAdapter, adapter, resolve

Kind = Literal["museum", "archive", "library"]


class Name(BaseModel):
    text: str
    type: Literal["TOP", "TMP", "GRP"]


class Names(dspy.Signature):
    """List the names of places (TOP), dates (TMP) and institutions (GRP) in the text, copied exactly."""

    text: str = dspy.InputField()
    names: list[Name] = dspy.OutputField()


class Label(dspy.Signature):
    """Which kind of institution is the text about?"""

    text: str = dspy.InputField()
    kind: Kind = dspy.OutputField()
    sure: bool = dspy.OutputField()
    year: int | None = dspy.OutputField()


TEXTS = (
    "Het Stadsarchief Delft kreeg in 1859 een eigen gebouw.",
    "« L'été » — naïve “quotes”, ¿no? 日本 \t\u0007 \\n {x}",
)


@pytest.fixture(scope="module")
def model() -> Any:
    return resolve(DEFAULT_MODEL, cache=False, max_tokens=70)


@pytest.mark.parametrize("text", by_day(TEXTS))
def test_every_typed_answer_parses(model: Any, text: str) -> None:
    with dspy.context(lm=model, adapter=adapter(model)), dspy.track_usage() as tracker:
        names = dspy.Predict(Names)(text=text).names
        labeller = dspy.Predict(Label)
        labeller.demos = [dspy.Example(text="NIOD", kind="archive", sure=True, year=1945)]
        label = labeller(text=text)
    assert isinstance(names, list)
    assert all(isinstance(name, Name) for name in names)
    assert label.kind in ("museum", "archive", "library")
    assert isinstance(label.sure, bool)
    used = tracker.get_total_tokens()[DEFAULT_MODEL]
    assert used["prompt_tokens"] > 60
    assert 0 < used["completion_tokens"] <= 140


def test_answers_are_one_line_of_json(model: Any) -> None:
    with dspy.context(lm=model, adapter=adapter(model)):
        dspy.Predict(Label)(text=TEXTS[0])
    answer = model.history[-1]["outputs"][0]
    assert answer.startswith('{"kind": "')
    assert "\n" not in answer


def test_an_answer_cut_in_the_middle_parses_and_is_flagged(model: Any) -> None:
    short = model.copy(max_tokens=14)
    with dspy.context(lm=short, adapter=adapter(short)):
        names = dspy.Predict(Names)(text=TEXTS[0]).names
    assert isinstance(names, list)
    assert was_cut(short.history[-1])


@pytest.mark.nightly
def test_a_chain_of_thought_and_plain_text_work_too(model: Any) -> None:
    with dspy.context(lm=model, adapter=adapter(model)):
        prediction = dspy.ChainOfThought("text -> kind: str")(text="A museum.", config={"max_tokens": 200})
    assert isinstance(prediction.kind, str)
    assert isinstance(model("Say yes.", max_tokens=4)[0], str)


def test_a_prompt_longer_than_the_context(model: Any) -> None:
    small = resolve(DEFAULT_MODEL, cache=False, context=256)
    with pytest.raises(ModelError, match=r"^the prompt has \d+ tokens, local/smollm2-135m takes 256"):
        small("heritage " * 400)


def test_all_models_of_a_file_share_a_server_and_loading_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = (resolve(DEFAULT_MODEL, cache=False, context=512, max_tokens=2) for _ in range(2))
    assert first.server is second.server
    assert capfd.readouterr() == ("", "")


class Copy(dspy.Signature):
    """Copy the words of the text that answer the question, as short as possible."""

    text: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: Copied = dspy.OutputField()


@pytest.mark.nightly
def test_a_line_of_text_ends_where_the_model_ends_its_turn(model: Any) -> None:
    """Not at the bound of the grammar, or at the end of what is copied."""
    reader = dspy.Predict(Copy)
    reader.demos = [
        dspy.Example(text="de noordertoren van 123 meter", question="Hoe hoog is de noordertoren?", answer="123 meter"),
        dspy.Example(text="nummer 1185 op de lijst", question="Onder welk nummer staat het?", answer="1185"),
        dspy.Example(text="opened its doors in 1902", question="When did it open?", answer="1902"),
    ]
    inputs = {"text": "In 1836 collectors and scholars met in London.", "question": "When did collectors meet?"}
    with dspy.context(lm=model, adapter=TerseAdapter("lines")), dspy.track_usage() as tracker:
        answer = reader(**inputs).answer
    assert "1836" in answer
    assert not answer.endswith("London.")
    (usage,) = tracker.get_total_tokens().values()
    assert usage["completion_tokens"] < 12

"""Local models as DSPy's LM: what the server is sent, what comes back, what is saved, what goes wrong."""

from __future__ import annotations

import asyncio
import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from pydantic import BaseModel

from goldassay._support.dspy_compat import ContextWindowExceededError, was_cut
from goldassay._support.exceptions import MissingExtra, ModelError
from goldassay.models.lm import LocalLM, TerseAdapter, adapter, resolve

from .conftest import answer

Load = Callable[..., Any]


class Name(BaseModel):
    text: str
    type: Literal["TOP", "TMP"]


class Names(dspy.Signature):
    """List the names."""

    text: str = dspy.InputField()
    names: list[Name] = dspy.OutputField()


GOOD = '{"names": [{"text": "Delft", "type": "TOP"}]}'
CUT = answer(GOOD[:-2] + ', {"text": "Gou', "length")


def predict(lm: Any, text: str = "Delft") -> Any:
    with dspy.context(lm=lm, adapter=adapter(lm)):
        return dspy.Predict(Names)(text=text).names


def test_a_typed_answer_comes_back_and_is_counted(scripted: Load) -> None:
    server = scripted(GOOD)
    lm = resolve("local/any")
    with dspy.track_usage() as tracker:
        assert predict(lm) == [Name(text="Delft", type="TOP")]
    usage = tracker.get_total_tokens()["local/any"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (11, 7, 18)
    body = server.bodies[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 256)


def test_the_schema_of_the_answer_is_the_grammar_with_bounds(scripted: Load) -> None:
    server = scripted(GOOD)
    with dspy.context(lm=resolve("local/any", items=3, characters=17), adapter=TerseAdapter("json", copied=False)):
        dspy.Predict(Names)(text="Delft")
    grammar = server.bodies[0]["grammar"]
    assert '"maxItems":3' in grammar
    assert '"maxLength":17' in grammar
    assert '"TMP"' in grammar
    assert "response_format" not in server.bodies[0]


def test_a_text_that_reaches_its_limit_is_reported(scripted: Load) -> None:
    scripted('{"names": [{"text": "Delft aan de Schie", "type": "TOP"}]}')
    model = resolve("local/any", characters=18)
    with pytest.warns(UserWarning, match=r"^a text of 'text' has the 18 characters"):
        assert predict(model)
    demo = {"text": "Gouda", "names": [Name(text="Gouda", type="TOP")]}
    with dspy.context(lm=model, adapter=TerseAdapter("json")), warnings.catch_warnings():
        warnings.simplefilter("error")
        dspy.Predict(Names)(text="Delft", demos=[demo])


def test_any_mapping_as_output_is_any_json_object(scripted: Load) -> None:
    server = scripted('{"counts": {"a": 1}}')
    lm = resolve("local/any")
    with dspy.context(lm=lm, adapter=adapter(lm)):
        assert dspy.Predict("text -> counts: dict[str, int]")(text="x").counts == {"a": 1}
    assert '"type":"object"' in server.bodies[0]["grammar"]


def test_settings_reach_the_model(scripted: Load) -> None:
    server = scripted("yes")
    lm = resolve("local/any", temperature=0.9, max_tokens=5, top_p=0.5, seed=7)
    assert lm("Are you there?", stop=["\n"], extra_body={"top_k": 3}) == ["yes"]
    expected = {"temperature": 0.9, "max_tokens": 5, "top_p": 0.5, "seed": 7, "stop": ["\n"], "top_k": 3}
    body = server.bodies[0]
    assert {key: body[key] for key in expected} == expected
    assert "grammar" not in body


def test_the_cache_answers_the_second_time(scripted: Load) -> None:
    server = scripted(GOOD)
    lm = resolve("local/any")
    assert predict(lm) == predict(lm)
    assert len(server.bodies) == 1
    predict(resolve("local/any", cache=False))
    assert len(server.bodies) == 2


def test_a_cut_answer_keeps_its_complete_items_and_is_flagged_also_from_the_cache(scripted: Load) -> None:
    server = scripted(CUT)
    lm = resolve("local/any")
    for _ in range(2):
        with dspy.context(lm=lm, adapter=TerseAdapter()):
            assert dspy.Predict(Names)(text="x").names == [Name(text="Delft", type="TOP")]
        assert was_cut(lm.history[-1])
    assert len(server.bodies) == 1


def test_an_answer_that_is_whole_is_not_flagged(scripted: Load) -> None:
    scripted(GOOD)
    lm = resolve("local/any")
    predict(lm)
    assert not was_cut(lm.history[-1])


def test_text_that_is_not_constrained_stays_as_it_was_cut(scripted: Load) -> None:
    scripted(answer('{"a": [1, 2', "length"))
    assert resolve("local/any")("Count") == ['{"a": [1, 2']


def test_a_prompt_too_long_is_a_line_with_what_to_do(scripted: Load) -> None:
    message = "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"
    scripted({"error": {"code": 400, "type": "exceed_context_size_error", "message": message}})
    with pytest.raises(ModelError, match=r"^the prompt has .* tokens, local/any takes 4096; show fewer") as error:
        predict(resolve("local/any"))
    assert isinstance(error.value, ContextWindowExceededError)
    assert isinstance(error.value, ValueError)


def test_a_missing_extra_is_reported_by_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldassay.models.lm.models.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'goldassay\[local\]'"):
        resolve("local/smollm2-135m")


def test_async_calls(scripted: Load) -> None:
    scripted(GOOD)
    lm = resolve("local/any")

    async def main() -> Any:
        with dspy.context(lm=lm, adapter=adapter(lm)):
            return await dspy.Predict(Names).acall(text="x")

    assert asyncio.run(main()).names[0].text == "Delft"


def test_a_saved_program_names_its_model_and_no_address_or_key(scripted: Load, tmp_path: Path) -> None:
    scripted(GOOD)
    program: Any = dspy.Predict(Names)
    program.set_lm(resolve("local/any", context=512, max_tokens=99))
    predict(program.lm)
    program.save(str(tmp_path / "program.json"))
    saved = (tmp_path / "program.json").read_text()
    assert all(text in saved for text in ('"local/any"', '"context": 512', '"max_tokens": 99'))
    assert "127.0.0.1" not in saved
    assert "api_key" not in saved


def test_a_model_is_copied_and_pickled(scripted: Load) -> None:
    scripted(GOOD)
    lm = resolve("local/any", context=512)
    for other in (copy.deepcopy(lm), pickle.loads(pickle.dumps(lm)), lm.copy(max_tokens=9)):  # noqa: S301
        assert predict(other) == [Name(text="Delft", type="TOP")]
        assert isinstance(other, LocalLM)
        assert other.context == 512

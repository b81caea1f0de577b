"""Saved programs: what every DSPy from 3.0 on writes is read, a pickle is never opened, another program is refused."""

from __future__ import annotations

import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.tuning import load_state
from goldassay.tuning.wrappers import saveable, wrapped

SAVED = sorted((Path(__file__).parent / "states").glob("*.json"))  # written by these versions of DSPy


class Labels(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.label = dspy.ChainOfThought("text -> label")


@pytest.mark.parametrize("file", SAVED, ids=lambda file: file.stem)
def test_a_state_of_every_version_is_read(file: Path) -> None:
    program: Any = Labels()
    loaded: Any = load_state(program, file)
    assert [dict(demo) for demo in loaded.label.predict.demos] == [{"text": "Delft", "label": "TOP"}]
    assert loaded.label.predict.lm is None
    assert program.label.predict.demos == []


@pytest.mark.parametrize(
    "program", [Labels(), dspy.Predict("text -> label"), dspy.ReAct("question -> answer", tools=[])]
)
def test_what_is_saved_here_is_read_back(program: Any, tmp_path: Path) -> None:
    changed = program.deepcopy()
    for predictor in changed.predictors():
        predictor.signature = predictor.signature.with_instructions("Other.")
    changed.save(str(tmp_path / "a.json"))
    loaded = load_state(program, tmp_path / "a.json")
    assert {p.signature.instructions for p in loaded.predictors()} == {"Other."}


@pytest.mark.parametrize("how", ["folder", "file"])
def test_a_pickle_is_never_opened(how: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"cos\nsystem\n(S'touch {ran}'\ntR.".encode()  # a pickle that runs a command
    place = tmp_path / "saved" if how == "folder" else tmp_path / "a.pkl"
    if how == "folder":
        place.mkdir()
        (place / "metadata.json").write_text('{"dependency_versions": {"dspy": "3.0.4"}}')
    (place / "program.pkl" if how == "folder" else place).write_bytes(code)
    with pytest.raises(GoldassayError, match=r"write program\.save\('state\.json'\)") as raised:
        load_state(Labels(), place)
    assert "\n" not in str(raised.value)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (dspy.ChainOfThought("text -> label"), "it has predict, and the program label.predict"),
        (dspy.Predict("text -> label"), "not the state of this program"),
    ],
)
def test_the_state_of_another_program_is_refused(other: Any, message: str, tmp_path: Path) -> None:
    other.save(str(tmp_path / "a.json"))
    with pytest.raises(GoldassayError, match=message):
        load_state(Labels(), tmp_path / "a.json")


def test_a_signature_with_other_fields_is_refused(tmp_path: Path) -> None:
    other: Any = Labels()
    other.label = dspy.ChainOfThought("text -> label, reason")  # dspy would put its descriptions on other fields
    other.save(str(tmp_path / "a.json"))
    with pytest.raises(GoldassayError, match=r"label\.predict: .*4 fields, and the program's signature has 3"):
        load_state(Labels(), tmp_path / "a.json")


def test_the_model_of_a_state_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other: Any = Labels()
    other.set_lm(dspy.LM("openai/gpt-4o", api_base="http://example.org/v1"))
    other.save(str(tmp_path / "a.json"))
    program: Any = Labels()
    with caplog.at_level(logging.WARNING, logger="goldassay"):
        assert load_state(program, tmp_path / "a.json").predictors()[0].lm is None
    assert "openai/gpt-4o" in caplog.text
    program.set_lm(dspy.LM("openai/own"))
    assert load_state(program, tmp_path / "a.json").predictors()[0].lm.model == "openai/own"


def test_a_state_that_is_nested_without_end_is_one_error(tmp_path: Path) -> None:
    program, file = dspy.Predict("text -> label"), tmp_path / "state.json"
    program.save(str(file))
    text = file.read_text()
    for depth in (1000, 50_000):  # the second one is too deep for JSON itself
        file.write_text('{"form": "json", "program": ' * depth + text + "}" * depth)
        with pytest.raises(DataError, match="state of this program|not JSON that can be read"):
            load_state(program, tmp_path)


def test_a_program_whose_model_cannot_be_saved_is_saved_without_it(learner: Any, tmp_path: Path) -> None:
    """A tuning raised a TypeError when it was done, and its program was lost."""
    program = Labels()
    program.set_lm(dspy.LM("scripted/learner", engine=learner))
    saveable(wrapped(program)).save(str(tmp_path / "state.json"))
    loaded = load_state(program, tmp_path / "state.json")
    assert [str(predictor.lm.model) for predictor in loaded.predictors()] == ["scripted/learner"]


def test_demonstrations_with_amounts_and_sets_are_saved_as_json(tmp_path: Path) -> None:
    """A tuning with labeled raised a RuntimeError of DSPy when it was done, and its program was lost."""
    program = dspy.Predict("text -> total, tags")
    program.demos = [dspy.Example(text="12.50", total=Decimal("12.50"), tags={"a"})]
    saveable(program).save(str(tmp_path / "state.json"))
    loaded: Any = load_state(program, tmp_path / "state.json")
    assert dict(loaded.demos[0]) == {"text": "12.50", "total": "12.50", "tags": ["a"]}
    assert program.demos[0].total == Decimal("12.50")


def test_a_saved_model_that_the_program_has_itself_is_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = Labels()
    program.set_lm(dspy.LM("openai/small"))
    program.save(str(tmp_path / "a.json"))
    load_state(program, tmp_path / "a.json")
    assert not caplog.records
    load_state(Labels(), tmp_path / "a.json")
    assert "was saved with openai/small, which is not used" in caplog.text

"""What stands around a program: the form of the answer, saved and built again, and named as the program inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import dspy
import pytest

from goldassay.models.lm import TerseAdapter
from goldassay.running.hashing import fingerprint
from goldassay.tuning.edits import Diagnosis
from goldassay.tuning.instructions import answer_form
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.saved import load_state, rendered
from goldassay.tuning.service import PatchFolder
from goldassay.tuning.wrappers import NearestDemos, Wrapped, inmost, predictors

KIND = Literal["museum", "archive"]
TRAIN = [
    dspy.Example(text="Stadsarchief Delft", label="archive").with_inputs("text"),
    dspy.Example(text="Museum Boerhaave", label="museum").with_inputs("text"),
]


class Label(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.label = dspy.Predict(dspy.Signature("text -> label").with_updated_fields("label", type_=KIND))

    def forward(self, text: str) -> Any:
        return self.label(text=text)


class Engine:
    """Answers with a museum, in the form that it is asked for, and keeps what it was shown."""

    supports_response_schema = True

    def __init__(self) -> None:
        self.shown: list[str] = []

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.shown = [part.text for message in request.messages for part in message.parts]
        question = (request.config.response_format or {}).get("schema", {})
        text = "museum" if question.get("x-form") == "lines" else '{"label": "museum"}'
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop",
            usage=Usage(),
        )  # fmt: skip


def form(name: str) -> Patch:
    return Patch(predictor="label", action="set_form", text=name)


def test_the_other_form_is_an_edit_where_a_local_model_is_asked() -> None:
    diagnosis = Diagnosis([], Label(), TRAIN)
    assert answer_form(diagnosis) == {}  # DSPy's own adapters say themselves how answers are written
    with dspy.context(adapter=TerseAdapter()):
        (patch,) = answer_form(diagnosis)["form of the answer"]
        assert (patch.action, patch.text, patch.edit) == ("set_form", "lines", "lines")
        assert answer_form(Diagnosis([], apply(Label(), patch), TRAIN)) == {}
    with dspy.context(adapter=TerseAdapter("lines")):
        assert answer_form(diagnosis)["form of the answer"][0].text == "json"


def test_the_form_is_asked_for_and_the_demonstrations_are_written_in_it() -> None:
    engine = Engine()
    program = NearestDemos(k=1).compile(apply(Label(), form("lines")), trainset=TRAIN)
    with dspy.context(lm=dspy.LM("scripted/forms", engine=engine, cache=False), adapter=TerseAdapter()):
        assert program(text="Het Rijksmuseum").label == "museum"
        assert engine.shown == ["text: Museum Boerhaave", "museum", "text: Het Rijksmuseum"]
        assert Label()(text="Het Rijksmuseum").label == "museum"
        assert engine.shown == ["text: Het Rijksmuseum"]
    patch = Patch(predictor="label", action="add_example", example={"text": "x", "label": "museum"})
    assert "\nmuseum" in rendered(apply(apply(Label(), form("lines")), patch), TerseAdapter())


def test_edits_name_the_predictor_as_the_program_inside_does() -> None:
    near: Any = NearestDemos(k=1).compile(Label(), trainset=TRAIN)
    patched: Any = apply(near, form("lines"))
    assert list(predictors(patched)) == ["label"]
    assert isinstance(inmost(patched), Label)
    again = apply(patched, Patch(predictor="label", action="add_instruction", text="One word."))
    assert again.program.label.signature.instructions.endswith("One word.")
    assert len({fingerprint(item) for item in (patched, again, near, apply(near, form("json")))}) == 4
    with pytest.raises(ValueError, match="no form of answers 'xml'"):
        form("xml")


def test_a_program_with_all_of_it_is_built_again_from_its_state(tmp_path: Path) -> None:
    program: Any = apply(NearestDemos(k=1).compile(Label(), trainset=TRAIN), form("lines"))
    program.save(str(tmp_path / "state.json"))
    again = load_state(Label(), tmp_path / "state.json")
    assert fingerprint(again) == fingerprint(program)
    assert again.nearest(text="Het stadsarchief") == program.nearest(text="Het stadsarchief")


def test_such_patches_are_applied_and_taken_back_in_a_folder(tmp_path: Path) -> None:
    folder = PatchFolder(tmp_path, Label())
    from goldassay.tuning.patches import write

    with dspy.context(adapter=TerseAdapter()):
        first = answer_form(Diagnosis([], Label(), TRAIN))["form of the answer"][0]
    write(first, tmp_path)
    folder.apply([first.id])
    assert isinstance(PatchFolder(tmp_path, Label()).current, Wrapped)
    folder.revert([first.id])
    assert isinstance(PatchFolder(tmp_path, Label()).current, Label)

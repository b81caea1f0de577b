"""Patches: written, read, applied and taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.running.hashing import fingerprint
from goldassay.tuning.acceptance import Effect, Status
from goldassay.tuning.patches import Patch, apply, read, write
from goldassay.tuning.service import PatchFolder
from goldassay.tuning.wrappers import NearestDemos


class Program(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict(dspy.Signature("text -> names", "Find the names.\nBe careful."))
        self.extract.demos = [dspy.Example(text="a", names="b")]

    def forward(self, text: str) -> Any:
        return self.extract(text=text)


EDITS: list[dict[str, Any]] = [
    {"action": "add_instruction", "text": "Years are no names."},
    {"action": "remove_instruction", "old": "\nBe careful."},
    {"action": "replace_instruction", "old": "careful", "text": "quick"},
    {"action": "remove_example", "example": {"text": "a", "names": "b"}},
    {"action": "describe_field", "field": "names", "text": "one a line"},
    {"action": "add_example", "example": {"text": "c", "names": "d"}},
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_changes_a_copy_and_nothing_else(edit: dict[str, Any]) -> None:
    program = Program()
    before = fingerprint(program)
    patch = Patch(predictor="extract", program=before, **edit)
    patched = apply(program, patch)
    assert fingerprint(program) == before != fingerprint(patched)


def test_the_version_of_a_program_with_nearest_examples_holds_them_and_their_number() -> None:
    train = [
        dspy.Example(text=t, names=n).with_inputs("text") for t, n in (("Delft 1", "Delft"), ("in Gouda", "Gouda"))
    ]
    first, two = (NearestDemos(k=k).compile(Program(), trainset=train) for k in (1, 2))
    fewer = NearestDemos(k=1).compile(Program(), trainset=train[:1])
    assert fingerprint(first) == fingerprint(NearestDemos(k=1).compile(Program(), trainset=train))
    assert len({fingerprint(item) for item in (Program(), first, two, fewer)}) == 4
    patch = Patch(predictor="program.extract", action="add_instruction", text="x", program=fingerprint(first))
    with pytest.raises(GoldassayError, match="was made for version"):
        apply(two, patch)


def test_a_patch_for_another_version_says_so() -> None:
    program = Program()
    patch = Patch(predictor="extract", action="add_instruction", text="x", program=fingerprint(program))
    patched = apply(program, patch)
    with pytest.raises(GoldassayError, match="was made for version"):
        apply(patched, patch)
    assert apply(patched, patch, any_version=True).extract.signature.instructions.endswith("x\nx")


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            {"predictor": "other", "action": "add_instruction", "text": "x"},
            "no predictor 'other'; the program has extract",
        ),
        ({"action": "remove_instruction", "old": "not there"}, "occurs 0 times"),
        (
            {"action": "remove_instruction", "old": "Find the names.\nBe careful."},
            "would leave no instructions",
        ),
        ({"action": "remove_example", "example": {"text": "c"}}, "shows 1 examples, and not this one"),
        ({"action": "describe_field", "field": "nope", "text": "x"}, "no field 'nope'"),
        ({"action": "add_example", "example": {}}, "the example has no text; it would not be shown"),
        ({"action": "add_example", "example": {"text": "a", "title": "b"}}, "the example has no names"),
    ],
)
def test_an_edit_that_does_not_fit_says_what_is_there(edit: dict[str, Any], says: str) -> None:
    with pytest.raises(GoldassayError, match=says):
        apply(Program(), Patch(**{"predictor": "extract", **edit}))


def test_a_patch_file_reads_back(tmp_path: Path) -> None:
    patch = Patch(predictor="extract", action="add_example", example={"text": "é", "names": ["x"]}, rationale="why")
    file = write(patch, tmp_path / "patches")
    assert read(file) == patch
    assert PatchFolder(tmp_path / "patches", Program()).all() == [(file, patch)]


def test_what_was_measured_does_not_stay_with_another_edit(tmp_path: Path) -> None:
    effect = Effect(split="dev", before=0.5, after=0.6, difference=0.1, low=0.0, high=0.2, p=0.01, n=9)
    patch = Patch(predictor="x", action="add_instruction", text="Be brief.", effects=[effect], status=Status.KEPT)
    file = write(patch, tmp_path)
    assert read(file) == patch
    file.write_text(file.read_text().replace("Be brief.", "Be long."))
    edited = read(file)
    assert (edited.text, edited.effects, edited.status) == ("Be long.", [], "proposed")
    assert edited.reason == f"edited by hand: it was {patch.id}"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("predictor: x\naction: add_instruction\n", "add_instruction needs text"),
        ("predictor: x\naction: add_instruction\ntext: ' '\n", "add_instruction needs text"),
        ("predictor: x\naction: show_nearest\nexample: {keys: [t], examples: []}\n", "needs an example with k"),
        (
            "predictor: x\naction: show_nearest\nexample: {k: four, keys: [t], examples: []}\n",
            "needs an example with k",
        ),
        ("predictor: x\naction: explode\ntext: y\n", "action"),
        ("- a list\n", "a patch is a mapping"),
        ("predictor: [x\n", "not YAML"),
        ("predictor: x\naction: add_instruction\ntext: y\nsurprise: 1\n", "surprise"),
        ("!!python/object/apply:os.system ['true']\n", "not YAML"),
    ],
)
def test_a_file_edited_into_nonsense_is_one_clear_line(tmp_path: Path, body: str, says: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(body)
    with pytest.raises(DataError, match=says) as raised:
        read(file)
    assert "p.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)

"""What goldassay uses of DSPy beside its public names stands in one module, and is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import dspy
import pytest

from goldassay import insides
from goldassay.exceptions import GoldassayError

SRC = Path(insides.__file__).parent
OURS = {"score.py"}  # a Score is a dspy.Prediction, and so its own fields


@pytest.mark.parametrize(
    ("place", "name"), [(place, name) for place, names in insides.PLACES.items() for name in names]
)
def test_dspy_has_what_goldassay_uses(place: str, name: str) -> None:
    assert getattr(insides, name) is insides.found(place, name)


def test_what_a_new_dspy_has_moved_is_said_in_a_sentence() -> None:
    with pytest.raises(
        GoldassayError, match=r"DSPy [\d.]+ has no dspy\.lm15\.Gone, which goldassay uses: install dspy"
    ):
        insides.found("dspy.lm15", "Gone")
    with pytest.raises(GoldassayError, match=r"has no dspy\.moved\.LMError"):
        insides.found("dspy.moved", "LMError")
    with pytest.raises(AttributeError):
        insides.__getattr__("nothing")


def test_examples_and_predictions_keep_their_fields_and_inputs() -> None:
    example = dspy.Example(text="a", label="b").with_inputs("text")
    assert insides.fields_of(example) == {"text": "a", "label": "b"}
    assert insides.fields_of(dspy.Prediction(label="b")) == {"label": "b"}
    assert set(insides.input_keys(example) or ()) == {"text"}
    assert insides.input_keys(dspy.Example(text="a")) is None


@pytest.mark.parametrize("file", sorted(SRC.rglob("*.py")), ids=lambda file: file.relative_to(SRC).as_posix())
def test_no_other_module_reaches_into_dspy(file: Path) -> None:
    if file.name == "insides.py":
        return
    text = file.read_text(encoding="utf-8")
    reached = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not [name for name in reached if name and name.startswith("dspy.")]
    if file.name not in OURS:
        assert not re.search(r"""(?<!self)[."']_store\b|\b_input_keys\b""", text)

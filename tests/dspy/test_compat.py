"""What differs between the versions of DSPy stands in one module, and no other reaches into DSPy's private parts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import dspy
import pytest

from goldassay._support import dspy_compat as compat

SRC = Path(compat.__file__).parents[1]


def test_input_keys_are_those_that_with_inputs_named() -> None:
    assert set(compat.input_keys(dspy.Example(text="a", label="b").with_inputs("text")) or ()) == {"text"}
    assert compat.input_keys(dspy.Example(text="a")) is None
    assert compat.input_keys({"text": "a"}) is compat.input_keys(dspy.Prediction(text="a")) is None


def test_every_kind_of_error_is_an_exception() -> None:
    for errors in (compat.LM_ERRORS, compat.HOPELESS_ERRORS, compat.BAD_REQUEST_ERRORS, compat.DSPY_ERRORS):
        assert errors
        assert all(issubclass(error, Exception) for error in errors)
    assert issubclass(compat.ContextWindowExceededError, compat.LM_ERRORS)


@pytest.mark.parametrize("file", sorted(SRC.rglob("*.py")), ids=lambda file: file.relative_to(SRC).as_posix())
def test_no_other_module_reaches_into_dspy(file: Path) -> None:
    if file.name == "dspy_compat.py":
        return
    text = file.read_text(encoding="utf-8")
    modules = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text if "dspy." in text else ""))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not [name for name in modules if name and name.startswith("dspy.")]
    assert not re.search(r"""(?<!self)[."']_store\b|\b_input_keys\b""", text)

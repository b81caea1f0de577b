"""What `make lint` finds in a line (`.ci/style.py`); that the source has none is lint, not a test."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

STYLE = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "style.py"), run_name="style")


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("a, b = 1, 2", "several values assigned at once"),
        ("a, b = (len(side) for side in pair)", "an unpacked generator"),
        ("a = 1 if x else 2 if y else 3", "a conditional inside a conditional"),
        ("a = 'left' * (not right)", "a text times a condition"),
        ("a = f'{b}, ' * bool(b)", "a text times a condition"),
        ("a = (b > 1) * 's'", "a text times a condition"),
    ],
)
def test_a_dense_line_is_recognised(line: str, pattern: str) -> None:
    assert [*STYLE["dense"](ast.parse(line))] == [(1, pattern)]


@pytest.mark.parametrize("line", ["a, b = b, a", "a, b = divmod(7, 2)", "a = 1 if x else 2", "a = '-' * 20"])
def test_plain_lines_are_none(line: str) -> None:
    assert [*STYLE["dense"](ast.parse(line))] == []


def test_arguments_and_options_are_recognised() -> None:
    function = 'def f(a, b, c, d, e):\n    """Of a, b, c and d."""'
    assert [*STYLE["undocumented"](ast.parse(function))] == [(1, "the docstring of f says nothing of e")]
    assert [*STYLE["options"](ast.parse("x = 'give --resume'\necho('--gold')"))] == [
        (1, "a message names an option: give --resume")
    ]

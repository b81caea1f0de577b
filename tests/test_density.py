"""Density: one thought a line in ``src``. The limits are what is reached; they go down, not up."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMITS = {
    "several values assigned at once": 0,
    "an unpacked generator": 0,
    "a conditional inside a conditional": 0,
    "a text times a condition": 0,
}


def is_swap(names: ast.Tuple | ast.List, values: ast.Tuple | ast.List) -> bool:
    return sorted(map(ast.unparse, names.elts)) == sorted(map(ast.unparse, values.elts))


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_condition(node: ast.expr) -> bool:
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    truth = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool"
    return isinstance(node, (ast.Compare, ast.BoolOp)) or negation or truth


def dense(node: ast.AST) -> Iterator[str]:
    """The names of the patterns that a node is."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
        if isinstance(node.value, (ast.Tuple, ast.List)) and not is_swap(node.targets[0], node.value):
            yield "several values assigned at once"
        if isinstance(node.value, ast.GeneratorExp):
            yield "an unpacked generator"
    if isinstance(node, ast.IfExp) and sum(isinstance(inner, ast.IfExp) for inner in ast.walk(node)) > 1:
        yield "a conditional inside a conditional"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = [(node.left, node.right), (node.right, node.left)]
        if any(is_text(text) and is_condition(condition) for text, condition in sides):
            yield "a text times a condition"


def places(root: Path) -> Iterator[tuple[str, str]]:
    """Each pattern, and the line that has it."""
    for file in sorted((root / "src" / "goldassay").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for pattern in dense(node):
                yield pattern, f"{file.relative_to(root)}:{node.lineno}"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("a, b = 1, 2", "several values assigned at once"),
        ("a, b = (len(side) for side in sides)", "an unpacked generator"),
        ("a = 1 if x else 2 if y else 3", "a conditional inside a conditional"),
        ("a = 'left' * (not right)", "a text times a condition"),
        ("a = f'{b}, ' * bool(b)", "a text times a condition"),
        ("a = (b > 1) * 's'", "a text times a condition"),
    ],
)
def test_a_pattern_is_recognised(line: str, pattern: str) -> None:
    assert [name for node in ast.walk(ast.parse(line)) for name in dense(node)] == [pattern]


@pytest.mark.parametrize("line", ["a, b = b, a", "a, b = divmod(7, 2)", "a = 1 if x else 2", "a = '-' * 20"])
def test_plain_lines_are_none(line: str) -> None:
    assert [name for node in ast.walk(ast.parse(line)) for name in dense(node)] == []


@pytest.mark.parametrize("pattern", LIMITS)
def test_the_source_stays_as_plain_as_it_is(root: Path, pattern: str) -> None:
    lines = [line for name, line in places(root) if name == pattern]
    assert len(lines) <= LIMITS[pattern], f"{len(lines)} lines have {pattern}:\n" + "\n".join(lines)

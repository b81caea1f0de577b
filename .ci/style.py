"""The style of ``src`` beyond what ruff checks: prints each line that breaks a rule, and exits with 1 if one does.

A line has one thought; a docstring names every argument of a public function with five or more; the library's messages
name no options of the command line, which turns keyword arguments (`resume=FOLDER`) into its own. `make lint` runs it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "goldassay"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_condition(node: ast.expr) -> bool:
    """Whether an expression is true or false."""
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    truth = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool"
    return isinstance(node, (ast.Compare, ast.BoolOp)) or negation or truth


def dense(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines with more than one thought."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
            names, value = node.targets[0], node.value
            if isinstance(value, (ast.Tuple, ast.List)):
                if sorted(map(ast.unparse, names.elts)) != sorted(map(ast.unparse, value.elts)):  # else it is a swap
                    yield node.lineno, "several values assigned at once"
            elif isinstance(value, ast.GeneratorExp):
                yield node.lineno, "an unpacked generator"
        if isinstance(node, ast.IfExp) and sum(isinstance(inner, ast.IfExp) for inner in ast.walk(node)) > 1:
            yield node.lineno, "a conditional inside a conditional"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for text, condition in ((node.left, node.right), (node.right, node.left)):
                is_text = isinstance(text, ast.JoinedStr)
                is_text = is_text or (isinstance(text, ast.Constant) and isinstance(text.value, str))
                if is_text and is_condition(condition):
                    yield node.lineno, "a text times a condition"


def public(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[Function, str]]:
    """The public functions with what their docstrings say, in a class with that of the class."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            is_init = node.name == "__init__" and isinstance(tree, ast.ClassDef)
            if is_init or node.name == "__call__" or not node.name.startswith("_"):
                yield node, (ast.get_docstring(node) or "") + ((ast.get_docstring(tree) or "") if is_init else "")


def undocumented(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Arguments that a docstring leaves out, of functions with five or more. Commands tell theirs in the help."""
    for function, text in public(tree):
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        names = [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
        for name in names if len(names) >= 5 else ():
            if not re.search(rf"\b{name.strip('_')}\b", text):
                yield function.lineno, f"the docstring of {function.name} says nothing of {name}"


def options(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts that name an option of the command line; not tables that the command line prints, nor docstrings."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    spoken = {"echo", "line"} | {"option", "argument", "flag", "for_gold", "for_model", "for_running", "for_result"}
    printed = {
        id(inner) for call in calls if ast.unparse(call.func).split(".")[-1] in spoken for inner in ast.walk(call)
    }
    commands = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) and ast.unparse(node)[2:].startswith("goldassay ")
        for part in node.values
    }
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in printed | commands | docstrings
        ):
            is_whole = "\n" in node.value or node.value.startswith("goldassay ")  # a file that is written; a command
            if not is_whole and re.search(r"(?<![\w-])--[a-z]", node.value):
                yield node.lineno, f"a message names an option: {node.value}"


def main() -> int:
    """Check every module."""
    broken = []
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        faults = [*dense(tree)]
        if "cli" not in file.parts and not file.name.startswith(("cli", "commands")):
            faults += undocumented(tree)
            # pytest's own options; those of pip
            faults += options(tree) if file.name not in ("testing.py", "local.py") else ()
        broken += [f"{file.relative_to(SOURCE.parents[1])}:{line}: {message}" for line, message in sorted(faults)]
    print(*broken, sep="\n", end="\n" if broken else "")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())

"""The files of the Berkeley Function Calling Leaderboard, an object a line.

Gold is one file with ``id``, ``question``, ``functions`` (or ``function``) and ``ground_truth``; or BFCL's own pair: a
file of questions, and the acceptable answers in the folder ``possible_answer`` beside it under the same name. Either
file of the pair may be named. Tasks of the categories ``irrelevance`` and ``relevance`` have no answers. Predictions
have ``calls``, ``[{name: {argument: value}}]``, or BFCL's ``result``: the same with arguments as JSON texts, or a text
such as ``[area(base=10, height=5)]``, which is read as BFCL's ``default_decode_ast_prompting`` reads it; nothing in it
is executed. Records of ours are read as they are.

Source: bfcl-eval 2026.3.23
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject
from goldassay.gold.formats import Format, Source, SourceRecord, first_line

BFCL_ANSWERS = "possible_answer"  # the folder of the acceptable answers
ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow},
}


def _rows(source: Source) -> Iterator[SourceRecord]:
    """One record a line."""
    file = Path(source.path)
    answers: JsonObject = {}
    if source.side == "gold":
        if file.parent.name == BFCL_ANSWERS and (file.parent.parent / file.name).is_file():
            file = file.parent.parent / file.name
        pair = file.parent / BFCL_ANSWERS / file.name
        if pair.is_file():
            answers = {str(line["id"]): line["ground_truth"] for _, line in files.json_lines(pair)}
    for number, line in files.json_lines(file):
        name = line.get("id") if isinstance(line, dict) else None
        with source.checking("unreadable", line=number, record=name):
            if not isinstance(line, dict):
                raise DataError(f"expected an object, got {type(line).__name__}")
            if source.side == "gold":
                yield SourceRecord(_gold(line, answers), number)
            elif {"calls", "trajectory", "messages"} & line.keys():
                names = ("id", "calls", "trajectory", "messages", "answer")
                yield SourceRecord({name: line[name] for name in names if name in line}, number)
            else:
                result = line.get("result", [])
                calls = written_calls(result) if isinstance(result, str) else result
                if not isinstance(calls, list):
                    raise DataError(f"expected a list of calls, got {type(calls).__name__}", field="result")
                yield SourceRecord({"id": line["id"], "calls": calls}, number)


def _gold(line: Fields, answers: JsonObject) -> JsonObject:
    if "calls" in line:
        return line
    name = str(line["id"])
    category = line.get("category") or name.rpartition("_")[0] or None
    truth = line.get("ground_truth", answers.get(name, [] if "relevance" in str(category) else None))
    if truth is None:
        message = f"no ground_truth, and no file of this name in {BFCL_ANSWERS}/ that has one"
        raise DataError(message, field="ground_truth")
    if "java" in str(category) or any(isinstance(call, list) for call in truth):
        raise DataError(f"calls in Python, of one turn, are checked, not those of {category}: leave it out", field="id")
    question = line.get("question", "")
    while isinstance(question, list) and question:
        question = question[-1]  # of several turns the last, of its messages the last
    text = question.get("content", "") if isinstance(question, dict) else question
    functions = line.get("functions", line.get("function", []))
    return {
        "id": name,
        **{key: line[key] for key in ("split", "document") if key in line},
        "question": str(text or ""),
        "calls": [{"name": tool, "args": args} for call in truth for tool, args in call.items()],
        "functions": functions if isinstance(functions, list) else [functions],
        "category": category,
    }


def written_calls(text: str) -> list[Fields]:
    """The calls that a text writes in Python, as BFCL's models do; one without a name if it cannot be read.

    >>> written_calls("[area(base=10), geo.find(name='Delft')]")
    [{'area': {'base': 10}}, {'geo.find': {'name': 'Delft'}}]
    >>> written_calls("I cannot help.")
    [{'': {'': 'I cannot help.'}}]
    """
    code = text.strip("`\n ")
    code = f"{'' if code.startswith('[') else '['}{code}{'' if code.endswith(']') else ']'}"
    try:
        tree = ast.parse(code.strip("'"), mode="eval").body
        return [_call(node) for node in tree.elts]  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
        return [{"": {"": text}}]


def _call(node: Any) -> JsonObject:
    return {ast.unparse(node.func): {str(item.arg): _literal(item.value) for item in node.keywords}}


def _literal(node: object) -> Any:
    """The value of a node as BFCL's ``resolve_ast_by_type`` has it, the names of variables as texts.

    Raises:
        ValueError: It is not one that the script reads, or arithmetic with anything but moderate numbers.
    """
    match node:
        case ast.Constant():
            return "..." if node.value is ... else node.value
        case ast.UnaryOp():
            return -node.operand.value  # type: ignore[attr-defined]
        case ast.List():
            return [*map(_literal, node.elts)]
        case ast.Tuple():
            return (*map(_literal, node.elts),)
        case ast.Dict():
            return {_literal(key): _literal(value) for key, value in zip(node.keys, node.values, strict=True)}
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            left = _literal(node.left)
            right = _literal(node.right)
            if max(abs(left), abs(right)) < 1e100 and (not isinstance(node.op, ast.Pow) or abs(right) < 64):
                return ARITHMETIC[type(node.op)](left, right)
        case ast.Call() if node.keywords:
            return _call(node)
        case ast.Name() | ast.Call() | ast.Subscript():
            return ast.unparse(node)
    raise ValueError("not a value")


def _is_bfcl(file: Path, task: str) -> bool:
    """Whether a file has BFCL's questions, which are lists of turns."""
    is_lines = task == "trajectories" and file.is_file() and file.suffix in (".json", ".jsonl")
    return is_lines and re.search(r'"question":\s*\[\s*\[', first_line(file)) is not None


bfcl = Format(("trajectories",), _rows, recognises=_is_bfcl)

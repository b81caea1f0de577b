"""``bfcl``: the files of the Berkeley Function Calling Leaderboard, an object a line.

Gold is one file with ``id``, ``question``, ``functions`` (or ``function``) and ``ground_truth``; or BFCL's own pair: a
file of questions, and the acceptable answers in the folder ``possible_answer`` beside it under the same name. Either
file of the pair may be named. Predictions have ``calls``, ``[{name: {argument: value}}]``, or BFCL's ``result``: the
same with arguments as JSON texts, or a text such as ``[area(base=10, height=5)]``, whose literal arguments are read and
of which nothing is executed. Records of ours are read as they are.

Source: bfcl-eval 2026.3.23
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields
from goldassay.gold.formats import Format, Source, SourceRecord

BFCL_ANSWERS = "possible_answer"  # the folder of the acceptable answers


def _rows(source: Source) -> Iterator[SourceRecord]:
    """One record a line."""
    file = Path(source.path)
    answers: dict[str, Any] = {}
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
            record = _gold(line, answers) if source.side == "gold" else _prediction(line)
            yield SourceRecord(record, number)


def _gold(line: Fields, answers: Mapping[str, Any]) -> Fields:
    if "calls" in line:
        return line
    name = str(line["id"])
    truth = line.get("ground_truth", answers.get(name))
    if truth is None:
        message = f"no ground_truth, and no file of this name in {BFCL_ANSWERS}/ that has one"
        raise DataError(message, field="ground_truth")
    calls = [{"name": tool, "args": args} for call in truth for tool, args in call.items()]
    question = line.get("question", "")
    while isinstance(question, list) and question:
        question = question[-1]  # of several turns the last, of its messages the last
    text = question.get("content", "") if isinstance(question, dict) else question
    functions = line.get("functions", line.get("function", []))
    category = line.get("category") or name.rpartition("_")[0] or None
    return {
        "id": name,
        **{key: line[key] for key in ("split", "document") if key in line},
        "question": str(text or ""),
        "calls": calls,
        "functions": functions if isinstance(functions, list) else [functions],
        "category": category,
    }


def _prediction(line: Fields) -> Fields:
    if "calls" in line or "trajectory" in line or "messages" in line:
        return {name: line[name] for name in ("id", "calls", "trajectory", "messages", "answer") if name in line}
    result = line.get("result", [])
    calls = written_calls(result) if isinstance(result, str) else result
    if not isinstance(calls, list):
        raise DataError(f"expected a list of calls, got {type(calls).__name__}", field="result")
    return {"id": line["id"], "calls": calls}


def written_calls(text: str) -> list[Fields]:
    """The calls that a text writes in Python, as BFCL's models do; none if it does not.

    >>> written_calls("[area(base=10), geo.find(name='Delft')]")
    [{'area': {'base': 10}}, {'geo.find': {'name': 'Delft'}}]
    >>> written_calls("I cannot help.")
    []
    """
    code = text.strip().strip("`\n ").removeprefix("python").strip()
    try:
        tree = ast.parse(code if code.startswith("[") else f"[{code}]", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    calls: list[Fields] = []
    for node in tree.elts if isinstance(tree, ast.List) else ():
        if not isinstance(node, ast.Call):
            return []
        calls.append({ast.unparse(node.func): {str(item.arg): _literal(item.value) for item in node.keywords}})
    return calls


def _literal(node: ast.expr) -> Any:
    """A literal value; anything else, such as a variable, as its text."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return ast.unparse(node)


bfcl = Format(("trajectories",), _rows)

"""One call of a small model: tasks of BFCL's ``simple_python``, and the program that docs/tutorials/agents.md reports.

    python -m benchmarks.calls tasks.jsonl
    goldassay tune benchmarks/calls.py --task trajectories --gold tasks.jsonl --format bfcl \
        --metric benchmarks/calls.py:metric --optimizer labeled --setting k=3 --lm local:FILE.gguf,max_tokens=96

The first line draws 200 tasks of ``../shared/data/bfcl``: 60 to train, 40 for dev, 100 for test.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy
from pydantic import BaseModel

from goldassay import Metric
from goldassay.ext.protocols.bfcl import AstMatch

DATA = Path(os.environ.get("GOLDASSAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
SPLITS = {"train": 60, "dev": 40, "test": 100}


class Call(BaseModel):
    """A call of a function."""

    name: str
    args: dict[str, Any]


class Choose(dspy.Signature):  # type: ignore[misc]
    """Call the function that answers the question, with the arguments that the question gives."""

    functions: str = dspy.InputField()
    question: str = dspy.InputField()
    tool_calls: list[Call] = dspy.OutputField()


def signatures(functions: Sequence[Mapping[str, Any]]) -> str:
    """Functions by their names and the types of their arguments, a line each; ? marks what may be left out.

    >>> parameters = {"properties": {"n": {"type": "integer"}, "unit": {"type": "string"}}, "required": ["n"]}
    >>> signatures([{"name": "area", "parameters": parameters}])
    'area(n: integer, unit?: string)'
    """
    lines = []
    for function in functions:
        required = set(function["parameters"].get("required", ()))
        arguments = [
            f"{name}{'' if name in required else '?'}: {about.get('type')}"
            for name, about in function["parameters"]["properties"].items()
        ]
        lines.append(f"{function['name']}({', '.join(arguments)})")
    return "\n".join(lines)


class Calls(dspy.Module):  # type: ignore[misc]
    """A list of calls for a question."""

    def __init__(self) -> None:
        super().__init__()
        self.choose = dspy.Predict(Choose)

    def forward(self, question: str, functions: Sequence[Mapping[str, Any]]) -> dspy.Prediction:
        """The calls that the model chooses."""
        calls = self.choose(functions=signatures(functions), question=question).tool_calls
        return dspy.Prediction(calls=[call.model_dump() for call in calls or []])

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A task as a demonstration: the first acceptable value of each argument that gold does not leave out."""
        calls = []
        for call in example.calls:
            arguments = {name: values[0] for name, values in call["args"].items() if values and values[0] != ""}
            calls.append(Call(name=call["name"], args=arguments))
        return {"tool_calls": calls}


program = Calls()
metric = Metric([AstMatch()])


def write_tasks(file: Path, seed: int = 2026) -> None:
    """Write tasks drawn at random, with their splits."""
    rows = [json.loads(line) for line in (DATA / "bfcl" / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["category"] == "simple_python"]
    random.Random(seed).shuffle(rows)
    splits = [name for name, size in SPLITS.items() for _ in range(size)]
    lines = [json.dumps({**row, "split": split}) + "\n" for row, split in zip(rows, splits, strict=False)]
    file.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write_tasks(Path(sys.argv[1]))

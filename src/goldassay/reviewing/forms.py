"""The form of records and of tasks of your own: what the task's program declares of its outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field, create_model

from goldassay import workspace
from goldassay.gold.shapes import Fields, Record
from goldassay.measure import TASKS


def program_of(task: str) -> workspace.Target | None:
    """The program of a task: the file that is named, or ``programs/TASK.py`` of your workspace; None if there is none.

    The programs that come with the package are about other records than yours.

    Args:
        task: The name of a task, or a file and the name of its program, as in ``mine.py:program``.

    Raises:
        GoldassayError: There is no such file.
    """
    if task.partition(":")[0].endswith(".py"):
        return workspace.target(task)
    file = workspace.root() / "programs" / f"{task}.py"
    own = workspace.root() != workspace.installed() and file.is_file()
    return workspace.Target(task, file, "program") if own else None


def declared(target: workspace.Target, answers: Iterable[Record]) -> Fields | None:
    """The JSON Schema of the outputs that a program declares in its signatures; None if it declares none of them.

    Args:
        target: The program.
        answers: The answers of the draft; a declaration that lacks one of their fields is that of other records.

    Raises:
        GoldassayError: The program cannot be loaded.
    """
    import dspy

    program = target.load()
    predictors: list[Any] = program.predictors() if isinstance(program, dspy.Module) else []
    outputs = {name: field for each in predictors for name, field in each.signature.output_fields.items()}
    fields: dict[str, Any] = {}
    for name, field in outputs.items():
        hint = str((field.json_schema_extra or {}).get("desc") or "")
        fields[name] = (field.annotation, Field(description=None if hint.startswith("${") else hint))
    schema: Fields = create_model("Outputs", **fields).model_json_schema()
    if target.task in TASKS:
        answers = [answer.get("record") or {} for answer in answers]
        schema |= schema.get("properties", {}).get("record", {"properties": {}})
        schema |= schema["$defs"][str(schema.pop("$ref")).rpartition("/")[2]] if "$ref" in schema else {}
    names = {name for answer in answers for name in answer}
    return schema if schema.get("properties") and names <= schema["properties"].keys() else None

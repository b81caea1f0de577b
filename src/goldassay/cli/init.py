"""``goldassay init``: a workspace for the tasks of goldassay, or for a task of the user's own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import TASKS
from goldassay.gold import anyfields
from goldassay.reporting import terminal
from goldassay.workspace import scaffold

WORKSPACE_PARTS = ("programs", "metrics", "gold/heritage", "gold/records")  # of a workspace


@dataclass(frozen=True)
class OwnTask:
    """A task of the user's own."""

    task: str | None = None
    inputs: Annotated[str | None, use.option("A,B", "With --task: the fields that the program gets.")] = None
    outputs: Annotated[str | None, use.option("C,D", "With --task: the fields that it predicts.")] = None
    source: Annotated[
        str | None, use.option("FILE", "With --task: gold as jsonl, json, csv, tsv, parquet or hf:NAME.", "--from")
    ] = None
    schema: Annotated[
        str | None, use.option("FILE:MODEL", "With --task: the pydantic model of the records to predict.")
    ] = None
    map: str | None = None


def init(
    own: OwnTask,
    folder: Annotated[Path | None, use.argument("DIR", "The folder of the workspace.")] = None,
    assistant: Annotated[
        bool, use.flag("Print how a coding assistant uses goldassay: commands, exit codes, what never to do.")
    ] = False,
    check: Annotated[
        bool, use.flag("Print which fields a program (TASK or FILE in place of DIR) reads, answers and is scored by.")
    ] = False,
    force: bool = False,
    json: bool = False,
) -> None:
    """Write a workspace (programs/, metrics/, gold/) for the tasks of goldassay, or for your own task.

    With --from, the fields and types come from the data. --task trajectories (or another built-in task) alone
    picks the one to begin with.
    """
    if assistant:
        print((workspace.installed() / "docs" / "assistants.md").read_text(encoding="utf-8"), end="")
        return
    if check and folder is not None:
        _check(workspace.target(str(folder)), json)
        return
    if folder is None:
        raise GoldassayError("name the folder of the workspace: goldassay init DIR")
    named = any(value for name, value in vars(own).items() if name != "task")
    if own.task is not None and (named or own.task not in TASKS):
        sides = [
            [name.strip() for name in (text or "").split(",") if name.strip()] for text in (own.inputs, own.outputs)
        ]
        renamed = anyfields.mapping(own.map)
        options: Fields = {"source": own.source, "renamed": renamed, "schema": own.schema, "force": force}
        for file in scaffold.write(folder, own.task, *sides, **options):
            print(file)
        checked = f"goldassay gold validate gold/{own.task}"
        print(f"Try:  {shell_line('cd', folder)} && {checked} && goldassay eval {own.task}:baseline")
        return
    if named:
        raise GoldassayError("--inputs, --outputs, --from, --schema and --map need --task NAME")
    existing = [part for part in WORKSPACE_PARTS if (folder / part).exists()]
    if existing and not force:
        raise GoldassayError(f"{folder} already has {', '.join(existing)}; choose a new folder, or add --force")
    for part in WORKSPACE_PARTS:
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "patches")
        shutil.copytree(workspace.installed() / part, folder / part, ignore=ignore, dirs_exist_ok=force)
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/, gold/records/.")
    print(f"Try:  {shell_line('cd', folder)} && goldassay eval {own.task or 'extraction'}:baseline")


def _check(target: workspace.Target, json: bool) -> None:
    """Print the fields of a program, and what is done with each.

    Raises:
        GoldassayError: Nothing says which fields it reads.
    """
    shape = target.shape
    outputs = [name for name in shape.outputs if name not in shape.intermediate]
    scored = shape.scored([name for name in shape.outputs if name in (*outputs, *shape.measured)] or shape.measured)
    contract: JsonObject = {
        "program": f"{target.file}:{target.name}",
        "inputs": None if shape.inputs is None else list(shape.inputs),
        "optional": list(shape.optional),
        "outputs": outputs,
        "intermediate": list(shape.intermediate),
        "scored": scored,
        "notes": list(shape.notes),
        "text": sorted(shape.asked),
        "choices": {name: list(values) for name, values in shape.choices.items()},
    }
    if json:
        terminal.answer(contract)
    else:
        optional = shape.optional
        inputs = [f"{name} (optional)" if name in optional else name for name in shape.inputs or ["not known"]]
        terminal.echo(f"{target.file}:{target.name}")
        for name, fields in {
            "inputs": inputs,
            "outputs": outputs or ["not declared"],
            "intermediate": [f"{name} (counts if the program returns it)" for name in shape.intermediate],
            "scored": scored or ["every field of the answer but working notes"],
            "notes": shape.notes or ["none"],
            "text": sorted(shape.asked) or ["every field that is a text"],
            "choices": [f"{name} is {' | '.join(map(str, values))}" for name, values in shape.choices.items()],
        }.items():
            if fields or name == "choices":
                terminal.echo(f"  {name:12} {', '.join(fields) or 'none declared'}")
    shape.inputs_among(shape.asked, str(target.file))

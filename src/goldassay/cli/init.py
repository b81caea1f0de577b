"""``goldassay init``: write a workspace, or a task of your own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError

PARTS = ("programs", "metrics", "gold/heritage", "gold/records")


@dataclass(frozen=True)
class OwnTask:
    """A task of the user's own."""

    task: str | None = use.option("NAME", "The name of a task of your own.")
    inputs: str | None = use.option("A,B", "With --task: the fields that the program gets.")
    outputs: str | None = use.option("C,D", "With --task: the fields that it predicts.")
    source: str | None = use.option("FILE", "With --task: gold as jsonl, json, csv, tsv, parquet or hf:NAME.", "--from")
    schema: str | None = use.option("FILE:MODEL", "With --task: the pydantic model of the records to predict.")
    map: str | None = use.option("NAME=PATH,…", "Fields under other names: text=body.content.")


def init(
    folder: Annotated[Path, use.argument("DIR", "The folder of the workspace.")],
    own: OwnTask,
    force: bool = False,
) -> None:
    """Write a workspace (programs/, metrics/, gold/) for the tasks of goldassay, or for a task of your own.

    With --from, the fields and types come from the data.
    """
    from goldassay import scaffold, workspace
    from goldassay.gold import anyfields

    if own.task is not None:
        sides = [
            [name.strip() for name in (text or "").split(",") if name.strip()] for text in (own.inputs, own.outputs)
        ]
        renamed = anyfields.mapping(own.map)
        options: dict[str, Any] = {"source": own.source, "renamed": renamed, "schema": own.schema, "force": force}
        for file in scaffold.write(folder, own.task, *sides, **options):
            print(file)
        print(f"Try:  cd {folder} && goldassay gold validate gold/{own.task} && goldassay eval {own.task}:baseline")
        return
    if own.inputs or own.outputs or own.source or own.map or own.schema:
        raise GoldassayError("--inputs, --outputs, --from, --schema and --map need --task NAME")
    existing = [part for part in PARTS if (folder / part).exists()]
    if existing and not force:
        raise GoldassayError(f"{folder} already has {', '.join(existing)}; choose a new folder, or add --force")
    for part in PARTS:
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "patches")
        shutil.copytree(workspace.installed() / part, folder / part, ignore=ignore, dirs_exist_ok=force)
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/, gold/records/.")
    print(f"Try:  cd {folder} && goldassay eval extraction:baseline")

"""``goldassay demo`` and ``goldassay init``: the whole loop offline, and a new workspace."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError


def demo(
    lm: use.Lm = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=2, help="Only N examples of each split, for a quick look.")
    ] = None,
) -> None:
    """The whole loop, offline, in minutes: measure, tune, measure again."""
    from goldassay.proof.demo import run

    run(lm=lm, limit=limit)


PARTS = ("programs", "metrics", "gold/heritage")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the workspace.")],
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="A task of your own, by its name.")] = None,
    inputs: Annotated[
        str | None, typer.Option("--inputs", metavar="A,B", help="With --task: the fields that the program is given.")
    ] = None,
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="C,D", help="With --task: the fields that it answers with.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="With --task: jsonl, json, csv, tsv, parquet or hf:NAME as gold."),
    ] = None,
    map: use.Map = None,
    force: use.Force = False,
) -> None:
    """Write a workspace of your own: programs/, metrics/ and gold/, for the six tasks or for a task of your own.

    With --from, fields and types are taken from the data.
    """
    from goldassay import scaffold, workspace
    from goldassay.gold import anyfields

    if task is not None:
        sides = [[name.strip() for name in (said or "").split(",") if name.strip()] for said in (inputs, outputs)]
        made = scaffold.write(folder, task, *sides, source=source, renamed=anyfields.mapping(map), force=force)
        for file in made:
            print(file)
        print(f"Try:  cd {folder} && goldassay gold validate gold/{task} && goldassay eval {task}:baseline")
        return
    if inputs or outputs or source or map:
        raise GoldassayError("--inputs, --outputs, --from and --map go with --task NAME: a task of your own")
    installed = workspace.installed()
    taken = [part for part in PARTS if (folder / part).exists()]
    if taken and not force:
        raise GoldassayError(
            f"{folder} already has {', '.join(taken)}; name a new folder, or say --force to write over"
        )
    for part in PARTS:
        left = shutil.ignore_patterns("__pycache__", "*.pyc", "patches")
        shutil.copytree(installed / part, folder / part, ignore=left, dirs_exist_ok=force)
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/.")
    print(f"Try:  cd {folder} && goldassay eval extraction:baseline")

"""``goldassay init``: a workspace of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from goldassay.exceptions import GoldassayError

PARTS = ("programs", "metrics", "gold/heritage")


def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")]) -> None:
    """Write a workspace of your own: programs/, metrics/ and gold/."""
    from goldassay import workspace

    source = workspace.installed()
    taken = [part for part in PARTS if (folder / part).exists()]
    if taken:
        raise GoldassayError(f"{folder} already has {', '.join(taken)}; name a new or empty folder")
    for part in PARTS:
        shutil.copytree(source / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "patches"))
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/.")
    print(f"Try:  cd {folder} && goldassay eval extraction:baseline")

"""``goldassay init``: a workspace of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path

from goldassay import workspace
from goldassay.exceptions import GoldassayError

PARTS = ("programs", "metrics", "gold/heritage")


def run(folder: Path) -> None:
    """Copy the workspace that comes with goldassay into ``folder``; nothing that exists is overwritten."""
    source = workspace.installed()
    taken = [part for part in PARTS if (folder / part).exists()]
    if taken:
        raise GoldassayError(f"{folder} already has {', '.join(taken)}; name a new or empty folder")
    for part in PARTS:
        shutil.copytree(source / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "patches"))
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/.")
    print(f"Try:  cd {folder} && goldassay eval extraction:baseline")

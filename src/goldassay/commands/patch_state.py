"""``goldassay patch apply`` and ``revert``: the program's state with patches, exact inverses of each other.

``applied.json`` beside the patches lists those that are applied, in their order; the state is the program with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goldassay import workspace
from goldassay.commands.patch import current, find, fitting, place
from goldassay.exceptions import DataError, GoldassayError

APPLIED = "applied.json"


def apply(program: str, names: list[str], *, any_version: bool = False) -> None:
    """Apply patches to the program's state, in the order given; all of them, or none if one does not fit."""
    from goldassay.reporting import terminal
    from goldassay.tuning.patches import read, write

    target = workspace.target(program)
    made, known = current(target), applied(place(target))
    done: list[tuple[Path, Any]] = []
    for name in names:
        file = find(target, name)
        patch = read(file)
        if patch.id in [*known, *(one.id for _, one in done)]:
            raise GoldassayError(f"{patch.id} is applied already")
        if patch.status == "rejected":
            terminal.line(f"[yellow]note:[/] {patch.id} was rejected: {patch.reason}")
        made = fitting(target, made, patch, any_version or bool(done))
        done.append((file, patch))
    for file, patch in done:
        patch.status = "applied"
        write(patch, file.parent)
        if file.resolve().parent != place(target).resolve():
            write(patch, place(target))
    _keep(target, made, [*known, *(patch.id for _, patch in done)])
    for _, patch in done:
        terminal.line(f"Applied {patch.id}.")
    terminal.line(f"Try it:  goldassay eval {program} --state {place(target)}")


def revert(program: str, name: str) -> None:
    """Take a patch back: the state is the program with the other applied patches, in their order."""
    from goldassay.reporting import terminal
    from goldassay.tuning.edits import apply as edited
    from goldassay.tuning.patches import read, write

    target = workspace.target(program)
    file = find(target, name)
    patch = read(file)
    known = applied(place(target))
    if patch.id not in known:
        raise GoldassayError(f"{patch.id} is not applied (it is {patch.status})")
    made = target.load()
    left = [one for one in known if one != patch.id]
    for one in left:
        made = edited(made, read(find(target, one)), any_version=True)
    patch.status = "reverted"
    write(patch, file.parent)
    _keep(target, made, left)
    terminal.line(f"Took back {patch.id}.")


def applied(folder: Path) -> list[str]:
    """The ids of the applied patches, in their order."""
    file = folder / APPLIED
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", file=file, line=error.lineno) from None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise DataError("the applied patches are a list of ids", file=file)
    return found


def _keep(target: workspace.Target, made: Any, ids: list[str]) -> None:
    made.save(str(place(target) / "state.json"))
    (place(target) / APPLIED).write_text(f"{json.dumps(ids, indent=1)}\n", encoding="utf-8")

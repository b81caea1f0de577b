"""``goldassay patch apply`` and ``revert``: the program's state with patches, exact inverses of each other.

``applied.json`` beside the patches lists those that are applied, in their order; the state is the program with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.markup import escape

from goldassay import jsonl, workspace
from goldassay.cli.patch_commands import current, find, fitting, place
from goldassay.exceptions import DataError, GoldassayError

APPLIED = "applied.json"


def apply(program: str, names: list[str], *, any_version: bool = False) -> None:
    """Apply patches to the program's state, in the order given; all of them, or none if one does not fit."""
    from goldassay.reporting import terminal
    from goldassay.tuning.patch_files import read, rewrite, write

    target = workspace.target(program)
    made, known = current(target), applied(place(target))
    done: list[tuple[Path, Any]] = []
    for name in names:
        file = find(target, name)
        patch = read(file)
        if patch.id in [*known, *(one.id for _, one in done)]:
            raise GoldassayError(f"{patch.id} is applied already")
        if patch.status == "rejected":
            terminal.line(f"[yellow]note:[/] {patch.id} was rejected: {escape(patch.reason)}")
        made = fitting(target, made, patch, any_version or bool(done))
        done.append((file, patch))
    for file, patch in done:
        patch.status = "applied"
        rewrite(patch, file)
        if file.resolve().parent != place(target).resolve():
            write(patch, place(target))
    _keep(target, made, [*known, *(patch.id for _, patch in done)])
    for _, patch in done:
        terminal.line(f"Applied {patch.id}.")
    terminal.line(f"Try it:  goldassay eval {program} --state {place(target)}")


def revert(program: str, names: list[str]) -> None:
    """Take patches back: the state is the program with the other applied patches, in their order.

    What was applied can be taken back also where its file was edited or removed since.
    """
    from goldassay.reporting import terminal
    from goldassay.tuning.patch_files import rewrite

    target = workspace.target(program)
    known = applied(place(target))
    gone = dict(_asked_back(target, name, known) for name in names)
    left = [one for one in known if one not in gone]
    for one in gone:
        _refuse_moved(target, one, [later for later in known[known.index(one) :] if later in left])
    made = built(target, left)
    for one, (file, patch) in gone.items():
        if patch is not None and patch.id == one:
            patch.status = "reverted"
            rewrite(patch, file)
    _keep(target, made, left)
    for one in gone:
        terminal.line(f"Took back {one}.")


def _asked_back(target: workspace.Target, name: str, known: list[str]) -> tuple[str, tuple[Any, Any]]:
    """The id that is meant, and its file with the patch, where there is one."""
    from goldassay.tuning.patch_files import read

    try:
        file = find(target, name)
    except GoldassayError:
        if name not in known:
            raise
        return name, (None, None)
    patch = read(file)
    one = name if name in known else patch.id
    if one not in known:
        raise GoldassayError(f"{one} is not applied (it is {patch.status})")
    return one, (file, patch)


def built(target: workspace.Target, ids: list[str]) -> Any:
    """The program with these patches, in this order; their files must hold the edits that were applied."""
    from goldassay.tuning.edits import apply as edited

    made = target.load()
    for one in ids:
        patch = _as_applied(target, one)
        try:
            made = edited(made, patch, any_version=True)
        except GoldassayError as error:
            raise GoldassayError(f"{error}: it builds on what is taken back; take {one} back first") from None
    return made


def _as_applied(target: workspace.Target, one: str) -> Any:
    """An applied patch from its file, which must hold the edit that was applied."""
    from goldassay.tuning.patch_files import read

    try:
        patch = read(find(target, one))
    except DataError:
        raise
    except GoldassayError:
        patch = None
    if patch is None or patch.id != one:
        what = "is gone" if patch is None else "was edited since"
        raise GoldassayError(f"the file of {one}, which is applied, {what}; put it back, or take {one} back first")
    return patch


def _refuse_moved(target: workspace.Target, one: str, later: list[str]) -> None:
    """Examples are named by their place: one that goes moves those behind it, and a later patch would mean another."""
    if not one.startswith(("add_example", "remove_example")):
        return
    for other in reversed(later):
        if _as_applied(target, other).index is not None:
            raise GoldassayError(
                f"{other} names an example by its place, and was applied after {one}: take {other} back first"
            )


def applied(folder: Path) -> list[str]:
    """The ids of the applied patches, in their order."""
    file = folder / APPLIED
    found = jsonl.value(file.read_bytes(), file=file) if file.is_file() else []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise DataError("the applied patches are a list of ids", file=file)
    return found


def _keep(target: workspace.Target, made: Any, ids: list[str]) -> None:
    made.save(str(place(target) / "state.json"))
    jsonl.replace(place(target) / APPLIED, f"{json.dumps(ids, indent=1)}\n")

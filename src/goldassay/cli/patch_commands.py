"""``goldassay patch``: edits of a program's prompts, made from its errors, tested, applied and taken back.

Patches of a task live in ``programs/patches/TASK/``; the program with the applied ones in
``programs/patches/TASK/state.json``, which ``goldassay eval TASK --state programs/patches/TASK`` loads.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from pathlib import Path
from typing import Any

from goldassay import workspace
from goldassay.exceptions import DataError, GoldassayError
from goldassay.lm import for_program


def place(target: workspace.Target) -> Path:
    """Where the patches of a program live."""
    return workspace.root() / "programs" / "patches" / target.label.replace(":", "-")


def current(target: workspace.Target) -> Any:
    """The program with its applied patches."""
    from goldassay.tuning import load_state

    state = place(target) / "state.json"
    return load_state(target.load(), state) if state.is_file() else target.load()


def fitting(target: workspace.Target, made: Any, patch: Any, any_version: bool) -> Any:
    """The program with a patch that was made for it, as it is in its file or with the patches applied so far."""
    from goldassay.tuning.edits import apply

    known = versions(target, made)
    if patch.program and patch.program not in known and not any_version:
        raise GoldassayError(
            f"patch {patch.id} was made for version {patch.program} of the program; this is {known[0]}, with the "
            f"applied patches {known[1]}: propose it again, or say --any-version"
        )
    return apply(made, patch, any_version=True)


def versions(target: workspace.Target, made: Any) -> list[str]:
    """The versions that a patch may have been made for: the program of the file, and with its applied patches."""
    from goldassay.running.identity import fingerprint

    return [fingerprint(target.load()), fingerprint(made)]


def find(target: workspace.Target, name: str) -> Path:
    """The file of a patch: a path, or an id or a file's name in the program's folder."""
    from goldassay.tuning.patch_files import read

    for file in (Path(name), place(target) / f"{name}.yaml", place(target) / name):
        if file.is_file():
            return file
    for file in sorted(place(target).glob("*.yaml")):
        with suppress(DataError):  # another file's faults are not this patch's
            if read(file).id == name:
                return file
    known = ", ".join(sorted(file.stem for file in place(target).glob("*.yaml"))) or "none yet"
    raise GoldassayError(f"no patch {name!r} in {place(target)}; there are: {known}")


def propose(program: str, run_folder: Path, *, gold: str, lm: str | None, most: int) -> None:
    """Propose patches for the patterns of a run on train, and write them as files.

    One that is there already, for this version of the program or applied to it, is left with what it measured.
    """
    from goldassay.cli.evaluate import examples
    from goldassay.reporting import terminal
    from goldassay.running import Run
    from goldassay.tuning.nearest import demonstrations
    from goldassay.tuning.patch_files import read_all, write
    from goldassay.tuning.patterns import find as patterns
    from goldassay.tuning.proposers import Examples, Proposer, Reflection, Rules

    target = workspace.target(program)
    made = current(target)
    train = demonstrations(made, examples(gold, target.task, "train").asked)
    known = {str(example.get("id")) for example in train}
    cases = Run.load(run_folder).cases
    outside = [case.id for case in cases if case.id not in known]
    if outside:
        raise GoldassayError(
            f"{run_folder} holds {len(outside)} examples that are not in train (such as {outside[0]}); patches are "
            f"made from train errors: goldassay eval {program} --split train"
        )
    proposers: list[Proposer] = [Rules(), Examples()]
    if lm:
        proposers.append(Reflection(for_program(made, lm).lm))
    there = {patch.id: patch for _, patch in read_all(place(target))}
    found = {
        patch.id: patch
        for pattern in patterns(cases)
        for proposer in proposers
        for patch in proposer.propose(pattern, made, train)
    }
    kept = {one for one, patch in there.items() if patch.status == "applied" or patch.program in versions(target, made)}
    new = [patch for one, patch in found.items() if one not in kept]
    for number, patch in enumerate(new[:most], start=1):
        patch.priority = number
        write(patch, place(target))
    if not found:
        terminal.line("No errors in this run that a patch could be made from.")
        return
    show_all(program)


def show_all(program: str) -> None:
    """The program's patches as a table."""
    from goldassay.reporting import tuning as tables
    from goldassay.tuning.patch_files import read_all

    tables.patches(read_all(place(workspace.target(program))))


def show(program: str, name: str) -> None:
    """A patch: why, what it measured, and the change of the prompt as a diff."""
    from goldassay.reporting import tuning as tables
    from goldassay.tuning.edits import apply as edited
    from goldassay.tuning.patch_files import read
    from goldassay.tuning.saved import rendered

    target = workspace.target(program)
    patch = read(find(target, name))
    made = target.load()
    try:
        before, after = rendered(made).splitlines(), rendered(edited(made, patch, any_version=True)).splitlines()
    except GoldassayError as error:  # it is shown all the same, and why it has no diff
        before, after = [], [str(error)]
    tables.patch(patch, list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2)))


def patterns(run_folder: Path, *, most: int, embedder: str | None = None) -> None:
    """The error patterns of a run, most costly first."""
    from goldassay.embedding import resolve
    from goldassay.reporting import tuning as tables
    from goldassay.running import Run
    from goldassay.tuning.patterns import find as found

    like = resolve(embedder) if embedder else None
    tables.patterns(found(Run.load(run_folder).cases, embedder=like)[:most])

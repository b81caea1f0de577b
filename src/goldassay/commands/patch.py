"""``goldassay patch``: edits of a program's prompts, made from its errors, tested, applied and taken back.

Patches of a task live in ``programs/patches/TASK/``; the program with the applied ones in
``programs/patches/TASK/state.json``, which ``goldassay eval TASK --state programs/patches/TASK`` loads.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from goldassay import workspace
from goldassay.commands.evaluate import language_model
from goldassay.exceptions import GoldassayError


def place(target: workspace.Target) -> Path:
    """Where the patches of a program live."""
    return workspace.root() / "programs" / "patches" / target.label.replace(":", "-")


def current(target: workspace.Target) -> Any:
    """The program with its applied patches."""
    from goldassay.tuning import load_state

    state = place(target) / "state.json"
    return load_state(target.load(), state) if state.is_file() else target.load()


def find(target: workspace.Target, name: str) -> Path:
    """The file of a patch: a path, or an id of the program's folder."""
    for file in (Path(name), place(target) / f"{name}.yaml", place(target) / name):
        if file.is_file():
            return file
    known = ", ".join(sorted(file.stem for file in place(target).glob("*.yaml"))) or "none yet"
    raise GoldassayError(f"no patch {name!r} in {place(target)}; there are: {known}")


def propose(program: str, run_folder: Path, *, gold: str, lm: str | None, most: int) -> None:
    """Propose patches for the patterns of a run on train, and write them as files."""
    from goldassay.commands.evaluate import examples
    from goldassay.reporting import terminal
    from goldassay.running import Run
    from goldassay.tuning.nearest import demonstrations
    from goldassay.tuning.patches import write
    from goldassay.tuning.patterns import find as patterns
    from goldassay.tuning.proposers import Examples, Proposer, Reflection
    from goldassay.tuning.rules import Rules

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
        proposers.append(Reflection(language_model(made, lm).lm))
    found = [
        patch
        for pattern in patterns(cases)
        for proposer in proposers
        for patch in proposer.propose(pattern, made, train)
    ]
    for number, patch in enumerate(found[:most], start=1):
        patch.priority = number
        write(patch, place(target))
    if not found:
        terminal.line("No errors in this run that a patch could be made from.")
        return
    show_all(program)


def test(program: str, names: list[str], *, gold: str, split: str, lm: str | None, threads: int) -> None:
    """Measure patches on a split against the program as it is; the effect is written into each file."""
    from goldassay.commands.evaluate import examples
    from goldassay.reporting import tuning as tables
    from goldassay.running import evaluate
    from goldassay.statistics import compare, holm
    from goldassay.tuning.edits import apply as edited
    from goldassay.tuning.patches import Effect, read, write

    target = workspace.target(program)
    made, metric = current(target), workspace.metric(target.task)
    data = examples(gold, target.task, split).asked
    model = language_model(made, lm)
    files = [find(target, name) for name in names] or sorted(place(target).glob("*.yaml"))
    options = {"lm": model.lm, "adapter": model.adapter, "threads": threads, "folder": None}
    before = evaluate(made, data, metric, name="as it is", **options)
    patches = [read(file) for file in files]
    for patch in patches:
        after = evaluate(edited(made, patch), data, metric, name=patch.id, **options)
        found = compare(after.evidence, before.evidence, metric.zero)
        effect = Effect(
            split=split,
            before=before.value,
            after=after.value,
            difference=found.difference,
            low=found.interval.low,
            high=found.interval.high,
            p=found.p,
            n=found.n,
            calls=int(after.cost.get("calls", 0)),
            tokens=int(after.cost.get("prompt_tokens", 0) + after.cost.get("completion_tokens", 0)),
            seconds=float(after.cost.get("seconds", 0.0)),
        )
        patch.effects = [*(e for e in patch.effects if e.split != split), effect]
    corrected = holm([patch.effects[-1].p for patch in patches])
    for file, patch, p in zip(files, patches, corrected, strict=True):
        better = patch.effects[-1].difference > 0 and p <= 0.05
        patch.status, patch.reason = ("accepted" if better else "rejected"), f"corrected p {p:.4f} on {split}"
        write(patch, file.parent)
    tables.patches([(file, read(file)) for file in files])


def apply(program: str, names: list[str]) -> None:
    """Apply patches to the program's state, in the order given."""
    from goldassay.reporting import terminal
    from goldassay.tuning.edits import apply as edited
    from goldassay.tuning.patches import read, write

    target = workspace.target(program)
    made = current(target)
    for name in names:
        file = find(target, name)
        patch = read(file)
        if patch.status == "applied":
            raise GoldassayError(f"{patch.id} is applied already")
        if patch.status == "rejected":
            terminal.line(f"[yellow]note:[/] {patch.id} was rejected: {patch.reason}")
        made = edited(made, patch, any_version=True)
        patch.status = "applied"
        write(patch, file.parent)
        made.save(str(place(target) / "state.json"))
        terminal.line(f"Applied {patch.id}.")
    terminal.line(f"Try it:  goldassay eval {program} --state {place(target)}")


def revert(program: str, name: str) -> None:
    """Take a patch back: the state is the program with the other applied patches."""
    from goldassay.reporting import terminal
    from goldassay.tuning.edits import apply as edited
    from goldassay.tuning.patches import read, read_all, write

    target = workspace.target(program)
    file = find(target, name)
    patch = read(file)
    if patch.status != "applied":
        raise GoldassayError(f"{patch.id} is not applied (it is {patch.status})")
    patch.status = "reverted"
    made = target.load()
    for _, other in read_all(place(target)):
        if other.status == "applied" and other.id != patch.id:
            made = edited(made, other, any_version=True)
    write(patch, file.parent)
    made.save(str(place(target) / "state.json"))
    terminal.line(f"Took back {patch.id}.")


def show_all(program: str) -> None:
    """The program's patches as a table."""
    from goldassay.reporting import tuning as tables
    from goldassay.tuning.patches import read_all

    tables.patches(read_all(place(workspace.target(program))))


def show(program: str, name: str) -> None:
    """A patch: why, what it measured, and the change of the prompt as a diff."""
    from goldassay.reporting import tuning as tables
    from goldassay.tuning.edits import apply as edited
    from goldassay.tuning.patches import read
    from goldassay.tuning.prompts import rendered

    target = workspace.target(program)
    patch = read(find(target, name))
    made = target.load()
    before, after = rendered(made).splitlines(), rendered(edited(made, patch, any_version=True)).splitlines()
    tables.patch(patch, list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2)))


def patterns(run_folder: Path, *, most: int) -> None:
    """The error patterns of a run, most costly first."""
    from goldassay.reporting import tuning as tables
    from goldassay.running import Run
    from goldassay.tuning.patterns import find as found

    tables.patterns(found(Run.load(run_folder).cases)[:most])

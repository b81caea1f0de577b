"""``goldassay patch …``: edits of a program's prompts, made from its errors, tested, applied and taken back.

Patches of a task live in ``programs/patches/TASK/``; the program with the applied ones in
``programs/patches/TASK/state.json``, which ``goldassay eval TASK --state programs/patches/TASK`` loads. What they do is
`goldassay.tuning.service`; here they are parsed, called and printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.help import commands

if TYPE_CHECKING:
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.service import PatchFolder

app = commands("Edits of a program's prompts, made from its errors: propose, test, apply, revert.")

AnyVersion = Annotated[bool, use.of_result("--force", help="Also patches made for another program version.")]


def place(target: workspace.Target) -> Path:
    """Where the patches of a program live."""
    return workspace.root() / "programs" / "patches" / target.label.replace(":", "-")


def _folder(target: workspace.Target) -> PatchFolder:
    from goldassay.tuning.service import PatchFolder

    return PatchFolder(place(target), target.tunable())


@app.command()
def patterns(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    limit: Annotated[int, use.of_result("--limit", metavar="N", min=1, help="How many to show.")] = 20,
    json: use.Json = False,
) -> None:
    """Show the error patterns of a run, most costly first."""
    from goldassay.reporting import terminal
    from goldassay.reporting import tuning as tables
    from goldassay.running import Run
    from goldassay.tuning.patterns import find

    found = find(Run.load(run).cases)[:limit]
    if json:
        terminal.answer({"patterns": [pattern.state() for pattern in found]})
    else:
        tables.patterns(found)


@app.command()
def propose(
    program: use.Program,
    run: Annotated[Path, typer.Option(metavar="RUN", help="A run of this program on the train split.")],
    gold: use.Gold = None,
    reflection_lm: use.ReflectionLm = None,
    limit: Annotated[int, use.of_result("--limit", metavar="N", min=1, help="How many patches to write.")] = 12,
    task: use.OfTask = None,
    json: use.Json = False,
) -> None:
    """Propose patches for the patterns of a run, and write them as files."""
    from goldassay.cli.evaluate import examples
    from goldassay.lm import for_program
    from goldassay.reporting import terminal
    from goldassay.running import Run
    from goldassay.tuning.proposing import Examples, Proposer, Reflection
    from goldassay.tuning.rules import Rules

    target = workspace.target(program, task)
    patches = _folder(target)
    proposers: list[Proposer] = [Rules(), Examples()]
    if reflection_lm:
        proposers.append(Reflection(for_program(patches.current, reflection_lm).lm))
    train = examples(gold, target, "train").examples
    if not patches.propose(Run.load(run), train, proposers=proposers, most=limit) and not json:
        terminal.line("No errors in this run that a patch could be made from.")
        return
    _show(patches.all(), json)


@app.command()
def test(
    program: use.Program,
    patches: Annotated[
        list[str] | None, typer.Argument(metavar="PATCH...", help="Ids or files (default: all).")
    ] = None,
    gold: use.Gold = None,
    split: use.Split = "dev",
    lm: use.Lm = None,
    threads: use.Threads = 1,
    any_version: AnyVersion = False,
    task: use.OfTask = None,
    metric: use.Metric = None,
    json: use.Json = False,
) -> None:
    """Measure patches against the program as it is, paired and corrected for their number.

    Dev chooses; test is for the final proof.
    """
    from goldassay.cli.evaluate import examples
    from goldassay.exceptions import GoldassayError
    from goldassay.lm import for_program
    from goldassay.reporting import terminal
    from goldassay.tuning.service import SPLITS

    if split not in SPLITS:
        raise GoldassayError(f"patches are measured on dev, and on test for the final proof, not on {split}")
    target = workspace.target(program, task)
    folder = _folder(target)
    data = examples(gold, target, split)
    model = for_program(folder.current, lm)
    options: dict[str, object] = {"lm": model.lm, "adapter": model.adapter, "threads": threads}
    measured = workspace.metric(target.task, metric)
    tested = folder.test(
        patches or [], data.examples, measured, split, any_version=any_version, passages=data.passages, **options
    )
    _show(tested, json)
    for _, patch in tested:
        if not any(one.split == split for one in patch.effects):
            terminal.warn(f"{patch.id} is {patch.reason}")


@app.command()
def apply(
    program: use.Program,
    patches: Annotated[list[str], typer.Argument(metavar="PATCH...", help="Ids or files.")],
    any_version: AnyVersion = False,
) -> None:
    """Apply patches; `eval --state programs/patches/TASK` uses them."""
    from goldassay.reporting import terminal

    target = workspace.target(program)
    done = _folder(target).apply(patches, any_version=any_version)
    for patch in done:
        if patch.status == "rejected":
            terminal.line(f"[yellow]note:[/] {patch.id} was rejected: {escape(patch.reason)}")
    for patch in done:
        terminal.line(f"Applied {patch.id}.")
    terminal.line(f"Try it:  goldassay eval {program} --state {place(target)}")


@app.command()
def revert(
    program: use.Program,
    patches: Annotated[list[str], typer.Argument(metavar="PATCH...", help="Ids or files.")],
) -> None:
    """Take applied patches back."""
    from goldassay.reporting import terminal

    for one in _folder(workspace.target(program)).revert(patches):
        terminal.line(f"Took back {one}.")


@app.command("list")
def list_(
    program: use.Program,
    json: use.Json = False,
) -> None:
    """List a program's patches with their measured effects and verdicts."""
    _show(_folder(workspace.target(program)).all(), json)


def _show(found: Sequence[tuple[Path, Patch]], json: bool) -> None:
    """Patches as a table, or as JSON."""
    from goldassay.reporting import terminal
    from goldassay.reporting import tuning as tables

    if json:
        rows = [{"id": one.id, "file": str(file), **one.model_dump(mode="json")} for file, one in found]
        terminal.answer({"patches": rows})
    else:
        tables.patches([one for _, one in found])


@app.command()
def show(
    program: use.Program,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="Id or file.")],
    lm: use.Lm = None,
) -> None:
    """Show a patch: why, what it measured, and the prompt's diff."""
    from goldassay.lm import for_program
    from goldassay.reporting import tuning as tables

    folder = _folder(workspace.target(program))
    tables.patch(*folder.show(name, for_program(folder.program, lm).adapter))

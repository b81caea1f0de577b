"""``goldassay patch …``: edits of a program's prompts, made from its errors, tested, applied and reverted.

The patches of a task are in ``programs/patches/TASK/``. The program with the applied ones is in ``state.json`` there,
which ``goldassay eval TASK --state programs/patches/TASK`` loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal
from goldassay.reporting import tuning as tables

if TYPE_CHECKING:
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.service import PatchFolder

app = use.commands("Edits of a program's prompts, made from its errors: propose, test, apply, revert.")
Patches = Annotated[list[str], use.argument("PATCH...", "Ids or files.")]


def _folder(program: str, task: str | None = None) -> tuple[workspace.Target, PatchFolder]:
    """A program, and the folder of its patches."""
    from goldassay.tuning.service import PatchFolder

    target = workspace.target(program, task)
    place = workspace.root() / "programs" / "patches" / target.label.replace(":", "-")
    return target, PatchFolder(place, target.tunable())


@use.command(app)
def patterns(run: use.Run, json: bool = False) -> None:
    """Show the error patterns of a run, most costly first."""
    from goldassay.running import Run
    from goldassay.tuning.patterns import find

    errors = find(Run.load(run).cases)
    patterns = {"patterns": [pattern.state() for pattern in errors]}
    terminal.output(patterns, json, lambda _: tables.patterns(errors, 20))


@use.command(app)
def propose(
    program: use.Name,
    run: Annotated[Path, use.for_gold("RUN", "A run of this program on the train split.")],
    task: use.OfTask = None,
    reflection_lm: use.ReflectionLm = None,
    limit: int = use.for_result("N", "Propose at most N.", min=1, default=12),
    json: bool = False,
) -> None:
    """Propose patches for the error patterns of a run, and write them as files."""
    from goldassay.lm import for_program
    from goldassay.running import Run
    from goldassay.systems import examples
    from goldassay.tuning.edits import Edit
    from goldassay.tuning.instructions import reflection
    from goldassay.tuning.service import EDITS

    target, patches = _folder(program, task)
    evaluated = Run.load(run)
    edits: list[Edit] = list(EDITS)
    if reflection_lm:
        lm: Any = for_program(patches.current, reflection_lm).lm
        edits.append(partial(reflection, lm=lm))
    gold = (evaluated.about.get("settings") or {}).get("gold")  # of the split train
    train = examples(gold, target, "train").examples
    if not patches.propose(evaluated, train, edits=edits, most=limit) and not json:
        terminal.line("This run has no errors that a patch could be made from.")
        return
    _show(patches.all(), json)


@dataclass(frozen=True)
class TestOptions(use.SetOptions):
    """Options of testing patches."""

    __test__ = False  # not a test of pytest's
    split: use.Split = "dev"
    metric: use.Metric = None
    lm: use.Lm = None
    threads: use.Threads = 1


@use.command(app)
def test(
    program: use.Name,
    source: TestOptions,
    patches: list[str] | None = use.argument("PATCH...", "Ids or files (default: all)."),
    force: bool = False,
    json: bool = False,
) -> None:
    """Test patches against the current program: paired, corrected for their number.

    Choose on dev; test is for the final proof. --force also tests patches made for another version.
    """
    from goldassay.lm import for_program
    from goldassay.running.evaluate import RunOptions
    from goldassay.systems import examples, indexed
    from goldassay.tuning.service import SPLITS

    if source.split not in SPLITS:
        raise GoldassayError(f"patches are tested on dev, and on test for the final proof, not on {source.split}")
    target, folder = _folder(program, source.task)
    data = examples(source.gold, target, source.split)
    folder.program = indexed(folder.program, data.passages)
    model = for_program(folder.current, source.lm)
    metric = workspace.metric(target.task, source.metric)
    options = RunOptions(lm=model.lm, adapter=model.adapter, threads=source.threads)
    tested = folder.test(patches or [], data.examples, metric, source.split, options, any_version=force)
    _show(tested, json)
    for _, patch in tested:
        if not any(effect.split == source.split for effect in patch.effects):
            terminal.warn(f"{patch.id} is {patch.reason}")


@use.command(app)
def apply(program: use.Name, patches: Patches, force: bool = False) -> None:
    """Apply patches (with --force also those of another version); `eval --state programs/patches/TASK` uses them."""
    _, folder = _folder(program)
    for patch in folder.apply(patches, any_version=force):
        note = f" Note: it was rejected: {patch.reason}" if patch.status == "rejected" else ""
        terminal.line(f"Applied {patch.id}.{note}")
    terminal.line(f"Try it:  goldassay eval {program} --state {folder.folder}")


@use.command(app)
def revert(program: use.Name, patches: Patches) -> None:
    """Revert applied patches."""
    terminal.line(*(f"Reverted {patch}." for patch in _folder(program)[1].revert(patches)))


@use.command(app, "list")
def list_(program: use.Name, json: bool = False) -> None:
    """List a program's patches with their effects and verdicts."""
    _show(_folder(program)[1].all(), json)


def _show(patches: Sequence[tuple[Path, Patch]], json: bool) -> None:
    rows = [{"id": patch.id, "file": str(file), **patch.model_dump(mode="json")} for file, patch in patches]
    terminal.output({"patches": rows}, json, lambda _: tables.patches([patch for _, patch in patches]))


@use.command(app)
def show(program: use.Name, name: Annotated[str, use.argument("PATCH", "Id or file.")]) -> None:
    """Show a patch: its reason, its effects and the diff of the prompt."""
    tables.patch(*_folder(program)[1].show(name))

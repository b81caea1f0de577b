"""``goldassay patch …``: edits of a program's prompts, made from its errors, tested, applied and reverted.

The patches of a task are in ``programs/patches/TASK/``. The program with the applied ones is in ``state.json`` there,
which ``goldassay eval TASK --state programs/patches/TASK`` loads.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.cli.proof import (
    JUDGED,
    ProofOptions,
    judged,
    label_on_page,
    note_change,
    notes_of,
    proof_of,
    saved_changes,
    unread,
    write_draft,
)
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal
from goldassay.reporting import tuning as tables

if TYPE_CHECKING:
    import dspy

    from goldassay.tuning.patches import Patch
    from goldassay.tuning.service import PatchFolder

app = use.commands("Edits of a program's prompts, made from its errors: propose, test, apply, revert.")
Patches = Annotated[list[str], use.argument("PATCH...", "Ids or files.")]
Modes = Annotated[Path | None, use.for_gold("FOLDER", "The review that notes the change (default: that of the patch).")]


def _folder(program: str, task: str | None = None) -> tuple[workspace.Target, PatchFolder]:
    """A program, and the folder of its patches."""
    from goldassay.tuning.service import PatchFolder

    target = workspace.target(program, task)
    place = workspace.own_root() / "programs" / "patches" / target.label.replace(":", "-")
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
    run: Path | None = use.for_gold("RUN", "A run of this program on the train split."),
    modes: Path | None = use.for_gold("FOLDER", "A review instead: patches from its notes, the costliest mode first."),
    mode: str | None = use.for_gold("NAME", "Only this failure mode of --modes."),
    task: use.OfTask = None,
    reflection_lm: str | None = use.for_model("MODEL", "Also instructions that this model writes of errors or notes."),
    limit: int = use.for_result("N", "Propose at most N.", min=1, default=12),
    json: bool = False,
) -> None:
    """Propose patches for the error patterns of a run, or from the notes of a review, and write them as files."""
    from goldassay.lm import for_program

    if (run is None) == (modes is None) or (mode and run):
        raise GoldassayError("patches are proposed from a run (--run), or from the notes of a review (--modes, --mode)")
    target, patches = _folder(program, task)
    lm: Any = for_program(patches.current, reflection_lm).lm if reflection_lm else None
    if modes is not None:
        proposed = patches.propose_from(notes_of(modes, target), mode, reflection_lm=lm, most=limit)
    else:
        proposed = _from_run(Path(str(run)), target, patches, lm, limit)
    if not proposed and not json:
        terminal.line(f"This {'run' if run else 'review'} has no errors that a patch could be made from.")
        return
    _show(patches.all(), json)


def _from_run(
    place: Path, target: workspace.Target, patches: PatchFolder, lm: dspy.BaseLM | None, limit: int
) -> list[Patch]:
    """Patches for the errors of a run."""
    from goldassay.running import Run
    from goldassay.systems import examples
    from goldassay.tuning.edits import Edit
    from goldassay.tuning.instructions import reflection
    from goldassay.tuning.service import EDITS

    run = Run.load(place)
    edits: list[Edit] = list(EDITS)
    if lm is not None:
        edits.append(partial(reflection, lm=lm))
    gold = (run.about.get("settings") or {}).get("gold")  # of the split train
    train = examples(gold, target, "train").examples
    return patches.propose(run, train, edits=edits, most=limit)


@dataclass(frozen=True)
class TestOptions(ProofOptions, use.SetOptions):
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

    Choose on dev; test is for the final proof. --force also tests patches made for another version. Without gold,
    --modes tests on the records that were read, and --inputs proves one patch by labels of what it changes.
    """
    from goldassay.lm import for_program
    from goldassay.running.evaluate import RunOptions
    from goldassay.systems import examples, indexed
    from goldassay.tuning.acceptance import REVIEWED

    if source.inputs or source.review:
        _prove(program, source, patches or [], force, json)
        return
    target, folder = _folder(program, source.task)
    split = source.split
    if source.modes:
        split = REVIEWED
        measured: Sequence[dspy.Example] = notes_of(source.modes, target).required
    else:
        data = examples(source.gold, target, split)
        measured = data.examples
        folder.program = indexed(folder.program, data.passages)
    model = for_program(folder.current, source.lm)
    metric = workspace.metric(target.task, source.metric)
    options = RunOptions(lm=model.lm, adapter=model.adapter, threads=source.threads)
    tested = folder.test(patches or [], measured, metric, split, options, any_version=force)
    _show(tested, json)
    for _, patch in tested:
        if not any(effect.split == split for effect in patch.effects):
            terminal.warn(f"{patch.id} is {patch.reason}")


def _prove(program: str, source: TestOptions, patches: list[str], force: bool, json: bool) -> None:
    """Draft what one patch changes, have it labelled, and write the verdict into the patch."""
    from goldassay.running.hashing import fingerprint

    if len(patches) != 1:
        raise GoldassayError("labels prove one patch at a time: name it")
    target, folder = _folder(program, source.task)
    reviewed = source.review
    if reviewed is None:
        patch, after = folder.with_patch(patches[0], force)
        draft = folder.folder / f"{patch.id}-{fingerprint(folder.current)[:6]}.jsonl"
        if draft.exists():
            then = "to draft from other inputs, move it away with its review"
            print(f"This goes on with {draft}, which may have labels; {then}.", file=sys.stderr)
        else:
            _draft(target, folder, patch, after, draft, source)
        if source.no_review:
            modes = [change.state() for change in saved_changes(draft)]
            result = {"patch": patch.id, "draft": str(draft), "modes": modes}
            terminal.output(result, json, lambda result: print(result["draft"]))
            return
        reviewed = label_on_page(draft, target.task, source)
    verdict = proof_of(reviewed, target.task)
    patch = folder.prove(patches[0], verdict.verdict)
    status = {"id": patch.id, "status": str(patch.status), "reason": patch.reason}
    terminal.output({"patch": status, **verdict.state()}, json, lambda _: terminal.line(*verdict.lines))


def _draft(
    target: workspace.Target,
    folder: PatchFolder,
    patch: Patch,
    after: dspy.Module,
    draft: Path,
    source: TestOptions,
) -> None:
    """Run the program with and without a patch, and write what to label; judges of modes may look at it before."""
    from goldassay.lm import for_program
    from goldassay.tuning.labelling import plan_labels
    from goldassay.tuning.options import TuneOptions

    review = source.modes or (Path(patch.review) if patch.review else None)
    inputs = unread(Path(str(source.inputs)), target, notes_of(review, target) if review else None)
    model = for_program(folder.current, source.lm)
    options = TuneOptions(
        lm=model.lm,
        adapter=model.adapter,
        threads=source.threads,
        progress=False,
        folder=draft.with_suffix(".runs"),
        resume=True,
    )
    with terminal.working(f"both programs on {len(inputs)} inputs"):
        plan = plan_labels(target.task, {"before": folder.current, patch.id: after}, inputs, options)
    print(f"{write_draft(plan, draft, target.task).sentence}.", file=sys.stderr)
    if review and source.judge_lm:
        changes = judged(review, source.judge_lm, plan, source.threads)
        files.save_json(draft.with_suffix(JUDGED), [asdict(change) for change in changes])
        for change in changes:
            print(f"{change}.", file=sys.stderr)
            if change.mode == patch.mode:
                folder.note_judged(patch.id, change)


@use.command(app)
def apply(program: use.Name, patches: Patches, modes: Modes = None, force: bool = False) -> None:
    """Apply patches (with --force also those of another version); `eval --state programs/patches/TASK` uses them."""
    _, folder = _folder(program)
    for patch in folder.apply(patches, any_version=force):
        note = f" Note: it was rejected: {patch.reason}" if patch.status == "rejected" else ""
        terminal.line(f"Applied {patch.id}.{note}")
        note_change(patch, modes, "applied")
    terminal.line(f"Try it:  goldassay eval {program} --state {folder.folder}")


@use.command(app)
def revert(program: use.Name, patches: Patches, modes: Modes = None) -> None:
    """Revert applied patches."""
    _, folder = _folder(program)
    applied = {patch.id: patch for patch in folder.applied}
    for name in folder.revert(patches):
        terminal.line(f"Reverted {name}.")
        note_change(applied[name], modes, "reverted")


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

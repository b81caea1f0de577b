"""Edits of a program's prompts, made from its errors: propose, test, apply, revert.

The patches of a task are in ``programs/patches/TASK/``. The program with the applied ones is in ``state.json`` there,
which ``goldassay eval TASK --state programs/patches/TASK`` loads.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import Annotated

import dspy

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.cli.options import FROM_CACHE, NotesOptions, SetOptions, interruptible
from goldassay.core.measure import TASKS
from goldassay.ext.labelling import REVIEW
from goldassay.ext.labelling.notes import Notes, note_change, propose_from_notes
from goldassay.ext.labelling.proof import prove_by_labels
from goldassay.models.lm import for_program, resolve
from goldassay.reporting import terminal
from goldassay.reporting import tuning as tables
from goldassay.results.view import Sentence
from goldassay.running import Run
from goldassay.running.hashing import fingerprint
from goldassay.running.options import RunOptions
from goldassay.tuning import TuneOptions
from goldassay.tuning.acceptance import REVIEWED_SPLIT
from goldassay.tuning.edits import Edit
from goldassay.tuning.instructions import reflection
from goldassay.tuning.patches import Patch, view_of
from goldassay.tuning.patterns import find
from goldassay.tuning.service import WORD_EDITS, PatchFolder
from goldassay.tuning.systems import examples, indexed

Patches = Annotated[list[str], use.argument("PATCH...", "Ids or files.")]
AnyVersion = Annotated[bool, use.flag("Also apply patches that were made for another version of the program.")]


def _folder(program: str, task: str | None = None) -> tuple[workspace.Target, PatchFolder]:
    """A program, and the folder of its patches."""
    target = workspace.target(program, task)
    return target, PatchFolder(target.patches, target.tunable())


def _show(patches: Sequence[tuple[Path, Patch]], json: bool) -> None:
    rows = [{"id": patch.id, "file": str(file), **patch.model_dump(mode="json")} for file, patch in patches]
    terminal.output({"patches": rows}, json, view_of([patch for _, patch in patches]))


def patterns(run: use.Run, json: bool = False) -> None:
    """Show the error patterns of a run, most costly first."""
    errors = find(Run.load(run).cases)
    patterns = {"patterns": [pattern.state() for pattern in errors]}
    terminal.output(patterns, json, tables.patterns(errors, 20))


def propose(
    program: use.Name,
    source: Annotated[
        Path, use.argument("RUN|REVIEW", "A run of this program on the train split, or a review with notes.")
    ],
    mode: Annotated[str | None, use.for_gold("NAME", "Only this failure mode of the review.")] = None,
    reflection_lm: use.ReflectionLm = None,
    n: Annotated[int, use.for_result("N", "The most patches to propose.", min=1)] = 12,
    task: str | None = None,
    json: bool = False,
) -> None:
    """Propose patches for the error patterns of a run, or from the notes of a review, and write them as files."""
    target, folder = _folder(program, task)
    lm = resolve(reflection_lm) if reflection_lm else None
    tested: dict[str, object] = {}
    if (source / REVIEW).exists():
        tested["modes"] = source
        notes = Notes.of(source, target)
        proposed = propose_from_notes(folder, notes, mode, reflection_lm=lm, most=n)
    elif mode:
        raise GoldassayError(f"--mode is for the folder of a review, which {source} is not")
    else:
        run = Run.load(source)
        edits: list[Edit] = [*WORD_EDITS, *([partial(reflection, lm=lm)] if lm else [])]
        gold = run.head.settings.get("gold")
        try:
            train = examples(gold, target, "train").examples
        except GoldassayError:
            if gold:
                raise
            line = shell_line("goldassay eval", program, gold="FILE", split="train")
            raise GoldassayError(f"{source} does not say which gold it is of; a run that does: {line}") from None
        tested["gold"] = gold
        proposed = folder.propose(run, train, edits=edits, most=n)
    if not proposed and not json:
        terminal.line(f"{source} has no errors that a patch could be made from.")
        return
    _show(folder.all(), json)
    if not json:
        can_test = workspace.has_metric(target)
        line = shell_line(f"goldassay patch {'test' if can_test else 'show'}", program, **tested if can_test else {})
        terminal.echo(line)


@dataclass(frozen=True)
class TestOptions(NotesOptions, SetOptions):
    """The gold and the program that patches are tested on."""

    __test__ = False  # not a test of pytest's
    split: str = "dev"
    metric: str | None = None
    lm: use.Lm = None
    judge_lm: use.JudgeLm = None
    any_version: AnyVersion = False
    map: str | None = None
    threads: int = 1


def test(
    program: use.Name,
    source: TestOptions,
    patches: Annotated[list[str] | None, use.argument("PATCH...", "Ids or files (default: all).")] = None,
    json: bool = False,
) -> None:
    """Test patches against the current program: paired, corrected for their number.

    Choose on dev; test is for the final proof. Without gold, --modes tests on the records that were read, and
    --unlabelled proves one patch by labels of what it changes; --judge-lm asks the judges of its modes first.
    """
    if source.unlabelled:
        _prove(program, source, patches or [], json)
        return
    if unused := use.first_set(source, "no_review", "judge_lm"):
        raise GoldassayError(f"--{unused.replace('_', '-')} needs --unlabelled FILE, whose answers people label")
    target, folder = _folder(program, source.task)
    split = source.split
    if source.modes:
        split = REVIEWED_SPLIT
        measured: Sequence[dspy.Example] = Notes.of(source.modes, target).required
    else:
        data = examples(source.gold, target, split, map=source.map)
        measured = data.examples
        folder.program = indexed(folder.program, data.gold)
    model = for_program(folder.current, source.lm, target.file)
    metric = workspace.metric(target, source.metric)
    options = RunOptions(lm=model.lm, adapter=model.adapter, threads=source.threads)
    with interruptible(FROM_CACHE):
        tested = folder.test(patches or [], measured, metric, split, options, any_version=source.any_version)
    _show(tested, json)
    for _, patch in tested:
        if not any(effect.split == split for effect in patch.effects):
            terminal.warn(f"{patch.id} is {patch.reason}")


def _prove(program: str, source: TestOptions, patches: list[str], json: bool) -> None:
    """Have what one patch changes labelled, and write the verdict into the patch."""
    if len(patches) != 1:
        raise GoldassayError("labels prove one patch at a time: name it")
    target, folder = _folder(program, source.task)
    patch, after = folder.with_patch(patches[0], source.any_version)
    review = source.modes or (Path(patch.review) if patch.review else None)
    model = for_program(folder.current, source.lm, target.file)
    proof = prove_by_labels(
        target,
        {"before": folder.current, patch.id: after},
        folder.folder / f"{patch.id}-{fingerprint(folder.current)[:6]}.jsonl",
        source.unlabelled,
        TuneOptions(lm=model.lm, adapter=model.adapter, threads=source.threads),
        map=source.map,
        notes=Notes.of(review, target) if review else None,
        judge_lm=source.judge_lm,
        metric=workspace.metric(target, source.metric) if source.metric else None,
        page=not source.no_review,
        on_message=lambda text: print(text, file=sys.stderr, flush=True),
    )
    for change in proof.judged if proof.plan else ():
        if change.mode == patch.mode:
            folder.note_judged(patch.id, change.change.reversed, change.p)
    if proof.verdict is None:
        modes = [change.state() for change in proof.judged]
        drafted = {"patch": patch.id, "draft": str(proof.draft), "modes": modes}
        terminal.output(drafted, json, [str(proof.draft)])
        return
    patch = folder.prove(patches[0], proof.verdict)
    status = {"id": patch.id, "status": str(patch.status), "reason": patch.reason}
    terminal.output({"patch": status, **proof.state()}, json, [*map(Sentence, proof.lines)])


def apply(program: use.Name, patches: Patches, any_version: AnyVersion = False) -> None:
    """Apply patches; `eval --state programs/patches/TASK` uses them."""
    _, folder = _folder(program)
    for patch in folder.apply(patches, any_version=any_version):
        note = f" Note: it was rejected: {patch.reason}" if patch.status == "rejected" else ""
        terminal.line(f"Applied {patch.id}.{note}")
        terminal.warn(*filter(None, [note_change(patch, "applied")]))
    target = workspace.target(program)
    has_gold = target.task in TASKS or (workspace.root() / "gold" / target.task).is_dir()
    gold = None if has_gold else "FILE"
    terminal.line(f"Try it:  {shell_line('goldassay eval', program, state=relpath(folder.folder), gold=gold)}")


def revert(program: use.Name, patches: Patches) -> None:
    """Revert applied patches."""
    _, folder = _folder(program)
    applied = {patch.id: patch for patch in folder.applied}
    for name in folder.revert(patches):
        terminal.line(f"Reverted {name}.")
        terminal.warn(*filter(None, [note_change(applied[name], "reverted")]))


def show(
    program: use.Name,
    patch: Annotated[str | None, use.argument("PATCH", "Id or file (default: list all).")] = None,
    json: bool = False,
) -> None:
    """List a program's patches with their effects and verdicts, or show one with the diff of its prompt."""
    _, folder = _folder(program)
    if patch is None:
        _show(folder.all(), json)
        return
    chosen, diff = folder.show(patch)
    body = {**chosen.model_dump(mode="json"), "diff": diff}
    terminal.output(body, json, chosen.view(diff))

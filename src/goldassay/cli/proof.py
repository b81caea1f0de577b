"""From notes to a proven patch, for ``goldassay patch`` and ``tune``: the notes of a review, and the blinded review of
what a program answers otherwise than before.
"""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay import files, jsonl, workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    import dspy

    from goldassay.tuning.labelling import LabelPlan
    from goldassay.tuning.notes import Notes
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.proof import ModeChange, Proof

CHANGES = "patches.jsonl"
JUDGED = ".judged.json"


@dataclass(frozen=True)
class NotesOptions:
    """Notes instead of gold, and the blinded review of the answers that differ."""

    modes: Path | None = use.for_gold("FOLDER", "A review: its notes become patches, its records test them.")
    no_browser: bool = use.flag("--no-browser", "Open no browser for the blinded review.")
    no_review: bool = use.flag("--no-review", "Only write the draft of the answers that differ.")


@dataclass(frozen=True)
class ProofOptions(NotesOptions):
    """What a patch is tested on, if not on gold."""

    inputs: Path | None = use.for_gold("FILE", "Inputs without gold: you label, blind, the answers that differ.")
    review: Path | None = use.for_gold("FOLDER", "The blinded review of a patch, to read its verdict again.")
    judge_lm: str | None = use.for_model("MODEL", "Asks the judges of modes (judge from-modes) how shares change.")


def notes_of(folder: Path, target: workspace.Target) -> Notes:
    """The notes of a review folder, for a program of its task.

    Raises:
        GoldassayError: The review is of another task.
    """
    from goldassay.gold.modes import read_modes
    from goldassay.gold.records import INPUTS
    from goldassay.reviewing.exporting import reviewed_traces
    from goldassay.tuning.notes import Notes

    check_task(folder, target.task)
    inputs = [INPUTS[target.task]] if target.task in INPUTS else workspace.taken(target.load()) or []
    return Notes(folder, target.task, reviewed_traces(folder), inputs, read_modes(folder))


def check_task(folder: Path, task: str) -> None:
    """Check that a review is of a task.

    Raises:
        GoldassayError: It is of another one.
    """
    from goldassay.reviewing.folder import Folder

    reviewed = Folder.read(folder).task
    if reviewed != task:
        raise GoldassayError(f"{folder} is a review of {reviewed}, not of {task}; name a program of {reviewed}")


def unread(place: Path, target: workspace.Target, notes: Notes | None) -> list[dspy.Example]:
    """The inputs of a file without those that were read in the review that patches come from.

    Raises:
        DataError: None is left.
    """
    from goldassay.systems import unlabelled

    inputs = unlabelled(place, target)
    left = notes.unread(inputs) if notes else inputs
    if not left:
        raise DataError("every input was read in the review that made the patch; name others", file=place)
    if len(left) < len(inputs):
        terminal.warn(f"{len(inputs) - len(left)} of {len(inputs)} inputs were read in the review and are left out")
    return left


def write_draft(plan: LabelPlan, place: Path, task: str) -> LabelPlan:
    """Write what to label of the answers that differ."""
    from goldassay.gold import write

    place.parent.mkdir(parents=True, exist_ok=True)
    write(place, plan.draft.records, task=task)
    terminal.warn(*plan.draft.warnings)
    return plan


def judged(folder: Path, model: str, plan: LabelPlan, threads: int) -> list[ModeChange]:
    """How each mode changes that has an aligned judge in a review folder, by its verdicts on what changed.

    Args:
        folder: The review, with judges (``judge from-modes``).
        model: The model that they ask.
        plan: The answers before and after.
        threads: How many verdicts are asked at once.
    """
    from goldassay.judges.judge import named
    from goldassay.judges.modes import JUDGES, load_judge
    from goldassay.statistics import Interval
    from goldassay.tuning.proof import corrected, judged_change

    changes: list[ModeChange | None] = []
    for file in sorted((folder / JUDGES).glob("*.json")):
        saved = files.json_value(file)
        judge = load_judge(folder, str(saved["mode"]), named(model))
        if judge is None:
            terminal.warn(f"the judge of {saved['mode']!r} is no better than chance, and is not asked")
            continue
        votes = judge.verdicts([(row, each) for row, *both in plan.changed for each in both], threads=threads)
        pairs = [(bool(before), bool(after)) for before, after in zip(votes[::2], votes[1::2], strict=True)]
        changes.append(judged_change(judge.mode.name, pairs, plan.population, Interval(**saved["youden"])))
    return corrected([change for change in changes if change])


def saved_changes(draft: Path) -> list[ModeChange]:
    """What judges said of a draft, or of that of a review folder; empty if none was asked."""
    from goldassay.tuning.proof import ModeChange

    file = draft.with_suffix(JUDGED)
    rows = files.json_value(file) if file.exists() else []
    return [files.validated(ModeChange, row, file) for row in rows]


def label_on_page(draft: Path, task: str, options: NotesOptions) -> Path:
    """The folder of the review of a draft, after people have labelled it on the page, or stopped."""
    from goldassay.reviewing import Review
    from goldassay.reviewing.folder import Folder

    with Review(Folder.open([draft], task)) as page:
        print(f"Label here, Ctrl-C ends it: {page.url}", file=sys.stderr, flush=True)
        if not options.no_browser:
            webbrowser.open(page.url)
        page.server.wait()
    return page.folder


def proof_of(folder: Path, task: str) -> Proof:
    """The verdict of a blinded review on two programs, and how each failure mode changed.

    Modes that nobody named in it change as their judges say, where these were asked.

    Raises:
        GoldassayError: It is of another task, compares nothing, or nobody has decided anything yet.
    """
    from goldassay.reviewing.exporting import labels_of
    from goldassay.running.labelled import PREFERRED, verdict
    from goldassay.statistics.design import Design
    from goldassay.tuning.proof import Proof, mode_changes

    check_task(folder, task)
    records, failures = labels_of(folder)
    design = Design.of(records)
    if design is None or not any(PREFERRED in record for record in records):
        raise GoldassayError(f"{folder} has no decision on two programs yet; goldassay review {folder} goes on with it")
    changes = mode_changes(task, records, failures)
    named = {change.mode for change in changes}
    others = [change for change in saved_changes(folder) if change.mode not in named]
    return Proof(verdict(task, records, design.systems), [*changes, *others])


def note_change(patch: Patch, modes: Path | None, change: str) -> None:
    """Note in the review of a patch (or another) that it was applied or reverted, for the shares over time."""
    folder = modes or (Path(patch.review) if patch.review else None)
    if folder is None:
        return
    if not folder.is_dir():
        terminal.warn(f"{folder} is not there, so it does not say that {patch.id} was {change}; name it (--modes)")
        return
    when = datetime.now(UTC).isoformat(timespec="seconds")
    with jsonl.Log(folder / CHANGES) as log:
        log.add({"when": when, "patch": patch.id, "mode": patch.mode, "change": change})

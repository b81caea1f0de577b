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

from goldassay import jsonl, workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    import dspy

    from goldassay.running.labelled import LabelVerdict
    from goldassay.tuning.labelling import LabelPlan
    from goldassay.tuning.noted import Notes
    from goldassay.tuning.options import TuneOptions
    from goldassay.tuning.patches import Patch
    from goldassay.tuning.proof import ModeChange

CHANGES = "patches.jsonl"


@dataclass(frozen=True)
class ProofOptions:
    """What a patch is tested on, if not on gold."""

    modes: Path | None = use.for_gold("FOLDER", "A review whose notes make the patches; its records test them.")
    inputs: Path | None = use.for_gold("FILE", "Inputs without gold: what changes is labelled, blinded, on a page.")
    review: Path | None = use.for_gold("FOLDER", "The review of what changed: its labels are the verdict.")
    no_browser: bool = use.flag("--no-browser", "Open no browser.")
    no_review: bool = use.flag("--no-review", "Only write the draft to label, and print where.")


def notes_of(folder: Path, target: workspace.Target) -> Notes:
    """The notes of a review folder, for a program of its task.

    Raises:
        GoldassayError: The review is of another task.
    """
    from goldassay.gold.modes import read_modes
    from goldassay.gold.records import INPUTS
    from goldassay.reviewing.exporting import reviewed_traces
    from goldassay.tuning.noted import Notes

    check_task(folder, target.task)
    known = [INPUTS[target.task]] if target.task in INPUTS else workspace.inputs(target.task)
    inputs = known or workspace.taken(target.load()) or []
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


def unread(place: Path, target: workspace.Target, patch: Patch, notes: Notes | None) -> list[dspy.Example]:
    """The inputs of a file that neither the patch nor the reviewer who prompted it has seen.

    Raises:
        DataError: None is left.
    """
    from goldassay.systems import unlabelled
    from goldassay.tuning.noted import in_review

    inputs = unlabelled(place, target)
    seen = {*in_review(inputs, notes)} if notes else set[int]()
    seen |= {at for at, example in enumerate(inputs) if str(example.get("id")) in patch.examples}
    left = [example for at, example in enumerate(inputs) if at not in seen]
    if not left:
        raise DataError("every input was read in the review that made the patch; name others", file=place)
    if seen:
        terminal.warn(f"{len(seen)} of {len(inputs)} inputs were read in the review and are left out")
    return left


def draft_changes(
    task: str, programs: dict[str, dspy.Module], inputs: list[dspy.Example], options: TuneOptions, place: Path
) -> LabelPlan:
    """Run two programs on inputs and write what to label of the answers that differ."""
    from goldassay.gold import write
    from goldassay.tuning.labelling import plan_labels

    with terminal.working(f"both programs on {len(inputs)} inputs"):
        plan = plan_labels(task, programs, inputs, options)
    place.parent.mkdir(parents=True, exist_ok=True)
    write(place, plan.draft.records, task=task)
    terminal.warn(*plan.draft.warnings)
    return plan


def labelled(draft: Path, task: str, options: ProofOptions) -> Path:
    """The folder of the review of a draft, after people have labelled it on the page, or stopped."""
    from goldassay.reviewing import Review
    from goldassay.reviewing.folder import Folder

    with Review(Folder.open([draft], task)) as page:
        print(f"Label here, Ctrl-C ends it: {page.url}", file=sys.stderr, flush=True)
        if not options.no_browser:
            webbrowser.open(page.url)
        page.server.wait()
    return page.folder


def settled(folder: Path, task: str) -> tuple[LabelVerdict, list[ModeChange]]:
    """The verdict of a blinded review on two programs, and how each mode of failure changed.

    Raises:
        GoldassayError: It is of another task, compares nothing, or nobody has decided anything yet.
    """
    from goldassay.reviewing.exporting import labels_of
    from goldassay.running.labelled import PREFERRED, verdict
    from goldassay.statistics.design import Design
    from goldassay.tuning.proof import mode_changes

    check_task(folder, task)
    records, modes = labels_of(folder)
    design = Design.of(records)
    if design is None or not any(PREFERRED in record for record in records):
        raise GoldassayError(f"{folder} has no decision on two programs yet; goldassay review {folder} goes on with it")
    return verdict(task, records, design.systems), mode_changes(task, records, modes)


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

"""Patches from what a person noted while reading traces: each failure mode is a pattern, and notes become edits.

No gold is needed. A pattern costs what its mode costs (`goldassay.ext.labelling.modes`: its share of all traces times
how bad it is). Its edits are the reviewer's own words as a rule, corrected answers as demonstrations, a wrong answer
beside the right one, and what a model proposes that reads notes and traces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import dspy
from dspy import Example

from goldassay import workspace
from goldassay._support import jsonl
from goldassay._support.dspy_compat import serialize_for_json
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import Error
from goldassay.core.shape import UNKNOWN_SHAPE
from goldassay.ext.labelling.modes import Mode, ReviewedTrace, mode_shares, read_modes
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.session import reviewed_traces
from goldassay.gold.records import INPUT_FIELDS, as_gold
from goldassay.measures.trajectories.records import steps_of
from goldassay.running.head import now
from goldassay.running.leaks import text_of
from goldassay.running.run import Case
from goldassay.statistics.design import SAMPLING
from goldassay.tuning.edits import Diagnosis, Edit, by_pattern, covering, predictor_for, propose_patches
from goldassay.tuning.instructions import reflection
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.service import PatchFolder
from goldassay.tuning.wrappers import Examples, demonstrations

EACH_MODE = 3  # patches of a kind that a mode gets


@dataclass(frozen=True, repr=False)
class Notes:
    """The notes of a review, as material of patches.

    Args:
        folder: The folder of the review.
        task: Its task.
        traces: What was read.
        inputs: The fields that the program takes.
        modes: The modes, with their descriptions.
    """

    folder: Path
    task: str
    traces: Sequence[ReviewedTrace]
    inputs: Sequence[str]
    modes: Sequence[Mode] = ()

    @classmethod
    def of(cls, folder: Path, target: workspace.Target) -> Notes:
        """The notes of a review, for a program of its task.

        Raises:
            GoldassayError: The review is of another task.
        """
        reviewed_folder(folder, target.task)
        traces = reviewed_traces(folder)
        inputs = [INPUT_FIELDS[target.task]] if target.task in INPUT_FIELDS else []
        if not inputs:
            fields = dict.fromkeys(name for trace in traces for name in trace.fields)
            inputs = target.shape.inputs_among([*fields], str(target.file))
        return cls(folder, target.task, traces, inputs, read_modes(folder))

    def __repr__(self) -> str:
        return f"the notes on {len(self.traces)} traces in {self.folder}"

    @cached_property
    def corrected(self) -> list[Example]:
        """The records that have gold: corrected, or right as they were."""
        return [self._example(trace, trace.gold) for trace in self.traces if trace.gold is not None]

    @property
    def required(self) -> list[Example]:
        """The records that have gold.

        Raises:
            GoldassayError: There is none.
        """
        if not self.corrected:
            raise GoldassayError(
                f"no record of {self.folder} has gold: accept right answers and correct wrong ones in the review"
            )
        return self.corrected

    @cached_property
    def wrong(self) -> dict[str, Example]:
        """The answers of the program to the records with a failure, as if they were gold."""
        failures = [trace for trace in self.traces if trace.modes and trace.output]
        return {trace.id: self._example(trace, as_gold(trace.output, self.task)) for trace in failures}

    def _example(self, trace: ReviewedTrace, gold: JsonObject) -> Example:
        sampling = {SAMPLING: trace.sampling.model_dump(mode="json")} if trace.sampling else {}
        answer = {name: gold[name] for name in UNKNOWN_SHAPE.answer(gold)}  # reasoning would be that of another answer
        return Example(**{**trace.fields, **answer, "id": trace.id, **sampling}).with_inputs(*self.inputs)

    def unread(self, examples: Examples) -> list[Example]:
        """The examples that were not read in the review, by their ids and their text."""
        ids = {trace.id for trace in self.traces}
        texts = {text_of(trace.fields, self.inputs) for trace in self.traces}
        return [item for item in examples if str(item.get("id")) not in ids and text_of(item, self.inputs) not in texts]

    def edits(self, reflection_lm: dspy.BaseLM | None = None) -> list[Edit]:
        """The edits that notes are made into; the last one only with a model."""
        edits: list[Edit] = [
            rules_from_notes,
            partial(covering, most=EACH_MODE),
            partial(wrong_and_right, wrong=self.wrong),
        ]
        return edits if reflection_lm is None else [*edits, partial(reflection, lm=reflection_lm, each=EACH_MODE)]

    def of_cases(self, cases: Sequence[Case]) -> list[Pattern]:
        """The patterns without the notes on records that are measured and not among these cases."""
        measured = {str(example["id"]) for example in self.corrected} - {case.id for case in cases}
        return patterns_of([trace for trace in self.traces if trace.id not in measured], self.modes)


def reviewed_folder(path: Path, task: str) -> Folder:
    """The folder of a review of a task.

    Raises:
        GoldassayError: It is of another one.
    """
    folder = Folder.read(path)
    if folder.task != task:
        raise GoldassayError(f"{path} is a review of {folder.task}, not of {task}; name a program of {folder.task}")
    return folder


def note_change(patch: Patch, change: str) -> str:
    """Note in the review of a patch that it was applied or reverted, for the shares over time.

    Returns:
        A warning if the review is not there; else nothing.
    """
    folder = Path(patch.review) if patch.review else None
    if folder is None:
        return ""
    if not folder.is_dir():
        return f"{folder} is not there, so it does not say that {patch.id} was {change}; `review` of the patch names it"
    with jsonl.Log(folder / "patches.jsonl") as log:
        log.add({"when": now(), "patch": patch.id, "mode": patch.mode, "change": change})
    return ""


def propose_from_notes(
    folder: PatchFolder,
    notes: Notes,
    mode: str | None = None,
    *,
    reflection_lm: dspy.BaseLM | None = None,
    most: int = 12,
) -> list[Patch]:
    """Patches for the failure modes of a review, the costliest first; the first ``most`` new ones are written.

    Args:
        folder: The patches of the program.
        notes: The notes.
        mode: The one mode to take.
        reflection_lm: A model that proposes edits from notes and traces, too.
        most: How many are written at most.

    Raises:
        GoldassayError: There is no such mode, or nothing to make a patch from.
    """
    patterns = patterns_of(notes.traces, notes.modes)
    if not patterns:
        raise GoldassayError(
            f"no trace in {notes.folder} has a failure mode; name what went wrong in the review (key m)"
        )
    names = [pattern.kind for pattern in patterns]
    if mode not in (None, *names):
        raise GoldassayError(f"no mode {mode!r} in {notes.folder}{workspace.nearest(str(mode), names)}")
    program = folder.current
    train = demonstrations(program, notes.corrected)
    edits = notes.edits(reflection_lm)
    proposed: list[Patch] = []
    for pattern in patterns:
        if mode not in (None, pattern.kind):
            continue
        examples = [example for example in train if str(example["id"]) in pattern.documents]
        patches = propose_patches(Diagnosis([pattern], program, examples), edits)
        for patch in patches:
            patch.mode = pattern.kind
            patch.review = str(notes.folder)
        proposed += patches
    if not proposed:
        raise GoldassayError(
            f"the failure modes in {notes.folder} have no note and no corrected answer, so nothing says how it "
            "should be; write a note on one of their records, or correct its answer"
        )
    folder.add(proposed, most)
    return proposed


def patterns_of(traces: Sequence[ReviewedTrace], modes: Sequence[Mode] = ()) -> list[Pattern]:
    """A pattern for each failure mode that a trace has, the costliest first; its surface forms are the notes.

    >>> traces = [ReviewedTrace("a", modes=("no total",), note="Add the lines up.", grade=3), ReviewedTrace("b")]
    >>> [(pattern.name, pattern.loss, pattern.documents) for pattern in patterns_of(traces)]
    [('no total: Add the lines up.', 1.5, ('a',))]
    """
    patterns = []
    for share in mode_shares(traces, modes):
        name = share.mode.name
        rows = [trace for trace in traces if name in trace.modes]
        if not rows:
            continue
        cost = share.cost or share.share
        notes = Counter(" ".join(trace.note.split()) for trace in rows if trace.note)
        texts = dict.fromkeys([share.mode.description.strip(), *(note for note, _ in notes.most_common())])
        patterns.append(
            Pattern(
                name,
                "",
                "",
                surfaces=tuple(text for text in texts if text),
                errors=tuple(_error(trace, name) for trace in rows),
                documents=tuple(trace.id for trace in rows),
                loss=cost.value if cost else len(rows) / len(traces),
            )
        )
    return sorted(patterns, key=lambda pattern: (-pattern.loss, -pattern.count, pattern.name))


def _error(trace: ReviewedTrace, mode: str) -> Error:
    """A failure with its note and its trace, for a model that reflects."""
    note = " ".join((trace.note or mode).split())
    parts = {"input": trace.fields, "answer": trace.output, "right answer": trace.gold}
    story = "; ".join(f"{name}: {_short(value)}" for name, value in parts.items() if value)
    field = next(iter(trace.gold or ()), "")
    steps = steps_of(trace.output)
    predictor = steps[trace.step].predictor if trace.step is not None and trace.step < len(steps) else ""
    return Error(mode, f"{note} ({story})", context=note, field=field, step=trace.step, predictor=predictor)


@by_pattern("notes", each=EACH_MODE)
def rules_from_notes(diagnosis: Diagnosis, pattern: Pattern) -> list[Patch]:
    """The reviewer's notes as rules, in their own words (slot ``notes MODE``)."""
    first: dict[str, str] = {}  # the record that a note was written on first
    for name, error in zip(pattern.documents, pattern.errors, strict=True):
        first.setdefault(error.context, name)
    return [
        diagnosis.draft(
            pattern,
            "notes",
            action="add_instruction",
            text=f'Mind "{pattern.kind}": {note}',
            examples=[first[note]] if note in first else [],
        )
        for note in pattern.surfaces
    ]


@by_pattern("counter-examples", each=EACH_MODE)
def wrong_and_right(diagnosis: Diagnosis, pattern: Pattern, wrong: Mapping[str, Example]) -> list[Patch]:
    """A wrong answer next to the right one, for an input of a mode (slot ``counter-examples MODE``).

    Args:
        diagnosis: What edits are made from; its train examples hold the right answers.
        pattern: The mode.
        wrong: The wrong answers, as examples by id.
    """
    right = {str(example.get("id")): example for example in diagnosis.train}
    name, signature = predictor_for(pattern, diagnosis.program)
    patches = []
    for key in pattern.documents:
        if key not in right or key not in wrong:
            continue
        (mistake,) = demonstrations(diagnosis.program, [wrong[key]])
        before = _values(mistake, signature.output_fields)
        after = _values(right[key], signature.output_fields)
        if not (before and after) or before == after:
            continue
        question = _values(right[key], signature.input_fields)
        text = f'Mind "{pattern.kind}": for {question} the answer {before} is wrong, and {after} is right.'
        fields: Fields = {"predictor": name, "action": "add_instruction", "text": text, "examples": [key]}
        patches.append(diagnosis.draft(pattern, "counter-examples", **fields))
    return patches


def _values(example: Example, names: Collection[str]) -> str:
    """The values of some fields as text; empty if it has none of them."""
    values = {name: serialize_for_json(example[name]) for name in names if example.get(name) is not None}
    return _short(values) if values else ""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else jsonl.dumps(value)
    longest = 400  # characters of an input or an answer that an edit quotes
    return text if len(text) <= longest else f"{text[:longest]}…"

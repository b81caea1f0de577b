"""Patches from what a person noted while reading traces: each failure mode is a pattern, and notes become edits.

No gold is needed. A pattern costs what its mode costs (`goldassay.gold.modes`: its share of all traces times how bad it
is). Its edits are the reviewer's own words as a rule, corrected answers as demonstrations, a wrong answer beside the
right one, and what a model proposes that reads notes and traces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import dspy
from dspy import Example

from goldassay import jsonl, workspace
from goldassay._dspy_compat import serialize_for_json, signature_of
from goldassay.exceptions import GoldassayError
from goldassay.fields import Fields
from goldassay.gold.modes import Mode, ReviewedTrace, mode_shares
from goldassay.gold.records import as_gold
from goldassay.measure import Error
from goldassay.running.leaks import text_of
from goldassay.running.run import Case
from goldassay.statistics.design import SAMPLING
from goldassay.tuning.edits import Diagnosis, Edit, Slots, by_pattern, covering, predictor_for
from goldassay.tuning.instructions import reflection
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.wrappers import Examples, demonstrations

LONGEST = 400  # characters of an input or an answer that an edit quotes
EACH = 3  # patches of a kind that a mode gets


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

    def _example(self, trace: ReviewedTrace, gold: Fields) -> Example:
        sampling = {SAMPLING: trace.sampling.model_dump(mode="json")} if trace.sampling else {}
        return Example(**{**trace.fields, **gold, "id": trace.id, **sampling}).with_inputs(*self.inputs)

    def patterns(self, only: str | None = None) -> list[Pattern]:
        """The modes as patterns, the costliest first.

        Args:
            only: The name of the one mode to take.

        Raises:
            GoldassayError: No mode was named, or there is none of this name.
        """
        patterns = patterns_of(self.traces, self.modes)
        if not patterns:
            raise GoldassayError(
                f"no trace in {self.folder} has a failure mode; name what went wrong in the review (key m)"
            )
        names = [pattern.kind for pattern in patterns]
        if only is not None and only not in names:
            raise GoldassayError(f"no mode {only!r} in {self.folder}{workspace.nearest(only, names)}")
        return [pattern for pattern in patterns if only in (None, pattern.kind)]

    def unread(self, examples: Examples) -> list[Example]:
        """The examples that were not read in the review, by their ids and their text."""
        ids = {trace.id for trace in self.traces}
        texts = {text_of(trace.fields, self.inputs) for trace in self.traces}
        return [each for each in examples if str(each.get("id")) not in ids and text_of(each, self.inputs) not in texts]

    def edits(self, reflection_lm: dspy.BaseLM | None = None) -> list[Edit]:
        """The edits that notes are made into; the last one only with a model."""
        edits: list[Edit] = [rules_from_notes, partial(covering, most=EACH), partial(wrong_and_right, wrong=self.wrong)]
        return edits if reflection_lm is None else [*edits, partial(reflection, lm=reflection_lm, each=EACH)]

    def of_cases(self, cases: Sequence[Case]) -> list[Pattern]:
        """The patterns without the notes on records that are measured and not among these cases."""
        measured = {str(example["id"]) for example in self.corrected} - {case.id for case in cases}
        return patterns_of([trace for trace in self.traces if trace.id not in measured], self.modes)


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
    return Error(mode, f"{note} ({story})", context=note, field=field)


def rules_from_notes(diagnosis: Diagnosis) -> Slots:
    """The reviewer's notes as rules, in their own words (slot ``notes MODE``)."""

    def propose(pattern: Pattern) -> list[Patch]:
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

    return by_pattern(diagnosis, "notes", propose, each=EACH)


def wrong_and_right(diagnosis: Diagnosis, wrong: Mapping[str, Example]) -> Slots:
    """A wrong answer beside the right one, for an input of a mode (slot ``counter-examples MODE``).

    Args:
        diagnosis: What edits are made from; its train examples hold the right answers.
        wrong: The wrong answers, as examples by id.
    """
    right = {str(example.get("id")): example for example in diagnosis.train}

    def propose(pattern: Pattern) -> list[Patch]:
        name, predictor = predictor_for(pattern, diagnosis.program)
        signature = signature_of(predictor)
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

    return by_pattern(diagnosis, "counter-examples", propose, each=EACH)


def _values(example: Example, names: Collection[str]) -> str:
    """The values of some fields as text; empty if it has none of them."""
    values = {name: serialize_for_json(example[name]) for name in names if example.get(name) is not None}
    return _short(values) if values else ""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else jsonl.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

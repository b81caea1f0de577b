"""A patch: a reviewable edit of a program's prompts, with its reason, evidence and verdict. One YAML file each.

The `Ledger` notes every test of a candidate (a bundle of edits, the bundle without one of them, an edit alone) with its
verdict; ``ledger.jsonl`` has one line for each. `goldassay.tuning.acceptance` says what *kept* and *proven* mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from dspy import Example, Module
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from goldassay._support import files
from goldassay._support.dspy_compat import copy_program, input_keys, signature_of
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, JsonObject
from goldassay.results.view import Cell, Diff, Sentence, Table, View, p_value, shortened, signed
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import TEXT_FIELDS, check_examples, check_instructions
from goldassay.statistics import Interval
from goldassay.tuning.acceptance import CampaignVerdict, Effect, Status
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.wrappers import ANSWER_FORMS, Splits, predictors, wrapped

CHOSEN = ("kept", "better", "dropped")  # the ends of tests whose examples chose the next program


ACTION_FIELDS = {
    "add_instruction": ("text",),
    "remove_instruction": ("old",),
    "replace_instruction": ("old", "text"),
    "add_example": ("example",),
    "remove_example": ("example",),
    "show_nearest": ("example",),
    "describe_field": ("field", "text"),
    "set_form": ("text",),
}
"""The fields that each action needs."""


class Patch(BaseModel):
    """One edit of one predictor's prompt, or of the whole program.

    ``action`` says what it does: a line ``text`` is added to the instructions, words ``old`` are removed or replaced
    by ``text``; the demonstration ``example`` is added after those that are there, or removed; ``field`` is described
    with ``text``. Two actions edit the whole program: ``show_nearest`` shows each input its ``k`` nearest ``examples``,
    compared by their ``keys`` (all in ``example``), in place of those shown so far, and no more than ``k`` are shown to
    every input; ``set_form`` has answers written as ``text``: ``json`` or ``lines``.

    ``status`` is ``kept`` if the patch was best on the examples that chose it, and ``proven`` if a test of this patch
    alone says so. Of a patch that was tested with others ``reason`` says whether their program is proven. A patch that
    was made from the notes of a review has its folder in ``review``, and the failure mode in ``mode``.

    >>> patch = Patch(predictor="extract", action="add_instruction", text="Extract years.")
    >>> patch.section, patch.status.value, patch.id
    ('system', 'proposed', 'add_instruction-24218cb0')
    """

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")

    predictor: str
    action: str
    text: str | None = None
    old: str | None = None
    field: str | None = None
    example: Fields | None = None
    rationale: str = ""
    pattern: str = ""
    mode: str = ""
    review: str = ""
    examples: list[str] = Field(default_factory=list)
    proposer: str = ""
    priority: int = 1
    program: str = ""
    effects: list[Effect] = Field(default_factory=list)
    status: Status = Status.PROPOSED
    reason: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Patch:
        if self.action not in ACTION_FIELDS:
            raise ValueError(f"no action {self.action!r}; there are {', '.join(ACTION_FIELDS)}")
        values = {name: getattr(self, name) for name in ACTION_FIELDS[self.action]}
        blank = self.section == "system"  # an instruction of blanks is none
        if missing := [name for name, value in values.items() if value is None or (blank and not value.strip())]:
            raise ValueError(f"{self.action} needs {' and '.join(missing)}")
        shown = self.example or {}
        if self.action == "show_nearest" and not ({"keys", "examples"} <= shown.keys() and type(shown.get("k")) is int):
            raise ValueError("show_nearest needs an example with k (a whole number), keys and examples")
        if self.action == "set_form" and self.text not in ANSWER_FORMS:
            raise ValueError(f"no form of answers {self.text!r}; there are {', '.join(ANSWER_FORMS)}")
        return self

    @property
    def section(self) -> str:
        """The part of the prompt that it changes: ``system``, ``few_shot`` or ``output_format``."""
        if self.action.endswith("instruction"):
            return "system"
        return "few_shot" if "example" in ACTION_FIELDS[self.action] else "output_format"

    @property
    def id(self) -> str:
        """The action and a hash of the edit: the same edit has the same id."""
        edit = [self.predictor, self.action, self.text, self.old, self.field, self.example]
        return f"{self.action}-{hashlib.sha256(json.dumps(edit, sort_keys=True, default=str).encode()).hexdigest()[:8]}"

    @property
    def edit(self) -> str:
        """The edit in one line, for a table."""
        if self.action == "show_nearest" and self.example:
            k = self.example["k"]
            count = len(self.example["examples"])
            if not count:
                return "no examples besides those of the prompt"
            return (
                f"the same {count} examples for every input" if count <= k else f"the {k} nearest of {count} examples"
            )
        return " ".join((self.text or self.old or json.dumps(self.example, ensure_ascii=False, default=str)).split())

    @property
    def change(self) -> Diff:
        """An edit as removed and added lines, with the reason for it and its outcome."""
        longest = 2000  # characters of an edit
        example = self.example
        if self.example and self.action == "show_nearest":  # a choice among all of train is shown in words
            demos = self.example["examples"]
            example = demos if len(demos) <= self.example["k"] else None
        words = "" if self.old else self.edit
        added = self.text or (json.dumps(example, ensure_ascii=False, indent=1) if example else words)
        lines = [f"- {text}" for text in str(self.old or "")[:longest].splitlines()]
        lines += [f"+ {text}" for text in added[:longest].splitlines()]
        notes = [self.reason, f"Proposed because: {self.rationale}" if self.rationale else ""]
        notes.append(f"From {shortened(self.examples, 8)}" if self.examples else "")
        where = f" in {self.predictor}" if self.predictor else ""
        return Diff(f"{self.id}{where}: {self.status}", lines, ". ".join(filter(None, notes)), folded=True)

    def view(self, diff: Sequence[str]) -> View:
        """The reason, the measured effects, and the diff of the prompt."""
        view = [Sentence(f"{self.id} {self.status} {self.reason}", "head"), Sentence(f"why: {self.rationale}")]
        for effect in self.effects:
            ends = "" if effect.before is None else f"{effect.before:.4f} → {effect.after:.4f}, "
            values = f"{ends}{signed(effect.difference, effect, 4)}"
            sure = "which also chose it, so no interval" if effect.chosen else f"p {p_value(effect.p)}"
            view.append(Sentence(f"on {effect.split}: {values}, {sure}, {effect.size}, {effect.calls} calls"))
        return [*view, Diff("The prompt:", diff)]

    def measured(self, split: str, gain: Interval, p: float, n: int) -> None:
        """Note an effect that is known by its difference alone, in the place of an earlier one of this kind."""
        effect = Effect(split=split, difference=gain.value, low=gain.low, high=gain.high, p=p, n=n)
        self.effects = [*(old for old in self.effects if old.split != split), effect]

    def reject(self, reason: str) -> None:
        """Mark the patch as rejected; the first reason stays."""
        self.status = Status.REJECTED
        self.reason = self.reason or reason


def apply(program: Module, patch: Patch, *, any_version: bool = False) -> Module:
    """A copy of ``program`` with the edit made; the program itself stays as it is.

    A patch that names the program version it was made for is refused for another one, unless ``any_version``.

    Raises:
        GoldassayError: The patch is for another version of the program, or does not fit it.
    """
    if patch.program and not any_version and patch.program != fingerprint(program):
        raise GoldassayError(
            f"patch {patch.id} was made for version {patch.program} of the program, this is {fingerprint(program)}; "
            "propose it again, or allow any version (`any_version=True`)"
        )
    if patch.action in ("show_nearest", "set_form"):
        wrapper = wrapped(program)
        if patch.action == "set_form":
            wrapper.form = patch.text or ""
        elif example := patch.example:
            wrapper.learn([dict(demo) for demo in example["examples"]], example["keys"], example["k"])
        return wrapper
    copy = copy_program(program)
    named = predictors(copy)
    if patch.predictor not in named:
        raise GoldassayError(f"patch {patch.id}: no predictor {patch.predictor!r}; the program has {', '.join(named)}")
    predictor = named[patch.predictor]
    signature = signature_of(predictor)
    demos = list(predictor.demos or [])
    text = patch.text or ""
    old = patch.old or ""
    example = patch.example or {}
    problem = ""
    if patch.action == "describe_field":
        if patch.field in signature.fields:
            description: Fields = {"desc": text}
            predictor.signature = signature.with_updated_fields(patch.field, **description)
        else:
            problem = f"no field {patch.field!r}; there are {', '.join(signature.fields)}"
    elif patch.action == "add_example":
        filled = {key for key, value in example.items() if value is not None}
        for fields in (signature.output_fields, signature.input_fields):
            if filled.isdisjoint(fields):
                problem = f"the example has no {' or '.join(fields)}; it would not be shown"
        predictor.demos = [*demos, Example(**example)]
    elif patch.action == "remove_example":
        predictor.demos = [demo for demo in demos if dict(demo) != example]
        if len(predictor.demos) == len(demos):
            problem = f"the predictor shows {len(demos)} examples, and not this one"
    else:
        before = signature.instructions
        after = before.replace(old, text) if old else f"{before}\n{text}"
        if old and before.count(old) != 1:
            problem = f"{old[:60]!r} occurs {before.count(old)} times in the instructions, not once"
        elif not after.strip():
            problem = "it would leave no instructions, and DSPy would put its own there"
        predictor.signature = signature.with_instructions(after)
    if problem:
        raise GoldassayError(f"patch {patch.id}: {problem}")
    return copy


def view_of(patches: Sequence[Patch]) -> View:
    """Patches with their edit, the measured effect and the status."""
    rows = []
    for patch in patches:
        reason = patch.reason if "program" in patch.reason else ""
        effect = ["–", ""]
        if patch.effects:
            last = patch.effects[-1]
            where = f"on {last.split}, {last.size}{', which chose it' if last.chosen else ''}"
            effect = [Cell(signed(last.difference, last), detail=where), "" if last.chosen else p_value(last.p)]
        rows.append([Cell(patch.id, detail=patch.edit[:160]), Cell(patch.status, detail=reason), *effect])
    if not rows:
        make = "goldassay patch propose TASK RUN"
        return [Sentence(f"No patches yet. To make some:  {make}", unbroken=True)]
    return [Table("patches", ["patch", "status", "effect [95 %]", "p"], rows, left=2)]


def check_patch(patch: Patch, held_out: Splits) -> None:
    """Raise a LeakError if a patch shows a held-out example, exactly or nearly, or an instruction copies its words."""
    check_instructions([patch.text or ""], held_out)
    for split, examples in held_out.items():
        if patch.example and examples:
            keys = input_keys(examples[0]) or TEXT_FIELDS
            demos = patch.example["examples"] if patch.action == "show_nearest" else [patch.example]
            rows = [Example(**{**demo, "id": patch.id}).with_inputs(*keys) for demo in demos]
            check_examples(rows, {split: examples})


def write(patch: Patch, path: Path) -> Path:
    """Write a patch to a YAML file, or as ``ID.yaml`` into a folder."""
    file = path if path.suffix == ".yaml" else path / f"{patch.id}.yaml"
    body = {"id": patch.id, "section": patch.section, **patch.model_dump(mode="json", exclude_none=True)}
    text = yaml.dump(body, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    files.save(file, text)
    return file


class _Dumper(yaml.SafeDumper):
    """Escapes control characters other than line feeds: YAML reads some of them as a line feed or a blank."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        plain = data.replace("\n", "").replace("\t", "").isprintable()
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')


_Dumper.add_representer(str, _Dumper.represent_str)


def read(file: Path) -> Patch:
    """Read a patch that a person may have edited.

    Evidence belongs to the edit that was measured: if a person changed the edit, effects and verdict are dropped.

    Raises:
        DataError: The file is not a patch.
    """
    body = files.yaml_value(file)
    if not isinstance(body, dict) or not all(isinstance(name, str) for name in body):
        raise DataError("a patch is a mapping with predictor, action, …", file=file)
    written = body.pop("id", None)
    try:
        patch = Patch(**{name: value for name, value in body.items() if name != "section"})
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(first["msg"], file=file, field=".".join(map(str, first["loc"])) or None) from None
    if written not in (None, patch.id) and (patch.effects or patch.status != Status.PROPOSED):
        patch.effects = []
        patch.status = Status.PROPOSED
        patch.reason = f"edited by hand: it was {written}"
    return patch


@dataclass
class Ledger:
    """Everything that was tried, in order.

    >>> ledger = Ledger()
    >>> patch = Patch(predictor="x", action="add_instruction", text="Be brief.", status="rejected")
    >>> ledger.note(1, "rules", [patch], "rejected", "not shown to be better", None)
    >>> ledger.entries[0]["status"], ledger.kept
    ('rejected', [])
    """

    patches: list[Patch] = field(default_factory=list)
    """Each edit once, with its last effect and what became of it."""
    patterns: list[list[Pattern]] = field(default_factory=list)
    """The errors before each bundle, most costly first."""
    entries: list[Fields] = field(default_factory=list)
    """One line for each test of a candidate."""
    failures: list[str] = field(default_factory=list)
    """Edits that could not be proposed, for which pattern and why."""
    verdict: CampaignVerdict = field(default_factory=CampaignVerdict)
    """The end: kept, proven."""

    @property
    def kept(self) -> list[Patch]:
        """The edits of the program, in the order in which they build on each other."""
        return [patch for patch in self.patches if patch.status in (Status.KEPT, Status.PROVEN)]

    def conclude(self, verdict: CampaignVerdict, alone: Collection[str] = ()) -> None:
        """Set the verdict on the program, and say of each patch that is kept what follows for it.

        Args:
            verdict: The verdict on the program.
            alone: The ids of the patches that were tested by themselves.
        """
        self.verdict = verdict
        patches = self.kept
        for patch in patches:
            patch.status, patch.reason = verdict.of_patch(len(patches) == 1 or patch.id in alone)

    @property
    def statuses(self) -> list[JsonObject]:
        """The status of every edit, and the reason."""
        return [{"id": patch.id, "status": patch.status, "reason": patch.reason} for patch in self.patches]

    @property
    def tried(self) -> list[str]:
        """A line for each test and its effect: for the model that reflects."""
        lines = []
        for entry in self.entries:
            effect = entry.get("train+dev")
            gain = f"{effect['difference']:+z.3f}" if effect else "not measured"
            edits = "; ".join(str(edit)[:120] for edit in entry["edits"][:3])
            lines.append(f"{entry['candidate']}: {gain}, {entry['status']}: {edits}")
        return lines

    def note(
        self,
        round: int,
        candidate: str,
        patches: Sequence[Patch],
        status: str,
        reason: str,
        effect: Effect | None = None,
    ) -> None:
        """Write down a test of a candidate, and how it ended; patches that it rejects are marked so.

        Args:
            round: The round of the tuning.
            candidate: The name of the candidate.
            patches: The patches that it has.
            status: How the test ended.
            reason: Why, in words.
            effect: What the test measured; None if nothing was measured.
        """
        for patch in patches if status == "rejected" else ():
            patch.reject(reason)
        entry = {
            "round": round,
            "candidate": candidate,
            "patches": [patch.id for patch in patches],
            "edits": [patch.edit for patch in patches],
            "status": status,
            "reason": reason,
        }
        if effect is not None:
            effect = effect.as_chosen if status in CHOSEN else effect
            entry[effect.split] = effect.model_dump(exclude={"split"})
        self.entries.append(entry)

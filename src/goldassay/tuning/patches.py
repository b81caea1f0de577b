"""A patch: a reviewable edit of a program's prompts, with its reason, evidence and verdict. One YAML file each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import dspy
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from goldassay import files
from goldassay._dspy_compat import input_keys
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.running.leaks import INPUTS, check_examples, check_instructions
from goldassay.tuning.wrappers import FORMS, predictors, wrapped


class Effect(BaseModel):
    """What a patch did to the corpus value on one split, measured and paired.

    ``chosen`` says that these examples also chose the patch. The estimate is then too good, so it has no interval, and
    ``p`` is only what the rule of keeping went by.
    """

    model_config = ConfigDict(extra="forbid")

    split: str
    before: float
    after: float
    difference: float
    low: float | None = None
    high: float | None = None
    p: float
    n: int
    documents: int | None = None
    chosen: bool = False
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def size(self) -> str:
        """How many examples it was measured on, and the documents that they belong to, if any two share one."""
        return f"{self.n} examples{f' in {self.documents} documents' if self.documents else ''}"

    @property
    def reversed(self) -> Effect:
        """The effect of making an edit, where this is the effect of leaving it out."""
        ends = [None if end is None else -end for end in (self.high, self.low)]
        sides = {"before": self.after, "after": self.before, "difference": -self.difference}
        return self.model_copy(update={**sides, "low": ends[0], "high": ends[1]})

    @property
    def as_chosen(self) -> Effect:
        """The effect of a patch that was kept for it: without an interval."""
        return self.model_copy(update={"low": None, "high": None, "chosen": True})


class Status(StrEnum):
    """What became of a patch."""

    PROPOSED = "proposed"
    KEPT = "kept"
    PROVEN = "proven"
    REJECTED = "rejected"
    APPLIED = "applied"
    REVERTED = "reverted"


class Patch(BaseModel):
    """One edit of one predictor's prompt; `make_patch` and `read` give the class that belongs to its ``action``.

    ``status`` is ``kept`` if the patch was best on the examples that chose it, and ``proven`` if a test of this patch
    alone says so. Of a patch that was tested with others ``reason`` says whether their program is proven.

    >>> patch = make_patch(predictor="extract", action="add_instruction", text="Extract years.")
    >>> patch.section, patch.status.value, patch.id
    ('system', 'proposed', 'add_instruction-24218cb0')
    """

    model_config = ConfigDict(extra="forbid")
    section: ClassVar[str]  # the part of the prompt that it changes: system, few_shot or output_format

    predictor: str
    action: str
    text: str | None = None
    old: str | None = None
    field: str | None = None
    example: dict[str, Any] | None = None
    rationale: str = ""
    pattern: str = ""
    examples: list[str] = Field(default_factory=list)
    proposer: str = ""
    priority: int = 1
    program: str = ""
    effects: list[Effect] = Field(default_factory=list)
    status: Status = Status.PROPOSED
    reason: str = ""

    @property
    def id(self) -> str:
        """The action and a hash of the edit: the same edit has the same id."""
        edit = [self.predictor, self.action, self.text, self.old, self.field, self.example]
        return f"{self.action}-{hashlib.sha256(json.dumps(edit, sort_keys=True, default=str).encode()).hexdigest()[:8]}"

    @property
    def edit(self) -> str:
        """The edit in one line, for a table."""
        return " ".join((self.text or self.old or json.dumps(self.example, ensure_ascii=False, default=str)).split())

    def reject(self, reason: str) -> None:
        """Mark the patch as rejected; the first reason stays."""
        self.status, self.reason = Status.REJECTED, self.reason or reason

    def applied_to(self, program: dspy.Module) -> dspy.Module:
        """A copy of the program with the edit."""
        copy = program.deepcopy()
        named = predictors(copy)
        if self.predictor not in named:
            raise self.error(f"no predictor {self.predictor!r}; the program has {', '.join(named)}")
        self.change(named[self.predictor])
        return copy

    def change(self, predictor: Any) -> None:
        """Make the edit in a predictor of its own copy."""
        raise NotImplementedError

    def error(self, message: str) -> GoldassayError:
        """An error that names this patch."""
        return GoldassayError(f"patch {self.id}: {message}")


class ExamplePatch(Patch):
    """Adds the demonstration ``example`` after those that are there, or removes it."""

    section: ClassVar[str] = "few_shot"
    action: Literal["add_example", "remove_example"]
    example: dict[str, Any]  # pyright: ignore[reportGeneralTypeIssues]

    def change(self, predictor: Any) -> None:
        demos, filled = list(predictor.demos or []), {key for key, value in self.example.items() if value is not None}
        if self.action == "add_example":
            for fields in (predictor.signature.input_fields, predictor.signature.output_fields):
                if filled.isdisjoint(fields):
                    raise self.error(f"the example has no {' or '.join(fields)}; it would not be shown")
            predictor.demos = [*demos, dspy.Example(**self.example)]
        elif len(left := [demo for demo in demos if dict(demo) != self.example]) < len(demos):
            predictor.demos = left
        else:
            raise self.error(f"the predictor shows {len(demos)} examples, and not this one")


class InstructionPatch(Patch):
    """Adds the line ``text`` to the instructions, removes the words ``old``, or puts ``text`` in their place."""

    section: ClassVar[str] = "system"
    action: Literal["add_instruction", "remove_instruction", "replace_instruction"]

    @model_validator(mode="after")
    def _complete(self) -> InstructionPatch:
        missing = [] if self.old or self.action == "add_instruction" else ["old"]
        missing += [] if (self.text or "").strip() or self.action == "remove_instruction" else ["text"]
        if missing:
            raise ValueError(f"{self.action} needs {' and '.join(missing)}")
        return self

    def change(self, predictor: Any) -> None:
        before = predictor.signature.instructions
        after = f"{before}\n{self.text}"
        if self.old:
            if before.count(self.old) != 1:
                raise self.error(
                    f"{self.old[:60]!r} stands {before.count(self.old)} times in the instructions, not once"
                )
            after = before.replace(self.old, self.text or "")
        if not after.strip():
            raise self.error("it would leave no instructions, and DSPy would put its own there")
        predictor.signature = predictor.signature.with_instructions(after)


class FieldPatch(Patch):
    """Describes the field ``field`` with ``text``."""

    section: ClassVar[str] = "output_format"
    action: Literal["describe_field"]
    text: str  # pyright: ignore[reportGeneralTypeIssues]
    field: str  # pyright: ignore[reportGeneralTypeIssues]

    def change(self, predictor: Any) -> None:
        signature = predictor.signature
        if self.field not in signature.fields:
            raise self.error(f"no field {self.field!r}; there are {', '.join(signature.fields)}")
        predictor.signature = signature.with_updated_fields(self.field, desc=self.text)


class NearestPatch(Patch):
    """Shows each input its ``k`` nearest ``examples``, compared by their ``keys``, in place of those shown so far.

    No more than ``k`` examples are shown to every input. It edits the whole program.
    """

    section: ClassVar[str] = "few_shot"
    action: Literal["show_nearest"]
    example: dict[str, Any]  # pyright: ignore[reportGeneralTypeIssues]

    @field_validator("example")
    @classmethod
    def _complete(cls, example: dict[str, Any]) -> dict[str, Any]:
        if not example.get("examples") or not example.get("keys"):
            raise ValueError("show_nearest needs an example with k, keys and examples")
        return example

    @property
    def edit(self) -> str:
        """The edit in one line, for a table."""
        k, count = int(self.example.get("k", 4)), len(self.example["examples"])
        return f"the same {count} examples for every input" if count <= k else f"the {k} nearest of {count} examples"

    def applied_to(self, program: dspy.Module) -> dspy.Module:
        copy, examples = wrapped(program), [dict(example) for example in self.example["examples"]]
        copy.learn(examples, self.example["keys"], int(self.example.get("k", 4)))
        return copy


class FormPatch(Patch):
    """Has answers written as ``text``: ``json`` or ``lines``. It edits the whole program."""

    section: ClassVar[str] = "output_format"
    action: Literal["set_form"]
    text: str  # pyright: ignore[reportGeneralTypeIssues]

    @field_validator("text")
    @classmethod
    def _known(cls, text: str) -> str:
        if text not in FORMS:
            raise ValueError(f"no form of answers {text!r}; there are {', '.join(FORMS)}")
        return text

    def applied_to(self, program: dspy.Module) -> dspy.Module:
        copy = wrapped(program)
        copy.form = self.text
        return copy


AnyPatch = Annotated[
    ExamplePatch | InstructionPatch | FieldPatch | NearestPatch | FormPatch, Field(discriminator="action")
]
_ANY: TypeAdapter[Patch] = TypeAdapter(AnyPatch)


def make_patch(**fields: Any) -> Patch:
    """The patch with these fields, of the class that belongs to its ``action``; a ValueError if one is missing."""
    return _ANY.validate_python(fields)


def apply(program: dspy.Module, patch: Patch, *, any_version: bool = False) -> dspy.Module:
    """A copy of ``program`` with the edit made; the program itself stays as it is.

    A patch that names the program version it was made for is refused for another one, unless ``any_version``.
    """
    if patch.program and not any_version and patch.program != fingerprint(program):
        raise GoldassayError(
            f"patch {patch.id} was made for version {patch.program} of the program, this is {fingerprint(program)}; "
            "propose it again, or allow any version (`any_version=True`)"
        )
    return patch.applied_to(program)


def check_patch(patch: Patch, held_out: Mapping[str, Sequence[dspy.Example]]) -> None:
    """Raise a LeakError if a patch shows a held-out example, exactly or nearly, or an instruction copies its words."""
    check_instructions([patch.text or ""], held_out)
    for split, examples in held_out.items():
        if patch.example and examples:
            keys = input_keys(examples[0]) or INPUTS
            demos = patch.example["examples"] if patch.action == "show_nearest" else [patch.example]
            rows = [dspy.Example(**{**demo, "id": patch.id}).with_inputs(*keys) for demo in demos]
            check_examples(rows, {split: examples})


def write(patch: Patch, place: Path) -> Path:
    """Write a patch to a YAML file, or as ``ID.yaml`` into a folder."""
    file = place if place.suffix == ".yaml" else place / f"{patch.id}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    body = {"id": patch.id, "section": patch.section, **patch.model_dump(mode="json", exclude_none=True)}
    text = yaml.dump(body, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file


class _Dumper(yaml.SafeDumper):
    """Escapes control characters other than line feeds: YAML reads some of them as a line feed or a blank."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        plain = data.replace("\n", "").replace("\t", "").isprintable()
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')


_Dumper.add_representer(str, _Dumper.represent_str)


def read(file: Path) -> Patch:
    """Read a patch that a person may have edited; nonsense is a DataError that says where.

    Evidence belongs to the edit that was measured: if a person changed the edit, effects and verdict are dropped.
    """
    body = files.yaml_value(file)
    if not isinstance(body, dict) or not all(isinstance(name, str) for name in body):
        raise DataError("a patch is a mapping with predictor, action, …", file=file)
    body.pop("section", None)
    written = body.pop("id", None)
    try:
        patch = make_patch(**body)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"] if part != body.get("action"))
        unknown = first["type"].startswith("union_tag")
        raise DataError(first["msg"], file=file, field="action" if unknown else field or None) from None
    if written not in (None, patch.id) and (patch.effects or patch.status != Status.PROPOSED):
        patch.effects, patch.status, patch.reason = [], Status.PROPOSED, f"edited by hand: it was {written}"
    return patch


def read_all(folder: Path) -> list[tuple[Path, Patch]]:
    """All patches of a folder, by priority, then by name."""
    patches = [(file, read(file)) for file in sorted(folder.glob("*.yaml"))]
    return sorted(patches, key=lambda pair: (pair[1].priority, pair[0].name))

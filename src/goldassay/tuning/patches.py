"""A patch: a reviewable edit of a program's prompts, with reasons, proof and verdict. One YAML file each.

Applying a patch to a program, and taking it back: exact inverses of each other.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import dspy
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.tuning.wrappers import WRITTEN, Formed, Nearest, predictors, without_nearest

Action = Literal[
    "add_example",
    "remove_example",
    "replace_example",
    "show_nearest",
    "add_instruction",
    "remove_instruction",
    "replace_instruction",
    "describe_field",
    "set_form",
]
SECTION: dict[str, str] = {
    "add_example": "few_shot",
    "remove_example": "few_shot",
    "replace_example": "few_shot",
    "show_nearest": "few_shot",
    "add_instruction": "system",
    "remove_instruction": "system",
    "replace_instruction": "system",
    "describe_field": "output_format",
    "set_form": "output_format",
}
WRAPS = ("show_nearest", "set_form")  # edits of the whole program, not of one predictor
NEEDS: dict[str, tuple[str, ...]] = {
    "add_example": ("example",),
    "remove_example": ("index",),
    "replace_example": ("index", "example"),
    "show_nearest": ("example",),
    "add_instruction": ("text",),
    "remove_instruction": ("old",),
    "replace_instruction": ("old", "text"),
    "describe_field": ("field", "text"),
    "set_form": ("text",),
}


class Effect(BaseModel):
    """What a patch did to the corpus value on one split, measured and paired."""

    model_config = ConfigDict(extra="forbid")

    split: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    n: int
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def turned(self) -> Effect:
        """What edits carry, where this is the effect of leaving them out."""
        sides = {"before": self.after, "after": self.before, "difference": -self.difference}
        return self.model_copy(update={**sides, "low": -self.high, "high": -self.low})


class Patch(BaseModel):
    """One edit of one predictor's prompt.

    ``status`` is ``kept`` where it was best on the examples that it was chosen on, and ``proven`` where examples that
    had no part in that say so. ``show_nearest`` edits the whole program: ``example`` holds its number ``k``, the
    ``keys`` that are compared and the ``examples`` to choose from, in place of those that are chosen from now (no more
    than ``k`` of them are shown to every input); so does ``set_form``, whose ``text`` is ``json``,
    ``lines`` or ``types``.

    >>> patch = Patch(predictor="extract", action="add_instruction", text="Extract years.", rationale="18 years missed")
    >>> patch.section, patch.status, patch.id
    ('system', 'proposed', 'add_instruction-58e7e346')
    """

    model_config = ConfigDict(extra="forbid")

    predictor: str
    action: Action
    text: str | None = None
    old: str | None = None
    field: str | None = None
    example: dict[str, Any] | None = None
    index: int | None = Field(default=None, ge=0)
    rationale: str = ""
    pattern: str = ""
    examples: list[str] = Field(default_factory=list)
    proposer: str = ""
    priority: int = 1
    program: str = ""
    effects: list[Effect] = Field(default_factory=list)
    status: Literal["proposed", "kept", "proven", "rejected", "applied", "reverted"] = "proposed"
    reason: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Patch:
        missing = [name for name in NEEDS[self.action] if getattr(self, name) is None]
        if self.action == "add_instruction" and not (self.text or "text").strip():
            missing = ["text"]
        if missing:
            raise ValueError(f"{self.action} needs {' and '.join(missing)}")
        return self

    @property
    def section(self) -> str:
        """The part of the prompt that it changes: ``system``, ``few_shot`` or ``output_format``."""
        return SECTION[self.action]

    @property
    def id(self) -> str:
        """The action and a hash of the edit: the same edit has the same id."""
        edit = [self.predictor, self.action, self.text, self.old, self.field, self.example, self.index]
        return f"{self.action}-{hashlib.sha256(json.dumps(edit, sort_keys=True, default=str).encode()).hexdigest()[:8]}"

    @property
    def edit(self) -> str:
        """The edit in one line, for a table."""
        if self.action == "show_nearest":
            given = self.example or {}
            count = len(given.get("examples", ()))
            if count <= int(given.get("k") or 0):
                return f"the same {count} examples for every input"
            return f"the {given.get('k')} nearest of {count} examples"
        shown = self.text or self.old or json.dumps(self.example, ensure_ascii=False, default=str) or f"#{self.index}"
        return " ".join(str(shown if shown != "null" else f"#{self.index}").split())


def write(patch: Patch, folder: Path) -> Path:
    """Write a patch as ``ID.yaml``; the parent folders are made."""
    folder.mkdir(parents=True, exist_ok=True)
    return rewrite(patch, folder / f"{patch.id}.yaml")


def rewrite(patch: Patch, file: Path) -> Path:
    """Write a patch to its file, whatever a person called it."""
    body = {"id": patch.id, "section": patch.section, **patch.model_dump(exclude_none=True)}
    text = yaml.dump(body, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file


class _Dumper(yaml.SafeDumper):
    """Text with other controls than line feeds is escaped: YAML reads some of them as a line feed or a blank."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = text.replace("\n", "").replace("\t", "").isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def read(file: Path) -> Patch:
    """Read a patch that a person may have edited; nonsense is a DataError that says where.

    What was measured belongs to the edit that was measured: where a person changed the edit, the effects and the
    verdict are left out.
    """
    body = files.yaml_value(file)
    if not isinstance(body, dict):
        raise DataError("a patch is a mapping with predictor, action, …", file=file)
    body.pop("section", None)
    written = body.pop("id", None)
    try:
        patch = Patch.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(first["msg"], file=file, field=".".join(map(str, first["loc"])) or None) from None
    if written not in (None, patch.id) and (patch.effects or patch.status != "proposed"):
        patch.effects, patch.status, patch.reason = [], "proposed", f"edited by hand: it was {written}"
    return patch


def read_all(folder: Path) -> list[tuple[Path, Patch]]:
    """All patches of a folder, by priority, then by name."""
    found = [(file, read(file)) for file in sorted(folder.glob("*.yaml"))]
    return sorted(found, key=lambda pair: (pair[1].priority, pair[0].name))


def apply(program: dspy.Module, patch: Patch, *, any_version: bool = False) -> dspy.Module:
    """A copy of ``program`` with the edit made; the program itself stays as it is.

    A patch that names the program version it was made for is refused for another one, unless ``any_version``.
    """
    if patch.program and not any_version and patch.program != fingerprint(program):
        raise GoldassayError(
            f"patch {patch.id} was made for version {patch.program} of the program, this is {fingerprint(program)}; "
            "propose and test it again"
        )
    if patch.action in WRAPS:
        return _wrapped(program, patch)
    copy = program.deepcopy()
    predictor = _predictor(copy, patch)
    if patch.section == "few_shot":
        predictor.demos = _demos(list(predictor.demos or []), patch, predictor.signature)
    elif patch.section == "system":
        predictor.signature = predictor.signature.with_instructions(
            _instructions(predictor.signature.instructions, patch)
        )
    else:
        predictor.signature = _described(predictor.signature, patch)
    return copy


def inverse(program: dspy.Module, patch: Patch) -> Patch:
    """The patch that takes ``patch`` back, given the program before it was applied."""
    if patch.action in WRAPS:
        raise GoldassayError(f"patch {patch.id} wraps the program; keep the program as it was to take it back")
    predictor, patched = _predictor(program, patch), apply(program, patch)
    base: dict[str, Any] = {
        "predictor": patch.predictor,
        "rationale": f"takes back {patch.id}",
        "program": fingerprint(patched),
    }
    if patch.action == "add_example":
        return Patch(action="remove_example", index=_place(patch, len(predictor.demos or [])), **base)
    if patch.action == "remove_example":
        return Patch(action="add_example", example=_plain(predictor.demos[patch.index]), index=patch.index, **base)
    if patch.action == "replace_example":
        return Patch(action="replace_example", example=_plain(predictor.demos[patch.index]), index=patch.index, **base)
    if patch.action == "describe_field":
        old = predictor.signature.fields[patch.field].json_schema_extra.get("desc", "")
        return Patch(action="describe_field", field=patch.field, text=old, **base)
    now = _predictor(patched, patch).signature.instructions  # DSPy takes white space off the ends of what it is given
    return Patch(action="replace_instruction", old=now, text=predictor.signature.instructions, **base)


def _predictor(program: dspy.Module, patch: Patch) -> Any:
    known = predictors(program)
    if patch.predictor not in known:
        raise GoldassayError(f"patch {patch.id}: no predictor {patch.predictor!r}; the program has {', '.join(known)}")
    return known[patch.predictor]


def _place(patch: Patch, count: int) -> int:
    return count if patch.index is None else patch.index


def _wrapped(program: dspy.Module, patch: Patch) -> Any:
    """The program that is shown its nearest examples, or whose answers have another form."""
    if patch.action == "set_form":
        if patch.text not in WRITTEN:
            raise GoldassayError(f"patch {patch.id}: no form of answers {patch.text!r}; there are {', '.join(WRITTEN)}")
        return Formed(program.deepcopy(), str(patch.text))
    given = patch.example or {}
    if not given.get("examples") or not given.get("keys"):
        raise GoldassayError(f"patch {patch.id}: show_nearest needs an example with k, keys and examples")
    made = Nearest(without_nearest(program), int(given.get("k", 4)))
    made.learn([dict(one) for one in given["examples"]], given["keys"])
    return made


def _demos(demos: list[Any], patch: Patch, signature: type[dspy.Signature]) -> list[Any]:
    if patch.action != "remove_example":
        known = {key for key, value in (patch.example or {}).items() if value is not None}
        for fields in (signature.input_fields, signature.output_fields):
            if known.isdisjoint(fields):
                raise GoldassayError(
                    f"patch {patch.id}: the example has no {' or '.join(fields)}; it would not be shown"
                )
    if patch.action == "add_example":
        place = _place(patch, len(demos))
        if place > len(demos):
            raise GoldassayError(f"patch {patch.id}: no place {place} for an example; the predictor shows {len(demos)}")
        demos.insert(place, dspy.Example(**(patch.example or {})))
        return demos
    if not 0 <= (patch.index or 0) < len(demos):
        raise GoldassayError(f"patch {patch.id}: no example {patch.index}; the predictor shows {len(demos)}")
    demos.pop(patch.index or 0)
    if patch.action == "replace_example":
        demos.insert(patch.index or 0, dspy.Example(**(patch.example or {})))
    return demos


def _instructions(text: str, patch: Patch) -> str:
    if patch.action == "add_instruction":
        return f"{text}\n{patch.text}"
    old = patch.old or ""
    if text.count(old) != 1:
        raise GoldassayError(
            f"patch {patch.id}: {old[:60]!r} stands {text.count(old)} times in the instructions, not once"
        )
    left = text.replace(old, (patch.text or "") if patch.action == "replace_instruction" else "")
    if not left.strip():
        raise GoldassayError(f"patch {patch.id} would leave no instructions, and DSPy would put its own there")
    return left


def _described(signature: Any, patch: Patch) -> Any:
    if patch.field not in signature.fields:
        raise GoldassayError(f"patch {patch.id}: no field {patch.field!r}; there are {', '.join(signature.fields)}")
    return signature.with_updated_fields(patch.field, desc=patch.text)


def _plain(demo: Any) -> dict[str, Any]:
    return {key: demo[key] for key in demo.keys()} if hasattr(demo, "keys") else dict(demo)  # noqa: SIM118

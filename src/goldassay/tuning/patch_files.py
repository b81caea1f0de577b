"""A patch: a reviewable edit of a program's prompts, with reasons, proof and verdict. One YAML file each."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from goldassay.exceptions import DataError

Action = Literal[
    "add_example", "remove_example", "add_instruction", "remove_instruction", "replace_instruction", "describe_field"
]
SECTION: dict[str, str] = {
    "add_example": "few_shot",
    "remove_example": "few_shot",
    "add_instruction": "system",
    "remove_instruction": "system",
    "replace_instruction": "system",
    "describe_field": "output_format",
}
NEEDS: dict[str, tuple[str, ...]] = {
    "add_example": ("example",),
    "remove_example": ("index",),
    "add_instruction": ("text",),
    "remove_instruction": ("old",),
    "replace_instruction": ("old", "text"),
    "describe_field": ("field", "text"),
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


class Patch(BaseModel):
    """One edit of one predictor's prompt.

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
    status: Literal["proposed", "accepted", "rejected", "applied", "reverted"] = "proposed"
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
    try:
        body = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=file) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        raise DataError(
            f"not YAML: {getattr(error, 'problem', error)}", file=file, line=mark.line + 1 if mark else None
        ) from None
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

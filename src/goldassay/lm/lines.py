r"""Answers as lines: what a schema asks for, written with as few tokens as it allows.

A list of names is ``TOP: Delft``, one a line, where JSON needs braces, quotes and the name of every field for each; a
line with a hyphen ends it (without that mark a small model goes on until it may no longer). One
label is the label alone. The same schema gives the lines of a demonstration (`Lines.render`), the grammar that a local
model's answer keeps to (`goldassay.lm.grammar`), and the values that come back (`Lines.read`).

A field that is *copied* from the input is decoded as a run of the input's own words, so a name cannot be invented:

* the ``text`` of an object that has a ``type`` or ``label`` beside it (a mention),
* a field whose type is `Copied` (in a signature or in a model of pydantic).

It is copied from all inputs but those whose type is `Asked`: a question holds no answer.

Where that does not hold (an answer in other words, a normal form, a translation), do not mark the field. It cannot
help where the reader's own words are asked for, and it does not stop a wrong name from being copied.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field as FieldInfo

Schema = Mapping[str, Any]
Copied = Annotated[str, FieldInfo(json_schema_extra={"copied": True})]
"""The type of a text that is copied from the input, word for word."""
Asked = Annotated[str, FieldInfo(json_schema_extra={"copied": False})]
"""The type of an input that nothing is copied from, such as a question."""
NOTHING = "-"
LINE = "\n"


@dataclass(frozen=True)
class Scalar:
    """A value on one line: a label of several, a text, a number, yes or no."""

    kind: str
    labels: tuple[str, ...] = ()
    copied: bool = False
    empty: bool = False
    longest: int | None = None
    lowest: float | None = None
    highest: float | None = None

    def render(self, value: object) -> str:
        """The value as it is written."""
        if value is None or value == "":
            return NOTHING
        return str(value).lower() if self.kind == "boolean" else " ".join(str(value).split())

    def read(self, text: str) -> Any:
        """The value that was written; a text as it is, what does not fit its kind too (the adapter says so)."""
        text = text.strip()
        if text == NOTHING:
            return None if self.empty else ("" if self.kind == "text" else text)
        try:
            return json.loads(text) if self.kind in ("number", "integer", "boolean") else text
        except ValueError:
            return text


@dataclass(frozen=True)
class ObjectLine:
    """An object of scalars on one line: ``TYPE: text`` for a label and a text, else its values between bars."""

    fields: tuple[tuple[str, Scalar], ...]

    @property
    def mention(self) -> tuple[str, str] | None:
        """The names of the label and of the text, where the object has just these two."""
        if len(self.fields) != 2:
            return None
        labels = [name for name, field in self.fields if field.labels]
        texts = [name for name, field in self.fields if field.kind == "text" and not field.labels]
        return (labels[0], texts[0]) if len(labels) == len(texts) == 1 else None

    def render(self, value: Mapping[str, object]) -> str:
        """The object as a line."""
        shown = {name: field.render(value.get(name)) for name, field in self.fields}
        if self.mention:
            return f"{shown[self.mention[0]]}: {shown[self.mention[1]]}"
        return " | ".join(shown.values())

    def read(self, line: str) -> dict[str, object] | None:
        """The object of a line; ``None`` where it lacks a part."""
        order: tuple[str, ...] = self.mention or tuple(name for name, _ in self.fields)
        parts = line.split(": ", 1) if self.mention else line.split(" | ", len(order) - 1)
        if len(parts) < len(order):
            return None
        fields = dict(self.fields)
        return {name: fields[name].read(part) for name, part in zip(order, parts, strict=True)}


@dataclass(frozen=True)
class Items:
    """A list, an item a line."""

    item: Scalar | ObjectLine
    most: int | None = None


Field = Scalar | ObjectLine | Items


@dataclass(frozen=True)
class Lines:
    r"""The form of an answer: its fields in their order.

    >>> form = Lines.of({"type": "object", "properties": {"names": {"type": "array", "items": {"type": "object",
    ...     "properties": {"text": {"type": "string"}, "type": {"enum": ["TOP", "TMP"]}}}}}})
    >>> form.render({"names": [{"text": "Delft", "type": "TOP"}, {"text": "1667", "type": "TMP"}]})
    'TOP: Delft\nTMP: 1667\n-'
    >>> form.read("TOP: Delft\nTMP: 1667\n-")["names"][1]
    {'type': 'TMP', 'text': '1667'}
    >>> Lines.of({"type": "object", "properties": {"deep": {"type": "object"}}}) is None
    True
    """

    fields: tuple[tuple[str, Field], ...]

    @classmethod
    def of(cls, schema: Schema) -> Lines | None:
        """The form of a schema; ``None`` where it has more depth than lines can show."""
        fields = []
        for name, part in schema.get("properties", {}).items():
            field = _field(part, schema)
            if field is None:
                return None
            fields.append((name, field))
        return cls(tuple(fields)) if fields else None

    @property
    def lists(self) -> bool:
        """Whether an output is a list."""
        return any(isinstance(field, Items) for _, field in self.fields)

    @property
    def _alone(self) -> Field | None:
        return self.fields[0][1] if len(self.fields) == 1 else None

    def render(self, values: Mapping[str, object]) -> str:
        """The values that are given, as a demonstration shows them."""
        known = [(name, field) for name, field in self.fields if name in values]
        if self._alone and known:
            return _rendered(self._alone, values[known[0][0]])
        return LINE.join(_titled(name, field, values[name]) for name, field in known)

    def read(self, text: str) -> dict[str, Any]:
        """The values of an answer; a field that is not there is left out."""
        lines = text.strip().splitlines()
        if self._alone:
            return {self.fields[0][0]: _read(self._alone, lines)}
        places: dict[str, int] = {}
        for name, _ in self.fields:
            start = places[max(places, key=lambda key: places[key])] + 1 if places else 0
            found = next((n for n in range(start, len(lines)) if lines[n].startswith(f"{name}:")), None)
            if found is not None:
                places[name] = found
        out = {}
        for name, field in self.fields:
            if name in places:
                end = min((n for n in places.values() if n > places[name]), default=len(lines))
                head = lines[places[name]].removeprefix(f"{name}:").strip()
                out[name] = _read(field, ([head] if head else []) + lines[places[name] + 1 : end])
        return out


def _field(part: Schema, root: Schema) -> Field | None:
    part = _resolved(part, root)
    if part.get("type") == "array":
        item = _field(part.get("items") or {}, root)
        return Items(item, part.get("maxItems")) if isinstance(item, (Scalar, ObjectLine)) else None
    if "properties" in part:
        row = []
        for name, inner in part["properties"].items():
            scalar = _field(inner, root)
            if not isinstance(scalar, Scalar):
                return None
            beside = part["properties"].keys() & {"type", "label"}
            named = name == "text" and bool(beside) and scalar.kind == "text" and not scalar.labels
            row.append((name, Scalar(**{**vars_of(scalar), "copied": scalar.copied or named})))
        return ObjectLine(tuple(row)) if row else None
    return _scalar(part, root)


def _scalar(part: Schema, root: Schema) -> Scalar | None:
    copied, empty = bool(part.get("copied")), False
    if "anyOf" in part:
        options = [_resolved(option, root) for option in part["anyOf"]]
        rest = [option for option in options if option.get("type") != "null"]
        if len(rest) != 1:
            return None
        part, empty = rest[0], len(rest) < len(options)
    if "const" in part or "enum" in part:
        labels = [part["const"]] if "const" in part else part["enum"]
        words = tuple(str(label) for label in labels)
        plain = all(isinstance(label, str) and label.strip() == label and LINE not in label for label in labels)
        return Scalar("text", words, empty=empty) if plain and NOTHING not in words else None
    kind = part.get("type")
    if kind == "string" and not part.keys() & {"pattern", "format"}:
        return Scalar("text", (), copied or bool(part.get("copied")), empty, part.get("maxLength"))
    if kind not in ("number", "integer", "boolean"):
        return None
    return Scalar(str(kind), empty=empty, lowest=part.get("minimum"), highest=part.get("maximum"))


def _resolved(part: Schema, root: Schema) -> Schema:
    """A part with its reference followed; what stands beside the reference is kept."""
    here: Any = root
    name = part.get("$ref")
    if name is None and len(part.get("allOf", ())) == 1:
        return {**_resolved(part["allOf"][0], root), **{key: value for key, value in part.items() if key != "allOf"}}
    if not isinstance(name, str):
        return part
    for key in name.removeprefix("#/").split("/"):
        here = here.get(key, {})
    return {**here, **{key: value for key, value in part.items() if key != "$ref"}}


def vars_of(scalar: Scalar) -> dict[str, Any]:
    """The fields of a scalar, to make another with."""
    return {name: getattr(scalar, name) for name in Scalar.__dataclass_fields__}


def _rendered(field: Field, value: Any) -> str:
    if isinstance(field, Items):
        return LINE.join([*(field.item.render(item) for item in value), NOTHING])
    if isinstance(field, ObjectLine):
        return LINE.join(f"{name}: {inner.render(value.get(name))}" for name, inner in field.fields)
    return field.render(value)


def _titled(name: str, field: Field, value: Any) -> str:
    if isinstance(field, Items):
        return LINE.join([f"{name}:", *(f"- {field.item.render(item)}" for item in value)]) if value else f"{name}: -"
    return f"{name}: {field.render(value)}"


def _read(field: Field, lines: list[str]) -> Any:
    if isinstance(field, Items):
        shown = [line.removeprefix("- ").strip() for line in lines]
        found = [field.item.read(line) for line in shown if line and line != NOTHING]
        return [item for item in found if item is not None]
    if isinstance(field, ObjectLine):
        if not any(line.startswith(f"{field.fields[0][0]}:") for line in lines):
            return field.read(" ".join(lines))
        return Lines(field.fields).read(LINE.join(lines))
    return field.read(" ".join(lines))

r"""Answers as lines: what a schema asks for, written with as few tokens as it allows.

A list of names is ``TOP: Delft``, one a line, where JSON needs braces, quotes and the name of every field for each. A
line with a hyphen ends the list (without that mark a small model goes on until it runs out of tokens). One label is the
label alone. The same form renders demonstrations (`Lines.render`), gives the grammar that constrains a local model
(`Lines.grammar`) and reads the answer (`Lines.read`).

A *copied* field is decoded as a run of the input's own words, so a name cannot be invented:

* the ``text`` of an object that has a ``type`` or ``label`` beside it (a mention),
* a field whose type is `Copied` (in a signature or in a pydantic model).

It is copied from all inputs except those whose type is `Asked`: a question holds no answer. Do not mark a field that
rephrases, translates or normalises the input. Copying does not stop a model from choosing the wrong words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field as FieldInfo

Schema = Mapping[str, Any]
Copied = Annotated[str, FieldInfo(json_schema_extra={"copied": True})]
"""The type of a text that is copied from the input, word for word."""
Asked = Annotated[str, FieldInfo(json_schema_extra={"copied": False})]
"""The type of an input that nothing is copied from, such as a question."""
NOTHING = "-"
LINE = "\n"
ITEMS, CHARACTERS, TOP_CHARACTERS = 12, 64, 400
"""Bounds where a schema states none: items of a list, characters of a text in a list and of a text of its own."""
LETTERS = 8  # of a word: bounds in characters become bounds in words for copied text


class Field:
    """A part of an answer; `Scalar`, `ObjectLine` and `Items` are its forms."""

    open_ended = False
    """Whether its text may always go on, so that a grammar has to name the token that ends the turn."""

    def line(self, value: Any) -> str:
        """The value on one line."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """The value of a line."""
        raise NotImplementedError

    def rule(self, grammar: Grammar, listed: bool = False) -> str:
        """The grammar of a line; ``listed`` for an item of a list."""
        raise NotImplementedError

    def render(self, value: Any) -> str:
        """The value where it is the whole answer."""
        return self.line(value)

    def titled(self, name: str, value: Any) -> str:
        """The value after its name, where there are other fields."""
        return f"{name}: {self.line(value)}"

    def read(self, lines: Sequence[str]) -> Any:
        """The value of the lines that belong to this field."""
        return self.parse(" ".join(lines))

    def whole_rule(self, grammar: Grammar) -> str:
        """The grammar where this is the whole answer."""
        return self.rule(grammar)

    def titled_rule(self, name: str, grammar: Grammar) -> str:
        """The grammar after the field's name."""
        return f"{_quoted(name + ': ')} {self.rule(grammar)}"


@dataclass(frozen=True)
class Scalar(Field):
    """A value on one line: one of several labels, a text, a number, yes or no."""

    kind: str
    labels: tuple[str, ...] = ()
    copied: bool = False
    optional: bool = False
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None

    @property
    def open_ended(self) -> bool:  # type: ignore[override]
        """All but labels and truth values."""
        return not self.labels and self.kind != "boolean"

    def line(self, value: Any) -> str:
        if value is None or value == "":
            return NOTHING
        return str(value).lower() if self.kind == "boolean" else " ".join(str(value).split())

    def parse(self, text: str) -> Any:
        """A text that does not fit the kind stays a text: the adapter reports it."""
        text = text.strip()
        if text == NOTHING:
            return None if self.optional else ("" if self.kind == "text" else text)
        try:
            return text if self.kind == "text" else json.loads(text)
        except ValueError:
            return text

    def rule(self, grammar: Grammar, listed: bool = False) -> str:
        length = self.max_length or (grammar.characters if listed else TOP_CHARACTERS)
        if self.labels:
            rule = " | ".join(map(_quoted, self.labels))
        elif self.kind in ("number", "integer"):
            rule = self._number()
        elif self.kind == "boolean":
            rule = '"true" | "false"'
        elif self.copied and grammar.source:
            # a letter or digit first, or a mark before it other than the hyphen, which ends a list
            words = rf"/[^ \-]*[\p{{L}}\p{{N}}][^ ]*( [^ ]+){{0,{max(1, length // LETTERS) - 1}}}/"
            rule = f"({grammar.copies()}) & {words}"
        else:
            rule = f"/[^\\n|]{{1,{length}}}/"
        name = grammar.name(rule)
        return f"({name} | {_quoted(NOTHING)})" if self.optional or (self.copied and not listed) else name

    def _number(self) -> str:
        """A number within its bounds, where a grammar can say them: from 0 to 1, or one of a hundred whole numbers."""
        low, high = self.minimum, self.maximum
        if low is not None and high is not None and self.kind == "integer" and high - low <= 100:
            return " | ".join(_quoted(str(number)) for number in range(math.ceil(low), math.floor(high) + 1))
        if (low, high) == (0, 1):
            return r"/0(\.[0-9]{1,6})?|1(\.0)?/"
        return r"/-?[0-9]{1,12}/" if self.kind == "integer" else r"/-?[0-9]{1,12}(\.[0-9]{1,6})?/"


@dataclass(frozen=True)
class ObjectLine(Field):
    """An object of scalars on one line: ``TYPE: text`` for a label and a text, else its values between bars."""

    fields: Mapping[str, Scalar]

    @property
    def open_ended(self) -> bool:  # type: ignore[override]
        return list(self.fields.values())[-1].open_ended

    @property
    def mention(self) -> tuple[str, str] | None:
        """The names of the label and of the text, where the object has just these two."""
        labels = [name for name, field in self.fields.items() if field.labels]
        texts = [name for name, field in self.fields.items() if field.kind == "text" and not field.labels]
        return (labels[0], texts[0]) if len(self.fields) == 2 and len(labels) == len(texts) == 1 else None

    @property
    def _order(self) -> tuple[Sequence[str], str]:
        return (self.mention, ": ") if self.mention else (list(self.fields), " | ")

    def line(self, value: Any) -> str:
        names, separator = self._order
        return separator.join(self.fields[name].line(value.get(name)) for name in names)

    def parse(self, text: str) -> dict[str, Any] | None:
        """The object of a line; None if it lacks a part."""
        names, separator = self._order
        parts = text.split(separator, len(names) - 1)
        if len(parts) < len(names):
            return None
        return {name: self.fields[name].parse(part) for name, part in zip(names, parts, strict=True)}

    def rule(self, grammar: Grammar, listed: bool = False) -> str:
        names, separator = self._order
        return f" {_quoted(separator)} ".join(self.fields[name].rule(grammar, listed=True) for name in names)

    def render(self, value: Any) -> str:
        return Lines(self.fields).titled(value)

    def read(self, lines: Sequence[str]) -> Any:
        if any(line.startswith(f"{next(iter(self.fields))}:") for line in lines):
            return Lines(self.fields).read_titled(lines)
        return super().read(lines)

    def whole_rule(self, grammar: Grammar) -> str:
        return Lines(self.fields).titled_rules(grammar)


@dataclass(frozen=True)
class Items(Field):
    """A list, an item a line."""

    item: Scalar | ObjectLine
    max_items: int | None = None

    def render(self, value: Any) -> str:
        return LINE.join([*map(self.item.line, value), NOTHING])

    def titled(self, name: str, value: Any) -> str:
        return LINE.join([f"{name}:", *(f"- {self.item.line(item)}" for item in value)]) if value else f"{name}: -"

    def read(self, lines: Sequence[str]) -> list[Any]:
        shown = [line.removeprefix("- ").strip() for line in lines]
        items = [self.item.parse(line) for line in shown if line and line != NOTHING]
        return [item for item in items if item is not None]

    def whole_rule(self, grammar: Grammar) -> str:
        item = self.item.rule(grammar, listed=True)
        return f'({item} "\\n"){{0,{self.max_items or grammar.items}}} {_quoted(NOTHING)}'

    def titled_rule(self, name: str, grammar: Grammar) -> str:
        item = f'"\\n- " {self.item.rule(grammar, listed=True)}'
        return f'{_quoted(name + ":")} (" -" | ({item}){{1,{self.max_items or grammar.items}}})'


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

    fields: Mapping[str, Field]

    @classmethod
    def of(cls, schema: Schema) -> Lines | None:
        """The form of a schema; None if it is nested deeper than lines can show."""
        fields = {name: _field(part, schema) for name, part in schema.get("properties", {}).items()}
        known = {name: field for name, field in fields.items() if field is not None}
        return cls(known) if known and len(known) == len(fields) else None

    @property
    def has_list(self) -> bool:
        """Whether an output is a list."""
        return any(isinstance(field, Items) for field in self.fields.values())

    def render(self, values: Mapping[str, Any]) -> str:
        """The values, as a demonstration shows them; a field without a value is left out."""
        if len(self.fields) == 1 and values.keys() & self.fields.keys():
            ((name, field),) = self.fields.items()
            return field.render(values[name])
        return self.titled({name: value for name, value in values.items() if name in self.fields}, partial=True)

    def titled(self, values: Mapping[str, Any], partial: bool = False) -> str:
        """Each value after its name; ``partial`` leaves out fields without a value."""
        names = [name for name in self.fields if not partial or name in values]
        return LINE.join(self.fields[name].titled(name, values.get(name)) for name in names)

    def read(self, text: str) -> dict[str, Any]:
        """The values of an answer; a missing field is left out."""
        lines = text.strip().splitlines()
        if len(self.fields) == 1:
            ((name, field),) = self.fields.items()
            return {name: field.read(lines)}
        return self.read_titled(lines)

    def read_titled(self, lines: Sequence[str]) -> dict[str, Any]:
        """The values of lines in which each field stands after its name, in the order of the form."""
        places: dict[str, int] = {}
        start = 0
        for name in self.fields:
            place = next((n for n in range(start, len(lines)) if lines[n].startswith(f"{name}:")), None)
            if place is not None:
                places[name], start = place, place + 1
        ends = [*list(places.values())[1:], len(lines)]
        values = {}
        for (name, place), end in zip(places.items(), ends, strict=True):
            head = lines[place].removeprefix(f"{name}:").strip()
            values[name] = self.fields[name].read(([head] if head else []) + list(lines[place + 1 : end]))
        return values

    def titled_rules(self, grammar: Grammar) -> str:
        """The grammar of fields that each stand after their name."""
        return ' "\\n" '.join(field.titled_rule(name, grammar) for name, field in self.fields.items())

    def grammar(
        self, source: str, items: int = ITEMS, characters: int = CHARACTERS, end_tokens: Sequence[int] = ()
    ) -> str:
        """The grammar of an answer, in llguidance's Lark syntax.

        Args:
            source: what copied fields are copied from; nothing is copied from an empty source.
            items: the most items of a list whose schema states no limit.
            characters: the most characters of a text in a list, likewise.
            end_tokens: the tokens that end the model's turn. They are named after open-ended text, because what ends a
                turn for llguidance does not for every model: it refused SmolLM2's ``<|im_end|>``, and answers ran on
                to their bound.
        """
        grammar = Grammar(source, items, characters)
        fields = list(self.fields.values())
        start = fields[0].whole_rule(grammar) if len(fields) == 1 else self.titled_rules(grammar)
        if end_tokens and fields[-1].open_ended:
            start = f"({start}) <[{','.join(map(str, end_tokens))}]>"
        rules = [f"start: {start}", *(f"{name}: {rule}" for rule, name in grammar.rules.items())]
        return "%llguidance {}\n" + "\n".join(rules) + "\n"


class Grammar:
    """The named rules of a grammar that is being written (https://github.com/guidance-ai/llguidance)."""

    def __init__(self, source: str, items: int, characters: int) -> None:
        self.items, self.characters = items, characters
        self.source = [line.strip() for line in source.splitlines() if line.strip()]
        self.rules: dict[str, str] = {}

    def name(self, rule: str) -> str:
        """The name of a rule, which is written once."""
        return self.rules.setdefault(rule, f"VALUE_{len(self.rules)}")

    def copies(self) -> str:
        """The runs of words of each line of the source."""
        runs = [f"%regex {json.dumps({'substring_words': line}, ensure_ascii=False)}" for line in self.source]
        return " | ".join(map(self.name, runs))


def _field(part: Schema, root: Schema) -> Field | None:
    part = _resolved(part, root)
    if part.get("type") == "array":
        item = _field(part.get("items") or {}, root)
        return Items(item, part.get("maxItems")) if isinstance(item, (Scalar, ObjectLine)) else None
    if "properties" not in part:
        return _scalar(part, root)
    fields = {name: _field(inner, root) for name, inner in part["properties"].items()}
    scalars = {name: field for name, field in fields.items() if isinstance(field, Scalar)}
    if not fields or len(scalars) < len(fields):
        return None
    text = scalars.get("text")
    if text and text.kind == "text" and not text.labels and scalars.keys() & {"type", "label"}:
        scalars["text"] = replace(text, copied=True)
    return ObjectLine(scalars)


def _scalar(part: Schema, root: Schema) -> Scalar | None:
    copied, optional = bool(part.get("copied")), False
    if "anyOf" in part:
        options = [_resolved(option, root) for option in part["anyOf"]]
        rest = [option for option in options if option.get("type") != "null"]
        if len(rest) != 1:
            return None
        part, optional = rest[0], len(rest) < len(options)
    if "const" in part or "enum" in part:
        labels = [part["const"]] if "const" in part else part["enum"]
        plain = all(isinstance(x, str) and x.strip() == x != NOTHING and LINE not in x for x in labels)
        return Scalar("text", tuple(labels), optional=optional) if plain else None
    kind = part.get("type")
    if kind == "string" and not part.keys() & {"pattern", "format"}:
        return Scalar("text", (), copied or bool(part.get("copied")), optional, part.get("maxLength"))
    if kind not in ("number", "integer", "boolean"):
        return None
    return Scalar(str(kind), optional=optional, minimum=part.get("minimum"), maximum=part.get("maximum"))


def _resolved(part: Schema, root: Schema) -> Schema:
    """A part with its reference followed; what stands beside the reference is kept."""
    if len(part.get("allOf", ())) == 1:
        return {**_resolved(part["allOf"][0], root), **{key: value for key, value in part.items() if key != "allOf"}}
    if "$ref" not in part:
        return part
    target: Any = root
    for key in part["$ref"].removeprefix("#/").split("/"):
        target = target.get(key, {})
    return {**target, **{key: value for key, value in part.items() if key != "$ref"}}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

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


@dataclass(frozen=True)
class Scalar:
    """A value on one line: one of several labels, a text, a number, yes or no."""

    kind: str
    labels: tuple[str, ...] = ()
    copied: bool = False
    optional: bool = False
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None

    def line(self, value: Any) -> str:
        """The value on one line."""
        if value is None or value == "":
            return NOTHING
        return str(value).lower() if self.kind == "boolean" else " ".join(str(value).split())

    def parse(self, text: str) -> Any:
        """The value of a line. A text that does not fit the kind stays a text: the adapter reports it."""
        text = text.strip()
        if text == NOTHING:
            return None if self.optional else ("" if self.kind == "text" else text)
        try:
            return text if self.kind == "text" else json.loads(text)
        except ValueError:
            return text

    def rule(self, grammar: Grammar, listed: bool = False) -> str:
        """The grammar of a line; ``listed`` for an item of a list, or a part of an object on one line."""
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
class Field:
    """An output: a scalar (under no name), an object of scalars, or a list of either, an item a line.

    An object stands on one line: ``TYPE: text`` for a label and a text, else its values between bars.
    """

    parts: Mapping[str, Scalar]
    listed: bool = False
    max_items: int | None = None

    @property
    def is_object(self) -> bool:
        """Whether its values have names of their own."""
        return "" not in self.parts

    @property
    def open_ended(self) -> bool:
        """Whether its text may always go on, so that a grammar has to name the token that ends the turn."""
        last = list(self.parts.values())[-1]
        return not self.listed and not last.labels and last.kind != "boolean"

    @property
    def _order(self) -> tuple[list[str], str]:
        """The names of the parts as a line has them, and what stands between them."""
        labels = [name for name, part in self.parts.items() if part.labels]
        texts = [name for name, part in self.parts.items() if part.kind == "text" and not part.labels]
        is_mention = len(self.parts) == 2 and len(labels) == len(texts) == 1
        return (labels + texts, ": ") if is_mention else (list(self.parts), " | ")

    def line(self, value: Any) -> str:
        """A value, or an item of a list, on one line."""
        names, separator = self._order
        return separator.join(self.parts[name].line(value.get(name) if name else value) for name in names)

    def parse(self, text: str) -> Any:
        """The value of a line; None if it lacks a part."""
        names, separator = self._order
        texts = text.split(separator, len(names) - 1)
        values = {name: self.parts[name].parse(part) for name, part in zip(names, texts, strict=False)}
        return values.get("", values if len(values) == len(names) else None)

    def rule(self, grammar: Grammar) -> str:
        """The grammar of a line."""
        names, separator = self._order
        inner = self.listed or self.is_object
        return f" {_quoted(separator)} ".join(self.parts[name].rule(grammar, inner) for name in names)

    def titled(self, name: str, value: Any) -> str:
        """The value after its name, where there are other fields."""
        if not self.listed:
            return f"{name}: {self.line(value)}"
        return LINE.join([f"{name}:", *(f"- {self.line(item)}" for item in value)]) if value else f"{name}: -"

    def titled_rule(self, name: str, grammar: Grammar) -> str:
        """The grammar after the field's name."""
        if not self.listed:
            return f"{_quoted(name + ': ')} {self.rule(grammar)}"
        item = f'"\\n- " {self.rule(grammar)}'
        return f'{_quoted(name + ":")} (" -" | ({item}){{1,{self.max_items or grammar.items}}})'

    def read(self, lines: Sequence[str]) -> Any:
        """The value of the lines that belong to this field."""
        if not self.listed:
            return self.parse(" ".join(lines))
        texts = [line.removeprefix("- ").strip() for line in lines]
        items = [self.parse(text) for text in texts if text and text != NOTHING]
        return [item for item in items if item is not None]


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
        shown = {name: field for name, field in fields.items() if field is not None}
        return cls(shown) if shown and len(shown) == len(fields) else None

    @property
    def has_list(self) -> bool:
        """Whether an output is a list."""
        return any(field.listed for field in self.fields.values())

    @property
    def _alone(self) -> tuple[str, Field, Lines | None] | None:
        """The only field with its name; an object alone has a line for each of its parts."""
        if len(self.fields) > 1:
            return None
        ((name, field),) = self.fields.items()
        inner = {part: Field({"": scalar}) for part, scalar in field.parts.items()}
        return name, field, Lines(inner) if field.is_object and not field.listed else None

    def render(self, values: Mapping[str, Any]) -> str:
        """The values, as a demonstration shows them; a field without a value is left out."""
        if self._alone and self._alone[0] in values:
            name, field, inner = self._alone
            if inner:
                return inner.titled({part: values[name].get(part) for part in field.parts})
            return LINE.join([*map(field.line, values[name]), NOTHING]) if field.listed else field.line(values[name])
        return self.titled(values)

    def titled(self, values: Mapping[str, Any]) -> str:
        """Each value after its name."""
        return LINE.join(field.titled(name, values[name]) for name, field in self.fields.items() if name in values)

    def read(self, text: str) -> dict[str, Any]:
        """The values of an answer; a missing field is left out."""
        lines = text.strip().splitlines()
        if not self._alone:
            return self.read_titled(lines)
        name, field, inner = self._alone
        has_titles = inner and any(line.startswith(f"{next(iter(field.parts))}:") for line in lines)
        return {name: inner.read_titled(lines) if inner and has_titles else field.read(lines)}

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
        for (name, place), end in zip(places.items(), ends, strict=False):
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
        if self._alone:
            _, field, inner = self._alone
            start = inner.titled_rules(grammar) if inner else field.rule(grammar)
            if field.listed:
                start = f'({start} "\\n"){{0,{field.max_items or items}}} {_quoted(NOTHING)}'
        else:
            start = self.titled_rules(grammar)
        if end_tokens and list(self.fields.values())[-1].open_ended:
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
    listed, most = part.get("type") == "array", part.get("maxItems")
    if listed:
        part = _resolved(part.get("items") or {}, root)
    if "properties" in part:
        parts = {name: _scalar(_resolved(inner, root), root) for name, inner in part["properties"].items()}
    else:
        parts = {"": _scalar(part, root)}
    scalars = {name: scalar for name, scalar in parts.items() if scalar is not None}
    if not scalars or len(scalars) < len(parts):
        return None
    text = scalars.get("text")
    if text and text.kind == "text" and not text.labels and scalars.keys() & {"type", "label"}:
        scalars["text"] = replace(text, copied=True)
    return Field(scalars, listed, most)


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

r"""The grammars that constrain a local model's answer: lines where a schema has one output, else JSON.

A list of names is ``TOP: Delft``, one a line, where JSON needs braces, quotes and the name of every field for each. A
line with a hyphen ends the list (without that mark a small model goes on until it runs out of tokens). One label is the
label alone. The same form renders demonstrations (`Lines.render`), gives the grammar that constrains a local model
(`Lines.grammar`) and reads the answer (`Lines.read`).

A *copied* field is decoded as a run of the input's own words, so a name cannot be invented:

* the ``text`` of an object that has a ``type`` or ``label`` beside it (a mention),
* a field whose type is `Copied` (in a signature or in a pydantic model).

What has several outputs, or deeper ones, is JSON (`json_grammar`). Its objects have no fields but those of the schema,
and lists, texts and numbers are bounded: a small model that may go on does so until it runs out of tokens. What is
copied is copied from all inputs except those whose type is `Asked`: a question holds no answer. Do not mark a field
that rephrases, translates or normalises the input. Copying does not stop a model from choosing the wrong words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, NamedTuple

from pydantic import Field as FieldInfo

from goldassay.fields import Fields, Record
from goldassay.jsonl import JSON

Schema = Mapping[str, Any]
Copied = Annotated[str, FieldInfo(json_schema_extra={"copied": True})]
"""The type of a text that is copied from the input, word for word."""
Asked = Annotated[str, FieldInfo(json_schema_extra={"copied": False})]
"""The type of an input that nothing is copied from, such as a question."""
NOTHING = "-"
EMPTY: Mapping[str, int] = {}
# Bounds where a schema states none:
ITEMS = 12  # of a list
CHARACTERS = 400  # of a text
COPIED = 64  # of a text that is copied
SHORTEST = 64  # the least limit that demonstrations give to a text in a list or object
LARGEST = 10**12 - 1  # of a number
LETTERS = 8  # of a word: bounds in characters become bounds in words for copied text
NUMBERS = {"integer": "/-?[0-9]{1,12}/", "number": r"/-?[0-9]{1,12}(\.[0-9]{1,6})?/", "boolean": '"true" | "false"'}


class Scalar(NamedTuple):
    """A value on one line: one of several labels, a text, a number, yes or no."""

    kind: str
    labels: tuple[str, ...] = ()
    copied: bool = False
    optional: bool = False
    max_length: int | None = None

    def line(self, value: JSON) -> str:
        """The value on one line."""
        if value is None or value == "":
            return NOTHING
        return str(value).lower() if self.kind == "boolean" else " ".join(str(value).split())

    def parse(self, text: str) -> Any:
        """The value of a line. A text that does not fit the kind stays a text: the adapter reports it."""
        text = text.strip()
        if text == NOTHING and self.optional:
            return None
        if text == NOTHING and self.kind == "text":
            return ""
        try:
            return text if self.kind == "text" else json.loads(text)
        except ValueError:
            return text


@dataclass(frozen=True)
class Lines:
    r"""The form of an answer: one value (under no name), an object of them, or a list of either, an item a line.

    An object takes one line: ``TYPE: text`` for a label and a text, else its values between bars.

    >>> form = Lines.of({"type": "object", "properties": {"names": {"type": "array", "items": {"type": "object",
    ...     "properties": {"text": {"type": "string"}, "type": {"enum": ["TOP", "TMP"]}}}}}})
    >>> form.render({"names": [{"text": "Delft", "type": "TOP"}, {"text": "1667", "type": "TMP"}]})
    'TOP: Delft\nTMP: 1667\n-'
    >>> form.read("TOP: Delft\nTMP: 1667\n-")["names"][1]
    {'type': 'TMP', 'text': '1667'}
    >>> Lines.of({"type": "object", "properties": {"deep": {"type": "object"}}}) is None
    True
    """

    name: str
    parts: Mapping[str, Scalar]
    separator: str = ""
    listed: bool = False
    max_items: int | None = None

    @classmethod
    def of(cls, schema: Schema) -> Lines | None:
        """The form of a schema; None if it has several outputs, or one deeper than lines can show."""
        if len(schema.get("properties", {})) != 1:
            return None
        ((output, part),) = schema["properties"].items()
        part = _resolved(part, schema)
        listed = part.get("type") == "array"
        most = part.get("maxItems")
        part = _resolved(part.get("items") or {}, schema) if listed else part
        fields = part.get("properties", {"": part})
        parts: dict[str, Scalar] = {}
        for name, inner in fields.items():
            scalar = _scalar(_resolved(inner, schema), schema)
            if scalar is None:
                return None
            mention = name == "text" and scalar.kind == "text" and fields.keys() & {"type", "label"}
            parts[name] = scalar._replace(copied=True) if mention and not scalar.labels else scalar
        labels = [name for name, each in parts.items() if each.labels]
        texts = [name for name, each in parts.items() if each.kind == "text" and not each.labels]
        if len(parts) == 2 and len(labels) == len(texts) == 1:
            return cls(output, {name: parts[name] for name in labels + texts}, ": ", listed, most)
        return cls(output, parts, "" if "" in parts else " | ", listed, most)

    def render(self, values: Record) -> str:
        """The values, as a demonstration shows them."""

        def line(value: Any) -> str:
            parts = self.parts.items()
            return self.separator.join(part.line(value.get(name) if name else value) for name, part in parts)

        value = values.get(self.name, [])
        if self.name not in values:
            return ""
        return "\n".join([*map(line, value), NOTHING]) if self.listed else line(value)

    def read(self, text: str) -> Fields:
        """The values of an answer; a line that lacks a part is None, or no item of a list."""

        def parsed(line: str) -> Any:
            if not self.separator:
                return self.parts[""].parse(line)
            texts = line.split(self.separator, len(self.parts) - 1)
            values = {name: part.parse(text) for (name, part), text in zip(self.parts.items(), texts, strict=False)}
            return values if len(values) == len(self.parts) else None

        lines = text.strip().splitlines()
        if not self.listed:
            return {self.name: parsed(" ".join(lines))}
        items = (line.removeprefix("- ").strip() for line in lines)
        values = [parsed(item) for item in items if item and item != NOTHING]
        return {self.name: [value for value in values if value is not None]}

    def grammar(
        self,
        source: str,
        items: int = ITEMS,
        characters: int = CHARACTERS,
        end_tokens: Sequence[int] = (),
        limits: Mapping[str, int] = EMPTY,
    ) -> str:
        """The grammar of an answer, in llguidance's Lark syntax (https://github.com/guidance-ai/llguidance).

        Args:
            source: what copied fields are copied from; nothing is copied from an empty source.
            items: the most items of a list whose schema states no limit.
            characters: the most characters of a text in a list or object, likewise; a text of its own may have 400.
            end_tokens: the tokens that end the model's turn. They are named after open-ended text, because what ends a
                turn for llguidance does not for every model: it refused SmolLM2's ``<|im_end|>``, and answers ran on
                to their bound.
            limits: the most characters of the texts of a field, where demonstrations show it (`text_limits`).
        """
        rules: dict[str, str] = {}
        sources = [line.strip() for line in source.splitlines() if line.strip()]
        inner = self.listed or bool(self.separator)
        parts = list(self.parts.values())
        copied_words = max(1, min(characters, COPIED) // LETTERS)

        def named(rule: str) -> str:
            return rules.setdefault(rule, f"VALUE_{len(rules)}")

        def rule_of(name: str, part: Scalar) -> str:
            length = part.max_length or limits.get(
                name or self.name, characters if inner else max(characters, CHARACTERS)
            )
            rule = " | ".join(map(_quoted, part.labels)) or NUMBERS.get(part.kind) or f"/[^\\n|]{{1,{length}}}/"
            if part.copied and sources and not part.labels:
                most = max(1, part.max_length // LETTERS) if part.max_length else copied_words
                # a letter or digit first, or a mark before it other than the hyphen, which ends a list
                words = rf"/[^ \-]*[\p{{L}}\p{{N}}][^ ]*( [^ ]+){{0,{most - 1}}}/"
                runs = (json.dumps({"substring_words": line}, ensure_ascii=False) for line in sources)
                rule = f"({' | '.join(named(f'%regex {run}') for run in runs)}) & {words}"
            value = named(rule)
            return f"({value} | {_quoted(NOTHING)})" if part.optional or (part.copied and not inner) else value

        start = f" {_quoted(self.separator)} ".join(map(rule_of, self.parts, parts))
        if self.listed:
            start = f'({start} "\\n"){{0,{self.max_items or items}}} {_quoted(NOTHING)}'
        elif end_tokens and not (parts[-1].labels or parts[-1].kind == "boolean"):
            start = f"({start}) <[{','.join(map(str, end_tokens))}]>"
        return "\n".join(
            ["%llguidance {}", f"start: {start}", *(f"{name}: {rule}" for rule, name in rules.items()), ""]
        )


def _scalar(part: Schema, root: Schema) -> Scalar | None:
    """A schema as a value on one line; None if a line cannot show it."""
    options = [_resolved(option, root) for option in part.get("anyOf", [part])]
    rest = [option for option in options if option.get("type") != "null"]
    if len(rest) != 1:
        return None
    copied = part.get("copied")
    optional = len(rest) < len(options)
    part = rest[0]
    if labels := [part["const"]] if "const" in part else part.get("enum"):
        plain = all(isinstance(x, str) and x.strip() == x != NOTHING and "\n" not in x for x in labels)
        return Scalar("text", tuple(labels), optional=optional) if plain else None
    kind = part.get("type")
    if kind == "string" and not part.keys() & {"pattern", "format"}:
        return Scalar("text", (), bool(copied or part.get("copied")), optional, part.get("maxLength"))
    return Scalar(str(kind), optional=optional) if kind in NUMBERS else None


def _resolved(part: Schema, root: Schema) -> Schema:
    """A part with its reference followed; keys beside the reference are kept."""
    target: Any = root if "$ref" in part else {}
    for key in part.get("$ref", "#/").removeprefix("#/").split("/"):
        target = target.get(key, {})
    return {**target, **{key: value for key, value in part.items() if key != "$ref"}}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


MARKS = ".,;:!?()[]\"'“”„‘’«»"
# One line, with the separators of json.dumps: what the demonstrations look like, at two thirds of the tokens.
INNER = {"items", "prefixItems", "$defs", "definitions"}  # where texts are names and labels
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def json_grammar(
    schema: Fields,
    source: str = "",
    items: int = ITEMS,
    characters: int = CHARACTERS,
    limits: Mapping[str, int] = EMPTY,
) -> str:
    """llama.cpp's grammar of a schema.

    Args:
        schema: the JSON schema of the answer.
        source: what copied fields are copied from; nothing is copied from an empty source.
        items: the most items of a list whose schema states no limit.
        characters: the most characters of a text in a list or object, likewise; a text of its own may have 400.
        limits: the most characters of the texts of a field, where demonstrations show it (`text_limits`).
    """
    words = max(1, min(characters, COPIED) // LETTERS)
    runs = dict.fromkeys(filter(None, _runs(source, words)))
    bounded = bound(schema, items, characters, list(runs), limits) | {"x-guidance": COMPACT}
    grammar: str = import_module("xllamacpp").json_schema_to_grammar(json.dumps(bounded))
    return grammar


def bound(
    schema: JSON,
    items: int = ITEMS,
    characters: int = CHARACTERS,
    runs: Sequence[str] = (),
    limits: Mapping[str, int] = EMPTY,
) -> Any:
    """The schema with objects closed, lists, numbers and free texts bounded, and every copied text one of ``runs``.

    >>> bound({"type": "array", "items": {"type": "string"}}, items=3, characters=20)
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 20}, 'maxItems': 3}
    >>> bound({"type": "object", "properties": {"name": {"type": "string"}}}, limits={"name": 90})
    {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 90}}, 'additionalProperties': False}
    >>> bound({"type": "string", "copied": True}, runs=["in Delft", "Delft"])
    {'enum': ['in Delft', 'Delft', '']}
    """

    def walk(part: JSON, length: int, name: str = "", closed: bool = True) -> Any:
        if isinstance(part, list):
            return [walk(each, length, name, closed) for each in part]
        if not isinstance(part, dict):
            return part
        if runs and part.get("copied") and part.get("type") == "string":
            return {"enum": [*runs, ""]}
        # the parts of an allOf describe one object together, so none of them may close it
        bounded = {
            key: walk(value, characters if key in INNER else length, name, key != "allOf")
            for key, value in part.items()
            if key != "properties"
        }
        kinds = part.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        is_free = not part.keys() & {"enum", "const", "pattern", "format"}
        if "array" in kinds:
            bounded.setdefault("maxItems", items)
        if "string" in kinds and is_free:
            bounded.setdefault("maxLength", limits.get(name, length))
        if is_free and {"integer", "number"} & {*kinds}:
            bounded = _bounded_number(bounded, "number" in kinds)
        if "properties" in part:
            fields = {key: walk(field, length, key) for key, field in part["properties"].items()}
            if runs and fields.keys() & {"type", "label"} and fields.get("text", {}).get("type") == "string":
                fields["text"] = {"enum": [*runs]}
            bounded["properties"] = fields
            if closed:
                bounded.setdefault("additionalProperties", False)
        return bounded

    return walk(schema, max(characters, CHARACTERS))


def _bounded_number(part: Fields, has_fraction: bool) -> Fields:
    """A number of twelve digits, and six after the point, unless the schema states its own limits."""
    lowest = part.get("minimum", part.get("exclusiveMinimum"))
    highest = part.get("maximum", part.get("exclusiveMaximum"))
    if lowest is None and (highest is None or highest > -LARGEST):
        part["minimum"] = -LARGEST
    if highest is None and (lowest is None or lowest < LARGEST):
        part["maximum"] = LARGEST
    if has_fraction:
        part.setdefault("multipleOf", 1e-6)
    return part


def text_limits(examples: Iterable[Record], outputs: Collection[str]) -> dict[str, int]:
    """The most characters of the texts of each field: the longest of the examples and half as much again.

    >>> text_limits([{"shop": {"address": "a" * 60}}, {"shop": {"address": "a" * 80, "city": "Delft"}}], ["shop"])
    {'address': 120, 'city': 64}
    """
    limits: dict[str, int] = {}
    for example in examples:
        for output in outputs:
            value = example.get(output)
            least = CHARACTERS if isinstance(value, str) else SHORTEST
            for name, text in texts(output, value):
                limits[name] = max(limits.get(name, least), len(text) * 3 // 2)
    return limits


def texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text of a value under the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(name, inner)


def _runs(source: str, words: int) -> Iterator[str]:
    """All runs of at most so many words of one line, each also without the marks around it.

    >>> list(dict.fromkeys(_runs("in Delft (1667)", 2)))
    ['in', 'in Delft', 'Delft', 'Delft (1667)', 'Delft (1667', '(1667)', '1667']
    """
    for line in source.splitlines():
        spans = [match.span() for match in re.finditer(r"\S+", line)]
        for i, (start, _) in enumerate(spans):
            for _, end in spans[i : i + words]:
                yield from (line[start:end], line[start:end].strip(MARKS))

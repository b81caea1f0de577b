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

llama.cpp's own constraint, the answer's JSON schema as it is, does not replace this: with the same short prompts, the
demo's tuned program has a strict F1 of .215 [.100, .404], not .457 [.344, .574], and the demo takes 200 s of processor
time, not 130 (``docs/how-to/local-models.md``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, NamedTuple

from pydantic import Field as FieldInfo

from goldassay._support.jsonl import JSON
from goldassay.core.fields import Fields, JsonObject, Record

Schema = Mapping[str, Any]
Copied = Annotated[str, FieldInfo(json_schema_extra={"copied": True})]
"""The type of a text that is copied from the input, word for word."""
Asked = Annotated[str, FieldInfo(json_schema_extra={"copied": False})]
"""The type of an input that nothing is copied from, such as a question."""
NO_VALUE = "-"
NO_LIMITS: Mapping[str, int] = {}
# Bounds where a schema states none:
ITEMS = 12  # of a list
TEXT_CHARACTERS = 400  # of a text
COPIED = 64  # of a text that is copied
SHORTEST = 64  # the least limit that demonstrations give to a text in a list or object
LARGEST_NUMBER = 10**12 - 1  # of a number
LETTERS = 8  # of a word: bounds in characters become bounds in words for copied text
NUMBER_RULES = {
    "integer": "/-?[0-9]{1,12}/",
    "number": r"/-?[0-9]{1,12}(\.[0-9]{1,6})?/",
    "boolean": '"true" | "false"',
}


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
            return NO_VALUE
        return str(value).lower() if self.kind == "boolean" else " ".join(str(value).split())

    def parse(self, text: str) -> object:
        """The value of a line. A text that does not fit the kind stays a text: the adapter reports it."""
        text = text.strip()
        if text == NO_VALUE and self.optional:
            return None
        if text == NO_VALUE and self.kind == "text":
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
        ((output, node),) = schema["properties"].items()
        node = _resolved(node, schema)
        listed = node.get("type") == "array"
        most = node.get("maxItems")
        node = _resolved(node.get("items") or {}, schema) if listed else node
        fields = node.get("properties", {"": node})
        parts = {}
        for name, inner in fields.items():
            scalar = _scalar(_resolved(inner, schema), schema)
            if scalar is None:
                return None
            mention = name == "text" and scalar.kind == "text" and fields.keys() & {"type", "label"}
            parts[name] = scalar._replace(copied=True) if mention and not scalar.labels else scalar
        labels = [name for name, scalar in parts.items() if scalar.labels]
        texts = [name for name, scalar in parts.items() if scalar.kind == "text" and not scalar.labels]
        if len(parts) == 2 and len(labels) == len(texts) == 1:
            return cls(output, {name: parts[name] for name in labels + texts}, ": ", listed, most)
        return cls(output, parts, "" if "" in parts else " | ", listed, most)

    def render(self, values: Record) -> str:
        """The values, as a demonstration shows them."""

        def line(value: Any) -> str:
            parts = self.parts.items()
            return self.separator.join(scalar.line(value.get(name) if name else value) for name, scalar in parts)

        value = values.get(self.name, [])
        if self.name not in values:
            return ""
        return "\n".join([*map(line, value), NO_VALUE]) if self.listed else line(value)

    def read(self, text: str) -> JsonObject:
        """The values of an answer; a line that lacks a part is None, or no item of a list."""

        def parsed(line: str) -> object:
            if not self.separator:
                return self.parts[""].parse(line)
            texts = line.split(self.separator, len(self.parts) - 1)
            values = {name: scalar.parse(text) for (name, scalar), text in zip(self.parts.items(), texts, strict=False)}
            return values if len(values) == len(self.parts) else None

        lines = text.strip().splitlines()
        if not self.listed:
            return {self.name: parsed(" ".join(lines))}
        items = (line.removeprefix("- ").strip() for line in lines)
        values = [parsed(item) for item in items if item and item != NO_VALUE]
        return {self.name: [value for value in values if value is not None]}

    def grammar(
        self,
        source: str,
        items: int = ITEMS,
        characters: int = TEXT_CHARACTERS,
        end_tokens: Sequence[int] = (),
        limits: Mapping[str, int] = NO_LIMITS,
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

        def rule_of(name: str, scalar: Scalar) -> str:
            length = scalar.max_length or limits.get(
                name or self.name, characters if inner else max(characters, TEXT_CHARACTERS)
            )
            rule = (
                " | ".join(map(_quoted, scalar.labels)) or NUMBER_RULES.get(scalar.kind) or f"/[^\\n|]{{1,{length}}}/"
            )
            if scalar.copied and sources and not scalar.labels:
                most = max(1, scalar.max_length // LETTERS) if scalar.max_length else copied_words
                # a letter or digit first, or a mark before it other than the hyphen, which ends a list
                words = rf"/[^ \-]*[\p{{L}}\p{{N}}][^ ]*( [^ ]+){{0,{most - 1}}}/"
                runs = (json.dumps({"substring_words": line}, ensure_ascii=False) for line in sources)
                rule = f"({' | '.join(named(f'%regex {run}') for run in runs)}) & {words}"
            value = named(rule)
            return f"({value} | {_quoted(NO_VALUE)})" if scalar.optional or (scalar.copied and not inner) else value

        start = f" {_quoted(self.separator)} ".join(map(rule_of, self.parts, parts))
        if self.listed:
            start = f'({start} "\\n"){{0,{self.max_items or items}}} {_quoted(NO_VALUE)}'
        elif end_tokens and not (parts[-1].labels or parts[-1].kind == "boolean"):
            start = f"({start}) <[{','.join(map(str, end_tokens))}]>"
        return "\n".join(
            ["%llguidance {}", f"start: {start}", *(f"{name}: {rule}" for rule, name in rules.items()), ""]
        )


def _scalar(node: Schema, root: Schema) -> Scalar | None:
    """A schema as a value on one line; None if a line cannot show it."""
    options = [_resolved(option, root) for option in node.get("anyOf", [node])]
    not_null = [option for option in options if option.get("type") != "null"]
    if len(not_null) != 1:
        return None
    copied = node.get("copied")
    optional = len(not_null) < len(options)
    node = not_null[0]
    if labels := [node["const"]] if "const" in node else node.get("enum"):
        plain = all(isinstance(x, str) and x.strip() == x != NO_VALUE and "\n" not in x for x in labels)
        return Scalar("text", tuple(labels), optional=optional) if plain else None
    kind = node.get("type")
    if kind == "string" and not node.keys() & {"pattern", "format"}:
        return Scalar("text", (), bool(copied or node.get("copied")), optional, node.get("maxLength"))
    return Scalar(str(kind), optional=optional) if kind in NUMBER_RULES else None


def _resolved(node: Schema, root: Schema) -> Schema:
    """A part with its reference followed; other keys of the reference's object are kept."""
    target = root if "$ref" in node else {}
    for key in node.get("$ref", "#/").removeprefix("#/").split("/"):
        target = target.get(key, {})
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# One line, with the separators of json.dumps: what the demonstrations look like, at two thirds of the tokens.
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def json_grammar(
    schema: Fields,
    source: str = "",
    items: int = ITEMS,
    characters: int = TEXT_CHARACTERS,
    limits: Mapping[str, int] = NO_LIMITS,
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
    characters: int = TEXT_CHARACTERS,
    runs: Sequence[str] = (),
    limits: Mapping[str, int] = NO_LIMITS,
) -> Any:
    """The schema with objects closed, lists, numbers and free texts bounded, and every copied text one of ``runs``.

    >>> bound({"type": "array", "items": {"type": "string"}}, items=3, characters=20)
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 20}, 'maxItems': 3}
    >>> bound({"type": "object", "properties": {"name": {"type": "string"}}}, limits={"name": 90})
    {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 90}}, 'additionalProperties': False}
    >>> bound({"type": "string", "copied": True}, runs=["in Delft", "Delft"])
    {'enum': ['in Delft', 'Delft', '']}
    """
    names_and_labels = {"items", "prefixItems", "$defs", "definitions"}  # where texts are names and labels

    def walk(node: JSON, length: int, name: str = "", closed: bool = True) -> Any:
        if isinstance(node, list):
            return [walk(child, length, name, closed) for child in node]
        if not isinstance(node, dict):
            return node
        if runs and node.get("copied") and node.get("type") == "string":
            return {"enum": [*runs, ""]}
        # the parts of an allOf describe one object together, so none of them may close it
        bounded = {
            key: walk(value, characters if key in names_and_labels else length, name, key != "allOf")
            for key, value in node.items()
            if key != "properties"
        }
        kinds = node.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        is_free = not node.keys() & {"enum", "const", "pattern", "format"}
        if "array" in kinds:
            bounded.setdefault("maxItems", items)
        if "string" in kinds and is_free:
            bounded.setdefault("maxLength", limits.get(name, length))
        if is_free and {"integer", "number"} & {*kinds}:
            # twelve digits, and six after the point, unless the schema states its own limits
            lowest = bounded.get("minimum", bounded.get("exclusiveMinimum"))
            highest = bounded.get("maximum", bounded.get("exclusiveMaximum"))
            if lowest is None and (highest is None or highest > -LARGEST_NUMBER):
                bounded["minimum"] = -LARGEST_NUMBER
            if highest is None and (lowest is None or lowest < LARGEST_NUMBER):
                bounded["maximum"] = LARGEST_NUMBER
            if "number" in kinds:
                bounded.setdefault("multipleOf", 1e-6)
        if "properties" in node:
            fields = {key: walk(field, length, key) for key, field in node["properties"].items()}
            if runs and fields.keys() & {"type", "label"} and fields.get("text", {}).get("type") == "string":
                fields["text"] = {"enum": [*runs]}
            bounded["properties"] = fields
            if closed:
                bounded.setdefault("additionalProperties", False)
        return bounded

    return walk(schema, max(characters, TEXT_CHARACTERS))


def text_limits(examples: Iterable[JsonObject], outputs: Collection[str]) -> dict[str, int]:
    """The most characters of the texts of each field: the longest of the examples and half as much again.

    >>> text_limits([{"shop": {"address": "a" * 60}}, {"shop": {"address": "a" * 80, "city": "Delft"}}], ["shop"])
    {'address': 120, 'city': 64}
    """
    limits: dict[str, int] = {}
    for example in examples:
        for output in outputs:
            value = example.get(output)
            least = TEXT_CHARACTERS if isinstance(value, str) else SHORTEST
            for name, text in texts(output, value):
                limits[name] = max(limits.get(name, least), len(text) * 3 // 2)
    return limits


def texts(name: str, value: object) -> Iterator[tuple[str, str]]:
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
    marks = ".,;:!?()[]\"'“”„‘’«»"
    for line in source.splitlines():
        spans = [match.span() for match in re.finditer(r"\S+", line)]
        for i, (start, _) in enumerate(spans):
            for _, end in spans[i : i + words]:
                yield from (line[start:end], line[start:end].strip(marks))

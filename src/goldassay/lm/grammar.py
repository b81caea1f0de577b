"""What a local model's answer may be: lists and texts with bounds, copied fields only runs of the input's own words.

Without bounds a small model fills a list until ``max_tokens``. An answer in lines keeps to a grammar in llguidance's
Lark syntax with its ``substring_words`` (https://github.com/guidance-ai/llguidance); one in JSON to its schema, in
which the runs are enumerated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.lm.lines import NOTHING, Field, Items, Lines, ObjectLine, Scalar

ITEMS = 12
CHARACTERS = 64
TOP_CHARACTERS = 400
MARKS = ".,;:!?()[]\"'“”„‘’«»"
LETTERS = 8  # of a word, so that bounds in characters bound the words of what is copied


def bounded(schema: object, items: int = ITEMS, characters: int = CHARACTERS) -> Any:
    """The schema with every array and every free string bounded.

    ``characters`` bounds the strings inside arrays and definitions (names, labels); a string that is an output field of
    its own, such as an answer or a reasoning, may have 400.

    >>> bounded({"type": "array", "items": {"type": "string"}}, items=3, characters=20)
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 20}, 'maxItems': 3}
    >>> bounded({"type": "object", "properties": {"answer": {"type": "string"}}})["properties"]["answer"]["maxLength"]
    400
    """
    return _bounded(schema, items, characters, max(characters, TOP_CHARACTERS))


def _bounded(schema: Any, items: int, inner: int, here: int) -> Any:
    if isinstance(schema, list):
        return [_bounded(part, items, inner, here) for part in schema]
    if not isinstance(schema, dict):
        return schema
    deeper = {"items", "prefixItems", "$defs", "definitions"}
    out = {key: _bounded(part, items, inner, inner if key in deeper else here) for key, part in schema.items()}
    if out.get("type") == "array":
        out.setdefault("maxItems", items)
    if out.get("type") == "string" and not out.keys() & {"enum", "const", "pattern", "format"}:
        out.setdefault("maxLength", here)
    return out


def copied(schema: object, source: str, characters: int) -> Any:
    """A JSON schema whose copied fields may only be runs of the source's words, each of them enumerated.

    >>> copied({"type": "string", "copied": True}, "in Delft (1667)", 16)
    {'enum': ['in', 'in Delft', 'Delft', 'Delft (1667)', 'Delft (1667', '(1667)', '1667', '']}
    """
    found = _runs(source, max(1, characters // LETTERS))
    return _copied(schema, found) if found else schema


def _copied(part: Any, found: list[str]) -> Any:
    if isinstance(part, list):
        return [_copied(inner, found) for inner in part]
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "string" and part.get("copied"):
        return {"enum": [*found, ""]}
    out = {key: _copied(inner, found) for key, inner in part.items()}
    fields = part.get("properties", {})
    text = fields.get("text") if isinstance(fields, Mapping) else None
    if isinstance(text, Mapping) and fields.keys() & {"type", "label"} and text.get("type") == "string":
        out["properties"]["text"] = {"enum": found}
    return out


def _runs(source: str, words: int) -> list[str]:
    """All runs of at most so many words that stand on one line, without the marks around them too."""
    out: dict[str, None] = {}
    for line in source.splitlines():
        found = [place.span() for place in re.finditer(r"\S+", line)]
        for i, (start, _) in enumerate(found):
            for _, end in found[i : i + words]:
                run = line[start:end]
                out[run] = None
                if run.strip(MARKS):
                    out[run.strip(MARKS)] = None
    return list(out)


def of_lines(form: Lines, source: str, items: int, characters: int, longest: int, ends: Sequence[int] = ()) -> str:
    """The grammar of an answer in lines.

    Args:
        form: The form of the answer.
        source: What copied fields are copied from; nothing is copied from an empty one.
        items: The most items of a list, where the schema states no bound; likewise
        characters: of a text in a list, and
        longest: of a text of its own.
        ends: The tokens that end the model's turn. A grammar names them after a text that may always go on: what ends
            a turn for llguidance is not what does for every model (SmolLM2's ``<|im_end|>`` was refused, and the answer
            ran to its bound).
    """
    return _Grammar(source, items, characters, longest).of(form, ends)


class _Grammar:
    """One grammar being written: its rules by name."""

    def __init__(self, source: str, items: int, characters: int, longest: int) -> None:
        self.items, self.characters, self.longest = items, characters, longest
        self.rules: dict[str, str] = {}
        self.source = [line.strip() for line in source.splitlines() if line.strip()]

    def of(self, form: Lines, ends: Sequence[int]) -> str:
        """The whole grammar."""
        if len(form.fields) == 1:
            start = self._alone(form.fields[0][1])
        else:
            start = ' "\\n" '.join(self._titled(name, field) for name, field in form.fields)
        if ends and _open(form.fields[-1][1]):
            start = f"({start}) <[{','.join(map(str, ends))}]>"
        rules = [f"start: {start}", *(f"{name}: {rule}" for name, rule in self.rules.items())]
        return "%llguidance {}\n" + "\n".join(rules) + "\n"

    def _alone(self, field: Field) -> str:
        if isinstance(field, Items):
            item = self._line(field.item)
            return f'({item} "\\n"){{0,{field.most or self.items}}} {_quoted(NOTHING)}'
        if isinstance(field, ObjectLine):
            return ' "\\n" '.join(self._titled(name, inner) for name, inner in field.fields)
        return self._scalar(field, self.longest)

    def _titled(self, name: str, field: Field) -> str:
        if isinstance(field, Items):
            item = f'"\\n- " {self._line(field.item)}'
            return f'{_quoted(name + ":")} (" -" | ({item}){{1,{field.most or self.items}}})'
        inner = self._line(field) if isinstance(field, ObjectLine) else self._scalar(field, self.longest)
        return f"{_quoted(name + ': ')} {inner}"

    def _line(self, item: Scalar | ObjectLine) -> str:
        if isinstance(item, Scalar):
            return self._scalar(item, self.characters, listed=True)
        fields = dict(item.fields)
        if item.mention:
            label, text = item.mention
            return f'{self._scalar(fields[label], 0)} ": " {self._scalar(fields[text], self.characters, listed=True)}'
        return ' " | " '.join(self._scalar(field, self.characters, listed=True) for _, field in item.fields)

    def _scalar(self, field: Scalar, longest: int, listed: bool = False) -> str:
        """A rule for a scalar, written once; what is copied alone may be nothing."""
        if field.labels:
            rule = " | ".join(_quoted(label) for label in field.labels)
        elif field.kind in ("number", "integer"):
            rule = _number(field)
        elif field.kind == "boolean":
            rule = '"true" | "false"'
        elif field.copied and self.source:
            # a letter or digit first, or a mark before it other than the hyphen, which ends a list
            words = rf"/[^ \-]*[\p{{L}}\p{{N}}][^ ]*( [^ ]+){{0,{max(1, (field.longest or longest) // LETTERS) - 1}}}/"
            rule = f"({self._copied()}) & {words}"
        else:
            rule = f"/[^\\n|]{{1,{field.longest or longest}}}/"
        name = self._named(rule)
        either = field.empty or (field.copied and not listed)
        return f"({name} | {_quoted(NOTHING)})" if either else name

    def _copied(self) -> str:
        """The runs of words of each line of the source."""
        runs = [f"%regex {json.dumps({'substring_words': line}, ensure_ascii=False)}" for line in self.source]
        return " | ".join(self._named(run) for run in runs)

    def _named(self, rule: str) -> str:
        for name, known in self.rules.items():
            if known == rule:
                return name
        name = f"VALUE_{len(self.rules)}"
        self.rules[name] = rule
        return name


def _open(field: Field) -> bool:
    """Whether what is written last may always go on: a text, a number, or a line that ends with one."""
    if isinstance(field, ObjectLine):
        return _open(field.fields[-1][1])
    return isinstance(field, Scalar) and not field.labels and field.kind != "boolean"


def _number(field: Scalar) -> str:
    """A number within its bounds, where a grammar can say them: from 0 to 1, or one of a hundred whole numbers."""
    low, high = field.lowest, field.highest
    if low is not None and high is not None and field.kind == "integer" and high - low <= 100:
        return " | ".join(_quoted(str(one)) for one in range(math.ceil(low), math.floor(high) + 1))
    if (low, high) == (0, 1):
        return r"/0(\.[0-9]{1,6})?|1(\.0)?/"
    return r"/-?[0-9]{1,12}/" if field.kind == "integer" else r"/-?[0-9]{1,12}(\.[0-9]{1,6})?/"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

"""Steps: the calls of tools, models, retrievers and modules behind one prediction, as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from goldassay._support.jsonl import JSON, jsonable
from goldassay._support.secrets import redact
from goldassay.core.fields import JsonObject, Record

CALLING = ("tool", "retriever", "")  # the kinds of steps that are calls; a step without a kind is one
FINISH = "finish"  # the tool with which DSPy's ReAct ends
SUBMIT = "submit"  # that of ReActV2
STEP_CHARACTERS = 10_000  # characters of a step's arguments, and of its output, that are recorded


@dataclass(slots=True)
class Step:
    """One call of a tool, a model, a retriever or a module.

    ``index`` is its position among the steps of its trajectory, from 0, and ``parent`` that of the step in which it was
    called. ``predictor`` names the predictor that made the call, as DSPy's ``named_predictors`` does. The prompt and
    the answer of a model are not repeated here: those of the n-th step of kind ``model`` are the n-th of a row's
    ``calls``.

    >>> Step.of({"name": "search", "args": {"q": "Delft"}, "parent": 0}, 1)
    Step(name='search', args={'q': 'Delft'}, index=1, kind='tool', output=None, error='', seconds=None, tokens=0, \
predictor='', parent=0)
    """

    name: str
    args: Mapping[str, JSON] = field(default_factory=dict)
    index: int = 0
    kind: str = "tool"
    output: JSON = None
    error: str = ""
    seconds: float | None = None
    tokens: int = 0
    predictor: str = ""
    parent: int | None = None

    @property
    def is_call(self) -> bool:
        """Whether it calls a tool or a retriever."""
        return self.kind in CALLING

    @classmethod
    def of(cls, state: Record, index: int) -> Step:
        """A step from its JSON, and its position."""
        names = ("args", "kind", "output", "error", "seconds", "tokens", "predictor", "parent")
        return cls(state["name"], index=index, **{name: state[name] for name in names if state.get(name) is not None})

    def state(self) -> JsonObject:
        """As JSON: kind and name, then what this step has."""
        state: JsonObject = {"kind": self.kind, "name": self.name}
        for name in ("args", "output", "error", "seconds", "tokens", "predictor", "parent"):
            if (value := getattr(self, name)) not in (None, "", {}, 0) or (name == "parent" and value == 0):
                state[name] = value
        return state


def is_made_by(predictor: str, name: str) -> bool:
    """Whether a predictor of this name in a program is the one that a step or an error names, as its module knows it.

    >>> is_made_by("react", "agent.react"), is_made_by("react", "react.extract.predict")
    (True, False)
    """
    return bool(predictor) and (name == predictor or name.endswith(f".{predictor}"))


def tools_of(signature: Any) -> tuple[str, ...]:
    """The names of the tools among which a predictor of DSPy's ReAct chooses, by its signature; of others none."""
    return get_args(getattr(signature.output_fields.get("next_tool_name"), "annotation", None))


def bounded(value: object, longest: int = STEP_CHARACTERS) -> Any:
    """A copy of a value for a step: as JSON can hold it, cut after so many characters, with a note of what it was.

    >>> bounded({"ids": ("a", 7), "text": "x" * 30}, 20)
    {'ids': ['a', 7], 'text': 'xxxxxxxxxxxxxxx… (cut, 30 characters in all)'}
    """
    deepest = 20  # levels of a value that are recorded
    secret = 1000  # characters behind a cut in which a secret that begins before it may end
    room = longest

    def copy(value: Any, depth: int) -> Any:
        nonlocal room
        if isinstance(value, str):
            size = len(value)
            if size > room:
                value = f"{redact(value[: room + secret])[:room]}… (cut, {size:,} characters in all)"
            room -= min(size, room)
            return value
        if value is None or isinstance(value, (bool, int, float)):
            room -= 4
            return value
        if depth > deepest:
            return "…"
        try:
            if hasattr(value, "items"):
                copied = {}
                for number, (key, inner) in enumerate(value.items()):
                    if room <= 0:
                        copied["…"] = f"cut, {len(value.items()) - number:,} more"
                        break
                    copied[str(key)] = copy(inner, depth + 1)
                return copied
            if not isinstance(value, (list, tuple)):
                return copy(jsonable(value), depth + 1)
            items = []
            for number, inner in enumerate(value):
                if room <= 0:
                    items.append(f"… (cut, {len(value) - number:,} more)")
                    break
                items.append(copy(inner, depth + 1))
            return items
        except Exception:  # noqa: BLE001  whatever the value's own methods raise
            return f"<{type(value).__name__}>"

    return copy(value, 0)

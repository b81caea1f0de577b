"""The steps of a prediction in whatever form it has them: steps, DSPy's ReAct, or messages with calls of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay.core.fields import Record, read
from goldassay.core.steps import Step
from goldassay.measures.trajectories.records import FINISH, REACT_ERROR, arguments, call_of, error_of

TRAJECTORY = ("trajectory", "calls", "messages")
"""The fields under which a prediction may have its steps."""


def steps_of(pred: object) -> list[Step]:
    """The steps of a prediction, under the first field of `TRAJECTORY` that it has.

    >>> react = {"thought_0": "look", "tool_name_0": "search", "tool_args_0": {"q": "Delft"}, "observation_0": "a, b"}
    >>> [(step.kind, step.name, step.output) for step in steps_of({"trajectory": react})]
    [('tool', 'search', 'a, b')]
    """
    values = (read(pred, name, None) for name in TRAJECTORY)
    listed = next((value for value in values if value is not None), None)
    if isinstance(listed, Mapping):
        return of_messages(listed["messages"]) if "messages" in listed else _of_react(listed)
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return []
    if any(isinstance(step, Mapping) and "role" in step for step in listed):
        return of_messages(listed)
    return [_step(step, index) for index, step in enumerate(listed)]


def _step(state: Any, index: int) -> Step:
    """A step from its JSON, or from a call in any of the forms that `call_of` reads."""
    if not isinstance(state, Mapping) or "name" not in state:
        try:
            call = call_of(state)
            state = {"name": call.name, "args": call.args}
        except DataError:
            state = {"name": str(state)}
    parent = state.get("parent")
    above = isinstance(parent, int) and 0 <= parent < index
    args = state.get("args") or state.get("arguments")
    return Step.of(
        {**state, "name": str(state["name"]), "args": arguments(args), "parent": parent if above else None}, index
    )


def _of_react(fields: Record) -> list[Step]:
    steps: list[Step] = []
    while f"tool_name_{len(steps)}" in fields:
        index = len(steps)
        name = str(fields[f"tool_name_{index}"])
        output = fields.get(f"observation_{index}")
        error = output if isinstance(output, str) and output.startswith(REACT_ERROR) else ""
        args = arguments(fields.get(f"tool_args_{index}"))
        steps.append(Step(name, args, index, "module" if name == FINISH else "tool", output, error, predictor="react"))
    return steps


def of_messages(messages: Sequence[object]) -> list[Step]:
    """The steps of a chat: each answer of the model, and the calls of tools in it with what they returned.

    A tool's message belongs to the call that it names, or to the first call that has no output yet.
    """
    steps: list[Step] = []
    calls: dict[str, Step] = {}
    waiting: list[Step] = []
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        role = message.get("role")
        if role == "assistant":
            model = Step(str(message.get("model") or "assistant"), {}, len(steps), "model", text_of(message))
            steps.append(model)
            for call in message.get("tool_calls") or ():
                function = call.get("function")
                inner = function if isinstance(function, Mapping) else {**call, "name": function or call.get("name")}
                args = arguments(inner.get("arguments") or inner.get("args"))
                step = Step(str(inner.get("name")), args, len(steps), parent=model.index)
                if call.get("id") is not None:
                    calls[str(call["id"])] = step
                waiting.append(step)
                steps.append(step)
        elif role == "tool":
            answered = calls.get(str(message.get("tool_call_id"))) or (waiting[0] if waiting else None)
            if answered is not None:
                answered.output = text_of(message)
                answered.error = error_of(message)
                waiting = [step for step in waiting if step is not answered]
    return steps


def text_of(message: Record) -> str:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content")
    if content is None:
        content = message.get("parts")
    if isinstance(content, (list, tuple)):
        parts = (item.get("text") or item.get("content") if isinstance(item, Mapping) else item for item in content)
        return "\n".join(str(item) for item in parts if item)
    return "" if content is None else str(content)

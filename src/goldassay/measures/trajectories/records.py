"""What is read from gold and predictions: calls of tools, in the forms in which programs and their traces give them.

Gold has ``calls``, a list of ``{name, args}``, or several acceptable lists. A value of ``args`` may be a list of
acceptable values; ``null`` or ``""`` among them says that the argument may be left out. ``order`` is ``strict``
(default) or ``any``.

A prediction has its steps under ``trajectory`` (or ``calls``, ``messages``) in one of these forms:

* steps: ``[{"kind": "tool", "name": …, "args": …, "output": …, "error": …}, …]``;
* DSPy's ReAct: ``{"thought_0": …, "tool_name_0": …, "tool_args_0": …, "observation_0": …, …}``;
* messages with ``tool_calls``, as OpenAI's API has them: arguments are an object or its JSON text;
* BFCL's calls: ``[{name: {argument: value}}, …]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError
from goldassay._support.jsonl import JSON
from goldassay.core.fields import read
from goldassay.core.measure import failed, gold_field

CALLING = ("tool", "retriever", "")  # the kinds of steps that are calls; a step without a kind is one
FINISH = "finish"  # the tool with which DSPy's ReAct ends
REACT_ERROR = "Execution error"  # the first words of an observation of ReAct whose tool raised


@dataclass(slots=True)
class Call:
    """One call: the tool's name and its arguments, and of a prediction where it was and how it ended.

    ``step`` is its place among all steps of the trajectory, from 0; ``predictor`` the predictor that made it, if known.
    """

    name: str
    args: Mapping[str, JSON] = field(default_factory=dict)
    step: int = 0
    error: str = ""
    predictor: str = ""


@dataclass(frozen=True)
class Trajectory:
    """The calls of one prediction, how many steps it took, and whether it came to its end."""

    calls: tuple[Call, ...] = ()
    steps: int = 0
    finished: bool = True
    failure: str = ""

    @property
    def end(self) -> int:
        """The number of the step that would follow its last call or step."""
        return max(self.steps, self.calls[-1].step + 1 if self.calls else 0)


@dataclass(frozen=True)
class Reference:
    """The acceptable lists of calls, and whether their order counts."""

    alternatives: tuple[tuple[Call, ...], ...] = ((),)
    ordered: bool = True


def reference(gold: object) -> Reference:
    """The acceptable calls of a gold example.

    Raises:
        DataError: ``calls`` is not a list of calls or of such lists, or ``order`` is neither ``strict`` nor ``any``.

    >>> reference({"calls": [{"name": "search", "args": {"query": ["Delft", "delft"]}}]}).alternatives[0][0].name
    'search'
    """
    listed = gold_field(gold, "calls")
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise DataError(f"calls is a list of {{name, args}}, or several such lists, not {listed!r}", field="calls")
    has_alternatives = bool(listed) and all(isinstance(item, Sequence) and not isinstance(item, str) for item in listed)
    alternatives = listed if has_alternatives else [listed]
    order = read(gold, "order", "strict") or "strict"
    if order not in ("strict", "any"):
        raise DataError(f"order is strict or any, not {order!r}", field="order")
    return Reference(tuple(tuple(map(call_of, calls)) for calls in alternatives), order != "any")


def trajectory(pred: object) -> Trajectory:
    """The calls of a prediction; those of a program that failed are none.

    >>> react = {"thought_0": "look", "tool_name_0": "search", "tool_args_0": {"query": "Delft"}, "observation_0": "…",
    ...          "tool_name_1": "finish", "tool_args_1": {}, "observation_1": "Completed."}
    >>> steps = trajectory({"trajectory": react})
    >>> [(call.name, dict(call.args)) for call in steps.calls], steps.steps, steps.finished
    ([('search', {'query': 'Delft'})], 1, True)
    """
    if failure := failed(pred):
        return Trajectory(finished=False, failure=failure)
    steps = None
    for name in ("trajectory", "calls", "messages"):
        steps = read(pred, name, None)
        if steps is not None:
            break
    if isinstance(steps, Mapping):
        if "messages" in steps:
            return of_messages(steps["messages"])
        return _of_react(steps)
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        return Trajectory()
    if any((type(step) is dict or isinstance(step, Mapping)) and "role" in step for step in steps):
        return of_messages(steps)
    calls = []
    for index, step in enumerate(steps):
        if str(read(step, "kind", "") or "") in CALLING:
            call = call_of(step, index)
            if call.name != FINISH or call.args or name == "calls":  # that of ReAct has no arguments
                calls.append(call)
    finished = read(pred, "finished", True)
    return Trajectory(tuple(calls), len(steps), finished is not False)


def call_of(item: object, step: int = 0) -> Call:
    """A call from ``{name, args}``, a step, OpenAI's ``{function: {name, arguments}}``, Inspect's or BFCL's form.

    Raises:
        DataError: It has none of these forms.
    """
    get = item.get if type(item) is dict else lambda name: read(item, name, None)
    function = get("function")
    if function is not None and isinstance(function, Mapping):
        return Call(str(function.get("name", "")), arguments(function.get("arguments")), step)
    name = get("name")
    name = function if name is None else name  # Inspect: {function: name, arguments: {…}}
    if name is None:
        if isinstance(item, Mapping) and len(item) == 1:
            ((name, args),) = item.items()
            return Call(str(name), arguments(args), step)
        raise DataError(f"a call is {{name, args}}, not {item!r}", field="calls")
    args = get("args")
    args = get("arguments") if args is None else args
    return Call(str(name), arguments(args), step, str(get("error") or ""), str(get("predictor") or ""))


def arguments(args: object) -> Mapping[str, JSON]:
    """Arguments as a mapping; a text is JSON, and what is none is one argument without a name."""
    value: Any = args
    if type(value) is dict:
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        try:
            value = jsonl.value(value, unique=False) if value.strip() else {}
        except DataError:
            return {"": value}
    if type(value) is dict or isinstance(value, Mapping):
        return value  # type: ignore[no-any-return]
    return {} if value is None else {"": value}


def _of_react(fields: Mapping[str, object]) -> Trajectory:
    calls: list[Call] = []
    finished = False
    number = 0
    while f"tool_name_{number}" in fields:
        name = str(fields[f"tool_name_{number}"])
        observation = str(fields.get(f"observation_{number}", ""))
        error = observation if observation.startswith(REACT_ERROR) else ""
        if name == FINISH:
            finished = True
        else:
            args = arguments(fields.get(f"tool_args_{number}"))
            calls.append(Call(name, args, number, error, "react"))
        number += 1
    return Trajectory(tuple(calls), number - finished, finished)


def calls_of(message: object, first: int = 0) -> list[Call]:
    """The calls of one message, the first of which is this step."""
    listed = message.get("tool_calls") if type(message) is dict else read(message, "tool_calls", None)
    return [call_of(call, step) for step, call in enumerate(listed, first)] if listed else []


def error_of(message: object) -> str:
    """The error that a tool's message reports, as a text or as an object with a ``message``."""
    error = read(message, "error", None)
    return str(error.get("message", error) if isinstance(error, Mapping) else error or "")


def of_messages(messages: Sequence[object]) -> Trajectory:
    """The calls of messages with ``tool_calls``; each answer of the model is a step before them, as in `steps_of`."""
    calls: list[Call] = []
    step = 0
    has_errors = False
    for message in messages:
        role = read(message, "role", "")
        if role == "assistant":
            step += 1
        elif role == "tool" and error_of(message):
            has_errors = True
        listed = calls_of(message, step)
        step += len(listed)
        calls += listed
    if has_errors:
        # the error of a tool's message is that of the call that it names, or of the first call without an answer
        remaining = iter(calls)
        waiting: list[tuple[object, Call]] = []
        for message in messages:
            waiting += [(read(call, "id", None), next(remaining)) for call in read(message, "tool_calls", None) or ()]
            if waiting and read(message, "role", "") == "tool":
                name = read(message, "tool_call_id", None)
                pair = next((item for item in waiting if item[0] == name), waiting[0])
                pair[1].error = error_of(message)
                waiting.remove(pair)
    answered = bool(messages) and not (
        read(messages[-1], "tool_calls", None) or read(messages[-1], "role", "") == "tool"
    )
    return Trajectory(tuple(calls), len(calls), answered)

"""The contents of gold and predictions: calls of tools, in the forms in which programs and their traces give them.

Gold has ``calls``, a list of ``{name, args}``, or several acceptable lists. A value of ``args`` may be a list of
acceptable values; ``null`` or ``""`` among them says that the argument may be left out. ``order`` is ``strict``
(default) or ``any``.

A prediction has its steps under ``trajectory`` (or ``calls``, ``messages``) in one of these forms:

* steps: ``[{"kind": "tool", "name": …, "args": …, "output": …, "error": …}, …]``;
* DSPy's ReAct: ``{"thought_0": …, "tool_name_0": …, "tool_args_0": …, "observation_0": …, …}``, CodeAct and RLM (calls
  of ``python``); ReActV2 has them in ``history``;
* messages with ``tool_calls``, as OpenAI's API has them: arguments are an object or its JSON text; also the older
  ``function_call``, the items of its Responses, and parts of messages: Anthropic's ``tool_use``, Gemini's
  ``functionCall``, Bedrock's ``toolUse``, those of Pydantic AI, LlamaIndex, Haystack and of Vercel's AI SDK; and
  LangChain's messages as it serialises them;
* BFCL's calls: ``[{name: {argument: value}}, …]``.

`trajectory` reads the calls that count and refuses what is none; `steps_of` reads all steps, whatever they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from typing import Any, overload

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError, short_repr
from goldassay._support.jsonl import JSON
from goldassay.core.fields import Fields, JsonObject, Record, read
from goldassay.core.measure import failed, gold_field, pred_field
from goldassay.core.steps import CALLING, FINISH, STEP_CHARACTERS, SUBMIT, Step, bounded

KINDS = (*CALLING, "model", "module")
FINAL_RESULT = "final_result"  # how the name of that of Pydantic AI begins
PYTHON = "python"  # the tool that runs code which a model wrote
REACT_ERROR = "Execution error"  # the first words of an observation of ReAct whose tool raised
ANSWER = Step("assistant", kind="model")
TRAJECTORY = ("trajectory", "calls", "messages", "tool_calls")
"""The fields under which a prediction may have its steps."""
CHAT = ("messages", "contents", "events")  # what holds the messages of a chat; Gemini's, and of a session of its ADK
MODEL_ROLES = ("assistant", "ai", "model", "response")  # of OpenAI, LangChain, Gemini and Pydantic AI
CALL_ITEMS = ("function_call", "custom_tool_call", "mcp_call")  # of OpenAI's Responses
CORE_MESSAGES = ("UserMessage", "AssistantMessage")  # of AutoGen's models; its agents have their own
CALL_EVENT = "ToolCallRequestEvent"
MESSAGE_TYPES = ("ai", "human", "tool", "constructor", *CORE_MESSAGES, "TextMessage", CALL_EVENT, *CALL_ITEMS)
"""What messages and items that have no role say that they are: LangChain's, AutoGen's and OpenAI's."""
CALL_PARTS = ("tool_use", "tool_call")  # how the kinds of parts end that are calls
RESULT_PARTS = ("tool_result", "tool_return", "tool_call_response", "retry_prompt")
KEYED_PARTS = {
    **dict.fromkeys(("functionCall", "function_call", "toolUse", "toolInvocation", "tool_call"), "tool_call"),
    **dict.fromkeys(("functionResponse", "function_response", "toolResult", "tool_call_result"), "tool_result"),
}
"""The kinds of parts that are objects under a key of their own, as Gemini, Bedrock and Haystack write them."""
NAMES_OF_TOOL = ("tool_name", "toolName", "tool")  # Vertex AI, Vercel's AI SDK, LangChain's actions, and others
NAMES_OF_ARGUMENTS = (
    *("args", "arguments", "input", "tool_input", "tool_kwargs"),  # also of Vertex AI, and of LlamaIndex
    *("input_parameters", "inputParameters"),  # of deepeval
)
UNSAID_PARTS = (*RESULT_PARTS, "thinking", "reasoning", "system_prompt")  # no words of the message's author
PLAIN_ROLES = {"system", "user", "assistant", "tool"}
PLAIN_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name"}
"""Of messages that have no other form of calls, as most, the fields; their content is a text."""
CLASS_NAME = re.compile(r"(\w+?)Message(Chunk)?")  # of a message, in place of its role


@dataclass(slots=True)
class Calls(Sequence[Step]):
    """Calls in columns, of which a batch keeps few objects for the garbage collector; an item is made when asked for.

    >>> calls = Calls.of([Step("search", {"q": "Delft"}), Step("read", {"id": 7}, error="gone")])
    >>> calls.names, calls[1].error
    (('search', 'read'), 'gone')
    """

    names: tuple[str, ...] = ()
    args: tuple[Mapping[str, JSON], ...] = ()
    errors: tuple[str, ...] = ()
    predictors: tuple[str, ...] = ()

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Calls:
        """The columns of steps."""
        return cls(*zip(*map(attrgetter("name", "args", "error", "predictor"), steps), strict=True))

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        error = self.errors[index]
        return Step(self.names[index], self.args[index], index, error=error, predictor=self.predictors[index])


@dataclass(slots=True)
class Trajectory:
    """The calls of one prediction, how many steps it took, whether it came to its end, and by which predictor."""

    calls: Calls = field(default_factory=Calls)
    steps: int = 0
    finished: bool = True
    failure: str = ""
    predictor: str = ""


@dataclass(slots=True)
class Reference:
    """The acceptable lists of calls, and whether their order counts."""

    alternatives: tuple[Calls, ...]
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
    return Reference(tuple([Calls.of(map(call_of, calls)) for calls in alternatives]), order != "any")


def trajectory(pred: object) -> Trajectory:
    """The calls of a prediction; those of a program that failed are none.

    Raises:
        FieldError: The prediction has no field in which steps or calls are.
        DataError: A call has none of the forms that `call_of` reads.

    >>> react = {"thought_0": "look", "tool_name_0": "search", "tool_args_0": {"query": "Delft"}, "observation_0": "…",
    ...          "tool_name_1": "finish", "tool_args_1": {}, "observation_1": "Completed."}
    >>> steps = trajectory({"trajectory": react})
    >>> [(call.name, dict(call.args)) for call in steps.calls], steps.steps, steps.finished
    ([('search', {'query': 'Delft'})], 1, True)
    """
    if failure := failed(pred):
        return Trajectory(finished=False, failure=failure)
    form, listed = _form(pred)
    if form in READERS:
        steps = of_messages(listed, strict=True) if form == "chat" else READERS[form](listed)
        if form == "react" and listed and not steps and "thought_0" not in listed:
            raise DataError(f"no trajectory of DSPy's ReAct: {short_repr(listed, 200)}", field="trajectory")
        calls = [step for step in steps if step.kind == "tool"]
        is_code = bool(calls) and calls[-1].name == PYTHON  # CodeAct has no tool with which it ends
        finished = (is_code or len(calls) < len(steps)) and read(pred, "termination_reason", SUBMIT) == SUBMIT
        if form == "chat":
            finished = bool(listed) and not (steps and steps[-1].kind == "tool")
        return Trajectory(Calls.of(calls), len(calls), finished, predictor=steps[-1].predictor if steps else "")
    if not form:
        if all(read(pred, name, ...) is ... for name in (*TRAJECTORY, "history")):
            return trajectory({TRAJECTORY[0]: pred_field(pred, TRAJECTORY[0])})  # alone, or an error that lists fields
        return Trajectory()
    calls = []
    for index, step in enumerate(listed):
        kind = str(read(step, "kind", "") or "")
        if kind not in KINDS:
            raise DataError(f"the kind of a step is {', '.join(filter(None, KINDS))}, not {kind!r}", field="trajectory")
        if kind in CALLING:
            call = call_of(step, index)
            if call.name != FINISH or call.args or form == "calls":  # that of ReAct has no arguments
                calls.append(call)
    finished = read(pred, "finished", True)
    return Trajectory(Calls.of(calls), len(listed), finished is not False)


def steps_of(pred: object, *, strict: bool = False) -> list[Step]:
    """The steps of a prediction, under the first field of `TRAJECTORY` that it has; long values are cut.

    Raises:
        DataError: There is no list where one is expected, and the reading is ``strict``; a page shows no steps then.

    >>> react = {"thought_0": "look", "tool_name_0": "search", "tool_args_0": {"q": "Delft"}, "observation_0": "a, b"}
    >>> [(step.kind, step.name, step.output) for step in steps_of({"trajectory": react})]
    [('tool', 'search', 'a, b')]
    """
    steps: list[Step] = []
    with nullcontext() if strict else suppress(DataError):
        form, listed = _form(pred)
        steps = READERS.get(form, _of_list)(listed)
    longest = 2 * STEP_CHARACTERS  # what was cut when it was recorded stays as it is, with its notes
    for step in steps:
        step.args = bounded(step.args, longest)
        step.output = bounded(step.output, longest)
        step.error = bounded(step.error, longest)
    return steps


def _form(pred: object) -> tuple[str, Any]:
    """How a prediction has its steps, and those: ``react``, ``history``, ``chat``, or the field in which they are."""
    if isinstance(pred, (list, tuple)):
        pred = {TRAJECTORY[0]: pred}
    field = next((name for name in TRAJECTORY if read(pred, name, None) is not None), "")
    listed = read(pred, field, None) if field else None
    listed = listed if isinstance(listed, list) else read(listed, "tool_calls", listed)  # of a `dspy.ToolCalls`
    turns = list_of(read(pred, "history.messages", None), "history.messages") if not field else ()
    if any(read(turn, "tool_calls", None) for turn in turns):
        return "history", turns
    if isinstance(listed, Mapping):
        chat = next((name for name in CHAT if listed.get(name) is not None), "")
        return ("chat", list_of(listed[chat], f"{field}.{chat}")) if chat else ("react", listed)
    listed = list_of(listed, field)
    is_chat = any(
        (type(step) is dict or isinstance(step, Mapping))
        and ("role" in step or "parts" in step or step.get("type") in MESSAGE_TYPES or is_event(step))
        for step in listed
    )
    return "chat" if is_chat else field, listed


def list_of(value: object, field: str) -> Sequence[object]:
    """A list of a prediction or a message; an empty one for None.

    Raises:
        DataError: It is something else.
    """
    if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, str)):
        return value
    if value is not None:
        raise DataError(f"expected a list of steps, messages or calls, not {value!r}", field=field)
    return ()


def call_of(item: object, index: int = 0) -> Step:
    """A call from ``{name, args}``, a step, OpenAI's ``{function: {name, arguments}}``, Inspect's or BFCL's form.

    Its name and its arguments may be called as other tools do (`NAMES_OF_TOOL`, `NAMES_OF_ARGUMENTS`).

    Raises:
        DataError: It has none of these forms.

    >>> call_of({"tool_name": "search", "tool_input": {"q": "Delft"}}).args
    {'q': 'Delft'}
    """
    get = item.get if type(item) is dict else lambda name: read(item, name, None)
    function = get("function") or get("custom")
    if function and (type(function) is dict or isinstance(function, Mapping)) and function.get("name"):
        return Step(str(function["name"]), arguments(function.get("arguments", function.get("input"))), index)
    name = get("name")
    name = function or next(filter(None, map(get, NAMES_OF_TOOL)), None) if name is None else name
    if name is None and isinstance(code := get("code"), str):  # DSPy's RLM
        return Step(PYTHON, {"code": code}, index, output=get("output"))
    if not isinstance(name, (str, int)):
        if isinstance(item, Mapping) and len(item) == 1:
            ((name, args),) = item.items()
            if name in KEYED_PARTS:
                return call_of(args, index)
            return Step(str(name), arguments(args), index)
        raise DataError(f"a call is {{name, args}}, not {item!r}", field="calls")
    for key in NAMES_OF_ARGUMENTS:
        args = get(key)
        if args is not None:
            break
    error = str(get("error") or "")
    return Step(str(name), arguments(args), index, error=error, predictor=str(get("predictor") or ""))


def _call_or_text(item: object, index: int) -> Step:
    """A call; of what is none the text, in the place of a name."""
    try:
        return call_of(item, index)
    except DataError:
        return Step(str(item), {}, index)


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


def _of_list(listed: Sequence[object]) -> list[Step]:
    """The steps of a list of steps, calls or texts."""
    steps = []
    for index, step in enumerate(listed):
        call = _call_or_text(step, index)
        if isinstance(step, Mapping) and "name" in step:
            parent = step.get("parent")
            above = isinstance(parent, int) and 0 <= parent < index
            checked = {"name": call.name, "args": call.args, "parent": parent if above else None}
            call = Step.of({**step, **checked}, index)
        steps.append(call)
    return steps


def _of_react(fields: Record) -> list[Step]:
    """The steps of ReAct, and of CodeAct, whose calls are code; the first ones may have been dropped."""
    steps: list[Step] = []
    first = dropped(fields)
    while not fields.keys().isdisjoint(
        f"{name}_{first + len(steps)}" for name in ("tool_name", "generated_code", "observation")
    ):
        index = len(steps)
        number = first + index
        output = fields.get(f"observation_{number}")
        if f"tool_name_{number}" in fields:
            name = str(fields[f"tool_name_{number}"])
            error = output if isinstance(output, str) and output.startswith(REACT_ERROR) else ""
            args = arguments(fields.get(f"tool_args_{number}"))
            kind = "module" if name == FINISH else "tool"
            steps.append(Step(name, args, index, kind, output, error, predictor="react"))
        else:
            code = {"code": str(fields.get(f"generated_code_{number}", ""))}
            result = fields.get(f"code_output_{number}")
            steps.append(Step(PYTHON, code, index, "tool", result, str(output or ""), predictor="codeact"))
    return steps


def dropped(fields: object) -> int:
    """The steps that DSPy's ReAct dropped from its trajectory when that outgrew the context of the model.

    >>> dropped({"thought_2": "…", "tool_name_2": "read", "tool_args_2": {}, "observation_2": "…"})
    2
    """
    names = map(str, fields) if isinstance(fields, Mapping) else ()
    numbers = (name.removeprefix("tool_name_") for name in names if name.startswith("tool_name_"))
    return min((int(number) for number in numbers if number.isdecimal()), default=0)


def _of_history(turns: Sequence[object]) -> list[Step]:
    """The steps of ReActV2, by the turns of its history; those before an earlier answer are of other predictions."""
    steps: list[Step] = []
    for turn in turns:
        calls = read(turn, "tool_calls.tool_calls", None) or ()
        if calls and any(step.name == SUBMIT and not step.error for step in steps):
            steps.clear()
        results = read(turn, "tool_calls.tool_call_results.tool_call_results", None) or ()
        for call, result in zip_longest(calls, results[: len(calls)]):
            step = call_of(call, len(steps))
            step.kind = "module" if step.name == SUBMIT else "tool"
            step.output = read(result, "value", None)
            step.error = str(step.output) if read(result, "is_error", False) else ""
            step.predictor = "react"
            steps.append(step)
    return steps


def of_messages(messages: Sequence[object], *, strict: bool = False) -> list[Step]:
    """The steps of a chat: each answer of the model, and the calls of tools in it with what they returned.

    Calls are ``tool_calls`` or ``function_call`` of a message, or parts of its content (Anthropic's ``tool_use``,
    Gemini's ``functionCall`` …) or items of their own (OpenAI's Responses). A result belongs to the call whose id it
    has, or else, where one of the two has no id, to the first call without an output: of its tool, or of any.

    Raises:
        DataError: The calls of a message are not a list; or a call has none of the forms that `call_of` reads, and the
            reading is ``strict``.

    >>> parts = [{"type": "tool_use", "id": "a", "name": "search", "input": {"q": "Delft"}}]
    >>> results = [{"type": "tool_result", "tool_use_id": "a", "content": "7, 9"}]
    >>> steps = of_messages([{"role": "assistant", "content": parts}, {"role": "user", "content": results}])
    >>> [(step.name, dict(step.args), step.output) for step in steps]
    [('assistant', {}, ''), ('search', {'q': 'Delft'}, '7, 9')]
    """
    read_call = call_of if strict else _call_or_text
    steps: list[Step] = []
    waiting: list[tuple[object, Step]] = []
    for item in messages:
        is_plain = type(item) is dict and item.get("role") in PLAIN_ROLES and item.keys() <= PLAIN_FIELDS
        is_plain = is_plain and type(read(item, "content", None)) is not list
        message: Any = item if is_plain else message_of(item)
        get = message.get if type(message) is dict else partial(read, message, default=None)
        role = role_of(message)
        parent = None
        if role in MODEL_ROLES:
            parent = len(steps)
            # scores need the calls alone
            steps.append(ANSWER if strict else _answer(message, parent, text_of(message)))
        called = list_of(get("tool_calls"), "tool_calls")
        parts: list[Fields] = []
        in_parts: list[JsonObject] = []
        if not is_plain:
            parts = _parts_of(get)
            called, in_parts = _calls_of(message, role, called, parts)
            is_unknown = not get("role") and not re.fullmatch("[a-z_-]+", role)
            is_call = role.endswith("call") or get("type") == CALL_EVENT
            if strict and (is_unknown or (is_call and not called)):
                raise DataError(f"no form of messages that is known: {short_repr(item, 200)}", field="messages")
        elif not called and role != "tool":
            continue  # as most
        for call in called:
            step = read_call(call, len(steps))
            if step.name.startswith(FINAL_RESULT) and read(call, "part_kind", None):
                step.kind = "module"
            step.parent = parent
            steps.append(step)
            if type(call) is not dict or call.get("output", call.get("result")) is None:
                waiting.append((_first(call, "call_id", "tool_call_id", "id"), step))
            elif not strict:
                step.output = text_of(call)
        if is_plain and role != "tool":
            continue
        if in_parts and parts[-1]["type"] == "text":  # its provider ran the tool, and the model went on
            steps.append(ANSWER if strict else _answer(message, len(steps), parts[-1].get("text")))
        results: Sequence[object] = [part for part in parts if part["type"].endswith(RESULT_PARTS)]
        if not results and (role in ("tool", "function") or role.endswith("_call_output")):
            results = [message]
        for result in results if waiting else ():
            call_id = _first(result, "tool_call_id", "tool_use_id", "call_id", "id")
            call_id = call_id or read(result, "origin.id", None)  # Haystack
            tool = read(result, "name", None)
            pair = next((item for item in waiting if call_id and item[0] == call_id), None)
            if pair is None:
                free = [item for item in waiting if not call_id or not item[0]]
                pair = next((item for item in free if item[1].name == tool), free[0] if free else None)
            if pair is None:  # the result of a call that is not here
                continue
            waiting.remove(pair)
            error = read(result, "error", None) or read(read(result, "response", None), "error", None)
            error = error.get("message", error) if isinstance(error, Mapping) else error
            if True in (error, read(result, "is_error", None)) or read(result, "status", None) == "error":
                error = text_of(result) or "error" if error in (None, True) else error
            pair[1].output = None if strict else text_of(result)
            pair[1].error = str(error or "")
    return steps


def _answer(message: object, index: int, text: JSON) -> Step:
    """A text of the model that wrote a message."""
    return Step(str(read(message, "model", None) or "assistant"), {}, index, "model", text)


def _first(record: object, *names: str) -> Any:
    """The first of these fields that a record has and that is not empty; None without any."""
    get = record.get if type(record) is dict else partial(read, record, default=None)
    for name in names:
        if value := get(name):
            return value
    return None


def _parts_of(get: Callable[[str], Any]) -> list[Fields]:
    """The parts of a message, whose fields this gives."""
    listed = get("content")
    listed = listed if isinstance(listed, list) else get("parts") or get("blocks")
    return [_part(part) for part in listed if isinstance(part, Mapping)] if isinstance(listed, list) else []


def _calls_of(
    message: Any, role: str, called: Sequence[object], parts: list[Fields]
) -> tuple[Sequence[object], list[JsonObject]]:
    """The calls of a message in any form, and those of them that are among its parts.

    Raises:
        DataError: ``invalid_tool_calls`` is not a list.
    """
    get = message.get if type(message) is dict else partial(read, message, default=None)
    if invalid := get("invalid_tool_calls"):  # LangChain's, whose arguments are a text that it could not read
        valid_ids = [read(call, "id", None) for call in called]
        unread = (call for call in list_of(invalid, "invalid_tool_calls") if read(call, "name", None))
        called = [*called, *(call for call in unread if read(call, "id", ...) not in valid_ids)]
    if role in CALL_ITEMS:
        return [message], []
    if get("function_call"):  # how it was before tools
        return [{"function": get("function_call")}], []
    if role.endswith("_call"):  # of a tool that OpenAI runs
        searched = {name: get(name) for name in ("queries", "code") if get(name)}
        return [{"name": role.removesuffix("_call"), "args": get("action") or get("operation") or searched}], []
    listed_ids = [read(call, "id", None) for call in called]  # LangChain has the calls of Anthropic's models twice
    calls = (part for part in parts if part["type"].endswith(CALL_PARTS))
    in_parts = [part for part in calls if part.get("id") not in listed_ids]
    return [*called, *in_parts], in_parts


READERS: dict[str, Callable[[Any], list[Step]]] = {
    "react": _of_react,
    "history": _of_history,
    "chat": of_messages,
}
"""The steps of each form that is not a list of steps or calls."""


def _part(part: Record) -> Fields:
    """A part of a message with its ``type``, its ``id`` and the ``name`` of its tool, however they are written."""
    key = next((key for key in KEYED_PARTS if isinstance(part.get(key), Mapping)), "")
    fields = {**part[key], "type": KEYED_PARTS[key]} if key else dict(part)
    kind = kind_of_part(fields)
    if not kind and fields.keys() & {"arguments", "call_id"}:  # AutoGen
        kind = "tool_call" if "arguments" in fields else "tool_result"
    if (call_id := fields.get("toolCallId") or fields.get("toolUseId")) is not None:
        fields["id"] = call_id
        if kind.startswith("tool_") and not kind.endswith((*CALL_PARTS, *RESULT_PARTS)):
            fields.setdefault("toolName", kind.removeprefix("tool_"))  # the interface of Vercel's AI SDK
            kind = "tool_call"
    failed = fields.get("isError") or kind == "retry_prompt" or fields.get("outcome") in ("failed", "retried")
    if failed or "error" in str(read(fields.get("output"), "type", "")):
        fields["is_error"] = True
    if fields.get("errorText"):
        fields["error"] = fields["errorText"]
    return fields | {"type": kind}


def kind_of_part(part: Mapping[str, object]) -> str:
    """What a part of a message says that it is; empty if it does not."""
    kinds = (part.get(name) for name in ("type", "part_kind", "block_type"))
    return str(next(filter(None, kinds), "")).replace("-", "_")


def message_of(value: object) -> Any:
    """A message with its fields at the top, and its role if its class is all that it names.

    LangChain serialises messages with their fields under ``kwargs`` or ``data``, and LlamaIndex has the calls in
    ``additional_kwargs``, where LangChain repeats them.

    >>> message_of({"lc": 1, "type": "constructor", "id": ["schema", "AIMessage"], "kwargs": {"content": "Delft"}})
    {'content': 'Delft', 'type': 'AIMessage', 'role': 'ai'}
    """
    if type(value) is not dict or ("role" in value and value.keys().isdisjoint(("data", "additional_kwargs"))):
        return value
    if is_event(value):
        return value.get("content") or {"role": "system"}  # an event may have no message
    inner = value.get("kwargs") or value.get("data")
    if isinstance(inner, Mapping):
        names = value.get("id")
        value = {**inner, "type": names[-1] if "lc" in value and names else value.get("type")}
    if additional := value.get("additional_kwargs"):
        value = {**additional, **{name: field for name, field in value.items() if field}}
    kind = str(value.get("type"))
    name = CLASS_NAME.fullmatch(kind)
    if (
        not value.get("role")
        and "source" in value
        and kind.endswith(("Message", "Event"))
        and kind not in CORE_MESSAGES
    ):
        role = "user" if value["source"] == "user" else "assistant"
        value = {**value, "role": "tool" if kind == "ToolCallExecutionEvent" else role}
    elif not value.get("role") and name:
        value = {**value, "role": name[1].lower()}
    return value


def is_event(value: Mapping[str, object]) -> bool:
    """Whether an object is an event of Google's ADK, which may have a message of Gemini as its content."""
    return value.keys() >= {"author", "actions"}


def role_of(message: object) -> str:
    """Whose message one is, by its role; of what has none, what it is."""
    get = message.get if type(message) is dict else partial(read, message, default=None)
    return str(get("role") or get("type") or get("kind") or "")


def text_of(message: object) -> str:
    """The text of a message or of a result, which is a text, a list of parts or an object."""
    fields = (read(message, name, None) for name in ("content", "parts", "blocks", "output", "response", "result"))
    content = next((content for content in fields if content is not None), None)
    if isinstance(content, (list, tuple)):
        texts = []
        for item in content:
            if isinstance(item, Mapping):
                is_said = not item.get("thought") and not kind_of_part(item).endswith(UNSAID_PARTS)
                item = (item.get("text") or item.get("content") or item.get("json")) if is_said else None
            if item:
                texts.append(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str))
        return "\n".join(texts)
    if isinstance(content, Mapping):
        content = next((content[name] for name in ("output", "result") if name in content), content)
    if isinstance(content, (Mapping, list)):
        return json.dumps(content, ensure_ascii=False, default=str)
    return "" if content is None else str(content)

"""The spans of a trace as a tree of steps, whoever wrote them.

Where the parts of a span are is in ``logs.json``; what they mean is the same everywhere. No span is left out: one whose
parent is absent is a root, and of spans that are their own ancestors the first is one. Everything is linear in the
number of spans but for sorting them by their start, and long values are cut (`goldassay.core.steps.bounded`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import takewhile, zip_longest
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay._support.jsonl import JSON
from goldassay._support.secrets import scrub
from goldassay.core.fields import JsonObject
from goldassay.core.steps import CALLING, FINISH, STEP_CHARACTERS, SUBMIT, Step, bounded
from goldassay.measures.trajectories.records import MODEL_ROLES, message_of, of_messages, role_of
from goldassay.running.evaluated import Sample, number

STEP_KINDS = {
    **dict.fromkeys(("tool", "execute_tool", "function", "mcp_tool", "ai.toolcall"), "tool"),
    **dict.fromkeys(("llm", "chat", "chat_model", "completion", "text_completion", "generate_content"), "model"),
    **dict.fromkeys(("generation", "response", "model", "embedding", "embeddings"), "model"),
    **dict.fromkeys(("ai.generatetext.dogenerate", "ai.streamtext.dostream"), "model"),
    **dict.fromkeys(("retriever", "retrieval", "reranker"), "retriever"),
}
"""The kind of a step by what tools call it; whatever else there is (agents, chains, tasks) is a module."""
FAILED_STATUS = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR", "error")
API_PREFIX = re.compile(r"^(message|tool_call)\.(function\.)?")
DSPY_TOOL = re.compile(r"^Tool\.|\.(__call__|acall)$")  # around the name of DSPy's tools, of MLflow and OpenInference
SMOLAGENTS = "sanitize_inputs_outputs"  # of all calls of its tools
# spans of Google ADK and of OpenAI's agents besides those of calls
NO_CALL = re.compile(r"\(merged tools\)|handoff to .*")
CALL_FAILED = "the traced call failed"
UNREADABLE = (ValueError, SyntaxError, RecursionError, MemoryError)


def tree(spans: Iterable[Sample]) -> tuple[Step, ...]:
    """The steps of a trace: parents before their children, and these by their start.

    >>> spans = [{"id": "b", "parent": "a", "kind": "TOOL", "name": "search", "args": '{"q": "Delft"}', "start": 2},
    ...          {"id": "a", "name": "agent", "start": 1}]
    >>> [(step.kind, step.name, dict(step.args), step.parent) for step in tree(spans)]
    [('module', 'agent', {}, None), ('tool', 'search', {'q': 'Delft'}, 0)]
    """
    ordered = sorted(spans, key=lambda span: moment(span.get("start")))
    calling = [span for span in ordered if kind_of(span) in CALLING]
    has_names = all(_args_of(span).keys() != {"input"} for span in calling)
    asked = [] if calling and has_names else _calls_of(ordered)
    ordered += [] if calling else asked
    named: dict[tuple[str, str], JsonObject] = {}  # arguments that are one text, by the tool and the text
    for call in asked:
        if len(values := [*call.get("args", {}).values()]) == 1:
            named[call["name"], str(values[0])] = call["args"]
    numbers: dict[str, int] = {}
    for number_, span in enumerate(ordered):
        numbers.setdefault(str(span.get("id")), number_)
    children: list[list[int]] = [[] for _ in ordered]
    roots: list[int] = []
    for number_, span in enumerate(ordered):
        parent = numbers.get(str(span["parent"])) if span.get("parent") else None
        (roots if parent in (None, number_) else children[parent or 0]).append(number_)
    steps: list[Step] = []
    seen: set[int] = set()
    for root in (*roots, *range(len(ordered))):  # the spans of a circle hang on no root
        waiting: list[tuple[int, int | None]] = [(root, None)]
        while waiting:
            number_, parent = waiting.pop()
            if number_ not in seen:
                seen.add(number_)
                waiting += [(child, len(steps)) for child in reversed(children[number_])]
                span = ordered[number_]
                kind = kind_of(span)
                error = span.get("error") or ""
                if not error and span.get("failed") in FAILED_STATUS:
                    error = span.get("message") or CALL_FAILED
                begin = moment(span.get("start"))
                end = moment(span.get("end"))
                name = " ".join(str(span.get("name") or kind).split())[:200]
                outer = None if parent is None else steps[parent]
                if kind == "tool":
                    name = DSPY_TOOL.sub("", name)
                is_end = name in (FINISH, SUBMIT) and outer is not None and outer.name.startswith("ReAct")
                is_end = is_end or (name == "final_answer" and SMOLAGENTS in str(span.get("args")))
                if is_end or NO_CALL.fullmatch(name):  # the tool with which an agent ends
                    kind = "module"
                args = _args_of(span)
                if kind in CALLING and args.keys() == {"input"}:  # OpenInference writes a text alone without its name
                    args = named.get((name, str(args["input"])), args)
                args = scrub(bounded({} if args in ({"input": None}, {"input": {}}) else args))
                if kind == "tool" and outer and (outer.kind, outer.name) == (kind, name) and args in ({}, outer.args):
                    kind = "module"  # two instruments recorded one call
                    outer.error = outer.error or scrub(" ".join(str(bounded(error)).split()))
                step = Step(
                    name,
                    args,
                    len(steps),
                    kind,
                    scrub(bounded(decoded(span.get("output")))),
                    scrub(" ".join(str(bounded(error)).split())),
                    max(0.0, round(end - begin, 6)) if begin and end else None,
                    sum(int(number(count) or 0) for count in (span.get("tokens") or {}).values()),
                    parent=parent,
                )
                steps.append(step)
    calls = [step for step in steps if step.is_call]
    return tuple(steps) if len(steps) > 1 or calls else ()  # one span alone is the answer itself


def _calls_of(spans: list[Sample]) -> list[Sample]:
    """The calls that the models of a trace asked for, as spans inside theirs; results are in what a model got next.

    Of a trace without models, such as a root of LangSmith alone, they are in what its first span returned, after the
    last message of the user.
    """
    calls: list[Sample] = []
    models = [span for span in spans if kind_of(span) == "model"] or spans[:1]
    for span, following in zip_longest(models, models[1:], fillvalue=Sample()):
        replies = messages_in(span.get("replies") or span.get("output"))[::-1]
        replies = list(takewhile(lambda message: role_of(message) != "human", replies))[::-1]
        later = messages_in(following.get("asked") or following.get("args"))
        results = list(takewhile(lambda message: role_of(message) not in MODEL_ROLES, reversed(later)))[::-1]
        with suppress(DataError):
            steps = [step for step in of_messages([*replies, *results]) if step.kind == "tool"]
            about = {"kind": "tool", "parent": span.get("id"), "start": span.get("end")}
            calls += [{**step.state(), **about, "id": f"{span.get('id')} {step.index}"} for step in steps]
    return calls


def messages_in(value: JSON) -> list[JsonObject]:
    """The messages in what a model got or gave, as tools write them: a list, the request or the response of an API."""
    value = decoded(value)
    if isinstance(value, dict):
        names = ("messages", "contents", "choices", "output", "generations", "candidates")
        value = next(filter(None, map(value.get, names)), value)
        value = [value] if isinstance(value, dict) else value
    pair = [str, str]  # a message in LangChain's short form: its role and its text
    while isinstance(value, list) and value and isinstance(value[0], list) and [*map(type, value[0])] != pair:
        value = value[0]  # LangChain: one for each prompt
    messages = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list):
            item = dict(zip(("role", "content"), item, strict=False))
        if isinstance(item, dict):
            fields = _bare(item)
            message = fields.get("message") or ("role" not in fields and fields.get("content"))  # as Gemini has it
            messages.append(message_of(message if isinstance(message, dict) else fields))
    return messages


def _bare(value: object) -> Any:
    """A value with the names that its fields have in APIs, as OpenInference has ``message.role``."""
    if isinstance(value, list):
        return list(map(_bare, value))
    if isinstance(value, dict):
        return {API_PREFIX.sub("", name): _bare(inner) for name, inner in value.items()}
    return value


def kind_of(span: Sample) -> str:
    """The kind of a span's step."""
    return STEP_KINDS.get(str(span.get("kind") or "").strip('"').lower(), "module")


def moment(value: Any) -> float:
    """Seconds since 1970 from seconds, milli-, micro- or nanoseconds, or an ISO date; 0 if it is none of them."""
    seconds = number(value)
    if seconds is None:
        with suppress(ValueError, OverflowError):
            return datetime.fromisoformat(str(value)).timestamp()
        return 0.0
    while abs(seconds) > 1e11:
        seconds /= 1000
    return seconds


def decoded(value: JSON) -> JSON:
    """A value that may be JSON in a text, or Python's way to write an object, as LangChain does."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    with suppress(*UNREADABLE):
        return _without_tags(json.loads(value))
    with suppress(*UNREADABLE):
        return ast.literal_eval(value) if len(value) < STEP_CHARACTERS else value
    return value


def _without_tags(value: JSON) -> JSON:
    """What LangChain's callbacks were given, of what Traceloop writes of them; any other value as it is."""
    if isinstance(value, dict):
        has_tags = {"tags", "metadata", "kwargs"} <= value.keys()
        for name in ("inputs", "outputs", "output"):
            if name in value and (has_tags or value.keys() == {name, "kwargs"}):
                return value[name]  # type: ignore[no-any-return]
    return value  # type: ignore[no-any-return]


def _args_of(span: Sample) -> JsonObject:
    """The arguments of a span; those without a name have those of the tool's parameters, in their order."""
    schema = decoded(span.get("parameters"))
    names = schema.get("properties", schema) if isinstance(schema, dict) else ()
    return as_object(span.get("args"), "input", tuple(names))


def as_object(value: JSON, name: str, parameters: Sequence[str] = ()) -> JsonObject:
    """A value as an object; one that is none is its one field, and so is one whose only field is ``input``.

    What Traceloop, Langfuse, LlamaIndex and smolagents write of a function, ``args`` and ``kwargs``, are its arguments
    by name, with those of its ``parameters``; a single one without a name is the value.
    """
    value = decoded(value)
    if isinstance(value, dict) and value.keys() == {"input"}:
        value = decoded(value["input"])
    is_call = isinstance(value, dict) and value.keys() <= {"args", "kwargs", SMOLAGENTS}
    if is_call and isinstance(value, dict) and isinstance(value.get("kwargs"), dict):
        args = value.get("args")
        kwargs = value["kwargs"]
        if not isinstance(args, list) or len(args) > len(parameters):
            if not kwargs and isinstance(args, list) and len(args) == 1:
                return as_object(args[0], name)
            value = kwargs | ({"args": args} if args else {})
        else:
            value = dict(zip(parameters, args, strict=False)) | kwargs
    return value if isinstance(value, dict) and value else {name: value}

"""Traces of agents, as each tool exports them: every span is a step, in the tree in which it was called."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import goldassay
from goldassay._support.exceptions import GoldassayError
from goldassay.core.steps import Step
from goldassay.ext.interop.logs import read_log
from goldassay.ext.interop.logs.spans import decoded
from goldassay.ext.interop.logs.tools import systems_in
from goldassay.ext.labelling.drafts import draft
from goldassay.ext.labelling.sources import pool_of
from goldassay.gold import read
from goldassay.measures.trajectories.records import trajectory
from goldassay.running.rows import Row as RunRow

Row = dict[str, Any]
SECOND = 1_000_000_000
START = 1_790_000_000 * SECOND
STEPS = [  # what every tool below was told: id, parent, kind, name, arguments, output, error
    ("a", "", "AGENT", "agent", {"question": "Where is the archive?"}, {"answer": "Gouda"}, ""),
    ("b", "a", "LLM", "plan", {"prompt": "think"}, "search", ""),
    ("c", "a", "TOOL", "search", {"query": "archive"}, ["p1", "p2"], ""),
    ("d", "c", "RETRIEVER", "index", {"query": "archive"}, ["p1", "p2"], ""),
    ("e", "a", "TOOL", "read", {"id": "p1"}, None, "p1 is gone"),
]
EXPECTED = [
    ("module", "agent", None),
    ("model", "plan", 0),
    ("tool", "search", 0),
    ("retriever", "index", 2),
    ("tool", "read", 0),
]


def otlp(attributes: Any) -> Row:
    """An export in which a span has the attributes that a function gives it; the last span comes first."""
    spans = []
    for place, (name, parent, *about) in enumerate(STEPS):
        pairs = [{"key": key, "value": otlp_value(value)} for key, value in attributes(*about).items()]
        error = about[-1]
        spans.append(
            {
                **{"traceId": "t1", "spanId": name, "parentSpanId": parent, "name": about[1]},
                **{
                    "startTimeUnixNano": str(START + place * SECOND),
                    "endTimeUnixNano": str(START + (place + 2) * SECOND),
                },
                **{"attributes": pairs, "status": {"code": 2, "message": error} if error else {"code": 1}},
            }
        )
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans[::-1]}]}]}


def otlp_value(value: Any) -> Row:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": otlp_value(inner)} for key, inner in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(inner) for inner in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value} if value is not None else {}


def openinference(kind: str, name: str, args: Row, output: Any, error: str) -> Row:
    about = {"openinference.span.kind": kind, "input.value": json.dumps(args), "llm.token_count.prompt": "7"}
    about |= {"output.value": output if isinstance(output, str) else json.dumps(output)} if output else {}
    return about | ({"tool.name": name} if kind == "TOOL" else {})


def gen_ai(kind: str, name: str, args: Row, output: Any, error: str) -> Row:
    operation = {"AGENT": "invoke_agent", "LLM": "chat", "TOOL": "execute_tool", "RETRIEVER": "retrieval"}[kind]
    about = {"gen_ai.operation.name": operation, "gen_ai.usage.input_tokens": "7"}
    if kind in ("TOOL", "RETRIEVER"):
        about |= {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": json.dumps(args)}
        return about | ({"gen_ai.tool.call.result": json.dumps(output)} if output else {})
    said = [{"role": "user", "parts": [{"type": "text", "content": json.dumps(args)}]}]
    replied = [{"role": "assistant", "parts": [{"type": "text", "content": json.dumps(output)}]}]
    return about | {"gen_ai.input.messages": json.dumps(said), "gen_ai.output.messages": json.dumps(replied)}


def structured(*about: Any) -> Row:
    """The attributes of gen_ai as objects and lists, which OTLP has, too."""
    return {name: decoded(value) for name, value in gen_ai(*about).items()}


def vertex(kind: str, *about: Any) -> Row:
    """The attributes of Google's Agent Development Kit, whose tools have names of their own."""
    names = {"gen_ai.tool.call.arguments": "tool_call_args", "gen_ai.tool.call.result": "tool_response"}
    pairs = {names.get(name, name): value for name, value in gen_ai(kind, *about).items()}
    return {f"gcp.vertex.agent.{name}" if name in names.values() else name: value for name, value in pairs.items()}


def phoenix(nested: bool) -> list[Row]:
    """Spans of the HTTP interface, or the rows of a data frame."""
    rows = []
    for place, (name, parent, kind, title, args, output, error) in enumerate(STEPS):
        times = {"start_time": f"2026-11-24T10:00:0{place}Z", "end_time": f"2026-11-24T10:00:0{place + 2}Z"}
        about = {"name": title, "span_kind": kind, "parent_id": parent or None, **times}
        about |= {"status_code": "ERROR" if error else "OK", "status_message": error}
        sides: Row = {"input.value": json.dumps(args), "output.value": output and json.dumps(output), "tool.name": None}
        ids: Row = {"span_id": name, "trace_id": "t1"}
        tokens: Row = {"llm.token_count.prompt": 7}
        if nested:
            rows.append({"id": f"node {name}", "context": ids, "attributes": {**sides, **tokens}, **about})
        else:
            columns = {f"attributes.{key}": value for key, value in {**sides, **tokens}.items()}
            rows.append({**{f"context.{key}": value for key, value in ids.items()}, **columns, **about})
    return rows


def langfuse(traces: bool) -> list[Row]:
    """A trace with its observations, or observations alone."""
    kinds = {"AGENT": "AGENT", "LLM": "GENERATION", "TOOL": "TOOL", "RETRIEVER": "RETRIEVER"}
    rows: list[Row] = []
    for place, (name, parent, kind, title, args, output, error) in enumerate(STEPS):
        about = {"id": name, "traceId": "t1", "type": kinds[kind], "name": title, "input": args, "output": output}
        times = {"startTime": f"2026-11-24T10:00:0{place}.000Z", "endTime": f"2026-11-24T10:00:0{place + 2}.000Z"}
        level = {"level": "ERROR" if error else "DEFAULT", "statusMessage": error or None}
        rows.append({**about, **times, **level, "parentObservationId": parent or None, "usage": {"input": 7}})
    if not traces:
        return rows
    head = {"id": "t1", "timestamp": "2026-11-24T10:00:00.000Z", "name": "trace", "input": STEPS[0][4]}
    return [{**head, "output": STEPS[0][5], "observations": rows, "scores": [{"name": "right", "value": 1}]}]


def langsmith(nested: bool) -> list[Row]:
    kinds = {"AGENT": "chain", "LLM": "llm", "TOOL": "tool", "RETRIEVER": "retriever"}
    rows: list[Row] = []
    for place, (name, parent, kind, title, args, output, error) in enumerate(STEPS):
        times = {"start_time": f"2026-11-24T10:00:0{place}", "end_time": f"2026-11-24T10:00:0{place + 2}"}
        outputs = output if isinstance(output, dict) or output is None else {"output": output}
        inputs = {"input": repr(args)} if kind == "TOOL" else args  # as LangChain writes the arguments of a tool
        about = {"id": name, "name": title, "run_type": kinds[kind], "inputs": inputs, "outputs": outputs, **times}
        rows.append({**about, "error": error or None, "prompt_tokens": 7, "parent_run_id": parent or None})
    if not nested:
        return [{**row, "trace_id": "a"} for row in rows]
    for row in reversed(rows[1:]):
        parent = row.pop("parent_run_id")
        above = next(each for each in rows if each["id"] == parent)
        above.setdefault("child_runs", []).insert(0, row)
    return rows[:1]


def mlflow() -> list[Row]:
    spans = []
    for place, (name, parent, kind, title, args, output, error) in enumerate(STEPS):
        about = {"mlflow.spanType": kind, "mlflow.spanInputs": args, "mlflow.spanOutputs": output}
        about |= {"mlflow.chat.tokenUsage": {"input_tokens": 4, "output_tokens": 3}}
        attributes = {key: json.dumps(value) for key, value in about.items() if value is not None}
        times = {"start_time_unix_nano": START + place * SECOND, "end_time_unix_nano": START + (place + 2) * SECOND}
        status = {"code": "STATUS_CODE_ERROR" if error else "STATUS_CODE_OK", "message": error}
        ids = {"span_id": name, "parent_span_id": parent or None, "trace_id": "t1"}
        spans.append({**ids, **times, "name": title, "status": status, "attributes": attributes})
    info = {"trace_id": "t1", "state": "OK", "trace_metadata": {}, "tags": {}, "assessments": []}
    return [{"info": info, "data": {"spans": spans}}]


EXPORTS: dict[str, Any] = {
    "openinference": otlp(openinference),
    "gen_ai": otlp(gen_ai),
    "gen_ai structured": otlp(structured),
    "gen_ai of Vertex": otlp(vertex),
    "phoenix": {"data": phoenix(nested=True), "next_cursor": None},
    "phoenix frame": phoenix(nested=False),
    "langfuse": {"data": langfuse(traces=True), "meta": {}},
    "langfuse observations": langfuse(traces=False),
    "langsmith": langsmith(nested=False),
    "langsmith nested": langsmith(nested=True),
    "mlflow": mlflow(),
}


def steps_in(file: Path) -> tuple[Step, ...]:
    (system,) = systems_in(file)
    (sample,) = system.samples
    steps: tuple[Step, ...] = sample["steps"]
    return steps


def write(file: Path, content: Any) -> Path:
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", EXPORTS)
def test_every_span_is_a_step_in_its_tree(tmp_path: Path, name: str) -> None:
    steps = steps_in(write(tmp_path / "traces.json", EXPORTS[name]))
    if name == "langfuse":  # the trace itself is the root
        assert (steps[0].name, steps[0].output, steps[1].parent) == ("trace", STEPS[0][5], 0)
        steps = tuple(Step.of({**step.state(), "parent": (step.parent or 1) - 1}, step.index - 1) for step in steps[1:])
        steps[0].parent = None
    assert [(step.kind, step.name, step.parent) for step in steps] == EXPECTED
    assert [step.seconds for step in steps] == [2.0] * 5
    if "gen_ai" not in name:
        assert dict(steps[0].args) == STEPS[0][4]
    assert [dict(steps[place].args) for place in (2, 3, 4)] == [STEPS[place][4] for place in (2, 3, 4)]
    assert steps[2].output == (STEPS[2][5] if "langsmith" not in name else {"output": STEPS[2][5]})
    assert [step.error for step in steps] == ["", "", "", "", "p1 is gone"]
    assert steps[1].tokens == 7


@pytest.mark.parametrize("name", EXPORTS)
def test_a_draft_of_any_task_carries_the_steps(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "traces.json", EXPORTS[name])
    for task in ("answering", "trajectories"):
        (record,) = draft(pool_of([file], task)).records
        answer = record["suggestions"][next(iter(record["suggestions"]))]
        assert (record["question"], answer["answer"]) == ("Where is the archive?", "Gouda")
        calls = trajectory(answer).calls
        assert [call.name for call in calls] == ["search", "index", "read"]
        assert calls[-1].error == "p1 is gone"


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("known", ["id", "question"])
def test_traces_are_predictions_of_gold_with_their_id_or_their_question(tmp_path: Path, name: str, known: str) -> None:
    file = write(tmp_path / "traces.json", EXPORTS[name])
    calls = [{"name": tool, "args": {"query": "archive"}} for tool in ("search", "index")]
    ids = {"langsmith": "a", "langsmith nested": "a", "mlflow": "0"}
    name = ids.get(name, "t1") if known == "id" else "g7"
    gold = [{"id": name, "question": "Where is the archive?" if known == "question" else "?", "calls": calls}]
    values = goldassay.score("trajectories", gold, str(file)).values
    assert (values["trajectory_in_order_match"], values["call_precision"]) == (1, 2 / 3)
    assert (values["failed_calls"], values["finished"], values["steps"]) == (1 / 3, 1, len(steps_in(file)))


@pytest.mark.parametrize(
    ("outputs", "answer"),
    [
        ({"answer": "Gouda", "history": {"messages": []}, "termination_reason": "submit"}, "Gouda"),  # of a ReActV2
        ({"answer": 1246, "reasoning": "it says so"}, "1246"),  # it was the reasoning
        (1246, "1246"),
    ],
)
def test_the_answer_of_a_trace_is_its_field_of_that_name(tmp_path: Path, outputs: Any, answer: str) -> None:
    about = {"input.value": '{"question": "where"}', "output.value": json.dumps(outputs)}
    root: Row = {"context": {"trace_id": "t", "span_id": "a"}, "parent_id": None, "name": "agent", "attributes": about}
    call: Row = {"context": {"trace_id": "t", "span_id": "b"}, "parent_id": "a", "name": "read", "span_kind": "TOOL"}
    (record,) = read(write(tmp_path / "spans.json", [root, call]), "trajectories", side="pred")
    assert record["answer"] == answer


QUESTION = {"role": "user", "content": "Where is the archive?"}
CALLS: list[Row] = [
    {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"query": "archive"}'}},
    {"id": "2", "type": "function", "function": {"name": "read", "arguments": '{"id": 3}'}},
]
RESULTS: list[Row] = [
    {"role": "tool", "tool_call_id": name, "content": text} for name, text in (("2", "b"), ("1", "a"))
]
ASKED: Row = {"role": "assistant", "content": None, "tool_calls": CALLS}


def flattened(name: str, value: Any, item: str = "", call: str = "") -> Row:
    """Messages as attributes with a number in their name, as Traceloop and OpenInference write them."""
    pairs: Row = {}
    for place, message in enumerate(value):
        head = f"{name}.{place}.{item}"
        pairs |= {f"{head}{key}": text for key, text in message.items() if isinstance(text, str)}
        for number, one in enumerate(message.get("tool_calls", ())):
            inner = f"{head}tool_calls.{number}.{call}"
            function = f"{inner}function." if call else inner
            pairs |= {f"{inner}id": one["id"], f"{function}name": one["function"]["name"]}
            pairs[f"{function}arguments"] = one["function"]["arguments"]
    return pairs


def indexed(got: list[Row], gave: Row) -> Row:
    return {**flattened("gen_ai.prompt", got), **flattened("gen_ai.completion", [gave]), "llm.request.type": "chat"}


def openinference_messages(got: list[Row], gave: Row) -> Row:
    sides = {"input.value": json.dumps({"messages": got}), "output.value": json.dumps({"choices": [{"message": gave}]})}
    answer = gave["content"]
    named = flattened("llm.output_messages", [gave], "message.", "tool_call.")
    return {**named, **sides, "openinference.span.kind": "LLM"} | ({"output.value": answer} if answer else {})


def parts(got: list[Row], gave: Row) -> Row:
    def written(message: Row) -> Row:
        listed = [{"type": "text", "content": message["content"]}] if message["content"] else []
        for call in message.get("tool_calls", ()):
            arguments = json.loads(call["function"]["arguments"])
            about = {"id": call["id"], "name": call["function"]["name"], "arguments": arguments}
            listed.append({"type": "tool_call", **about})
        if message["role"] == "tool":
            listed = [{"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}]
        return {"role": message["role"], "parts": listed}

    sides = {"gen_ai.input.messages": [*map(written, got)], "gen_ai.output.messages": [written(gave)]}
    return {"gen_ai.operation.name": "chat", **{name: json.dumps(value) for name, value in sides.items()}}


def in_events(got: list[Row], gave: Row) -> tuple[Row, list[Row]]:
    events = [(f"gen_ai.{message['role']}.message", message) for message in got]
    pairs = [*events, ("gen_ai.choice", {"index": 0, "message": gave})]
    listed = [
        {"name": name, "attributes": [{"key": "gen_ai.event.content", "value": {"stringValue": json.dumps(body)}}]}
        for name, body in pairs
    ]
    return {"gen_ai.operation.name": "chat"}, listed


def in_logs(got: list[Row], gave: Row) -> tuple[Row, list[Row]]:
    """Events as records of a log, which a collector writes to the same file."""
    attributes, events = in_events(got, gave)
    records = [
        {"eventName": event["name"], "body": otlp_value(json.loads(event["attributes"][0]["value"]["stringValue"]))}
        for event in events
    ]
    return attributes, records


@pytest.mark.parametrize("write_messages", [indexed, openinference_messages, parts, in_events, in_logs])
@pytest.mark.parametrize("has_tools", [True, False])
def test_a_trace_has_the_calls_and_the_answer_of_its_models(
    tmp_path: Path, write_messages: Any, has_tools: bool
) -> None:
    turns = [([QUESTION], ASKED), ([QUESTION, ASKED, *RESULTS], {"role": "assistant", "content": "Gouda"})]
    spans: list[Row] = [{"spanId": "r", "name": "agent"}]
    for place, turn in enumerate(turns):
        attributes = write_messages(*turn)
        attributes, events = attributes if isinstance(attributes, tuple) else (attributes, [])
        spans.append({"spanId": f"m{place}", "parentSpanId": "r", "name": "chat", "events": events, "a": attributes})
    for name, function in enumerate(call["function"] for call in CALLS if has_tools):
        about = {"traceloop.span.kind": "tool", "traceloop.entity.name": function["name"]}
        given = {"args": [], "kwargs": json.loads(function["arguments"])}
        about |= {"traceloop.entity.input": json.dumps(given), "traceloop.entity.output": '"ab"'[name + 1]}
        spans.insert(-1, {"spanId": f"t{name}", "parentSpanId": "r", "name": "tool", "a": about})
    for place, each in enumerate(spans):
        pairs = [{"key": key, "value": otlp_value(value)} for key, value in each.pop("a", {}).items()]
        each |= {"traceId": "t1", "startTimeUnixNano": START + place * SECOND, "attributes": pairs}
    records = [{"spanId": each["spanId"], **record} for each in spans for record in each.get("events", ())]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [each for each in records if "body" in each]}]}]}
    for each in spans:
        each["events"] = [event for event in each.get("events", ()) if "body" not in event]
    traces = {"resourceSpans": [{"resource": {}}, {"scopeSpans": [{"spans": spans[::-1]}, {"scope": {}}]}]}
    (system,) = systems_in(write(tmp_path / "traces.json", [logs, traces]))
    (sample,) = system.samples
    assert (sample["inputs"], sample["prediction"]) == ({"input": QUESTION["content"]}, {"output": "Gouda"})
    calls = [step for step in sample["steps"] if step.kind == "tool"]
    assert [(step.name, dict(step.args)) for step in calls] == [("search", {"query": "archive"}), ("read", {"id": 3})]
    assert [step.output for step in calls] == ["a", "b"]
    assert {sample["steps"][step.parent].name for step in calls} == ({"agent"} if has_tools else {"chat"})


@pytest.mark.parametrize("export", [{"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}, {"resourceLogs": []}])
def test_an_export_without_spans_is_told_so(tmp_path: Path, export: Row) -> None:
    file = write(tmp_path / "traces.json", export)
    with pytest.raises(GoldassayError, match="there are no spans in this export"):
        goldassay.score("trajectories", [{"id": "a", "calls": []}], str(file))


def test_a_trace_is_of_the_service_in_which_it_began_and_needs_no_messages(tmp_path: Path) -> None:
    def resource(service: str, *spans: Row) -> Row:
        about = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
        return {"resource": about, "scopeSpans": [{"spans": list(spans)}]}

    def tool(trace: str, parent: str) -> Row:
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"q": "Delft"}'}
        pairs = [{"key": key, "value": otlp_value(value)} for key, value in about.items()]
        return {"traceId": trace, "spanId": "b", "parentSpanId": parent, "name": "search", "attributes": pairs}

    traces = [resource("tools", tool("t1", "a"), tool("t2", "")), resource("desk", {"traceId": "t1", "spanId": "a"})]
    ping = resource("desk", {"traceId": "t3", "spanId": "c", "name": "GET /health"})
    file = write(tmp_path / "traces.json", {"resourceSpans": [*traces, ping]})
    systems = {system.name: [sample["id"] for sample in system.samples] for system in systems_in(file)}
    assert systems == {"desk": ["t1"], "tools": ["t2"]}
    calls = [{"name": "search", "args": {"q": "Delft"}}]
    card = goldassay.score("trajectories", [{"id": name, "calls": calls} for name in ("t1", "t2")], str(file))
    assert card.values["trajectory_exact_match"] == 1


def test_traces_that_gold_does_not_have_name_the_options_that_match_them(tmp_path: Path) -> None:
    file = write(tmp_path / "traces.json", EXPORTS["phoenix"])
    gold = [{"id": "g7", "trace": "t1", "asked": "Where is the archive?", "question": "?", "calls": []}]
    rest = {"id": "g7", "question": "?", "calls": []}
    with pytest.raises(GoldassayError) as error:
        goldassay.score("trajectories", [rest], str(file))
    by_question = "or by question, here 'Where is the archive?' and in gold '?' (`map={\"question\": \"COLUMN\"}`)"
    assert f'matched by id, and gold has g7 (another field: `map={{"id": "COLUMN"}}`), {by_question}' in str(
        error.value
    )
    for columns in ({"id": "trace"}, {"question": "asked"}):
        assert goldassay.score("trajectories", gold, str(file), map=columns).values["steps"]


def test_the_rows_of_a_csv_are_spans(tmp_path: Path) -> None:
    rows = [{**row, "events": None} for row in phoenix(nested=False)]
    with (tmp_path / "spans.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    gold = [{"id": "t1", "question": "?", "calls": [{"name": "search", "args": {"query": "archive"}}]}]
    assert [(step.kind, step.name, step.parent) for step in steps_in(tmp_path / "spans.csv")] == EXPECTED
    assert goldassay.score("trajectories", gold, str(tmp_path / "spans.csv")).values["call_recall"] == 1


@pytest.mark.parametrize("name", ["spans.jsonl", "spans.json"])
def test_the_lines_of_an_export_are_one_log_whatever_the_file_is_called(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in phoenix(nested=False)), encoding="utf-8")
    assert [(step.kind, step.name, step.parent) for step in steps_in(file)] == EXPECTED


def test_indented_spans_one_after_the_other_are_one_log(tmp_path: Path) -> None:
    """As OpenTelemetry's ConsoleSpanExporter writes them, the only exporter to a file that its SDK has."""
    file = tmp_path / "spans.json"
    file.write_text("".join(json.dumps(row, indent=4) + "\n" for row in phoenix(nested=False)), encoding="utf-8")
    assert [(step.kind, step.name, step.parent) for step in steps_in(file)] == EXPECTED


def test_a_chat_with_calls_of_tools_is_a_trace(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "archive"}'}}
    other = {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "no JSON"}}
    messages = [
        {"role": "system", "content": "Answer."},
        {"role": "user", "content": [{"type": "text", "text": "Where is the archive?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "c2", "content": "no such id"},
        {"role": "tool", "tool_call_id": "c1", "content": "p1"},
        {"role": "assistant", "content": "Gouda"},
    ]
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"id": "x", "messages": messages}) + "\n", encoding="utf-8")
    steps = steps_in(file)
    assert [(step.kind, step.name, dict(step.args), step.output, step.parent) for step in steps] == [
        ("model", "assistant", {}, "", None),
        ("tool", "search", {"query": "archive"}, "p1", 0),
        ("tool", "read", {"": "no JSON"}, "no such id", 0),
        ("model", "assistant", {}, "Gouda", None),
    ]
    fields = {"question": "input", "answer": "output"}
    (record,) = draft(pool_of([file], "trajectories", map=fields)).records
    assert (record["question"], record["suggestions"]["chats"]["answer"]) == ("Where is the archive?", "Gouda")


def test_chats_without_a_text_of_user_or_model_are_no_traces(tmp_path: Path) -> None:
    chat: Row = {"messages": [{"from": "human", "value": "Where?"}, {"from": "gpt", "value": "Gouda"}]}
    assert not systems_in(write(tmp_path / "chats.json", [chat]))
    parts = [{"part_kind": "user-prompt", "content": "Where?"}, {"part_kind": "system-prompt", "content": "Answer."}]
    answer = [{"part_kind": "thinking", "content": "hm"}, {"part_kind": "text", "content": "Gouda"}]
    chat = {"messages": [{"kind": "request", "parts": parts[::-1]}, {"kind": "response", "parts": answer}]}
    (system,) = systems_in(write(tmp_path / "chats.json", [chat]))
    (sample,) = system.samples
    assert (sample["inputs"], sample["prediction"]) == ({"input": "Where?"}, {"output": "Gouda"})


def test_a_chat_of_gemini_is_a_trace(tmp_path: Path) -> None:
    call = {"functionCall": {"name": "search", "args": {"query": "archive"}}, "thoughtSignature": "c2ln"}
    contents = [
        {"role": "user", "parts": [{"text": "Where is the archive?"}]},
        {"role": "model", "parts": [{"text": "I search."}, call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": {"result": "p1"}}}]},
        {"role": "model", "parts": [{"text": "Gouda"}]},
    ]
    row = {"contents": contents, "tools": [], "systemInstruction": {"parts": [{"text": "Answer."}]}}
    (system,) = systems_in(write(tmp_path / "chats.json", [row]))
    (sample,) = system.samples
    assert (sample["inputs"], sample["prediction"]) == ({"input": "Where is the archive?"}, {"output": "Gouda"})
    assert [(step.kind, step.name, dict(step.args), step.output, step.parent) for step in sample["steps"]] == [
        ("model", "assistant", {}, "I search.", None),
        ("tool", "search", {"query": "archive"}, "p1", 0),
        ("model", "assistant", {}, "Gouda", None),
    ]


def event(author: str, *parts: Row) -> Row:
    """An event of Google's ADK; one without parts sets its state alone."""
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)} if parts else None
    return {"content": content, "author": author, "actions": {"stateDelta": {}}, "id": f"event of {author}"}


def test_a_session_of_googles_adk_is_a_trace(tmp_path: Path) -> None:
    calls = [{"functionCall": {"id": name, "name": "read", "args": {"id": name}}} for name in "ab"]
    gone = {"functionResponse": {"id": "a", "name": "read", "response": {"error": "gone"}}}
    text = {"functionResponse": {"id": "b", "name": "read", "response": {"result": "In Gouda."}}}
    question = {"text": "Where is the archive?"}
    events = [
        *(event("user", question), event("heritage"), event("heritage", *calls)),
        *(event("heritage", gone, text), event("heritage", {"text": "Gouda"})),
    ]
    session = {"id": "s1", "appName": "app", "userId": "u", "state": {}, "events": events, "lastUpdateTime": 1.5}
    gold = [
        {"id": "g7", "question": question["text"], "calls": [{"name": "read", "args": {"id": name}} for name in "ab"]}
    ]
    file = write(tmp_path / "s1.session.json", session)
    assert goldassay.score("trajectories", gold, str(file)).values["trajectory_exact_match"] == 1
    (record,) = read(file, "trajectories", side="pred")
    assert (record["answer"], [call.get("error") for call in record["trajectory"][1:3]]) == ("Gouda", ["gone", None])
    for pred in ({"trajectory": events}, {"trajectory": session}):
        assert [call.args for call in trajectory(pred).calls] == [{"id": "a"}, {"id": "b"}]


@pytest.mark.parametrize(
    "output",
    [event("heritage", {"text": "Gouda"}), {"raw": "Gouda", "json_dict": None, "tasks_output": [{"task_id": "t7"}]}],
)
def test_the_answer_of_googles_adk_and_of_crewai_is_the_text_that_they_say(tmp_path: Path, output: Row) -> None:
    """Of both it was the last text in what they return, an id."""
    about = {"input.value": '{"question": "where"}', "output.value": json.dumps(output)}
    root: Row = {"context": {"trace_id": "t", "span_id": "a"}, "parent_id": None, "name": "agent", "attributes": about}
    call: Row = {"context": {"trace_id": "t", "span_id": "b"}, "parent_id": "a", "name": "read", "span_kind": "TOOL"}
    (record,) = read(write(tmp_path / "spans.json", [root, call]), "trajectories", side="pred")
    assert record["answer"] == "Gouda"


@pytest.mark.parametrize(
    "outputs",
    [
        {"messages": [{"type": "human", "content": "Where?"}, {"type": "ai", "content": "Gouda", "id": "run 7"}]},
        {"output": "Gouda", "_state": {"status": "complete"}},
    ],
)
def test_the_answer_of_langgraph_and_of_pydantic_ai_in_mlflow_is_the_text_that_they_say(
    tmp_path: Path, outputs: Row
) -> None:
    """Of both it was the last text in what they return."""
    inputs = {"messages": [["user", "Where is the archive?"]]}
    about = {"mlflow.spanInputs": json.dumps(inputs), "mlflow.spanOutputs": json.dumps(outputs)}
    root: Row = {"span_id": "a", "trace_id": "t", "name": "agent", "attributes": about}
    call: Row = {"span_id": "b", "trace_id": "t", "parent_span_id": "a", "name": "read"}
    call["attributes"] = {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": "{}"}
    file = write(tmp_path / "traces.json", [{"info": {"trace_id": "t"}, "data": {"spans": [root, call]}}])
    gold = [{"id": "g", "question": "Where is the archive?", "calls": [{"name": "read"}]}]
    assert goldassay.score("trajectories", gold, str(file)).values["trajectory_exact_match"] == 1
    (record,) = read(file, "trajectories", side="pred")
    assert record["answer"] == "Gouda"


def test_a_span_that_was_sent_twice_is_one_step(tmp_path: Path) -> None:
    file = write(tmp_path / "traces.json", [EXPORTS["openinference"]] * 2)
    assert [(step.kind, step.name, step.parent) for step in steps_in(file)] == EXPECTED


def test_spans_of_vercels_ai_sdk_are_steps(tmp_path: Path) -> None:
    asked = {"ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "Where?"}]}])}
    called = {"ai.toolCall.name": "search", "ai.toolCall.args": '{"q": "Delft"}', "ai.toolCall.result": '["p1"]'}
    rows: list[tuple[str, Row]] = [
        ("ai.generateText", {"ai.prompt": '{"prompt": "Where?"}', "ai.response.text": "Gouda"}),
        ("ai.generateText.doGenerate", {**asked, "gen_ai.usage.input_tokens": 7}),
        ("ai.toolCall", called),
        ("ai.generateText.doGenerate", {**asked, "ai.response.text": "Gouda"}),
    ]
    spans = []
    for place, (name, about) in enumerate(rows):
        pairs = [{"key": key, "value": otlp_value(value)} for key, value in {"ai.operationId": name, **about}.items()]
        ids = {"traceId": "t1", "spanId": f"s{place}", "parentSpanId": "s0" if place else ""}
        spans.append({**ids, "name": name, "startTimeUnixNano": START + place * SECOND, "attributes": pairs})
    file = write(tmp_path / "traces.json", {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert [step.kind for step in steps_in(file)] == ["module", "model", "tool", "model"]
    call = steps_in(file)[2]
    assert (call.name, dict(call.args), call.output) == ("search", {"q": "Delft"}, ["p1"])
    (sample,) = systems_in(file)[0].samples
    assert (sample["inputs"], sample["prediction"]) == ({"prompt": "Where?"}, {"output": "Gouda"})


def test_arguments_of_a_function_are_by_name_and_one_alone_is_the_question(tmp_path: Path) -> None:
    rows = langfuse(traces=True)
    rows[0]["input"] = {"args": ["Where is the archive?"], "kwargs": {}}
    rows[0]["observations"][2]["input"] = {"args": ["a"], "kwargs": {"query": "archive"}}
    file = write(tmp_path / "traces.json", {"data": rows})
    assert [record["question"] for record in draft(pool_of([file], "answering")).records] == ["Where is the archive?"]
    assert dict(steps_in(file)[3].args) == {"query": "archive", "args": ["a"]}


LANGCHAIN = [
    {"lc": 1, "id": ["HumanMessage"], "kwargs": {"type": "human", "content": "Where is the archive?"}},
    {
        **{"lc": 1, "id": ["AIMessage"]},
        "kwargs": {"content": "", "type": "ai", "tool_calls": [{"id": "c1", "name": "read", "args": {"id": 3}}]},
    },
    {"lc": 1, "id": ["ToolMessage"], "kwargs": {"type": "tool", "tool_call_id": "c1", "content": "b"}},
    {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "Gouda", "type": "ai"}},
]
CONVERSE = [
    {"role": "user", "content": [{"text": "Where is the archive?"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "read", "input": {"id": 3}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "b"}]}}]},
    {"role": "assistant", "content": [{"text": "Gouda"}]},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "Where is the archive?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"id": 3}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"result": "b"}}}]},
    {"role": "model", "parts": [{"text": "Gouda"}]},
]


@pytest.mark.parametrize(
    ("messages", "wrap_inputs", "wrap_output"),
    [
        (LANGCHAIN, lambda got: {"messages": [got]}, lambda gave: {"generations": [[{"text": "", "message": gave}]]}),
        (CONVERSE, lambda got: {"messages": got}, lambda gave: {"output": {"message": gave}}),
        (GEMINI, lambda got: {"contents": got}, lambda gave: {"candidates": [{"content": gave}]}),
    ],
)
@pytest.mark.parametrize("has_root", [True, False])
def test_models_asked_for_calls_whose_tools_have_no_runs(
    tmp_path: Path, messages: list[Row], wrap_inputs: Any, wrap_output: Any, has_root: bool
) -> None:
    about = {"trace_id": "r", "parent_run_id": "r" if has_root else None, "run_type": "llm", "name": "chat"}
    runs = []
    for number in (1, 3):
        sides = {"inputs": wrap_inputs(messages[:number]), "outputs": wrap_output(messages[number])}
        runs.append({**about, "id": f"m{number}", "start_time": f"2026-11-30T10:00:0{number}", **sides})
    root: Row = {"id": "r", "trace_id": "r", "run_type": "chain", "name": "graph", "start_time": "2026-11-30T10:00:00"}
    root |= {"inputs": {"messages": messages[:1]}, "outputs": {"messages": messages}}
    (system,) = systems_in(write(tmp_path / "runs.json", [root, *runs] if has_root else runs))
    (sample,) = system.samples
    assert (sample["inputs"], sample["prediction"]) == ({"input": "Where is the archive?"}, {"output": "Gouda"})
    (call,) = [step for step in sample["steps"] if step.kind == "tool"]
    assert (call.name, dict(call.args), call.output) == ("read", {"id": 3}, "b")


def test_one_text_that_a_tool_got_has_the_name_that_its_model_gave(tmp_path: Path) -> None:
    """OpenInference writes LangChain's tools of one argument so."""
    call = {"id": "c", "name": "search", "args": {"query": "archive"}}
    sides = {"input.value": '{"messages": []}', "output.value": json.dumps({"role": "ai", "tool_calls": [call]})}
    rows = [
        {"span_kind": "LLM", "name": "chat", "attributes": sides, "start_time": "2026-11-30T10:00:00"},
        {"span_kind": "TOOL", "name": "search", "attributes": {"input.value": "archive"}},
        {"span_kind": "TOOL", "name": "search", "attributes": {"input.value": "Gouda"}},
    ]
    rows = [{**row, "context": {"trace_id": "t", "span_id": f"s{at}"}} for at, row in enumerate(rows)]
    steps = [step for step in steps_in(write(tmp_path / "spans.json", rows)) if step.kind == "tool"]
    assert [dict(step.args) for step in steps] == [{"query": "archive"}, {"input": "Gouda"}]


def test_a_call_that_two_instruments_recorded_is_one(tmp_path: Path) -> None:
    """AutoGen's own span of a tool is inside that of OpenInference, and has no arguments."""
    about = {"traceId": "t", "span_kind": "TOOL", "name": "read"}
    rows: list[Row] = [{**about, "spanId": "a", "attributes": {"input.value": '{"id": 9}', "output.value": "gone"}}]
    rows.append({**about, "spanId": "b", "parentSpanId": "a", "status": {"code": "ERROR", "message": "KeyError"}})
    steps = steps_in(write(tmp_path / "spans.json", rows))
    assert [(step.kind, dict(step.args), step.error) for step in steps] == [
        ("tool", {"id": 9}, "KeyError"),
        ("module", {}, "KeyError"),
    ]


@pytest.mark.parametrize("name", ["(merged tools)", "handoff to Reader"])
def test_a_span_that_is_beside_those_of_calls_is_no_call(tmp_path: Path, name: str) -> None:
    """Of Google ADK, where a model made calls in parallel, and of OpenAI's agents: a call too many counted."""
    rows = phoenix(nested=True)
    rows[3]["attributes"]["tool.name"] = rows[3]["name"] = name
    rows[3]["attributes"]["openinference.span.kind"] = "TOOL"
    kinds = [(step.kind, step.name) for step in steps_in(write(tmp_path / "traces.json", rows))]
    assert ("module", name) in kinds


def test_what_traceloop_writes_of_langchain_is_without_its_tags(tmp_path: Path) -> None:
    around: Row = {"tags": [], "metadata": {}, "kwargs": {"name": None}}
    sides = [
        ({"inputs": {"messages": [LANGCHAIN[0]]}, **around}, {"outputs": {"messages": LANGCHAIN}, "kwargs": {}}),
        ({"input_str": "{'id': 3}", "inputs": {"id": 3}, **around}, {"output": "b", "kwargs": {"tags": []}}),
    ]
    rows = []
    for kind, (given, result) in zip(("workflow", "tool"), sides, strict=True):
        about = {"traceloop.span.kind": kind, "traceloop.entity.name": kind}
        about |= {"traceloop.entity.input": json.dumps(given), "traceloop.entity.output": json.dumps(result)}
        rows.append({"context": {"trace_id": "t", "span_id": kind}, "parent_id": None, "attributes": about})
    (system,) = systems_in(write(tmp_path / "spans.json", rows))
    (sample,) = system.samples
    assert (sample["inputs"], sample["prediction"]) == ({"input": "Where is the archive?"}, {"output": "Gouda"})
    assert (dict(sample["steps"][1].args), sample["steps"][1].output) == ({"id": 3}, "b")


@pytest.mark.parametrize("form", ["Tool.{}", "{}.__call__"])
def test_tools_of_dspy_have_their_own_names_in_traces_of_mlflow_and_openinference(tmp_path: Path, form: str) -> None:
    names = ("ReActV2.forward", form.format("read"), form.format("submit"))
    spans = [
        {
            **{"span_id": name, "parent_span_id": names[0] if number else None, "name": name},
            "attributes": {
                "mlflow.spanType": '"TOOL"' if number else '"CHAIN"',
                "mlflow.spanInputs": json.dumps({"id": 7}),
            },
        }
        for number, name in enumerate(names)
    ]
    trace = {"info": {"trace_id": "t", "request": "{}", "state": "OK"}, "data": {"spans": spans}}
    steps = steps_in(write(tmp_path / "traces.json", [trace]))
    assert [(step.kind, step.name, dict(step.args)) for step in steps[1:]] == [
        ("tool", "read", {"id": 7}),
        ("module", "submit", {"id": 7}),
    ]


def test_tools_of_smolagents_and_llama_index_have_their_arguments(tmp_path: Path) -> None:
    rows = []
    for name, kwargs in (("read", {"id": 7}), ("final_answer", {"answer": "1847"}), ("find", {"id": 9})):
        given = {"args": [], "sanitize_inputs_outputs": True, "kwargs": kwargs}
        given = {"kwargs": kwargs} if name == "find" else given  # LlamaIndex
        about = {"tool.name": name, "input.value": json.dumps(given)}
        rows.append({"context": {"trace_id": "t", "span_id": name}, "span_kind": "TOOL", "attributes": about})
    # smolagents' agents write code, in which arguments may be without their names
    given = {"args": ["Delft"], "sanitize_inputs_outputs": False, "kwargs": {"limit": 3}}
    schema = {"query": {"type": "string"}, "limit": {"type": "integer"}}
    about = {"tool.name": "search", "tool.parameters": json.dumps(schema), "input.value": json.dumps(given)}
    rows.append({"context": {"trace_id": "t", "span_id": "code"}, "span_kind": "TOOL", "attributes": about})
    steps = steps_in(write(tmp_path / "spans.json", rows))
    assert [(step.kind, step.name, dict(step.args)) for step in steps] == [
        ("tool", "read", {"id": 7}),
        ("module", "final_answer", {"answer": "1847"}),
        ("tool", "find", {"id": 9}),
        ("tool", "search", {"query": "Delft", "limit": 3}),
    ]


def test_tools_of_pydantic_ai_have_their_arguments(tmp_path: Path) -> None:
    """Its second format of spans, which was the default of versions 1."""
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    about |= {"tool_arguments": '{"query": "archive"}', "tool_response": "p1"}
    row = {"context": {"trace_id": "t", "span_id": "s"}, "parent_id": None, "name": "running tool", "attributes": about}
    (step,) = steps_in(write(tmp_path / "spans.json", [row]))
    assert (step.kind, step.name, dict(step.args), step.output) == ("tool", "search", {"query": "archive"}, "p1")


def test_spans_of_openais_agents_sdk_are_steps(tmp_path: Path) -> None:
    spans: list[Row] = [
        {"type": "agent", "name": "agent", "tools": ["search", "read"]},
        {
            "type": "generation",
            "input": [{"role": "user", "content": "Where?"}],
            "output": [{"role": "assistant", "content": "Gouda"}],
            "usage": {"input_tokens": 10, "output_tokens": 5},
        },
        {"type": "function", "name": "search", "input": '{"query": "archive"}', "output": "p1"},
        {"type": "function", "name": "read", "input": '{"id": 9}', "output": "gone"},
    ]
    rows: list[Row] = [{"object": "trace", "id": "t", "workflow_name": "Agent workflow"}]
    for number, data in enumerate(spans):
        about = {"object": "trace.span", "id": f"s{number}", "trace_id": "t", "parent_id": "s0" if number else None}
        times = {"started_at": f"2026-11-30T10:00:0{number}+00:00", "ended_at": "2026-11-30T10:00:09+00:00"}
        error = {"message": "it failed", "data": {}} if data.get("output") == "gone" else None
        rows.append({**about, **times, "span_data": data, "error": error})
    (system,) = systems_in(write(tmp_path / "spans.json", rows))
    (sample,) = system.samples
    assert (sample["inputs"], sample["prediction"]) == ({"input": "Where?"}, {"output": "Gouda"})
    assert [(step.kind, step.name, dict(step.args), step.output, step.error) for step in sample["steps"][2:]] == [
        ("tool", "search", {"query": "archive"}, "p1", ""),
        ("tool", "read", {"id": 9}, "gone", "it failed"),
    ]
    assert [step.tokens for step in sample["steps"]] == [0, 15, 0, 0]
    assert sample["steps"][1].seconds == 8


def test_the_status_of_a_span_that_opentelemetrys_sdk_printed_is_its_error(tmp_path: Path) -> None:
    rows = phoenix(nested=False)
    for row in rows:
        failed = row.pop("status_code", "") == "ERROR"
        row["status"] = {"status_code": "ERROR", "description": row["status_message"]} if failed else {}
        row.pop("status_message", None)
    assert [step.error for step in steps_in(write(tmp_path / "spans.json", rows))] == ["", "", "", "", "p1 is gone"]


def test_the_question_of_langgraph_is_the_users_in_its_short_form_too(tmp_path: Path) -> None:
    """As ``agent.invoke({"messages": [("user", …)]})`` is recorded: there was no question."""
    messages = [["system", "Answer."], ["user", "Where is the archive?"]]
    about = {"input.value": json.dumps({"messages": messages}), "output.value": "Gouda"}
    root: Row = {"context": {"trace_id": "t", "span_id": "a"}, "parent_id": None, "name": "agent", "attributes": about}
    (system,) = systems_in(
        write(tmp_path / "spans.json", [root, {**root, "context": {"trace_id": "t", "span_id": "b"}}])
    )
    assert system.samples[0]["inputs"] == {"input": "Where is the archive?"}


def test_the_root_of_a_trace_alone_has_the_calls_of_its_last_turn(tmp_path: Path) -> None:
    """As ``client.list_runs(is_root=True)`` of LangSmith gives agents of LangGraph: it was a trace without calls."""
    turns = []
    for name in ("first", "archive"):
        call = {"name": "search", "args": {"query": name}, "id": name}
        turns += [
            {"type": "human", "content": f"Where is the {name}?"},
            {"type": "ai", "content": "", "tool_calls": [call]},
        ]
        turns += [{"type": "tool", "content": "p1", "tool_call_id": name}, {"type": "ai", "content": "Gouda"}]
    root = {"id": "a", "trace_id": "a", "run_type": "chain", "name": "LangGraph", "start_time": "2026-11-25T10:00:00"}
    run = {**root, "inputs": {"messages": turns[4:5]}, "outputs": {"messages": turns}}
    gold = [
        {"id": "g", "question": "Where is the archive?", "calls": [{"name": "search", "args": {"query": "archive"}}]}
    ]
    file = write(tmp_path / "runs.json", [run])
    assert goldassay.score("trajectories", gold, str(file)).values["trajectory_exact_match"] == 1
    assert [step.output for step in steps_in(file) if step.kind == "tool"] == ["p1"]


def test_a_tool_that_langchain_calls_without_arguments_has_none(tmp_path: Path) -> None:
    rows = langsmith(nested=False)
    rows[2]["inputs"] = {"input": "{}"}
    assert dict(steps_in(write(tmp_path / "runs.json", rows))[2].args) == {}


def test_events_of_inspect_are_steps(tmp_path: Path) -> None:
    file = Path(__file__).parent / "files" / "inspect_good.eval"
    steps = systems_in(file)[0].samples[0]["steps"]
    assert ("module", "solvers", None) in [(step.kind, step.name, step.parent) for step in steps]
    tool = {"event": "tool", "uuid": "u", "id": "call", "span_id": "s", "function": "bash", "arguments": {"cmd": "ls"}}
    tool |= {"result": "a.txt", "timestamp": "2026-11-24T10:00:01Z", "completed": "2026-11-24T10:00:03Z"}
    span = {"event": "span_begin", "id": "s", "span_id": "s", "name": "agent", "timestamp": "2026-11-24T10:00:00Z"}
    sample = {"id": 1, "epoch": 1, "input": "x", "target": "y", "events": [tool, span, {"event": "state"}]}
    sample |= {"scores": {"right": {"value": 1}}, "output": {"completion": "y"}}
    agent, call = steps_in(write(tmp_path / "log.json", {"eval": {"task": "t"}, "samples": [sample]}))
    assert (agent.name, agent.parent, agent.kind) == ("agent", None, "module")
    assert (call.name, dict(call.args), call.output, call.seconds, call.parent, call.kind) == (
        *("bash", {"cmd": "ls"}, "a.txt"),
        *(2.0, 0, "tool"),
    )
    sample["input"] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
    file = write(tmp_path / "chat.json", {"eval": {"task": "t"}, "samples": [sample]})
    assert [record["question"] for record in draft(pool_of([file], "answering")).records] == ["Where?"]


def test_what_is_long_is_cut_with_a_note_and_secrets_are_hidden(tmp_path: Path) -> None:
    rows = phoenix(nested=True)
    rows[2]["attributes"]["output.value"] = "x" * 2_000_000
    rows[3]["attributes"]["input.value"] = json.dumps({"api_key": "abcdefgh", "query": "sk-abcdef123456"})
    steps = steps_in(write(tmp_path / "traces.json", rows))
    assert str(steps[2].output).endswith("(cut, 2,000,000 characters in all)")
    assert len(str(steps[2].output)) < 11_000
    assert dict(steps[3].args) == {"api_key": "[hidden]", "query": "[hidden]"}


def test_a_trace_with_scores_is_a_run_whose_rows_have_the_steps(tmp_path: Path) -> None:
    (run,) = read_log(write(tmp_path / "traces.json", EXPORTS["langfuse"]))
    assert (run.values, [step.name for step in run.rows[0].steps][:2]) == ({"right": 1.0}, ["trace", "agent"])
    assert [step.parent for step in RunRow.of(run.rows[0].state()).steps] == [None, 0, 1, 1, 3, 1]
    rows = langsmith(nested=True)
    rows[0]["feedback_stats"] = {"right": {"n": 1, "avg": 0.5}}
    (run,) = read_log(write(tmp_path / "runs.json", rows))
    assert run.values == {"right": 0.5}


def span(id: Any, parent: Any, **more: Any) -> Row:
    ids = {"context": {"span_id": id, "trace_id": "t"}, "parent_id": parent, "span_kind": "TOOL", "name": str(id)}
    return {**ids, "attributes": {"input.value": '{"question": "q"}', "output.value": '{"answer": "a"}'}, **more}


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ({"a": "b", "b": "a"}, [None, 0]),  # a circle
        ({"a": "a", "b": "a"}, [None, 0]),  # its own parent
        ({"a": "nobody", "b": "a"}, [None, 0]),
        ({"b": "a", "a": None, "c": "b"}, [None, 0, 1]),
    ],
)
def test_no_span_is_lost(tmp_path: Path, parents: dict[str, str | None], expected: list[int | None]) -> None:
    steps = steps_in(write(tmp_path / "traces.json", [span(name, parent) for name, parent in parents.items()]))
    assert [step.parent for step in steps] == expected


@pytest.mark.parametrize(
    "more",
    [
        {"start_time": "yesterday", "end_time": {"a": 1}},
        {"start_time": 1e400, "end_time": -5},
        {"attributes": {"input.value": "[" * 100_000, "output.value": "{'a': " * 500}},
        {"attributes": {"input.value": [1], "output.value": {"deep": [[[[{"x": None}]]]]}}},
        {"name": {"no": "name"}, "status_code": ["ERROR"], "span_kind": 7, "events": "none"},
        {"name": "<script>alert(1)</script>\n\x1b[31m", "attributes": {"llm.token_count.prompt": "many"}},
    ],
)
def test_hostile_spans_are_steps_all_the_same(tmp_path: Path, more: Row) -> None:
    steps = steps_in(write(tmp_path / "traces.json", [span("a", None), span("b", "a", **more)]))
    assert [step.parent for step in steps] == [None, 0]
    assert all("\n" not in step.name for step in steps)
    json.dumps([step.state() for step in steps], allow_nan=False)


@pytest.mark.parametrize(
    "content",
    [
        [{"run_type": "tool"}, 3],
        [{"run_type": "tool", "child_runs": 3}],
        [{"observations": 3}],
        [{"id": 1, "observations": [3]}],
        [{"type": "SPAN", "traceId": "t", "input": 1, "output": 2, "scores": 5}],
        [{"messages": [{"role": "assistant", "tool_calls": 5}]}],
        [{"span_kind": "TOOL", "attributes": 5}],
        {"data": [{"span_kind": "TOOL", "events": [{"attributes": 7}]}]},
    ],
)
def test_broken_exports_are_one_line(tmp_path: Path, content: Any) -> None:
    with pytest.raises(GoldassayError) as error:
        draft(pool_of([write(tmp_path / "traces.json", content)], "answering"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("many", [1_000, pytest.param(20_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("shape", ["deep", "wide"])
def test_the_work_is_linear_in_the_spans(tmp_path: Path, shape: str, many: int) -> None:
    def calls(n: int) -> int:
        """How many calls of functions reading takes: the same on a busy machine and on an idle one."""
        rows = [span(i, None if not i else 0 if shape == "wide" else i - 1, start_time=i) for i in range(n)]
        file = write(tmp_path / "traces.json", rows)
        events: list[str] = []
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            steps = steps_in(file)
        finally:
            sys.setprofile(None)
        assert len(steps) == n
        return len(events)

    calls(10)
    assert calls(many) < 12 * calls(many // 10)

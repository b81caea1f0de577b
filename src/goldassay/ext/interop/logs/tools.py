"""Logs of other tools, read as systems with samples: a reader for each tool.

* Inspect: ``.eval``, a zip of JSON files, and ``.json``. A score is a number, a bool, a letter (C, I, P, N) or a dict
  of those; epochs are repeats of a sample.
* promptfoo: ``promptfoo eval -o results.json``. Each provider with each prompt is a system ``PROVIDER #COLUMN``. The
  metric is ``pass``; ``score`` and the assertions' own metrics are further values. Tests of the same variables
  (``--repeat``) are one document, if their metadata names none.
* deepeval: ``test_run_*.json``, ``.deepeval/.latest_*.json`` and ``evaluate(...).model_dump_json()``. Where lower is
  better follows from the cases that passed below the threshold. A metric that raised fails its test case.
* MLflow: traces (a list of ``trace.to_json()``, or ``mlflow.search_traces(...).to_json(orient="records")``) and
  evaluation tables. Each run among traces is a system; feedback gives values, expectations are gold, and traces of the
  same inputs are one document, if their tags name none. In a table the columns ``NAME/score`` give values.
* OpenTelemetry: OTLP JSON, one export or one a line, with the attributes of OpenInference, gen_ai, Traceloop, MLflow or
  Vercel's AI SDK. Each service is a system and each trace a sample of the service in which it began: its inputs and
  answer are those of the first span from the root that has inputs, or else the answer of the last model. Traces without
  scores become drafts of gold and no runs (`goldassay.ext.interop.logs`).
* Phoenix (spans of the client, of its HTTP interface or of a data frame), Langfuse (traces with their observations, or
  observations alone), LangSmith (runs, also nested) and OpenAI's Agents SDK: lists in JSON, JSON Lines or CSV, or what
  their HTTP interfaces answer. A file is a system; Langfuse's scores and LangSmith's feedback are values.
* Chats: a line ``{"messages": […]}`` each, with ``tool_calls`` as OpenAI's API has them, Gemini's ``contents``, or a
  session of Google's ADK.
* ``dspy.Evaluate(save_as_json=…)`` and ``save_as_csv``: fields of example and prediction together, the score last.
  Fields that both have are called ``example_NAME`` and ``pred_NAME``; those before the first of them are the inputs. A
  program that raised leaves no fields: its row is shorter than the others, and has ``failure_score``.

All spans of a trace are the steps of its sample (`goldassay.ext.interop.logs.spans`).
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError, MissingExtra, one_line
from goldassay.core.fields import Fields, JsonObject, Record, identity, read
from goldassay.ext.interop.logs.spans import (
    CALL_FAILED,
    FAILED_STATUS,
    as_object,
    decoded,
    kind_of,
    messages_in,
    moment,
    tree,
)
from goldassay.gold.formats.tables import table
from goldassay.measures.trajectories.records import CHAT, MODEL_ROLES, is_event, message_of, role_of, steps_of, text_of
from goldassay.running.evaluated import PROGRAM_RAISED, LogSystem, Sample, number

LARGEST_SAMPLES = 2**31  # bytes that the samples of an archive may unpack to
LARGEST_HEAD = 2**28  # bytes that its head may
USER_ROLES = ("user", "human", "request")
LANGCHAIN_TYPES = ("human", "ai", "system", "tool")  # of messages that have no role
TOKEN_NAMES = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
LOG_PATHS = files.resource("logs.json", "goldassay.ext.interop.logs")
"""Where the parts of a sample are in each tool's records (bars separate versions' names), and words for scores."""
ITEM = re.compile(r"(.+?)\.(\d+)\.(.+)")
"""The name of an attribute of an item in a list: the list, the number of the item, and the field of the item."""
MESSAGE_EVENTS = re.compile(r"gen_ai\.(?:(\w+)\.message|choice)")
Content: TypeAlias = Fields | list[Any]
"""A log as it was read."""


def systems_in(file: Path) -> list[LogSystem]:
    """The systems in another tool's log, whose samples need no scores; empty if it is none that is known.

    Raises:
        DataError: The log is damaged.
    """
    with foreign(file):
        content = _content(file)
        return next((systems for reader in READERS if (systems := reader(content, file))), [])


@contextmanager
def foreign(file: Path) -> Iterator[None]:
    """Turn whatever a file that another program wrote makes its reader raise into one line that names the file.

    Raises:
        DataError: The file is damaged.
    """
    try:
        yield
    except DataError as error:
        raise error.at(file=file) from None
    except GoldassayError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        detail = f"a field is missing, or not of the type that the tool writes ({one_line(error)})"
        raise DataError(f"not a log that can be read: {detail}; export it again", file=file) from error
    except Exception as error:  # decompressors have errors of their own
        raise DataError(f"not a log that can be read: {one_line(error)}", file=file) from error


def _content(file: Path) -> Content:
    """The content of a file: an Inspect archive as one object, the rows of a CSV, or JSON."""
    if file.suffix.lower() in (".csv", ".tsv"):
        return rows_of_table(file)
    with files.opened(file) as stream:
        data = stream.read()
    if data.startswith(b"PK"):
        with suppress(ModuleNotFoundError):
            import_module("zipfile_zstd")  # Zstandard, which Inspect writes, is in zipfile from Python 3.14 on
        archive = zipfile.ZipFile(io.BytesIO(data))
        head = archive.getinfo("header.json")
        members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        if head.file_size > LARGEST_HEAD or sum(info.file_size for info in members) > LARGEST_SAMPLES:
            raise DataError(f"it unpacks to more than {LARGEST_SAMPLES >> 30} GiB", file=file)
        return {**next(_members(archive, [head])), "samples": _members(archive, members)}
    try:
        parsed: Content = _json(data)
    except (ValueError, RecursionError):
        if b"\n}\n{" in data:  # indented objects, as OpenTelemetry's ConsoleSpanExporter writes them
            return [_json(value) for value in re.split(rb"(?<=\n\})\n(?=\{)", data)]
        if file.suffix.lower() == ".jsonl" or re.search(rb"\}\r?\n\s*\{", data):  # lines, whatever they are called
            return [value for _, value in files.json_lines(file)]
        parsed = jsonl.value(data, file=file)  # its error says where the file is wrong
    return parsed


def _json(data: bytes) -> Any:
    """JSON in which NaN may mean that a score is missing."""
    parsed = json.loads(data, parse_float=jsonl.finite)
    return jsonl.whole(parsed) if any(sign in data for sign in (b"\\ud", b"\\uD", b"\xed")) else parsed


def rows_of_table(file: Path) -> list[JsonObject]:
    """The rows of a CSV by the names of its columns."""
    return [dict(row) for _, row in table(file, quoted=True)]


def _members(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Iterator[Any]:
    """The values in members of an archive, one at a time."""
    try:
        for member in members:
            yield _json(archive.read(member))
    except NotImplementedError:
        raise MissingExtra("zipfile-zstd", "inspect") from None


def _sample(tool: str, record: Mapping[str, object], **more: Any) -> Sample:
    """A sample from a record, whose parts are where ``data/logs.json`` says, and from ``more`` parts."""
    sample: Sample = {}
    for name, paths in LOG_PATHS["paths"][tool].items():
        values = [value for path in paths.split("|") if (value := read(record, path, None)) is not None]
        value = next((value for value in values if value != ""), values[0] if values else None)  # CSV has empty cells
        key, _, inner = name.partition(".")
        if value is not None or key not in ("latency_s", "milliseconds", "usage", "repeat"):
            sample[key] = sample.get(key, {}) | {inner: value} if inner else value
    if "milliseconds" in sample:
        sample["latency_s"] = sample["milliseconds"] / 1000
    if sample.get("id", 0) is None:
        raise KeyError("id")
    return sample | more


def _inspect(content: Content, file: Path) -> list[LogSystem]:
    if not isinstance(content, dict) or not isinstance(content.get("eval"), dict):
        return []
    head = content["eval"]
    status = content.get("status", "success")
    warnings = [] if status == "success" else [f"Inspect's log ends with the status {status!r}"]
    samples = []
    skipped = Counter[str]()
    for record in content.get("samples") or ():
        values: JsonObject = {}
        reasons: dict[str, str] = {}
        scores = record.get("scores") or {name: record[name] for name in ("score",) if name in record}  # version 1
        for scorer, score in scores.items():
            if not isinstance(score, dict) or "value" not in score:
                skipped[scorer] += 1
                continue
            values |= score["value"] if isinstance(score["value"], dict) else {scorer: score["value"]}
            reason = score.get("explanation")
            reasons[scorer] = "" if reason == score.get("answer") else str(reason or "")
        usage = Counter[str]()
        for tokens in (record.get("model_usage") or {}).values():
            usage.update({new: tokens.get(old, 0) for old, new in TOKEN_NAMES.items()})
        events = [
            event for event in record.get("events") or () if event.get("event") in ("span_begin", "tool", "model")
        ]
        steps = tree(_sample("Inspect event", {"uuid": "", **event}) for event in events)
        steps = steps or tuple(steps_of({"messages": record.get("messages")}, strict=True))
        texts = _said(record["input"], *USER_ROLES) if isinstance(record.get("input"), list) else ()
        sides = {"inputs": {"input": texts[0]}} if len(texts) == 1 else {}
        samples.append(_sample("Inspect", record, values=values, reasons=reasons, usage=usage, steps=steps, **sides))
    if not samples:
        raise DataError("the log has no samples: it was written with log_samples=False, or cut off", file=file)
    warnings += [f"{count} scores of Inspect's {name} have no value and are skipped" for name, count in skipped.items()]
    return [LogSystem("Inspect", head.get("task", file.stem), samples, lm=head.get("model"), warnings=warnings)]


def _promptfoo(content: Content, file: Path) -> list[LogSystem]:
    body = content.get("results") if isinstance(content, dict) else None
    if not isinstance(body, dict) or not {"prompts", "table"} & body.keys():
        return []
    prompts = body["prompts"] if "prompts" in body else body["table"]["head"]["prompts"]  # before version 3
    texts = [(prompt["raw"], prompt["provider"]) for prompt in prompts]
    groups: dict[int, list[Sample]] = defaultdict(list)
    for result in body["results"]:
        index = result.get("promptIdx")
        if index is None:
            index = texts.index((result["prompt"]["raw"], result["provider"]["id"]))
        variables = result.get("vars") or {}
        same = {"document": json.dumps(variables, sort_keys=True)}  # --repeat asks again with the same variables
        sample = _sample(
            "promptfoo",
            {"testIdx": len(groups[index]), **result},
            metadata={**same, **variables, **((result.get("testCase") or {}).get("metadata") or {})},
            values={"pass": result.get("success"), "score": result.get("score"), **(result.get("namedScores") or {})},
            reasons={"promptfoo": (result.get("gradingResult") or {}).get("reason")},
            error=result.get("error") if result.get("failureReason") == 2 else "",
        )
        groups[index].append(sample)
    names = [f"{provider} #{index}" for index, (_, provider) in enumerate(texts, 1)]
    return [LogSystem("promptfoo", names[index], groups[index], "pass") for index in sorted(groups)]


def _deepeval(content: Content, file: Path) -> list[LogSystem]:
    data = content.get("testRunData", content) if isinstance(content, dict) else {}
    samples: list[Sample] = []
    lower = set[str]()
    for case in data.get("testCases") or data.get("test_results") or ():
        metrics = case.get("metricsData") or case.get("metrics_data") or case.get("metricsMetadata") or ()
        metrics = [{"name": metric.get("metric"), **metric} for metric in metrics]  # as it was called before 1.0
        for metric in metrics:
            score = metric.get("score")
            threshold = metric.get("threshold")
            if None not in (score, threshold) and score != threshold and (score < threshold) == metric.get("success"):
                lower.add(metric["name"])
        values = {metric["name"]: metric.get("score") for metric in metrics}
        reasons = {metric["name"]: metric.get("reason") for metric in metrics if not metric.get("success")}
        error = "; ".join(f"{metric['name']}: {metric['error']}" for metric in metrics if metric.get("error"))
        samples.append(_sample("deepeval", case, values=values, reasons=reasons, error=error))
    model = (data.get("hyperparameters") or {}).get("model")
    return [LogSystem("deepeval", file.stem.lstrip("."), samples, lower_is_better=lower, lm=model)] if samples else []


def _mlflow(content: Content, file: Path) -> list[LogSystem]:
    samples: list[Sample] = []
    if isinstance(content, dict) and content.keys() >= {"columns", "data"}:
        for index, cells in enumerate(content["data"]):
            row = dict(zip(content["columns"], cells, strict=True))
            values = {name.removesuffix("/score"): row[name] for name in row if name.endswith("/score")}
            answer = {name: row[name] for name in row if name in LOG_PATHS["mlflow answers"]}
            inputs = {name: row[name] for name in row if "/" not in name and name not in answer}
            samples.append({"id": index, "inputs": inputs, "prediction": answer, "metadata": row, "values": values})
        return [LogSystem("MLflow", file.stem, samples)] if any(sample["values"] for sample in samples) else []
    if not isinstance(content, list) or not content:
        return []
    if not isinstance(content[0], dict) or not {"info", "assessments"} & content[0].keys():
        return []
    runs = defaultdict(list)
    for trace in content:
        spans = (trace.get("data") or {}).get("spans") or trace.get("spans") or []
        if "info" in trace:  # as search_traces has it: the info, with the inputs and outputs of its first span
            attributes = (spans or [{}])[0].get("attributes") or {}
            asked = _of_chat(json.loads(attributes.get("mlflow.spanInputs") or "null"), USER_ROLES)
            answer = _of_chat(json.loads(attributes.get("mlflow.spanOutputs") or "null"), MODEL_ROLES)
            trace = trace["info"] | {"request": asked, "response": answer}
        trace["steps"] = tree(map(_span, spans))
        run = (trace.get("trace_metadata") or {}).get("mlflow.sourceRun", "no run")[:8]
        runs[run].append((json.dumps(trace.get("request"), sort_keys=True), trace))
    systems = []
    for run, traces in runs.items():
        samples = []
        # traces come in any order, so a sample is named by the place of its inputs
        for index, (request, trace) in enumerate(sorted(traces, key=itemgetter(0))):
            gold = {}
            feedback_values = {}
            reasons = {}
            errors = [CALL_FAILED] if trace.get("state") == "ERROR" else []
            valid = [assessment for assessment in trace.get("assessments") or () if assessment.get("valid", True)]
            for assessment in sorted(valid, key=itemgetter("assessment_name")):
                name = assessment["assessment_name"]
                feedback = assessment.get("feedback")
                if feedback:
                    feedback_values[name] = feedback.get("value")
                    reasons[name] = assessment.get("rationale")
                    errors += [f"{name}: {feedback['error'].get('error_message')}"] if feedback.get("error") else []
                elif assessment.get("expectation"):
                    gold[name] = assessment["expectation"].get("value")
            tokens = json.loads((trace.get("trace_metadata") or {}).get("mlflow.trace.tokenUsage") or "{}")
            sample = _sample(
                "MLflow",
                {**trace, "place": index},
                gold=gold,
                values=feedback_values,
                reasons=reasons,
                usage={new: tokens[old] for old, new in TOKEN_NAMES.items() if old in tokens},
                metadata={"document": request, **(trace.get("tags") or {})},
                error="; ".join(errors),
                steps=trace["steps"],
            )
            samples.append(sample)
        systems.append(LogSystem("MLflow", run if len(runs) > 1 else file.stem, samples))
    return systems


def _opentelemetry(content: Content, file: Path) -> list[LogSystem]:
    exports = [item for item in (content if isinstance(content, list) else [content]) if isinstance(item, dict)]
    if not any("resourceSpans" in export or "resourceLogs" in export for export in exports):
        return []
    messages: dict[str, list[JsonObject]] = defaultdict(list)
    for _, record in _items(exports, "resourceLogs", "scopeLogs", "logRecords"):  # an event may be a record of a log
        about = _attributes(record)
        body = _otlp_value(record.get("body") or {})
        name = record.get("eventName") or about.get("event.name")
        fields = body if isinstance(body, dict) else {"content": body}
        messages[str(record.get("spanId"))].append({"name": name, "attributes": {**about, **fields}})
    spans: list[tuple[str, JsonObject]] = []
    for resource, span in _items(exports, "resourceSpans", "scopeSpans", "spans"):
        name = _attributes(resource.get("resource", {})).get("service.name", file.stem)
        events = [*(span.get("events") or ()), *messages[str(span.get("spanId"))]]
        spans.append((str(name), {**span, "events": events}))
    if not spans:
        raise DataError("there are no spans in this export of OpenTelemetry", file=file)
    owners: dict[str, str] = {}  # a trace is of the service in which it began
    for name, span in sorted(spans, key=lambda item: bool(item[1].get("parentSpanId"))):
        owners.setdefault(str(span.get("traceId")), name)
    services: dict[str, list[JsonObject]] = defaultdict(list)
    for _, span in spans:
        services[owners[str(span.get("traceId"))]].append(span)
    return [LogSystem("OpenTelemetry", name, _traces(spans)) for name, spans in services.items()]


def _items(exports: Sequence[Record], *names: str) -> Iterator[tuple[Record, Record]]:
    """What the scopes of exports hold, each with its resource; empty lists may be left out."""
    resources, scopes, items = names
    for resource in (item for export in exports for item in export.get(resources) or ()):
        for scope in resource.get(scopes) or ():
            yield from ((resource, item) for item in scope.get(items) or ())


def _exported(content: Content, file: Path) -> list[LogSystem]:
    """Spans as Phoenix, Langfuse, LangSmith or OpenAI's Agents SDK export them, also as HTTP interfaces answer."""
    rows: list[Any] = [content]
    if isinstance(content, list):
        rows = content
    elif isinstance(content, dict) and "observations" not in content:  # a file may hold a number alone
        lists = (content.get(name) for name in ("data", "runs", "traces"))
        rows = next((value for value in lists if isinstance(value, list)), rows)
    if not rows or not all(isinstance(row, dict) for row in rows):
        return []
    if "run_type" in rows[0]:
        return [LogSystem("LangSmith", file.stem, _traces(_with_children(rows)))]
    if "observations" in rows[0] or {"type", "traceId"} <= rows[0].keys() or {"type", "trace_id"} <= rows[0].keys():
        return [LogSystem("Langfuse", file.stem, _traces(_observations(rows)))]
    if "span_kind" in rows[0] or {"context", "parent_id"} <= rows[0].keys():
        return [LogSystem("Phoenix", file.stem, _traces(rows))]
    if spans := [row for row in rows if "span_data" in row]:
        return [LogSystem("OpenAI Agents", file.stem, _traces(spans))]
    return []


def _with_children(runs: list[Any]) -> list[JsonObject]:
    """The runs of LangSmith, with those that are nested in them."""
    spans = []
    waiting = runs[::-1]
    while waiting:
        run = waiting.pop()
        children = run.get("child_runs") or ()
        root = {"trace_id": run.get("trace_id", run.get("id"))}
        waiting += [{**root, "parent_run_id": run.get("id"), **child} for child in reversed(children)]
        scores = [{"name": name, "value": item.get("avg")} for name, item in (run.get("feedback_stats") or {}).items()]
        spans.append({**root, **run, "scores": scores})
    return spans


def _observations(rows: list[Any]) -> list[JsonObject]:
    """The observations of Langfuse; a trace is the root of those that it holds."""
    spans = []
    for row in rows:
        if "observations" not in row:
            spans.append(row)
            continue
        name = str(row["id"])
        spans.append({"startTime": row.get("timestamp"), **row, "traceId": name, "type": "TRACE"})
        for item in row["observations"]:
            spans.append({"traceId": name, **item, "parentObservationId": item.get("parentObservationId") or name})
    return spans


def _chats(content: Content, file: Path) -> list[LogSystem]:
    rows = content if isinstance(content, list) else [content]
    if not rows or not all(isinstance(row, dict) and row.keys() <= {*LOG_PATHS["chat"]} for row in rows):
        return []
    chats = [next((row[name] for name in CHAT if name in row), None) for row in rows]
    samples: list[Sample] = []
    for index, (row, messages) in enumerate(zip(rows, chats, strict=True)):
        if not isinstance(messages, list):
            return []
        steps = tuple(steps_of({"messages": messages}, strict=True))
        answers = _said(messages, *MODEL_ROLES)
        inputs = {"input": next(iter(_said(messages, *USER_ROLES)), "")}
        prediction = {"output": answers[-1] if answers else ""}
        samples.append(
            {"id": identity(row, index), "inputs": inputs, "prediction": prediction, "values": {}, "steps": steps}
        )
    texts = [sample["inputs"]["input"] or sample["prediction"]["output"] for sample in samples]
    return [LogSystem("chats", file.stem, samples)] if any(texts) else []


def _said(messages: Sequence[object], *roles: str) -> list[str]:
    """The texts of the messages of some roles that have one."""
    texts = (text_of(message) for message in map(message_of, messages) if role_of(message) in roles)
    return [text for text in texts if text]


def _traces(spans: list[JsonObject]) -> list[Sample]:
    """A sample a trace: its steps, and its inputs and answer.

    Both are those of the first span from the root that has inputs. Where it has no answer, or is the call of a model,
    the answer is that of the last call of a model, unless the program failed. Spans of other things are no sample.
    """
    traces: dict[str, dict[str, Sample]] = defaultdict(dict)
    for number_, span in enumerate(spans):
        step = _span(span)
        name = str(step["id"])
        traces[str(step.get("trace") or name)][name or f" {number_}"] = step  # one that was sent twice is one
    samples: list[Sample] = []
    for key, trace in traces.items():
        parts = list(trace.values())
        ids = {str(step["id"]) for step in parts}
        inner = {id(step) for step in parts if str(step.get("parent")) in ids and step["parent"] != step["id"]}
        parts.sort(key=lambda step: (id(step) in inner, moment(step.get("start"))))
        steps = tree(parts)
        asking = [step for step in parts if step.get("args") is not None and kind_of(step) in ("module", "model")]
        if not asking and not steps:
            continue
        first = last = asking[0] if asking else parts[0]
        modules = [step for step in (parts[0], first) if kind_of(step) == "module"]
        error = any(step.get("failed") in FAILED_STATUS or step.get("error") for step in modules or [first])
        if not error and (first not in modules or first.get("output") is None):
            answered = [step for step in asking if step.get("output") is not None]
            models = [step for step in answered if kind_of(step) == "model"]
            last = next(iter([*models[::-1], *answered]), first)
        scores = [score for item in parts for score in item.get("scores") or ()]
        sample = {
            "id": key,
            "inputs": _side(first, "args", "input", USER_ROLES),
            "prediction": _side(last, "output", "output", MODEL_ROLES),
            "values": {str(score["name"]): score.get("value") for score in scores},
            "error": CALL_FAILED if error else "",
            "steps": steps,
        }
        samples.append(sample)
    return samples


def _span(span: JsonObject) -> Sample:
    """The parts of a span, whose attributes are a list of keys and values, an object, or columns of a table."""
    columns = {name.removeprefix("attributes."): value for name, value in span.items() if name != "attributes"}
    events = span.get("events")
    attributes = _attributes(span)
    is_tool = attributes.get("gen_ai.operation.name") == "execute_tool"
    fields: Fields = {"id": ""}
    for event in events if isinstance(events, list) else ():
        about = _attributes(event)
        side = MESSAGE_EVENTS.fullmatch(str(event.get("name")))
        if side is None:
            fields |= about  # what was raised
            continue
        body: Any = about.get("gen_ai.event.content", about.get("message", about))
        body = decoded(body)
        body = decoded(body["message"]) if isinstance(body, dict) and "message" in body else body
        body = body if isinstance(body, dict) else {"content": body}
        message = {"role": side[1] or "assistant", **{name: decoded(value) for name, value in body.items()}}
        if is_tool:
            fields[f"gen_ai.tool.call.{'arguments' if side[1] else 'result'}"] = message.get("content")
        else:
            fields.setdefault("gen_ai.prompt" if side[1] else "gen_ai.completion", []).append(message)
    fields |= attributes
    fields["usage"] = decoded(fields.get("mlflow.chat.tokenUsage"))
    return _sample("span", {**_nested(fields), **columns})


def _nested(fields: JsonObject) -> JsonObject:
    """Attributes such as ``gen_ai.prompt.0.content`` and those of OpenInference as lists of messages.

    >>> _nested({"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "read"})
    {'llm.output_messages': [{'message.tool_calls': [{'tool_call.function.name': 'read'}]}]}
    """
    nested: JsonObject = {}
    lists: dict[str, dict[int, JsonObject]] = defaultdict(lambda: defaultdict(dict))
    for name, value in fields.items():
        if item := ITEM.fullmatch(name):
            lists[item[1]][int(item[2])][item[3]] = value
        else:
            nested[name] = value
    return nested | {name: [_nested(items[index]) for index in sorted(items)] for name, items in lists.items()}


def _side(step: Sample, side: str, name: str, roles: Sequence[str]) -> JsonObject:
    """The inputs or the answer of a trace as an object; of a chat the text of the user or the model."""
    value = _of_chat(decoded(step.get(side)), roles, is_chat=kind_of(step) == "model")
    return {} if value is None else as_object(value, name)


def _of_chat(value: Any, roles: Sequence[str], *, is_chat: bool = False) -> Any:
    """The text of the user or the model in what an agent got or gave; what is no chat as it is."""
    if isinstance(value, dict) and value.keys() >= {"raw", "json_dict"}:  # crewAI
        value = value["raw"]
    is_chat = is_chat or isinstance(value, list)
    is_chat = is_chat or (
        isinstance(value, dict) and (value.keys() == {"messages"} or is_event(value))
    )  # LangGraph, ADK
    messages = messages_in(value) if is_chat else []
    if messages and all("role" in message or role_of(message) in LANGCHAIN_TYPES for message in messages):
        return next(iter(_said(messages, *roles)[:: 1 if roles is USER_ROLES else -1]), "")
    return value


def _attributes(holder: Record) -> JsonObject:
    """The attributes of a span, a resource or an event: an object, or a list of keys, whose value is of one type."""
    attributes = holder.get("attributes") or ()
    if isinstance(attributes, dict):
        return attributes
    return {item["key"]: _otlp_value(item["value"]) for item in attributes}


def _otlp_value(value: Record) -> object:
    """A value that names its type: a list, an object, or what is neither; a whole number is a text."""
    for kind, content in value.items():
        if kind == "arrayValue":
            return [_otlp_value(item) for item in content.get("values", ())]
        if kind == "kvlistValue":
            return {item["key"]: _otlp_value(item["value"]) for item in content.get("values", ())}
        return int(content) if kind == "intValue" else content
    return None


def _dspy(content: Content, file: Path) -> list[LogSystem]:
    is_lines = file.suffix.lower() == ".jsonl"  # which dspy.Evaluate never writes: these are predictions
    if is_lines or not isinstance(content, list) or not content:
        return []
    if not all(isinstance(row, dict) and row for row in content):
        return []
    *names, score = max(content, key=len)
    values = [number(row.get(score)) for row in content]
    has_pairs = any(name.startswith(("example_", "pred_")) for name in names)  # gold and an answer of the same name
    is_answer = not has_pairs and str(content[0].get(score)) in ("True", "False")
    if "candidate" in names or None in values or is_answer:
        return []
    first = next((index for index, name in enumerate(names) if name.startswith("example_")), 1)
    samples: list[Sample] = []
    for at, row in enumerate(content):
        failed = len(row) <= len(names) and not any(name.startswith("pred_") for name in row)
        inputs = {name: row[name] for name in names[:first]}
        about = {name: row[name] for name in LOG_PATHS["never predicted"] if name in row}
        output = {name: row[name] for name in row if name not in {**inputs, **about, score: None}}
        gold = {name.removeprefix("example_"): output[name] for name in output if failed or name.startswith("example_")}
        answer = {
            name.removeprefix("pred_"): output[name] for name in output if name.removeprefix("example_") not in gold
        }
        example = {**inputs, **gold, **about}
        fields = {"inputs": inputs, "gold": gold, "prediction": answer, "metadata": example}
        error = PROGRAM_RAISED if failed else ""
        samples.append({"id": identity(example, at), **fields, "values": {score: values[at]}, "error": error})
    return [LogSystem("dspy.Evaluate", file.stem, samples)]


READERS: tuple[Callable[[Content, Path], list[LogSystem]], ...] = (
    *(_inspect, _promptfoo, _deepeval),
    *(_mlflow, _opentelemetry, _exported, _chats, _dspy),
)

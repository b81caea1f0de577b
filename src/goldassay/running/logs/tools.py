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
* OpenTelemetry: OTLP JSON, one export or one a line, with the attributes of OpenInference, gen_ai or MLflow. Each
  service is a system and each trace a sample: its inputs and answer are those of the first span from the root that has
  both. Traces carry no scores, so they become drafts of gold and no runs (`goldassay.running.logs`).
* ``dspy.Evaluate(save_as_json=…)`` and ``save_as_csv``: fields of example and prediction together, the score last.
  Fields that both have are called ``example_NAME`` and ``pred_NAME``; those before the first of them are the inputs. A
  program that raised leaves no fields: its row is shorter than the others, and has ``failure_score``.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError, MissingExtra, one_line
from goldassay.fields import Fields, Record, identity, read
from goldassay.gold.formats.tables import table
from goldassay.jsonl import JSON

KINDS = (
    "Inspect (.eval, .json), promptfoo, deepeval, MLflow (tables and traces), OpenTelemetry and dspy.Evaluate "
    "(JSON, CSV)"
)
LARGEST = 2**31  # bytes that the samples of an archive may unpack to
LARGEST_HEAD = 2**28  # bytes that its head may
PROVIDER_FAILED = 2  # promptfoo's failureReason
FAILED = (2, "STATUS_CODE_ERROR")  # of an OpenTelemetry span
TOKENS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
RAISED = "the program raised"
CALL_FAILED = "the traced call failed"
DATA = files.resource("logs.json")
"""Where the parts of a sample are in each tool's records (bars separate versions' names), and words for scores."""
Content: TypeAlias = Fields | list[Any]
"""A log as it was read."""
Sample = dict[str, Any]
"""One answer: ``id``, ``inputs``, ``prediction`` and ``values``, the scores as the tool writes them.

It may have ``gold``, ``metadata``, ``error``, ``reasons`` (what the tool says of each value), ``repeat``, ``usage``,
and ``latency_s``. Logs are on the same examples if ids and inputs are the same.
"""


@dataclass
class System:
    """One program in a log; ``main`` is the value that counts, by default all that are rates."""

    tool: str
    name: str
    samples: list[Sample]
    main: str = ""
    lower_is_better: Collection[str] = ()
    lm: str | None = None
    warnings: Sequence[str] = ()


def systems_in(file: Path) -> list[System]:
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
    except GoldassayError:
        raise
    except Exception as error:  # decompressors have errors of their own
        raise DataError(f"not a log that can be read: {one_line(error)}", file=file) from error


def _content(file: Path) -> Content:
    """The content of a file: an Inspect archive as one object, the rows of a CSV, or JSON."""
    if file.suffix.lower() in (".csv", ".tsv"):
        return rows_of_table(file)
    with files.opened(file) as stream:
        data = stream.read()
    if data.startswith(b"PK"):
        return _unzipped(data, file)
    try:
        parsed: Content = _json(data)
    except (ValueError, RecursionError):
        if file.suffix.lower() == ".jsonl":
            return [value for _, value in files.json_lines(file)]
        parsed = jsonl.value(data, file=file)  # its error says where the file is wrong
    return parsed


def _json(data: bytes) -> Any:
    """JSON in which NaN may mean that a score is missing; half of a character, which nothing can write, is a ``?``."""
    parsed = json.loads(data)
    if b"\\ud" in data.lower():
        parsed = json.loads(json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace"))
    return parsed


def rows_of_table(file: Path) -> list[Fields]:
    """The rows of a CSV by the names of its columns."""
    return [dict(row) for _, row in table(file, quoted=True)]


def number(value: JSON) -> float | None:
    """A score as a number: Inspect's letters, words for true and false, and numbers as text; None if it is none.

    >>> number("C"), number(True), number("0.5"), number("Paris"), number(float("nan"))
    (1.0, 1.0, 0.5, None, None)
    """
    try:
        score = DATA["scores"].get(str(value).lower()) if isinstance(value, (str, bool)) else None
        score = float(value) if score is None else score  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def _unzipped(data: bytes, file: Path) -> Fields:
    """Inspect's archive as the object that a ``.json`` log holds; its members are read by name, in memory."""
    with suppress(ModuleNotFoundError):
        import_module("zipfile_zstd")  # Zstandard, which Inspect writes, is in zipfile from Python 3.14 on
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        head = archive.getinfo("header.json")
        members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        if head.file_size > LARGEST_HEAD or sum(info.file_size for info in members) > LARGEST:
            raise DataError(f"it unpacks to more than {LARGEST >> 30} GiB", file=file)
        log = _json(archive.read(head))
        samples = [_json(archive.read(member)) for member in members]
    except NotImplementedError:
        raise MissingExtra("zipfile-zstd", "inspect") from None
    return {**log, "samples": samples}


def _sample(tool: str, record: Record, **more: Any) -> Sample:
    """A sample from a record, whose parts are where ``data/logs.json`` says, and from ``more`` parts."""
    sample: Sample = {}
    for name, paths in DATA["paths"][tool].items():
        values = (read(record, path, None) for path in paths.split("|"))
        value = next((value for value in values if value is not None), None)
        part, _, inner = name.partition(".")
        if value is not None or part not in ("latency_s", "milliseconds", "usage", "repeat"):
            sample[part] = sample.get(part, {}) | {inner: value} if inner else value
    if "milliseconds" in sample:
        sample["latency_s"] = sample["milliseconds"] / 1000
    if sample.get("id", 0) is None:
        raise KeyError("id")
    return sample | more


def _inspect(content: Content, file: Path) -> list[System]:
    if not isinstance(content, dict) or not isinstance(content.get("eval"), dict):
        return []
    head = content["eval"]
    if not content.get("samples"):
        raise DataError("the log has no samples: it was written with log_samples=False, or cut off", file=file)
    status = content.get("status", "success")
    warnings = [] if status == "success" else [f"Inspect's log ends with the status {status!r}"]
    samples = []
    skipped = Counter[str]()
    for record in content["samples"]:
        values: Fields = {}
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
            usage.update({new: tokens.get(old, 0) for old, new in TOKENS.items()})
        samples.append(_sample("Inspect", record, values=values, reasons=reasons, usage=usage))
    warnings += [f"{count} scores of Inspect's {name} have no value and are skipped" for name, count in skipped.items()]
    return [System("Inspect", head.get("task", file.stem), samples, lm=head.get("model"), warnings=warnings)]


def _promptfoo(content: Content, file: Path) -> list[System]:
    body = content.get("results") if isinstance(content, dict) else None
    if not isinstance(body, dict) or not {"prompts", "table"} & body.keys():
        return []
    prompts = body["prompts"] if "prompts" in body else body["table"]["head"]["prompts"]  # before version 3
    texts = [(prompt["raw"], prompt["provider"]) for prompt in prompts]
    groups: dict[int, list[Sample]] = defaultdict(list)
    for result in body["results"]:
        place = result.get("promptIdx")
        if place is None:
            place = texts.index((result["prompt"]["raw"], result["provider"]["id"]))
        variables = result.get("vars") or {}
        same = {"document": json.dumps(variables, sort_keys=True)}  # --repeat asks again with the same variables
        sample = _sample(
            "promptfoo",
            {"testIdx": len(groups[place]), **result},
            metadata={**same, **variables, **((result.get("testCase") or {}).get("metadata") or {})},
            values={"pass": result.get("success"), "score": result.get("score"), **(result.get("namedScores") or {})},
            reasons={"promptfoo": (result.get("gradingResult") or {}).get("reason")},
            error=result.get("error") if result.get("failureReason") == PROVIDER_FAILED else "",
        )
        groups[place].append(sample)
    names = [f"{provider} #{place}" for place, (_, provider) in enumerate(texts, 1)]
    return [System("promptfoo", names[place], groups[place], "pass") for place in sorted(groups)]


def _deepeval(content: Content, file: Path) -> list[System]:
    data: Fields = content.get("testRunData", content) if isinstance(content, dict) else {}
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
    return [System("deepeval", file.stem.lstrip("."), samples, lower_is_better=lower, lm=model)] if samples else []


def _mlflow(content: Content, file: Path) -> list[System]:
    if isinstance(content, dict) and content.keys() >= {"columns", "data"}:
        return _mlflow_table(content["columns"], content["data"], file)
    if not isinstance(content, list) or not content:
        return []
    if not isinstance(content[0], dict) or not {"info", "assessments"} & content[0].keys():
        return []
    runs: dict[str, list[tuple[str, Fields]]] = defaultdict(list)
    for trace in content:
        if "info" in trace:  # as search_traces has it: the info, with the inputs and outputs of its first span
            spans = (trace.get("data") or {}).get("spans") or [{}]
            attributes = spans[0].get("attributes") or {}
            sides = {"request": "mlflow.spanInputs", "response": "mlflow.spanOutputs"}
            trace = trace["info"] | {side: json.loads(attributes.get(name) or "null") for side, name in sides.items()}
        run = (trace.get("trace_metadata") or {}).get("mlflow.sourceRun", "no run")[:8]
        runs[run].append((json.dumps(trace.get("request"), sort_keys=True), trace))
    systems = []
    for run, traces in runs.items():  # traces come in any order, so a sample is named by the place of its inputs
        traces.sort(key=itemgetter(0))
        samples = [_mlflow_sample(inputs, {**trace, "place": place}) for place, (inputs, trace) in enumerate(traces)]
        systems.append(System("MLflow", run if len(runs) > 1 else file.stem, samples))
    return systems


def _mlflow_sample(inputs: str, trace: Fields) -> Sample:
    values: Fields = {}
    gold: Fields = {}
    reasons: Fields = {}
    errors = [CALL_FAILED] if trace.get("state") == "ERROR" else []
    valid = [assessment for assessment in trace.get("assessments") or () if assessment.get("valid", True)]
    for assessment in sorted(valid, key=itemgetter("assessment_name")):
        name = assessment["assessment_name"]
        feedback = assessment.get("feedback")
        if feedback:
            values[name] = feedback.get("value")
            reasons[name] = assessment.get("rationale")
            errors += [f"{name}: {feedback['error'].get('error_message')}"] if feedback.get("error") else []
        elif assessment.get("expectation"):
            gold[name] = assessment["expectation"].get("value")
    tokens = json.loads((trace.get("trace_metadata") or {}).get("mlflow.trace.tokenUsage") or "{}")
    usage = {new: tokens[old] for old, new in TOKENS.items() if old in tokens}
    metadata = {"document": inputs, **(trace.get("tags") or {})}
    more: Fields = {"gold": gold, "values": values, "reasons": reasons, "usage": usage, "metadata": metadata}
    more["error"] = "; ".join(errors)
    return _sample("MLflow", trace, **more)


def _mlflow_table(columns: list[str], rows: list[list[Any]], file: Path) -> list[System]:
    """The system of a table, if any of its columns is a score."""
    samples: list[Sample] = []
    for place, cells in enumerate(rows):
        row = dict(zip(columns, cells, strict=True))
        values = {name.removesuffix("/score"): row[name] for name in row if name.endswith("/score")}
        answer = {name: row[name] for name in row if name in DATA["mlflow answers"]}
        inputs = {name: row[name] for name in row if "/" not in name and name not in answer}
        samples.append({"id": place, "inputs": inputs, "prediction": answer, "metadata": row, "values": values})
    return [System("MLflow", file.stem, samples)] if any(sample["values"] for sample in samples) else []


def _opentelemetry(content: Content, file: Path) -> list[System]:
    exports = content if isinstance(content, list) else [content]
    if not exports or not all(isinstance(part, dict) and "resourceSpans" in part for part in exports):
        return []
    services: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for resource in (each for part in exports for each in part["resourceSpans"]):
        name = _attributes(resource.get("resource", {})).get("service.name", file.stem)
        for span in (each for scope in resource["scopeSpans"] for each in scope["spans"]):
            services[str(name)][span["traceId"]].append(span)
    return [
        System("OpenTelemetry", name, [sample for key, spans in traces.items() if (sample := _trace(key, spans))])
        for name, traces in services.items()
    ]


def _trace(key: str, spans: list[Fields]) -> Sample:
    """The sample of a trace: its first span with inputs and an answer, from the root; empty if none has both."""
    ids = {span["spanId"] for span in spans}
    for span in sorted(
        spans, key=lambda each: (each.get("parentSpanId") in ids, int(each.get("startTimeUnixNano", 0)))
    ):
        sides = _sample("OpenTelemetry", _attributes(span))
        if None not in sides.values():
            inputs = _object(sides["input"], "input")
            answer = _object(sides["output"], "output")
            error = CALL_FAILED if span.get("status", {}).get("code") in FAILED else ""
            return {"id": key, "inputs": inputs, "prediction": answer, "values": {}, "error": error}
    return {}


def _attributes(part: Record) -> Fields:
    """The attributes of a span or a resource; a value is of one type."""
    return {each["key"]: next(iter(each["value"].values()), None) for each in part.get("attributes", ())}


def _object(value: JSON, name: str) -> Fields:
    """A value that may be JSON in a text, as an object; any other is its one field."""
    with suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) and value else {name: value}


def _dspy(content: Content, file: Path) -> list[System]:
    if not isinstance(content, list) or not content or not all(isinstance(row, dict) and row for row in content):
        return []
    *names, score = max(content, key=len)
    values = [number(row.get(score)) for row in content]
    if "candidate" in names or None in values:
        return []
    first = next((place for place, name in enumerate(names) if name.startswith("example_")), 1)
    samples: list[Sample] = []
    for at, row in enumerate(content):
        failed = len(row) <= len(names) and not any(name.startswith("pred_") for name in row)
        inputs = {name: row[name] for name in names[:first]}
        about = {name: row[name] for name in DATA["never predicted"] if name in row}
        rest = {name: row[name] for name in row if name not in {**inputs, **about, score: None}}
        gold = {name.removeprefix("example_"): rest[name] for name in rest if failed or name.startswith("example_")}
        answer = {name.removeprefix("pred_"): rest[name] for name in rest if name.removeprefix("example_") not in gold}
        example = {**inputs, **gold, **about}
        sides = {"inputs": inputs, "gold": gold, "prediction": answer, "metadata": example}
        error = RAISED if failed else ""
        samples.append({"id": identity(example, at), **sides, "values": {score: values[at]}, "error": error})
    return [System("dspy.Evaluate", file.stem, samples)]


def system_of(evaluation: Any) -> System:
    """The system of a result of ``dspy.Evaluate``; a prediction without fields is one whose program raised.

    Raises:
        DataError: A score is no number.
    """
    samples: list[Sample] = []
    for at, (example, prediction, result) in enumerate(evaluation.results):
        if (score := number(getattr(result, "score", result))) is None:
            raise DataError(f"the score of example {at + 1} is {result!r:.60}, which is no number")
        inputs = dict(example.inputs())
        fields = example.toDict()
        gold = {key: value for key, value in fields.items() if key not in inputs}
        sides = {"inputs": inputs, "gold": gold, "prediction": dict(prediction.items()), "metadata": fields}
        error = "" if len(prediction) else f"{RAISED} an error"
        samples.append({"id": identity(example, at), **sides, "values": {"score": score}, "error": error})
    return System("dspy.Evaluate", "dspy.Evaluate", samples)


READERS: tuple[Callable[[Content, Path], list[System]], ...] = (
    *(_inspect, _promptfoo, _deepeval),
    *(_mlflow, _opentelemetry, _dspy),
)

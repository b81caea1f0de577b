"""What drafts are made from: runs, traces, predictions and inputs, brought together by id or by their inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

import goldassay
from goldassay import Metric
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.ext.labelling.drafts import Pool, draft
from goldassay.ext.labelling.sources import pool_of
from goldassay.measures.trajectories import CallF1, Conduct
from goldassay.measures.trajectories.records import trajectory

TEXTS = ["When do you open?", "Thank you!", "The lift is broken", "key sk-abcdef123456 leaked"]
OURS = ["question", "praise", "complaint", "praise"]
THEIRS = ["question", "praise", "praise", "complaint"]
STYLES: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "openinference": ("input.value", "output.value", lambda label: json.dumps({"label": label})),
    "mlflow": ("mlflow.spanInputs", "mlflow.spanOutputs", lambda label: json.dumps({"label": label})),
    "gen_ai": ("gen_ai.prompt", "gen_ai.completion", str),
}
Row = dict[str, Any]


def otlp(labels: list[str], style: str, service: str = "desk") -> Row:
    """An export of traces: a root span without content, and a child that was asked; one call failed."""
    input_key, output_key, written = STYLES[style]

    def span(trace: int, name: str, parent: str, about: dict[str, str], code: int = 1) -> Row:
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]
        ids = {"traceId": f"{service}{trace}", "spanId": name, "parentSpanId": parent, "startTimeUnixNano": str(trace)}
        return {**ids, "name": name, "attributes": pairs, "status": {"code": code}}

    spans = []
    for trace, (text, label) in enumerate(zip(TEXTS, labels, strict=True)):
        text = text if style == "gen_ai" else json.dumps({"text": text})
        spans += [
            span(trace, "child", "root", {input_key: text, output_key: written(label)}),
            span(trace, "root", "", {}),
        ]
    spans.append(span(99, "broken", "", {input_key: '{"text": "x"}', output_key: "{}"}, code=2))
    name = [{"key": "service.name", "value": {"stringValue": service}}]
    return {"resourceSpans": [{"resource": {"attributes": name}, "scopeSpans": [{"spans": spans}]}]}


def save(file: Path, rows: Sequence[Row]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def rows(labels: list[str], **more: Any) -> list[Row]:
    return [{"id": f"d{i}", "label": label, **more} for i, label in enumerate(labels)]


def with_texts(several: list[Row]) -> list[Row]:
    return [{**row, "text": text} for row, text in zip(several, TEXTS, strict=True)]


def run_of(folder: Path, labels: list[str]) -> Path:
    """A run folder in which every text has a stratum."""
    answers = dict(zip(TEXTS, labels, strict=True))
    gold = [
        dspy.Example(id=f"d{at}", text=text, label="x", strata={"desk": "ab"[at % 2]}).with_inputs("text")
        for at, text in enumerate(TEXTS)
    ]

    def program(text: str) -> Any:
        return dspy.Prediction(reasoning="it says so", label=answers[text])

    goldassay.evaluate(program, gold, lambda gold, pred: gold.label == pred.label, folder=folder)
    return folder


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("lines", [False, True])
def test_traces_have_inputs_and_answers(tmp_path: Path, style: str, lines: bool) -> None:
    file = tmp_path / ("traces.jsonl" if lines else "traces.json")
    content = json.dumps(otlp(OURS, style))
    file.write_text(f"{content}\n{json.dumps({'resourceSpans': []})}\n" if lines else content, encoding="utf-8")
    fields = {"text": "input", "label": "output"} if style == "gen_ai" else None
    pool = pool_of([file], "classification", map=fields)
    texts = {pool.inputs[name]["text"]: answer["label"] for name, answer in pool.answers["desk"].items()}
    assert texts == dict(zip(TEXTS, OURS, strict=True))


def test_traces_of_two_services_are_brought_together_by_their_inputs(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, labels, service in zip(files, (OURS, THEIRS), ("a", "b"), strict=True):
        file.write_text(json.dumps(otlp(labels, "openinference", service)), encoding="utf-8")
    pool = pool_of(files, "classification")
    assert (list(pool.inputs), list(pool.answers)) == ([*(f"a{i}" for i in range(4)), "a99"], ["a", "b"])
    assert draft(pool).sizes == {"agree": 3, "disagree": 2}  # both failed at a99
    both = pool_of([files[0], save(tmp_path / "ours.jsonl", with_texts(rows(THEIRS)))], "classification")
    assert list(both.inputs) == [*(f"d{i}" for i in range(4)), "a99"]  # a file's ids come before those of traces


def test_traces_of_mlflow_are_whole_without_assessments(tmp_path: Path) -> None:
    text = "a long letter " * 100  # MLflow cuts what stands in the trace's metadata
    sides = {"Inputs": json.dumps({"text": text}), "Outputs": '{"label": "praise"}'}
    about = {f"mlflow.trace{side}": content[:250] for side, content in sides.items()}
    whole = {f"mlflow.span{side}": content for side, content in sides.items()}
    spans = [{"parent_span_id": None, "attributes": whole}]
    info = {"trace_id": "tr-1", "state": "OK", "trace_metadata": about, "tags": {}}
    (tmp_path / "traces.json").write_text(json.dumps([{"info": info, "data": {"spans": spans}}]), encoding="utf-8")
    (record,) = draft(pool_of([tmp_path / "traces.json"], "classification")).records
    assert (record["text"], record["suggestions"]) == (text, {"traces": {"label": "praise"}})


def test_runs_keep_ids_and_strata_and_are_told_apart(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, labels) for name, labels in (("a", OURS), ("b", THEIRS))]
    pool = pool_of(runs, "classification")
    assert pool.inputs["d1"] == {"id": "d1", "text": TEXTS[1], "strata": {"desk": "b"}}
    assert list(pool.answers) == ["program (a)", "program (b)"]
    records = draft(pool).records
    assert {record["id"] for record in records} == {"d2", "d3"}
    assert records[0]["suggestions"]["program (a)"].keys() == {"label"}  # reasoning is no output


@pytest.mark.parametrize("kind", ["jsonl", "csv", "json"])
def test_predictions_have_their_inputs_or_another_source_has_them(tmp_path: Path, kind: str) -> None:
    def write(name: str, several: list[Row]) -> Path:
        file = tmp_path / f"{name}.{kind}"
        if kind == "jsonl":
            return save(file, several)
        head = ",".join(several[0])
        lines = [",".join(f'"{value}"' for value in row.values()) for row in several]
        file.write_text(json.dumps(several) if kind == "json" else "\n".join([head, *lines]) + "\n", encoding="utf-8")
        return file

    ours = write("ours", rows(OURS, confidence=0.5))
    theirs = write("theirs", rows(THEIRS))
    with pytest.raises(DataError, match=r"ours\.\w+: record d0: a prediction without its input; add a source"):
        pool_of([ours, theirs], "classification")
    inputs = write("inputs", [{"id": f"d{i}", "text": text, "colour": "red"} for i, text in enumerate(TEXTS)])
    pool = pool_of([ours, inputs, theirs], "classification")
    assert (list(pool.inputs), set(pool.answers)) == (["d0", "d1", "d2", "d3"], {"ours", "theirs"})
    own = pool_of([write("both", with_texts(rows(OURS))), theirs], "classification")
    assert own.inputs["d2"]["text"] == TEXTS[2]
    assert draft(own).sizes == {"agree": 2, "disagree": 2}


def test_lines_of_text_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "inputs.txt").write_text("\n".join([*TEXTS, "", "Where?"]), encoding="utf-8")
    (tmp_path / "answers.py").write_text("def program(*, k=1, question): ...\n", encoding="utf-8")
    own = pool_of([tmp_path / "inputs.txt"], str(tmp_path / "answers.py"))
    assert own.inputs["6"]["question"] == "Where?"  # what has a default is not the text
    pool = pool_of([tmp_path / "inputs.txt"], "extraction")
    assert pool.inputs["6"] == {"id": "6", "text": "Where?"}
    (record, *_) = draft(pool).records
    assert "suggestions" not in record


def test_other_formats_of_predictions_and_tasks_are_read(tmp_path: Path) -> None:
    questions = save(tmp_path / "q.jsonl", [{"id": "1", "query": "museum"}, {"id": "2", "query": "archive"}])
    for name, order in (("a", "xy"), ("b", "yx")):
        lines = [f"{query} Q0 {doc} {rank} {9 - rank} {name}" for query in "12" for rank, doc in enumerate(order, 1)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pool = pool_of([tmp_path / "a.run", tmp_path / "b.run", questions], "retrieval")
    assert draft(pool).sizes == {"disagree": 2}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (with_texts(rows(OURS)), [{"id": "d0", "text": "another", "label": "x"}], "has this id for other inputs"),
        (with_texts(rows(OURS)), [{"id": "x", "text": TEXTS[1], "label": "x"}], "the id d1 for the same inputs"),
        (with_texts(rows(OURS)), [{"text": TEXTS[1], "label": "x"}], "predictions need an id"),
        (with_texts(rows(OURS)), [{"id": "x", "colour": "red"}], "no input has text; there are id, colour; rename one"),
        (with_texts(rows(OURS)), [], "the file is empty"),
        (
            with_texts(rows(OURS)),
            [{"id": "x", "text": "t", "label": []}],
            r"b\.jsonl: record x, label: ",
        ),
    ],
)
def test_sources_that_do_not_fit_are_one_line(
    tmp_path: Path, first: list[Row], second: list[Row], message: str
) -> None:
    files = [save(tmp_path / "a.jsonl", first), save(tmp_path / "b.jsonl", second)]
    with pytest.raises(GoldassayError, match=message) as error:
        pool_of(files, "classification")
    assert "\n" not in str(error.value)


def test_a_missing_answer_counts_as_empty_and_is_reported(tmp_path: Path) -> None:
    files = [save(tmp_path / "a.jsonl", with_texts(rows(OURS))), save(tmp_path / "b.jsonl", rows(OURS)[:3])]
    pool = pool_of(files, "classification")
    assert pool.warnings == ["b has no answer to 1 of 4 inputs, which counts as empty"]
    assert draft(pool).sizes == {"agree": 3, "disagree": 1}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", "[1, 2]\n3\n"),
        ("a.jsonl", '{"id": "a", "label": ["x"], "text": "t"}\n'),
        ("a.jsonl", '{"id": null, "label": "x", "text": "t"}\n'),
        ("a.jsonl", '{"id": "a", "label": "x", "text": "t"}\n{"id": "a", "label": "x", "text": "t"}\n'),
        ("a.jsonl", '{"id": "a", "label": "x", "text": NaN}\n'),
        ("a.jsonl", "\x00\x01"),
        ("a.json", "{}"),
        ("a.json", "[]"),
        ("a.json", '{"resourceSpans": [{"scopeSpans": [{"spans": 3}]}]}'),
        ("a.json", '{"resourceSpans": []}'),
        ("a.csv", "text\n"),
        ("a.csv", "id,label\na\n"),
        ("a.csv", "id,label,text\na,,\n"),
        ("a.txt", "\n\n"),
        ("a.pdf", "%PDF"),
    ],
)
def test_hostile_files_are_one_line(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(GoldassayError) as error:
        draft(pool_of([tmp_path / name], "classification"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("content", "paths"), [("[1]\n", None), ('null\n{"id": "c"}\n', {"question": "input"})])
def test_rows_that_are_no_objects_are_one_line(tmp_path: Path, content: str, paths: Any) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(GoldassayError):
        pool_of([tmp_path / "a.jsonl"], "trajectories", map=paths)


FILES = Path(__file__).parents[1] / "interop/logs/files"


@pytest.mark.parametrize(
    ("name", "fields", "systems", "size"),
    [
        ("deepeval_bad.json", {"question": "input", "answer": "output"}, ["deepeval_bad"], 6),
        ("inspect_good.eval", {"question": "input", "answer": "output"}, ["capitals-good"], 6),
        ("mlflow_traces.json", {"question": "country", "answer": "output"}, ["59a4b61c", "5817240b"], 6),
        ("promptfoo.json", {"question": "country", "answer": "output"}, ["good #1", "good #2", "bad #3", "bad #4"], 12),
        ("dspy_good.json", {"question": "country", "answer": "capital"}, ["dspy_good"], 6),
        ("dspy_good.csv", {"question": "country", "answer": "capital"}, ["dspy_good"], 6),
    ],
)
def test_logs_of_other_tools_are_read(name: str, fields: dict[str, str], systems: list[str], size: int) -> None:
    pool = pool_of([FILES / name], "answering", map=fields)
    assert (list(pool.answers), len(pool.inputs)) == (systems, size)
    assert all(record["question"] for record in pool.inputs.values())
    named = {key: path for key, path in fields.items() if path not in ("input", "output")}
    alone = pool_of([FILES / name], "answering", map=named)  # a text alone, under the log's own name
    assert (alone.answers, alone.inputs) == (pool.answers, pool.inputs)
    for side in named:
        with pytest.raises(DataError, match=f"has {side}; there are .*; rename one") as error:
            pool_of([FILES / name], "answering", map={key: path for key, path in named.items() if key != side})
        assert "\n" not in str(error.value)


def test_inputs_whose_last_column_is_a_number_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "inputs.csv").write_text("id,text,year\na,Ur,1793\nb,Uruk,1794\n", encoding="utf-8")
    pool = pool_of([tmp_path / "inputs.csv"], "classification")
    assert (pool.inputs["b"], pool.answers) == ({"id": "b", "text": "Uruk", "meta": {"year": "1794"}}, {})
    assert draft(pool, strata="year").sizes == {"year 1793": 1, "year 1794": 1}


def test_names_of_systems_say_nothing_of_agreement(tmp_path: Path) -> None:
    files = [save(tmp_path / f"{name}.jsonl", with_texts(rows(OURS))) for name in ("t=0", "t=1", "x")]
    assert list(pool_of(files, "classification").answers) == ["t-0", "t-1", "x"]
    with pytest.raises(GoldassayError, match="'t=0'"):
        draft(Pool.of("classification", with_texts(rows(OURS)), {"t=0": rows(OURS), "b": rows(THEIRS)}))


def test_of_your_own_task_the_program_says_which_fields_are_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    several = [{"id": str(i), "note": text, "tone": "kind"} for i, text in enumerate(TEXTS)]
    files = [save(tmp_path / "a.jsonl", several), save(tmp_path / "b.jsonl", [{**row, "tone": "x"} for row in several])]
    with pytest.raises(GoldassayError, match="tone"):
        pool_of(files, "tone")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "tone.py").write_text("def program(note: str):\n    return None\n", encoding="utf-8")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "tone.py").write_text("def metric(gold, pred):\n    return 1.0\n", encoding="utf-8")
    pool = pool_of(files, "tone")
    assert (pool.inputs["1"], pool.answers["a"]["1"]) == ({"id": "1", "note": TEXTS[1]}, {"tone": "kind"})
    (record, *_) = draft(pool).records
    assert record["suggestions"] == {"a": {"tone": "kind"}, "b": {"tone": "x"}}
    assert set(pool_of([save(tmp_path / "c.jsonl", [{"id": "1", "note": "n"}])], "tone").answers) == set()


def test_thousands_of_inputs_are_read_in_a_moment(tmp_path: Path) -> None:
    several = [{"id": str(i), "text": f"letter {i}", "label": "M" if i % 3 else "L"} for i in range(5000)]
    files = [save(tmp_path / f"{name}.jsonl", several[place:]) for place, name in enumerate("ab")]
    pool: Pool = pool_of(files, "classification")
    assert len(pool.inputs) == 5000


def test_traces_without_inputs_are_told_to_record_them_and_not_to_rename_one(tmp_path: Path) -> None:
    root = {"id": "r", "trace_id": "t", "span_data": {"type": "agent", "name": "agent"}}
    call = {"type": "function", "name": "search", "input": '{"q": "Delft"}'}
    span = {"id": "s", "trace_id": "t", "parent_id": "r", "span_data": call}
    with pytest.raises(DataError, match="no input has question, nor any other field"):
        pool_of([save(tmp_path / "spans.jsonl", [root, span])], "trajectories")


def test_the_tool_with_which_a_react_ends_is_no_call_of_a_draft_nor_of_a_scored_run(tmp_path: Path) -> None:
    if not hasattr(dspy, "ReActV2"):
        pytest.skip("this DSPy has no ReActV2")

    def read(id: int) -> str:
        return "Delft"

    calls = [("read", {"id": 1}), ("submit", {"answer": "Delft"})]
    listed = [json.dumps({"tool_calls": [{"name": name, "args": args}]}) for name, args in calls]
    gold = [dspy.Example(id="a", question="where", calls=[{"name": "read", "args": {"id": 1}}]).with_inputs("question")]
    program = dspy.ReActV2("question -> answer", tools=[read], max_iters=1)
    lm = DummyLM([{"next_thought": "on", "tool_calls": text} for text in listed])
    run = goldassay.evaluate(program, gold, Metric([CallF1(), Conduct()]), folder=tmp_path / "run", lm=lm)
    assert (run.values["call_f1"], run.values["finished"]) == (1.0, 0.0)
    (record,) = draft(pool_of([tmp_path / "run"], "trajectories")).records
    (answer,) = record["suggestions"].values()
    assert [call.name for call in trajectory(answer).calls] == ["read"]
    assert not trajectory(answer).finished

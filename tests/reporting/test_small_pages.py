"""From traces and runs to gold: drafts, the page that corrects them by keyboard, and what was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

import goldassay
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import read, write
from goldassay.gold.agreement import agree_files
from goldassay.reporting.pages import correcting
from goldassay.running.logs import draft

Open = Callable[..., Any]
TEXTS = ["When do you open?", "Thank you!", "The lift is broken", "key sk-abcdef123456 leaked"]
OURS = ["question", "praise", "complaint", "praise"]
THEIRS = ["question", "praise", "praise", "complaint"]
STYLES: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "openinference": ("input.value", "output.value", lambda label: json.dumps({"label": label})),
    "mlflow": ("mlflow.spanInputs", "mlflow.spanOutputs", lambda label: json.dumps({"label": label})),
    "gen_ai": ("gen_ai.prompt", "gen_ai.completion", str),
}


def otlp(labels: list[str], style: str) -> dict[str, Any]:
    """An export of traces: a root span without content, and a child that was asked; one call failed."""
    input_key, output_key, written = STYLES[style]

    def span(trace: int, name: str, parent: str, about: dict[str, str], code: int = 1) -> dict[str, Any]:
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]
        ids = {"traceId": f"{trace:032x}", "spanId": name, "parentSpanId": parent, "startTimeUnixNano": str(trace)}
        return {**ids, "name": name, "attributes": pairs, "status": {"code": code}}

    spans = []
    for trace, (text, label) in enumerate(zip(TEXTS, labels, strict=True)):
        text = text if style == "gen_ai" else json.dumps({"text": text})
        spans += [
            span(trace, "child", "root", {input_key: text, output_key: written(label)}),
            span(trace, "root", "", {}),
        ]
    spans.append(span(99, "broken", "", {input_key: '{"text": "x"}', output_key: "{}"}, code=2))
    service = [{"key": "service.name", "value": {"stringValue": f"desk-{style}"}}]
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"spans": spans}]}]}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("lines", [False, True])
def test_traces_become_gold_with_suggestions(tmp_path: Path, style: str, lines: bool) -> None:
    file = tmp_path / ("traces.jsonl" if lines else "traces.json")
    content = json.dumps(otlp(OURS, style))
    file.write_text(f"{content}\n{json.dumps({'resourceSpans': []})}\n" if lines else content, encoding="utf-8")
    fields = {"text": "input", "label": "output"} if style == "gen_ai" else None
    drafts = draft([file], "classification", map=fields)
    assert (drafts.by, drafts.outputs) == ("random", ["label"])
    texts = {record["text"]: record["label"] for record in drafts.records}
    assert texts == dict(zip([*TEXTS[:3], "key [hidden] leaked"], OURS, strict=True))
    assert {*drafts.records[0]["meta"]} >= {"suggested_by", "suggestion"}
    assert drafts.records[0]["meta"]["suggested_by"] == [f"desk-{style}"]


def test_traces_of_mlflow_are_whole_without_assessments(tmp_path: Path) -> None:
    text = "a long letter " * 100  # MLflow cuts what stands in the trace's metadata
    sides = {"Inputs": json.dumps({"text": text}), "Outputs": '{"label": "praise"}'}
    about = {f"mlflow.trace{side}": content[:250] for side, content in sides.items()}
    whole = {f"mlflow.span{side}": content for side, content in sides.items()}
    spans = [{"parent_span_id": None, "attributes": whole}]
    info = {"trace_id": "tr-1", "state": "OK", "trace_metadata": about, "tags": {}}
    (tmp_path / "traces.json").write_text(json.dumps([{"info": info, "data": {"spans": spans}}]), encoding="utf-8")
    (record,) = draft([tmp_path / "traces.json"], "classification").records
    assert (record["text"], record["label"]) == (text, "praise")


def run_of(folder: Path, labels: list[str]) -> Path:
    """A run folder in which every text has a stratum."""
    answers = dict(zip(TEXTS, labels, strict=True))
    gold = [
        dspy.Example(id=str(at), text=text, label="x", strata={"desk": "ab"[at % 2]}).with_inputs("text")
        for at, text in enumerate(TEXTS)
    ]

    def program(text: str) -> Any:
        return dspy.Prediction(label=answers[text])

    goldassay.evaluate(program, gold, lambda gold, pred: gold.label == pred.label, folder=folder)
    return folder


def test_what_systems_answer_differently_comes_first(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, labels) for name, labels in (("a", OURS), ("b", THEIRS), ("c", OURS))]
    drafts = draft(runs, "classification", n=2)
    assert drafts.by == "disagreement"
    assert {record["text"] for record in drafts.records} == {TEXTS[2], "key [hidden] leaked"}
    first = next(record for record in drafts.records if record["text"] == TEXTS[2])
    assert (first["label"], list(first["meta"]["other_answers"].values())) == ("complaint", [{"label": "praise"}])
    by_stratum = draft(runs[:1], "classification", n=2)
    assert by_stratum.by == "stratum"
    assert {record["strata"]["desk"] for record in by_stratum.records} == {"a", "b"}
    with pytest.raises(GoldassayError, match="no input has two answers that differ"):
        draft(runs[:1], "classification", by="disagreement")
    with pytest.raises(
        DataError, match=r'no column entities; there are id, text, label.*`map=\{"entities": "COLUMN"\}`'
    ):
        draft(runs[:1], "extraction", by="random")


def test_a_person_corrects_by_keyboard_and_the_changes_are_counted(tmp_path: Path, opened: Open) -> None:
    drafts = draft([run_of(tmp_path / "run", OURS)], "classification", by="random", seed=1)
    file = tmp_path / "page.html"
    file.write_text(correcting(drafts.records, "classification", drafts.outputs), encoding="utf-8")
    seen = opened(file)
    keys = seen.page.keyboard
    seen.page.wait_for_selector("html[data-ready=yes]")
    for theme in ("light", "dark"):
        if seen.page.evaluate("document.documentElement.dataset.theme") != theme:
            seen.page.click("#theme")
        sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
        violations = sync.Axe().run(seen.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:120]) for each in violations] == []
    seen.page.click("h1")
    keys.press("a")  # the first is right
    keys.press("e")  # the second is corrected; letters typed there are no commands
    keys.press("Control+A")
    keys.type("ask & <b>jk</b>")
    keys.press("Escape")
    keys.press("a")
    keys.press("s")
    keys.press("k")
    keys.press("k")
    assert seen.page.input_value("textarea") == "ask & <b>jk</b>"
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready=yes]")
    assert seen.page.inner_text("#progress") == "3 of 4 decided"
    with seen.page.expect_download() as download:
        seen.page.click("#export")
    download.value.save_as(tmp_path / "gold.jsonl")
    gold = read(tmp_path / "gold.jsonl", task="classification")
    ids = [record["id"] for record in drafts.records]
    assert [(record["id"], record["label"]) for record in gold] == [
        (ids[0], drafts.records[0]["label"]),
        (ids[1], "ask & <b>jk</b>"),
    ]
    result = agree_files([tmp_path / "gold.jsonl"], "classification")
    assert result.warnings[-1].startswith("1 of 2 suggestions were changed (50%)")
    assert seen.console == []


def test_label_studio_takes_the_suggestions_and_gives_the_labels_back(tmp_path: Path) -> None:
    drafts = draft([run_of(tmp_path / "run", OURS)], "classification", by="random")
    file = tmp_path / "tasks.json"
    write(file, drafts.records, format="label-studio", task="classification", side="pred")
    tasks = json.loads(file.read_text(encoding="utf-8"))
    for task in tasks:
        task["annotations"] = task.pop("predictions")
    tasks[0]["annotations"][0]["result"][0]["value"]["choices"] = ["other"]
    file.write_text(json.dumps(tasks), encoding="utf-8")
    result = agree_files([file], "classification", format="label-studio")
    assert result.warnings[-1].startswith("1 of ")

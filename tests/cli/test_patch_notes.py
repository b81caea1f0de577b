"""From notes to a proven patch: traces are read on the page, patches proposed, tested, proven by labels and applied."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.reviewing.conftest import Client, text_of
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.exceptions import GoldassayError
from goldassay.reviewing import review

Fields = dict[str, Any]
PROGRAM = '''
import dspy

class Sort(dspy.Module):
    """Takes a reminder for an invoice until its prompt tells of reminders; never knows a quote."""

    def __init__(self):
        super().__init__()
        self.sort = dspy.Predict(dspy.Signature("text: str -> label: str", "Sort the letters."))

    def forward(self, text):
        prompt = self.sort.signature.instructions + str(self.sort.demos)
        kind = text.split()[0]
        if kind == "reminder" and "reminder" not in prompt:
            kind = "invoice"
        return dspy.Prediction(label="letter" if kind == "quote" else kind)

program = Sort
'''
METRIC = """
from goldassay import Metric
from goldassay.measures import classification
metric = Metric(classification.Accuracy())
"""
KINDS = ["invoice"] * 5 + ["letter"] * 5 + ["reminder"] * 4 + ["quote"]
FOLDER = "traces.review"


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output or done.exception
    return done.stdout


def refused(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert isinstance(done.exception, GoldassayError), done.output or done.exception
    assert "\n" not in str(done.exception)
    return str(done.exception)


def save(name: str, rows: list[Fields]) -> Path:
    file = Path(name)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def letters(start: int, n: int) -> list[Fields]:
    rng = random.Random(start)
    return [{"id": f"t{at}", "text": f"{rng.choice(KINDS)} {text_of(at)}"} for at in range(start, start + n)]


def answered(row: Fields) -> str:
    kind = str(row["text"].split()[0])
    return {"reminder": "invoice", "quote": "letter"}.get(kind, kind)


def read_traces(folder: Path, *, correct: bool = True, notes: bool = True) -> None:
    """Read every trace of a draft: name what is wrong and, perhaps, correct it."""
    with review(folder, task="classification", question="errors", n=120) as page:
        client = Client(page.url)
        for item, _ in client.get("setup")["index"]:
            record = client.record(item)
            kind = record["fields"]["text"].split()[0]
            if record["suggestions"] and record["suggestions"][0]["value"]["label"] == kind:
                client.decide(item, value={"label": kind})
                continue
            note = f"A {kind} is a {kind}, not another letter." if notes else None
            mode = {"modes": [f"no {kind}"]} if kind in ("reminder", "quote") else {}
            value = {"value": {"label": kind}} if correct else {"good": False}
            client.decide(item, note=note, **mode, **value)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a program, and the traces of its first 400 letters, 120 of them read."""
    for file, text in (("programs/classification.py", PROGRAM), ("metrics/classification.py", METRIC)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    traces = [{**row, "label": answered(row)} for row in letters(0, 400)]
    read_traces(save("traces.jsonl", traces))
    return tmp_path


def body_of(folder: Path, name: str) -> Fields:
    body: Fields = yaml.safe_load((folder / f"{name}.yaml").read_text())
    return body


def label(draft: Path, slips: float = 0.0) -> Path:
    """Label what changed, without knowing which side is which; the mode of the other side is named."""
    rng = random.Random(1)
    with review(draft, task="classification") as page:
        client = Client(page.url)
        for item, _ in client.get("setup")["index"]:
            record = client.record(item)
            kind = record["fields"]["text"].split()[0]
            right = [each["key"] for each in record["suggestions"] if each["value"]["label"] == kind]
            if rng.random() < slips and record["suggestions"]:
                right = [rng.choice(["1", "2"])]
            if not record["suggestions"]:
                client.decide(item, value={"label": kind}, modes=[f"no {kind}"])
            else:
                client.decide(item, choice=right[0] if right else "neither", modes=[f"no {kind}"])
        folder = page.folder
    return folder


def test_from_notes_to_a_proven_patch(workspace: Path) -> None:
    listed = json.loads(run("patch", "propose", "classification", "--modes", FOLDER, "--json"))["patches"]
    assert {patch["mode"] for patch in listed} == {"no reminder", "no quote"}
    assert listed[0]["mode"] == "no reminder"  # the worst one
    assert {patch["proposer"] for patch in listed} == {"notes", "covering", "counter-examples"}
    rule = next(patch for patch in listed if patch["proposer"] == "notes" and patch["mode"] == "no reminder")
    assert rule["text"] == 'Mind "no reminder": A reminder is a reminder, not another letter.'
    run("patch", "test", "classification", "--modes", FOLDER)
    patches = workspace / "programs" / "patches" / "classification"
    body = body_of(patches, rule["id"])
    (effect,) = body["effects"]
    assert (body["status"], effect["split"], effect["n"]) == ("kept", "reviewed", 120 - len(rule["examples"]))
    assert effect["low"] > 0.1

    save("fresh.jsonl", letters(300, 500))
    words = ("patch", "test", "classification", rule["id"])
    drafted = json.loads(run(*words, "--inputs", "fresh.jsonl", "--no-review", "--json"))
    assert drafted["patch"] == rule["id"]
    draft = Path(drafted["draft"])
    rows = [json.loads(line) for line in draft.read_text().splitlines()]
    assert {row["sampling"]["question"] for row in rows} == {"compare"}
    read = {json.loads(line)["id"] for line in Path(FOLDER, "reviewed.jsonl").read_text().splitlines()}
    fresh = {row["id"] for row in letters(300, 500)} - read
    assert rows[0]["sampling"]["population"] == len(fresh)
    assert json.loads(run(*words, "--inputs", "fresh.jsonl", "--no-review", "--json")) == drafted  # nothing is lost
    assert "no decision" in refused(*words, "--review", Path(FOLDER))
    folder = label(draft, slips=0.05)
    proof = json.loads(run(*words, "--review", folder, "--json"))
    assert (proof["patch"]["status"], proof["verdict"]["proven"]) == ("proven", True)
    modes = {each["mode"]: each for each in proof["modes"]}
    assert modes["no reminder"]["high"] < 0
    assert not any(each["more_frequent"] for each in proof["modes"])
    body = body_of(patches, rule["id"])
    assert [effect["split"] for effect in body["effects"]] == ["reviewed", "labels"]
    assert "40 labels" in " ".join(run("patch", "list", "classification").split())
    assert "on labels: +0." in run("patch", "show", "classification", rule["id"])
    run("patch", "apply", "classification", rule["id"])
    run("patch", "revert", "classification", rule["id"])
    changes = [json.loads(line) for line in Path(FOLDER, "patches.jsonl").read_text().splitlines()]
    assert [(row["patch"], row["mode"], row["change"]) for row in changes] == [
        (rule["id"], "no reminder", "applied"),
        (rule["id"], "no reminder", "reverted"),
    ]

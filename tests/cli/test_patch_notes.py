"""From notes to a proven patch: traces are read on the page, patches proposed, tested, proven by labels and applied."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import dspy
import pytest
import yaml
from dspy.lm15 import Message, Response, TextPart, Usage
from tests.ext.labelling.review.conftest import Client, text_of
from tests.processes import Process
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.ext.labelling.review import review

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


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a program, and the traces of its first 400 letters, 120 of them read."""
    folder = tmp_path_factory.mktemp("template")
    for file, text in (("programs/classification.py", PROGRAM), ("metrics/classification.py", METRIC)):
        (folder / file).parent.mkdir()
        (folder / file).write_text(text)
    traces = [{**row, "label": answered(row)} for row in letters(0, 400)]
    with chdir(folder):
        read_traces(save("traces.jsonl", traces))
    return folder


@pytest.fixture
def workspace(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def body_of(folder: Path, name: str) -> Fields:
    body: Fields = yaml.safe_load((folder / f"{name}.yaml").read_text())
    return body


def label(draft: Path, slips: float = 0.0) -> Path:
    """Label what changed, without knowing which side is which; the mode of the other side is named."""
    with review(draft, task="classification") as page:
        folder = page.folder
        choose(Client(page.url), slips)
    return folder


def choose(client: Client, slips: float = 0.0) -> None:
    rng = random.Random(1)
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


def test_from_notes_to_a_proven_patch(workspace: Path) -> None:
    listed = json.loads(run("patch", "propose", "classification", FOLDER, "--json"))["patches"]
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
    drafted = json.loads(run(*words, "--unlabelled", "fresh.jsonl", "--no-review", "--json"))
    assert drafted["patch"] == rule["id"]
    draft = Path(drafted["draft"])
    rows = [json.loads(line) for line in draft.read_text().splitlines()]
    assert {row["sampling"]["question"] for row in rows} == {"compare"}
    read = {json.loads(line)["id"] for line in Path(FOLDER, "reviewed.jsonl").read_text().splitlines()}
    fresh = {row["id"] for row in letters(300, 500)} - read
    assert rows[0]["sampling"]["population"] == len(fresh)
    assert json.loads(run(*words, "--unlabelled", "fresh.jsonl", "--no-review", "--json")) == drafted  # nothing is lost
    label(draft, slips=0.05)
    Path("never.py").write_text("def metric(gold, pred):\n    return 0\n")
    again = (*words, "--unlabelled", "fresh.jsonl", "--no-review", "--json")
    measured = json.loads(run(*again, "--metric", "never.py"))
    assert measured["verdict"]["difference"] == 0  # a metric that is named measures the labels
    proof = json.loads(run(*again))
    assert (proof["patch"]["status"], proof["verdict"]["proven"]) == ("proven", True)
    modes = {each["mode"]: each for each in proof["modes"]}
    assert modes["no reminder"]["high"] < 0
    assert not any(each["more_frequent"] for each in proof["modes"])
    body = body_of(patches, rule["id"])
    assert [effect["split"] for effect in body["effects"]] == ["reviewed", "labels"]
    assert "40 labels" in " ".join(run("patch", "show", "classification").split())
    assert "on labels: +0." in run("patch", "show", "classification", rule["id"])
    run("patch", "apply", "classification", rule["id"])
    run("patch", "revert", "classification", rule["id"])
    changes = [json.loads(line) for line in Path(FOLDER, "patches.jsonl").read_text().splitlines()]
    assert [(row["patch"], row["mode"], row["change"]) for row in changes] == [
        (rule["id"], "no reminder", "applied"),
        (rule["id"], "no reminder", "reverted"),
    ]


def process(*words: object) -> Process:
    """The command as a process of its own, which Ctrl-C ends."""
    return Process(*words, env={"BROWSER": "true"})  # a browser that shows nothing


def address(process: Process) -> str:
    """The address that it prints."""
    lines = []
    while line := process.stderr.readline():
        lines.append(line)
        if match := re.search(r"http://\S+", line):
            return match[0]
    raise AssertionError("".join(lines))


@pytest.mark.nightly
def test_the_verdict_is_the_patchs_when_the_review_ends(workspace: Path) -> None:
    (rule, *_) = json.loads(run("patch", "propose", "classification", FOLDER, "--mode", "no reminder", "--json"))[
        "patches"
    ]
    save("fresh.jsonl", letters(400, 300))
    words = ("patch", "test", "classification", rule["id"], "--unlabelled", "fresh.jsonl", "--json")
    proof = process(*words)
    client = Client(address(proof))
    choose(client)
    client.post("end", {})
    done = proof.wait()
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert result["patch"]["status"] == "proven"
    assert body_of(workspace / "programs" / "patches" / "classification", rule["id"])["status"] == "proven"


@pytest.mark.nightly
def test_a_tuning_from_notes_is_proven_by_labels(workspace: Path) -> None:
    save("fresh.jsonl", letters(400, 300))
    words = ["tune", "classification", "--optimizer", "patches", "--modes", FOLDER, "--unlabelled", "fresh.jsonl"]
    words += ["--setting", "nearest=0", "--out"]
    drafted = json.loads(run(*words, "t", "--no-review", "--json"))
    assert drafted["kept"]["kept"]
    assert drafted["labels"]["draft"]["population"] == 300
    kept = [patch["id"] for patch in drafted["patches"] if patch["status"] in ("kept", "proven")]
    assert kept
    assert "verdict is on two systems" in refused("audit", "t", "--program", "classification", "--draft", Path(FOLDER))
    assert drafted["labels"]["file"] == "t/draft.jsonl"
    folder = label(Path("t/draft.jsonl"))
    audit = json.loads(run("audit", "t", "--program", "classification", "--draft", folder, "--json"))
    assert audit["verdict"] == "better"
    Path("right.py").write_text(
        "from goldassay import Metric\nmetric = Metric.of(lambda gold, pred: gold.label == pred.label, name='right')\n"
    )
    proof = process(*words, "u", "--metric", "right.py")
    client = Client(address(proof))
    choose(client)
    client.post("end", {})
    output = " ".join(proof.wait().stdout.split())
    assert "The program is proven by 40 labels." in output
    assert "after is better than before" in output
    assert "No failure mode is shown to have become more frequent." in output
    about = json.loads(Path("u", "tuning.json").read_text())
    assert about["proof"]["verdict"]["proven"]
    assert "] right, proven with 40 labels" in about["proof"]["sentences"][0]  # by the metric that was named


def test_errors_say_what_is_missing(workspace: Path) -> None:
    assert "--no-review needs --unlabelled" in refused("patch", "test", "classification", "--no-review")
    propose = ("patch", "propose", "classification")
    test = ("patch", "test", "classification")
    assert "--mode is for the folder of a review" in refused(*propose, "x", "--mode", "no quote")
    assert "elsewhere" in refused(*propose, "elsewhere")
    assert "did you mean 'no reminder'?" in refused(*propose, FOLDER, "--mode", "no remind")
    assert "is a review of classification, not of extraction" in refused(
        "patch", "propose", "programs/classification.py", "--task", "extraction", FOLDER
    )
    for name, options, message in (
        ("uncorrected", {"correct": False}, "no record of uncorrected.review has gold"),
        ("silent", {"correct": False, "notes": False}, "have no note and no corrected answer"),
    ):
        rows = [json.loads(line) for line in Path("traces.jsonl").read_text().splitlines()]
        wrong = [row for row in rows if row["label"] != row["text"].split()[0]]
        read_traces(save(f"{name}.jsonl", wrong[:20]), **options)
        words = (*test, "--modes") if options.get("notes", True) else propose
        assert message in refused(*words, f"{name}.review")
    right = [row for row in rows if row["label"] == row["text"].split()[0]]
    read_traces(save("right.jsonl", right[:20]))
    assert "no trace in right.review has a failure mode" in refused(*propose, "right.review")
    (rule, *_) = json.loads(run(*propose, FOLDER, "--json"))["patches"]
    assert "one patch at a time" in refused(*test, "--unlabelled", "traces.jsonl")
    read = [json.loads(line)["id"] for line in Path(FOLDER, "reviewed.jsonl").read_text().splitlines()]
    save("same.jsonl", [row for row in rows if row["id"] in read])
    assert "every input was read" in refused(*test, rule["id"], "--unlabelled", "same.jsonl")
    assert "takes the place of --gold" in refused("tune", "classification", "--modes", FOLDER, "--optimizer", "knn")
    shutil.move(FOLDER, "moved.review")
    applied = CliRunner().invoke(app, ["patch", "apply", "classification", rule["id"]])
    assert "does not say that" in applied.stderr
    shutil.move("moved.review", FOLDER)
    run("patch", "revert", "classification", rule["id"])
    (row,) = map(json.loads, Path(FOLDER, "patches.jsonl").read_text().splitlines())
    assert row["change"] == "reverted"


class Engine:
    """Says yes where a reminder is taken for an invoice."""

    def complete(self, request: Any) -> Any:
        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        verdict = "yes" if re.search(r"reminder .*\binvoice\b", turns[-1].replace("\n", " ")) else "no"
        text = f"[[ ## reason ## ]]\nr\n[[ ## verdict ## ]]\n{verdict}\n[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def test_aligned_judges_tell_how_modes_change_before_the_first_label(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = dspy.LM("scripted/judge", engine=Engine(), cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)
    judges = Path(FOLDER, "judges")
    judges.mkdir()
    youden = {"value": 0.8, "low": 0.7, "high": 0.9}
    for name, better in (("no reminder", True), ("no letter", True), ("no quote", False)):
        saved = {"mode": name, "description": "", "demos": [], "better_than_chance": better, "youden": youden}
        words = f"{name.replace(' ', '-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        (judges / f"{words}.json").write_text(json.dumps(saved))
    (rule, *_) = json.loads(run("patch", "propose", "classification", FOLDER, "--json"))["patches"]
    save("fresh.jsonl", letters(400, 300))
    share = sum(row["text"].startswith("reminder") for row in letters(400, 300)) / 300
    command = ("patch", "test", "classification", rule["id"], "--unlabelled", "fresh.jsonl", "--no-review", "--json")
    drafted = json.loads(run(*command, "--judge-lm", "scripted/judge"))
    changes = {each["mode"]: each for each in drafted["modes"]}
    assert set(changes) == {"no reminder", "no letter"}
    assert changes["no reminder"]["value"] == pytest.approx(-share / 0.8)  # what the judge misses is put back
    assert changes["no reminder"]["low"] < -share / 0.8 < changes["no reminder"]["high"] < 0
    body = body_of(workspace / "programs" / "patches" / "classification", rule["id"])
    assert (body["status"], body["effects"][-1]["split"]) == ("kept", "judged")
    label(Path(drafted["draft"]))
    proof = json.loads(run(*command))
    assert {each["mode"]: each["by"] for each in proof["modes"]} == {
        "no reminder": "the review",
        "no letter": "its judge",
    }

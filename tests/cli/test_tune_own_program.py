"""``tune`` and ``patch`` on a user's own program: a file of any name, two predictors, a plain DSPy metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError, GoldassayError, LeakError
from goldassay.cli import app
from goldassay.ext.labelling.drafts import Pool, draft
from goldassay.ext.labelling.review import review
from goldassay.ext.labelling.review.journal import Decision
from goldassay.gold import load
from goldassay.gold.splits import split

PROGRAM = """
import dspy
from pydantic import BaseModel
from goldassay.text.spans import locate

class Mention(BaseModel):
    text: str
    type: str

class Steps(dspy.Module):
    def __init__(self):
        super().__init__()
        self.plan = dspy.Predict("text: str -> plan: str")
        signature = dspy.Signature("text: str, plan: str -> mentions", "Find names.")
        self.extract = dspy.Predict(signature.with_updated_fields("mentions", type_=list[Mention]))

    def forward(self, text):
        found = self.extract(text=text, plan=self.plan(text=text).plan).mentions
        places = locate(text, [one.text for one in found])
        return dspy.Prediction(entities=[
            {"start": at and at[0], "end": at and at[1], "type": one.type, "text": one.text}
            for one, at in zip(found, places)
        ])

    def to_demo(self, example):
        return {"plan": "names", "mentions": [{"text": e["text"], "type": e["type"]} for e in example["entities"]]}

steps = Steps()
"""
METRIC = """
import dspy
def score(gold, pred, trace=None):
    wanted = {(e["start"], e["end"], e["type"]) for e in gold.entities}
    given = {(e["start"], e["end"], e["type"]) for e in pred.entities}
    lacking = sorted(wanted - given)
    said = " ".join(f"{gold.text[a:b]} is {kind}." for a, b, kind in lacking)
    return dspy.Prediction(score=len(wanted & given) / max(1, len(wanted | given)), feedback=said)
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_gold: list[Any], learner: Any) -> Path:
    """A folder with the program, the metric and forty texts; every model is the scripted one."""
    for file, text in (("programs/readers.py", PROGRAM), ("metrics/mine.py", METRIC)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    gold = tmp_path / "gold" / "names" / "extraction.jsonl"
    gold.parent.mkdir(parents=True)
    splits = ["train"] * 12 + ["dev"] * 16 + ["test"] * 12
    rows = [{**example.toDict(), "split": split} for example, split in zip(names_gold, splits, strict=True)]
    gold.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)
    return tmp_path


OWN = ["programs/readers.py:steps", "--task", "extraction", "--metric", "metrics/mine.py:score", "--gold", "names"]


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output or done.exception
    return done.output


def test_a_program_of_two_steps_is_planned_tuned_and_proven(workspace: Path, learner: Any) -> None:
    planned = json.loads(run("tune", *OWN, "--optimizer", "patches", "--plan", "--json").strip().splitlines()[-1])
    assert planned["pays"]
    assert planned["measured"] == 16
    output = run("tune", *OWN, "--optimizer", "patches", "--setting", "nearest=0", "--out", "t")
    assert "The program is proven by one look at test" in " ".join(output.split())
    about = json.loads((workspace / "t" / "tuning.json").read_text())
    assert about["verdict"] == "proven on test"
    state = json.loads((workspace / "t" / "state.json").read_text())
    assert state["extract"]["demos"]  # the step whose field is wrong has demonstrations that fit it
    assert set(state["extract"]["demos"][0]) >= {"text", "plan", "mentions"}
    (patterns, *_) = json.loads((workspace / "t" / "patterns.json").read_text())
    assert {pattern["kind"] for pattern in patterns} == {"low_score"}  # what the metric said in words


def test_a_gain_that_is_not_proven_says_what_to_label(workspace: Path) -> None:
    inputs = [{"id": f"u{n}", "text": f"near Gouda number {n}"} for n in range(60)]
    Path("inputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in inputs))
    words = ("tune", *OWN, "--optimizer", "labeled", "--limit", "4", "--unlabelled", "inputs.jsonl")
    output = " ".join(run(*words, "--out", "t").split())
    assert "To settle it: before and after differ on" in output
    drafted = [json.loads(line) for line in Path("t/draft.jsonl").read_text().splitlines()]
    assert {row["sampling"]["question"] for row in drafted} == {"compare"}
    assert all("entities" not in row for row in drafted)
    body = json.loads(run(*words, "--out", "u", "--json").strip().splitlines()[-1])
    assert body["labels"]["draft"]["population"] == 60
    Path("none.jsonl").write_text("")
    output = run(*words[:-1], "none.jsonl", "--out", "v")
    assert "no draft was written" in output
    assert "tuned with labeled" in output  # what was paid for is shown


@pytest.mark.nightly
def test_a_tuning_that_was_killed_goes_on(workspace: Path, learner: Any) -> None:
    run("tune", *OWN, "--optimizer", "patches", "--out", "t")
    whole, calls = (workspace / "t" / "state.json").read_text(), learner.calls
    about = json.loads((workspace / "t" / "tuning.json").read_text())
    (workspace / "t" / "tuning.json").write_text(json.dumps({**about, "status": "running"}))  # as kill -9 leaves it
    journal = workspace / "t" / "measured.jsonl"
    lines = journal.read_text().splitlines()[:30]
    journal.write_text("\n".join([*lines, lines[0][:40]]))
    learner.calls = 0
    run("tune", *OWN, "--optimizer", "patches", "--resume", "t")
    assert learner.calls == calls - 2 * len(lines)  # two calls an example
    assert (workspace / "t" / "state.json").read_text() == whole


def test_patches_of_an_own_program_have_a_folder_of_their_own_and_show_the_prompt_as_sent(workspace: Path) -> None:
    patterns = run("eval", *OWN, "--split", "train", "--json").strip().splitlines()[-1]
    folder = json.loads(patterns)["folder"]
    named = ["programs/readers.py:steps", "--task", "extraction"]
    output = run("patch", "propose", *named, folder)
    files = sorted((workspace / "programs" / "patches" / "readers-steps").glob("*.yaml"))
    assert files or "No errors" in output
    for file in files[:1]:
        assert "[[ ## completed ## ]]" in run("patch", "show", named[0], file.stem)


def test_dspys_own_names_and_objects_are_optimizers(workspace: Path) -> None:
    assert "tuned with BootstrapFewShot" in run("tune", *OWN, "--optimizer", "BootstrapFewShot", "--out", "b")
    assert "tuned with labeled" in run("tune", *OWN, "--optimizer", "LabeledFewShot", "--out", "l")
    done = CliRunner().invoke(app, ["tune", *OWN, "--optimizer", "Magic"])
    assert isinstance(done.exception, GoldassayError)
    assert "and DSPy's own names" in str(done.exception)


def test_an_optimizer_object(names_program: Any, names_gold: list[Any], learner: Any, capsys: Any) -> None:
    from goldassay import Metric
    from goldassay.measures import extraction
    from goldassay.tuning import tune

    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    gold = {"train": names_gold[:20], "dev": names_gold[20:32], "test": names_gold[32:]}
    mine = dspy.BootstrapFewShot(metric=lambda *_: 1 / 0, max_labeled_demos=2)
    tuned = tune(names_program, gold, Metric(extraction.SpanF1()), mine, lm=lm, progress=False)
    assert tuned.optimizer == "BootstrapFewShot"
    assert tuned.dev.after.value > tuned.dev.before.value
    printed = capsys.readouterr()
    assert printed.out == ""  # neither a line of DSPy
    assert "%|" not in printed.err  # nor a bar


def test_a_program_that_shows_what_it_is_measured_on_is_named(workspace: Path, learner: Any) -> None:
    rows = [json.loads(line) for line in (workspace / "gold/names/extraction.jsonl").read_text().splitlines()]
    output = next(row for row in rows if row["split"] == "dev")
    demos = f"steps.extract.demos = [dspy.Example(text={output['text']!r}, plan='names', mentions=[])]\n"
    (workspace / "programs" / "readers.py").write_text(PROGRAM + demos)
    for command in (["tune", "--optimizer", "patches"], ["tune", "--optimizer", "labeled"], ["tune", "--plan"]):
        refused = CliRunner().invoke(app, [command[0], *OWN, *command[1:]])
        assert isinstance(refused.exception, LeakError)
        assert f"record {output['id']}: the program has this dev example exactly" in str(refused.exception)
    assert learner.calls == 0
    done = CliRunner().invoke(app, ["eval", *OWN, "--split", "dev", "--json"])
    warning = json.loads(done.stdout)["warnings"][0]
    assert f"1 of 16 examples is also in the program's prompts: {output['id']}, exactly" in warning
    folder = json.loads(done.stdout)["folder"]
    compared = CliRunner().invoke(app, ["compare", folder, folder])
    assert warning in " ".join(compared.stderr.split())
    other = CliRunner().invoke(app, ["eval", *OWN, "--split", "test", "--json"])
    assert "program's prompts" not in other.output


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("compare", "train 28, dev 12"),
        pytest.param("level", "train 28, dev 6, test 6", marks=pytest.mark.nightly),
        pytest.param("tuning", "", marks=pytest.mark.nightly),
    ],
)
def test_the_exported_gold_of_a_review_is_tuned_on_as_it_is(
    workspace: Path, names_gold: list[Any], question: str, sides: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Gold without splits is split here; a test side is made only where it tells a value."""
    gold = {example.id: example.toDict() for example in names_gold[:40]}
    inputs = [{"id": name, "text": record["text"]} for name, record in gold.items()]
    answers = {
        "one": [{"id": name, "entities": record["entities"]} for name, record in gold.items()],
        "two": [{"id": name, "entities": []} for name in gold],
    }
    systems = answers if question == "compare" else {"one": answers["one"]}
    chosen = draft(Pool.of("extraction", inputs, systems), question, n=40)
    Path("draft.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in chosen.records))
    with review("draft.jsonl") as opened:
        for number, record in enumerate(chosen.records):
            value = {"entities": gold[record["id"]]["entities"]}
            decision = Decision(decision=str(number), item=str(number), kind="label", value=value)
            opened.session.decide(decision, "ann", "")
        opened.export()
    for place in ("draft.review", "draft.review/gold.jsonl"):
        words = (*OWN[:-1], place, "--optimizer", "labeled", "--out", place.replace("/", "-") + "-tuned")
        caplog.clear()
        run("tune", *words[:-2], "--plan")
        assert [f"has no splits: {sides} at random" in text for text in caplog.messages] == ([True] if sides else [])
        run("tune", *words)
    about = json.loads((workspace / "draft.review-tuned" / "tuning.json").read_text())
    assert (about["test"] is not None) == (question == "level")


def test_a_python_tuning_splits_gold_as_the_command_does(workspace: Path, names_gold: list[Any]) -> None:
    rows = [{key: value for key, value in example.toDict().items() if key != "split"} for example in names_gold]
    Path("whole.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    part = load("whole.jsonl", task="extraction").extraction
    assert {name: len(side) for name, side in part.for_tuning(3).items()} == split(rows, seed=3).sizes
    with pytest.raises(DataError, match="tuning needs train and dev; there are odd"):
        load([{**row, "split": "odd"} for row in rows], task="extraction").extraction.for_tuning()

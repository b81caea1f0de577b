"""``goldassay judge …`` from the command line, with a scripted model in place of a real one."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app


class Engine:
    """Says yes to a good answer with 0.85, to a bad one with 0.20, whatever else it is asked: the first label."""

    calls = 0

    def complete(self, request: Any) -> Any:
        Engine.calls += 1
        turn = [p.text for m in request.messages for p in m.parts if isinstance(p, TextPart)][-1]
        question, warm = turn.split("Respond with")[0], request.config.temperature
        lucky = random.Random(f"{question} {warm and request.model}").random()
        if "[[ ## criterion ## ]]" in question:
            fields = {"reason": "r", "verdict": "yes" if lucky < (0.85 if "good" in question else 0.2) else "no"}
        elif "[[ ## rubric ## ]]" in question:
            fields = {"reason": "r", "verdict": "“3”" if "1: the worst" in question else "full"}
        elif "[[ ## claim ## ]]" in question:
            fields = {"quote": "", "verdict": "not_stated"}
        else:
            fields = {"reason": "r", "verdict": "first" if "[[ ## first ## ]]" in question else "full"}
        text = "".join(f"[[ ## {k} ## ]]\n{v}\n" for k, v in fields.items()) + "[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "goldassay.models.lm.models.resolve",
        lambda name=None, **_: dspy.LM(name or "scripted/judge", engine=Engine(), cache=False),
    )
    monkeypatch.setenv("COLUMNS", "80")


def run(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["judge", *(str(arg) for arg in args)])
    assert result.exit_code == code, (result.output, result.exception)
    assert "--json" in args or max(map(len, result.stdout.splitlines()), default=0) <= 80
    return result.stdout


def refused(*args: object) -> str:
    result = CliRunner().invoke(app, ["judge", *(str(arg) for arg in args)])
    assert isinstance(result.exception, GoldassayError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def words(n: int) -> str:
    """Ten words that no other number has nearly the same."""
    return " ".join(hashlib.sha256(f"{n} {k}".encode()).hexdigest()[:6] for k in range(10))


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    rng, rows = random.Random(5), []
    for n in range(300):
        good = rng.random() < 0.4
        inputs = {"criterion": "c", "question": "q", "answer": f"{'good' if good else 'bad'} {words(n)}"}
        rows.append({"id": f"i{n}", "inputs": inputs, "label": ("yes" if good else "no") if n < 200 else None})
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_align_prints_what_the_judge_is_worth(labels: Path, tmp_path: Path) -> None:
    call = ("eval", labels, "--judge", "criterion", "--store", tmp_path / "store.jsonl")
    output = run(*call, "--threads", 2)
    for part in ("sensitivity", "kappa", "people (rows)", "corrected (PPI++)"):
        assert part in output
    body = json.loads(run(*call, "--json"))["agreement"]
    assert body["sensitivity"]["low"] <= 0.85 <= body["sensitivity"]["high"]
    assert body["specificity"]["low"] <= 0.80 <= body["specificity"]["high"]
    assert body["corrected"]["corrected"]["low"] <= 0.4 <= body["corrected"]["corrected"]["high"]
    assert (body["n"], body["unlabelled"], body["annotators"]) == (200, 100, 1)
    assert body["judge"] == "scripted/judge@1"


def test_the_model_that_is_asked_by_default_is_named(labels: Path) -> None:
    call = ["judge", "eval", str(labels), "--judge", "criterion", "--limit", "20"]
    silent = CliRunner().invoke(app, call)
    assert "no --lm is named, so scripted/judge@1 is asked" in " ".join(silent.stderr.split())
    named = CliRunner().invoke(app, [*call, "--lm", "scripted/judge"])
    assert named.exit_code == 0
    assert "is asked" not in named.stderr


def test_eval_writes_verdicts_that_align_takes_without_a_model(labels: Path, tmp_path: Path) -> None:
    out = tmp_path / "judged.jsonl"
    output = run("eval", labels, "--judge", "criterion", "--out", out, "--store", tmp_path / "store.jsonl")
    assert "300 calls" in output
    assert "corrected (PPI++)" in output
    Engine.calls = 0
    again = json.loads(
        run("eval", labels, "--judge", "criterion", "--store", tmp_path / "store.jsonl", "--limit", 250, "--json")
    )
    assert (again["n"], again["calls"], Engine.calls) == (250, 0, 0)  # all from the store
    body = json.loads(run("align", out, "--judge", "criterion", "--json"))["agreement"]  # the name that it had
    assert (body["judge"], Engine.calls) == ("verdicts of the file", 0)
    stored = json.loads(run("eval", labels, "--judge", "criterion", "--store", tmp_path / "store.jsonl", "--json"))
    assert body["confusion"] == stored["agreement"]["confusion"]


def test_plan_names_items_and_origin_chooses_the_correction(labels: Path, tmp_path: Path) -> None:
    out = tmp_path / "judged.jsonl"
    run("eval", labels, "--judge", "criterion", "--out", out)
    chosen = json.loads(run("eval", out, "--judge", "criterion", "--labels", 20, "--json"))["next"]
    assert (len(set(chosen["items"])), sum(chosen["verdicts"].values())) == (20, 20)
    assert all(int(name[1:]) >= 200 for name in chosen["items"])  # the others have a label
    assert "Label next: i" in " ".join(run("eval", out, "--judge", "criterion", "--labels", 3).split())
    both = [
        json.loads(run("eval", out, "--judge", "criterion", "--origin", how, "--json"))
        for how in ("random", "elsewhere")
    ]
    assert [each["corrected"]["chosen"]["method"] for each in both] == ["ppi++, wilson", "rogan-gladen"]
    for how, result in zip(("random", "elsewhere"), both, strict=True):
        text = " ".join(run("eval", out, "--judge", "criterion", "--origin", how).split())
        assert "The share to report" in text
        share = result["corrected"]["chosen"]
        assert f"the share is {share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}]" in text


def test_samples_and_panels(labels: Path, tmp_path: Path) -> None:
    some = tmp_path / "some.jsonl"
    some.write_text("\n".join(labels.read_text(encoding="utf-8").splitlines()[:40]), encoding="utf-8")
    members = ("--lm", "scripted/judge", "--lm", "scripted/judge", "--lm", "scripted/other", "--lm", "scripted/other")
    three = ("--judge", "criterion", *members)
    body = json.loads(run("eval", some, *three, "--json"))
    assert body["judge"].startswith("panel(scripted/judge@1, scripted/judge@1#1, scripted/other@1, ")
    assert body["judge"].endswith("; majority)")
    output = run("eval", some, *three)
    assert "160 calls" in output  # 40 items, 2 models, 2 samples


def test_audit_prints_marks_and_gates() -> None:
    output = run("audit", "--limit", 6, "--gate", code=1)
    for part in ("order of a pair", "0.0000 [0.000, 0.390]", "FAIL", "Not passed."):
        assert part in output
    body = json.loads(run("audit", "--limit", 4, "--json"))
    assert [(check["passed"], check["rate"]["n"]) for check in body["checks"] if check["name"] == "echo"] == [
        (False, 4)
    ]


def test_only_the_test_split_where_there_is_one(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "criterion": "c", "question": "q", "answer": "good", "label": n % 2, "split": s}
        for n, s in enumerate(["train", "test", "test", "dev"])
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert json.loads(run("eval", file, "--judge", "criterion", "--json"))["agreement"]["n"] == 2
    word = json.loads(run("eval", file, "--judge", "criterion", "--split", "train", "--json"))["agreement"]
    assert word["n"] == 1


def test_tune_judge(labels: Path, tmp_path: Path) -> None:
    words = ["tune", "--judge", "criterion", "--gold", str(labels), "--limit", "60", "--optimizer", "labeled", "--out"]
    assert "balanced_ac" in CliRunner().invoke(app, [*words, str(tmp_path / "tuned")], catch_exceptions=False).output
    tuned = ("--judge", tmp_path / "tuned", "--json")
    body = json.loads(run("eval", labels, *tuned, "--limit", 200))["agreement"]
    assert body["n"] == 200 - 42  # 60 were tuned with: 24 to train, 18 to choose, 18 held out
    seen = tmp_path / "seen.jsonl"
    learnt = set(json.loads((tmp_path / "tuned" / "judge.json").read_text(encoding="utf-8"))["learnt"])
    rows = [row for row in labels.read_text(encoding="utf-8").splitlines() if json.loads(row)["id"] in learnt]
    seen.write_text("\n".join(rows), encoding="utf-8")
    assert "the judge was tuned on every item here" in refused("eval", seen, *tuned)


def test_tune_takes_a_judge_in_place_of_a_program(labels: Path, tmp_path: Path) -> None:
    options = ["--optimizer", "labeled", "--limit", "60", "--out", str(tmp_path / "tuned"), "--json"]
    done = CliRunner().invoke(app, ["tune", "--judge", "criterion", "--gold", str(labels), *options])
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.stdout)["optimizer"] == "labeled"
    assert set(json.loads(done.stdout)["dev"]["after"]) == {"balanced_accuracy", "accuracy"}
    for both in (["extraction", "--judge", "criterion"], []):
        refusal = CliRunner().invoke(app, ["tune", *both]).exception
        assert isinstance(refusal, GoldassayError)
        assert "tune takes either a program, or --judge" in str(refusal)


def test_a_rubric_of_ones_own(tmp_path: Path) -> None:
    levels = tmp_path / "levels.yaml"
    levels.write_text("none: says nothing\nsome: says a part\nfull: says all\n", encoding="utf-8")
    file = tmp_path / "labels.csv"
    file.write_text("id,question,answer,label\n1,q,a,full\n2,q,b,some\n3,q,c,\n", encoding="utf-8")
    body = json.loads(run("eval", file, "--judge", levels, "--json"))["agreement"]
    assert (body["question"], body["positive"], body["n"]) == ("rubric", "full", 2)  # the engine says full
    assert body["confusion"]["some"]["full"] == 1
    assert run("eval", file, "--judge", levels).count("mean grade") == 1


def test_a_rubric_is_tuned_and_its_levels_are_kept(tmp_path: Path) -> None:
    file, fresh, out = tmp_path / "grades.csv", tmp_path / "fresh.csv", tmp_path / "tuned"
    rows = [f"{n},{words(n)},{words(1000 + n)},{1 + n % 3}" for n in range(90)]
    file.write_text("nr,question,answer,human\n" + "\n".join(rows) + "\n", encoding="utf-8")
    fresh.write_text("id,question,answer,label\nx,q,a,3\ny,q,b,1\n", encoding="utf-8")
    command = ["tune", "--judge", "1-3", "--gold", file, "--map", "label=human,id=nr"]
    command += ["--optimizer", "labeled", "--setting", "k=4", "--out", out]
    body = CliRunner().invoke(app, [str(word) for word in command])
    assert body.exit_code == 0, (body.output, body.exception)
    about = json.loads((out / "judge.json").read_text(encoding="utf-8"))
    assert (about["question"], list(about["levels"])) == ("rubric", ["1", "2", "3"])
    assert len(json.loads((out / "state.json").read_text(encoding="utf-8"))["judge"]["demos"]) == 4
    beside = json.loads(run("eval", fresh, "--judge", out, "--json"))["agreement"]
    assert beside["confusion"]["1"]["3"] == 1  # the engine says 3
    assert "the audit asks whether claims are supported" in refused("audit", "--judge", out, "--limit", 1)
    again = CliRunner().invoke(app, ["tune", "--judge", str(out), "--gold", str(file)])
    assert "is a tuned judge; tune --judge takes the question" in str(again.exception)


def test_options_for_programs_alone_are_refused_with_a_judge(labels: Path) -> None:
    for option in (("--metric", "m.py"), ("--format", "x"), ("--plan",), ("--no-review",), ("--modes", "x")):
        body = CliRunner().invoke(app, ["tune", "--judge", "criterion", "--gold", str(labels), *option])
        assert isinstance(body.exception, GoldassayError)
        assert f"takes no {option[0]}" in str(body.exception)


@pytest.mark.parametrize(("verdicts", "says"), [(("yes", "no"), "needs --lm"), ((0.7, 0.2), "is not for numbers")])
def test_eval_refuses_options_of_asking_if_the_file_has_the_verdicts(
    tmp_path: Path, verdicts: tuple[object, ...], says: str
) -> None:
    file = tmp_path / "judged.jsonl"
    inputs = {"criterion": "c", "question": "q", "answer": "a"}
    rows = [{"id": str(n), **inputs, "label": verdict, "verdict": verdict} for n, verdict in enumerate(verdicts)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for option in (("--budget", "calls=5"), ("--store", tmp_path / "s"), ("--threads", "2")):
        assert f"{option[0]} {says}" in refused("eval", file, "--judge", "criterion", *option)
    if says == "is not for numbers":
        assert "--split is not for numbers" in refused("eval", file, "--judge", "criterion", "--split", "test")


def test_refusals(labels: Path, tmp_path: Path) -> None:
    assert "no question 'beauty'" in refused("eval", labels, "--judge", "beauty")
    assert "no input 'text'; support asks for text, claim" in refused("eval", labels)
    Engine.calls = 0
    assert "--origin is one of unknown, random" in refused("eval", labels, "--judge", "criterion", "--origin", "x")
    assert Engine.calls == 0
    assert "criterion has no label 'good'" in refused("eval", labels, "--judge", "criterion:good")
    assert "no tuned judge here" in refused("eval", labels, "--judge", tmp_path)
    same = tmp_path / "same.jsonl"
    row = {"criterion": "c", "question": "q", "answer": "a", "label": "yes"}
    same.write_text("".join(json.dumps({**row, "id": str(n)}) + "\n" for n in range(9)), encoding="utf-8")
    few = CliRunner().invoke(app, ["tune", "--judge", "criterion", "--gold", str(same), "--out", str(tmp_path / "x")])
    assert "9 items with a label are too few for train, dev and test" in str(few.exception)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    assert "the file is empty" in refused("eval", empty)

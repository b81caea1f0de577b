"""``judge eval --mode`` and ``gold modes --lm``, on a review that a script labelled and a scripted model."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.ext.labelling.mode_judges import load_judge
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision
from goldassay.ext.labelling.review.session import Session, all_traces, reviewed_traces
from goldassay.judges.judge import Judge

MODE = "archive as museum"
N = 120


class Engine:
    """Finds archives that are called museums, except with the model's name ``same``, and names what notes say."""

    def complete(self, request: Any) -> Any:
        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        question = turns[-1].split("Respond with")[0]
        if "[[ ## note ## ]]" in question:
            fields = {"kind": MODE.upper() if "archive" in question.split("[[ ## note ## ]]")[1] else "wrong  language"}
        else:
            wrong = "Archive" in question and "museum" in question
            fields = {"verdict": "yes" if wrong and "same" not in request.model else "no"}
        text = "".join(f"[[ ## {name} ## ]]\n{value}\n" for name, value in fields.items()) + "[[ ## completed ## ]]"
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A review of 60 of 120 traces; every third is an archive that was called a museum."""
    monkeypatch.chdir(tmp_path)
    kinds = ["Archive" if number % 3 == 0 else "Museum" for number in range(N)]
    texts = [{"id": f"t{n}", "text": f"{kind} of {n * 7919 % 997}"} for n, kind in enumerate(kinds)]
    answers = [{"id": f"t{n}", "label": "museum"} for n in range(N)]
    for name, rows in (("texts", texts), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    review = Folder.open([Path("texts.jsonl"), Path("answers.jsonl")], "classification", question="errors", n=60)
    with closing(Session(review)) as session:
        for place, record in enumerate(review.records):
            wrong = "Archive" in record["text"]
            modes = [MODE] if wrong and place > 2 else []
            note = {"note": "an archive is called a museum"} if wrong else {}
            value = {"label": "archive" if wrong else "museum"}
            decision = {"decision": str(uuid.uuid4()), "item": str(place), "kind": "label", "value": value}
            session.decide(Decision.model_validate({**decision, **note, "modes": modes}), "ann", "")
    return review.path


def run(*args: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_a_judge_is_measured_corrects_the_share_and_is_kept(folder: Path) -> None:
    result = json.loads(run("judge", "eval", folder, "--mode", MODE, "--lm", "scripted/judge", "--json").stdout)
    assert result["better_than_chance"]
    assert result["traces"] == N
    assert result["unseen"] == 60 - 6
    assert result["sensitivity"]["value"] == 1.0
    assert result["share"]["low"] < 1 / 3 < result["share"]["high"]
    assert not any("not a sample" in warning for warning in result["warnings"])
    assert load_judge(folder, MODE, Judge(dspy.LM("scripted/judge", engine=Engine()))) is not None
    text = run("judge", "eval", folder, "--mode", MODE).stdout
    assert "labels that it has not seen" in text
    assert ".json: in use" in text


def test_a_judge_no_better_than_chance_is_not_in_use(folder: Path) -> None:
    text = run("judge", "eval", folder, "--mode", MODE, "--lm", "same").stdout
    assert "No better than chance" in text
    assert ".json: not in use" in text
    assert load_judge(folder, MODE, Judge(dspy.LM("scripted/judge", engine=Engine()))) is None


def test_all_traces_are_those_that_were_read_and_the_others(folder: Path) -> None:
    every = all_traces(folder)
    assert len(every) == N
    for trace in reviewed_traces(folder):
        assert every[trace.id] == (trace.fields, trace.output)


def test_traces_that_moved_are_named(folder: Path) -> None:
    Path("answers.jsonl").rename("moved.jsonl")
    failed = run("judge", "eval", folder, "--mode", MODE, code=1)
    assert "name them, too" in str(failed.exception)
    places = ["texts.jsonl", "moved.jsonl"]
    assert json.loads(run("judge", "eval", folder, "--mode", MODE, *places, "--json").stdout)["traces"] == N


def test_a_mode_that_nobody_named_is_an_error(folder: Path) -> None:
    failed = run("judge", "eval", folder, "--mode", "slow", code=1)
    assert str(failed.exception) == f"no mode 'slow'; there are {MODE}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--limit", "3"), "takes no --limit"),
        (("--origin", "random"), "takes no --origin"),
        (("--lm", "a", "b"), "takes one model for --lm"),
    ],
)
def test_options_that_a_judge_of_a_mode_would_ignore_are_refused(
    folder: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in str(run("judge", "eval", folder, "--mode", MODE, *words, code=1).exception)


def test_modes_are_suggested_and_nothing_is_written(folder: Path) -> None:
    run("gold", "modes", folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    traces = {trace.id: trace for trace in reviewed_traces(folder)}
    untagged = [name for name, trace in traces.items() if trace.note and not trace.modes]
    assert untagged
    result = json.loads(run("gold", "modes", folder, "--lm", "scripted/judge", "--json").stdout)
    assert result["suggestions"] == {MODE: untagged}
    assert "suggested: archive as museum" in run("gold", "modes", folder, "--lm", "scripted/judge").stdout
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before

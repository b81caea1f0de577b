"""The demo with a scripted model that knows the names it is shown: what it says, and what test had no part in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import MissingExtra
from goldassay.cli import demo


class Copyist:
    """Finds in a text the names that its demonstrations show, with the types that they have there, and nothing else."""

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        pairs = [pair for turn in turns[:-1] for pair in re.findall(r'"text": ?"([^"]+)", ?"type": ?"([^"]+)"', turn)]
        text = turns[-1].split("[[ ## text ## ]]")[-1].split("Respond with")[0]
        mentions = [{"text": name, "type": kind} for name, kind in dict(pairs).items() if name in text]
        output = f"[[ ## mentions ## ]]\n{json.dumps(mentions)}\n[[ ## completed ## ]]"
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(output)]), finish_reason="stop",
            usage=Usage(),
        )  # fmt: skip


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the demo prints with a model."""
    monkeypatch.setenv("COLUMNS", "160")

    def run(resolve: Any) -> str:
        monkeypatch.setattr("goldassay.models.lm.models.resolve", resolve)
        demo.run(runs=tmp_path, limit=8)
        return capsys.readouterr().out

    return run


def test_an_error_its_patch_the_verdicts_and_test_beside_the_patterns(printed: Any, tmp_path: Path) -> None:
    output = printed(lambda name=None, **_: dspy.LM("scripted/copyist", engine=Copyist(), cache=False))
    assert "8 of dev choose, 8 of test are measured once" in output
    assert re.search(r"One of them, in \w\w-\d{3}: \".+\" \(\w.*\) was missed", output)
    assert "+++ patched" in output  # nearest demonstrations were kept, and the prompt shows one
    nearest = re.search(r"nearest: (\.?[\d.]+) → ([\d.]+), \+[\d.]+, n \d+: kept", output)
    assert nearest
    assert float(nearest[1]) == 0.0 < float(nearest[2])
    assert "form of the answer" not in output  # no local model: DSPy's adapter says how answers are written
    rows = {name: float(value) for name, value in re.findall(r"│ ([\w ()+-]+?) +│ ([\d.]+) \[", output)}
    assert list(rows) == ["patterns (no model)", "zero-shot", "tuned", "patterns + tuned"]
    assert rows["zero-shot"] == 0.0 < rows["tuned"] < rows["patterns (no model)"]
    assert "tuned against zero-shot: +" in output
    runs = next(tmp_path.iterdir())
    ids = {json.loads(line)["id"] for line in (runs / "tuned" / "rows.jsonl").read_text(encoding="utf-8").splitlines()}
    document = next(iter(re.findall(r"One of them, in (\w\w-\d{3})", output)))
    assert len(ids) == 8
    assert document not in ids  # it is one of dev
    assert "[bold]" not in output


def test_without_a_model_the_loop_is_the_same(printed: Any, tmp_path: Path) -> None:
    def missing(name: Any = None, **_: Any) -> Any:
        raise MissingExtra("xllamacpp", "local")

    output = printed(missing)  # of eight examples; all have more of them
    assert "8 of dev choose, 8 of test are measured once; no model" in output
    assert "+        TOP after te, uit" in output
    assert re.search(r"bundle of 3: places, archives, libraries: [\d.]+ → [\d.]+, \+[\d.]+, n \d+: kept", output)
    assert "proven by cross-fitting" in output
    rows = {name: float(value) for name, value in re.findall(r"│ ([\w ()+-]+?) +│ ([\d.]+) \[", output)}
    assert list(rows) == ["patterns (no model)", "zero-shot", "tuned", "patterns + tuned"]
    assert [line.split()[:2] for line in output.splitlines()[-3:]] == [
        ["goldassay", "init"],
        ["cd", "mine"],
        ["goldassay", "tune"],
    ]
    assert {json.loads(file.read_text())["status"] for file in tmp_path.glob("*/*/run.json")} == {"finished"}

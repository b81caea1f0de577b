"""Files of programs and of metrics that configure models of their own: a program runs on that of its file."""

from __future__ import annotations

from pathlib import Path

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import workspace
from goldassay.models.lm import for_program
from goldassay.tuning.systems import systems

FILE = """
import dspy
from dspy.utils import DummyLM

program = dspy.Predict("question -> answer")
dspy.configure(lm=DummyLM([{"answer": "x"}], adapter=dspy.ChatAdapter()))
dspy.settings.lm.model = __file__
"""


def test_each_program_runs_on_the_model_that_its_file_configures(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("first.py", "second.py")]
    for file in files:
        file.write_text(FILE)
    before = dspy.settings.lm
    try:
        pairs = [str(file) for file in (*files, files[0])]  # the first is loaded already when it is named again
        models = [system.model.name for system in systems(pairs[0], None, programs=pairs)]
        with dspy.context(lm=DummyLM([], adapter=dspy.ChatAdapter())):
            (system,) = systems(pairs[0], None, programs=pairs[:1], alone=False)
    finally:
        dspy.configure(lm=before)
    assert models == pairs  # flawed: the third ran on the second's model
    assert system.model.name == "dummy"


def test_a_program_does_not_run_on_the_model_of_its_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("programs", "metrics", "gold"):
        (tmp_path / room).mkdir()
    (tmp_path / "programs/tone.py").write_text(FILE)
    (tmp_path / "metrics/tone.py").write_text(
        f"{FILE}\ndef metric(gold, pred):\n    return gold.answer == pred.answer\n"
    )
    monkeypatch.chdir(tmp_path)
    before = dspy.settings.lm
    try:
        target = workspace.target("tone")
        program = target.load()
        workspace.metric(target)
        model = for_program(program, None, target.file)
    finally:
        dspy.configure(lm=before)
    assert model.name == str(target.file)

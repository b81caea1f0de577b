"""What the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldassay.cli.program import all_commands


@pytest.fixture
def takes_json() -> Callable[[], set[str]]:
    """The names of the commands that take ``--json``."""

    def names() -> set[str]:
        return {words for words, command in all_commands().items() if "--json" in (command.epilog or "")}

    return names


@pytest.fixture
def names_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_gold: list[Any], names_source: str) -> Path:
    """A workspace with a program that finds names, its metric and gold of three splits; it is the current folder."""
    imports = "from goldassay import Metric\nfrom goldassay.measures.extraction import SpanF1\n"
    monkeypatch.chdir(tmp_path)
    for file, text in (
        ("programs/extraction.py", names_source),
        ("metrics/extraction.py", imports + "metric = Metric(SpanF1())\n"),
    ):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    rows = [{**example.toDict(), "split": ("train", "dev", "test")[i % 3]} for i, example in enumerate(names_gold)]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


@pytest.fixture(params=["scripted", pytest.param("local", marks=pytest.mark.nightly)])
def small_lm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a model that commands resolve: by day it says one word, at night it is the local one."""
    if request.param == "local":
        pytest.importorskip("xllamacpp", reason="the local model runs in the extra local")
        return "local/smollm2-135m"
    import dspy

    lm = dspy.LM("scripted/word", engine=request.getfixturevalue("one_word"), cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda *_, **__: lm)
    return "scripted/word"

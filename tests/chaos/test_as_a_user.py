"""``goldassay eval`` against an endpoint that misbehaves, as a user runs it: exit code, one line, and going on."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from goldassay.cli import main
from goldassay.running import Run

KEY = "sk-chaos-0123456789"
PROGRAM = """
import dspy
class Years(dspy.Module):
    def __init__(self):
        super().__init__()
        self.find = dspy.Predict("text -> years: list[str]")
    def forward(self, text):
        found = [year for year in self.find(text=text).years if year in text]
        return dspy.Prediction(entities=[(text.find(year), text.find(year) + len(year), "TMP") for year in found])
program = Years()
"""
WELL = ("well", "slow", "plain text")
SOME = ("alternating", "503, then well")


@pytest.fixture
def goldassay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Any:
    """Run a command in a workspace; gives its exit code, standard output and standard error."""
    (tmp_path / "extraction.py").write_text(PROGRAM, encoding="utf-8")
    row = {"text": "in 1885", "entities": [{"start": 3, "end": 7, "type": "TMP"}]}
    rows = "".join(f"{json.dumps({'id': f'e{i}', **row})}\n" for i in range(8))
    (tmp_path / "gold.jsonl").write_text(rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["goldassay", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return run


def asked(endpoint: Any, *more: object, limit: object = None) -> tuple[object, ...]:
    options = {"cache": "false", "api_base": endpoint.url, "api_key": KEY, "timeout": 1, "num_retries": 0}
    model = ",".join(["openai/m", *(f"{name}={value}" for name, value in options.items())])
    words = (
        "eval",
        "extraction.py:program",
        "--gold",
        "gold.jsonl",
        "--lm",
        model if limit is None else f"{model},rpm={limit}",
        "--json",
    )
    return (*words, "--threads", 2, "--timeout", 3, *more)


def test_every_way_to_misbehave(endpoint: Any, mode: str, goldassay: Any, tmp_path: Path) -> None:
    from tests.chaos.conftest import Endpoint

    endpoint.mode = mode
    other = Endpoint()
    endpoint.elsewhere = other.url.replace("127.0.0.1", "localhost")
    started = time.monotonic()
    try:
        code, out, err = goldassay(*asked(endpoint, "--runs", "runs"))
    finally:
        other.close()
    assert time.monotonic() - started < 30
    assert other.calls == 0  # neither the key nor a text goes to a host that was not named
    assert "Traceback" not in err
    assert KEY not in out + err
    (folder,) = (tmp_path / "runs").iterdir()
    if mode in (*WELL, *SOME):
        assert code == 0, err
        assert json.loads(out)["examples"] == 8
    else:
        assert (code, out) == (3, "")
        assert err.strip().splitlines()[-1].startswith("goldassay: error: ")
        assert f"resume with --resume runs/{folder.name}" in err
    assert Run.load(folder).head.status in ("finished", "stopped")
    endpoint.mode = "well"
    code, out, err = goldassay(*asked(endpoint, "--resume", folder))
    years = json.loads(out)
    assert (code, years["examples"], years["failed"], years["value"]) == (0, 8, 0, 1.0)
    assert KEY.encode() not in b"".join(file.read_bytes() for file in folder.iterdir())


def test_budgets_caches_and_limits_by_their_words(endpoint: Any, goldassay: Any, tmp_path: Path) -> None:
    code, out, err = goldassay(*asked(endpoint, "--runs", "runs", "--budget", "calls=3"))
    (folder,) = (tmp_path / "runs").iterdir()
    message = err.strip().splitlines()[-1]
    assert (code, out, endpoint.calls) == (3, "", 3)
    assert message == (
        "goldassay: error: stopped after 3 of 8 examples: the budget of 3 calls is spent; what was done is safe; "
        f"resume with --resume runs/{folder.name}"
    )
    code, out, _ = goldassay(*asked(endpoint, "--resume", folder.name, limit=1200))  # as runs list says
    assert (code, json.loads(out)["cost"]["calls"], endpoint.calls) == (0, 8, 8)  # other limits are no other model
    assert endpoint.times[7] - endpoint.times[3] > 0.15
    code, _, err = goldassay(*asked(endpoint, "--budget", "calls=-1"))
    assert (code, err.strip()) == (
        2,
        "goldassay: error: a budget has positive calls, tokens, usd, minutes, not 'calls=-1'",
    )
    code, _, err = goldassay(*asked(endpoint, limit="never"))
    assert (code, "rpm: expected a number above 0" in err) == (2, True)


def test_a_file_of_models_has_limits_too(endpoint: Any, goldassay: Any, tmp_path: Path) -> None:
    listed = f"mine: {{model: openai/m, api_base: '{endpoint.url}', api_key: none, rpm: 1200, cache: false}}\n"
    (tmp_path / "models.yaml").write_text(listed, encoding="utf-8")
    words = ("eval", "extraction.py:program", "--gold", "gold.jsonl", "--lm", "models.yaml:mine", "--threads", 8)
    code, _, err = goldassay(*words, "--json")
    assert code == 0, err
    assert endpoint.times[-1] - endpoint.times[0] > 0.25  # 0.35 by the limit


def test_half_a_character_in_an_answer_is_written_and_read(endpoint: Any, goldassay: Any, tmp_path: Path) -> None:
    endpoint.mode = "half a character"
    code, out, err = goldassay(*asked(endpoint, "--runs", "runs"))
    assert code == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    assert len(Run.load(folder).rows) == json.loads(out)["examples"] == 8

"""Ctrl-C on the command line: exit code 3, and how to go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from goldassay import __version__, cli


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def terminated(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)


@pytest.mark.parametrize("stops", [interrupted, terminated])
def test_a_command_that_is_stopped_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stops: Any
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("goldassay.cli.evaluate.evaluate_program", stops)
    monkeypatch.setattr("sys.argv", ["goldassay", "eval", "extraction:baseline", "--runs", str(tmp_path)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 3
    message = capsys.readouterr().err
    assert f"continue with the same command and --resume {tmp_path}" in message.replace("\n", "")
    assert message.endswith("goldassay: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("module", "function", "line", "says"),
    [
        (
            "explain",
            "explain_program",
            "explain classification",
            "the same command continues: the answers so far are in DSPy's cache",
        ),
        (
            "judge",
            "poll",
            "judge eval items.jsonl --judge criterion --store votes.jsonl",
            "the verdicts so far are stored in votes.jsonl, and the same command continues",
        ),
        (
            "tune",
            "tune_program",
            "tune classification --optimizer patches",
            "patches has stored no state: the same command starts over",
        ),
    ],
)
def test_a_command_without_a_folder_says_what_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
    function: str,
    line: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    item = {"id": "a", "criterion": "It is polite.", "question": "q?", "answer": "Yes."}
    Path("items.jsonl").write_text(json.dumps(item))
    monkeypatch.setattr(f"goldassay.cli.{module}.{function}", interrupted)
    monkeypatch.setattr("sys.argv", ["goldassay", *line.split(), "--lm", "openai/none"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 3
    assert capsys.readouterr().err.endswith(f"{says}\ngoldassay: interrupted\n")


@pytest.mark.parametrize(
    ("into", "code", "says"),
    [
        (">/dev/full", 2, "goldassay: error: [Errno 28] No space left on device\n"),
        (">&-", 0, ""),
        ("| head -c 1", 0, ""),
        ("| true", 0, ""),
    ],
)
def test_standard_output_that_is_full_closed_or_left(into: str, code: int, says: str) -> None:
    line = f"set -o pipefail; {sys.executable} -m goldassay gold schema extraction {into}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, says)


def test_values_that_are_nested_too_deeply_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text(f'{{"id": "a", "record": {{"x": {"[" * 900}{"]" * 900}}}}}\n')
    monkeypatch.setattr("sys.argv", ["goldassay", "score", "records", "--gold", str(file), "--pred", str(file)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert capsys.readouterr().err == "goldassay: error: a value in these files is nested too deeply to be read\n"


def test_other_exit_codes_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["goldassay", "--version"])
    cli.main()
    assert capsys.readouterr().out.strip() == __version__
    monkeypatch.setattr("sys.argv", ["goldassay", "no-such-command"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2


def test_no_host_is_asked_for_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm fetches a table of prices when it is imported, unless it is told to take its own."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "")
    monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP")
    monkeypatch.setattr("sys.argv", ["goldassay", "eval", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


def test_compare_that_is_stopped_says_that_it_starts_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("goldassay.cli.compare_programs.evaluate", interrupted)
    words = ["goldassay", "compare", "extraction", "--program", "baseline", "--program", "program"]
    monkeypatch.setattr("sys.argv", [*words, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 3
    message = capsys.readouterr().err.replace("\n", "")
    assert f"continue with the same command and --resume {tmp_path}" in message

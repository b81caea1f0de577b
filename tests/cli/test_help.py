"""The command line as a whole: its commands and options, its help, wrong calls, the options of the whole program."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import goldassay
from goldassay.cli import app, main
from goldassay.exceptions import GoldassayError
from goldassay.progress import QUIET
from goldassay.running.evaluate import RunOptions

RUN = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"})
COMMANDS = """
demo init score eval compare tune audit review report
patch patterns|propose|test|apply|revert|list|show
judge eval|align|from-modes|mean|audit|plan
gold validate|stats|split|agree|convert|draft|modes|schema
runs list|show|export|prune
"""
MOST_OPTIONS = 229  # spelled out over all commands; 291 once


def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    by_name: dict[str, Any] = {}

    def walk(command: Any, words: str) -> None:
        for name, sub in getattr(command, "commands", {}).items():
            walk(sub, f"{words} {name}".strip())
        if words and not getattr(command, "commands", None):
            by_name[words] = command

    walk(typer.main.get_command(app), "")
    return by_name


ALL = commands()


def test_the_commands_are_those_of_the_design() -> None:
    lines = COMMANDS.strip().splitlines()
    groups = {f"{line.split()[0]} {name}" for line in lines[1:] for name in line.split()[1].split("|")}
    assert {name for name in ALL if not name.startswith("wikidata")} == {*lines[0].split(), *groups}
    assert sum(param.opts[0].startswith("--") for command in ALL.values() for param in command.params) <= MOST_OPTIONS


def test_the_help_of_tune_names_the_optimizers_that_the_readme_promises() -> None:
    from goldassay.tuning.optimizers import OPTIMIZERS

    (option,) = [param for param in ALL["tune"].params if param.name == "optimizer"]
    assert set(OPTIMIZERS) <= set(option.help.replace(",", "").split())
    assert "another optimizer of DSPy" in option.help


@pytest.mark.parametrize("words", sorted(ALL))
def test_every_command_has_help(words: str) -> None:
    done = RUN.invoke(app, [*words.split(), "--help"])
    assert done.exit_code == 0
    assert "--quiet" in done.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["scor"], "No such command 'scor'"),
        (["score", "retrieval", "--golde", "x"], "No such option: --golde"),
        (["score", "retrieval", "--gold", "x"], "Missing option '--pred'"),
        (["eval", "--threads", "x", "extraction"], "Invalid value for '--threads'"),
        (["eval"], "Missing argument 'TASK|FILE'"),
        (["score", "none", "--gold", "x", "--pred", "x"], "no task 'none'"),
        (["gold", "schema", "extraction", "--seed", "3"], "gold schema takes no --seed"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["goldassay", *words])
    with pytest.raises(SystemExit) as left:
        main()
    out, error = capsys.readouterr()
    assert (left.value.code, out) == (2, "")
    (line,) = error.splitlines()
    assert line.startswith("goldassay: error: ")
    assert says.lower() in line.lower()


def test_an_option_of_another_task_is_refused() -> None:
    done = RUN.invoke(app, ["score", "answering", "--gold", "a", "--pred", "b", "--option", "ontology=o.json"])
    assert isinstance(done.exception, GoldassayError)
    assert "--option ontology is for triples" in str(done.exception)


def test_quiet_holds_for_the_command_and_the_processes_that_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def schema(*_: object) -> dict[str, str]:
        seen.append(os.environ.get(QUIET))
        return {}

    monkeypatch.setattr("goldassay.gold.schema", schema)
    for words in (["gold", "schema", "extraction", "--quiet"], ["gold", "schema", "extraction"]):
        assert RUN.invoke(app, words).exit_code == 0
    assert seen == ["1", None]


def test_measure_chooses_for_every_task(tmp_path: Path) -> None:
    gold, pred = tmp_path / "gold.jsonl", tmp_path / "pred.jsonl"
    span = {"start": 0, "end": 5, "type": "TOP"}
    gold.write_text(json.dumps({"id": "a", "text": "Delft", "entities": [span]}) + "\n", encoding="utf-8")
    pred.write_text(json.dumps({"id": "a", "entities": [span]}) + "\n", encoding="utf-8")
    call = ["score", "extraction", "--gold", str(gold), "--pred", str(pred), "--json"]
    body = json.loads(RUN.invoke(app, [*call, "--measure", "strict"]).output)
    assert body["values"]["strict_f1"] == 1.0
    assert {name.split("_")[0] for name in body["values"]} == {"strict"}
    assert set(body["intervals"]) <= set(body["values"])
    wrong = RUN.invoke(app, [*call, "--measure", "strict_f"])
    assert str(wrong.exception).startswith("extraction has no measure 'strict_f'; there are strict_f1")


OTHERWISE = {"folder": {"runs", "out"}, "workers": {"engine"}, "trace": {"no_trace"}, "adapter": {"lm"}}
PYTHON_ONLY = {"name", "settings", "test", "progress", "ray_address", "seed", "runs", "check_leaks"}


@pytest.mark.parametrize(("words", "function"), [("eval", "evaluate"), ("tune", "tune"), ("compare", "compare")])
def test_python_and_the_command_line_use_the_same_names(words: str, function: str) -> None:
    options = {str(param.name) for param in ALL[words].params}
    taken = {*inspect.signature(getattr(goldassay, function)).parameters} - {"options", "changes"}
    taken |= set(RunOptions.__dataclass_fields__) if function == "evaluate" else set()
    for name in taken - PYTHON_ONLY:
        assert OTHERWISE.get(name, {name}) & options, f"{function}({name}=) has no option of {words}"
    assert inspect.iscoroutinefunction(getattr(goldassay, f"a{function}"))

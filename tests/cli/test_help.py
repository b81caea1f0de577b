"""The command line as a whole: its commands and options, its help, wrong calls, the options of the whole program."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import goldassay
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import with_flags
from goldassay._support.progress import QUIET_VARIABLE
from goldassay.cli import app, main
from goldassay.cli.commands import FORMER, FORMER_OPTIONS
from goldassay.cli.program import all_commands
from goldassay.running.options import RunOptions

RUN = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"})
COMMANDS = """
demo init score eval compare tune explain audit review report
patch patterns|propose|test|apply|revert|show
judge eval|audit
gold validate|stats|split|agree|convert|draft|modes|schema
runs list|show|export|prune
"""
MOST_OPTIONS = 161  # spelled out over all commands, beside those of the whole program; 291 once


ALL: dict[str, Any] = all_commands()


def test_the_commands_are_those_of_the_design() -> None:
    lines = COMMANDS.strip().splitlines()
    groups = {f"{line.split()[0]} {name}" for line in lines[1:] for name in line.split()[1].split("|")}
    assert {name for name in ALL if not name.startswith("wikidata")} == {*lines[0].split(), *groups}
    assert sum(param.opts[0].startswith("--") for command in ALL.values() for param in command.params) <= MOST_OPTIONS


def test_a_flag_has_one_meaning() -> None:
    """Options of one name take one kind of value, whatever the command: one that all of them take."""
    kinds: dict[str, list[set[str]]] = {}
    for param in [param for command in ALL.values() for param in command.params if param.opts[0].startswith("--")]:
        metavar = re.sub(r"\[.*\]|\.\.\.", "", str(param.metavar or ""))
        values = {re.sub("^(FOLDER|SET|URI)$", "FILE", value) for value in metavar.split("|")} - {""}
        kinds.setdefault(param.opts[0], []).append(values)
    assert [flag for flag, values in kinds.items() if any(values) and not set.intersection(*values)] == []


@pytest.mark.parametrize(
    ("words", "option"), [(words, name) for words, names in FORMER_OPTIONS.items() for name in names]
)
def test_an_option_under_its_former_name_is_that_of_today(words: str, option: str) -> None:
    shown = RUN.invoke(app, [*words.split(), option, "x", "--no-such-option"]).output
    assert "--no-such-option" in shown
    assert option not in shown.replace("--no-such-option", "")


@pytest.mark.parametrize(("former", "now"), FORMER.items())
def test_a_command_that_went_into_another_is_that_one(former: str, now: str) -> None:
    shown = [RUN.invoke(app, [*words.split(), "--help"]).output for words in (former, now)]
    assert shown[0] == shown[1]


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


def test_paragraphs_of_help_are_as_wide_as_the_terminal() -> None:
    lines = [line.strip() for line in RUN.invoke(app, ["init", "--help"]).output.splitlines()]
    assert "With --from, the fields and types come from the data. --task trajectories (or another built-in" in lines


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
        seen.append(os.environ.get(QUIET_VARIABLE))
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
    options = {str(param.name) for param in ALL[words].params} | {*re.findall(r"--(\w+)", ALL[words].epilog)}
    taken = {*inspect.signature(getattr(goldassay, function)).parameters} - {"options", "changes"}
    taken |= set(RunOptions.__dataclass_fields__) if function == "evaluate" else set()
    for name in taken - PYTHON_ONLY:
        assert OTHERWISE.get(name, {name}) & options, f"{function}({name}=) has no option of {words}"
    assert inspect.iscoroutinefunction(getattr(goldassay, f"a{function}"))


@pytest.mark.parametrize("words", [[], ["patch"], ["runs", "--help"]])
def test_the_help_that_lists_commands_imports_none_of_them(words: list[str]) -> None:
    script = f"""
import sys
sys.argv[1:] = {words or ["--help"]!r}
from goldassay.cli import main
try:
    main()
finally:
    print([name for name in sys.modules if name.startswith(("dspy", "numpy", "typer", "goldassay.running"))])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.startswith(f"Usage: goldassay {' '.join(words[:1])}".rstrip())
    assert done.stdout.splitlines()[-1] == "[]"


@cache
def advice(file: Path) -> list[str]:
    """The texts of a file of the package in which commands may be named: of a module all but docstrings."""
    return [*texts(file)]


def texts(file: Path) -> Iterator[str]:
    if file.suffix != ".py":
        yield file.read_text(encoding="utf-8")
        return
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    bodies = [getattr(node, "body", None) for node in nodes]
    docs = {body[0].value for body in bodies if isinstance(body, list) and body and isinstance(body[0], ast.Expr)}
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    left_out = docs | {value for node in joined for value in node.values}
    for text in joined:
        yield "".join(str(value.value) if isinstance(value, ast.Constant) else "X" for value in text.values)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            yield node.value


def taken(words: str) -> set[str]:
    """The options of a command, with those of the whole program that it takes."""
    own = {name for param in ALL[words].params for name in (*param.opts, *param.secondary_opts)}
    return {"--help", *own, *re.findall("--[a-z-]+", ALL[words].epilog)}


def test_the_lines_that_messages_advise_name_options_that_the_command_takes() -> None:
    package = Path(goldassay.__file__).parent
    files = [file for kind in ("py", "js", "json", "jinja") for file in sorted(package.rglob(f"*.{kind}"))]
    count = 0
    for file in files:
        for text in advice(file):
            for line in re.finditer(r"goldassay ([a-z]+)( [a-z]+)?\b([^`\n;:]*)", text):
                words = next((name for name in (line[1] + (line[2] or ""), line[1]) if name in ALL), None)
                options = set(re.findall(r"--[a-z-]+", line[3]))
                assert options <= (taken(words) if words else set()), f"{file}: {line[0]}"
                count += bool(options)
    assert count > 15


def test_the_arguments_that_messages_name_are_options_of_a_command() -> None:
    everything = set().union(*map(taken, ALL))
    for file in sorted(Path(goldassay.__file__).parent.rglob("*.py")):
        for text in advice(file):
            flags = {with_flags(f"`{name}=`") for name in re.findall(r"(?<!`)`([a-z_]+)=", text)}
            assert flags <= everything, f"{file}: {text}"

"""Help reads plainly: no type beside a flag, what concerns the task that was named, the nearest word to a wrong one."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

import goldassay
from goldassay.cli import app
from goldassay.cli.options import CONCERNS, SETTINGS, FileOptions
from goldassay.measure import TASKS
from goldassay.progress import QUIET
from goldassay.running import RunOptions

RUN = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})


def commands() -> dict[str, object]:
    """Every command by the words that call it."""
    found: dict[str, object] = {}

    def walk(command: object, words: str) -> None:
        for name, sub in getattr(command, "commands", {}).items():
            walk(sub, f"{words} {name}".strip())
        if words and not getattr(command, "commands", None):
            found[words] = command

    walk(typer.main.get_command(app), "")
    return found


ALL = commands()


@pytest.mark.parametrize("words", sorted(ALL))
def test_help_shows_no_types_of_python(words: str) -> None:
    done = RUN.invoke(app, [*words.split(), "--help"])
    assert done.exit_code == 0
    assert not re.findall(r"<\w+[^>]*>|list\[", done.output)
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize("command", ["score", "compare"])
@pytest.mark.parametrize("task", TASKS)
def test_help_shows_what_concerns_the_task(command: str, task: str) -> None:
    shown = RUN.invoke(app, [command, task, "--help"]).output
    for name, tasks in CONCERNS.items():
        assert (f"--{name} " in shown) == (task in tasks), name
    for name, setting in SETTINGS.items():
        assert (f"  {name}=" in shown) == (task in setting.tasks), name


def test_help_without_a_task_says_which_an_option_is_for() -> None:
    assert set(CONCERNS) <= set(FileOptions.__annotations__)
    shown = RUN.invoke(app, ["score", "--help"]).output
    for tasks in (*CONCERNS.values(), *(one.tasks for one in SETTINGS.values())):
        assert f"{', '.join(tasks)}:" in shown


def test_many_options_stand_in_sections() -> None:
    shown = RUN.invoke(app, ["eval", "--help"]).output
    places = [shown.index(f"\n{name}:\n") for name in ("Arguments", "Gold", "Options", "Model", "Running", "Result")]
    assert places == sorted(places)
    few = RUN.invoke(app, ["runs", "list", "--help"]).output
    assert "\nGold:" not in few
    assert "--limit N" in few


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scor"], "no such command 'scor'. Did you mean 'score'"),
        (["score", "retrieval", "--golde", "x"], "no such option: --golde; did you mean --gold"),
        (["score", "retrieval", "--gold", "x"], "missing option '--pred'"),
        (["eval", "--threads", "x", "extraction"], "invalid value for '--threads'"),
        (["eval"], "missing argument 'TASK|FILE'"),
    ],
)
def test_a_wrong_call_is_told_in_one_line_with_the_help_that_says_more(words: list[str], said: str) -> None:
    done = RUN.invoke(app, words)
    assert done.exit_code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"goldassay: {said}")
    assert line.endswith("--help")


def test_an_option_of_another_task_is_refused() -> None:
    done = RUN.invoke(app, ["score", "answering", "--gold", "a", "--pred", "b", "--option", "ontology=o.json"])
    assert str(done.exception) == "--option ontology is for triples, not for answering"


DIFFER = {  # what is named is a thing of its kind, but not the same kind of place
    "--gold": {"FILE", "FILE|RUN", "SET|FILE"},
    "--pred": {"FILE|RUN", ""},
    "--out": {"FILE", "FILE.html", "FOLDER"},
    "--judge": {"NAME|FILE|1-5", "NAME|FILE|1-5|FOLDER", "NAME|FOLDER"},
    "--fail-under": {"NAME=VALUE", "f1=VALUE"},
    "--map": {"NAME=PATH,…", "NAME=COLUMN,…"},
    "--metric": {"FILE[:NAME]", "FILE[:NAME]|five"},
    "--measure": {"NAME", "NAME(…)"},
    "--program": {"NAME", "NAME|FILE|FOLDER"},
    "--task": {"TASK", "NAME"},
}
NAMES, MOST = 93, 295  # names of options, and options of all commands: 118 and 349 stood here before


def test_options_with_one_name_read_alike() -> None:
    """One option, one way of writing its value, wherever it stands."""
    seen: dict[str, set[str | None]] = {}
    for command in ALL.values():
        for param in command.params:  # type: ignore[attr-defined]
            if param.opts[0].startswith("--"):
                seen.setdefault(param.opts[0], set()).add(param.metavar or "")
    assert {n: values for n, values in seen.items() if len(values) > 1 and values != DIFFER.get(n)} == {}
    assert len(seen) <= NAMES
    assert sum(p.opts[0].startswith("--") for c in ALL.values() for p in c.params) <= MOST  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", sorted(ALL))
def test_every_command_can_be_quiet(words: str) -> None:
    assert "\n  --quiet " in RUN.invoke(app, [*words.split(), "--help"]).output


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
    asked = ["score", "extraction", "--gold", str(gold), "--pred", str(pred), "--json"]
    found = json.loads(RUN.invoke(app, [*asked, "--measure", "strict"]).output)
    assert found["values"]["strict_f1"] == 1.0
    assert {name.split("_")[0] for name in found["values"]} == {"strict"}
    assert set(found["intervals"]) <= set(found["values"])
    wrong = RUN.invoke(app, [*asked, "--measure", "strict_f"])
    assert str(wrong.exception).startswith("extraction has no measure 'strict_f'; there are strict_f1")


OTHERWISE = {
    "folder": {"runs", "out"},  # of one run in Python; the command names it after the program and the model
    "workers": {"engine"},  # --engine processes:4
    "trace": {"no_trace"},
}
IN_PYTHON = {
    "name",
    "settings",
    "test",
    "progress",
}  # what the command knows, or takes from gold


@pytest.mark.parametrize(("words", "function"), [("eval", "evaluate"), ("tune", "tune"), ("compare", "compare")])
def test_python_has_the_words_of_the_command_line(words: str, function: str) -> None:
    asked = {str(param.name) for param in ALL[words].params}  # type: ignore[attr-defined]
    taken = {*inspect.signature(getattr(goldassay, function)).parameters} - {"options", "changes"}
    taken |= set(RunOptions.__dataclass_fields__) if function == "evaluate" else set()
    for name in taken - IN_PYTHON:
        assert OTHERWISE.get(name, {name}) & asked, f"{function}({name}=) has no option of {words}"
    waited = getattr(goldassay, f"a{function}")
    assert inspect.iscoroutinefunction(waited)

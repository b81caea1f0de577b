"""On a screen data is data: markup in a label is text, an escape sequence is seen and does nothing."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from rich.table import Table

from goldassay.reporting.terminal import Screen, echo, line, quiet, show, warn, warnings_once
from goldassay.tuning.acceptance import Effect
from goldassay.tuning.patches import Patch, view_of

SEEN = {"a\x1b[2Jb": r"a\x1b[2Jb", "\x1b]0;title\x07": r"\x1b]0;title\x07", "x\u202ey": r"x\u202ey"}

DATA = ["[/LOC]", "[loc]", "[/]", "[red]x[/red]", "[link=http://x]y[/link]", *SEEN]


@pytest.mark.parametrize("data", DATA)
def test_data_is_shown_as_it_is(data: str) -> None:
    out = io.StringIO()
    screen = Screen(file=out, width=200)
    table = Table(title=data)
    table.add_column(data)
    table.add_row(data)
    screen.print(table)
    screen.print(data)
    screen.print(data, markup=False)
    assert out.getvalue().count(SEEN.get(data, data)) == 5
    assert "\x1b" not in out.getvalue()


def test_a_patch_is_cut_only_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    text = "Call a body that keeps records an archive, whatever it shows."
    patch = Patch(predictor="p", action="add_instruction", text=text)
    monkeypatch.setenv("COLUMNS", "100")
    show(view_of([patch]))
    assert text in capsys.readouterr().out
    patch.effects = [Effect(split="dev", before=0.5, after=0.6, difference=0.1, low=0, high=0.2, p=0.2, n=10)]
    show(view_of([patch]))
    printed = capsys.readouterr().out
    assert text[:45] in printed
    assert "+0.100 [+0.000, +0.200]" in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_a_second_identical_warning_is_not_printed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program that does not set logging up
    for _ in range(2):
        with warnings_once():
            for _ in range(2):
                logging.getLogger("goldassay").warning("%s has no splits (`seed=1`)", "a.csv")
                warn("no labels", "no labels")
    assert capsys.readouterr().err.splitlines() == 2 * [
        "warning: a.csv has no splits (--seed 1)",
        "warning: no labels",
    ]


def test_a_command_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("goldassay.reporting.terminal.console", lambda error=False: Screen(file=out, width=30))
    command = "goldassay review draft.jsonl --task triage.py --for compare"
    line(f"Label these, then go on: {command}", "words that wrap at the end of a line")
    echo(command)
    assert out.getvalue().count(command) == 2
    assert "end of \na line" in out.getvalue()


def test_what_an_optimizer_prints_is_thrown_away_and_no_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # nobody else listens, as in a shell
    with warnings_once():
        with quiet():
            print("step 1 of 9")
            logging.getLogger("goldassay").warning("train and dev have a shortcut")
        logging.getLogger("goldassay").warning("train and dev have a shortcut")
    assert capsys.readouterr() == ("", "warning: train and dev have a shortcut\n")

"""On a screen data is data: markup in a label is text, an escape sequence is seen and does nothing."""

from __future__ import annotations

import io

import pytest
from rich.markup import escape
from rich.table import Table

from goldassay.reporting.terminal import Screen

DATA = [
    "[/LOC]",
    "[loc]",
    "[/]",
    "[red]x[/red]",
    "[link=http://x]y[/link]",
    "a\x1b[2Jb",
    "\x1b]0;title\x07",
    "x\u202ey",
]
SEEN = {"a\x1b[2Jb": r"a\x1b[2Jb", "\x1b]0;title\x07": r"\x1b]0;title\x07", "x\u202ey": r"x\u202ey"}

DATA = ["[/LOC]", "[loc]", "[/]", "[red]x[/red]", "[link=http://x]y[/link]", *SEEN]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("escaped", [False, True])
def test_data_is_shown_as_it_is(data: str, escaped: bool) -> None:
    out = io.StringIO()
    screen = Screen(file=out, width=200)
    table = Table(title=escape(data) if escaped else data)
    table.add_column(escape(data) if escaped else data)
    table.add_row(escape(data) if escaped else data)
    screen.print(table)
    screen.print(escape(data) if escaped else data)
    screen.print(data, markup=False)
    assert out.getvalue().count(SEEN.get(data, data)) == 5
    assert "\x1b" not in out.getvalue()


def test_our_own_few_tags_are_markup() -> None:
    out = io.StringIO()
    Screen(file=out, width=80, force_terminal=True).print("[bold]x[/] [dim]y[/]")
    assert "[bold]" not in out.getvalue()
    assert "\x1b[1mx" in out.getvalue()

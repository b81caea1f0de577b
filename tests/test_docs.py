"""Every block of the pages in docs/ does what the page says: files are written, Python and commands are run, in order.

A page is worked through in an empty folder. A block with ``title="FILE"`` is that file; a ``python`` block without a
title runs, and what its comments ``# → …`` promise is printed; each ``goldassay …`` line of a ``sh`` block runs and
ends with 0, or with the number of a comment ``# exit code N``. A ``console`` block runs the line after ``$`` and shows
what it prints; a line ``…`` stands for any lines. ``text`` blocks are not run. What a page needs before it runs (files,
programs of rules) is folded in ``<details class="setup" markdown>`` further down: those blocks come first.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.cli.program import all_commands
from goldassay.core.measure import TASKS, registered

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = all_commands()
PAGES = sorted(file for file in (ROOT / "docs").rglob("*.md") if "decisions" not in file.parts)
SETUP = re.compile(r'^<details class="setup"[^\n]*>\n.*?^</details>$', re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ELSEWHERE = ("pip ", "make ", "git ", "cd ", "pytest", "python ", "#")  # not ours to run


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """The language, the title and the text of each block, the setup first."""
    text = page.read_text(encoding="utf-8")
    for kind, rest, body in FENCE.findall("\n".join([*SETUP.findall(text), SETUP.sub("", text)])):
        title = re.search(r'title="([^"]+)"', rest)
        yield kind, title[1] if title else "", body


def command_lines(body: str) -> Iterator[tuple[list[str], int, str]]:
    """The words of each of our commands, the exit code it ends with, and the file its output goes to."""
    for line in body.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith(ELSEWHERE):
            continue
        code = re.search(r"# exit code (\d)", line)
        words = shlex.split(line, comments=True)
        assert words[0] == "goldassay", f"a command that is not ours: {line}"
        out = words[words.index(">") + 1] if ">" in words else ""
        yield words[1 : words.index(">") if out else None], int(code[1]) if code else 0, out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, title, body in blocks(page):
        if title:
            file = tmp_path / title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body, encoding="utf-8")
        elif kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(body, str(page), "exec", dont_inherit=True), names)
            for promised in re.findall(r"# → (.*)", body):
                assert promised.strip() in printed.getvalue(), f"{page.name}: {promised!r} was not printed"
        elif kind == "sh":
            for words, code, out in command_lines(body):
                done = CliRunner().invoke(app, words)
                assert done.exit_code == code, (
                    f"{page.name}: goldassay {' '.join(words)}\n{done.output}\n{done.exception!r}"
                )
                if out:
                    (tmp_path / out).write_text(done.stdout, encoding="utf-8")
        elif kind == "console":
            command, _, expected = body.replace("\\\n", " ").partition("\n")
            (words, code, _), *others = command_lines(command.removeprefix("$ "))
            assert not others
            done = CliRunner().invoke(app, words)
            assert done.exit_code == code, f"{page.name}: {command}\n{done.output}\n{done.exception!r}"
            parts = [" ".join(part.split()) for part in re.split(r"^…$", expected, flags=re.MULTILINE)]
            place = 0
            for part in parts:  # white space aside: the width of a terminal is not the page's
                place = " ".join(done.stdout.split()).find(part, place)
                assert place >= 0, f"{page.name}: {command} printed\n{done.stdout}"
    assert os.getcwd() == str(tmp_path)


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))],
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_exist_with_their_options(page: Path) -> None:
    """Also those that are not run, since they ask a model or name runs that nobody has."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```[^\n]*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for body in fences for line in body.replace("\\\n", " ").splitlines()]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines += re.findall(r"`(goldassay\s[^`]+)`", prose)
    assert [line for line in lines if line.startswith("goldassay ") and not understood(line)] == []


def understood(line: str) -> bool:
    """Whether a line names a command of ours and options that it takes."""
    root = typer.main.get_command(app)
    words = shlex.split(line.partition(" && ")[0], comments=True)[1:]
    called = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS), None)
    if called is None and words and words[0].isalpha() and words[0].islower():
        return words[0] in {name.split()[0] for name in COMMANDS} and len(words) == 1
    params = [*(COMMANDS[called].params if called else ()), *root.params]
    options = {name for each in params for name in (*each.opts, "--help")}
    return options.issuperset(word.partition("=")[0] for word in words if word.startswith("--"))


def test_every_link_of_the_readme_opens_on_pypi_too() -> None:
    targets = re.findall(r"\](?:\(|: )(https?:[^)\s]+|[^)\s]+\.\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    repository = re.compile(r"https://(?:raw\.githubusercontent|github)\.com/goldassay/goldassay/(?:blob/)?main/(.*)")
    files = [repository.fullmatch(target) for target in targets]
    assert all(file and (ROOT / file[1]).is_file() for file in files), targets


def test_every_measure_has_an_example() -> None:
    for task in TASKS:
        for measure in registered(task):
            assert ">>>" in (type(measure).__doc__ or ""), measure


def test_every_page_is_in_the_navigation() -> None:
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE))
    pages = runpy.run_path(str(ROOT / "docs" / "generate.py"), run_name="generate")["pages"]()
    generated = {f"reference/{name}.md" for name in pages}
    assert generated <= named
    assert named - generated == {str(page.relative_to(ROOT / "docs")) for page in PAGES}

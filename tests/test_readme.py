"""The README does what it says: its blocks run, and what they print is what it shows."""

from __future__ import annotations

import csv
import io
import re
import runpy
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from tests.chaos.conftest import Endpoint
from typer.testing import CliRunner

from goldassay.cli import app

TONES = {
    "question": "When does hall {} open?",
    "praise": "Thanks for the lovely park {}!",
    "complaint": "Bin {} is full.",
}


@pytest.fixture
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def fenced(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_the_python_example_prints_what_it_says(readme: str, tmp_path: Path) -> None:
    (block,) = fenced(readme, "python")
    file = tmp_path / "example.py"
    file.write_text(block, encoding="utf-8")
    with redirect_stdout(io.StringIO()) as stdout:
        runpy.run_path(str(file), run_name="__main__")
    assert stdout.getvalue().split() == re.findall(r"^# ([\d.]+):", block, flags=re.MULTILINE) == ["80.0", "66.67"]


def test_it_opens_one_door(readme: str) -> None:
    assert len(readme.splitlines()) <= 100
    assert len(re.findall(r"^!\[", readme, flags=re.MULTILINE)) == 1
    assert len(re.findall(r"^- .*\]\[", readme, flags=re.MULTILINE)) == 5


def test_the_guide_for_assistants_is_printed_and_names_commands_and_options_that_exist(root: Path) -> None:
    guide = (root / "docs" / "assistants.md").read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["init", "--assistant"]).stdout == guide
    rows = re.findall(r"^\|.*\| `goldassay (.*)` \|$", guide, flags=re.MULTILINE)
    assert len(rows) == 10
    for words in map(str.split, rows):
        name = words[:2] if words[0] == "gold" else words[:1]
        options = CliRunner().invoke(app, [*name, "--help"], env={"COLUMNS": "200"}).stdout
        assert [word for word in words if word.startswith("--") and word != "--json" and word not in options] == []
    links = re.findall(r"\]\(([\w./-]+)\)", (root / "llms.txt").read_text(encoding="utf-8"))
    assert [link for link in links if not (root / link).is_file()] == []


def test_a_task_of_ones_own_in_four_commands(
    readme: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pasted, with a model behind a real server that knows questions only."""
    endpoint = Endpoint()
    endpoint.reply = lambda messages: (
        f"[[ ## tone ## ]]\n{'question' if '?' in messages[-1]['content'] else 'praise'}\n\n[[ ## completed ## ]]"
    )
    monkeypatch.chdir(tmp_path)
    for name, value in {"API_BASE": endpoint.url, "API_KEY": "none"}.items():
        monkeypatch.setenv(f"OPENAI_{name}", value)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    tones = runpy.run_path(str(root / ".ci" / "newcomer.py"), run_name="letters")["LETTERS"]
    with open("letters.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "tone"), *((text, tone) for tone in tones for text in tones[tone])])
    try:
        (commands,) = (block for block in fenced(readme, "sh") if "init" in block)
        for words in (line.partition("#")[0].split() for line in commands.splitlines()):
            if words[0] == "cd":
                monkeypatch.chdir(words[1])
            else:
                done = CliRunner().invoke(app, words[1:])
                assert done.exit_code == 0, (words, done.output)
    finally:
        endpoint.close()
    assert "Folder: runs/" in " ".join(done.output.split())


def test_the_files_that_are_linked_exist(readme: str, root: Path) -> None:
    raw = "https://raw.githubusercontent.com/goldassay/goldassay/main/"
    assert f"]({raw}" in readme  # a picture by a relative link is broken on PyPI
    links = re.findall(r"\]\(([\w./-]+)\)", readme.replace(raw, ""))
    assert [link for link in links if not (root / link).is_file()] == []

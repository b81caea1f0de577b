"""The README's example runs, and what it says of the commands is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def test_the_python_example_runs_and_prints_what_it_says(root: Path, tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(block, encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^print\(.*?\)  # ([\d.]+)", block, flags=re.MULTILINE)
    assert done.stdout.split() == said == ["66.67", "80.0"]


def test_every_command_is_named_in_the_readme(root: Path) -> None:
    from goldassay.cli import app

    readme = (root / "README.md").read_text(encoding="utf-8")
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    names += [str(group.name) for group in app.registered_groups]
    assert {name for name in names if f"goldassay {name}" not in readme} == set()


def test_the_workspace_folders_of_the_map_exist(root: Path) -> None:
    for folder in ("src/goldassay", "programs", "metrics", "gold/heritage", "tests", "benchmarks", "docs"):
        assert (root / folder).is_dir()

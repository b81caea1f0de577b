"""The house: the eight tasks have a file in every room, and rooms keep their doors."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import goldassay
from goldassay.core.measure import TASKS

HEAVY = ("dspy", "numpy", "scipy", "sklearn", "torch", "pydantic", "litellm", "rapidfuzz", "xllamacpp")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("room", ["src/goldassay/measures", "metrics", "programs"])
def test_every_room_has_every_task(root: Path, room: str, task: str) -> None:
    assert (root / room / f"{task}.py").is_file() or (root / room / task / "__init__.py").is_file()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("file", ["records", "measures", "mistakes", "scorecard"])
def test_the_measures_of_every_task_stand_in_the_same_files(root: Path, task: str, file: str) -> None:
    assert (root / "src" / "goldassay" / "measures" / task / f"{file}.py").is_file()


@pytest.mark.parametrize("task", TASKS)
def test_the_room_of_a_task_says_in_which_order_to_read_its_files(root: Path, task: str) -> None:
    room = root / "src" / "goldassay" / "measures" / task
    words = (room / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    assert [file.stem for file in room.glob("[a-z]*.py") if f"`{file.stem}`" not in words] == []


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_tests(root: Path, task: str) -> None:
    assert list((root / "tests" / "measures").glob(f"test_{task}*.py"))
    assert list((root / "tests" / "programs").glob(f"test_{task}*.py"))


def test_no_modules_import_each_other(root: Path) -> None:
    """No circle among modules and the packages around them; imports in functions count, those for types do not."""
    files = {_dotted(file.relative_to(root / "src")): file for file in (root / "src").rglob("*.py")}
    needs = {name: set(_needed(name, file, files)) for name, file in files.items()}
    assert list(TopologicalSorter(needs).static_order())  # a circle is a CycleError that names it


def _dotted(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def _needed(name: str, file: Path, names: Collection[str]) -> Iterator[str]:
    """The modules that a module imports at any time, with the packages around those, but not around itself."""
    for node in _imports(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        else:
            imported = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for module in set(imported) & set(names):
            parts = module.split(".")
            for around in (".".join(parts[:count]) for count in range(1, len(parts) + 1)):
                if not f"{name}.".startswith(f"{around}."):
                    yield around


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module, of its functions and of its branches, none that are for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.expr) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        else:
            yield from _imports(node)


@pytest.mark.parametrize("room", ["programs", "metrics"])
def test_the_workspace_imports_only_the_library(root: Path, room: str) -> None:
    assert not (root / room / "__init__.py").exists()
    for file in (root / room).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [n for n in names if n.split(".")[0] in ("programs", "metrics", "tests")], file


COMMANDS = """
import sys
import goldassay
from goldassay.cli import main
for command in {commands!r}:
    sys.argv = ["goldassay", *command.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
    print("LOADED", command, [name for name in {names!r} if name in sys.modules])
"""


def loaded(names: Collection[str], *commands: str, folder: Path | None = None) -> list[str]:
    """Which of these modules are there after the import and each command, one after another in a new interpreter."""
    code = COMMANDS.format(commands=commands, names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    return [line for line in done.stdout.splitlines() if line.startswith("LOADED")]


def test_neither_the_import_nor_the_help_loads_anything_heavy() -> None:
    commands = ("--help", "--version", "judge --help")
    assert loaded(HEAVY, *commands) == [f"LOADED {command} []" for command in commands]


SLOW = ("dspy", "litellm", "sklearn", "scipy.stats", "nltk", "pandas", "torch")  # each takes half a second or more
CLASSIFIED = "classification --gold gold.csv --pred pred.csv"


def test_what_runs_no_program_loads_nothing_slow(tmp_path: Path) -> None:
    commands = (f"score {CLASSIFIED}", f"compare {CLASSIFIED} --pred gold.csv", "gold stats gold.csv", "runs list")
    (tmp_path / "gold.csv").write_text("id,text,label\na,one,x\nb,two,y\n", encoding="utf-8")
    (tmp_path / "pred.csv").write_text("id,label\na,x\nb,x\n", encoding="utf-8")
    (tmp_path / "runs").mkdir()
    assert loaded(SLOW, *commands, folder=tmp_path) == [f"LOADED {command} []" for command in commands]


def test_the_public_names_are_these_and_all_load() -> None:
    for name in goldassay.__all__:
        assert getattr(goldassay, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = goldassay.nothing


def test_every_test_file_that_ci_names_exists(root: Path) -> None:
    scripts = [root / "Makefile", *(root / ".ci").iterdir()]
    named = {name for script in scripts for name in re.findall(r"tests/[\w/]+\.py", script.read_text(encoding="utf-8"))}
    assert len(named) > 3
    assert [name for name in sorted(named) if not (root / name).is_file()] == []

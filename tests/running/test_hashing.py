"""What a run says of its program: its parts, and not what it was asked before."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import workspace
from goldassay.running.hashing import _imports, code_hash, modules_of


class Two(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = dspy.Predict("text -> label")
        self.more = [dspy.ChainOfThought("text -> kind"), {"again": self.first}]


def test_the_parts_are_those_that_dspy_names() -> None:
    program = Two()
    assert {id(part) for part in modules_of(program)} == {id(part) for _, part in program.named_sub_modules()}
    assert modules_of(lambda text: text) == []


def test_what_a_program_was_asked_before_is_not_looked_through() -> None:
    program: Any = Two()
    parts, code = modules_of(program), code_hash(program)
    program.first.history += [{"messages": [{"content": "x"}], "module": dspy.Predict("a -> b")}] * 3
    assert len(modules_of(program)) == len(parts)
    assert code_hash(program) == code


def test_code_that_is_imported_late_or_beside_counts_before_and_after_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pieces").mkdir()
    for name, text in {
        "pieces/__init__.py": "",
        "pieces/ask.py": "from .words import WORD\n",
        "pieces/words.py": "WORD = 'M'\n",
        "mine.py": "def program(text):\n    from pieces.ask import WORD\n    return {'label': WORD}\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = workspace.load(tmp_path / "mine.py").program
    before = code_hash(program)
    assert program("x") == {"label": "M"}
    assert "pieces.words" in sys.modules
    assert code_hash(program) == before
    for name in ("pieces/words.py", "pieces/ask.py", "pieces/__init__.py"):
        (tmp_path / name).write_text("WORD = 'L'  # another\n", encoding="utf-8")
        after, before = before, code_hash(program)
        assert after != before
    for name in [name for name in sys.modules if name.partition(".")[0] == "pieces"]:
        monkeypatch.delitem(sys.modules, name)
    assert code_hash(program) == before


def test_packages_of_another_environment_are_no_code_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "other" / "site-packages"
    place.mkdir(parents=True)
    theirs, mine = place / "theirs_elsewhere.py", tmp_path / "mine_elsewhere.py"
    theirs.write_text("A = 1\n")
    mine.write_text("import theirs_elsewhere\n\n\nclass Mine:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(place))
    program = importlib.import_module("mine_elsewhere").Mine()
    before = code_hash(program)
    theirs.write_text("A = 2\n")
    assert code_hash(program) == before
    mine.write_text("import theirs_elsewhere\n\n\nclass Mine:\n    more = 1\n")
    assert code_hash(program) != before


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads change and garbage is collected as often as can be."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


class Finalized:
    """Garbage that other threads may run beside: it refers to itself, and takes a moment to go."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum(range(50))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("hashes", [24, pytest.param(400, marks=pytest.mark.nightly)])
@pytest.mark.extensions
def test_programs_are_hashed_in_several_threads_at_once(hashes: int) -> None:
    program = workspace.target("triples:baseline").load()

    def hashed(number: int) -> str:
        Finalized()
        _imports.cache_clear()  # so that all threads parse
        return code_hash(program)

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(hashed, range(hashes)))) == 1

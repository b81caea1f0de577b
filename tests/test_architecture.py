"""docs/architecture.md tells what is there: its drawing is the contract of layers (which `make lint` holds against the
imports), every room is drawn, and the modules of its journeys exist."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
SRC = Path(__file__).resolve().parents[1] / "src" / "goldassay"


@cache
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def drawn() -> list[set[str]]:
    """The layers of the drawing, the highest first."""
    (drawing,) = re.findall(r"```\n(testing .*?)```", page(), flags=re.DOTALL)
    return [set(_names(line)) for line in drawing.splitlines()]


def _names(line: str) -> list[str]:
    """The names of a line stand three blanks apart, before the gap to what they are."""
    cells = re.split(r" {3,}", line.rstrip())
    return cells[:-1]


def module(name: str) -> Path | None:
    """The file of a module, or of a package's door."""
    place = SRC.joinpath(*name.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def rooms() -> set[str]:
    return {
        place.stem
        for place in SRC.iterdir()
        if (place.suffix == ".py" or (place / "__init__.py").is_file()) and not place.stem.startswith("__")
    }


def test_the_drawing_is_the_contract() -> None:
    settings = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    assert drawn() == [set(re.split(r" [:|] ", layer)) for layer in contract["layers"]]


def test_every_room_is_drawn_once() -> None:
    names = [name for layer in drawn() for name in layer]
    assert sorted(names) == sorted(rooms())


JOURNEYS = re.findall(r"\*\*(A [^*]*)\*\*[^\n]*\n\n(1\. .*?)(?=\n\n)", page(), flags=re.DOTALL)


def test_there_are_four_journeys() -> None:
    assert len(JOURNEYS) == 4


@pytest.mark.parametrize(("title", "steps"), JOURNEYS, ids=[title for title, _ in JOURNEYS])
def test_a_journey_is_read_in_eight_files_that_exist(title: str, steps: str) -> None:
    files = re.findall(r"^\d\. `([a-z_0-9.]+)`:", steps, flags=re.MULTILINE)
    assert 5 <= len(files) <= 8
    assert [name for name in files if module(name) is None] == []
    named = re.findall(r"`([a-z_0-9]+\.[a-z_0-9.]+)`", steps)
    own = [name for name in named if name.split(".")[0] in rooms() and not name.endswith(".json")]
    assert [name for name in own if module(name) is None] == []

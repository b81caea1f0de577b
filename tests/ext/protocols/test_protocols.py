"""Every protocol is known by its name and aliases in any case, and its task computes it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import goldassay
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.core.measure import TASKS
from goldassay.gold import formats
from goldassay.measures.protocols import Protocol, named, protocols


@pytest.mark.parametrize(("name", "protocol"), protocols().items())
def test_each_is_listed_under_its_name_and_computes_its_values(name: str, protocol: Protocol) -> None:
    assert protocol.name == name
    for task in protocol.tasks:
        scorecard: Any = import_module(f"goldassay.measures.{task}").scorecard
        options: dict[str, Any] = (
            {"ontology": {"relations": [], "concepts": []}} if protocol.options == ("ontology",) else {}
        )
        assert scorecard([], [], protocol=name, **options).examples == 0


def test_names_and_aliases_are_taken_in_any_case() -> None:
    names = {alias: each for each in protocols().values() for alias in (each.name, *each.aliases)}
    assert len(names) == sum(1 + len(each.aliases) for each in protocols().values())
    for name, each in names.items():
        assert named(name.upper(), each.tasks[0]) is each


def test_formats_of_protocols_hold_their_tasks() -> None:
    for each in protocols().values():
        assert {*each.tasks} <= {*TASKS}
        for task in each.tasks if each.format else ():
            formats.named(each.format, task)


def test_another_name_lists_all_with_their_tasks() -> None:
    with pytest.raises(
        GoldassayError, match=r"no protocol 'mine'; .*hipe \(extraction and linking\).*carb \(triples\)"
    ):
        named("mine", "extraction")


def test_a_protocol_of_another_task_names_those_of_the_task() -> None:
    with pytest.raises(GoldassayError, match="docred is for triples; extraction has hipe, hipe2020"):
        named("docred", "extraction")


def test_help_and_documentation_name_all(root: Path) -> None:
    page = (root / "docs" / "migrate" / "official-scorers.md").read_text(encoding="utf-8")
    done = CliRunner(env={"COLUMNS": "400", "TERM": "dumb"}).invoke(app, ["score", "--help"])
    for name, each in protocols().items():
        assert re.search(rf"\b{name}\b", done.output), name
        assert all(f"`{alias}`" in page for alias in (name, *each.aliases)), name


def test_a_wrong_name_is_refused_before_a_file_is_read() -> None:
    with pytest.raises(GoldassayError, match="no protocol 'mine'"):
        goldassay.score("extraction", "nowhere.jsonl", "nowhere.jsonl", protocol="mine")

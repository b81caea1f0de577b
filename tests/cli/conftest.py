"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from goldassay.cli import app


def commands(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *names, name)
    if not hasattr(group, "commands"):
        yield " ".join(names), group


@pytest.fixture
def takes_json() -> Callable[[], set[str]]:
    """The names of the commands that take ``--json``."""

    def names() -> set[str]:
        return {name for name, command in commands(typer.main.get_command(app)) if "--json" in (command.epilog or "")}

    return names

"""``goldassay conform``: replay official results and count the numbers that come out the same; damage predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS


def run(
    data: Path,
    *,
    suites: list[str] | None = None,
    gold: Path | None = None,
    systems: Path | None = None,
    official: Path | None = None,
    as_json: bool = False,
) -> None:
    """Replay and print; exit code 1 when a number differs."""
    from goldassay.proof import conform
    from goldassay.reporting import terminal

    folders = {"gold": gold, "systems": systems, "official": official}
    if any(folders.values()) and not all(folders.values()):
        raise GoldassayError("the suite hipe2022 needs --gold, --systems and --official together")
    given = {name: folder for name, folder in folders.items() if folder is not None}
    results = conform.run(data, suites=suites, **given)
    if as_json:
        print(json.dumps({"suites": [result.state() for result in results]}, ensure_ascii=False))
    else:
        terminal.conformance(results)
    if any(result.reproduced < result.total for result in results):
        raise SystemExit(1)


def fitting(mutations: bool, tasks: list[str] | None, official: Sequence[object]) -> None:
    """Refuse an option that would do nothing."""
    if tasks and not mutations:
        raise GoldassayError("--task goes with --mutations; official results are chosen by --suite")
    if mutations and any(official):
        raise GoldassayError("--suite, --gold, --systems and --official go without --mutations")


def mutated(tasks: list[str] | None, *, as_json: bool = False) -> None:
    """Print which measure notices which damage, of these tasks or of all six."""
    from goldassay.proof.mutation.page import show

    for task in tasks or ():
        if task not in TASKS:
            raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    show(tasks or TASKS, as_json=as_json)

"""``goldassay conform``: replay official results and count the numbers that come out the same; damage predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS


def conform(
    data: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of official data.")] = Path("../shared/data"),
    suite: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this suite (repeat).")] = None,
    gold: Annotated[Path | None, typer.Option(metavar="FOLDER", help="hipe2022: the folder of gold files.")] = None,
    systems: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="hipe2022: the folder of system files.")
    ] = None,
    official: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="hipe2022: the folder of official results.")
    ] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Damage right predictions instead: which measure notices what?")
    ] = False,
    task: Annotated[
        list[str] | None, typer.Option(metavar="TASK", help="With --mutations: only this task (repeat).")
    ] = None,
    json: use.Json = False,
) -> None:
    """Replay official results (how many come out the same), or test the measures themselves with --mutations.

    Exit code 1 when an official number comes out different.
    """
    folders = {"gold": gold, "systems": systems, "official": official}
    if mutations:
        if suite or any(folders.values()):
            raise GoldassayError("--suite, --gold, --systems and --official go without --mutations")
        return _mutated(task or (), json)
    if task:
        raise GoldassayError("--task goes with --mutations; official results are chosen by --suite")
    if any(folders.values()) and not all(folders.values()):
        raise GoldassayError("the suite hipe2022 needs --gold, --systems and --official together")
    from goldassay.proof import conform as official_results
    from goldassay.reporting import terminal

    given = {name: folder for name, folder in folders.items() if folder is not None}
    results = official_results.run(data, suites=suite, **given)
    if json:
        terminal.answer({"suites": [result.state() for result in results]})
    else:
        terminal.conformance(results)
    if any(result.reproduced < result.total for result in results):
        raise SystemExit(1)


def _mutated(tasks: list[str] | tuple[str, ...], json: bool) -> None:
    """Print which measure notices which damage, of these tasks or of all six."""
    from goldassay.proof.mutation.page import show

    for task in tasks:
        if task not in TASKS:
            raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    show(tasks or TASKS, as_json=json)

"""``goldassay conform``: our numbers beside those of installed implementations and official results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import FetchError, GoldassayError
from goldassay.measure import TASKS

if TYPE_CHECKING:
    from goldassay.proof.conform.official import SuiteResult


def conform(
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Replay the official results in this folder; with --fetch, where to."),
    ] = None,
    fetch: Annotated[
        bool,
        typer.Option("--fetch", help="Get the official files from their public homes (SHA-256), then replay them."),
    ] = False,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="--fetch: a server that holds the same paths.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this suite or installed oracle; --mutations: this task (repeat)."),
    ] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Damage right predictions instead: which measure notices what?")
    ] = False,
    json: use.Json = False,
) -> None:
    """Compare our numbers with those of every installed oracle; with --data or --fetch, replay official results.

    Without either nothing is needed: the heritage gold (the workspace's, or the one that is packed) and generated
    cases go through both. --mutations tests the measures themselves. Exit code 1 when a number comes out different.
    """
    if mutations:
        if data or fetch:
            raise GoldassayError("--data and --fetch go without --mutations")
        return _mutated(only or (), json)
    if mirror and not fetch:
        raise GoldassayError("--mirror is for --fetch: name both")
    from goldassay.proof import conform as official_results
    from goldassay.proof.conform import live
    from goldassay.reporting import terminal

    lost: list[str] = []
    if fetch:
        results, lost = _fetched(data, only, mirror)
        what = "official numbers"
    elif data:
        results = official_results.run(data, suites=only)
        what = "official numbers"
    else:
        replayed = next((name for name in only or () if name in official_results.SUITES), None)
        if replayed:
            raise GoldassayError(f"the suite {replayed} replays official results: --data FOLDER, or --fetch")
        results = live.run(only)
        what = "numbers of installed oracles"
    if json:
        terminal.answer({"suites": [result.state() for result in results], "not_fetched": lost})
    elif results:
        terminal.conformance(results, what)
    if lost:
        raise FetchError(f"not fetched: {'; '.join(lost)}")
    if any(result.reproduced < result.total for result in results):
        raise SystemExit(1)


def _fetched(folder: Path | None, suites: list[str] | None, mirror: str | None) -> tuple[list[SuiteResult], list[str]]:
    """The official files, as far as they came, replayed; and what did not come."""
    from goldassay.proof import conform as official_results
    from goldassay.proof.conform import official as fetching
    from goldassay.reporting import terminal

    into = folder or fetching.FOLDER
    known = fetching.sources()
    wrong = next((name for name in suites or () if name not in {source.suite for source in known}), None)
    if wrong:
        raise GoldassayError(f"{wrong!r} has no public home; --fetch gets {', '.join(one.suite for one in known)}")
    came, lost = [], []
    for source, why in fetching.fetch(into, suites, mirror=mirror):
        if why:
            lost.append(f"{source.suite}: {why}")
        else:
            came.append(source.suite)
            terminal.note(f"{source.suite}: {into / source.folder}, from {source.home}, {source.licence}")
    return official_results.run(into, came) if came else [], lost


def _mutated(tasks: list[str] | tuple[str, ...], json: bool) -> None:
    """Print which measure notices which damage, of these tasks or of all six."""
    from goldassay.proof.mutation.page import show

    for task in tasks:
        if task not in TASKS:
            raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    show(tasks or TASKS, as_json=json)

"""What needs nothing of one's own: ``goldassay demo``, ``init`` and ``conform``.

The whole loop, offline; a workspace; our numbers beside those of installed implementations and official results.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import FetchError, GoldassayError
from goldassay.measure import TASKS

if TYPE_CHECKING:
    from goldassay.proof.conform.official import SuiteResult


def demo(
    lm: use.Lm = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=2, help="Only N examples of each split, for a quick look.")
    ] = None,
) -> None:
    """The whole loop, offline, in minutes: measure, tune, measure again."""
    from goldassay.proof.demo import run

    run(lm=lm, limit=limit)


PARTS = ("programs", "metrics", "gold/heritage")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the workspace.")],
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="A task of your own, by its name.")] = None,
    inputs: Annotated[
        str | None, typer.Option("--inputs", metavar="A,B", help="With --task: the fields that the program is given.")
    ] = None,
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="C,D", help="With --task: the fields that it answers with.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="With --task: jsonl, json, csv, tsv, parquet or hf:NAME as gold."),
    ] = None,
    map: use.Map = None,
    force: use.Force = False,
) -> None:
    """Write a workspace of your own: programs/, metrics/ and gold/, for the six tasks or for a task of your own.

    With --from, fields and types are taken from the data.
    """
    from goldassay import scaffold, workspace
    from goldassay.gold import anyfields

    if task is not None:
        sides = [[name.strip() for name in (said or "").split(",") if name.strip()] for said in (inputs, outputs)]
        made = scaffold.write(folder, task, *sides, source=source, renamed=anyfields.mapping(map), force=force)
        for file in made:
            print(file)
        print(f"Try:  cd {folder} && goldassay gold validate gold/{task} && goldassay eval {task}:baseline")
        return
    if inputs or outputs or source or map:
        raise GoldassayError("--inputs, --outputs, --from and --map go with --task NAME: a task of your own")
    installed = workspace.installed()
    taken = [part for part in PARTS if (folder / part).exists()]
    if taken and not force:
        raise GoldassayError(
            f"{folder} already has {', '.join(taken)}; name a new folder, or say --force to write over"
        )
    for part in PARTS:
        left = shutil.ignore_patterns("__pycache__", "*.pyc", "patches")
        shutil.copytree(installed / part, folder / part, ignore=left, dirs_exist_ok=force)
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/.")
    print(f"Try:  cd {folder} && goldassay eval extraction:baseline")


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

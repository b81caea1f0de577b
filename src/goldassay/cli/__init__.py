"""The command line: parse, call, print; one file a command, or a group of commands.

What several commands share is in `options`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from goldassay.cli import options as use
from goldassay.cli.compare import compare
from goldassay.cli.evaluate import evaluate
from goldassay.cli.gold import app as gold_app
from goldassay.cli.judge import app as judge_app
from goldassay.cli.patch import app as patch_app
from goldassay.cli.review import review
from goldassay.cli.runs import app as runs_app
from goldassay.cli.runs import report
from goldassay.cli.score import score
from goldassay.cli.tune import audit, tune
from goldassay.cli.wikidata import app as wikidata_app
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.progress import QUIET
from goldassay.reporting.terminal import answers_alone, visible

INTERRUPTED = 130  # typer's exit code after Ctrl-C
PARTS = ("programs", "metrics", "gold/heritage", "gold/records")  # of a workspace
FLAGS = ("--json", "--force", "--quiet")


class Program(TyperGroup):
    """The program: its own options may be anywhere on the line, as in ``goldassay score … --json``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move the program's options to the front."""
        shared: list[str] = []
        rest: list[str] = []
        words = iter(args)
        for word in words:
            if word in FLAGS or word.startswith("--seed="):
                shared.append(word)
            elif word == "--seed":
                shared += [word, *islice(words, 1)]
            else:
                rest.append(word)
        return super().parse_args(ctx, [*shared, *rest])


app = typer.Typer(cls=Program, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    json: Annotated[bool, use.flag("--json", "Print exactly one JSON object on standard output.")] = False,
    seed: Annotated[int, use.option("N", "The seed of all random choices.")] = 0,
    force: Annotated[bool, use.flag("--force", "Write over existing files.")] = False,
    quiet: Annotated[bool, use.flag("--quiet", "Show no progress.")] = False,
    version: Annotated[bool, use.flag("--version", "Print the version.")] = False,
) -> None:
    """Score DSPy programs against gold, and tune them in the same loop.

    These options may be anywhere on the line.
    """
    if version:
        from goldassay import __version__

        typer.echo(__version__)
        raise typer.Exit
    context.obj = {"json": json, "seed": seed, "force": force}
    if quiet and not os.environ.get(QUIET):
        os.environ[QUIET] = "1"  # worker processes see it, too
        context.call_on_close(lambda: os.environ.pop(QUIET, None))


@use.command(app)
def demo() -> None:
    """The whole loop, offline, in minutes: measure, tune, measure again."""
    from goldassay.demo import run

    run()


@dataclass(frozen=True)
class OwnTask:
    """A task of the user's own."""

    task: str | None = use.option("NAME", "The name of a task of your own.")
    inputs: str | None = use.option("A,B", "With --task: the fields that the program gets.")
    outputs: str | None = use.option("C,D", "With --task: the fields that it predicts.")
    source: str | None = use.option("FILE", "With --task: gold as jsonl, json, csv, tsv, parquet or hf:NAME.", "--from")
    schema: str | None = use.option("FILE:MODEL", "With --task: the pydantic model of the records to predict.")
    map: str | None = use.option("NAME=PATH,…", "Fields under other names: text=body.content.")


@use.command(app)
def init(
    folder: Annotated[Path, use.argument("DIR", "The folder of the workspace.")],
    own: OwnTask,
    force: bool = False,
) -> None:
    """Write a workspace (programs/, metrics/, gold/) for the tasks of goldassay, or for a task of your own.

    With --from, the fields and types come from the data.
    """
    from goldassay import scaffold, workspace
    from goldassay.gold import anyfields

    if own.task is not None:
        sides = [
            [name.strip() for name in (text or "").split(",") if name.strip()] for text in (own.inputs, own.outputs)
        ]
        renamed = anyfields.mapping(own.map)
        options: dict[str, Any] = {"source": own.source, "renamed": renamed, "schema": own.schema, "force": force}
        for file in scaffold.write(folder, own.task, *sides, **options):
            print(file)
        print(f"Try:  cd {folder} && goldassay gold validate gold/{own.task} && goldassay eval {own.task}:baseline")
        return
    if any(vars(own).values()):
        raise GoldassayError("--inputs, --outputs, --from, --schema and --map need --task NAME")
    existing = [part for part in PARTS if (folder / part).exists()]
    if existing and not force:
        raise GoldassayError(f"{folder} already has {', '.join(existing)}; choose a new folder, or add --force")
    for part in PARTS:
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "patches")
        shutil.copytree(workspace.installed() / part, folder / part, ignore=ignore, dirs_exist_ok=force)
    print(f"A workspace in {folder}: programs/, metrics/, gold/heritage/, gold/records/.")
    print(f"Try:  cd {folder} && goldassay eval extraction:baseline")


use.command(app)(score)
use.command(app, "eval")(evaluate)
use.command(app)(compare)
use.command(app)(tune)
use.command(app)(audit)
app.add_typer(patch_app, name="patch")
app.add_typer(judge_app, name="judge")
app.add_typer(gold_app, name="gold")
use.command(app)(review)
use.command(app)(report)
app.add_typer(runs_app, name="runs")
app.add_typer(wikidata_app, name="wikidata")


def main() -> None:
    """Run a command; an error is one line on standard error.

    Exit codes: 0 done, 1 a target or gate is missed, 2 the input or the call is wrong, 3 interrupted (Ctrl-C, SIGTERM)
    or stopped, and can be resumed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else litellm fetches prices from the net
    try:
        with _sigterm_interrupts(), answers_alone() if "--json" in sys.argv else nullcontext():
            code = app(prog_name="goldassay", standalone_mode=False)
    except GoldassayError as error:
        print(f"goldassay: error: {visible(use.with_flags(str(error)))}", file=sys.stderr)
        sys.exit(3 if isinstance(error, RunStopped) else 2)
    except SystemExit as error:
        sys.exit(0 if isinstance(error.__context__, BrokenPipeError) else error.code)  # the reader left, as with | head
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer is not tried again
        if not isinstance(error, BrokenPipeError):
            print(f"goldassay: error: {error}", file=sys.stderr)
        sys.exit(0 if isinstance(error, BrokenPipeError) else 2)
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's usage errors
            raise
        path = getattr(getattr(error, "ctx", None), "command_path", "goldassay")
        print(f"goldassay: error: {' '.join(error.format_message().split())} See: {path} --help", file=sys.stderr)  # pyright: ignore[reportAttributeAccessIssue]
        sys.exit(2)
    if code == INTERRUPTED:
        print("goldassay: interrupted", file=sys.stderr)
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Treat SIGTERM, which ends a job in a queue or a container, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

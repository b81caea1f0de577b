"""The command line: parse, call, print; a file holds a command, or a few that belong together.

What commands have in common is in `options`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.cli.compare import compare, rescore
from goldassay.cli.evaluate import evaluate, waterfall
from goldassay.cli.gold import app as gold_app
from goldassay.cli.help import INTERRUPTED, commands
from goldassay.cli.judge import app as judge_app
from goldassay.cli.patch import app as patch_app
from goldassay.cli.rank import SETTINGS as RANKED
from goldassay.cli.rank import rank
from goldassay.cli.runs import app as runs_app
from goldassay.cli.runs import dashboard, report, view
from goldassay.cli.score import score
from goldassay.cli.start import demo, init
from goldassay.cli.tune import tune
from goldassay.cli.wikidata import app as wikidata_app
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.jsonl import FULL
from goldassay.reporting.terminal import answers_alone, visible

app = commands("Score DSPy programs against gold, and tune them in the same loop.")
app.command()(demo)
app.command()(init)
app.command(concerns=use.CONCERNS, settings=use.SETTINGS)(use.spelled_out(score))
app.command()(rescore)
app.command("eval")(evaluate)
app.command(concerns=use.CONCERNS, settings=use.SETTINGS)(use.spelled_out(compare))
app.command()(tune)
app.command(concerns=use.CONCERNS, settings=RANKED)(rank)
app.command()(waterfall)
app.command()(report)
app.command()(view)
app.command()(dashboard)
app.add_typer(runs_app, name="runs")
app.add_typer(patch_app, name="patch")
app.add_typer(judge_app, name="judge")
app.add_typer(gold_app, name="gold")
app.add_typer(wikidata_app, name="wikidata")


@app.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Score DSPy programs against gold, and tune them in the same loop."""
    if version:
        from goldassay import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command; what is wrong is one line on standard error.

    Exit code 2: the input or the call. Exit code 3: it stopped, or was stopped by Ctrl-C or SIGTERM, and can be gone on
    with.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else litellm asks a host of its own for prices
    _open_streams()
    try:
        with _terminated(), answers_alone() if "--json" in sys.argv else nullcontext():
            app()
    except GoldassayError as error:
        print(f"goldassay: {visible(str(error))}", file=sys.stderr)
        sys.exit(3 if isinstance(error, RunStopped) else 2)
    except SystemExit as done:
        if isinstance(done.__context__, BrokenPipeError):  # click ends with 1 where its reader has left
            sys.exit(0)
        if done.code != INTERRUPTED:
            raise
        print("goldassay: interrupted", file=sys.stderr)
        sys.exit(3)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in FULL:
            raise
        print(f"goldassay: standard output cannot be written: {FULL[error.errno]}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is not tried again at the end
        sys.exit(2)


def _open_streams() -> None:
    """Standard streams that were closed (``>&-``) lead nowhere: no file of a run takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            setattr(sys, name, open(number, "r" if not number else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


@contextmanager
def _terminated() -> Iterator[None]:
    """What ends a job in a queue or a container (SIGTERM) is like Ctrl-C: what was done is safe, and said."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""The command line: parse, call, print; one file a command, or a group of commands.

`commands` lists them, and `program` makes them of functions; groups of options that several share are in `options`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from goldassay import __version__
from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay._support.options import with_flags as with_flags
from goldassay.cli.commands import help_text, listed, places

INTERRUPTED = 130  # typer's exit code after Ctrl-C


def __getattr__(name: str) -> Any:
    if name == "app":
        from goldassay.cli.program import app  # loads typer, which help does not need

        return app
    raise AttributeError(f"module 'goldassay.cli' has no attribute {name!r}")


def main() -> None:
    """Run a command; an error is one line on standard error.

    Exit codes: 0 done, 1 a target or gate is missed, 2 the input or the call is wrong, 3 interrupted (Ctrl-C, SIGTERM)
    or stopped, and can be resumed.
    """
    words = sys.argv[1:]
    if words == ["--version"]:
        print(__version__)
        return
    group = " ".join(word for word in words if word != "--help")
    if listed(group) and group not in places():  # typer is not needed
        print(help_text(group), end="")
        sys.exit(0 if "--help" in words else 2)
    gc.set_threshold(100_000, 50, 100)  # what a command reads stays: searching it for cycles took a tenth of its time
    from goldassay.cli.program import app
    from goldassay.reporting.terminal import answers_alone, visible

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else litellm fetches prices from the net
    try:
        with _sigterm_interrupts(), answers_alone() if "--json" in sys.argv else nullcontext():
            code = app(prog_name="goldassay", standalone_mode=False)
    except GoldassayError as error:
        print(f"goldassay: error: {visible(with_flags(str(error)))}", file=sys.stderr)
        sys.exit(3 if isinstance(error, RunStopped) else 2)
    except RecursionError:
        print("goldassay: error: a value in these files is nested too deeply to be read", file=sys.stderr)
        sys.exit(2)
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
        message = " ".join(error.format_message().split())  # pyright: ignore[reportAttributeAccessIssue]
        print(f"goldassay: error: {message}{'' if message[-1] in '.?!' else '.'} See: {path} --help", file=sys.stderr)
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

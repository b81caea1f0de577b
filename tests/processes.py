"""The command line in processes of its own, forked from one that has loaded what it needs: they start at once.

Each has its memory, files and signals, and dies of kill -9 like any other.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

Done = subprocess.CompletedProcess[str]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["goldassay.cli.program", "goldassay.cli.evaluate", "goldassay.cli.tune", "goldassay.ext.labelling.extension",
     "goldassay.ext.labelling.review.folder", "goldassay.ext.protocols.formats", "goldassay.ext.wikidata.extension",
     "scipy.special", "uvicorn", "starlette.applications", "jinja2"]
)  # fmt: skip


class Process:
    """``goldassay WORDS`` at work, in the current folder or in ``cwd``."""

    def __init__(
        self,
        *words: object,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        before: Callable[[], object] | None = None,
    ) -> None:
        """Starts it.

        Args:
            words: The command and its options.
            cwd: The folder in which it works.
            env: Variables of its environment beside those of the tests.
            before: What it does first, such as setting a limit.
        """
        reading, writing = zip(*(CONTEXT.Pipe(duplex=False) for _ in range(2)), strict=True)
        surroundings = (str(cwd or Path.cwd()), {**os.environ, **(env or {})}, before)
        self._process = CONTEXT.Process(target=_command, args=([*map(str, words)], *surroundings, *writing))
        self._process.start()
        for end in writing:
            end.close()
        self.stdout, self.stderr = (os.fdopen(os.dup(end.fileno()), encoding="utf-8") for end in reading)
        for end in reading:
            end.close()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, if it has ended; that of a signal is negative."""
        return self._process.exitcode

    def kill(self) -> None:
        """Kill -9."""
        self._process.kill()

    def wait(self, timeout: float = 250) -> Done:
        """Its exit code and what it printed and was not read yet, when it has ended.

        Raises:
            AssertionError: It does not end.
        """
        texts = ["", ""]

        def read(number: int) -> None:
            with (self.stdout, self.stderr)[number] as stream:
                texts[number] = stream.read()

        threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(2)]
        for thread in threads:
            thread.start()
        self._process.join(timeout)
        code = self._process.exitcode
        assert code is not None, "the process does not end"
        for thread in threads:
            thread.join(timeout)
        return subprocess.CompletedProcess([], code, *texts)


def run(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
) -> Done:
    """``goldassay WORDS`` from beginning to end."""
    return Process(*words, cwd=cwd, env=env, before=before).wait()


def _command(
    words: list[str],
    cwd: str,
    environment: dict[str, str],
    before: Callable[[], object] | None,
    stdout: Connection,
    stderr: Connection,
) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, end in ((1, stdout), (2, stderr)):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.path.insert(0, cwd)
    if before:
        before()
    from goldassay import cli

    sys.argv = [str(Path(cli.__file__).parents[1] / "__main__.py"), *words]
    try:
        cli.main()
    finally:
        atexit._run_exitfuncs()
        with suppress(OSError):
            sys.stdout.flush()

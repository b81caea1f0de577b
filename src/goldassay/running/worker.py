"""Where examples are worked on outside this process: the same measuring, in a process or an actor of its own.

What travels there is made by `pack`: the program, the metric, the model and the adapter (by cloudpickle, so what a
script defines travels too), and the files of the workspace that they come from, which are loaded there by their path.
Models are not copied: a local model is loaded there once, by its name. One example travels there and one row back.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.running.calls import ACCOUNT, Account, watching

MOST = 10_000  # examples at once
READY = -1  # the number of a worker's first answer: it is built, or why not


def pack(program: object, metric: object, lm: object, adapter: object, trace: bool, workers: int) -> bytes:
    """All that a worker needs, as bytes; it is one of so many, which share the limits of an endpoint.

    Args:
        program: The program.
        metric: A `Metric`, or any function of (gold, prediction).
        lm: The language model that examples are run with.
        adapter: How prompts are written and answers read.
        trace: Whether prompts and answers are kept.
        workers: How many workers share the limits.
    """
    import cloudpickle

    files = [
        str(module.__file__)
        for name, module in list(sys.modules.items())
        if name.startswith("_goldassay_workspace_") and getattr(module, "__file__", None)
    ]
    try:
        made: bytes = cloudpickle.dumps(
            (sys.path, files, cloudpickle.dumps((program, metric, lm, adapter, trace, workers)))
        )
    except Exception as error:
        raise GoldassayError(
            f"this program cannot travel to another process ({type(error).__name__}: {error}); use --engine threads"
        ) from error
    return made


class Worker:
    """Measures one example after another, or several at once, far from the run's own process."""

    def __init__(self, packed: bytes) -> None:
        import cloudpickle
        import dspy

        from goldassay import workspace
        from goldassay.lm import limits
        from goldassay.lm.kept import types_kept
        from goldassay.running.budget import Meter
        from goldassay.running.example import Measuring
        from goldassay.running.secrets import models

        paths, files, inner = cloudpickle.loads(packed)
        sys.path += [path for path in paths if path not in sys.path]
        for file in [Path(file) for file in files if os.path.isfile(file)]:
            with suppress(Exception):  # the run may have loaded files that this program does not need
                workspace.load(file)
        program, metric, lm, adapter, trace, workers = cloudpickle.loads(inner)
        limits.divide(workers)
        self.gold: dict[int, Any] = {}
        gold: Any = self.gold
        self.measuring = Measuring(program, gold, metric, trace)
        self.meter = Meter()
        self.watch = ExitStack()  # kept, since what leaves it is watched no more
        self.loose = self.watch.enter_context(watching(models(program, metric, lm), self.meter))
        self.watch.enter_context(types_kept())
        self.around = {name: value for name, value in (("lm", lm), ("adapter", adapter)) if value is not None}
        self.trace = trace
        self._dspy = dspy

    def built(self) -> None:
        """Nothing: an answer says that the worker is there."""

    def measure(self, index: int, example: object) -> tuple[Any, dict[str, Any], str, dict[str, Any]]:
        """The evidence and the row of an example, why all others will fail too (or nothing), and what was used so far.

        ``loose`` among the latter is what no example could be charged with.
        """
        self.gold[index] = example
        try:
            account = Account(self.meter, self.trace)
            around: dict[str, Any] = {**self.around, ACCOUNT: account, "usage_tracker": account}
            with self._dspy.context(**around):
                evidence, row = self.measuring(index, account)
        finally:
            del self.gold[index]
        return evidence, row, self.measuring.hopeless, self.used()

    def used(self) -> dict[str, Any]:
        """What the models of this worker were asked so far."""
        return {**self.meter.state(), "unpriced": self.meter.unpriced, "loose": self.loose.usage}


def serve(connection: Connection) -> None:
    """Answer requests until the other end closes: ``(number, index, example)`` in, ``(number, answer, error)`` out."""
    import cloudpickle

    try:
        worker = Worker(connection.recv_bytes())
    except Exception as error:  # noqa: BLE001  it is raised where the run is
        connection.send_bytes(cloudpickle.dumps((READY, None, error)))
        return
    connection.send_bytes(cloudpickle.dumps((READY, None, None)))
    sending = threading.Lock()
    at_work = ThreadPoolExecutor(MOST)  # a thread is made where none is free: examples that hang keep theirs

    def answer(number: int, index: int, example: Any) -> None:
        try:
            reply: tuple[int, Any, BaseException | None] = (number, worker.measure(index, example), None)
        except BaseException as error:  # noqa: BLE001  it is raised where the run is
            reply = (number, None, error)
        body = cloudpickle.dumps(reply)
        with sending:
            connection.send_bytes(body)

    while True:
        try:
            number, index, example = cloudpickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        at_work.submit(contextvars.Context().run, answer, number, index, example)


def main(arguments: Sequence[str]) -> None:
    """Serve on an inherited socket, whose number is the argument; what a program prints goes to standard error."""
    os.dup2(2, 1)
    serve(Connection(int(arguments[0])))
    os._exit(0)  # threads that hang must not keep the process

"""Where examples are worked on outside this process: the same measuring, in a process or an actor of its own.

What travels there is made by `pack`: the program, the metric, the model and the adapter (by cloudpickle, so what a
script defines travels too), and the files of the workspace that they come from, which are loaded there by their path.
Models are not copied: a local model is loaded there once, by its name. Examples travel there and rows back, as many in
one message as there are at the time.
"""

from __future__ import annotations

import contextvars
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import GoldassayError, said
from goldassay.progress import Bar
from goldassay.running.calls import Account, watching
from goldassay.running.example import Measuring, Program
from goldassay.running.loop import Abandoned, Feed, Loop

BEAT = 0.2  # seconds after which a worker with nothing to show shows that it is there
LINGER = 0.01  # seconds for which a busy worker that has done something waits for more to tell with it
ELSE = "use --engine threads"
Given = list[tuple[int, Any]]  # examples and their indices


@dataclass
class Reply:
    """What a worker has done since it was asked last.

    ``given_back`` are indices that it has not worked on, or that broke the run, as ``error`` says; ``hopeless`` says
    why all others will fail too, or nothing; ``used`` what its models were asked so far, ``loose`` for no example.
    """

    rows: list[dict[str, Any]]
    given_back: list[int]
    error: BaseException | None
    hopeless: str
    used: dict[str, Any]


def pack(program: Program, metric: object, lm: object, adapter: object, trace: bool, timeout: float | None) -> bytes:
    """All that a worker needs, as bytes.

    Args:
        program: The program.
        metric: A `Metric`, or any function of (gold, prediction).
        lm: The language model that examples are run with.
        adapter: How prompts are written and answers read.
        trace: Whether prompts and answers are kept.
        timeout: Seconds that one example may take.
    """
    import cloudpickle

    files = [
        str(module.__file__)
        for name, module in list(sys.modules.items())
        if name.startswith("_goldassay_workspace_") and getattr(module, "__file__", None)
    ]
    try:
        inner = cloudpickle.dumps((program, metric, lm, adapter, trace, timeout))
        made: bytes = cloudpickle.dumps((sys.path, files, inner))
    except Exception as error:
        raise GoldassayError(
            f"this program cannot travel to another process ({type(error).__name__}: {error}); {ELSE}"
        ) from error
    return made


class Worker:
    """Measures examples far from the run's own process, ``width`` of them at once, by a loop of its own.

    ``tell`` asks the limiters of the run (`goldassay.lm.limits.LimiterServer.tell`, without the worker).
    """

    def __init__(self, packed: bytes, width: int, tell: Callable[..., Any]) -> None:
        import cloudpickle
        import dspy

        from goldassay import workspace
        from goldassay.running.budget import Meter
        from goldassay.running.secrets import models

        paths, files, inner = cloudpickle.loads(packed)
        sys.path += [path for path in paths if path not in sys.path]
        for file in [Path(file) for file in files if os.path.isfile(file)]:
            with suppress(Exception):  # the run may have loaded files that this program does not need
                workspace.load(file)
        program, metric, lm, adapter, trace, timeout = cloudpickle.loads(inner)

        self.gold: dict[int, Any] = {}
        gold: Any = self.gold
        self.measuring = Measuring(program, gold, metric, trace)
        self.meter = Meter()
        self.watch = ExitStack()  # kept, since what leaves it is watched no more
        self.loose = self.watch.enter_context(watching(models(program, metric, lm), self.meter))
        self.given = Feed()
        self.done: SimpleQueue[dict[str, Any] | int] = SimpleQueue()
        self.error: BaseException | None = None
        loop = Loop(
            self.given,
            self._measure,
            lambda index, row: self._keep(row),
            bar=Bar(0, shown=False),
            total=metric.zero,
            timeout=timeout,
            late=self.measuring.timed_out,
            account=lambda: Account(self.meter, trace),
        )
        around = {name: value for name, value in (("lm", lm), ("adapter", adapter)) if value is not None}
        with dspy.context(**around):
            context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(loop.work, width), daemon=True).start()

    def built(self) -> None:
        """Nothing: an answer says that the worker is there."""

    def exchange(self, body: bytes) -> bytes:
        """Take examples to work on and tell what is done, pickled: ``(Given, stop)`` in, a `Reply` or an error out.

        With ``stop`` nothing more is begun, and what was not begun is given back. What a prediction holds that cannot
        travel is told in words, as in the run's folder.
        """
        import cloudpickle

        try:
            given, stop = cloudpickle.loads(body)
        except Exception as error:  # noqa: BLE001  whatever a class of gold's does there
            return pickled(GoldassayError(f"gold cannot be read in another process ({said(error)}); {ELSE}"))
        reply = self._reply(given, stop)
        try:
            made: bytes = cloudpickle.dumps(reply)
        except Exception:  # noqa: BLE001  the same
            reply.rows = [json.loads(jsonl.dumps(row)) for row in reply.rows]
            made = cloudpickle.dumps(reply)
        return made

    def _reply(self, given: Given, stop: bool) -> Reply:
        for index, example in given:
            self.gold[index] = example
            self.given.put(index)
        back = self.given.drained() if stop else []
        done: list[dict[str, Any] | int] = []
        with suppress(Empty):
            done.append(self.done.get(timeout=0 if back else BEAT))
            if len(self.given):
                time.sleep(LINGER)
            while True:
                done.append(self.done.get_nowait())
        rows = [one for one in done if isinstance(one, dict)]
        back += [one for one in done if isinstance(one, int)]
        used = {**self.meter.state(), "unpriced": self.meter.unpriced, "loose": self.loose.usage}
        return Reply(rows, back, self.error, self.measuring.hopeless, used)

    def _measure(self, index: int, account: Account) -> Any:
        try:
            return self.measuring(index, account)
        except Abandoned:
            raise
        except BaseException as error:
            if index not in self.gold:  # it came back after its time, and its row was told
                raise Abandoned from None
            self.error = self.error or travels(error)
            self.done.put(index)
            raise

    def _keep(self, row: dict[str, Any]) -> None:
        self.gold.pop(row["index"], None)
        self.done.put(row)


def travels(error: BaseException) -> BaseException:
    """An error as it can be raised in another process: itself, or its words where it cannot be copied."""
    import cloudpickle

    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:  # noqa: BLE001  whatever its class does there
        return GoldassayError(said(error))
    return error


def pickled(error: BaseException | None) -> bytes:
    """An error, or that there is none, to be sent."""
    import cloudpickle

    made: bytes = cloudpickle.dumps(None if error is None else travels(error))
    return made


def serve(connection: Connection, limits: Connection, width: int) -> None:
    """Build a worker of what comes first, then answer until the other end closes (`Worker.exchange`).

    Limiters are asked over ``limits``, one question and one answer at a time.
    """
    asking = threading.Lock()

    def tell(*said: Any) -> Any:
        with asking:
            limits.send(said)
            return limits.recv()

    try:
        worker = Worker(connection.recv_bytes(), width, tell)
    except Exception as error:  # noqa: BLE001  it is raised where the run is
        connection.send_bytes(pickled(error))
        return
    connection.send_bytes(pickled(None))
    gc.freeze()  # what was imported stays: collections need not walk it
    gc.set_threshold(100_000, 10, 10)
    with suppress(EOFError, OSError):
        while True:
            connection.send_bytes(worker.exchange(connection.recv_bytes()))


def main(arguments: Sequence[str]) -> None:
    """Serve on two inherited sockets: their numbers and the width are the arguments.

    What a program prints goes to standard error.
    """
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, lambda *_: None)
    connection, limits, width = map(int, arguments)
    serve(Connection(connection), Connection(limits), width)
    os._exit(0)  # threads that hang must not keep the process

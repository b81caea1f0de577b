"""Where examples are worked on outside this process: the same measuring, in a process or an actor of its own.

What travels there is made by `pack`: the program, the metric, the model and the adapter (by cloudpickle, so what a
script defines travels too), and the files of the workspace that they come from, which are loaded there by their path.
Models are not copied: a local model is loaded there once, by its name. One example travels there and one row back.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError

READY = -1  # the number of a worker's first answer: it is built, or why not


def pack(program: Any, metric: Any, lm: Any, adapter: Any, trace: bool) -> bytes:
    """All that a worker needs, as bytes."""
    import cloudpickle

    files = [
        str(module.__file__)
        for name, module in list(sys.modules.items())
        if name.startswith("_goldassay_workspace_") and getattr(module, "__file__", None)
    ]
    try:
        made: bytes = cloudpickle.dumps((files, cloudpickle.dumps((program, metric, lm, adapter, trace))))
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
        from goldassay.running.budget import Meter
        from goldassay.running.example import Measuring, Recorder

        files, inner = cloudpickle.loads(packed)
        for file in files:
            if Path(file).is_file():
                workspace.load(Path(file))
        program, metric, lm, adapter, trace = cloudpickle.loads(inner)
        self.gold: dict[int, Any] = {}
        gold: Any = self.gold
        self.measuring = Measuring(program, gold, metric, trace)
        self.meter = Meter()
        self.around: dict[str, Any] = {"callbacks": [self.meter, *([Recorder()] if trace else [])]}
        self.around |= {name: value for name, value in (("lm", lm), ("adapter", adapter)) if value is not None}
        self._dspy = dspy

    def built(self) -> None:
        """Nothing: an answer says that the worker is there."""

    def measure(self, index: int, example: Any) -> tuple[Any, dict[str, Any], str, float]:
        """The evidence and the row of an example, why all others will fail too (or nothing), and the money so far."""
        self.gold[index] = example
        try:
            with self._dspy.context(**self.around), self._dspy.track_usage() as tracker:
                evidence, row = self.measuring(index, tracker.usage_data)
        finally:
            del self.gold[index]
        return evidence, row, self.measuring.hopeless, self.meter.usd


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
        threading.Thread(target=answer, args=(number, index, example), daemon=True).start()


def main(arguments: Sequence[str]) -> None:
    """Serve on an inherited socket, whose number is the argument; what a program prints goes to standard error."""
    os.dup2(2, 1)
    serve(Connection(int(arguments[0])))
    os._exit(0)  # threads that hang must not keep the process

"""Where examples are worked on: in threads of this process, in processes, or in actors of Ray.

An engine is what the loop calls for each example (`Measuring` is the one for threads). The loop, the folder, the
resume, the timeouts and the early stops are the same, and so are the rows, to the last bit: only where an example is
measured differs. A process or an actor that dies is started again, and its examples are tried once more.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

from goldassay.exceptions import GoldassayError, MissingExtra
from goldassay.running.budget import Meter
from goldassay.running.calls import Account
from goldassay.running.example import Measuring, failed_with
from goldassay.running.worker import READY
from goldassay.score import Evidence

ENGINES = ("threads", "processes", "ray")
TRIES = 2  # of an example whose worker died
STORE = 100 * 2**20  # bytes of Ray's object store: rows are small
Answer = tuple[Evidence, dict[str, Any], str, dict[str, Any]]


class Died(Exception):
    """The process or actor that worked on an example is gone."""


class Remote(Protocol):
    """A worker somewhere else."""

    def ask(self, index: int, example: object) -> Answer:
        """What came of an example; `Died` where the worker is gone."""
        ...

    def ready(self) -> None:
        """Wait until it is built; what stands in the way is raised."""

    def close(self) -> None:
        """End it."""


class Elsewhere:
    """Measures examples in several remote workers; called by many threads of the loop at once."""

    def __init__(self, here: Measuring, start: Callable[[], Remote], workers: int, meter: Meter) -> None:
        self.here, self.start, self.meter = here, start, meter
        self.workers: list[Remote] = [start() for _ in range(workers)]
        self.turn, self.lock = itertools.count(), threading.Lock()
        self.spent: dict[Remote, dict[str, Any]] = {}
        self.hopeless = ""
        try:
            for worker in self.workers:
                worker.ready()
        except BaseException:
            self.close()
            raise

    def __call__(self, index: int, account: Account) -> tuple[Evidence, dict[str, Any]]:
        """Measure one example somewhere, if the budget allows it; what it costs stands in its row."""
        self.meter.check()
        started = time.perf_counter()
        for _ in range(TRIES):
            place = next(self.turn) % len(self.workers)
            worker = self.workers[place]
            try:
                evidence, row, hopeless, spent = worker.ask(index, self.here.gold[index])
            except Died:
                self._again(place, worker)
                continue
            with self.lock:
                self.hopeless = self.hopeless or hopeless
                if spent["calls"] >= self.spent.get(worker, spent)["calls"]:  # answers may overtake each other
                    self.spent[worker] = spent
                self.meter.set(self.spent.values())
            return evidence, row
        lost = failed_with(f"WorkerDied: the process that worked on this example died, {TRIES} times")
        return self.here.row(index, lost, time.perf_counter() - started)

    @property
    def loose(self) -> Iterable[dict[str, int]]:
        """What each worker could charge no example with."""
        return [one["loose"] for one in self.spent.values()]

    def timed_out(self, index: int, seconds: float) -> tuple[Evidence, dict[str, Any]]:
        """The row of an example that did not come back."""
        return self.here.timed_out(index, seconds)

    def _again(self, place: int, dead: Remote) -> None:
        with self.lock:
            if self.workers[place] is dead:
                dead.close()
                self.workers[place] = self.start()
                self.workers[place].ready()

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers:
            worker.close()


class Process:
    """A process of this machine, asked over a socket; it works on several examples at once."""

    def __init__(self, packed: bytes) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            call = f"from goldassay.running.worker import main; main(['{theirs.fileno()}'])"
            command = [sys.executable, "-c", call]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self.connection = Connection(ours.detach())
        self.numbers, self.lock = itertools.count(), threading.Lock()
        self.gone = False
        self.built: Future[Any] = Future()
        self.waiting: dict[int, Future[Any]] = {READY: self.built}
        self._send(packed)
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, index: int, example: object) -> Answer:
        import cloudpickle

        number, future = next(self.numbers), Future[Any]()
        body = cloudpickle.dumps((number, index, example))
        with self.lock:
            if self.gone:
                raise Died
            self.waiting[number] = future
        try:
            self._send(body)
        except OSError:
            raise Died from None
        found: Answer = future.result()
        return found

    def ready(self) -> None:
        """Wait until it is built; what stands in the way is raised."""
        try:
            self.built.result()
        except Died:
            raise GoldassayError("a process of the run ended before it began; see its message above") from None

    def _send(self, body: bytes) -> None:
        with self.lock:
            self.connection.send_bytes(body)

    def _listen(self) -> None:
        import cloudpickle

        with suppress(EOFError, OSError):
            while True:
                number, answer, error = cloudpickle.loads(self.connection.recv_bytes())
                future = self.waiting.pop(number)
                future.set_exception(error) if error is not None else future.set_result(answer)
        with self.lock:
            self.gone = True
            lost = list(self.waiting.values())
            self.waiting.clear()
        for future in lost:
            future.set_exception(Died())

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        with suppress(OSError):
            self.connection.close()


class Actor:
    """An actor of Ray; it works on several examples at once."""

    def __init__(self, packed: bytes, at_once: int) -> None:
        import ray

        from goldassay.running.worker import Worker

        kind: Any = ray.remote(Worker)
        self.actor: Any = kind.options(max_concurrency=max(1, at_once), num_cpus=0).remote(packed)

    def ask(self, index: int, example: object) -> Answer:
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            found: Any = ray.get(self.actor.measure.remote(index, example))
            answer: Answer = found
            return answer
        except RayActorError:
            raise Died from None
        except RayTaskError as error:
            raise (error.cause if isinstance(error.cause, BaseException) else error) from None

    def ready(self) -> None:
        """Wait until it is built; what stands in the way is raised."""
        import ray
        from ray.exceptions import RayError

        try:
            ray.get(self.actor.built.remote())
        except RayError as error:
            raise GoldassayError(f"an actor of the run could not be made: {str(error).splitlines()[-1]}") from None

    def close(self) -> None:
        """End the actor."""
        import ray

        with suppress(Exception):  # it may be gone, and Ray too
            ray.kill(self.actor)


def join_ray(address: str | None) -> None:
    """Join a cluster, or start Ray on this machine: no statistics sent, no dashboard, our signal handlers kept."""
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    if ray.is_initialized():
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    own: dict[str, Any] = {} if address else {"include_dashboard": False, "object_store_memory": STORE}
    own |= {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    try:
        ray.init(address=address, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise GoldassayError(f"Ray at {address or 'this machine'} cannot be joined: {error}") from None
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


def engine(
    name: str,
    here: Measuring,
    packed: Callable[[int], bytes],
    *,
    threads: int,
    workers: int | None,
    meter: Meter,
    ray_address: str | None = None,
) -> Measuring | Elsewhere:
    """What the loop calls for each example, by the engine's name.

    ``threads`` examples are in flight at once, in ``workers`` processes or actors (default: as many as this process may
    use processors, and no more than are in flight).

    Args:
        here: What measures an example in this process.
        packed: All that a worker needs, as bytes, by the number of workers.
        meter: The budget of the run.
        ray_address: The Ray cluster to join; this machine without it.
    """
    if name not in ENGINES:
        raise GoldassayError(f"no engine {name!r}; there are {', '.join(ENGINES)}")
    if name == "threads":
        return here
    count = workers or min(threads, len(_processors()))
    if count < 1:
        raise GoldassayError(f"a run needs at least one worker, not {count}")
    body = packed(count)
    if name == "processes":
        return Elsewhere(here, lambda: Process(body), count, meter)
    join_ray(ray_address)
    return Elsewhere(here, lambda: Actor(body, -(-threads // count) + 1), count, meter)


def _processors() -> Sequence[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)

"""The engines: threads of this process, or actors of Ray on this machine or on a cluster; the rows are the same.

Threads take the next example until none is left, or until it makes no sense to continue. With ``ray`` each of them
waits for an actor: the loop, the folder and the stops are the same. Ray places the actors, restarts one that dies and
runs its examples once more. An example whose actor dies twice runs alone in a new actor, so that an example that
kills its process takes no other example with it.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import cloudpickle
import dspy

from goldassay._support import jsonl
from goldassay._support.exceptions import GoldassayError, one_line, optional
from goldassay.core.fields import JsonObject
from goldassay.core.metric import failed_with
from goldassay.models.lm import share_among
from goldassay.running.account import Account
from goldassay.running.budget import Meter
from goldassay.running.example import Measuring
from goldassay.running.rows import Row, Usage
from goldassay.running.threads import CANCELS, Cancelled, start

if TYPE_CHECKING:
    from goldassay.running.options import RunOptions

T = TypeVar("T")
PATIENCE = 2.0  # seconds for examples in flight when a run is interrupted; a call that hangs is left behind
FIRST = 5  # equal failures at the start after which a run stops
ROWS_FOR_A_SHARE = 20  # rows before a share of failures means anything
STORE = 100 * 2**20  # bytes of Ray's object store: rows are small
DIED = "WorkerDied: the process that ran this example died, also when the example was alone"


@dataclass
class Failures:
    """Whether a run still makes sense, as its rows come in.

    It does not if the first `FIRST` examples fail with the same error, or if more than ``most`` (a share) of at least
    `ROWS_FOR_A_SHARE` fail. With ``most=1`` everything may fail. An endpoint that stopped answering ends a run by its
    `Meter`, whatever ``most`` is.

    >>> failures = Failures(0.5)
    >>> [failures.add(f"nl-{i}", "ValueError: no") for i in range(5)][-1]
    'the first 5 examples failed alike: ValueError: no'
    """

    most: float = 0.5
    worked: int = 0
    """How many went well in an earlier part of the run."""
    rows: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, error: str) -> str:
        """Count a row, with its error if it failed; the reason to stop the run, or nothing."""
        self.rows += 1
        self.errors += [(name, error)] if error else []
        failed = len(self.errors)
        if self.most >= 1 or not error:
            return ""
        # what the predictions were does not count
        messages = {message.partition("; found ")[0] for _, message in self.errors[:FIRST]}
        if self.rows == failed == FIRST and not self.worked and len(messages) == 1:
            return f"the first {FIRST} examples failed alike: {error}"
        if self.rows >= ROWS_FOR_A_SHARE and failed > self.most * self.rows:
            share = f"{failed} of {self.rows} examples failed, more than `max_failures={self.most:g}`"
            return f"{share}; the last, {name}: {error}"
        return ""

    @property
    def all(self) -> str:
        """A message if everything failed and that is an error; else nothing."""
        if self.most >= 1 or self.worked or not self.rows or len(self.errors) < self.rows:
            return ""
        what = "the one example failed:" if self.rows == 1 else f"all {self.rows} examples failed; the first,"
        return f"{what} {': '.join(self.errors[0])}"


def work_through(
    todo: Iterable[int],
    make: Callable[[int], T],
    keep: Callable[[T], str],
    *,
    threads: int,
    show: Callable[[], object] = lambda: None,
) -> str:
    """Make and keep a row for each index of ``todo``; the reason why the loop stopped early, or nothing.

    ``make`` runs in ``threads`` threads, each in a copy of the caller's context, so DSPy's settings are what they are
    outside. ``keep`` runs in one thread at a time and returns a reason to stop, or nothing. ``show`` is called every
    tenth of a second. Whatever ``make`` or ``keep`` raises stops the loop and is raised here, after the rows in flight
    are kept; after Ctrl-C, and where an asynchronous form is cancelled, they have `PATIENCE` seconds.
    """
    queue = deque(todo)
    stop = threading.Event()
    closed = threading.Event()
    lock = threading.Lock()

    def work() -> str:
        try:
            while not stop.is_set():
                try:
                    index = queue.popleft()
                except IndexError:
                    break
                row = make(index)
                with lock:
                    if closed.is_set():
                        break
                    if reason := keep(row):
                        stop.set()
                        return reason
        except BaseException:
            stop.set()
            raise
        return ""

    workers = [start(work)[1] for _ in range(threads)]
    try:
        while wait(workers, 0.1).not_done:
            show()
            cancel = CANCELS.get()
            if cancel is not None and cancel.is_set():
                raise Cancelled
    except KeyboardInterrupt:
        stop.set()
        wait(workers, PATIENCE)
        raise
    finally:
        with lock:
            closed.set()
    show()
    return next(filter(None, [worker.result() for worker in workers]), "")


class Interrupted(Exception):
    """A program raised ``KeyboardInterrupt`` in an actor of Ray."""


class Worker:
    """Measures examples in one of several actors; ``packed`` comes from `pack`."""

    def __init__(self, packed: bytes, workers: int) -> None:
        share_among(workers)
        path, inner = cloudpickle.loads(packed)
        sys.path += [folder for folder in path if folder not in sys.path]
        self.measuring, self.context = cloudpickle.loads(inner)

    def measure(self, index: int, example: dspy.Example) -> tuple[Row, JsonObject, Usage, list[tuple[str, list[str]]]]:
        """The row, what the budget lost, calls that belong to no row, and which models answered.

        Raises:
            Interrupted: The program was interrupted; any other error of a run is raised as it is, or by its message.
        """
        meter = Meter()
        outside_rows = Account(meter)
        with dspy.context(**self.context):
            try:
                row = self.measuring(index, example, Account(meter, self.measuring.trace, outside_rows))
            except KeyboardInterrupt:
                raise Interrupted from None  # Ray takes the program's own Ctrl-C for its own, and hangs or retries
            except Exception as error:
                try:
                    cloudpickle.loads(cloudpickle.dumps(error))
                except Exception:  # noqa: BLE001  its class cannot be sent to another process
                    error = GoldassayError(one_line(error))
                raise error from None
        try:
            cloudpickle.dumps(row)
        except Exception:  # noqa: BLE001  what cannot be sent is sent as JSON, as in the run's folder
            row = Row.of(json.loads(jsonl.dumps(row.state())))
        used = {**meter.used, "unpriced": meter.unpriced}
        outcomes: list[tuple[str, list[str]]] = [(model, []) for model in meter.answered]
        return row, used, outside_rows.usage, [*outcomes, *meter.silent.items()]


class Cluster:
    """Actors that measure examples: called like `Measuring`, from as many threads as examples are in flight.

    Raises:
        GoldassayError: An actor cannot be started, or the program cannot be sent to it.
        MissingExtra: Ray is not installed.
    """

    def __init__(self, measuring: Measuring, context: Mapping[str, object], options: RunOptions, width: int) -> None:
        packed = pack(measuring, context)
        ray = self.ray = join_ray(options.ray_address)
        self.measuring = measuring
        self.closed = False
        self.count = min(width, options.workers or int(ray.cluster_resources().get("CPU", 1)))
        self.packed = ray.put(packed)
        self.lock = threading.Lock()
        self.spare: object = None
        retries = {"max_restarts": -1, "max_task_retries": 1, "max_concurrency": -(-width // self.count)}
        self.actors = [self._actor(**retries) for _ in range(self.count)]
        self.free: SimpleQueue[object] = SimpleQueue()
        for number in range(width):
            self.free.put(self.actors[number % self.count])
        try:
            ray.get([actor.__ray_ready__.remote() for actor in self.actors])
        except ray.exceptions.RayError as error:
            self.close()
            raise GoldassayError(f"a Ray actor cannot be started: {str(error).splitlines()[-1]}") from None

    def _actor(self, **options: Any) -> Any:
        options |= {"num_cpus": 0, "scheduling_strategy": "SPREAD"}
        return self.ray.remote(Worker).options(**options).remote(self.packed, self.count)

    def __call__(self, index: int, example: dspy.Example, account: Account) -> Row:
        """The row of an example; ``account`` gets what the actor used."""
        account.meter.check()
        actor = self.free.get()
        try:
            answer = self._answer(actor, index, example)
        except self.ray.exceptions.RayActorError:
            answer = self._in_spare_actor(index, example)
        finally:
            self.free.put(actor)
        if answer is None:
            return self.measuring.row(index, example, failed_with(DIED), 0.0)
        row: Row
        row, used, outside_rows, outcomes = answer
        account.meter.add(**used)
        for model, errors in outcomes:
            account.meter.add_outcome(model, *errors)
        if account.run is not None:
            account.run.add(outside_rows)
        return row

    def _answer(self, actor: Any, index: int, example: dspy.Example) -> Any:
        try:
            return self.ray.get(actor.measure.remote(index, example))
        except self.ray.exceptions.RayTaskError as error:  # what the measuring raised
            cause = error.cause
            if isinstance(cause, Interrupted):
                raise KeyboardInterrupt from None
            raise (cause if isinstance(cause, BaseException) else GoldassayError(str(error).splitlines()[-1])) from None
        except TypeError as error:
            record = example.get("id", index)
            raise GoldassayError(
                f"gold example {record} cannot be sent to a worker ({one_line(error)}); use `engine=threads`"
            ) from None

    def _in_spare_actor(self, index: int, example: dspy.Example) -> Any:
        """The answer of an actor that works on no other example; nothing if it dies too."""
        with self.lock:
            if self.closed:
                raise GoldassayError("the run has ended")
            if self.spare is None:
                self.spare = self._actor()
                self.actors.append(self.spare)
            try:
                return self._answer(self.spare, index, example)
            except self.ray.exceptions.RayActorError:
                self.spare = None
                return None

    def close(self) -> None:
        """End all actors."""
        self.closed = True
        for actor in self.actors:
            with suppress(Exception):  # Ray may be gone
                self.ray.kill(actor)


def pack(measuring: Measuring, context: Mapping[str, object]) -> bytes:
    """The program, its metric and its context as bytes for a worker.

    Workspace modules are sent by value, so that nodes need no copy of their files.

    Raises:
        GoldassayError: Something in them cannot be sent to another process.
    """
    modules = [module for name, module in sys.modules.items() if "_goldassay_workspace_" in name]
    with ExitStack() as stack:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        try:
            packed: bytes = cloudpickle.dumps((sys.path, cloudpickle.dumps((measuring, context))))
        except Exception as error:
            raise GoldassayError(
                f"this program cannot be sent to a worker ({type(error).__name__}: {error}); use `engine=threads`"
            ) from error
    return packed


def join_ray(address: str | None) -> Any:
    """Ray, once joined or started on this machine: no usage statistics, no dashboard, our signal handlers.

    Raises:
        MissingExtra: Ray is not installed.
        GoldassayError: It cannot be joined or started.
    """
    address = address or os.environ.get("RAY_ADDRESS")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = optional("ray", "ray")
    if ray.is_initialized():
        return ray
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    local = {} if address else {"include_dashboard": False, "object_store_memory": STORE}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise GoldassayError(f"Ray at {address or 'this machine'} cannot be joined: {error}") from None
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return ray

"""Where examples are worked on: in threads of this process, in processes, or in actors of Ray.

The run, its folder, the resume and the early stops are the same, and so are the rows, to the last bit: only the place
of the work differs. `goldassay.running.dealing` deals the examples out; all workers ask one limiter.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any
from uuid import uuid4

from goldassay.exceptions import GoldassayError, MissingExtra
from goldassay.running.budget import Meter
from goldassay.running.dealing import Died, Elsewhere
from goldassay.running.example import Measuring

ENGINES = ("threads", "processes", "ray")


class LimiterServer:
    """No limiter: each process has limits of its own (`goldassay.lm.limits`)."""

    def tell(self, *_: object) -> tuple[float, float]:
        return 0.0, 0.0

    def gone(self, worker: object) -> None:
        pass


STORE = 100 * 2**20  # bytes of Ray's object store: rows are small


class Process:
    """A process of this machine, asked over a socket."""

    def __init__(self, packed: bytes, width: int, limits: LimiterServer) -> None:
        (ours, theirs), (asked, asking) = socket.socketpair(), socket.socketpair()
        with theirs, asking:
            files = [theirs.fileno(), asking.fileno()]
            call = f"from goldassay.running.worker import main; main({[*map(str, files), str(width)]})"
            self.process = subprocess.Popen(
                [sys.executable, "-c", call],
                pass_fds=files,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the run's own process to hear, which ends this one
            )
        self.connection = Connection(ours.detach())
        threading.Thread(target=self._limit, args=(limits, Connection(asked.detach())), daemon=True).start()
        with suppress(OSError):  # it ended at once: `ready` says so
            self.connection.send_bytes(packed)

    def exchange(self, body: bytes, patience: float | None) -> bytes:
        """Hand it examples and take what is done."""
        try:
            self.connection.send_bytes(body)
            if patience is not None and not self.connection.poll(patience):
                raise Died
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            raise Died from None

    def ready(self) -> None:
        """Wait until it is built; what stands in the way is raised."""
        import cloudpickle

        try:
            error = cloudpickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            raise GoldassayError("a process of the run ended before it began; see its message above") from None
        if error is not None:
            raise error

    def _limit(self, limits: LimiterServer, asked: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                asked.send(limits.tell(self, *asked.recv()))
        limits.gone(self)

    def close(self) -> None:
        """End the process, whatever it is doing; a thread that waits for it hears that."""
        self.process.kill()
        self.process.wait()


class Actor:
    """An actor of Ray."""

    def __init__(self, packed: bytes, width: int, limits: Any) -> None:
        import ray

        from goldassay.running.worker import Worker

        kind: Any = ray.remote(Worker)
        self.limits, self.name = limits, uuid4().hex
        self.actor: Any = kind.options(num_cpus=0).remote(packed, width, asks(limits, self.name))

    def exchange(self, body: bytes, patience: float | None) -> bytes:
        """Hand it examples and take what is done."""
        import ray
        from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

        try:
            found: Any = ray.get(self.actor.exchange.remote(body), timeout=patience)
            answer: bytes = found
            return answer
        except (RayActorError, GetTimeoutError):
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
            self.limits.gone.remote(self.name)


def asks(limits: Any, worker: str) -> Callable[..., Any]:
    """What asks an actor that is a `LimiterServer`, for one worker."""

    def tell(*said: Any) -> Any:
        import ray

        return ray.get(limits.tell.remote(worker, *said))

    return tell


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
    log = logging.getLogger("ray")
    level = log.level
    log.setLevel(logging.ERROR)  # it tells of its defaults before it reads what follows
    own |= {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    try:
        ray.init(address=address, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise GoldassayError(f"Ray at {address or 'this machine'} cannot be joined: {error}") from None
    finally:
        log.setLevel(level)
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


def engine(
    name: str,
    here: Measuring,
    packed: Callable[[], bytes],
    *,
    threads: int,
    workers: int | None,
    meter: Meter,
    timeout: float | None = None,
    ray_address: str | None = None,
) -> Measuring | Elsewhere:
    """What the loop calls for each example, by the engine's name.

    ``threads`` examples are in flight at once, in ``workers`` processes or actors: no more than are in flight, by
    default as many as this process may use processors.

    Args:
        here: What measures an example in this process.
        packed: Makes all that a worker needs, as bytes.
        meter: The budget of the run.
        timeout: Seconds that one example may take.
        ray_address: The Ray cluster to join; this machine without it.
    """
    if name not in ENGINES:
        raise GoldassayError(f"no engine {name!r}; there are {', '.join(ENGINES)}")
    if name == "threads":
        return here
    count = min(threads, len(_processors()) if workers is None else workers)
    if count < 1:
        raise GoldassayError(f"a run needs at least one worker, not {count}")
    widths = [threads // count + (place < threads % count) for place in range(count)]
    body = packed()
    if name == "processes":
        limits = LimiterServer()
        return Elsewhere(here, lambda width: Process(body, width, limits), widths, meter, timeout)
    join_ray(ray_address)
    import ray

    kind: Any = ray.remote(LimiterServer)
    server = kind.options(num_cpus=0).remote()  # goes when nothing holds it any more
    return Elsewhere(here, lambda width: Actor(body, width, server), widths, meter, timeout)


def _processors() -> Sequence[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)

"""The loop: threads that take the next example until none is left. Linear: nothing is summed twice."""

from __future__ import annotations

import contextvars
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import dspy

from goldassay.lm import local as truncation
from goldassay.measure import failed
from goldassay.running.folder import Writer
from goldassay.running.guarding import failure
from goldassay.running.progress import Bar
from goldassay.running.trace import recording
from goldassay.score import Evidence

FACETS = ("language", "document", "strata")  # fields of a gold example that its row repeats


class Loop:
    """Fills ``rows`` (index → row) with what is missing in it.

    Each worker runs in a copy of the caller's context, so dspy's settings, its call id and every other context
    variable are what they are outside; what a worker sets stays in it.
    """

    def __init__(
        self,
        program: Any,
        gold: Sequence[Any],
        metric: Any,
        rows: dict[int, dict[str, Any]],
        writer: Writer | None,
        progress: bool,
        trace: bool = False,
    ) -> None:
        self.program, self.gold, self.metric, self.rows, self.writer = program, gold, metric, rows, writer
        self.trace = trace
        self.bar = Bar(len(gold), len(rows), progress)
        self.total = metric.zero  # what the progress bar shows; the run folds its rows in their order
        for row in rows.values() if self.bar.shown else ():
            self.total = self.total + metric.zero.from_state(row["tallies"])
        # Taking from a deque and setting in a dict are safe between threads; a lock here makes them queue for it.
        self.todo = deque(index for index in range(len(gold)) if index not in rows)
        self.lock, self.stop, self.closed = threading.Lock(), threading.Event(), False
        self.broken: BaseException | None = None

    def work(self, threads: int) -> None:
        """Run until done; what is not an Exception in a worker (a spent budget) stops all and is raised here."""
        workers = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._take,), daemon=True)
            for _ in range(threads)
        ]
        with self.bar:
            try:
                for worker in workers:
                    worker.start()
                for worker in workers:
                    while worker.is_alive():
                        worker.join(0.1)
                        self.bar.show(len(self.rows), self.total)
            except KeyboardInterrupt:
                self.stop.set()
                patience = time.monotonic() + 2.0  # for what is in flight; a call that hangs is left behind
                for worker in workers:
                    worker.join(max(0.0, patience - time.monotonic()))
                raise
            finally:
                with self.lock:
                    self.closed = True
            self.bar.show(len(self.rows), self.total)
        if self.broken is not None:
            raise self.broken

    def _take(self) -> None:
        try:
            with dspy.track_usage() as tracker:
                for index in self._next():
                    example = self.gold[index]
                    with recording() as calls:
                        evidence, row = measured(self.program, example, index, self.metric, tracker.usage_data)
                    if self.trace:
                        row |= traced(example, calls)
                    if self.writer or self.bar.shown:
                        self._show(index, row, evidence)
                    elif not self.closed:
                        self.rows[index] = row
        except BaseException as error:  # noqa: BLE001  what stops a worker must stop the run, and be seen
            self.broken = self.broken or error
            self.stop.set()

    def _show(self, index: int, row: dict[str, Any], evidence: Evidence) -> None:
        """Write the row and add to what the bar shows, one worker at a time."""
        with self.lock:
            if self.closed:
                return
            if self.writer:
                self.writer.row(row)
            self.rows[index] = row
            if self.bar.shown:
                self.total = self.total + evidence

    def _next(self) -> Iterator[int]:
        while not self.stop.is_set():
            try:
                yield self.todo.popleft()
            except IndexError:
                return


def measured(
    program: Any, example: Any, index: int, metric: Any, usage: dict[str, list[dict[str, Any]]]
) -> tuple[Evidence, dict[str, Any]]:
    """Run one example and measure what came out; ``usage`` is where this thread's tracker notes billed calls."""
    usage.clear()
    cut = truncation.watch()
    started = time.perf_counter()
    try:
        made = program(**example.inputs())
        pred = made if isinstance(made, dspy.Prediction) else dspy.Prediction(output=made)
    except Exception as error:  # noqa: BLE001  whatever a program raises is a result of this example
        pred = failure(error)
    latency = time.perf_counter() - started
    name = str(example["id"]) if "id" in example else str(index)
    try:
        assessed = metric.assess(example, pred)
    except Exception as error:
        error.add_note(f"the metric raised this on example {name}")
        raise
    evidence = Evidence({key: found.tally for key, found in assessed.items()}, metric.weights)
    row: dict[str, Any] = {
        "index": index,
        "id": name,
        "score": float(evidence.value),
        "tallies": evidence.state(),
        "latency_s": round(latency, 6),
    }
    for key in FACETS:
        if example.get(key):
            row[key] = example[key]
    errors = {error: None for found in assessed.values() for error in found.errors}
    if errors:
        row["errors"] = [error.state() for error in errors]
    why = failed(pred)
    if why:
        row["error"] = why
    else:
        row["prediction"] = pred._store
    if usage:
        row["usage"] = billed(usage)
    if cut:
        row["truncated"] = True
    return evidence, row


def traced(example: Any, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """What a report shows of an example beside its result: inputs, gold, and each prompt with its raw answer."""
    found = {"inputs": example.inputs()._store, "gold": example.labels()._store}
    return {**found, "calls": calls} if calls else found


def billed(usage: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """Billed calls and tokens of one example; cache hits add none.

    >>> billed({"m": [{"prompt_tokens": 7, "completion_tokens": 2}, {"prompt_tokens": 5}]})
    {'calls': 2, 'prompt_tokens': 12, 'completion_tokens': 2}
    """
    entries = [entry for calls in usage.values() for entry in calls]
    return {
        "calls": len(entries),
        "prompt_tokens": sum(int(entry.get("prompt_tokens") or 0) for entry in entries),
        "completion_tokens": sum(int(entry.get("completion_tokens") or 0) for entry in entries),
    }

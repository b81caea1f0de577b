"""Evaluating a program on gold: linear, on threads, written row by row."""

from __future__ import annotations

import contextvars
import gc
import hashlib
import json
import platform
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from goldassay import __version__
from goldassay.exceptions import ConventionError, GoldassayError
from goldassay.guarding import failure
from goldassay.lm import truncation
from goldassay.measure import failed, stored
from goldassay.metric import Metric
from goldassay.running.folder import Writer
from goldassay.running.progress import Bar
from goldassay.running.run import PLAIN, Run, rows_done
from goldassay.running.secrets import known
from goldassay.score import Evidence
from goldassay.tally import Mean
from goldassay.tuning.edits import fingerprint


def evaluate(
    program: Any,
    gold: Sequence[Any],
    metric: Any,
    *,
    lm: Any = None,
    adapter: Any = None,
    threads: int = 1,
    folder: Path | None = None,
    name: str = "run",
    progress: bool = True,
    seed: int = 0,
    settings: dict[str, Any] | None = None,
    resume: Path | None = None,
) -> Run:
    """Run ``program`` on every gold example and measure it.

    A program that raises becomes a row with its error, and its gold counts as missed. With ``folder`` every row is on
    disk as soon as it is made; Ctrl-C leaves a readable run there, and ``resume`` goes on with it (same gold, same
    metric, same program). Without ``folder`` the run stays in memory.

    >>> import dspy
    >>> from goldassay import Metric
    >>> from goldassay.measures import extraction
    >>> spans = [(3, 7, "TMP")]
    >>> gold = [dspy.Example(id=str(i), text="in 1800", entities=spans[:i]).with_inputs("text") for i in range(2)]
    >>> found = evaluate(lambda text: dspy.Prediction(entities=[(3, 7, "TMP")]), gold, Metric(extraction.StrictF1()))
    >>> found.values["strict_f1"]     # one true positive, one false positive
    0.6666666666666666
    """
    if not gold:
        raise GoldassayError("there are no gold examples to evaluate on")
    measured = metric if isinstance(metric, Metric) else _Plain(metric)
    kept = folder is not None or resume is not None
    about = _about(program, gold, measured, name, seed, settings or {}, lm, kept)
    rows: dict[int, dict[str, Any]] = {}
    if resume is not None:
        folder = resume
        earlier = Run.load(resume, measured)
        _same(earlier.about, about, resume)
        done = rows_done(earlier.rows)
        rows = {row["index"]: row for row in earlier.rows if row["index"] in done}
        about = {**about, "started": earlier.about.get("started"), "cost": earlier.cost}
    writer = Writer(folder, known(lm)) if folder is not None else None
    if writer:
        writer.about({**about, "status": "running"})
    started = time.perf_counter()
    loop = _Loop(program, gold, measured, rows, writer, progress)
    around = {key: value for key, value in (("lm", lm), ("adapter", adapter)) if value is not None}
    status = "interrupted"
    try:
        with dspy.context(**around), _few_collections():
            loop.work(min(threads, len(gold)))
        status = "finished"
    finally:
        about["cost"] = _cost(rows.values(), time.perf_counter() - started + float(about["cost"].get("seconds", 0.0)))
        about["finished"], about["status"] = _now(), status
        run = Run(about, [rows[index] for index in sorted(rows)], measured.zero, folder)
        if writer:
            writer.about({**about, **({} if not rows else _results(run))})
            writer.close()
    return run


@contextmanager
def _few_collections() -> Iterator[None]:
    """Rows stay alive, so young-object collections that walk them again and again only cost time (it grows with n)."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 100_000), before[1], before[2])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Loop:
    """Workers that take the next example until none is left."""

    def __init__(
        self,
        program: Any,
        gold: Sequence[Any],
        metric: Any,
        rows: dict[int, dict[str, Any]],
        writer: Writer | None,
        progress: bool,
    ) -> None:
        self.program, self.gold, self.metric, self.rows, self.writer = program, gold, metric, rows, writer
        self.total = metric.zero
        for row in rows.values():
            self.total = self.total + metric.zero.from_state(row["tallies"])
        self.bar = Bar(len(gold), len(rows), progress)
        self.todo = iter([index for index in range(len(gold)) if index not in rows])
        self.lock, self.stop = threading.Lock(), threading.Event()
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
                for worker in workers:
                    worker.join(2.0)
                raise
            self.bar.show(len(self.rows), self.total)
        if self.broken is not None:
            raise self.broken

    def _take(self) -> None:
        try:
            with dspy.track_usage() as tracker:
                for index in self._next():
                    evidence, row = _measured(self.program, self.gold[index], index, self.metric, tracker.usage_data)
                    with self.lock:
                        self.rows[index] = row
                        self.total = self.total + evidence
                    if self.writer:
                        self.writer.row(row)
        except BaseException as error:  # noqa: BLE001  what stops a worker must stop the run, and be seen
            self.broken = self.broken or error
            self.stop.set()

    def _next(self) -> Iterator[int]:
        while not self.stop.is_set():
            with self.lock:
                index = next(self.todo, None)
            if index is None:
                return
            yield index


def _measured(
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
    why = failed(pred)
    latency = time.perf_counter() - started
    assessed = metric.assess(example, pred)
    evidence = Evidence({key: found.tally for key, found in assessed.items()}, metric.weights)
    errors = {error: None for found in assessed.values() for error in found.errors}
    row: dict[str, Any] = {
        "index": index,
        "id": str(example["id"]) if "id" in example else str(index),
        "score": float(evidence.value),
        "tallies": evidence.state(),
        "latency_s": round(latency, 6),
    }
    for key in ("language", "document", "strata"):
        if example.get(key):
            row[key] = example[key]
    if errors:
        row["errors"] = [error.state() for error in errors]
    if why:
        row["error"] = why
    else:
        row["prediction"] = pred._store
    if usage:
        row["usage"] = _billed(usage)
    if cut:
        row["truncated"] = True
    return evidence, row


def _billed(usage: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """Billed calls and tokens of one example; cache hits add none."""
    entries = [entry for calls in usage.values() for entry in calls]
    return {
        "calls": len(entries),
        "prompt_tokens": sum(int(entry.get("prompt_tokens") or 0) for entry in entries),
        "completion_tokens": sum(int(entry.get("completion_tokens") or 0) for entry in entries),
    }


def _cost(rows: Any, seconds: float) -> dict[str, Any]:
    total = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    for row in rows:
        for key, count in row.get("usage", {}).items():
            total[key] += count
    return {**total, "seconds": round(seconds, 3)}


class _Plain:
    """A plain function as a metric: the mean of what it returns."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.weights = {PLAIN: 1.0}
        self.zero = Evidence({PLAIN: Mean()}, self.weights)
        self.measures: dict[str, Any] = {}
        self.targets: dict[str, float] = {}

    def assess(self, gold: Any, pred: Any) -> dict[str, Any]:
        from goldassay.measure import Assessment

        return {PLAIN: Assessment(Mean.of(0.0 if failed(pred) else float(self.function(gold, pred))))}


def _about(
    program: Any, gold: Sequence[Any], metric: Any, name: str, seed: int, settings: dict[str, Any], lm: Any, kept: bool
) -> dict[str, Any]:
    """What a run says of itself; hashes only where it is kept."""
    measures = {
        key: {
            "measure": stored(measure),
            "conventions": measure.conventions,
            "weight": metric.weights[key],
            "target": metric.targets.get(key),
        }
        for key, measure in metric.measures.items()
    } or {PLAIN: {"measure": PLAIN, "conventions": "mean of a plain function", "weight": 1.0, "target": None}}
    return {
        "schema": 1,
        "name": name,
        "settings": settings,
        "lm": str(lm.model) if lm is not None else None,
        "seed": seed,
        "versions": {"goldassay": __version__, "dspy": version("dspy"), "python": platform.python_version()},
        "gold": {"examples": len(gold), "sha256": gold_hash(gold) if kept else None},
        "program": {
            "class": type(program).__qualname__,
            "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
        },
        "measures": measures,
        "started": _now(),
        "cost": {},
    }


def gold_hash(gold: Sequence[Any]) -> str:
    """A hash of the gold examples, in their order."""
    digest = hashlib.sha256()
    for example in gold:
        record = example.toDict() if hasattr(example, "toDict") else example
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=False, default=str).encode())
    return digest.hexdigest()


def _same(earlier: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """A run is only gone on with as it was begun."""
    for what in ("gold", "program", "measures"):
        if json.loads(json.dumps(earlier.get(what))) != json.loads(json.dumps(now[what])):
            raise ConventionError(f"{folder} was begun with another {what.rstrip('s')}; start a new run")


def _results(run: Run) -> dict[str, Any]:
    return {
        "value": run.value,
        "values": run.values,
        "intervals": {key: [found.low, found.high] for key, found in run.intervals.items()},
        "by": run.by_stratum,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

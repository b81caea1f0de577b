"""Evaluating a program on gold: linear, on threads, written row by row."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy

from goldassay.exceptions import GoldassayError
from goldassay.metric import Metric
from goldassay.running.budget import Meter
from goldassay.running.corrected import JudgeLabels
from goldassay.running.folder import Writer
from goldassay.running.identity import about_run, gold_hash, now, refuse_another
from goldassay.running.loop import Loop
from goldassay.running.plain import Plain
from goldassay.running.run import Run, rows_done
from goldassay.running.secrets import known, models
from goldassay.running.trace import Recorder

__all__ = ["evaluate", "gold_hash"]


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
    trace: bool = True,
    judge_labels: JudgeLabels | None = None,
) -> Run:
    """Run ``program`` on every gold example and measure it.

    A program that raises becomes a row with its error, and its gold counts as missed. With ``folder`` every row is on
    disk as soon as it is made; Ctrl-C leaves a readable run there, and ``resume`` goes on with it (same gold, same
    metric, same program): missing rows are made, and those that failed are tried again. Without ``folder`` the run
    stays in memory. ``trace`` keeps inputs, gold, prompts and raw answers in the rows of the folder, for reports.
    ``metric`` is a `Metric`, or any function of (gold, prediction) that returns a number. ``judge_labels`` are what
    people say of some examples, by the name of a judged value (``{"relevance": {"q1": 0.5}}``): with them the run has
    corrected values beside the judge's (`goldassay.running.corrected`).

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
    if threads < 1:
        raise GoldassayError(f"a run needs at least one thread, not {threads}")
    measured = metric if isinstance(metric, Metric) else Plain(metric)
    called = lm if lm is not None else dspy.settings.lm
    kept = folder is not None or resume is not None
    about = about_run(program, gold, measured, name, seed, settings or {}, called, kept)
    if judge_labels:
        about["judge_labels"] = {name: dict(several) for name, several in judge_labels.items()}
    rows: dict[int, dict[str, Any]] = {}
    if resume is not None:
        folder = resume
        earlier = Run.load(resume, measured)
        refuse_another(earlier.about, about, resume)
        done = rows_done(earlier.rows)
        rows = {row["index"]: row for row in earlier.rows if row["index"] in done}
        about = {**about, "started": earlier.about.get("started"), "cost": earlier.cost}
    writer = Writer(folder, known(*models(program), called)) if folder is not None else None
    if writer:
        writer.about({**about, "status": "running"})
    before, started, meter = about["cost"], time.perf_counter(), Meter()
    traced = trace and writer is not None
    loop = Loop(program, gold, measured, rows, writer, progress, traced)
    around = {key: value for key, value in (("lm", lm), ("adapter", adapter)) if value is not None}
    status = "interrupted"
    try:
        with (
            dspy.context(**around, callbacks=[*dspy.settings.callbacks, meter, *([Recorder()] if traced else [])]),
            _few_collections(),
        ):
            loop.work(min(threads, len(gold)))
        status = "finished"
    finally:
        about["cost"] = _cost(rows.values(), before, time.perf_counter() - started, meter.usd)
        about["finished"], about["status"] = now(), status
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


def _cost(rows: Any, before: dict[str, Any], seconds: float, usd: float) -> dict[str, Any]:
    """Billed calls and tokens of the rows, seconds and money of this run and of what was done ``before``."""
    cost: dict[str, Any] = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    for row in rows:
        for key, count in row.get("usage", {}).items():
            cost[key] += count
    cost["seconds"] = round(seconds + float(before.get("seconds", 0.0)), 3)
    spent = usd + float(before.get("usd", 0.0))
    return {**cost, "usd": round(spent, 6)} if spent else cost


def _results(run: Run) -> dict[str, Any]:
    return {
        "value": run.value,
        "values": run.values,
        "intervals": {key: [found.low, found.high] for key, found in run.intervals.items()},
        "by": run.by_stratum,
        **({"corrected": run.corrected_state} if run.corrected else {}),
    }

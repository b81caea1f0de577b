"""Evaluating a program on gold: linear, on threads, written row by row, and stopped where it makes no sense."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy

from goldassay.exceptions import ConventionError, GoldassayError, RunStopped, StorageError, shown
from goldassay.measures.judged import JudgeLabels
from goldassay.metric import AnyMetric, Metric
from goldassay.progress import Bar
from goldassay.running.budget import Budget, BudgetSpent, Meter
from goldassay.running.calls import ACCOUNT, TOKENS, Account, watching
from goldassay.running.dealing import Elsewhere
from goldassay.running.engines import engine as at_work
from goldassay.running.example import Measuring, Program, refuse_without_inputs
from goldassay.running.folder import ABOUT, ROWS, Writer, read_about
from goldassay.running.identity import about_run, gold_hash, last_unfinished, now, refuse_another
from goldassay.running.loop import Failures, Loop
from goldassay.running.options import RunOptions
from goldassay.running.rows import Rows
from goldassay.running.run import Run, stored
from goldassay.running.secrets import known, models, redact
from goldassay.running.worker import pack

__all__ = ["aevaluate", "evaluate", "gold_hash"]


def evaluate(
    program: Program,
    gold: Sequence[dspy.Example],
    metric: AnyMetric,
    options: RunOptions | None = None,
    **changes: Any,
) -> Run:
    """Run ``program`` on every gold example and measure it.

    A program that raises, or returns what cannot be measured, gives a failed row, and its gold counts as missed. With a
    ``folder`` every row is on disk as soon as it is made; Ctrl-C leaves a readable run that ``resume`` continues.

    Args:
        program: A DSPy module, or any callable that takes an example's inputs.
        gold: Examples that name their inputs (``with_inputs``).
        metric: A `Metric`, or any function of (gold, prediction): see `Metric.of`.
        options: How to run it (`RunOptions`).
        changes: Fields of the options to change: ``evaluate(program, gold, metric, threads=8)``.

    Raises:
        GoldassayError: The call is wrong.
        ConventionError: The run to resume was started with something else.
        RunStopped: The run stopped early; its ``run`` holds what was done.

    >>> import dspy
    >>> from goldassay import Metric
    >>> from goldassay.measures import extraction
    >>> spans = [(3, 7, "TMP")]
    >>> gold = [dspy.Example(id=str(i), text="in 1800", entities=spans[:i]).with_inputs("text") for i in range(2)]
    >>> run = evaluate(lambda text: dspy.Prediction(entities=[(3, 7, "TMP")]), gold, Metric(extraction.SpanF1()))
    >>> run.values["strict_f1"]     # one true positive, one false positive
    0.6666666666666666
    """
    chosen = replace(options or RunOptions(), **changes).resolved()
    fields = {name: getattr(chosen, name) for name in RunOptions.__dataclass_fields__}
    return _evaluate(program, gold, metric, **fields)


def _evaluate(
    program: Program,
    gold: Sequence[dspy.Example],
    metric: AnyMetric,
    *,
    lm: dspy.BaseLM | str | None = None,
    adapter: dspy.Adapter | None = None,
    threads: int = 1,
    folder: Path | str | None = None,
    limit: int | None = None,
    name: str = "run",
    progress: bool = True,
    seed: int = 0,
    settings: Mapping[str, object] | None = None,
    resume: Path | str | None = None,
    trace: bool = True,
    timeout: float | None = None,
    max_failures: float = 0.5,
    engine: str = "threads",
    workers: int | None = None,
    ray_address: str | None = None,
    budget: Budget | str | None = None,
    judge_labels: JudgeLabels | None = None,
    keep_prompts: bool = True,
) -> Run:
    if isinstance(program, type) or not callable(program):
        made = f"the class {program.__name__}: make one" if isinstance(program, type) else f"{shown(program, 100)}"
        raise GoldassayError(f"a program is a DSPy module or a function of an example's inputs, not {made}")
    folder, resume = (None if place is None else Path(place) for place in (folder, resume))
    gold = gold if limit is None else gold[:limit]
    if not gold:
        raise GoldassayError("there are no gold examples to evaluate on")
    refuse_without_inputs(gold)
    around_us = dspy.settings.get(ACCOUNT)
    meter = Meter(budget, around_us.meter if around_us is not None else None)
    measured = metric if isinstance(metric, Metric) else Metric.of(metric)
    called: Any = lm if lm is not None else dspy.settings.lm
    kept = folder is not None or resume is not None
    about = about_run(program, gold, measured, name, seed, settings or {}, called, adapter, kept)
    if judge_labels:
        about["judge_labels"] = {name: dict(several) for name, several in judge_labels.items()}
    asked = models(program, measured, called)
    secrets = known(*asked)
    earlier = None if folder is None else last_unfinished(folder.parent, about)
    if earlier is not None:
        logging.getLogger("goldassay").warning("%s is an unfinished run of the same: resume it with --resume", earlier)
    writer, rows, again, tried = _begin(folder, resume, about, measured, secrets)
    if writer is None and resume is not None:
        ended = Run.load(resume, measured)  # nothing is left to do
        ended.about |= {"judge_labels": about["judge_labels"]} if judge_labels else {}
        return ended
    place = writer.folder if writer else None
    before, started = about["cost"], time.perf_counter()
    traced = trace and writer is not None
    here = Measuring(program, gold, measured, traced)
    used = adapter if adapter is not None else dspy.settings.adapter
    at_once = min(threads, len(gold))
    bar = Bar(len(gold), len(rows), progress)
    try:
        with bar.starting("the workers") if engine != "threads" else nullcontext():
            make = at_work(
                engine,
                here,
                lambda: pack(program, measured, called, used, traced, timeout),
                threads=at_once,
                workers=workers,
                meter=meter,
                timeout=timeout,
                ray_address=ray_address,
            )
    except BaseException:
        if writer is not None:
            if resume is None:
                writer.discard()
            writer.close()
        raise
    total = measured.zero  # what the progress bar shows; the run folds its rows in their order
    usage: Counter[str] = Counter()
    for row in rows:
        usage.update(row.get("usage", {}))
        total = total + measured.zero.from_state(row["tallies"]) if bar.shown else total

    replaced: list[Mapping[str, int]] = []

    def keep(index: int, row: dict[str, Any]) -> None:
        if index in again:
            row["retried"] = again[index]
            replaced.append(tried.get(index, {}))
        rows.add(row, writer.row(row) if writer else 0)
        usage.update(row.get("usage", {}))

    watch = Failures(max_failures, worked=len(rows))
    loop = Loop(
        rows.missing(len(gold)),
        here,
        keep,
        bar=bar,
        total=total,
        done=len(rows),
        watch=watch,
        hopeless=lambda: make.hopeless,
        timeout=None if isinstance(make, Elsewhere) else timeout,
        late=here.timed_out,
        account=lambda: Account(meter, traced),
    )
    around = {key: value for key, value in (("lm", lm), ("adapter", used)) if value is not None}
    status, why, loose = "interrupted", "", Account()
    storage: StorageError | None = None
    try:
        types = nullcontext()
        with dspy.context(**around), watching(asked, meter) as loose, types, _few_collections():
            why = loop.work(len(make.widths), make.deal) if isinstance(make, Elsewhere) else loop.work(at_once)
        why = why if len(rows) < len(gold) else watch.all
        status = "finished" if len(rows) == len(gold) else "stopped"
    except BudgetSpent as spent:
        if meter.outer is not None:
            meter.outer.check()  # what stops a tuning is not for one of its runs to tell
        status, why = "stopped", f"{spent}; what was done is safe"
    except StorageError as error:
        status, why, storage = "stopped", f"{error}; what was done is safe", error
    finally:
        if isinstance(make, Elsewhere):
            make.close()
        outside = [*replaced, loose.usage, *(make.loose if isinstance(make, Elsewhere) else ())]
        about["cost"] = _cost(usage, before, time.perf_counter() - started, meter.usd, outside)
        about["finished"], about["status"] = now(), status
        run = Run(about, rows.settled(), measured.zero, place)
        if writer:
            with suppress(StorageError) if why else nullcontext():
                writer.about({**about, **({} if not rows else _results(run))})
            writer.close()
    why = redact(why, secrets)
    if why:
        done = "" if status == "finished" else f"stopped after {len(rows)} of {len(gold)} examples: "
        mend = "" if "budget" in why else "mend it and "
        how = f"; {mend}go on with --resume {place}" if place else ""
        raise RunStopped(f"{done}{why}{how}", run) from storage
    return run


async def aevaluate(
    program: Program, gold: Sequence[dspy.Example], metric: AnyMetric, options: RunOptions | None = None, **changes: Any
) -> Run:
    """`evaluate` for asynchronous code, with the same arguments; it does not block the event loop.

    >>> import asyncio, dspy
    >>> gold = [dspy.Example(text="a", label="A").with_inputs("text")]
    >>> exact = lambda gold, pred: gold["label"] == pred["label"]
    >>> asyncio.run(aevaluate(lambda text: dspy.Prediction(label=text.upper()), gold, exact)).value
    1.0
    """
    return await asyncio.to_thread(evaluate, program, gold, metric, options, **changes)


def named(lm: dspy.BaseLM | str | None, adapter: dspy.Adapter | None) -> tuple[dspy.BaseLM | None, dspy.Adapter | None]:
    """A language model that was given by its name, with the adapter that suits it."""
    if not isinstance(lm, str):
        return lm, adapter
    from goldassay import lm as models

    model = models.resolve(lm)
    return model, models.adapter(model) if adapter is None else adapter


def _begin(
    folder: Path | None, resume: Path | None, about: dict[str, Any], metric: Metric, secrets: tuple[str, ...]
) -> tuple[Writer | None, Rows, dict[int, int], dict[int, dict[str, int]]]:
    """The writer of the run's folder, the rows that are done, how often each failed one was tried, and at what cost.

    Nothing is written where nothing is left to do: then there is no writer.
    """
    if resume is None and folder is not None and (folder / ABOUT).exists():
        ended = read_about(folder).get("status") == "finished"
        way = "choose another folder" if ended else f"go on with it (--resume {folder}), or choose another folder"
        raise GoldassayError(f"{folder} holds {'a' if ended else 'an unfinished'} run already; {way}")
    place = resume or folder
    if place is None:
        return None, Rows(), {}, {}
    if resume is not None:
        read_about(resume)  # there must be a run, before anything is written
    writer = Writer(place, secrets)
    try:
        rows = Rows(place / ROWS)
        again: dict[int, int] = {}
        tried: dict[int, dict[str, int]] = {}
        if resume is not None:
            refuse_another(read_about(resume), about, resume)
            earlier, rows = stored(resume, metric)
            examples = about["gold"]["examples"]
            if rows.indices[-1:] and rows.indices[-1] >= examples:
                raise ConventionError(f"{resume} has rows of examples that are not in this gold; start a new run")
            left = {row["index"]: row for row in rows if row.get("error")}
            if len(rows) == examples and not left and earlier.about.get("status") == "finished":
                writer.close()
                return None, rows, {}, {}
            again = {index: row.get("retried", 0) + 1 for index, row in left.items()}
            tried = {index: row.get("usage", {}) for index, row in left.items()}
            for index in left:
                rows.drop(index)
            about |= {"started": earlier.about.get("started"), "cost": earlier.cost}
            if "judge_labels" in earlier.about:  # people's labels stay with the run, unless others are given
                about.setdefault("judge_labels", earlier.about["judge_labels"])
        writer.about({**about, "status": "running"})
    except BaseException:
        writer.close()
        raise
    return writer, rows, again, tried


@contextmanager
def _few_collections() -> Iterator[None]:
    """Rows stay alive, so young-object collections that walk them again and again only cost time (it grows with n)."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 100_000), before[1], before[2])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _cost(
    used: Mapping[str, int], before: dict[str, Any], seconds: float, usd: float, outside: Sequence[Mapping[str, int]]
) -> dict[str, Any]:
    """Calls, cached answers and tokens (``used``: of the rows); seconds and money, with those of what was ``before``.

    ``outside`` is what belongs to no row that stands: calls from threads of the program's own, and earlier tries.
    """
    beside = sum(map(Counter, outside), Counter(before.get("outside_rows") or {}))
    cost = Counter({"calls": 0, "cached": 0, **dict.fromkeys(TOKENS, 0)})
    cost.update(beside)
    cost.update(used)
    spent = usd + float(before.get("usd", 0.0))
    return {
        **cost,
        "seconds": round(seconds + float(before.get("seconds", 0.0)), 3),
        **({"usd": round(spent, 6)} if spent else {}),
        **({"outside_rows": dict(beside)} if beside else {}),
    }


def _results(run: Run) -> dict[str, Any]:
    return {
        "value": run.value,
        "values": run.values,
        "intervals": {key: [found.low, found.high] for key, found in run.intervals.items()},
        "by": run.by_stratum,
        **({"corrected": run.corrected_state} if run.corrected else {}),
    }
